#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=300
# From the end of a real job to its verdict without anybody asking: each attempt of each job once, by one,
# two and three hooks; accounting that is away; and how long it takes.
set -eu
# shellcheck source=tests/slurm/lib.sh
. "$SRCDIR/tests/slurm/lib.sh"

export CLUSTER_NVAB="$BUILDDIR" CLUSTER_HOOKS="plugin epilog epilogctld jobcomp"
start_cluster
run=$BUILDDIR/obj/nvab-run
results=$work/results.db
first_node=${CLUSTER_NODE_NAMES%% *}
cat >"$work/nvab.toml" <<END
[run]
timeout_seconds = 20
spool = "$tasks"
[queue]
path = "$queue"
poll_seconds = "1s"
[policy]
auto = "all"
[output.sqlite]
path = "$results"
END

start_watch() {
  "$run" --watch --config "$work/nvab.toml" --log-level info 2>>"$jobs/watch.log" &
  watch=$!
}
stop_watch() {
  kill "$watch"
  wait "$watch" || fail "the watch ended with $?"
}
sql() { python3 -c 'import sqlite3,sys
for row in sqlite3.connect("file:%s?mode=ro" % sys.argv[1], uri=True).execute(sys.argv[2]): print(*row)' "$results" "$1"; }
runs() { sql "select count(*) from attribution_run r join execution_context c on c.id = r.context_id where c.job_id = '$1'" 2>/dev/null || echo 0; }
has_runs() { [ "$(runs "$1")" = "$2" ]; }  # JOB COUNT
status() { "$run" --queue-status --format json --config "$work/nvab.toml" | member "$1"; }
is_empty() { [ "$(status new) $(status put_off) $(status claimed) $(status conflicted)" = "0 0 0 0" ]; }

hooks() { # HOOK...
  CLUSTER_HOOKS="plugin $*" "$cluster" reconfigure || die "reconfiguring for $*"
  # It learns of another JobCompType only when it starts.
  "$cluster" restart-controller
}

# ---- three hooks, and every way to be more than one context -------------------------------------------
start_watch
# shellcheck disable=SC2016 # the job's shell is meant
requeue=$(submit --requeue -w "$first_node" -o /dev/null --wrap '[ "$SLURM_RESTART_COUNT" ] && exit 4; sleep 300')
plain=$(submit -N2 -o /dev/null --wrap 'exit 3')
good=$(submit -o /dev/null --wrap 'exit 0')
array=$(submit -o /dev/null --array=5,9 --wrap 'exit 1')
printf '#!/bin/sh\n#SBATCH -n1 -o /dev/null\n#SBATCH hetjob\n#SBATCH -n2\nexit 2\n' >"$jobs/het.sh"
het=$(submit "$jobs/het.sh")
off=$(submit --attribution=off -o /dev/null --wrap 'exit 1')
# Said where accounting's submit line does not tell it, and jobcomp/script is not told at all.
printf '#!/bin/sh\n#SBATCH --attribution=off -o /dev/null\nexit 1\n' >"$jobs/off.sh"
off_inside=$(submit "$jobs/off.sh")
waiting=$(submit -o /dev/null --begin=now+1hour --wrap 'exit 0')
scancel "$waiting"
wait_until 60 "job $requeue" is_running "$requeue"
scontrol requeue "$requeue"
wait_jobs "$plain" "$good" "$array" "$het" "$off" "$off_inside"
sleep 2
scontrol update job "$requeue" StartTime=now
wait_jobs "$requeue"
wait_until 30 "two verdicts on the requeued job" has_runs "$requeue" 2
wait_until 20 "the queue to be empty" is_empty
for job in "$plain" "$good" "${array}_5" "${array}_9" "$het" "$waiting"; do
  same "verdicts on job $job by three hooks" "$(runs "$job")" 1
done
same "verdicts on the requeued job" "$(runs "$requeue")" 2
same "verdicts in all" "$(sql "select count(*) from attribution_run")" 8
same "verdicts on jobs that said off" "$(runs "$off") $(runs "$off_inside")" "0 0"
same "dead entries" "$(status dead)" 0
same "what accounting and hooks know" \
  "$(sql "select c.state, c.exit_code, c.user, r.terminal_state from execution_context c join attribution_run r on r.context_id = c.id where c.job_id = '$plain'")" \
  "FAILED 3:0 $user failed"

# ---- how long it takes -------------------------------------------------------------------------------
timed=$(submit -o /dev/null --wrap 'sleep 1; date +%s%N >ended; exit 3')
wait_until 60 "the verdict on job $timed" has_runs "$timed" 1
made=$(sql "select max(created_us) from attribution_run")
echo "from job end to verdict: $((made / 1000 - $(cat "$jobs/ended") / 1000000)) ms"

# ---- accounting away ---------------------------------------------------------------------------------
"$cluster" stop-dbd
away=$(submit -o /dev/null --wrap 'exit 5')
wait_until 60 "job $away" has_ended "$away"
sleep 2
same "verdicts without accounting" "$(runs "$away")" 0
is_empty && fail "the queue lost job $away"
same "dead entries without accounting" "$(status dead)" 0
"$cluster" start-dbd
wait_until 60 "the verdict on job $away" has_runs "$away" 1
wait_until 20 "the queue to be empty" is_empty
stop_watch

# ---- one hook, and two --------------------------------------------------------------------------------
for set in epilog epilogctld jobcomp "epilog epilogctld" "epilogctld jobcomp"; do
  # shellcheck disable=SC2086 # a word each
  hooks $set
  job=$(submit -N2 -o /dev/null --wrap 'exit 6')
  wait_jobs "$job"
  wait_until 20 "an entry of job $job" sh -c "ls '$queue/new' | grep -q '^$job\.'"
  sleep 1
  "$run" --work --config "$work/nvab.toml" --quiet || fail "--work ended with $?"
  same "verdicts on job $job by $set" "$(runs "$job")" 1
done

# ---- no hook ------------------------------------------------------------------------------------------
"$run" --work --config "$work/nvab.toml" --quiet || fail "--work of an empty queue ended with $?"
same "verdicts on the same job after more work" "$(runs "$job")" 1
"$run" --requeue "$job" --config "$work/nvab.toml" >/dev/null || fail "--requeue ended with $?"
"$run" --work --config "$work/nvab.toml" --quiet || fail "--work after --requeue ended with $?"
same "verdicts on a requeued entry" "$(runs "$job")" 2
no_node_is_drained "at the end"
finish

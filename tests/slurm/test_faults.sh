#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=300
# What goes wrong around us on a real cluster: full and read-only disks, accounting that hangs or is
# away, garbage. No node is drained, no job is held up, and once the fault is gone each job has its
# verdict.
set -eu
# shellcheck source=tests/slurm/lib.sh
. "$SRCDIR/tests/slurm/lib.sh"

export CLUSTER_NVAB="$BUILDDIR" CLUSTER_HOOKS="plugin epilog epilogctld jobcomp"
# What the kernel of this machine says is not about these jobs.
export NVAB_LOG_KERNEL_ENABLED=false
start_cluster
run=$BUILDDIR/obj/nvab-run
results=$work/results.db
cat >"$work/nvab.toml" <<END
[run]
timeout_seconds = 20
spool = "$tasks"
[queue]
path = "$queue"
retry_max_seconds = "1s"
[eca.slurm]
call_timeout_seconds = "2s"
[policy]
auto = "all"
[output.sqlite]
path = "$results"
END
nvab() { "$run" --config "$work/nvab.toml" --quiet "$@"; }
sql() { python3 -c 'import sqlite3,sys
for row in sqlite3.connect("file:%s?mode=ro" % sys.argv[1], uri=True).execute(sys.argv[2]): print(*row)' "$results" "$1"; }
status() { nvab --queue-status --format json | member "$1"; }
report() { # JOB CONNECTOR: how it went
  sql "select r.result_json from attribution_run r join execution_context c on c.id = r.context_id where c.job_id = '$1'" \
    | python3 -c 'import json,sys
for r in json.loads(sys.stdin.read())["connector_reports"]:
  if r["connector"] == sys.argv[1]: print(r["status"], r.get("reason") or "")' "$2"
}
nvab --work || die "--work of an empty queue ended with $?"

# A job on all nodes that fails after a step; it must end as it would, in its time.
all=
a_job() { # WHAT
  began=$(date +%s)
  job=$(submit -N4 -n4 -J faults -o "$jobs/%j.out" --wrap 'srun sh -c "exit 0"; kill -SEGV $$')
  wait_jobs "$job"
  took=$(($(date +%s) - began))
  [ "$took" -le 20 ] || fail "with $1 a job of a moment took $took s"
  same "state with $1" "$(scontrol -o show job "$job" | sed -n 's/.* JobState=\([A-Z]*\) .* ExitCode=\([0-9:]*\) .*/\1 \2/p')" "FAILED 0:11"
  "$cluster" idle 20
  no_node_is_drained "with $1"
  all="$all $job"
}
verdict() { sql "select r.terminal_state, r.sub_domain from attribution_run r join execution_context c on c.id = r.context_id where c.job_id = '$1'" | xargs; }

# ---- the plugin's spool ------------------------------------------------------------------------------
mv "$tasks" "$tasks.away"
mkdir "$tasks"
mount -t tmpfs -o size=4k tmpfs "$tasks" || die "this test needs to mount a small file system"
head -c 4096 /dev/zero >"$tasks/filler"
a_job "a full spool"
full_spool=$job
mount -o remount,ro "$tasks"
a_job "a read-only spool"
umount "$tasks"
rmdir "$tasks"
mv "$tasks.away" "$tasks"
# A record that ends in the middle of a line, as a crash of the machine leaves it.
a_job "a good spool"
cut=$job
for record in "$tasks/$cut.batch."*; do truncate -s -100 "$record"; done
nvab --work || fail "--work after faults of the spool ended with $?"
for job in $all; do same "verdict on job $job" "$(verdict "$job")" "failed user_code"; done
has "report of a full spool" "$(report "$full_spool" log.task_exits)" '^no_data'
has "report of a record that was cut" "$(report "$cut" log.task_exits)" ' 1 lines are not task records'

# ---- accounting ----------------------------------------------------------------------------------------
mkdir "$work/bin"
printf '#!/bin/sh\n[ ! -e %s/hang ] || exec sleep 40\nexec %s "$@"\n' "$work" "$(command -v sacct)" >"$work/bin/sacct"
chmod 755 "$work/bin/sacct"
PATH=$work/bin:$PATH
: >"$work/hang"
a_job "accounting that hangs"
began=$(date +%s)
nvab --work 2>"$work/err" && fail "--work says nothing of accounting that hangs"
took=$(($(date +%s) - began))
[ "$took" -le 15 ] || fail "accounting that hangs held --work up for $took s"
has "what it says of it" "$(cat "$work/err")" 'sacct.*slurmdbd may hang'
same "verdict while accounting hangs" "$(verdict "$job")" ""
rm "$work/hang"
"$cluster" stop-dbd
a_job "accounting that is away"
nvab --work 2>"$work/err" && fail "--work says nothing of accounting that is away"
same "dead entries while accounting is away" "$(status dead)" 0
"$cluster" start-dbd

# ---- garbage in the queue ---------------------------------------------------------------------------------
a_job "garbage in the queue"
head -c 3000 /dev/urandom >"$queue/new/1.epilog.x.json"
: >"$queue/new/2.epilog.x.json"
head -c 300000 /dev/zero | tr '\0' '[' >"$queue/new/3.epilog.x.json"
echo '{"v":1,"trigger_id":"4","hook":"epilog","job":{"job_id":"rm -rf /"}}' >"$queue/new/4.epilog.x.json"
echo 'no entry' >"$queue/new/notes.txt"
mkdir "$queue/new/5.epilog.x.json"
ln -s /etc/passwd "$queue/new/6.epilog.x.json"
mkfifo "$queue/new/7.epilog.x.json"
# The controller tells accounting within seconds what it could not tell before.
is_known() { [ "$(sacct -n -P -X -j "$1" -o state 2>/dev/null)" = FAILED ]; }
for job in $all; do wait_until 30 "the row of job $job" is_known "$job"; done
nvab --work 2>"$work/err" || fail "--work with garbage ended with $?"
same "dead entries: the garbage" "$(status dead)" 8
same "dead entries that have no reason" "$(cd "$queue/dead" && for f in *; do case $f in *.reason) ;; *) [ -s "$f.reason" ] || echo "$f" ;; esac; done)" ""
for job in $all; do same "verdict on job $job" "$(verdict "$job")" "failed user_code"; done

# ---- the queue's disk -------------------------------------------------------------------------------------
# Nothing can be handed over: the sweep finds it, as it does where the node died.
mv "$queue" "$queue.away"
mkdir "$queue"
mount -t tmpfs -o size=4k,mode=777 tmpfs "$queue"
mkdir "$queue/new"
head -c 4096 /dev/zero >"$queue/filler" || true
a_job "a full queue"
lost=$job
mount -o remount,ro "$queue"
a_job "a read-only queue"
lost="$lost $job"
umount "$queue"
rmdir "$queue"
mv "$queue.away" "$queue"
# A sweep leaves the last two minutes to the hooks, so these jobs have to look older. The controller sends the
# rows of short jobs again with a later cycle, and with them the true times.
is_swept() {
  for job in $lost; do
    is_known "$job" || return 1
    "$cluster" sql "update nvabtest_job_table set time_submit = time_submit - 300, time_start = time_start - 300,
      time_eligible = time_submit, time_end = time_end - 300
      where id_job = $job and time_end > unix_timestamp() - 200"
  done
  nvab --sweep 2>"$work/err" || fail "--sweep ended with $?"
  for job in $lost; do [ -n "$(verdict "$job")" ] || return 1; done
}
wait_until 60 "a sweep to find the jobs that nobody handed over" is_swept
for job in $lost; do same "verdict on job $job, which nobody handed over" "$(verdict "$job")" "failed user_code"; done

# ---- all of it ------------------------------------------------------------------------------------------------
for job in $all; do same "verdicts on job $job" "$(sql "select count(*) from attribution_run r join execution_context c on c.id = r.context_id where c.job_id = '$job'")" 1; done
same "entries that are not done" "$(status new) $(status put_off) $(status claimed)" "0 0 0"
no_node_is_drained "at the end"
finish

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=900
# Many short jobs that end in the same moment, and runners that are killed while they work them off:
# each job is judged once, whatever the hooks hand over and whoever dies. STORM=long goes on
# until 100 of them are killed.
set -eu
# shellcheck source=tests/slurm/lib.sh
. "$SRCDIR/tests/slurm/lib.sh"

jobs_at_once=200
# In one storm at most, and in all at least.
kills=10
all_kills=1
if [ "${STORM:-}" = long ]; then
  kills=25
  all_kills=100
fi
export CLUSTER_NVAB="$BUILDDIR" CLUSTER_HOOKS="plugin epilog epilogctld jobcomp"
# All of them at the same time.
export CLUSTER_CPUS=$((jobs_at_once / 4 + 1)) CLUSTER_MEMORY=$((jobs_at_once * 20))
# What the kernel of this machine says is not about these jobs.
export NVAB_LOG_KERNEL_ENABLED=false
start_cluster
# As many hooks at once may need more than the second that they give themselves; here none may give up.
# shellcheck disable=SC2016 # the hooks' own variable is meant
sed -i 's|"\$handoff" --hook|"$handoff" --limit-ms 60000 --hook|' "$CLUSTER_DIR"/nvab/nvab-epilog "$CLUSTER_DIR"/nvab/nvab-epilogctld "$CLUSTER_DIR"/nvab/nvab-jobcomp
run=$BUILDDIR/obj/nvab-run
results=$work/results.db
cat >"$work/nvab.toml" <<END
[run]
timeout_seconds = 20
spool = "$tasks"
[queue]
path = "$queue"
poll_seconds = "1s"
retry_max_seconds = "1s"
[policy]
auto = "all"
[output.sqlite]
path = "$results"
END
sql() { python3 -c 'import sqlite3,sys
for row in sqlite3.connect("file:%s?mode=ro" % sys.argv[1], uri=True).execute(sys.argv[2]): print(*row)' "$results" "$1"; }
status() { "$run" --queue-status --format json --config "$work/nvab.toml" | member "$1"; }
is_empty() { [ "$(status new) $(status put_off) $(status claimed) $(status abandoned) $(status conflicted)" = "0 0 0 0 0" ]; }

"$run" --work --config "$work/nvab.toml" --quiet || die "--work of an empty queue ended with $?"

# ---- all at once, and runners that die -------------------------------------------------------------------
pause() { # MILLISECONDS: at most so long
  random=$(od -An -N2 -tu2 /dev/urandom)
  sleep "$(awk -v ms="$1" -v random="$random" 'BEGIN {printf "%.3f", random / 65536 * ms / 1000}')"
}
start_runner() {
  "$run" --watch --config "$work/nvab.toml" --log-level error 2>>"$jobs/watch.log" &
  pid=$!
}
verdicts() { sql "select count(*) from attribution_run" 2>/dev/null || echo 0; }
all_run() { [ "$(squeue -h -t running -n storm -r -o %i | wc -l)" = "$jobs_at_once" ]; }
all_judged() { [ "$(verdicts)" -ge "$wanted" ]; }
all_over() { [ -z "$(squeue -h -o %A)" ]; }
# Opening a pipe waits for its other end: one that writes lets all go in the same moment.
mkfifo -m 666 "$jobs/gate"
storm() {
  submit -J storm -o /dev/null --mem-per-cpu=10 --array="1-$jobs_at_once" --wrap "read word <$jobs/gate; exit 3" >/dev/null
  wait_until 180 "$jobs_at_once jobs that run at the same time" all_run
  # The last ones may still be on their way to the gate.
  sleep 2
  began=$(date +%s)
  sleep 20 >"$jobs/gate" &
  gate=$!
  i=0
  # In ms.
  longest_life=600
  by_then=$(verdicts)
  # None is left to be killed in the midst of work when all is judged.
  while [ "$i" -lt "$kills" ] && [ "$by_then" -lt "$wanted" ]; do
    start_runner
    pause "$longest_life"
    kill -9 "$pid" || die "the runner had ended by itself: $(tail -n 3 "$jobs/watch.log")"
    wait "$pid" 2>/dev/null || true
    i=$((i + 1))
    killed=$((killed + 1))
    before=$by_then
    by_then=$(verdicts)
    # Some are to die before they have begun, and some in the midst of work, however busy the machine is.
    if [ "$by_then" = "$before" ]; then
      longest_life=$((longest_life * 5 / 4))
    else
      longest_life=$((longest_life * 2 / 3))
    fi
  done
  start_runner
  wait_until 180 "$wanted verdicts" all_judged
  echo "$jobs_at_once jobs judged $(($(date +%s) - began)) s after their end; $i runners were killed meanwhile, $((by_then - wanted + jobs_at_once)) jobs judged by then"
  wait_until 60 "the end of all jobs" all_over
  wait_until 60 "an empty queue" is_empty
  kill "$gate" 2>/dev/null || true
  kill "$pid"
  wait "$pid" || fail "the watch ended with $?"
}
wanted=0
killed=0
while [ "$killed" -lt "$all_kills" ]; do
  wanted=$((wanted + jobs_at_once))
  storm
done

# ---- none lost, none twice -----------------------------------------------------------------------------------
same "verdicts" "$(sql "select count(*), count(distinct c.job_id) from attribution_run r join execution_context c on c.id = r.context_id where c.name = 'storm' and c.state = 'FAILED'")" "$wanted $wanted"
same "verdicts in all" "$(sql "select count(*) from attribution_run")" "$wanted"
same "done-markers" "$(find "$queue/done" -name '*.context' | wc -l)" "$wanted"
for hook in epilog epilogctld jobcomp; do
  same "entries of $hook that are done" "$(find "$queue/done" -name "*.$hook.*.json" | wc -l)" "$wanted"
done
same "dead entries" "$(status dead)" 0
same "what dead runners left" "$(find "$queue/claimed" "$queue/locks" -type f -name '*.json')" ""
no_node_is_drained "after the storm"
finish

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=300
# Where the hooks are not enough: nodes whose evidence nothing collects copy it to a shared folder, and
# jobs that nobody handed over are found in accounting.
set -eu
# shellcheck source=tests/slurm/lib.sh
. "$SRCDIR/tests/slurm/lib.sh"

export CLUSTER_NVAB="$BUILDDIR" CLUSTER_HOOKS="plugin epilog epilogctld"
# What the kernel of this machine says is not about these jobs.
export NVAB_LOG_KERNEL_ENABLED=false
start_cluster
run=$BUILDDIR/obj/nvab-run
results=$work/results.db
share=$work/share
node_queue=$work/node
# As an administrator would: the nodes' own queue is not the controller's.
mkdir -p "$node_queue/new"
sed -i "s|^queue=.*|queue=$node_queue|" "$CLUSTER_DIR/nvab/nvab-epilog"
cat >"$work/node.toml" <<END
[run]
spool = "$tasks"
[queue]
path = "$node_queue"
node_share = "$share"
poll_seconds = "1s"
END
cat >"$work/nvab.toml" <<END
[run]
timeout_seconds = 20
spool = "$share/tasks"
[queue]
path = "$queue"
[output.sqlite]
path = "$results"
END
nvab() { "$run" --config "$work/nvab.toml" --quiet "$@"; }
sql() { python3 -c 'import sqlite3,sys
for row in sqlite3.connect("file:%s?mode=ro" % sys.argv[1], uri=True).execute(sys.argv[2]): print(*row)' "$results" "$1"; }
verdict() { # JOB
  sql "select r.terminal_state, r.sub_domain, coalesce(r.first_failing_rank, '-') from attribution_run r join execution_context c on c.id = r.context_id where c.job_id = '$1'"
}
is_known() { sacct -n -P -X -j "$1" -o state | grep -qE '^(FAILED|COMPLETED|CANCELLED)'; }

# ---- evidence of nodes ----------------------------------------------------------------------------------
"$run" --watch --node --config "$work/node.toml" --log-level error 2>"$jobs/node.log" &
watch=$!
# Nothing is written where the controller could read it but what the nodes copy.
# shellcheck disable=SC2016 # the job's shell is meant
abort=$(submit -o /dev/null -N2 -n4 --wrap 'srun -K sh -c "[ \$SLURM_PROCID = 2 ] && sleep 1 && kill -ABRT \$\$; sleep 60"')
wait_jobs "$abort"
all_copied() { [ "$(find "$node_queue/done" -name "$abort.epilog.*.json" 2>/dev/null | wc -l)" = 2 ]; }
wait_until 20 "both nodes to have copied what they know of job $abort" all_copied
kill "$watch"
wait "$watch" || fail "the watch of the nodes ended with $?: $(cat "$jobs/node.log")"
same "records that were copied" "$(cd "$share/tasks" && find . -name "$abort.*.ndjson" | wc -l)" 3
same "records that are whole" "$(cat "$share/tasks/$abort.0."* | grep -c '"kind":"task_end"')" 4
same "kernel logs" "$(find "$share/kernel/$abort" -name '*.log' | wc -l)" 2
mv "$tasks" "$tasks.away"
wait_until 20 "the row of job $abort" is_known "$abort"
nvab --work || fail "--work ended with $?"
same "the verdict by what was copied" "$(verdict "$abort")" "failed user_code 2"
mv "$tasks.away" "$tasks"

# ---- jobs that nobody handed over ---------------------------------------------------------------------------
mv "$CLUSTER_DIR/nvab/nvab-handoff" "$work"
fails=$(submit -J lost -o "$jobs/%j.out" --wrap 'kill -SEGV $$')
good=$(submit -J lost -o "$jobs/%j.out" --wrap 'exit 0')
wanted=$(submit -J lost -o "$jobs/%j.out" --wrap 'srun sh -c "exit 7"; exit 0')
array=$(submit -J lost -o "$jobs/%A-%a.out" --array=2,4 --wrap 'kill -SEGV $$')
printf '#!/bin/sh\n#SBATCH -n1 -o /dev/null\n#SBATCH hetjob\n#SBATCH -n2\nkill -SEGV $$\n' >"$jobs/het.sh"
het=$(submit "$jobs/het.sh")
young=$(submit -J young -o "$jobs/%j.out" --wrap 'kill -SEGV $$')
wait_jobs "$fails" "$good" "$wanted" "$array" "$het" "$young"
all_over() { [ -z "$(squeue -h -o %A)" ]; }
wait_until 60 "the end of all jobs" all_over
for job in "$fails" "$good" "$wanted" "$array" "$het" "$young"; do wait_until 20 "the row of job $job" is_known "$job"; done
# Owners of short jobs come to accounting with the controller's next cycle.
sleep 5
nvab --sweep || fail "--sweep ended with $?"
same "verdicts on jobs that the hooks may still hand over" "$(sql "select count(*) from attribution_run")" 1
"$cluster" sql "update nvabtest_job_table set time_submit = time_submit - 300, time_start = time_start - 300,
  time_eligible = if(time_eligible > 300, time_eligible - 300, 0), time_end = time_end - 300 where id_job > $abort and id_job <> $young and time_end > 300"
nvab --sweep || fail "the second --sweep ended with $?"
same "the verdict on a lost job" "$(verdict "$fails")" "failed user_code -"
same "verdicts on a job that went well" "$(verdict "$good")" ""
same "the verdict on a job of which a step failed" "$(verdict "$wanted" | wc -l)" 1
for index in 2 4; do same "the verdict on task $index" "$(verdict "${array}_$index")" "failed user_code -"; done
same "the verdict on both components" "$(verdict "$het" | cut -d' ' -f1-2)" "failed user_code"
same "verdicts on a young job" "$(verdict "$young")" ""
count=$(sql "select count(*) from attribution_run")
nvab --sweep || fail "the third --sweep ended with $?"
same "verdicts after one more sweep" "$(sql "select count(*) from attribution_run")" "$count"
no_node_is_drained "at the end"
finish

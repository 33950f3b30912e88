#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=300
# The task record that the plugin writes in real jobs, and that nothing about its spool hurts them.
set -eu
. "$SRCDIR/tests/slurm/lib.sh"

export CLUSTER_NVAB="$BUILDDIR" CLUSTER_HOOKS=plugin
CLUSTER_CONF_EXTRA=$(mktemp)
export CLUSTER_CONF_EXTRA
# An extern step on every node: it has no tasks, and must leave no record.
echo "PrologFlags=Contain" >"$CLUSTER_CONF_EXTRA"
start_cluster
rm -f "$CLUSTER_CONF_EXTRA"

record() { cat "$tasks/$1."*; }            # JOB[.STEP]
lines() { record "$1" | grep "\"kind\":\"$2\""; } # JOB[.STEP] KIND

# How each task of a step ended, in the order of time: "TASK:exitN" and "TASK:sigN".
endings() { # JOB.STEP
  lines "$1" task_end | sed -E 's/.*"mono_us":([0-9]+).*"task_id":([0-9]+).*"(exit_code|signal)":([0-9]+).*/\1 \2:\3\4/' \
    | sort -n | sed 's/^[0-9]* //; s/exit_code/exit/; s/signal/sig/' | xargs
}

first_node=${CLUSTER_NODE_NAMES%% *}

# ---- submit everything, then wait once -------------------------------------------------------------
ok=$(submit -J good -o "$jobs/%x-%j.out" --wrap 'exit 0')
exit3=$(submit --attribution=on -o "$jobs/%j.out" -e "$jobs/%j.err" --wrap 'exit 3')
# shellcheck disable=SC2016 # the job's shell is meant
kill9=$(submit -o /dev/null --wrap 'kill -9 $$')
# shellcheck disable=SC2016 # the job's shell is meant
abort=$(submit -o /dev/null -N2 -n4 --wrap 'srun -K -n4 sh -c "if [ \$SLURM_PROCID = 2 ]; then sleep 1; kill -ABRT \$\$; fi; sleep 60"')
files=$(submit -o /dev/null -n2 --wrap "srun -o $jobs/rank-%t.out -e $jobs/err-%t sh -c 'exit \$SLURM_PROCID'; srun -o $jobs/all.out true; srun /no/such/program")
array=$(submit -o "$jobs/%A-%a.out" --array=5,9 --wrap 'exit 1')
nowhere=$(submit -o "$jobs/none/%j.out" --wrap 'exit 0')
lost=$(submit -o "$jobs/%j.out" -D /no/such/folder --wrap 'exit 0')
silent=$(submit --attribution=off -o /dev/null --wrap 'srun true')
printf '#!/bin/sh\n#SBATCH --attribution=on\n#SBATCH -o /dev/null\nexit 0\n' >"$jobs/directive.sh"
directive=$(submit "$jobs/directive.sh")
env_on=$(NVAB_ATTRIBUTION=on submit -o /dev/null --wrap 'srun true')
env_off=$(NVAB_ATTRIBUTION=off submit -o /dev/null --wrap 'exit 0')
spelled=$(NVAB_ATTRIBUTION=off submit --attribution=on -o /dev/null --wrap 'exit 0')
# shellcheck disable=SC2016 # the job's shell is meant
printf '#!/bin/sh\n#SBATCH -n1 -o /dev/null\n#SBATCH hetjob\n#SBATCH -n2\nsrun --het-group=0,1 sh -c "exit \\$SLURM_PROCID"\n' >"$jobs/het.sh"
het=$(submit "$jobs/het.sh")
cancel=$(submit -o /dev/null --wrap 'sleep 300')
# shellcheck disable=SC2016 # the job's shell is meant
requeue=$(submit --requeue -w "$first_node" -o /dev/null --wrap '[ "$SLURM_RESTART_COUNT" ] && exit 4; sleep 300')
as_user salloc -n1 --attribution=on srun sh -c 'exit 5' >"$work/salloc.out" 2>&1 || true
wait_until 60 "job $cancel" is_running "$cancel"
wait_until 60 "job $requeue" is_running "$requeue"
scancel "$cancel"
scontrol requeue "$requeue"
is_pending() { [ "$(job_state "$requeue")" = PENDING ]; }
wait_until 30 "the requeue" is_pending
# Slurm holds a requeued job back for two minutes. Started again on the same node within a second or
# two it would die of a "Job credential revoked".
sleep 2
scontrol update job "$requeue" StartTime=now
wait_jobs "$ok" "$exit3" "$kill9" "$abort" "$files" "$array" "$nowhere" "$lost" "$silent" "$directive" "$env_on" "$env_off" \
  "$spelled" "$het" "$cancel" "$requeue"
"$cluster" idle 30

# ---- a job that goes well ----------------------------------------------------------------------------
step=$(lines "$ok.batch" step)
start=$(lines "$ok.batch" task_start)
same "lines of a good job" "$(record "$ok" | member kind | xargs)" "step task_start task_end step_end"
has "files of a good job" "$(cd "$tasks" && echo "$ok".*)" "^$ok\.batch\.$(printf %s "$step" | member node | tr -d '"')\.[0-9]{16}\.ndjson$"
same "its ending" "$(endings "$ok.batch")" "0:exit0"
same "its user" "$(printf %s "$step" | member uid)" "$(id -u "$user")"
same "its cluster" "$(printf %s "$step" | member cluster)" '"nvabtest"'
same "its mode" "$(printf %s "$step" | member mode)" '"auto"'
same "its Slurm" "$(printf %s "$step" | member slurm_version)" "\"$(scontrol version | cut -d' ' -f2)\""
same "its boot" "$(printf %s "$step" | member boot_id)" "\"$(cat /proc/sys/kernel/random/boot_id)\""
same "its folder" "$(printf %s "$start" | member cwd)" "\"$jobs\""
out=$jobs/good-$ok.out
same "its output" "$(printf %s "$start" | member stdout)" "$(stat -c '{"type":"file","path":"%n","dev":%d,"ino":%i}' "$out")"
same "its errors" "$(printf %s "$start" | member stderr)" "$(printf %s "$start" | member stdout)"
same "words of the plugin in its output" "$(cat "$out")" ""
# With the freezer or any other controller that Slurm uses.
if grep -q 'proctrack/cgroup' "$SLURM_CONF"; then
  has "its control group" "$(printf %s "$start" | member cgroup)" "/job_$ok/step_batch"
fi
for time in $(record "$ok" | member time | tr -d '"'); do
  age=$(($(date +%s) - $(date -d "$time" +%s)))
  case $age in
    [0-9] | [0-9][0-9] | 1[0-9][0-9]) ;;
    *) fail "a record is $age s old: $time" ;;
  esac
done

# ---- jobs that fail -------------------------------------------------------------------------------------
same "exit 3" "$(endings "$exit3.batch")" "0:exit3"
same "its output" "$(lines "$exit3.batch" task_start | member stdout | member path)" "\"$jobs/$exit3.out\""
same "its errors" "$(lines "$exit3.batch" task_start | member stderr | member path)" "\"$jobs/$exit3.err\""
same "its mode" "$(lines "$exit3.batch" step | member mode)" '"on"'
same "kill -9" "$(endings "$kill9.batch")" "0:sig9"
same "cancelled" "$(endings "$cancel.batch")" "0:sig15"

# Accounting never mentions the rank that failed, nor its signal.
same "first rank to die" "$(endings "$abort.0" | cut -d' ' -f1)" "2:sig6"
same "ranks that followed" "$(endings "$abort.0" | cut -d' ' -f2- | tr ' ' '\n' | sort | xargs)" "0:sig15 1:sig15 3:sig15"
same "nodes of the step" "$(lines "$abort.0" step | member node_id | sort | xargs)" "0 1"
same "tasks of the step" "$(lines "$abort.0" step | member tasks | sort -u)" 4
case $(sacct -n -P -j "$abort" -o exitcode | xargs) in
  *:6*) fail "accounting does tell the signal; then this test says too much" ;;
esac

# ---- files of the ranks ------------------------------------------------------------------------------------
same "output of each rank" "$(lines "$files.0" task_start | member stdout | member path | sort | xargs)" "$jobs/rank-0.out $jobs/rank-1.out"
same "errors of each rank" "$(lines "$files.0" task_start | member stderr | member path | sort | xargs)" "$jobs/err-0 $jobs/err-1"
same "endings of the ranks" "$(endings "$files.0" | tr ' ' '\n' | sort | xargs)" "0:exit0 1:exit1"
same "output that srun writes" "$(lines "$files.1" task_start | member stdout | member type | sort -u)" '"pipe"'
same "a program that is not there" "$(endings "$files.2" | tr ' ' '\n' | cut -d: -f2 | sort -u)" exit2
has "salloc" "$(cat "$tasks"/*.0.* | grep '"exit_code":5')" '"kind":"task_end"'

# ---- arrays, heterogeneous jobs, runs ------------------------------------------------------------------------
for index in 5 9; do
  line=$(grep -h "\"array_task_id\":$index,.*\"step_id\":\"batch\"" "$tasks"/* | grep task_start)
  same "array of task $index" "$(printf %s "$line" | member array_job_id)" "$array"
  same "output of task $index" "$(printf %s "$line" | member stdout | member path)" "\"$jobs/$array-$index.out\""
done
if record "$ok" | grep -q array_; then fail "a job that is no array has array ids"; fi

second=$((het + 1))
same "components' records" "$(grep -hc "\"het_job_id\":$het," "$tasks/$het.0."* "$tasks/$second.0."* | xargs)" "4 6"
same "offset of the second" "$(lines "$second.0" step | member het_offset)" 1
same "tasks of the second" "$(lines "$second.0" task_end | member task_id | sort | xargs)" "1 2"
if record "$ok" | grep -q het_; then fail "a plain job has het ids"; fi

# Each run has a file of its own, whatever nodes they ran on.
same "files of a requeued job" "$(find "$tasks" -name "$requeue.batch.*" | wc -l)" 2
same "its first run" "$(endings "$requeue.batch" | cut -d' ' -f1)" 0:sig15
same "its second run" "$(endings "$requeue.batch" | cut -d' ' -f2)" 0:exit4

# ---- jobs that never ran a program, or ran it elsewhere ------------------------------------------------------
same "a job without an output file" "$(record "$nowhere" | member kind | xargs)" "step step_end"
same "its tasks" "$(lines "$nowhere" step_end | member tasks_ended)" 0
same "a job whose folder is missing" "$(lines "$lost" task_start | member cwd)" '"/tmp"'

# ---- the option ---------------------------------------------------------------------------------------------------
same "files of jobs that said off" "$(cd "$tasks" && find . -name "$silent.*" -o -name "$env_off.*")" ""
same "by directive" "$(lines "$directive" step | member mode)" '"on"'
same "by environment" "$(lines "$env_on.0" step | member mode)" '"on"'
same "the command line counts more" "$(lines "$spelled" step | member mode)" '"on"'
for program in sbatch srun salloc; do
  words=$(as_user $program --attribution=maybe "$jobs/directive.sh" 2>&1) && fail "$program takes --attribution=maybe"
  has "$program's refusal" "$words" 'error: attribution: --attribution=maybe: say on, off or auto'
done
words=$(NVAB_ATTRIBUTION=maybe submit --wrap true 2>&1) && fail "sbatch takes NVAB_ATTRIBUTION=maybe"
has "refusal of the environment" "$words" '--attribution=maybe: say on, off or auto'
has "help" "$(srun --help)" '--attribution=on\|off\|auto'

same "files of extern steps" "$(cd "$tasks" && find . -name '*.extern.*')" ""
same "words of the plugin in slurmd's logs" "$(grep -h 'attribution: ' "$CLUSTER_DIR"/log/slurm/slurmd-*.log || true)" ""
no_node_is_drained "after all jobs"

# ---- spools that do not work ------------------------------------------------------------------------------------------
# A job with a step must go well, hear nothing of it, and leave its nodes in service.
try_spool() { # WHAT LOGGED-REGEX
  : >"$work/mark"
  job=$(submit -N2 -n2 -o "$jobs/spool-%j.out" --wrap 'srun sh -c "exit 0"; exit 6')
  wait_jobs "$job"
  same "state with $1" "$(scontrol -o show job "$job" | sed -n 's/.* JobState=\([A-Z]*\) .* ExitCode=\([0-9:]*\) .*/\1 \2/p')" "FAILED 6:0"
  same "output with $1" "$(cat "$jobs/spool-$job.out")" ""
  has "logs with $1" "$(grep -h "attribution: " "$CLUSTER_DIR"/log/slurm/slurmd-*.log)" "$2"
  no_node_is_drained "with $1"
}
mv "$tasks" "$tasks.away"
try_spool "no spool" 'opening a file in the spool .*: No such file or directory; no task record'
same "lines about it" "$(grep -h "attribution: " "$CLUSTER_DIR"/log/slurm/slurmd-*.log | grep -c 'No such file')" 3
mkdir "$tasks"
if mount -t tmpfs -o size=4k tmpfs "$tasks"; then
  head -c 4096 /dev/zero >"$tasks/filler"
  try_spool "a full spool" 'writing a task record to the spool .*: No space left on device'
  mount -o remount,ro "$tasks"
  try_spool "a read-only spool" 'opening a file in the spool .*: Read-only file system'
  umount "$tasks"
else
  echo "not tried here, for want of mount: a full and a read-only spool"
fi
rmdir "$tasks"
mv "$tasks.away" "$tasks"
again=$(submit -o /dev/null --wrap 'exit 0')
wait_jobs "$again"
same "record once the spool is back" "$(endings "$again.batch")" "0:exit0"
finish

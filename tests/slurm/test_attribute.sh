#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=300
# Every way for a real job to end, by every way in: what the verdict says of its end, whom it blames,
# which rank it says failed first, and what it says to do.
set -eu
# shellcheck source=tests/slurm/lib.sh
. "$SRCDIR/tests/slurm/lib.sh"

export CLUSTER_NVAB="$BUILDDIR" CLUSTER_HOOKS="plugin epilog epilogctld" CLUSTER_CPUS=32
# What the kernel of this machine says is not about these jobs.
export NVAB_LOG_KERNEL_ENABLED=false
CLUSTER_CONF_EXTRA=$(mktemp)
export CLUSTER_CONF_EXTRA
# A limit on memory without control groups: jobs over it are killed with the words of a real cluster.
echo "JobAcctGatherParams=OverMemoryKill" >"$CLUSTER_CONF_EXTRA"
start_cluster
rm -f "$CLUSTER_CONF_EXTRA"
run=$BUILDDIR/obj/nvab-run
results=$work/results.db
first_node=${CLUSTER_NODE_NAMES%% *}
# The one that will be killed; no job is there but those that are to lose it.
lost_node=$(echo "$CLUSTER_NODE_NAMES" | xargs -n1 | tail -n 1)
other_node=$(echo "$CLUSTER_NODE_NAMES" | xargs -n1 | tail -n 2 | head -n 1)
cat >"$work/nvab.toml" <<END
[run]
timeout_seconds = 20
spool = "$tasks"
[queue]
path = "$queue"
[policy]
auto = "failures"
[output.sqlite]
path = "$results"
END

# ---- the jobs ----------------------------------------------------------------------------------------
# Of each: its name and what the verdict has to say, as "STATE SUB_DOMAIN RANK ACTION"; more than one
# for runs that were put back, "none" for a job that is not to be judged.
expected=$work/expected
expect() { printf '%s\n' "$1 $2" >>"$expected"; } # NAME VERDICT

batch() { # NAME VERDICT SBATCH-WORDS...
  expect "$1" "$2"
  job_name=$1
  shift 2
  case " $* " in
    *" -o "*) ;;
    *) set -- -o "$jobs/%x.out" "$@" ;;
  esac
  case " $* " in
    *" -w "*) ;;
    *) set -- -x "$lost_node" "$@" ;;
  esac
  submit -J "$job_name" "$@" >/dev/null
}

# The same without a script: srun asks for the job and runs the command, and its owner asks for a verdict.
# Its output goes to a file, for what srun prints on a terminal nobody else can read.
direct() { # NAME VERDICT SRUN-WORDS...
  expect "$1" "$2"
  job_name=$1
  shift 2
  case " $* " in
    *" -w "*) ;;
    *) set -- -x "$lost_node" "$@" ;;
  esac
  as_user srun --attribution=on -J "$job_name" -o "$jobs/%x.out" "$@" >"$work/srun.out" 2>&1 &
}

id_of() { scontrol -o show job | sed -n "s/^JobId=\([0-9]*\) .*JobName=$1 .*/\1/p" | head -n 1; } # NAME

batch ok 'completed none - none_needed' --attribution=on --wrap 'exit 0'
direct s_ok 'completed none - none_needed' true
batch good 'none' --wrap 'exit 0'
batch exit3 'failed unknown - investigate' --wrap 'exit 3'
direct s_exit3 'failed unknown - investigate' sh -c 'exit 3'
batch exit137 'failed unknown - investigate' --wrap 'exit 137'
direct s_exit137 'failed unknown - investigate' sh -c 'exit 137'
# Codes that are not those of a signal are the program's own.
batch exit11 'failed unknown - investigate' --wrap 'exit 11'
direct s_exit8 'failed unknown - investigate' sh -c 'exit 8'
# shellcheck disable=SC2016 # the job's shell is meant, here and below
batch segv 'failed user_code - fix_before_retry' --wrap 'kill -SEGV $$'
# shellcheck disable=SC2016
batch segv_child 'failed user_code - fix_before_retry' --wrap 'sh -c "kill -SEGV \$\$"; exit $?'
# shellcheck disable=SC2016
batch segv_task 'failed user_code 1 fix_before_retry' -n2 --wrap 'srun sh -c "[ \$SLURM_PROCID = 0 ] || kill -SEGV \$\$; sleep 2"'
# shellcheck disable=SC2016
direct s_segv 'failed user_code 1 fix_before_retry' -n2 sh -c '[ $SLURM_PROCID = 0 ] || kill -SEGV $$; sleep 2'
# shellcheck disable=SC2016
batch kill9 'failed unknown - investigate' --wrap 'kill -9 $$'
# shellcheck disable=SC2016
direct s_kill9 'failed unknown - investigate' sh -c 'kill -9 $$'
# shellcheck disable=SC2016
batch abort2 'failed user_code 2 fix_before_retry' -N2 -n4 --wrap 'srun -K sh -c "[ \$SLURM_PROCID = 2 ] && sleep 1 && kill -ABRT \$\$; sleep 60"'
# shellcheck disable=SC2016
direct s_abort2 'failed user_code 2 fix_before_retry' -N2 -n4 -K sh -c '[ $SLURM_PROCID = 2 ] && sleep 1 && kill -ABRT $$; sleep 60'
batch timeout 'timeout time_limit - resubmit_with_more_time' --time=1 --wrap 'sleep 300'
direct s_timeout 'timeout time_limit - resubmit_with_more_time' --time=1 sleep 300
batch cancel_owner 'cancelled user_cancel - none_needed' --wrap 'sleep 300'
direct s_cancel_owner 'cancelled user_cancel - none_needed' sleep 300
batch cancel_root 'cancelled scheduler - requeue' --wrap 'sleep 300'
direct s_cancel_root 'cancelled scheduler - requeue' sleep 300
batch overmem 'out_of_memory host_memory - resubmit_with_more_memory' --mem=30 --wrap 'dd if=/dev/zero of=/dev/null bs=300M count=900; sleep 60'
direct s_overmem 'out_of_memory host_memory - resubmit_with_more_memory' --mem=30 sh -c 'dd if=/dev/zero of=/dev/null bs=300M count=900; sleep 60'
# What control groups lead to, which the tests leave alone: the row is made below.
batch oom 'out_of_memory host_memory - resubmit_with_more_memory' --attribution=on --wrap 'exit 0'
batch lost 'node_failure host_os - requeue_exclude_nodes' --no-requeue -N2 -n2 -w "$other_node,$lost_node" --wrap 'srun sleep 300'
direct s_lost 'node_failure host_os - requeue_exclude_nodes' -w "$lost_node" sleep 300
# shellcheck disable=SC2016
batch requeue 'cancelled scheduler - none_needed
requeue failed user_code - fix_before_retry' --requeue -w "$first_node" --wrap '[ "$SLURM_RESTART_COUNT" ] && kill -SEGV $$; sleep 300'
batch no_output 'failed user_config - fix_before_retry' -o "$jobs/missing/%j.out" --wrap 'exit 0'
batch no_command 'failed user_config - fix_before_retry' --wrap 'srun no-such-program'
direct s_no_command 'failed user_config - fix_before_retry' no-such-program
batch no_command_in_script 'failed user_config - fix_before_retry' --wrap 'no-such-program'
# shellcheck disable=SC2016
batch array 'failed user_code - fix_before_retry' --array=3,7 -o "$jobs/array-%a.out" --wrap '[ $SLURM_ARRAY_TASK_ID = 3 ] || kill -SEGV $$'
# shellcheck disable=SC2016
printf '#!/bin/sh\n#SBATCH -n1 -x %s\n#SBATCH hetjob\n#SBATCH -n2 -x %s\nsrun --het-group=0,1 -K sh -c "[ \\$SLURM_PROCID = 2 ] && kill -SEGV \\$\\$; sleep 60"\n' "$lost_node" "$lost_node" >"$jobs/het.sh"
batch het 'failed user_code 2 fix_before_retry' "$jobs/het.sh"

# ---- what is done to them ------------------------------------------------------------------------------
for name in cancel_owner s_cancel_owner cancel_root s_cancel_root timeout s_timeout lost s_lost requeue; do
  wait_until 60 "job $name" sh -c "squeue -h -t running -o %j | grep -qx $name"
done
"$cluster" kill-node "$lost_node"
as_user scancel "$(id_of cancel_owner)" "$(id_of s_cancel_owner)"
scancel "$(id_of cancel_root)" "$(id_of s_cancel_root)"
# Over its time at the controller's next look, which it takes every 30 s; a --time=1 of its own takes up to 80.
scontrol update job "$(id_of timeout)" TimeLimit=0
scontrol update job "$(id_of s_timeout)" TimeLimit=0
requeue=$(id_of requeue)
scontrol requeue "$requeue"
is_pending() { [ "$(job_state "$requeue")" = PENDING ]; }
wait_until 30 "the requeue" is_pending
# See test_plugin.sh.
sleep 2
scontrol update job "$requeue" StartTime=now
oom=$(id_of oom)
wait_jobs "$oom"
is_in_accounting() { [ "$(sacct -n -P -X -j "$oom" -o state)" = COMPLETED ]; }
wait_until 20 "the row of job $oom" is_in_accounting
"$cluster" sql "update nvabtest_job_table set state = 11, exit_code = 253 where id_job = $oom"
all_over() { [ -z "$(squeue -h -o %A)" ]; }
wait_until 90 "the end of all jobs" all_over
# Then the controller has told accounting who the owners of short jobs are.
sleep 5

# ---- by the hooks and the queue ----------------------------------------------------------------------------
"$run" --work --config "$work/nvab.toml" --quiet || fail "--work ended with $?"
verdicts='select c.name, r.terminal_state, r.sub_domain, coalesce(r.first_failing_rank, "-"), r.action'
verdicts="$verdicts from attribution_run r join execution_context c on c.id = r.context_id"
sql() { python3 -c 'import sqlite3,sys
for row in sqlite3.connect("file:%s?mode=ro" % sys.argv[1], uri=True).execute(sys.argv[2]): print(*row)' "$results" "$1"; }
same_verdicts() { # WAY FILE
  grep -v ' none$' "$expected" | sort >"$work/wanted"
  sort "$2" | diff "$work/wanted" - >"$work/diff" || fail "verdicts by $1 (< wanted, > got): $(cat "$work/diff")"
}
sql "$verdicts" >"$work/by_queue"
same_verdicts "the queue" "$work/by_queue"
same "whom to avoid" "$(sql "select distinct n.node from run_node n where n.is_excluded")" "$lost_node"
same "nodes to drain" "$(sql "select * from run_node where drain_reason is not null")" ""
same "attempts of a requeued job" "$(sql "select attempt, state from execution_context where name = 'requeue' order by attempt" | xargs)" "0 REQUEUED 1 FAILED"
"$run" --queue-status --config "$work/nvab.toml" --format json >"$work/status"
same "entries that are not done" "$(member new <"$work/status") $(member put_off <"$work/status") $(member dead <"$work/status")" "0 0 0"

# ---- by asking for them ---------------------------------------------------------------------------------------
printf '[run]\nspool = "%s"\n' "$tasks" >"$work/asked.toml"
ids=$(sql "select job_id from execution_context" | sed 's/_.*//' | sort -nu | paste -sd, -)
"$run" -j "$ids" --config "$work/asked.toml" --format json >"$work/asked.json" 2>"$work/asked.err" || fail "-j ended with $?: $(cat "$work/asked.err")"
python3 -c 'import json, sys
text, read = sys.stdin.read(), json.JSONDecoder()
while text.strip():
  r, end = read.raw_decode(text.lstrip())
  text = text.lstrip()[end:]
  rank = r["first_failing_rank"]
  print(r["context"]["name"], r["terminal_state"], r["sub_domain"], "-" if rank is None else rank, r["advice"]["action"])' \
  <"$work/asked.json" >"$work/by_id"
# Who asks for an array asks for all of its tasks.
expect array 'completed none - none_needed'
same_verdicts "-j" "$work/by_id"
no_node_is_drained_but_the_lost_one() { sinfo -h -N -o '%N %T %E' | grep -E 'drain|down|fail' | grep -v "^$lost_node " || true; }
same "nodes out of service" "$(no_node_is_drained_but_the_lost_one)" ""
finish

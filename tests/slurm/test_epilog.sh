#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=300
# What the three hooks hand over when real jobs end, and that nothing about them hurts a node.
set -eu
# shellcheck source=tests/slurm/lib.sh
. "$SRCDIR/tests/slurm/lib.sh"

export CLUSTER_NVAB="$BUILDDIR" CLUSTER_HOOKS="plugin epilog epilogctld jobcomp"
# Where there is such a user, EpilogSlurmctld runs as it, as on most sites: not as root.
if id slurm >/dev/null 2>&1; then export CLUSTER_SLURM_USER=slurm; fi
start_cluster
first_node=${CLUSTER_NODE_NAMES%% *}

entries() { find "$queue/new" -name "$1.$2.*.json" | sort; }  # JOB HOOK
count() { entries "$1" "$2" | wc -l; }
entry() { entries "$1" "$2" | xargs -r cat; }
told() { entry "$1" "$2" | member "$3" | sort -u | xargs; } # JOB HOOK MEMBER

# A hook may be a little later than the job's state.
all_here() { # JOB EPILOGS EPILOGCTLDS JOBCOMPS
  [ "$(count "$1" epilog) $(count "$1" epilogctld) $(count "$1" jobcomp)" = "$2 $3 $4" ]
}
wait_entries() { # as all_here
  wait_until 30 "$2 epilog, $3 epilogctld and $4 jobcomp entries of job $1, not $(count "$1" epilog), $(count "$1" epilogctld), $(count "$1" jobcomp)" all_here "$@"
}

# ---- submit everything, then wait once --------------------------------------------------------------
# The pause: where a script ends right after its step, the hooks may run before slurmctld has the
# step's exit code.
fails=$(submit -J 'two nodes' -N2 -n2 --comment='a "comment"' -o '%x-%j.out' -e '%x-%j.err' --wrap 'srun -N1 -n1 sh -c "exit 7"; sleep 1; exit 3')
plain=$(submit --wrap 'exit 137')
wanted=$(submit --attribution=on -o /dev/null --wrap 'kill -9 $$')
unwanted=$(submit --attribution=off -o /dev/null --wrap 'exit 0')
# What a user writes into the environment is not what the hooks see.
forged=$(SPANK_ATTRIBUTION=off SLURM_SPANK_ATTRIBUTION=off SLURM_JOB_USER=eve submit --export=ALL -o /dev/null --wrap 'exit 0')
array=$(submit -o /dev/null --array=5,9 --wrap 'exit 1')
printf '#!/bin/sh\n#SBATCH -n1 -o /dev/null\n#SBATCH hetjob\n#SBATCH -n2\nexit 2\n' >"$jobs/het.sh"
het=$(submit "$jobs/het.sh")
waiting=$(submit -o /dev/null --begin=now+1hour --wrap 'exit 0')
cancel=$(submit -o /dev/null --wrap 'sleep 300')
# shellcheck disable=SC2016 # the job's shell is meant
requeue=$(submit --requeue -w "$first_node" -o /dev/null --wrap '[ "$SLURM_RESTART_COUNT" ] && exit 4; sleep 300')
as_user salloc -N1 --attribution=on true >/dev/null 2>&1
# shellcheck disable=SC2016 # the job's shell is meant
direct=$(as_user srun -n1 sh -c 'echo $SLURM_JOB_ID; exit 5' 2>/dev/null) || true
wait_until 60 "job $cancel" is_running "$cancel"
wait_until 60 "job $requeue" is_running "$requeue"
scancel "$waiting" "$cancel"
scontrol requeue "$requeue"
wait_entries "$requeue" 1 1 1
# See test_plugin.sh.
sleep 2
scontrol update job "$requeue" StartTime=now
wait_jobs "$fails" "$plain" "$wanted" "$unwanted" "$forged" "$array" "$het" "$waiting" "$cancel" "$requeue"

# ---- a job on two nodes --------------------------------------------------------------------------------
wait_entries "$fails" 2 1 1
same "its nodes" "$(told "$fails" epilog node | wc -w)" 2
for hook in epilog epilogctld jobcomp; do
  same "exit code by $hook" "$(told "$fails" $hook exit_code)" 3:0
  same "derived exit code by $hook" "$(told "$fails" $hook derived_exit_code)" 7:0
  same "user by $hook" "$(told "$fails" $hook user)" "$user"
  same "uid by $hook" "$(told "$fails" $hook uid)" "$(id -u "$user")"
  same "folder by $hook" "$(told "$fails" $hook work_dir)" "$jobs"
  same "output by $hook" "$(told "$fails" $hook stdout)" "$jobs/%x-%j.out"
  same "errors by $hook" "$(told "$fails" $hook stderr)" "$jobs/%x-%j.err"
  same "nodes by $hook" "$(told "$fails" $hook node_count)" 2
  same "host by $hook" "$(told "$fails" $hook host)" "$(hostname)"
  has "version by $hook" "$(entry "$fails" $hook)" '^\{"v":1,'
  same "lists by $hook" "$(entry "$fails" $hook | grep -c '"cut"\|"lossy"' || true)" 0
done
for hook in epilogctld jobcomp; do
  same "name by $hook" "$(told "$fails" $hook name)" "two nodes"
done
same "cluster" "$(told "$fails" epilog cluster) $(told "$fails" epilogctld cluster)" "nvabtest nvabtest"
same "account of a user without one" "$(told "$fails" epilogctld account)" ""
same "mode" "$(told "$fails" epilog attribution) $(told "$fails" epilogctld attribution)" "auto auto"
same "comment" "$(entry "$fails" epilogctld | member comment)" '"a \"comment\""'
same "state" "$(told "$fails" jobcomp state)" FAILED
same "configuration" "$(told "$fails" epilog slurm_conf)" "$SLURM_CONF"
same "the time of the end" "$(date -d "$(told "$fails" jobcomp end_time)" +%FT%T)" "$(scontrol -o show job "$fails" | sed -n 's/.* EndTime=\([^ ]*\) .*/\1/p')"
written=$(date -d "$(entry "$fails" epilogctld | member time | tr -d '"')" +%s)
ended=$(date -d "$(told "$fails" jobcomp end_time)" +%s)
case $((written - ended)) in [0-5]) ;; *) fail "the entry was written $((written - ended)) s after the end" ;; esac

# ---- other ends -------------------------------------------------------------------------------------------
wait_entries "$plain" 1 1 1
same "exit 137" "$(told "$plain" epilog exit_code) $(told "$plain" epilogctld exit_code)" "137:0 137:0"
same "output of a job that said nothing" "$(told "$plain" epilog stdin) $(told "$plain" epilog stdout)" "/dev/null "
wait_entries "$wanted" 1 1 1
same "kill -9" "$(told "$wanted" epilog exit_code)" 0:9
same "mode of a job that said on" "$(told "$wanted" epilog attribution) $(told "$wanted" epilogctld attribution)" "on on"
wait_entries "$unwanted" 0 1 1
same "mode of a job that said off" "$(told "$unwanted" epilogctld attribution)" off
wait_entries "$forged" 1 1 1
same "what a forged job says" "$(told "$forged" epilog attribution) $(told "$forged" epilog user)" "auto $user"
wait_entries "$cancel" 1 1 1
same "a cancelled job looks like a good one" "$(told "$cancel" epilog exit_code) $(told "$cancel" epilogctld exit_code)" "0:0 0:0"
same "but not to jobcomp" "$(told "$cancel" jobcomp state)" CANCELLED
wait_entries "$waiting" 0 0 1
same "state of a job that never ran" "$(told "$waiting" jobcomp state)" CANCELLED
wait_entries "$direct" 1 1 1
same "exit code of a direct srun" "$(told "$direct" epilog exit_code)" 5:0
same "salloc with --attribution=on" "$(cat "$queue"/new/*.epilogctld.* | grep -c '"attribution":"on"')" 2

# ---- arrays, heterogeneous jobs, runs --------------------------------------------------------------------------
for index in 5 9; do
  for hook in epilogctld jobcomp; do
    line=$(cat "$queue/new"/*.$hook.* | grep "\"array_job_id\":$array,\"array_task_id\":$index,")
    same "array task $index by $hook" "$(printf '%s\n' "$line" | member exit_code)" '"1:0"'
  done
done
same "array ids of a job that is none" "$(entry "$plain" jobcomp | grep -c array_ || true)" 0
second=$((het + 1))
wait_entries "$het" 1 1 1
wait_entries "$second" 1 1 1
for hook in epilog epilogctld jobcomp; do
  same "het id by $hook" "$(told "$het" $hook het_job_id) $(told "$second" $hook het_job_id)" "$het $het"
done
same "het offsets" "$(told "$second" epilogctld het_offset) $(told "$second" jobcomp het_offset)" "1 1"
wait_entries "$requeue" 2 2 2
same "exit codes of two runs" "$(entries "$requeue" epilogctld | xargs cat | member exit_code | xargs)" "0:0 4:0"
same "states of two runs" "$(entries "$requeue" jobcomp | xargs cat | member state | xargs)" "PENDING FAILED"

# ---- many at once -------------------------------------------------------------------------------------------------
many=$(submit -o /dev/null --array=1-24 --wrap 'exit 1')
many_here() { [ "$(cat "$queue/new"/*.epilogctld.* | grep -c "\"array_job_id\":$many,")" = 24 ]; }
wait_until 60 "24 jobs at once" many_here
same "trigger ids that come twice" "$(cat "$queue/new"/*.json | member trigger_id | sort | uniq -d)" ""
same "files that are half written" "$(find "$queue/new" -name '.*' -type f)" ""
for file in "$queue"/new/*.json; do
  same "lines of $file" "$(wc -l <"$file")" 1
  same "name of $file" "$(member trigger_id <"$file" | tr -d '"').json" "$(basename "$file")"
done
no_node_is_drained "after all jobs"

# ---- queues that do not work ------------------------------------------------------------------------------------------
try_queue() { # WHAT
  job=$(submit -N2 -n2 -o /dev/null --wrap 'exit 6')
  wait_jobs "$job"
  same "state with $1" "$(scontrol -o show job "$job" | sed -n 's/.* JobState=\([A-Z]*\) .* ExitCode=\([0-9:]*\) .*/\1 \2/p')" "FAILED 6:0"
  "$cluster" idle 20
  no_node_is_drained "with $1"
}
mv "$queue" "$queue.away"
try_queue "no queue"
mkdir "$queue"
chmod 777 "$queue"
if mount -t tmpfs -o size=1M,mode=777 tmpfs "$queue"; then
  try_queue "a full queue"
  same "entries in a full queue" "$(find "$queue" -type f)" ""
  mount -o remount,size=100M,ro "$queue"
  try_queue "a read-only queue"
  umount "$queue"
else
  echo "not tried here, for want of mount: a full and a read-only queue"
fi
rmdir "$queue"
mv "$queue.away" "$queue"
mv "$CLUSTER_DIR/nvab/nvab-handoff" "$work"
try_queue "no program to hand over"
printf '\177ELF\002\001\001garbage' >"$CLUSTER_DIR/nvab/nvab-handoff"
chmod 755 "$CLUSTER_DIR/nvab/nvab-handoff"
try_queue "a program of another processor"
mv "$work/nvab-handoff" "$CLUSTER_DIR/nvab/nvab-handoff"
again=$(submit -o /dev/null --wrap 'exit 0')
wait_jobs "$again"
wait_entries "$again" 1 1 1
finish

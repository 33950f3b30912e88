#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What the plugin, the epilog and the queue cost on a real Slurm: each beside its peer in the same run,
# the two taking turns, so that what else the machine does hits both; then how long verdicts take.
# RUNS=60 sets how many turns, QUEUED=1000 how many jobs are worked off at once.
set -eu
# shellcheck source=tests/slurm/lib.sh
. "$SRCDIR/tests/slurm/lib.sh"
runs=${RUNS:-60}
queued=${QUEUED:-1000}
user=root

# Milliseconds, one a line, from stdin: "min median".
summary() { sort -n | awk '{v[NR] = $1} END {printf "%.2f %.2f\n", v[1], v[int((NR + 1) / 2)]}'; }

report() { # WHAT PEER-FILE OURS-FILE
  local peer ours
  read -ra peer < <(summary <"$2")
  read -ra ours < <(summary <"$3")
  printf '%-52s peer %7s / %7s   ours %7s / %7s   ratio of medians %s\n' "$1" "${peer[0]}" "${peer[1]}" \
    "${ours[0]}" "${ours[1]}" "$(awk -v a="${ours[1]}" -v b="${peer[1]}" 'BEGIN {printf "%.3f", a / b}')"
}

clock_us() { echo "${EPOCHREALTIME/./}"; }

# The time of a command in ms, appended to a file.
timed() { # FILE COMMAND...
  local file=$1 from to
  shift
  from=$(clock_us)
  "$@"
  to=$(clock_us)
  awk -v us=$((to - from)) 'BEGIN {printf "%.3f\n", us / 1000}' >>"$file"
}

export CLUSTER_NVAB="$BUILDDIR" CLUSTER_HOOKS="plugin epilog epilogctld" CLUSTER_LOG_LEVEL=debug
start_cluster
results=$work/results
mkdir "$results"
node=${CLUSTER_NODE_NAMES%% *}
plugstack=$CLUSTER_DIR/etc/plugstack.conf
hooks=$CLUSTER_DIR/nvab
cp "$plugstack" "$work/with"
: >"$work/without"
# slurm.conf goes on naming the same file; what that is takes turns.
mv "$hooks/nvab-epilog" "$hooks/ours"
printf '#!/bin/sh\nexit 0\n' >"$hooks/empty"
chmod 755 "$hooks/empty"
ln -sfn /bin/true "$hooks/nvab-epilog"

echo "times in ms: least / median of $runs turns"

# ---- a program by itself ------------------------------------------------------------------------------
for ((i = 0; i < runs * 5; i++)); do
  timed "$results/exec.true" /bin/true
  timed "$results/exec.sh" "$hooks/empty"
  SLURM_JOB_ID=1 SLURM_JOB_USER=root timed "$results/exec.ours" "$hooks/ours"
done
report "the epilog alone, beside /bin/true" "$results/exec.true" "$results/exec.ours"
report "the epilog alone, beside an empty shell script" "$results/exec.sh" "$results/exec.ours"

# ---- srun with and without the plugin --------------------------------------------------------------------
# Steps in one allocation, so that the scheduler has no part in it.
salloc -Q --no-shell -J steps -w "$node" -n4
allocation=$(squeue -h -n steps -o %A)
measure_srun() { # NAME SRUN-WORDS...
  local name=$1 kind
  shift
  for ((i = 0; i < runs; i++)); do
    for kind in without with; do
      cp "$work/$kind" "$plugstack.new" && mv "$plugstack.new" "$plugstack"
      timed "$results/$name.$kind" srun -Q --jobid="$allocation" "$@" true
    done
  done
}
measure_srun one -n1
report "srun -n1 true, without and with the plugin" "$results/one.without" "$results/one.with"
measure_srun many -n32 --overcommit
report "srun -n32 true, without and with the plugin" "$results/many.without" "$results/many.with"
awk -v a="$(summary <"$results/many.without")" -v b="$(summary <"$results/many.with")" \
  'BEGIN {split(a, x); split(b, y); printf "%-52s least %.3f   median %.3f\n", "the plugin, a task", (y[1] - x[1]) / 32, (y[2] - x[2]) / 32}'

# ---- from the end of a job to the end of its epilog --------------------------------------------------------
scancel "$allocation"
cp "$work/without" "$plugstack"
"$cluster" idle
log=$CLUSTER_DIR/log/slurm/slurmd-$node.log
declare -A kind_of
epilog_is_done() { grep -q "completed epilog for jobid $1\$" "$log"; }
for ((i = 0; i < runs; i++)); do
  for kind in /bin/true empty ours; do
    ln -sfn "$kind" "$hooks/next" && mv -T "$hooks/next" "$hooks/nvab-epilog"
    # shellcheck disable=SC2016 # the job's shell is meant
    id=$(srun -Q -w "$node" -n1 sh -c 'echo $SLURM_JOB_ID')
    wait_until 20 "the epilog of job $id" epilog_is_done "$id"
    kind_of[$id]=${kind##*/}
  done
done
# [2026-12-01T07:39:08.123] ... lines of the terminate request and of the epilog's end.
for id in "${!kind_of[@]}"; do
  awk -v id="$id" -F'[][]' '
    function ms(stamp, part) { split(stamp, part, /[T:.]/); return ((part[2] * 60 + part[3]) * 60 + part[4]) * 1000 + part[5] }
    $0 ~ "_rpc_terminate_job: .*JobId=" id "$" && !from { from = ms($2) }
    $0 ~ "completed epilog for jobid " id "$" { print ms($2) - from }' "$log" >>"$results/epilog.${kind_of[$id]}"
done
report "terminate to epilog complete, beside /bin/true" "$results/epilog.true" "$results/epilog.ours"
report "terminate to epilog complete, beside an empty script" "$results/epilog.empty" "$results/epilog.ours"
same "jobs handed over" "$(find "$queue/new" -name '*.epilog.*' | wc -l)" $((runs * 5 + runs))

# ---- from the end of a job to its verdict --------------------------------------------------------------------
ln -sfn ours "$hooks/next" && mv -T "$hooks/next" "$hooks/nvab-epilog"
cp "$work/with" "$plugstack"
rm -f "$queue"/new/*
run=$BUILDDIR/obj/nvab-run
# What the kernel of this machine says is not about these jobs.
export NVAB_LOG_KERNEL_ENABLED=false
mkdir "$work/bin"
printf '#!/bin/sh\necho >>%s\nexec %s "$@"\n' "$work/calls" "$(command -v sacct)" >"$work/bin/sacct"
chmod 755 "$work/bin/sacct"
PATH=$work/bin:$PATH
cat >"$work/nvab.toml" <<END
[run]
spool = "$tasks"
[queue]
path = "$queue"
[policy]
auto = "all"
[output.sqlite]
path = "$work/results.db"
END
sql() { python3 -c 'import sqlite3,sys
for row in sqlite3.connect("file:%s?mode=ro" % sys.argv[1], uri=True).execute(sys.argv[2]): print(*row)' "$work/results.db" "$1"; }
verdict_time() { sql "select r.created_us from attribution_run r join execution_context c on c.id = r.context_id where c.job_id = '$1'" 2>/dev/null; }
has_verdict() { [ -n "$(verdict_time "$1")" ]; }
"$run" --watch --config "$work/nvab.toml" --log-level error 2>"$work/watch.log" &
watch=$!
# After the first one the rules are loaded and the database is there.
for ((i = 0; i <= 10; i++)); do
  id=$(submit -o /dev/null --wrap "date +%s%N >$work/ended; exit 3")
  wait_until 30 "the verdict on job $id" has_verdict "$id"
  if ((i > 0)); then
    awk -v made="$(verdict_time "$id")" -v ended="$(cat "$work/ended")" 'BEGIN {printf "%.0f\n", made / 1000 - ended / 1e6}' >>"$results/verdict"
  fi
done
kill "$watch"
wait "$watch" || fail "the watch ended with $?: $(cat "$work/watch.log")"
printf '%-52s least / median %s\n' "from the end of a job to its verdict (goal: 2000)" "$(summary <"$results/verdict" | tr ' ' '/')"

# ---- many queued jobs ---------------------------------------------------------------------------------------
before=$(sql "select count(*) from attribution_run")
submit -J many -o /dev/null --array="1-$queued" --wrap 'exit 1' >/dev/null
all_handed_over() { [ "$(find "$queue/new" -name '*.epilog.*.json' | wc -l)" -ge "$queued" ]; }
wait_until 600 "$queued queued jobs" all_handed_over
sleep 6
: >"$work/calls"
from=$(clock_us)
"$run" --work --config "$work/nvab.toml" --quiet || fail "--work ended with $?"
to=$(clock_us)
done_jobs=$(($(sql "select count(*) from attribution_run") - before))
same "jobs judged" "$done_jobs" "$queued"
awk -v us=$((to - from)) -v jobs="$done_jobs" -v calls="$(wc -l <"$work/calls")" 'BEGIN {
  printf "%-52s %d jobs in %.1f s: %d a minute, %.1f ms each, %d calls of sacct\n", "a queue worked off", jobs, us / 1e6, jobs * 60e6 / us, us / 1000 / jobs, calls }'
finish

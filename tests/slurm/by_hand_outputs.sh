#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=300
# Where verdicts on real jobs go: a card beside the output of those who asked for one, as their
# owner's file, and a short verdict in accounting that leaves alone what others wrote there.
#
# Not among the tests that make check runs: tasks of arrays and components of het jobs reach accounting a
# moment later than others, a fast runner then judges the job as it looks until then, and what this expects
# of them comes only sometimes. By hand: SRCDIR=. BUILDDIR=. bash tests/slurm/by_hand_outputs.sh
set -eu
# shellcheck source=tests/slurm/lib.sh
. "$SRCDIR/tests/slurm/lib.sh"

export CLUSTER_NVAB="$BUILDDIR" CLUSTER_HOOKS="plugin epilog epilogctld"
start_cluster
run=$BUILDDIR/obj/nvab-run
first_node=${CLUSTER_NODE_NAMES%% *}
cat >"$work/nvab.toml" <<END
[run]
timeout_seconds = 20
spool = "$tasks"
[queue]
path = "$queue"
poll_seconds = "1s"
[output.sqlite]
path = "$work/results.db"
[output.slurm]
field = "system_comment"
END
"$run" --watch --config "$work/nvab.toml" --log-level info 2>"$jobs/watch.log" &
watch=$!

# A run of a job has a row; of a job that was put back, the newest is the last.
comment() { sacct -n -P -X -D -j "$1" -o "$2" | tail -n 1; } # JOB FIELD
is_told() { comment "$1" SystemComment | grep -qi '^nvab1:state='; }
is_empty() {
  status=$("$run" --queue-status --format json --config "$work/nvab.toml")
  [ "$(echo "$status" | member new)$(echo "$status" | member put_off)$(echo "$status" | member claimed)" = 000 ]
}

# ---- submit everything --------------------------------------------------------------------------------
asked=$(submit --attribution=on -J card -o '%x-%j.log' --wrap 'echo working; exit 3')
silent=$(submit -o 'silent-%j.log' --wrap 'exit 3')
nowhere=$(submit --attribution=on -o /dev/null --wrap 'exit 4')
array=$(submit --attribution=on --array=5,9 -o 'shared.log' --wrap 'exit 1')
printf '#!/bin/sh\n#SBATCH -n1 -o /dev/null\n#SBATCH hetjob\n#SBATCH -n2\nexit 2\n' >"$jobs/het.sh"
het=$(submit "$jobs/het.sh")
# shellcheck disable=SC2016 # the job's shell is meant
requeue=$(submit --requeue -w "$first_node" -o /dev/null --wrap '[ "$SLURM_RESTART_COUNT" ] && exit 4; sleep 300')
# What is written while a job runs keeps its capitals.
stats=JS1:H4sIAJzAZGUC/6vmUlBQKs7MS09VslIw1AFySlKLS5Ssqrlqa2u5AABfYrxJIwAAAA==
taken=$(submit -o /dev/null --wrap 'sleep 300')
# shellcheck disable=SC2016 # the job's shell is meant
direct=$(as_user srun -n1 --attribution=on sh -c 'echo $SLURM_JOB_ID; exit 5' 2>/dev/null) || true
wait_jobs "$asked"
wait_until 20 "the card of job $asked" test -e "$jobs/card-$asked.log.nvab"
card_time=$(date +%s)
wait_until 60 "job $taken" is_running "$taken"
scontrol update job "$taken" "AdminComment=$stats"
scancel "$taken"
wait_until 60 "job $requeue" is_running "$requeue"
scontrol requeue "$requeue"
sleep 2
scontrol update job "$requeue" StartTime=now
wait_jobs "$silent" "$nowhere" "$array" "$het" "$taken" "$requeue" "$direct"

# ---- cards ---------------------------------------------------------------------------------------------
ended=$(date -d "$(sacct -n -P -X -j "$asked" -o End)" +%s)
[ $((card_time - ended)) -le 8 ] || fail "the card came $((card_time - ended)) s after the end of the job"
card=$jobs/card-$asked.log.nvab
same "owner, group and mode of the card" "$(stat -c '%U %G %a' "$card")" \
  "$user $(id -gn "$user") $(stat -c %a "$jobs/card-$asked.log")"
has "the card" "$(cat "$card")" "job $asked"
for name in "slurm-$nowhere" "slurm-$direct" "shared.log.${array}_5" "shared.log.${array}_9"; do
  wait_until 20 "the card $name.nvab" test -e "$jobs/$name.nvab"
  same "owner of $name.nvab" "$(stat -c %U "$jobs/$name.nvab")" "$user"
done

# ---- accounting -------------------------------------------------------------------------------------------
# Only the first component: the others may reach accounting after the job was judged.
for job in "$asked" "$silent" "${array}_5" "${array}_9" "$het+0" "$requeue"; do
  wait_until 30 "the verdict on job $job in accounting" is_told "$job"
done
wait_until 30 "the queue to be empty" is_empty
same "cards that nobody asked for" "$(find "$jobs" -name '*.nvab' | wc -l)" 5
has "the verdict" "$(comment "$asked" SystemComment)" '^[Nn][Vv][Aa][Bb]1:state=failed,sub=[a-z_]+,(cause=|action=)'
has "the verdict on the second run" "$(comment "$requeue" SystemComment)" 'state=failed'
same "what the first run has" "$(sacct -n -P -X -D -j "$requeue" -o SystemComment | head -n 1)" ""
has "why it has none" "$(cat "$jobs/watch.log")" "job $requeue: output output.slurm: .*another run of job .* was submitted"
same "dead entries" "$("$run" --queue-status --format json --config "$work/nvab.toml" | member dead)" 0
kill "$watch"
wait "$watch" || fail "the watch ended with $?"

# Of Jobstats' text either all survives, with ours behind it, or it is not touched.
again() { # JOB FIELD
  "$run" -j "$1" --format json --connector output slurm field "$2" --summary-json "$work/summary.json" >/dev/null 2>&1
}
again "$taken" admin_comment || true
case $(comment "$taken" AdminComment) in
  "$stats") has "the refusal" "$(cat "$work/summary.json")" '"reason": "writing the verdict into accounting: .*capital letters' ;;
  "$stats;NVAB1:state=cancelled,"*) ;;
  *) fail "Jobstats' text became $(comment "$taken" AdminComment)" ;;
esac
sacctmgr -i modify job where jobid="$silent" set 'AdminComment=js1:h4si/+x==;a note' >/dev/null
for _ in 1 2; do
  again "$silent" admin_comment || fail "writing into a taken field ended with $?"
  has "a taken field" "$(comment "$silent" AdminComment)" '^js1:h4si/\+x==;a note;[Nn][Vv][Aa][Bb]1:state=failed[^;]*$'
done
again "$asked" system_comment || fail "writing again ended with $?"
has "a verdict that is written twice" "$(comment "$asked" SystemComment)" '^[Nn][Vv][Aa][Bb]1:[^;]*$'
# Who is no administrator is told so.
as_user "$run" -j "$asked" --connector output slurm field admin_comment >/dev/null 2>"$jobs/denied" || true
has "what an ordinary user is told" "$(cat "$jobs/denied")" 'output.slurm: .*privilege'
no_node_is_drained "at the end"
finish

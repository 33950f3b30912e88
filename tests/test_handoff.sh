#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The hooks of Slurm that hand jobs over: what they write, and that nothing makes them fail.
set -eu
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
hooks=$work/hooks
queue=$work/queue
mkdir -p "$hooks" "$queue"
cp "$BUILDDIR/obj/nvab-handoff" "$hooks"
for hook in nvab-epilog nvab-epilogctld nvab-jobcomp; do
  # As an administrator would: one line says where the queue is.
  sed "s|^queue=.*|queue=$queue|" "$SRCDIR/epilog/$hook" >"$hooks/$hook"
  chmod 755 "$hooks/$hook"
  grep -qx "queue=$queue" "$hooks/$hook" || { echo "FAIL: $hook has no line that begins with queue="; exit 1; }
done

fail() {
  echo "FAIL: $*" >&2
  exit 1
}

same() { # WHAT GOT WANTED
  [ "$2" = "$3" ] || fail "$1: got '$2', wanted '$3'"
}

has() { # TEXT REGEX
  printf '%s\n' "$1" | grep -q -- "$2" || fail "'$1' has no '$2'"
}

# Nothing but the given environment, as under slurmd: no PATH, no HOME.
run() { # PROGRAM VARIABLE=VALUE...
  program=$1
  shift
  env -i "$@" "$program" >"$work/out" 2>"$work/err" || fail "$program ended with $?: $(cat "$work/err")"
}

entries() { find "$queue" -type f | wc -l; }
fresh() { rm -rf "$queue" && mkdir "$queue"; }
entry() { cat "$queue"/new/*.json; }

# What differs from run to run, made equal.
plain() {
  sed -E 's/"time":"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]{6}Z"/TIME/; s/"host":"[^"]*"/HOST/
    s/"trigger_id":"([0-9]+\.[a-z]+)\.[^"]*\.[0-9]{16}\.[0-9]+"/"trigger_id":"\1"/'
}

# ---- what is written ----------------------------------------------------------------------------------
run "$hooks/nvab-epilog" SLURMD_NODENAME=n7 SLURM_CLUSTER_NAME=alpha SLURM_CONF=/etc/slurm/slurm.conf SLURM_JOBID=815 \
  SLURM_JOB_ACCOUNT=physics SLURM_JOB_COMMENT='say "hi"' SLURM_JOB_CPUS_PER_NODE=4 SLURM_JOB_DERIVED_EC=1792 \
  SLURM_JOB_EXIT_CODE=35072 SLURM_JOB_EXIT_CODE2=137:0 SLURM_JOB_GID=100 SLURM_JOB_ID=815 SLURM_JOB_NTASKS=8 \
  SLURM_JOB_NUM_NODES=2 SLURM_JOB_PARTITION=gpu SLURM_JOB_RESTART_COUNT=1 SLURM_JOB_STDIN=/dev/null \
  SLURM_JOB_STDOUT='/home/ada/%x-%j.out' SLURM_JOB_UID=1001 SLURM_JOB_USER=ada SLURM_JOB_WORK_DIR=/home/ada \
  SLURM_NODELIST='n[7-8]' SLURM_SCRIPT_CONTEXT=epilog_slurmd SLURM_UID=1001 SLURM_HET_JOB_ID=814 \
  SPANK_ATTRIBUTION=on SPANK_OTHER=x SECRET=y
same "epilog's entry" "$(entry | plain)" '{"v":1,"trigger_id":"815.epilog","hook":"epilog",'"HOST,TIME"',"job":{"job_id":815,"het_job_id":814,'"\
"'"cluster":"alpha","node":"n7","restart_count":1,"user":"ada","uid":1001,"gid":100,"account":"physics","partition":"gpu",'"\
"'"node_list":"n[7-8]","node_count":2,"task_count":8,"exit_code":"137:0","derived_exit_code":"7:0","work_dir":"/home/ada",'"\
"'"stdin":"/dev/null","stdout":"/home/ada/%x-%j.out","comment":"say \"hi\"","slurm_conf":"/etc/slurm/slurm.conf",'"\
"'"attribution":"on"}}'
name=$(cd "$queue/new" && ls)
has "$(entry)" "\"trigger_id\":\"${name%.json}\""
same "host" "$(entry | sed 's/.*"host":"\([^"]*\)".*/\1/')" "$(hostname)"
same "mode of the file" "$(stat -c %a "$queue"/new/*.json)" 640
now=$(date +%s)
written=$(date -d "$(entry | sed 's/.*"time":"\([^"]*\)".*/\1/')" +%s)
[ $((now - written)) -le 5 ] || fail "the time is $((now - written)) s off"

fresh
run "$hooks/nvab-epilogctld" SLURM_ARRAY_JOB_ID=800 SLURM_ARRAY_TASK_ID=0 SLURM_ARRAY_TASK_COUNT=3 SLURM_CLUSTER_NAME=alpha \
  SLURM_HET_JOB_ID=814 SLURM_HET_JOB_OFFSET=0 SLURM_JOB_DERIVED_EC=15 SLURM_JOB_EXIT_CODE2=0:9 SLURM_JOB_GROUP=users \
  SLURM_JOB_ID=815 SLURM_JOB_ACCOUNT='(null)' SLURM_JOB_NAME='my job' SLURM_JOB_NODELIST='n[7-8]' SLURM_JOB_RESTART_COUNT=0
same "epilogctld's entry" "$(entry | plain)" '{"v":1,"trigger_id":"815.epilogctld","hook":"epilogctld",'"HOST,TIME"',"job":{"job_id":815,'"\
"'"array_job_id":800,"array_task_id":0,"het_job_id":814,"het_offset":0,"cluster":"alpha","restart_count":0,"name":"my job",'"\
"'"node_list":"n[7-8]","exit_code":"0:9","derived_exit_code":"0:15"}}'

fresh
run "$hooks/nvab-jobcomp" JOBID=815 ARRAYJOBID=0 ARRAYTASKID=4294967294 CLUSTER=alpha JOBNAME=wrap JOBSTATE=CANCELLED UID=0 \
  USERNAME=root EXITCODE=0:0 DERIVED_EC=0:0 NODES= NODECNT=0 PARTITION=gpu SUBMIT=951827696 START=Unknown END=951827697 \
  STATEREASONPREV=Dependency WORK_DIR=/tmp PATH=/bin SLURM_JOB_ID=999
same "jobcomp's entry" "$(entry | plain)" '{"v":1,"trigger_id":"815.jobcomp","hook":"jobcomp",'"HOST,TIME"',"job":{"job_id":815,"cluster":"alpha",'"\
"'"name":"wrap","user":"root","uid":0,"partition":"gpu","node_count":0,"exit_code":"0:0","derived_exit_code":"0:0",'"\
"'"state":"CANCELLED","reason":"Dependency","submit_time":"2000-02-29T12:34:56.000000Z",'"\
"'"end_time":"2000-02-29T12:34:57.000000Z","work_dir":"/tmp"},"cut":["start_time"]}'

# ---- hostile values -------------------------------------------------------------------------------------
fresh
long=$(printf '%05000d' 0)
latin=$(printf 'caf\351')
run "$hooks/nvab-epilog" SLURM_JOB_ID=1 SLURM_JOB_COMMENT="$long" SLURM_JOB_USER="$latin" SLURM_JOB_UID=-1 \
  SLURM_JOB_GID=99999999999999999999 SLURM_JOB_EXIT_CODE2=x:y SLURM_JOB_DERIVED_EC=1:2:3 SLURM_JOB_WORK_DIR='/a
b"}' SPANK_ATTRIBUTION='on"; rm -rf /'
same "entry of hostile values" "$(entry | plain)" '{"v":1,"trigger_id":"1.epilog","hook":"epilog",'"HOST,TIME"',"job":{"job_id":1,"user":"caf'"\
"'�","work_dir":"/a\nb\"}","attribution":"on\"; rm -rf /"},"cut":["uid","gid","exit_code","derived_exit_code","comment"],'"\
"'"lossy":["user"]}'
same "lines of the entry" "$(entry | wc -l)" 1

# Values that together are too long leave out the last ones, not the whole.
fresh
escaped=$(printf '%04000d' 0 | tr 0 '\001')
run "$hooks/nvab-epilog" SLURM_JOB_ID=1 SLURM_JOB_USER="$escaped" SLURM_JOB_ACCOUNT="$escaped" SLURM_JOB_PARTITION="$escaped"
has "$(entry)" '"cut":\["partition"\]}$'
[ "$(entry | wc -c)" -le 65536 ] || fail "the entry has more than 64 KB"

fresh
for id in '' 0 x 12x -5 4294967294 99999999999; do
  run "$hooks/nvab-epilog" SLURM_JOB_ID="$id"
  has "$(cat "$work/err")" 'names no job'
done
run "$hooks/nvab-epilog"
same "entries without a job" "$(entries)" 0

# ---- off ----------------------------------------------------------------------------------------------------
run "$hooks/nvab-epilog" SLURM_JOB_ID=1 SPANK_ATTRIBUTION=off
run "$hooks/nvab-epilogctld" SLURM_JOB_ID=1 SPANK_ATTRIBUTION=off
# One of the controller alone, so that the job is left alone whoever else hands it over.
same "entries of a job that said off" "$(entries)" 1
has "$(entry)" '"hook":"epilogctld".*"attribution":"off"'
fresh
run "$hooks/nvab-epilog" SLURM_JOB_ID=1 SPANK_ATTRIBUTION=offf
same "entries of a job that said something else" "$(entries)" 1

# ---- two at once, and again ------------------------------------------------------------------------------------
fresh
for _ in 1 2 3 4 5 6 7 8; do
  env -i SLURM_JOB_ID=1 "$hooks/nvab-epilog" &
done
wait
same "entries of 8 hooks at once" "$(entries)" 8
same "what is left of their writing" "$(find "$queue" -name '.*' -type f | wc -l)" 0

# ---- spools that do not work ------------------------------------------------------------------------------------
rm -rf "$queue"
run "$hooks/nvab-epilog" SLURM_JOB_ID=5
has "$(cat "$work/err")" "^nvab-handoff: job 5 is not handed over: opening the folder new of the queue $queue: No such file"
echo >"$queue"
run "$hooks/nvab-epilog" SLURM_JOB_ID=5
has "$(cat "$work/err")" "Not a directory"
rm "$queue"
mkdir "$queue" "$work/elsewhere"
ln -s "$work/elsewhere" "$queue/new"
run "$hooks/nvab-epilog" SLURM_JOB_ID=5
same "files behind a planted link" "$(find "$work/elsewhere" -type f | wc -l)" 0
fresh

if [ "$(id -u)" != 0 ]; then
  chmod a-w "$queue"
  run "$hooks/nvab-epilog" SLURM_JOB_ID=5
  has "$(cat "$work/err")" "Permission denied"
  fresh
elif mount -t tmpfs -o size=1M tmpfs "$queue" 2>/dev/null; then
  # Less free than what is reserved for others counts as full.
  run "$hooks/nvab-epilog" SLURM_JOB_ID=5
  message=$(cat "$work/err")
  mount -o remount,size=100M,ro "$queue"
  run "$hooks/nvab-epilog" SLURM_JOB_ID=5
  umount "$queue"
  has "$message" "job 5 is not handed over: looking for room in the queue $queue: No space left on device"
  has "$(cat "$work/err")" "Read-only file system"
fi

# A file that may not grow: the signal for that ends the hook well, and nothing is left behind.
mkdir -p "$queue/new"
(
  ulimit -f 0
  env -i SLURM_JOB_ID=5 "$hooks/nvab-epilog"
) || fail "a hook that may not write ended with $?"
same "what is left of a write that failed" "$(find "$queue" -type f | wc -l)" 0

# ---- signals and time -----------------------------------------------------------------------------------------------
# With a pipe that is full and that nobody reads, its complaint blocks it: a place to be stuck in.
stuck() { # the hook's pid in $pid
  rm -rf "$queue" "$work/pipe"
  mkfifo "$work/pipe"
  # shellcheck disable=SC2217 # it only holds the pipe open
  sleep 60 <"$work/pipe" &
  sleeper=$!
  exec 8>"$work/pipe"
  dd if=/dev/zero bs=4096 count=16 >&8 2>/dev/null
  env -i SLURM_JOB_ID=5 "$@" 2>&8 &
  pid=$!
  exec 8>&-
}
unstick() {
  kill "$sleeper" 2>/dev/null || true
  wait "$sleeper" 2>/dev/null || true
}

started=$(date +%s%N)
stuck "$hooks/nvab-handoff" --hook epilog --queue "$queue" --limit-ms 300
wait "$pid" || fail "at the end of its time the hook ended with $?"
took=$((($(date +%s%N) - started) / 1000000))
unstick
[ $took -ge 250 ] || fail "the hook was not stuck at all: $took ms"
[ $took -lt 5000 ] || fail "the hook took $took ms of its 300"

for signal in TERM HUP INT; do
  stuck "$hooks/nvab-epilog"
  i=0
  # Once it sleeps in the write, it has its signals in hand.
  until grep -q '^State:[[:space:]]*S' "/proc/$pid/status" 2>/dev/null && [ "$(cat "/proc/$pid/comm")" = nvab-handoff ]; do
    sleep 0.01
    i=$((i + 1))
    [ $i -lt 80 ] || break
  done
  kill -s "$signal" "$pid" 2>/dev/null || fail "the hook was gone before SIG$signal"
  wait "$pid" || fail "on SIG$signal the hook ended with $?"
  unstick
done
fresh

# ---- programs that cannot be started ------------------------------------------------------------------------------------
shells=/bin/sh
for shell in dash bash busybox; do
  if command -v $shell >/dev/null; then shells="$shells $(command -v $shell)"; fi
done
mv "$hooks/nvab-handoff" "$work"
for hook in nvab-epilog nvab-epilogctld nvab-jobcomp; do
  run "$hooks/$hook" SLURM_JOB_ID=5 JOBID=5
done
# A program of another processor: it is there, but execve says no.
printf '\177ELF\002\001\001garbage' >"$hooks/nvab-handoff"
chmod 755 "$hooks/nvab-handoff"
for shell in $shells; do
  case $shell in *busybox) shell="$shell sh" ;; esac
  for hook in nvab-epilog nvab-epilogctld nvab-jobcomp; do
    # shellcheck disable=SC2086 # a shell may be two words
    env -i SLURM_JOB_ID=5 JOBID=5 "$(command -v env)" $shell "$hooks/$hook" 2>"$work/err" ||
      fail "$hook in $shell with a program that cannot run ended with $?"
    [ -s "$work/err" ] || fail "$hook in $shell did run it"
  done
done

# A wrong command line ends well, too.
for words in "" "--hook epilog" "--hook wrong --queue $queue" "--hook epilog --queue relative" "--queue" "--help" \
  "--hook epilog --queue $queue --limit-ms 0"; do
  # shellcheck disable=SC2086 # words
  env -i SLURM_JOB_ID=5 "$work/nvab-handoff" $words 2>"$work/err" || fail "nvab-handoff $words ended with $?"
  has "$(cat "$work/err")" '^nvab-handoff --hook'
done
env -i SLURM_JOB_ID=5 "$work/nvab-handoff" --sync --hook epilog --queue "$queue"
same "entries written with --sync" "$(entries)" 1
echo "ok"

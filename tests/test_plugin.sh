#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The plugin from outside: what it exports and needs, and what it does in a stand-in for Slurm.
set -eu
so=$BUILDDIR/obj/attribution.so
host=$BUILDDIR/obj/tests/spank_host
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
spool=$work/spool
mkdir "$spool"

fail() {
  echo "FAIL: $*" >&2
  exit 1
}

same() { # WHAT GOT WANTED
  [ "$2" = "$3" ] || fail "$1: got '$2', wanted '$3'"
}

has() { # TEXT REGEX
  printf '%s\n' "$1" | grep -q -- "$2" || fail "no line has '$2': $1"
}

# The plugin's arguments, then the actions of the host, which must live to its last line.
run() {
  # shellcheck disable=SC2086 # a word an action
  out=$(HOST_ARGS=$1 "$host" "$so" $2 2>"$work/stderr") || fail "the host ended with $?: $out $(cat "$work/stderr")"
  has "$out" 'mapped after dlclose: no'
}

lines() { cat "$spool"/*.ndjson; }

fresh() { rm -rf "$spool" && mkdir "$spool"; }

# What differs from run to run, made equal.
plain() {
  sed -E 's/"time":"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]{6}Z"/TIME/; s/"mono_us":[0-9]+/MONO/; s/"pid":[0-9]+/PID/
    s/"boot_id":"[0-9a-f-]{36}"/BOOT/; s/"(dev|ino)":[0-9]+/"\1":N/g'
}

# ---- from outside -----------------------------------------------------------------------------------
same exports "$(nm -D --defined-only "$so" | awk '{print $3}' | LC_ALL=C sort | xargs)" \
  "plugin_name plugin_type plugin_version slurm_spank_exit slurm_spank_init slurm_spank_init_post_opt\
 slurm_spank_task_exit slurm_spank_task_init slurm_spank_task_post_fork spank_plugin_version"
same "needs from the host" "$(nm -D --undefined-only "$so" | awk '$1 == "U" {print $2}' \
  | grep -Ev '@GLIBC_|^(slurm_|spank_|__gmon_start__|_ITM_)' | xargs)" ""
same "links to" "$(readelf -d "$so" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -Ev '^(libc|ld-linux.*)\.so' | xargs)" ""
readelf -d "$so" | grep -q 'BIND_NOW\|NOW' || fail "not bound at load: a missing function would end a job in the middle"

# ---- the life of a step -----------------------------------------------------------------------------
export SLURMD_NODENAME=rack2-node7 JOBENV_SLURM_CLUSTER_NAME=alpha JOBENV_SLURM_JOB_GPUS=2,3 JOBENV_CUDA_VISIBLE_DEVICES=0,1
root=$work/root
mkdir -p "$root/proc/driver/nvidia/gpus/0000:61:00.0" "$root/proc/driver/nvidia/gpus/0000:0b:00.0" \
  "$root/proc/driver/nvidia/gpus/0000:99:00.0"
printf 'Model: \t\t NVIDIA H100\nIRQ:   \t\t 330\nGPU UUID: \t GPU-5ab1c0de-0000-4000-8000-000000000003\nDevice Minor: \t 3\n' \
  >"$root/proc/driver/nvidia/gpus/0000:61:00.0/information"
printf 'GPU UUID: \t GPU-????????-????-????-????-????????????\nDevice Minor: \t 2\n' \
  >"$root/proc/driver/nvidia/gpus/0000:0b:00.0/information"
mkdir -p "$root/proc/sys/kernel/random" "$root/proc/self"
cp /proc/sys/kernel/random/boot_id "$root/proc/sys/kernel/random"
printf '0::/system.slice/slurmstepd.scope/job_4242/step_7/user/task_0\n' >"$root/proc/self/cgroup"

HOST_RESTART=2 HOST_ARRAY=4200 HOST_ARRAY_TASK=0 run "spool=$spool default=on root=$root" \
  "init init_post_opt tasks=exit3,sig6,exit0 descriptors threads blocked exit descriptors threads"
name=$(ls "$spool")
has "$name" '^4242\.7\.rack2-node7\.[0-9]\{16\}\.ndjson$'
same "time in the name" "$(date -u -d "@$(echo "$name" | cut -c20-29)" +%FT%T).$(echo "$name" | cut -c30-35)Z" \
  "$(lines | sed -n '1s/.*"time":"\([^"]*\)".*/\1/p')"
same "mode of the file" "$(stat -c %a "$spool"/*)" 640
head='"cluster":"alpha","job_id":4242,"array_job_id":4200,"array_task_id":0,"step_id":"7","node":"rack2-node7","node_id":1,"restart_count":2,"uid":1234,TIME,MONO'
same "step" "$(lines | plain | sed -n 1p)" "{\"v\":1,\"kind\":\"step\",$head,BOOT,\"slurm_version\":\"99.11.1\",\"mode\":\"on\",\
\"nodes\":2,\"local_tasks\":3,\"job_gpus\":\"2,3\",\"gpu_devices\":[{\"minor\":2,\"pci\":\"0000:0b:00.0\"},\
{\"minor\":3,\"pci\":\"0000:61:00.0\",\"uuid\":\"GPU-5ab1c0de-0000-4000-8000-000000000003\"}]}"
same "start" "$(lines | plain | grep task_start | grep '"local_id":1')" \
  "{\"v\":1,\"kind\":\"task_start\",$head,\"task_id\":11,\"local_id\":1,PID,\"job_gpus\":\"2,3\",\"cuda_visible_devices\":\"0,1\",\
\"cgroup\":\"/system.slice/slurmstepd.scope/job_4242/step_7/user/task_0\",\"cwd\":\"$PWD\",\
\"stdout\":{\"type\":\"pipe\",\"dev\":N,\"ino\":N},\"stderr\":{\"type\":\"file\",\"path\":\"$work/stderr\",\"dev\":N,\"ino\":N}}"
same "starts" "$(lines | grep -c task_start)" 3
ends=$(lines | plain | sed -n 's/.*"kind":"task_end".*"task_id":\([0-9]*\),"local_id":[0-9],PID,\(.*\),"time_source":"[a-z]*"}/\1 \2/p')
same "ends" "$ends" '10 "exit_code":3
11 "signal":6,"core":false
12 "exit_code":0'
same "step's end" "$(lines | plain | tail -n 1)" "{\"v\":1,\"kind\":\"step_end\",$head,\"tasks_ended\":3,\"lines_lost\":0}"
has "$out" '^threads: 1$'
has "$out" '^threads: 0$'
has "$out" '^descriptors: 0$'
# Every signal but those that nobody can block (9, 19). Those of glibc itself (32, 33: one bit each in the digits
# before "ffbfeff") are as they were inherited.
has "$(printf '%s\n' "$out" | awk '/^SigBlk:/ {print $2}')" '^fffffff[ef][7f]ffbfeff$'
same "inode of stderr" "$(lines | sed -n 's/.*"stderr".*"ino":\([0-9]*\)}.*/\1/p' | sort -u)" "$(stat -c %i "$work/stderr")"

# ---- when tasks end, and in which order ---------------------------------------------------------------
# Reaped late and in the order of their start, they still have the time at which they ended.
fresh
HOST_REAP_MS=150 run "spool=$spool" "init init_post_opt tasks=exit1,exit1,exit1 exit"
same "sources of time" "$(lines | sed -n 's/.*"time_source":"\([a-z]*\)".*/\1/p' | sort -u)" pidfd
spread=$(lines | sed -n 's/.*task_end.*"mono_us":\([0-9]*\).*/\1/p' | sort -n | sed -n '1p;$p' | xargs | awk '{print $2 - $1}')
[ "$spread" -lt 100000 ] || fail "the ends are $spread us apart: the time of reaping, not of the end"

# Where descriptors are scarce, Slurm gets them all.
fresh
HOST_FILES=64 run "spool=$spool" "init init_post_opt tasks=exit1 threads exit"
has "$out" '^threads: 0$'
has "$(lines)" '"time_source":"hook"'

# ---- out-of-memory counts -----------------------------------------------------------------------------
oom_of() { lines | sed -n "s/.*\"kind\":\"$1\".*\"oom_kill\":\({[^}]*}\).*/\1/p" | sort -u; }

# The line of /proc/PID/cgroup of all tasks.
export HOST_PROC="$root/proc"
mkdir "$root/proc/all"
fake_cgroup() { printf '%s\n' "$1" >"$root/proc/all/cgroup"; }

fresh
job=$root/sys/fs/cgroup/slurm.scope/job_4242
mkdir -p "$job/step_7/user/task_0"
printf 'low 0\nhigh 0\nmax 9\noom 4\noom_kill 3\noom_group_kill 0\n' >"$job/memory.events"
printf 'oom 1\noom_kill 2\n' >"$job/step_7/memory.events"
printf 'oom_kill 1\n' >"$job/step_7/user/task_0/memory.events"
fake_cgroup '0::/slurm.scope/job_4242/step_7/user/task_0'
run "spool=$spool root=$root" "init init_post_opt tasks=sig9,sig9 exit"
same "kills by group, cgroup v2" "$(oom_of task_end)" '{"job":3,"step":2,"task":1}'
same "kills by group at the step's end" "$(oom_of step_end)" '{"job":3,"step":2}'

fresh
job=$root/sys/fs/cgroup/memory/slurm/uid_1/job_4242
mkdir -p "$job/step_7"
printf 'oom_kill_disable 0\nunder_oom 0\noom_kill 5\n' >"$job/step_7/memory.oom_control"
fake_cgroup '4:memory:/slurm/uid_1/job_4242/step_7
2:cpu,cpuacct:/
0::/'
run "spool=$spool root=$root" "init init_post_opt tasks=sig9 exit"
same "kills by group, cgroup v1" "$(oom_of task_end)" '{"step":5}'

fresh
fake_cgroup '4:memory:/slurm/uid_1/job_42/step_7
0::/'
run "spool=$spool root=$root" "init init_post_opt tasks=sig9 exit"
same "kills in another job's group" "$(oom_of task_end)" ''

# ---- which steps are recorded -------------------------------------------------------------------------
fresh
HOST_STEP=4294967292 run "spool=$spool" "init init_post_opt task_post_fork threads descriptors exit"
same "files of an extern step" "$(ls "$spool")" ""
has "$out" '^threads: 0$'
HOST_STEP=4294967291 run "spool=$spool" "init init_post_opt tasks=exit0 exit"
has "$(ls "$spool")" '^4242\.batch\.rack2-node7\.[0-9]*\.ndjson$'
fresh
run "spool=$spool default=off" "init init_post_opt tasks=exit0 exit"
run "spool=$spool default=on" "init remote-option=off init_post_opt tasks=exit0 exit"
same "files of a job that said off" "$(ls "$spool")" ""
run "spool=$spool default=off" "init remote-option=on remote-option=on init_post_opt exit"
has "$(lines)" '"mode":"on"'
fresh
JOBENV_SLURM_HET_SIZE=2 JOBENV_SLURM_JOB_ID_PACK_GROUP_0=4241 JOBENV_SLURM_JOB_ID_PACK_GROUP_1=4242 \
  JOBENV_SLURM_PROCID=110 run "spool=$spool" "init init_post_opt tasks=exit1 exit"
has "$(lines)" '"het_job_id":4241,"het_offset":1'
same "tasks of a component" "$(lines | sed -n 's/.*"task_id":\([0-9]*\).*/\1/p' | sort -u)" 110
fresh
JOBENV_SLURM_PROCID=110 run "spool=$spool" "init init_post_opt tasks=exit1 exit"
same "tasks of a plain job" "$(lines | sed -n 's/.*"task_id":\([0-9]*\).*/\1/p' | sort -u)" 10
fresh
JOBENV_SLURM_HET_SIZE=99999999 JOBENV_SLURM_JOB_ID_HET_GROUP_0=1 JOBENV_SLURM_JOB_ID_HET_GROUP_1=2 \
  run "spool=$spool" "init init_post_opt exit"
if lines | grep -q het_job_id; then fail "variables of another heterogeneous job were believed"; fi

# ---- the option -----------------------------------------------------------------------------------------
for context in local allocator; do
  export HOST_CONTEXT=$context
  for mode in on off auto; do
    run "" "init option=$mode init_post_opt exit"
    has "$out" '^option callback: 0$'
    has "$out" "^job control: ATTRIBUTION=$mode overwrite=1$"
  done
  run "default=off" "init init_post_opt exit"
  has "$out" '^job control: ATTRIBUTION=off overwrite=1$'
  for wrong in yes ON '' onn; do
    run "" "init option=$wrong exit"
    has "$out" '^option callback: -1$'
    has "$out" "^slurm_error: attribution: --attribution=$wrong: say on, off or auto$"
  done
done
export HOST_CONTEXT=remote
run "spool=$spool" "init remote-option=wrong init_post_opt exit"
has "$out" '^option callback: 0$'

# ---- contexts in which there is nothing to do --------------------------------------------------------------
for context in slurmd job_script; do
  HOST_CONTEXT=$context run "spool=$work/none" "init init_post_opt job_prolog job_epilog slurmd_exit exit"
  same "words in context $context" "$out" 'mapped after dlclose: no'
done
HOST_CONTEXT=slurmd run "spool=$spool speed=high default=on" "init"
has "$out" "^slurm_info: attribution: init: plugstack.conf: 'speed=high' is none of "
HOST_CONTEXT=local run "speed=high" "init init_post_opt"
if printf '%s' "$out" | grep -q plugstack; then fail "a user was told of the administrator's mistake"; fi

# ---- what can go wrong -------------------------------------------------------------------------------------
complaints() { printf '%s\n' "$out" | grep -c '^slurm_' || true; }

HOST_FAIL=1 run "spool=$spool" "init init_post_opt tasks=exit0 task_exit exit"

run "spool=$work/none" "init init_post_opt tasks=exit3,exit3 exit"
same "complaints about a missing spool" "$(complaints)" 1
has "$out" "^slurm_info: attribution: init_post_opt: opening a file in the spool $work/none: No such file or directory; no task record$"

if [ "$(id -u)" != 0 ]; then
  fresh
  chmod a-w "$spool"
  run "spool=$spool" "init init_post_opt tasks=exit3 exit"
  same "complaints about a spool that is read-only" "$(complaints)" 1
fi

# A file that may not grow stands for a full disk.
fresh
(
  trap '' XFSZ
  ulimit -f 1
  run "spool=$spool" "init init_post_opt tasks=exit3,exit3,exit3 exit"
  has "$out" "^slurm_info: attribution: [a-z_]*: writing a task record to the spool $spool: File too large$"
  # Each task complains in a process of its own, slurmstepd once.
  [ "$(complaints)" -le 4 ] || fail "a full disk fills the log: $out"
)

# ---- syslog ---------------------------------------------------------------------------------------------------
if command -v python3 >/dev/null; then
  fresh
  python3 -c '
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
s.settimeout(20)
while True:
    line = s.recv(65536).decode()
    print(line)
    if "step_end" in line: break' "$work/log" >"$work/lines" &
  i=0
  while [ ! -S "$work/log" ] && [ $i -lt 200 ]; do
    sleep 0.05
    i=$((i + 1))
  done
  run "spool=$spool syslog=$work/log" "init init_post_opt tasks=exit3 exit descriptors"
  has "$out" '^descriptors: 0$'
  wait
  same "records by syslog" "$(sed 's/^<30>nvab-task: //' "$work/lines")" "$(lines)"
  run "spool=$spool syslog=$work/log" "init init_post_opt tasks=exit3 exit"
fi
echo "ok"

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# What the tests on the real cluster share. Read in by `. lib.sh`; a test then calls start_cluster
# and ends with finish. Jobs run as an ordinary user, from a folder of its own.
#
#   $work     folder of the test        $jobs    folder of the jobs, the user's own
#   $tasks    the plugin's spool        $queue   where the hooks hand jobs over

cluster=$SRCDIR/tests/slurm/cluster
user=nobody

fail() {
  echo "FAIL: $*" >&2
  failed=yes
}

die() {
  echo "FAIL: $*" >&2
  exit 1
}

same() { # WHAT GOT WANTED
  [ "$2" = "$3" ] || fail "$1: got '$2', wanted '$3'"
}

has() { # WHAT TEXT REGEX
  printf '%s\n' "$2" | grep -Eq -- "$3" || fail "$1: no line has '$3': $2"
}

skip_without_slurm() {
  if [ "$(id -u)" != 0 ]; then
    echo "skipped: a cluster needs root"
    exit 77
  fi
  for program in munged mariadbd slurmdbd slurmctld slurmd srun; do
    PATH=$PATH:/usr/sbin command -v $program >/dev/null || {
      echo "skipped: $program is not installed ('./bootstrap check' installs it)"
      exit 77
    }
  done
}

# Settings are those of tests/slurm/cluster, exported by the test.
start_cluster() {
  skip_without_slurm
  work=$(mktemp -d /tmp/nvab-slurm-XXXXXX)
  failed=
  trap 'stop_cluster' EXIT
  trap 'exit 1' INT TERM HUP
  chmod 755 "$work"
  export CLUSTER_DIR="$work/c"
  tasks=$CLUSTER_DIR/tasks
  queue=$CLUSTER_DIR/queue
  jobs=$work/jobs
  mkdir "$jobs"
  chown "$user" "$jobs"
  "$cluster" up || die "the cluster did not start"
  eval "$("$cluster" env)"
  cd "$jobs" || exit 1
}

stop_cluster() {
  cd /
  # A mount of a test that failed in the middle.
  umount "$tasks" "$queue" 2>/dev/null || true
  "$cluster" down
  if [ "$failed" ]; then
    rm -rf "$BUILDDIR/obj/slurm-failed"
    mkdir -p "$BUILDDIR/obj/slurm-failed"
    cp -r "$CLUSTER_DIR/log" "$CLUSTER_DIR/tasks" "$CLUSTER_DIR/queue" "$jobs" "$BUILDDIR/obj/slurm-failed/" 2>/dev/null
    echo "logs and files are in $BUILDDIR/obj/slurm-failed" >&2
  fi
  "$cluster" clean
  rm -rf "$work"
}

finish() {
  [ -z "$failed" ] || exit 1
  echo "ok"
}

as_user() { runuser -u "$user" -- "$@"; }

# sbatch as the user; prints the job id.
submit() { as_user sbatch --parsable "$@"; }

wait_until() { # SECONDS WHAT COMMAND...
  wait_end=$(($(date +%s) + $1))
  wait_what=$2
  shift 2
  until "$@"; do
    if [ "$(date +%s)" -gt "$wait_end" ]; then
      fail "waited in vain for $wait_what"
      return 0
    fi
    sleep 0.1
  done
}

job_state() { scontrol -o show job "$1" 2>/dev/null | sed -n 's/.* JobState=\([A-Z_]*\) .*/\1/p'; }
has_ended() {
  case $(job_state "$1") in PENDING | RUNNING | COMPLETING | SUSPENDED | '') return 1 ;; esac
}
is_running() { [ "$(job_state "$1")" = RUNNING ]; }

wait_jobs() { # JOB...
  for job in "$@"; do wait_until 90 "the end of job $job" has_ended "$job"; done
}

# A finished or lost node is one that takes no job any more.
no_node_is_drained() { # WHEN
  same "nodes out of service $1" "$(sinfo -h -N -o '%N %T %E' | grep -E 'drain|down|fail' || true)" ""
}

# The value of a member of an object on one line: a number, a word, a string, an object or a list.
member() { # NAME
  sed -En "s/.*[{,]\"$1\":(\"([^\"\\\\]|\\\\.)*\"|\{[^}]*\}|\[[^]]*\]|[^,}]*).*/\1/p"
}

# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# For tests with the stand-in Loki: to be sourced, with `set -eu`. Sets src, obj, tmp and cleans up.
# shellcheck disable=SC2034 # used by those who source this
src=$(cd "${SRCDIR:-.}" && pwd)
obj=$(cd "${BUILDDIR:-.}" && pwd)/obj
command -v python3 >/dev/null || { echo "python3 is missing"; exit 77; }
tmp=$(mktemp -d)
children=
cleanup() {
  for child in $children; do kill "$child" 2>/dev/null || true; done
  rm -rf "$tmp"
}
trap cleanup EXIT
# A proxy of the machine is none of this test's.
unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY all_proxy || true

fail() {
  echo "FAIL: $*"
  exit 1
}

wait_for() { # FILE
  for _ in $(seq 300); do
    [ -s "$1" ] && return 0
    sleep 0.1
  done
  fail "$1 does not come"
}

start_loki() { # DATA.json...
  rm -f "$tmp/port"
  python3 "$src/tests/loki/stand_in.py" --port-file "$tmp/port" "$@" 2>"$tmp/loki.log" &
  loki_pid=$!
  children="$children $loki_pid"
  wait_for "$tmp/port"
  loki=http://127.0.0.1:$(cat "$tmp/port")
}

ask() { # METHOD URL [BODY]
  python3 - "$@" <<'PY'
import sys, urllib.request
method, url = sys.argv[1:3]
body = sys.argv[3].encode() if len(sys.argv) > 3 else None
with urllib.request.urlopen(urllib.request.Request(url, body, method=method), timeout=30) as answer:
    sys.stdout.write(answer.read().decode())
PY
}

control() { # JSON: the stand-in behaves so from now on, and forgets what it was asked for
  ask POST "$loki/control" "$1"
}

requests() { # what it was asked for
  ask GET "$loki/control"
}

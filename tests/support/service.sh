# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# What the scripts that run nvab-service share; read in by `. service.sh`. Sets $tmp, a folder that goes
# with the test, and ends the services that are left.
# shellcheck disable=SC2034 # for those who read it in
src=${SRCDIR:-.}
obj=${BUILDDIR:-.}/obj
command -v python3 >/dev/null || { echo "python3 is missing"; exit 77; }
tmp=$(mktemp -d)
service=
others=  # further processes to be ended

cleanup() {
  for pid in $service $others; do kill "$pid" 2>/dev/null || true; done
  rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 1' INT TERM HUP

fail() {
  echo "FAIL: $*" >&2
  cat "$tmp/log" >&2 2>/dev/null || true
  exit 1
}

wait_for() { # SECONDS WHAT COMMAND...
  wait_left=$(($1 * 10))
  wait_what=$2
  shift 2
  until "$@" >/dev/null 2>&1; do
    wait_left=$((wait_left - 1))
    [ $wait_left -gt 0 ] || fail "waited in vain for $wait_what"
    sleep 0.1
  done
}

is_ready() { grep -q 'info: ready' "$tmp/log"; }

# Starts it with these arguments and waits until it is ready; its messages are in $tmp/log.
start_service() { # ARGUMENT...
  "$obj/nvab-service" "$@" 2>"$tmp/log" &
  service=$!
  wait_for 60 "the start of the service" is_ready
}

stop_service() { # [SIGNAL]
  kill "-${1:-TERM}" "$service"
  wait "$service" 2>/dev/null || true
  service=
}

# One request; prints the status and the body. ADDRESS is unix:PATH, http://… or https://…
ask() { # ADDRESS METHOD PATH [BODY]
  python3 - "$@" <<'PY'
import http.client, os, socket, sys
address, method, target = sys.argv[1:4]
class Unix(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(address[5:])
plain = address[:5] == "unix:"
c = Unix("localhost") if plain else http.client.HTTPConnection(address.split("/")[2], timeout=60)
body = sys.argv[4] if len(sys.argv) > 4 else None
c.request(method, target, body, {"Content-Type": "application/json"} if body else {})
r = c.getresponse()
try:
    os.write(1, f"{r.status} {r.read().decode()}\n".encode())
except BrokenPipeError:
    pass  # who reads has seen enough
PY
}

text_of() { # MEMBER; the first text of this name on stdin
  sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"
}

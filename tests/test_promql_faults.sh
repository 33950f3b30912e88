#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each trouble that a server of metrics can be in, and what becomes of the run: always a result; in it a report
# that says what happened, and the verdict where enough came.
# ctest: timeout=300
set -eu
src=$(cd "${SRCDIR:-.}" && pwd)
obj=$(cd "${BUILDDIR:-.}" && pwd)/obj
command -v python3 >/dev/null || { echo "python3 is missing"; exit 77; }
tmp=$(mktemp -d)
server=
cleanup() {
  [ -z "$server" ] || kill "$server" 2>/dev/null || true
  rm -rf "$tmp"
}
trap cleanup EXIT
cd "$tmp"
mkfifo fifo
python3 "$src/tests/promql_server.py" requests >fifo &
server=$!
read -r port <fifo
bad=0

run() { # PATH [SETTINGS]
  {
    printf '%s\n' '[eca.static]' 'job_id = "1"' 'state = "FAILED"' 'exit_code = "1:0"' 'nodes = "n[1-4]"' \
      'start_time = "2026-03-01T10:00:00Z"' 'end_time = "2026-03-01T12:00:00Z"' '[metric.promql]' \
      "url = \"http://127.0.0.1:$1\"" 'attempts = 2' 'request_timeout = "1s"' 'queries = ["dcgm"]'
    [ $# -lt 2 ] || printf '%s\n' "$2"
  } >run.toml
  : >requests
  "$obj/nvab-run" --config run.toml --format json --quiet >out 2>err || { echo "no result: $(cat err)"; bad=1; }
}

# What happens × what becomes of it: status, words of the reason, whether the lost GPU is still found.
expect() { # NAME STATUS REASON FOUND
  python3 -c '
import json, re, sys
name, status, reason, found = sys.argv[1:5]
result = json.loads(open("out").readline())
report = [r for r in result["connector_reports"] if r["connector"] == "metric.promql"][0]
is_found = (result["root_cause"] or {}).get("id") == "xid_79_fell_off_bus"
wrong = report["status"] != status or not re.search(reason, report["reason"] or "") or is_found != (found == "found")
wrong = wrong or (result["evidence_status"] == "complete" and status not in ("ok",))
print("%-12s %-12s %-8s %s%s" % (name, report["status"], "found" if is_found else "-", (report["reason"] or "")[:110],
                                 "   <-- WRONG, wanted %s /%s/ %s" % (status, reason, found) if wrong else ""))
sys.exit(wrong)' "$@" || bad=1
}

run "$port/good"; expect good ok '' found
dead=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
run "$dead"; expect down unavailable 'connect' -
run "$port/slow"; expect slow timed_out 'imeout|time' -
[ "$(wc -l <requests)" -le 2 ] || { echo "a slow server was asked $(wc -l <requests) times"; bad=1; }
run "$port/page"; expect page error 'JSON|not one of the Prometheus API|Invalid' -
run "$port/loki"; expect loki error 'no series but a streams' -
run "$port/cut"; expect cut unavailable '.' -
run "$port/401"; expect 401 denied 'HTTP 401' -
run "$port/403"; expect 403 denied 'HTTP 403' -
[ "$(wc -l <requests)" -le 2 ] || { echo "denied, and asked $(wc -l <requests) times"; bad=1; }
run "$port/404"; expect 404 unavailable 'HTTP 404' -
run "$port/500"; expect 500 error 'HTTP 500' -
run "$port/always_busy"; expect always-busy unavailable 'HTTP 503' -
run "$port/busy"; expect busy ok '' found
run "$port/tenant"; expect no-tenant denied 'no org id' -
run "$port/tenant" 'tenant = "hpc"'; expect tenant ok '' found
run "$port/points"; expect points ok '' found
run "$port/samples"; expect samples ok '' found
run "$port/length"; expect length ok '' found
run "$port/old"; expect old ok '' found
run "$port/partial"; expect partial error 'store-2' found
[ $bad = 0 ]

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# nvab-run by way of a service: for every scenario the same verdict, byte for byte, as with the engine in
# the process, with the lines that rules select and with all of them; conflicts, joining, and ends.
# ctest: timeout=1200
set -eu
# shellcheck source=tests/support/service.sh
. "$SRCDIR/tests/support/service.sh"

start() { start_service --listen "unix:$tmp/socket" --state "$1"; } # STATE

run() { # OUTPUT ARGUMENT...
  out=$1
  shift
  "$obj/nvab-run" --format json --quiet "$@" >"$out" 2>"$tmp/err" || fail "nvab-run $*: $(cat "$tmp/err")"
}

start "sqlite:$tmp/journal.db"
url="unix:$tmp/socket"
mkdir "$tmp/here" "$tmp/there" "$tmp/all"
# An argument picks scenarios by their name, for a person in a hurry.
for scenario in "$src"/tests/scenarios/"${1:-}"*/; do
  [ -f "$scenario/job.json" ] || continue
  name=$(basename "$scenario")
  run "$tmp/here/$name" --replay "$scenario"
  NVAB_RUN_SERVICE_URL=$url run "$tmp/there/$name" --replay "$scenario"
  NVAB_RUN_SERVICE_URL=$url run "$tmp/all/$name" --replay "$scenario" --save-bundle "$tmp/bundle" --lines all
  rm -rf "$tmp/bundle"
done
same() { # FOLDER OTHER: the same verdicts in both, without ids, times taken and reports
  python3 - "$1" "$2" <<'PY' || fail "another verdict by the service"
import json, os, sys
def verdict(path):
    result = json.load(open(path))
    for key in ("attributor_id", "connector_reports", "ingestion_reports"): result.pop(key, None)
    return json.dumps(result)
one, other = sys.argv[1:]
wrong = [n for n in sorted(os.listdir(one)) if verdict(f"{one}/{n}") != verdict(f"{other}/{n}")]
print(f"{len(os.listdir(one))} verdicts of {one} compared with {other}")
if wrong: sys.exit("differ: " + " ".join(wrong))
PY
}
same "$tmp/here" "$tmp/there"
same "$tmp/here" "$tmp/all"

# Nobody leaves a session behind.
ask "$url" GET /v2/attributor | grep -q '"total":0' || fail "sessions are left: $(ask "$url" GET /v2/attributor)"

# A session of another client: a conflict that says so, and is left alone; with --join it is used, and stays.
demo=$src/tests/scenarios/demo
body=$(python3 -c 'import json,sys; print(json.dumps({"workload": json.load(open(sys.argv[1]))}))' "$demo/job.json")
id=$(ask "$url" POST /v2/attributor "$body" | text_of attributor_id)
[ -n "$id" ] || fail "no session for the conflict"
NVAB_RUN_SERVICE_URL=$url "$obj/nvab-run" --replay "$demo" --summary-json "$tmp/summary" >/dev/null 2>&1 || true
for word in '"conflicted"' "$id" session_exists; do
  grep -q "$word" "$tmp/summary" || fail "no $word in the summary: $(cat "$tmp/summary")"
done
ask "$url" GET "/v2/attributor/$id" | grep -q '^200 .*"count":0' || fail "the other's session was touched"
mkdir "$tmp/alone" "$tmp/joined"
NVAB_RUN_SERVICE_URL=$url run "$tmp/joined/demo" --replay "$demo" --join
run "$tmp/alone/demo" --replay "$demo"
same "$tmp/alone" "$tmp/joined"
ask "$url" GET "/v2/attributor/$id" | grep -q '^200' || fail "what was joined was deleted"
ask "$url" DELETE "/v2/attributor/$id" | grep -q '^204' || fail "cannot delete"

# kill -9: what was acknowledged is there again. Then a clean stop.
for round in 1 2 3 4 5; do
  id=$(ask "$url" POST /v2/attributor "{\"workload\":{\"job_id\":\"9$round\"}}" | text_of attributor_id)
  kept=0
  while [ $kept -lt 5 ]; do
    ask "$url" POST "/v2/attributor/$id/observation" \
      "{\"source\":\"applog\",\"entry_timeseries\":[{\"message\":\"MemoryError $kept\"}]}" | grep -q '^201' || fail "not taken"
    kept=$((kept + 1))
  done
  before=$(ask "$url" GET "/v2/attributor/$id/attribution")
  stop_service KILL
  start "sqlite:$tmp/journal.db"
  ask "$url" GET "/v2/attributor/$id" | grep -q '"count":5' || fail "round $round lost an observation"
  [ "$before" = "$(ask "$url" GET "/v2/attributor/$id/attribution")" ] || fail "round $round changed a verdict"
done
kill -HUP "$service"
sleep 0.5
grep -q 'the rules are loaded again' "$tmp/log" || fail "SIGHUP loads no rules"
kill "$service"
wait "$service" || fail "SIGTERM: exit $?"
service=
[ ! -e "$tmp/socket" ] || fail "the socket is left"

# A service that is not there costs the run its contexts, with a sentence.
NVAB_RUN_SERVICE_URL=$url "$obj/nvab-run" --replay "$demo" >/dev/null 2>"$tmp/err" && fail "no error without a service"
grep -q 'opening a session' "$tmp/err" || fail "says only: $(cat "$tmp/err")"

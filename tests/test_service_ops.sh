#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What those who run the service lean on: metrics that promtool accepts, the words that systemd waits for,
# an access log of JSON lines that is reopened, and rules that are loaded again, or not, while it works.
# ctest: timeout=300
set -eu
# shellcheck source=tests/support/service.sh
. "$SRCDIR/tests/support/service.sh"
command -v promtool >/dev/null || { echo "promtool is missing (Debian: prometheus)"; exit 77; }
url=unix:$tmp/socket
admin=unix:$tmp/admin
rules=$tmp/rules
mkdir "$rules"

pack() { # ID REGEX; a pack of one rule
  cat >"$rules/site.toml" <<END
[pack]
name = "site"
[[rule]]
id = "$1"
cause = "site_fault"
title = "Something that only this site has"
source = ["applog"]
match = '$2'
role = "root"
outcome = "user_exception"
action = "fix_before_retry"
provenance = "a test"
[[rule.test]]
line = "SITE-FAULT: x"
want = "match"
END
}
digest() { ask "$url" GET /v2/rulesets | text_of digest; }
logged() { grep -q -- "$1" "$tmp/log"; }

# ---- systemd ------------------------------------------------------------------------------------------
cat >"$tmp/systemd.py" <<'PY'
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
print("bound", flush=True)
while True:
    print(s.recv(4096).decode().replace("\n", " "), flush=True)
PY
python3 "$tmp/systemd.py" "$tmp/notify" >"$tmp/notified" &
others=$!
wait_for 20 "the stand-in for systemd" grep -q bound "$tmp/notified"
told() { grep -q -- "$1" "$tmp/notified"; }

printf '[service]\nlisten = ["%s"]\nadmin_socket = "%s"\nstate = "sqlite:%s"\nrules_dir = "%s"\naccess_log = "%s"\n' \
  "$url" "$tmp/admin" "$tmp/journal.db" "$rules" "$tmp/access" >"$tmp/service.toml"
export NOTIFY_SOCKET="$tmp/notify"
start_service --config "$tmp/service.toml"
unset NOTIFY_SOCKET
wait_for 10 "READY=1" told '^READY=1'
wait_for 10 "WATCHDOG=1" told '^WATCHDOG=1'

# ---- metrics, with something to show in each family -----------------------------------------------------
id=$(ask "$url" POST /v2/attributor '{"workload":{"job_id":"1","nodes":["n1"]}}' | text_of attributor_id)
observe() { # MESSAGE
  ask "$url" POST "/v2/attributor/$id/observation" "{\"source\":\"applog\",\"entry_timeseries\":[{\"message\":\"$1\"}]}"
}
observe 'MemoryError: \"quoted\" \\\\ and more' | grep -q '^201' || fail "not taken"
observe 'MemoryError: \"quoted\" \\\\ and more' | grep -q '^409' || fail "taken twice"
ask "$url" GET "/v2/attributor/$id/attribution" | grep -q '^200' || fail "no verdict"
ask "$url" GET /none | grep -q '^404' || fail "no 404"
ask "$url" GET /metrics | sed '1s/^200 //' >"$tmp/metrics"
promtool check metrics <"$tmp/metrics" >"$tmp/promtool" 2>&1 || fail "promtool: $(cat "$tmp/promtool")"
[ ! -s "$tmp/promtool" ] || fail "promtool has something to say: $(cat "$tmp/promtool")"
for family in nvab_http_requests_total nvab_http_request_seconds_bucket nvab_sessions nvab_entries_total nvab_engine_seconds_total \
  nvab_rule_hits_total nvab_journal_queue nvab_observations_total nvab_sessions_ended_total nvab_ruleset_info; do
  grep -q "^${family}[{ ]" "$tmp/metrics" || fail "no metric $family"
done

# ---- rules: new ones, broken ones -------------------------------------------------------------------------
first=$(digest)
pack site.fault 'SITE-FAULT: \w+'
kill -HUP "$service"
wait_for 20 "the rules to be loaded" logged 'the rules are loaded again'
wait_for 5 "RELOADING=1" told '^RELOADING=1 MONOTONIC_USEC=[0-9]'
second=$(digest)
[ "$first" != "$second" ] || fail "new rules have the digest of the old ones"
# The session that was open keeps its rules; a new one has the new ones.
observe 'SITE-FAULT: x' >/dev/null
ask "$url" GET "/v2/attributor/$id/attribution" | grep -q "\"digest\":\"$first\"" || fail "an open session changed its rules"
new=$(ask "$url" POST /v2/attributor '{"workload":{"job_id":"2","nodes":["n1"]}}' | text_of attributor_id)
ask "$url" POST "/v2/attributor/$new/observation" '{"source":"applog","entry_timeseries":[{"message":"SITE-FAULT: x"}]}' >/dev/null
ask "$url" GET "/v2/attributor/$new/attribution" | grep -q '"rule":"site.fault"' || fail "the new rule does not judge"

echo 'match = "(" nonsense' >"$rules/broken.toml"
kill -HUP "$service"
wait_for 20 "a word about broken rules" logged 'broken.toml.*'
wait_for 5 "READY=1 after that" sh -c "tail -n 3 '$tmp/notified' | grep -q '^READY=1'"
logged 'the old rules stay' || fail "it does not say that the old rules stay"
[ "$(digest)" = "$second" ] || fail "broken rules changed what is in effect"
ask "$admin" POST /v2/admin/reload | grep -q '^500 .*"code":"rules_broken".*broken.toml' || fail "the admin call: $(ask "$admin" POST /v2/admin/reload)"
ask "$url" POST /v2/admin/reload | grep -q '^404' || fail "rules can be loaded from outside"
ask "$url" GET "/v2/attributor/$new/attribution" | grep -q '"rule":"site.fault"' || fail "it does not judge as before"
ask "$url" GET /metrics | grep -q 'nvab_rule_reloads_total{result="failed"} [1-9]' || fail "failed loads are not counted"
rm "$rules/broken.toml"
ask "$admin" POST /v2/admin/reload | grep -q '^200' || fail "good rules again are refused"

# ---- the access log -----------------------------------------------------------------------------------------
python3 - "$tmp/access" <<'PY' || fail "the access log: $(cat "$tmp/access")"
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
assert len(lines) > 10 and {l["status"] for l in lines} >= {200, 201, 404, 409}, lines
PY
mv "$tmp/access" "$tmp/access.1"
kill -HUP "$service"
written() { ask "$url" GET /v2/healthz >/dev/null; [ -s "$tmp/access" ]; }
wait_for 10 "the access log to be opened again" written

code=0
kill "$service"
wait "$service" || code=$?
service=
[ $code -eq 0 ] || fail "SIGTERM: exit $code"
told '^STOPPING=1' || fail "systemd was not told of the end"
echo ok

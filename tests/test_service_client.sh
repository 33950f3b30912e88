#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# nvab-run and a service that asks for credentials, by real TLS: authorities, tokens, client certificates;
# and what it leaves behind when it is told to end in the middle, and when the service goes away.
# ctest: timeout=300
set -eu
# shellcheck source=tests/support/service.sh
. "$SRCDIR/tests/support/service.sh"
command -v openssl >/dev/null || { echo "openssl is missing"; exit 77; }
demo=$src/tests/scenarios/demo
pem=$tmp/pem
mkdir "$pem"

# ---- an authority, what it signs, and one that nobody trusts ------------------------------------------
authority() { # NAME
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
    -keyout "$pem/$1.key" -out "$pem/$1.pem" -subj "/CN=$1" 2>>"$pem/log"
}
signed() { # NAME AUTHORITY DAYS
  printf 'subjectAltName = IP:127.0.0.1, DNS:localhost\n' >"$pem/extensions"
  {
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$pem/$1.key" \
      -out "$pem/$1.csr" -subj "/CN=$1"
    openssl x509 -req -in "$pem/$1.csr" -CA "$pem/$2.pem" -CAkey "$pem/$2.key" -CAcreateserial \
      -days "$3" -extfile "$pem/extensions" -out "$pem/$1.pem"
  } 2>>"$pem/log" || fail "openssl: $(cat "$pem/log")"
}
authority site
authority stranger
signed server site 2
signed client site 2
signed expired site -1
signed unknown stranger 2
echo "a-token-that-is-good-here" >"$tmp/token"
echo "a-token-that-is-not-good" >"$tmp/wrong"

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
cat >"$tmp/service.toml" <<END
[service]
listen = ["127.0.0.1:$port"]
state = "memory"
tls_certificate = "$pem/server.pem"
tls_key = "$pem/server.key"
tls_client_ca = "$pem/site.pem"
token_file = "$tmp/token"
END
start_service --config "$tmp/service.toml"

# A run with good credentials, but for the settings NAME=VALUE given (as in [run]).
run() {
  env NVAB_RUN_SERVICE_URL="https://127.0.0.1:$port" NVAB_RUN_SERVICE_CA="$pem/site.pem" \
    NVAB_RUN_SERVICE_TOKEN_FILE="$tmp/token" NVAB_RUN_SERVICE_CERTIFICATE="$pem/client.pem" \
    NVAB_RUN_SERVICE_KEY="$pem/client.key" "$@" \
    "$obj/nvab-run" --replay "$demo" --format json >"$tmp/out" 2>"$tmp/err"
}
works() { # WHAT [NAME=VALUE...]
  what=$1
  shift
  run "$@" || fail "$what: $(cat "$tmp/err")"
  grep -q '"attributor_id":"' "$tmp/out" || fail "$what: no result"
}
refused() { # WHAT REGEX [NAME=VALUE...]
  what=$1 words=$2
  shift 2
  run "$@" && fail "$what was let in"
  grep -Eq -- "$words" "$tmp/err" || fail "$what says only: $(cat "$tmp/err")"
}
works "good credentials"
works "another name of the host" "NVAB_RUN_SERVICE_URL=https://localhost:$port/"
refused "a wrong token" "HTTP 401 unauthorized" "NVAB_RUN_SERVICE_TOKEN_FILE=$tmp/wrong"
refused "no token" "HTTP 401 unauthorized" NVAB_RUN_SERVICE_TOKEN_FILE=
refused "a token file that is not there" "service_token_file" "NVAB_RUN_SERVICE_TOKEN_FILE=$tmp/none"
refused "another authority" "[Cc]ertificate|[Pp]eer" "NVAB_RUN_SERVICE_CA=$pem/stranger.pem"
refused "no client certificate" "HTTP 401 unauthorized.*certificate" \
  NVAB_RUN_SERVICE_CERTIFICATE= NVAB_RUN_SERVICE_KEY=
refused "an expired client certificate" "HTTP 401 unauthorized.*certificate" \
  "NVAB_RUN_SERVICE_CERTIFICATE=$pem/expired.pem" "NVAB_RUN_SERVICE_KEY=$pem/expired.key"
refused "a stranger's client certificate" "HTTP 401 unauthorized.*certificate" \
  "NVAB_RUN_SERVICE_CERTIFICATE=$pem/unknown.pem" "NVAB_RUN_SERVICE_KEY=$pem/unknown.key"
refused "a key that is another's" "service|https" "NVAB_RUN_SERVICE_KEY=$pem/unknown.key"
refused "plain text to a TLS port" "opening a session" "NVAB_RUN_SERVICE_URL=http://127.0.0.1:$port"
grep -q "a-token-that" "$tmp/err" && fail "a token is shown"
works "good credentials after all that"
stop_service

# ---- told to end in the middle --------------------------------------------------------------------------
url=unix:$tmp/socket
count_is() { ask "$url" GET /v2/attributor | grep -q "\"total\":$1[,}]"; }
observed() { # at least one observation of the only session
  ask "$url" GET /v2/attributor | grep -Eq '"observations":[1-9]'
}
rules=$tmp/rules
mkdir "$rules"
start_service --listen "$url" --state "sqlite:$tmp/journal.db"

for signal in TERM INT; do
  NVAB_RUN_SERVICE_URL=$url NVAB_RUN_NODE_WAIT_SECONDS=60 "$obj/nvab-run" --replay "$demo" >/dev/null 2>"$tmp/err" &
  run=$!
  others=$run
  wait_for 20 "a session with observations" observed
  kill "-$signal" "$run"
  code=0
  wait "$run" || code=$?
  [ "$code" -gt 128 ] || fail "SIG$signal while it waits: exit $code"
  count_is 0 || fail "SIG$signal left a session: $(ask "$url" GET /v2/attributor)"
done

# While it reads, and other rules at the service make it send every line of a large log.
python3 - "$tmp/large" "$demo" <<'PY'
import os, shutil, sys
to, demo = sys.argv[1:]
shutil.copytree(demo, to)
os.makedirs(to + "/applog", exist_ok=True)
with open(to + "/applog/large.log", "w") as out:
    for i in range(2_000_000): out.write(f"2026-03-01T10:00:{i % 60:02}Z step {i} of the job goes on and on and on\n")
PY
stop_service
cat >"$rules/site.toml" <<'END'
[pack]
name = "site"
[[rule]]
id = "site.only"
cause = "site_only"
title = "Something that only this site has"
source = ["applog"]
match = 'SITE-FAULT: \w+'
role = "root"
outcome = "user_exception"
action = "fix_before_retry"
provenance = "a test"
[[rule.test]]
line = "SITE-FAULT: x"
want = "match"
END
printf '[service]\nlisten = ["%s"]\nstate = "memory"\nrules_dir = "%s"\n' "$url" "$rules" >"$tmp/service.toml"
start_service --config "$tmp/service.toml"
NVAB_RUN_SERVICE_URL=$url "$obj/nvab-run" --replay "$tmp/large" >/dev/null 2>"$tmp/err" &
run=$!
others=$run
wait_for 20 "a session with observations" observed
kill "$run"
begin=$(date +%s)
code=0
wait "$run" || code=$?
[ "$code" -eq 143 ] || fail "SIGTERM while it reads: exit $code: $(cat "$tmp/err")"
[ $(($(date +%s) - begin)) -le 10 ] || fail "it took long to end"
count_is 0 || fail "SIGTERM left a session: $(ask "$url" GET /v2/attributor)"

# ---- an error in the middle: its own session goes, another's stays --------------------------------------
body=$(python3 -c 'import json,sys; print(json.dumps({"workload": json.load(open(sys.argv[1]))}))' "$demo/job.json")
id=$(ask "$url" POST /v2/attributor "$body" | text_of attributor_id)
NVAB_RUN_SERVICE_URL=$url NVAB_RUN_NODE_WAIT_SECONDS=60 "$obj/nvab-run" --replay "$demo" --join >/dev/null 2>"$tmp/err" &
run=$!
others=$run
wait_for 20 "observations" observed
kill "$run"
wait "$run" || true
ask "$url" GET "/v2/attributor/$id" | grep -q '^200' || fail "another's session was ended by SIGTERM"
ask "$url" DELETE "/v2/attributor/$id" | grep -q '^204' || fail "cannot delete"
NVAB_RUN_SERVICE_URL=$url "$obj/nvab-run" --replay "$demo" --format json --connector output sqlite path /nonexistent/x.db \
  >/dev/null 2>"$tmp/err" || true
count_is 0 || fail "an output's error left a session"

# ---- the service goes away in the middle: a sentence, and evidence that is not complete ------------------
NVAB_RUN_SERVICE_URL=$url NVAB_RUN_SERVICE_TIMEOUT=2s "$obj/nvab-run" --replay "$tmp/large" --summary-json "$tmp/summary" \
  >/dev/null 2>"$tmp/err" &
run=$!
others=$run
wait_for 20 "a session with observations" observed
stop_service KILL
start_service --config "$tmp/service.toml"
code=0
wait "$run" || code=$?
[ "$code" -ne 0 ] || fail "no error though the session was lost"
grep -q 'no_such_session' "$tmp/summary" || fail "says only: $(cat "$tmp/summary")"
grep -Eq 'log[^ ]*: [0-9]+ of [0-9]+ observations were not taken' "$tmp/err" || fail "says only: $(cat "$tmp/err")"
others=
stop_service
echo ok

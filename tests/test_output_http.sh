#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Web hooks against a server that is busy, away, slow, wrong or nosy: what arrives, how often it is tried,
# and that secrets stay where they are.
set -eu
src=${SRCDIR:-.}
run=${BUILDDIR:-.}/obj/nvab-run
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$work"' EXIT
bad=0

complain() {
  echo "FAIL: $*"
  bad=1
}
same() { [ "$2" = "$3" ] || complain "$1: got '$2', wanted '$3'"; } # WHAT GOT WANTED
has() { grep -qE -- "$3" "$2" || complain "$1: no '$3' in: $(cat "$2")"; } # WHAT FILE REGEX
lacks() { ! grep -qF -- "$3" "$2" || complain "$1: it says '$3'"; }        # WHAT FILE TEXT

cat >"$work/server.py" <<'END'
import http.server, json, os, sys, time
work, tries = sys.argv[1], {}
class Hook(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with open(work + "/log", "a") as log:
            log.write(json.dumps({"path": self.path, "method": self.command, "time": time.time(),
                "headers": {k.lower(): v for k, v in self.headers.items()}, "body": body.decode()}) + "\n")
        n = tries[self.path] = tries.get(self.path, 0) + 1
        kind = self.path.split("/")[1]
        if kind == "slow": time.sleep(20)
        status = {"busy": 503 if n < 3 else 200, "patience": 429 if n < 2 else 204, "wrong": 400,
                  "nosy": 401, "moved": 307, "down": 500}.get(kind, 200)
        self.send_response(status)
        if kind == "patience": self.send_header("Retry-After", "1")
        if kind == "moved": self.send_header("Location", "http://127.0.0.2:%d/ok" % self.server.server_port)
        said = json.dumps(dict(self.headers)).encode() if kind == "nosy" else b"a word"
        self.send_header("Content-Length", "0" if status == 204 else str(len(said)))
        self.end_headers()
        if status != 204: self.wfile.write(said)
    do_PUT = do_POST
    def log_message(self, *args): pass
hook = http.server.ThreadingHTTPServer(("0.0.0.0" if len(sys.argv) > 3 else "127.0.0.1", int(sys.argv[2])), Hook)
hook.daemon_threads = True
with open(work + "/port.new", "w") as out: out.write(str(hook.server_port))
os.rename(work + "/port.new", work + "/port")
hook.serve_forever()
END

start_server() { # PORT, 0 for any
  rm -f "$work/port"
  python3 "$work/server.py" "$work" "$1" &
  server=$!
  for _ in $(seq 100); do [ ! -e "$work/port" ] || break; sleep 0.1; done
  port=$(cat "$work/port")
}

# Requests to a path: an expression on each, r, one a line.
got() { python3 -c 'import json,sys
for line in open(sys.argv[1] + "/log"):
    r = json.loads(line)
    if r["path"] == sys.argv[2]: print(eval(sys.argv[3]))' "$work" "$1" "$2"; }
count() { got "$1" 1 | wc -l; }

# A job whose name is no friend of templates.
cp -r "$src/tests/scenarios/demo" "$work/bundle"
python3 - "$work/bundle/job.json" <<'END'
import json, sys
job = json.load(open(sys.argv[1]))
job["name"] = 'x", "evil": "\n\\'
json.dump(job, open(sys.argv[1], "w"))
END

send() { # PATH-OR-NOTHING PARAM VALUE...; the summary is in $work/summary, what was said in $work/said
  path=$1
  shift
  [ -z "$path" ] || set -- "url" "http://127.0.0.1:$port$path" "$@"
  while [ $# -gt 0 ]; do
    printf '%s = %s\n' "$1" "$(printf '%s' "$2" | python3 -c 'import json,sys; print(json.dumps(sys.stdin.read()))')" >>"$work/lines"
    shift 2
  done
  { echo "[output.http]"; cat "$work/lines"; } >"$work/hook.toml"
  rm "$work/lines"
  "$run" --replay "$work/bundle" --config "$work/hook.toml" --format json --log-level debug \
    --summary-json "$work/summary.json" >"$work/result" 2>"$work/said" || return $?
  python3 -c 'import json,sys; print(json.dumps(json.load(open(sys.argv[1])), separators=(",", ":"), ensure_ascii=False))' \
    "$work/summary.json" >"$work/summary"
}

start_server 0
printf 'Bearer s3cr3t-w0rd\n' >"$work/secret"

# ---- what arrives --------------------------------------------------------------------------------------
send /ok secret_file "$work/secret" || complain "sending ended with $?"
same "the body" "$(got /ok 'r["body"]')" "$(cat "$work/result")"
same "its type" "$(got /ok 'r["headers"]["content-type"]')" application/json
same "the secret" "$(got /ok 'r["headers"]["authorization"]')" "Bearer s3cr3t-w0rd"
same "length of the key of a delivery" "$(got /ok 'len(r["headers"]["idempotency-key"])')" 64
has "the summary" "$work/summary" '"output":"output.http","status":"ok"'
send /template method PUT secret_file "$work/secret" secret_header X-Token \
  body '{"text": "job {name}: {state}", "name": {name}, "sure": {confidence}, "all": {result}}' || complain "a template ended with $?"
same "a template" "$(got /template '(lambda b: [sorted(b), b["text"] == "job " + b["name"] + ": " + b["all"]["terminal_state"], b["name"], b["sure"] > 0])(json.loads(r["body"]))')" \
  "[['all', 'name', 'sure', 'text'], True, 'x\", \"evil\": \"\\n\\\\', True]"
same "another header and method" "$(got /template 'r["headers"]["x-token"], r["method"], "authorization" in r["headers"]')" "('Bearer s3cr3t-w0rd', 'PUT', False)"
send /text content_type text/plain body '{job} ended' || complain "plain text ended with $?"
same "plain text" "$(got /text 'r["body"].split()[1]')" ended

# ---- patience -------------------------------------------------------------------------------------------
send /busy || complain "a busy server: ended with $?"
same "tries at a busy server" "$(count /busy)" 3
same "deliveries with one key" "$(got /busy 'r["headers"]["idempotency-key"]' | sort -u | wc -l)" 1
send /patience || complain "a server that asks for time: ended with $?"
same "tries at a server that asks for time" "$(count /patience)" 2
same "seconds between them" "$(got /patience 'r["time"]' | python3 -c 'a, b = map(float, open(0)); print(1 <= b - a < 5)')" True
send /wrong && has "a request that is wrong" "$work/summary" '"status":"failed","reason":"calling the web hook: http://127.0.0.1:[0-9]+ answered 400: a word"'
same "tries of a request that is wrong" "$(count /wrong)" 1
begun=$(date +%s)
send /slow timeout_seconds 2s && has "a server that hangs" "$work/summary" '"output":"output.http","status":"failed"'
[ $(($(date +%s) - begun)) -le 8 ] || complain "a server that hangs took $(($(date +%s) - begun)) s"
send /down attempts 2 && has "a server that fails" "$work/summary" 'answered 500'
[ "$(count /down)" -le 2 ] || complain "a server that fails was tried $(count /down) times"
kill "$server"
wait "$server" 2>/dev/null || true
(sleep 1; exec python3 "$work/server.py" "$work" "$port") &
server=$!
send /late attempts 20 || complain "a server that comes late: ended with $?"
same "deliveries to a server that comes late" "$(count /late)" 1

# ---- secrets ----------------------------------------------------------------------------------------------
send /nosy secret_file "$work/secret" attempts 1 && has "a server that repeats what it got" "$work/summary" 'answered 401'
send /moved secret_file "$work/secret" && has "a server that sends us elsewhere" "$work/summary" '"status":"failed"'
same "secrets that followed a redirect" "$(got /ok 'r["headers"].get("host", "")' | grep -c 127.0.0.2 || true)" 0
printf 'http://127.0.0.1:%s/nosy/h1dden-p4th\n' "$port" >"$work/url"
send "" url_file "$work/url" attempts 1 && has "a URL from a file" "$work/summary" 'answered 401'
same "it was called" "$(count /nosy/h1dden-p4th)" 1
printf 'http://127.0.0.1:1/h1dden-p4th\n' >"$work/url"
send "" url_file "$work/url" attempts 1 && has "nobody there" "$work/summary" '"status":"failed"'
for file in said summary; do
  lacks "$file" "$work/$file" s3cr3t
  lacks "$file" "$work/$file" h1dden
done
refused() { # REGEX PARAM VALUE...
  pattern=$1
  shift
  while [ $# -gt 0 ]; do echo "$1 = \"$2\""; shift 2; done | { echo "[output.http]"; cat; } >"$work/bad.toml"
  ! "$run" --check-config --config "$work/bad.toml" >"$work/said" 2>&1 || complain "not refused: $pattern"
  has "what is wrong" "$work/said" "$pattern"
  lacks "a refusal" "$work/said" s3cr3t
}
refused 'a secret would go to http://hooks.example.org:80 unencrypted' url http://hooks.example.org/x secret_file "$work/secret"
refused 'wants https://HOST/PATH' url ftp://hooks.example.org/x
refused 'wants https://HOST/PATH' url https://ada:s3cr3t@hooks.example.org/x
refused 'wants https://HOST/PATH' method POST
refused 'is no placeholder' url https://hooks.example.org/x body '{no_such}'
refused 'it is no JSON' url https://hooks.example.org/x body "{name} and more"
refused 'secret_file' url https://hooks.example.org/x secret_file "$work/none"
printf '[output.http]\nurl = "http://hooks.example.org/x"\nsecret_file = "%s"\ninsecure = true\n' "$work/secret" >"$work/open.toml"
"$run" --check-config --config "$work/open.toml" >/dev/null || complain "insecure = true is refused"
exit $bad

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Credentials against a real TLS server (nginx) that checks client certificates and tokens, in front of the
# stand-in Loki: right, wrong, expired, of another authority, by a wrong name, replaced in the middle of a run.
# ctest: threads timeout=300
set -eu
# shellcheck source=tests/loki/lib.sh
. "${SRCDIR:-.}/tests/loki/lib.sh"
PATH=$PATH:/usr/sbin
for tool in nginx openssl; do
  command -v "$tool" >/dev/null || { echo "$tool is missing"; exit 77; }
done

# ---- certificates ----
mkdir "$tmp/pki"
cd "$tmp/pki"
cat >ca.conf <<'CONF'
[ca]
default_ca = any
[any]
new_certs_dir = .
serial = serial
database = index.txt
default_md = sha256
policy = policy
copy_extensions = copy
unique_subject = no
[policy]
commonName = supplied
CONF
authority() { # NAME
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$1.key" -out "$1.crt" -days 30 \
    -subj "/CN=$1" 2>/dev/null
}
certificate() { # NAME AUTHORITY SAN [FIRST LAST]
  openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$1.key" -out "$1.csr" \
    -subj "/CN=$1" -addext "subjectAltName=$3" 2>/dev/null
  : >index.txt
  openssl rand -hex 8 >serial
  openssl ca -batch -notext -config ca.conf -cert "$2.crt" -keyfile "$2.key" -in "$1.csr" -out "$1.crt" \
    -startdate "${4:-20200101000000Z}" -enddate "${5:-20991231000000Z}" 2>openssl.log || fail "openssl: $(cat openssl.log)"
}
authority site
authority other
certificate server site DNS:loki.test
certificate old_server site DNS:loki.test,DNS:localhost 20200101000000Z 20210101000000Z
certificate local_server site DNS:localhost
certificate strange_server other DNS:localhost
certificate client site DNS:nvab
certificate old_client site DNS:nvab 20200101000000Z 20210101000000Z
certificate strange_client other DNS:nvab
cd "$src"

# ---- a job with 20 lines, and the servers ----
python3 - "$tmp" <<'PY'
import json, sys
json.dump({"scheduler": "slurm", "job_id": "5", "state": "FAILED", "start_time": "2026-03-01T10:00:00Z",
           "end_time": "2026-03-01T11:00:00Z", "nodes": ["n1"]}, open(f"{sys.argv[1]}/job.json", "w"))
values = [[str((1772359200 + i) * 10**9), f"line {i}"] for i in range(20)]
json.dump([{"stream": {"slurm_job_id": "5"}, "values": values}], open(f"{sys.argv[1]}/data.json", "w"))
PY
start_loki "$tmp/data.json"
# Ports that nobody has now; another may be quicker, then nginx says so and the test fails.
ports=$(python3 - <<'PY'
import socket
held = [socket.socket() for _ in range(7)]
for one in held: one.bind(("127.0.0.1", 0))
print(*[one.getsockname()[1] for one in held])
PY
)
# shellcheck disable=SC2086 # a list
set -- $ports
mutual=$1 token=$2 old=$3 strange=$4 legacy=$5 away=$6 plain=$7

accept() { # TOKEN...: those that nginx takes
  for one; do echo "\"Bearer $one\" 1;"; done >"$tmp/tokens"
}
accept hunter2-one
cat >"$tmp/nginx.conf" <<CONF
daemon off;
worker_processes 1;
pid $tmp/nginx.pid;
error_log $tmp/nginx.error;
events {}
http {
  client_body_temp_path $tmp/body;
  proxy_temp_path $tmp/proxy;
  fastcgi_temp_path $tmp/fastcgi;
  uwsgi_temp_path $tmp/uwsgi;
  scgi_temp_path $tmp/scgi;
  log_format all '\$server_port \$server_protocol \$connection_requests \$status \$http_authorization';
  access_log $tmp/access.log all;
  map \$http_authorization \$is_known { default 0; include $tmp/tokens; }
  ssl_certificate $tmp/pki/local_server.crt;
  ssl_certificate_key $tmp/pki/local_server.key;
  server {
    listen 127.0.0.1:$mutual ssl;
    ssl_certificate $tmp/pki/server.crt;
    ssl_certificate_key $tmp/pki/server.key;
    ssl_client_certificate $tmp/pki/site.crt;
    ssl_verify_client on;
    location / { proxy_pass $loki; }
  }
  server {
    listen 127.0.0.1:$token ssl http2;
    location / {
      if (\$is_known = 0) { return 401; }
      proxy_pass $loki;
    }
  }
  server {
    listen 127.0.0.1:$old ssl;
    ssl_certificate $tmp/pki/old_server.crt;
    ssl_certificate_key $tmp/pki/old_server.key;
    location / { proxy_pass $loki; }
  }
  server {
    listen 127.0.0.1:$strange ssl;
    ssl_certificate $tmp/pki/strange_server.crt;
    ssl_certificate_key $tmp/pki/strange_server.key;
    location / { proxy_pass $loki; }
  }
  server {
    listen 127.0.0.1:$legacy ssl;
    ssl_protocols TLSv1.2;
    location / { proxy_pass $loki; }
  }
  server {
    listen 127.0.0.1:$away ssl;
    location / { return 307 http://127.0.0.1:$plain\$request_uri; }
  }
  server {
    listen 127.0.0.1:$plain;
    location / { proxy_pass $loki; }
  }
}
CONF
nginx -p "$tmp" -c "$tmp/nginx.conf" 2>"$tmp/nginx.start" &
nginx_pid=$!
children="$children $nginx_pid"
wait_for "$tmp/nginx.pid"

# ---- who gets in ----
echo hunter2-one >"$tmp/token"
echo hunter2-bad >"$tmp/wrong"
run() { # SETTINGS: TOML behind [log.loki] with url and ca_file
  {
    printf '[eca.static]\nfile = "%s"\n[log.loki]\nattempts = 1\nproxy = "none"\nca_file = "%s"\n' \
      "$tmp/job.json" "$tmp/pki/site.crt"
    echo "$1"
  } >"$tmp/run.toml"
  : >"$tmp/access.log"
  "$obj/nvab-run" --format json --config "$tmp/run.toml" >"$tmp/result.json" 2>"$tmp/err" ||
    fail "nvab-run: $(cat "$tmp/err")"
  ! grep -q hunter2 "$tmp/result.json" "$tmp/err" || fail "a secret was printed"
}
expect() { # WHAT STATUS [WORDS]
  python3 - "$tmp/result.json" "$@" <<'PY' || fail "$1"
import json, sys
path, what, status, *words = sys.argv[1:]
report = json.load(open(path))["connector_reports"][0]
if report["status"] != status or any(word not in (report["reason"] or "") for word in words):
    sys.exit(f"{what}: {report['status']}: {report['reason']}")
PY
}
mtls() { # CERTIFICATE [MORE]
  printf '[auth.mtls.m]\nca_file = "%s"\ncertificate_file = "%s"\nkey_file = "%s"\n%s\n' "$tmp/pki/site.crt" \
    "$tmp/pki/$1.crt" "$tmp/pki/$1.key" "${2:-}"
}
bearer() { # FILE
  printf 'auth = "t"\n[auth.token.t]\ntoken_file = "%s"\n' "$1"
}
at() { echo "url = \"https://localhost:$1\""; }

named='server_name = "loki.test"'
run "$(at "$mutual")
auth = \"m\"
$(mtls client "$named")"
expect "the right certificate" ok
run "url = \"https://127.0.0.1:$mutual\"
auth = \"m\"
$(mtls client "$named")"
expect "an address instead of a name" ok
run "$(at "$mutual")
auth = \"m\"
$(mtls client)"
expect "the server is called otherwise" denied
run "$(at "$mutual")
auth = \"m\"
$(mtls client 'server_name = "prometheus.test"')"
expect "another name than the certificate's" denied
run "$(at "$mutual")
auth = \"m\"
$(mtls old_client "$named")"
expect "our certificate has expired" denied "refuses our certificate"
run "$(at "$mutual")
auth = \"m\"
$(mtls strange_client "$named")"
expect "our certificate is of another authority" denied "refuses our certificate"
run "$(at "$old")"
expect "the server's certificate has expired" denied expired
run "$(at "$strange")"
expect "the server's certificate is of another authority" denied
run "$(at "$mutual")
auth = \"m\"
$(mtls client "$named" | sed "s|client.key|missing.key|")"
expect "a key that is not there" unavailable missing.key
run "$(at "$legacy")"
expect "TLS 1.2" ok
run "$(at "$legacy")
auth = \"m\"
$(mtls client 'min_version = "1.3"')"
expect "TLS 1.2 is not enough" unavailable

run "$(at "$token")
page_lines = 3
$(bearer "$tmp/token")"
expect "the right token" ok
grep -q "^$token HTTP/2.0" "$tmp/access.log" || fail "no HTTP/2: $(cat "$tmp/access.log")"
grep -q "^$token HTTP/2.0 [2-9]" "$tmp/access.log" || fail "the connection was not used again"
run "$(at "$token")
$(bearer "$tmp/wrong")"
expect "the wrong token" denied "HTTP 401"
run "$(at "$token")"
expect "no token" denied "HTTP 401"
run "$(at "$token")
auth = \"m,t\"
[auth.token.t]
token_file = \"$tmp/token\"
$(mtls client)"
expect "a token and a certificate" ok

run "$(at "$away")
$(bearer "$tmp/token")"
expect "a redirect to another place" denied "redirects to http://127.0.0.1:$plain"
! grep -q "^$plain" "$tmp/access.log" || fail "the redirect was followed: $(cat "$tmp/access.log")"
run "$(at "$away")"
expect "without credentials it is followed" ok

# ---- a token that is replaced while a run is going on ----
control '{"delay": 0.25}'
run_rotating() {
  run "$(at "$token")
page_lines = 2
$(bearer "$tmp/token")"
}
rotate() {
  while [ "$(wc -l <"$tmp/access.log")" -lt 3 ]; do sleep 0.05; done
  accept hunter2-one hunter2-two
  kill -HUP "$nginx_pid"
  sleep 0.5
  echo hunter2-two >"$tmp/token.new"
  mv "$tmp/token.new" "$tmp/token"
  sleep 0.5
  accept hunter2-two
  kill -HUP "$nginx_pid"
}
: >"$tmp/access.log"
rotate &
rotator=$!
run_rotating
wait "$rotator" || fail "the rotation"
expect "a replaced token" ok
for word in one two; do
  grep -q " 200 Bearer hunter2-$word" "$tmp/access.log" || fail "token $word was not used: $(cat "$tmp/access.log")"
done
! grep -q ' 401 ' "$tmp/access.log" || fail "a request was refused: $(cat "$tmp/access.log")"
control '{}'

# ---- what must not even be tried ----
printf '[eca.static]\nfile = "%s"\n[log.loki]\nurl = "http://localhost:%s"\n%s\n' "$tmp/job.json" "$plain" \
  "$(bearer "$tmp/token")" >"$tmp/run.toml"
: >"$tmp/access.log"
! "$obj/nvab-run" --config "$tmp/run.toml" >"$tmp/out" 2>&1 || fail "a token over plain http is taken"
grep -q 'plain http' "$tmp/out" || fail "no reason: $(cat "$tmp/out")"
[ ! -s "$tmp/access.log" ] || fail "a request was made"
echo 'insecure = true' >>"$tmp/run.toml"
"$obj/nvab-run" --quiet --config "$tmp/run.toml" >"$tmp/result.json" 2>&1 || fail "insecure = true"
expect "insecure = true" ok
! NVAB_AUTH_TOKEN_T_TOKEN=hunter2-three "$obj/nvab-run" --config "$tmp/run.toml" >"$tmp/out" 2>&1 || fail "two tokens"
NVAB_AUTH_TOKEN_T_TOKEN=hunter2-three "$obj/nvab-run" --show-config --config "$tmp/run.toml" >>"$tmp/out" 2>&1 || true
! "$obj/nvab-run" --connector auth token.t token hunter2-four --config "$tmp/run.toml" >>"$tmp/out" 2>&1 ||
  fail "a token on the command line"
! grep -q hunter2 "$tmp/out" || fail "a secret was printed: $(cat "$tmp/out")"
echo ok

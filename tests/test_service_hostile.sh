#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Clients that mean harm, at full size: 10,000 connections that send next to nothing, 100,000 sessions, and
# requests made to break parsers. Memory stays bounded (VmRSS of /proc), others are served meanwhile, and
# what was taken is given back.
# ctest: timeout=900 serial
set -eu
# shellcheck source=tests/support/service.sh
. "$SRCDIR/tests/support/service.sh"
# shellcheck disable=SC3045 # dash knows it
hard=$(ulimit -H -n)
[ "$hard" = unlimited ] || [ "$hard" -ge 13000 ] || { echo "the limit of open files is too low: $hard"; exit 77; }
# shellcheck disable=SC3045 # likewise
ulimit -n "$hard"
# A sanitizer's shadow and quarantine are memory, too.
factor=1
if grep -q '^SANITIZE := *[a-z]' "$BUILDDIR/config.mk"; then factor=8; fi

cat >"$tmp/service.toml" <<END
[service]
listen = ["127.0.0.1:0", "unix:$tmp/socket"]
state = "memory"
max_connections = 11000
connection_idle = "8s"
request_timeout = "8s"
max_sessions = 100000
END
start_service --config "$tmp/service.toml"
port=$(sed -n 's/.*listening on 127.0.0.1:\([0-9]*\).*/\1/p' "$tmp/log")

cat >"$tmp/hostile.py" <<'PY'
import http.client, json, select, socket, sys, threading, time

port, pid, factor = (int(x) for x in sys.argv[1:4])
def rss_kb():
    for line in open(f"/proc/{pid}/status"):
        if line.startswith("VmRSS:"): return int(line.split()[1])
def die(text): print("FAIL:", text); sys.exit(1)
def connect():
    s = socket.create_connection(("127.0.0.1", port)); s.settimeout(30); return s

# Somebody who only wants to work. Each call in time, whatever others do.
worst = 0.0
def ask(method, target, body=None):
    global worst
    begin = time.monotonic()
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    c.request(method, target, body, {"Content-Type": "application/json"} if body else {})
    r = c.getresponse(); text = r.read(); c.close()
    worst = max(worst, time.monotonic() - begin)
    return r.status, r.getheader("Retry-After"), text
def workload(job): return json.dumps({"workload": {"cluster": "c", "job_id": str(job), "state": "FAILED", "nodes": ["n1", "n2"]}})
OBSERVATION = json.dumps({"source": "applog", "entry_timeseries": [{"message": "MemoryError: hm"}]})
def honest(job):
    status, _, text = ask("POST", "/v2/attributor", workload(job))
    if status != 201: die(f"an honest client got {status}: {text}")
    at = "/v2/attributor/" + json.loads(text)["attributor_id"]
    got = [ask("POST", at + "/observation", OBSERVATION)[0], ask("GET", at + "/attribution")[0], ask("DELETE", at)[0]]
    if got != [201, 200, 204]: die(f"an honest client got {got}")
honest("warm")

# ---- 10,000 connections -------------------------------------------------------------------------------
N = 10_000
before, held = rss_kb(), []
for i in range(N):
    s = connect(); held.append(s)
    if i % 4 == 1: s.sendall(b"P")                                             # a slow head
    if i % 4 == 2: s.sendall(b"GET /v2/healthz HTTP/1.1\r\nHost: x\r\nX-A: ")  # half a head
    if i % 4 == 3: s.sendall(b"POST /v2/attributor/x/observation HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                             b"Content-Length: 60000000\r\n\r\n{\"source\":")     # half a body
    if i % 2500 == 2499: honest(f"meanwhile{i}")
    if i % 500 == 499:                                                         # slow: a byte now and then
        for other in held[1:i:4]:
            try: other.sendall(b"O")
            except OSError: pass
grown = rss_kb() - before
print(f"{N} connections: {grown} kB more, {grown / N:.1f} kB each; the slowest honest call took {worst:.2f} s")
if grown > (16 * 1024 + 40 * N) * factor: die(f"{grown} kB for {N} connections")
if worst > 5: die(f"an honest call took {worst:.1f} s")
# They are ended in time, with an answer where a body was due.
deadline, told = time.monotonic() + 40, 0
for i, s in enumerate(held):
    s.settimeout(max(1, deadline - time.monotonic()))
    try:
        data = s.recv(4096)
        told += data.startswith(b"HTTP/1.1 408")
        while data: data = s.recv(4096)
    except ConnectionError: pass
    except OSError as e: die(f"connection {i} is still open: {e}")
    s.close()
print(f"all ended; {told} were told 408")
if told < N // 8: die("hardly any were told why")
honest("after")

# More than there may be: those that only sit there make room.
held = []
for i in range(11_500):
    try: held.append(connect())
    except OSError: break
honest("crowd")
print(f"{len(held)} at once: others are served")
for s in held: s.close()
held = []

# ---- 100,000 sessions ---------------------------------------------------------------------------------
def many(requests, expected):
    """Pipelined on some connections; what is not expected is returned."""
    wrong, lock = {}, threading.Lock()
    def run(part):
        s = connect(); pending = b""
        for at in range(0, len(part), 50):
            batch = part[at:at + 50]
            s.sendall(b"".join(batch)); left = len(batch)
            while left:
                end = pending.find(b"\r\n\r\n")
                if end >= 0:
                    head = pending[:end].lower(); status = int(head[9:12])
                    size = int(head.split(b"content-length:")[1].split(b"\r\n")[0]) if b"content-length:" in head else 0
                    if len(pending) >= end + 4 + size:
                        pending = pending[end + 4 + size:]; left -= 1
                        if status != expected:
                            with lock: wrong[status] = wrong.get(status, 0) + 1
                        continue
                data = s.recv(1 << 16)
                if not data: die("a connection was closed in the middle")
                pending += data
        s.close()
    threads = [threading.Thread(target=run, args=(requests[i::4],)) for i in range(4)]
    for t in threads: t.start()
    for t in threads: t.join()
    return wrong
def post(job):
    body = workload(job).encode()
    return b"POST /v2/attributor HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
def all_ids():
    ids, after = [], ""
    while after is not None:
        page = json.loads(ask("GET", f"/v2/attributor?limit=1000&after={after}")[2])
        ids += [a["attributor_id"] for a in page["attributors"]]; after = page["next"]
    return ids
sizes = []
for turn in range(3):
    wrong = many([post(f"s{i}") for i in range(100_000)], 201)
    if wrong: die(f"100,000 sessions: {wrong}")
    full = rss_kb()
    status, retry, text = ask("POST", "/v2/attributor", workload("one-more"))
    if status != 429 or not retry or b"too_many_sessions" not in text: die(f"one session more: {status} {retry} {text}")
    ids = all_ids()
    if len(ids) != 100_000: die(f"{len(ids)} sessions are listed")
    wrong = many([f"DELETE /v2/attributor/{i} HTTP/1.1\r\nHost: x\r\n\r\n".encode() for i in ids], 204)
    if wrong: die(f"deleting: {wrong}")
    sizes.append(full)
    print(f"100,000 sessions: {full} kB, {full / 100_000:.1f} kB each; deleted: {rss_kb()} kB")
# Which arena of which thread it is in differs from turn to turn.
if max(sizes) > 100_000 * 8 * factor + 100_000: die(f"{sizes} kB for 100,000 sessions")
deadline = time.monotonic() + 30
while factor == 1 and rss_kb() > max(sizes) * 0.6:
    if time.monotonic() > deadline: die(f"{rss_kb()} kB are kept though all sessions have ended")
    time.sleep(0.5)
print(f"given back: {rss_kb()} kB are left")

# ---- requests made to break parsers ---------------------------------------------------------------------
status, _, text = ask("POST", "/v2/attributor", workload("victim"))
at = "/v2/attributor/" + json.loads(text)["attributor_id"]
deep = "[" * 1_000_000
bodies = [deep, deep + "]" * 1_000_000, '{"a":' * 100_000 + "1" + "}" * 100_000,
    '{"source":"applog","entry_timeseries":[{"message":' + "9" * 100_000 + "}]}", '{"source":"applog","entry_timeseries":[{"message":"a","rank":1e99999}]}',
    '{"source":"applog","entry_timeseries":[{"message":"a","rank":-99999999999999999999999999}]}',
    '{"source":"applog","source":"syslog","entry_timeseries":[]}', '{"source":"applog","entry_timeseries":[],"entry_timeseries":[]}',
    '{"source":"node_metrics","entry_timeseries":[{"timestamp":"9999999999999-01-01T00:00:00Z","name":"x","value":1}]}',
    '{"source":"applog","entry_timeseries":' + "[" * 30 + "]" * 30 + "}", '"' + "\\u0000" * 100_000 + '"', "\x00" * 1000, "", " " * 1_000_000, "nul", "{" * 64]
for body in bodies:
    for target in (at + "/observation", "/v1/attributor/" + at.split("/")[-1] + "/observation", "/v2/attributor"):
        status = ask("POST", target, body)[0]
        if not 400 <= status < 500: die(f"{status} for {body[:60]!r} to {target}")
# What is not UTF-8 is replaced, counted, and sent back as UTF-8.
wrong_utf8 = b'{"source":"applog","entry_timeseries":[{"message":"MemoryError \xff\xfe\xc0\xaf\xed\xa0\x80"}]}'
if ask("POST", at + "/observation", wrong_utf8)[0] != 201: die("wrong UTF-8 was not taken")
json.loads(ask("GET", at + "/attribution")[2].decode("utf-8"))
if json.loads(ask("GET", at)[2])["observations"]["bytes_replaced"] == 0: die("replaced bytes are not counted")
for path in ["/../etc/passwd", "/v2/../../etc/passwd", "/v2/attributor/../healthz", "/v2/attributor/..%2fhealthz", "/v2/attributor/%2e%2e/x", "//v2/healthz",
             "/v2//healthz", "/v2/healthz/", "/v2/attributor/%00", "/v2/attributor/%zz", "/v2/attributor/%", "/%76%32/healthz/x", "/v2/attributor/" + "a" * 5000,
             "/v2/attributor/" + "%61" * 2000, "/v2/attributor/..;/..;/", "/v2/attributor/\\..\\..", "/v2/attributor/~root", "/v2/healthz%00.json"]:
    status = ask("GET", path)[0]
    if not 400 <= status < 500: die(f"{status} for {path[:60]!r}")
# The library answers these, or closes: more parameters than the memory of a head holds are no request to us.
raw = [b"GET /?" + b"a=b&" * 2000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET\r\n\r\n", b"\x16\x03\x01\x02\x00" + b"\0" * 500, b"\r\n" * 1000, b"GET /v2/healthz HTTP/1.1\r\n" + b"A: " + b"x" * 100_000 + b"\r\n\r\n",
       b"GET /v2/healthz HTTP/1.1\r\n" + b"".join(b"H%d: x\r\n" % i for i in range(10_000)) + b"\r\n", b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\n\r\n",
       b"POST /v2/attributor HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n{}{}{}", b"POST /v2/attributor HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
       b"POST /v2/attributor HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", b"POST /v2/attributor HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\n\r\n",
       b"POST /v2/attributor HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\n", b"G\0T / HTTP/1.1\r\n\r\n", b"GET /v2/healthz HTTP/1.1\r\nHost: x\r\nX: a\r\n\tb\r\n folded\r\n\r\n",
       b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"CONNECT evil:80 HTTP/1.1\r\nHost: x\r\n\r\n", b"GET http://evil/ HTTP/1.1\r\nHost: x\r\n\r\n"]
for bytes_ in raw:
    s = connect()
    try:
        s.sendall(bytes_); s.shutdown(socket.SHUT_WR); data = s.recv(65536)
    except OSError: data = b""
    s.close()
    # 501 and 505 are what RFC 9110 has for methods and versions that nobody knows.
    if data.startswith(b"HTTP/1.1 5") and data[9:12] not in (b"501", b"505"): die(f"{data[:40]} for {bytes_[:60]!r}")
honest("at the end")
end = rss_kb()
print(f"at the end: {end} kB")
if factor == 1 and end > max(sizes): die("more than 100,000 sessions took")
PY
timeout 800 python3 "$tmp/hostile.py" "$port" "$service" "$factor" || fail "see above"
code=0
kill "$service"
wait "$service" || code=$?
service=
[ $code -eq 0 ] || fail "it ended with $code"
grep -E 'error:|ERROR: ' "$tmp/log" && fail "it complained"
echo ok

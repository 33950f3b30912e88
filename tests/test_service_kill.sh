#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kill -9 under load: clients open sessions and post observations while the service is killed and started
# again, and again. What was acknowledged is there, what was there is judged the same, and at the end every
# verdict is that of a service that nobody killed. NVAB_KILLS=100 for the long run.
# ctest: timeout=900
set -eu
# shellcheck source=tests/support/service.sh
. "$SRCDIR/tests/support/service.sh"
kills=${NVAB_KILLS:-8}
# It must not hold the pipes of this script open.
start() { start_service --listen "unix:$tmp/socket" --state "sqlite:$tmp/journal.db" 3>&- 4<&-; }
start
# A second one, which is never touched, is told the same.
"$obj/nvab-service" --listen "unix:$tmp/calm" --state memory 2>"$tmp/calm.log" &
others=$!
wait_for 60 "the other service" grep -q 'info: ready' "$tmp/calm.log"

cat >"$tmp/clients.py" <<'PY'
import http.client, json, os, random, socket, sys, threading, time

folder = sys.argv[1]
CLIENTS, SESSIONS_EACH, FULL = 8, 3, 60  # FULL: observations after which a session is judged and ends
LINES = [
    ("syslog", {"app": "kernel", "trust": "kernel", "message": "NVRM: Xid (PCI:0000:41:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus. #%d"}),
    ("applog", {"rank": 3, "message": "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate %d GiB"}),
    ("applog", {"rank": 1, "message": "[rank1]: RuntimeError: NCCL communicator was aborted on rank 1. #%d"}),
    ("syslog", {"app": "kernel", "trust": "kernel", "message": "mlx5_core 0000:0c:00.0: Port module event[error]: module 0, Cable error #%d"}),
]

class Unix(http.client.HTTPConnection):
    def __init__(self, path): super().__init__("localhost", timeout=30); self.path = path
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX); self.sock.settimeout(30); self.sock.connect(self.path)

class Client:
    """Asks until there is an answer that is one: the service may be dead, starting or stopping."""
    def __init__(self, path): self.path, self.c = path, None
    def ask(self, method, target, body=None):
        while True:
            try:
                if self.c is None: self.c = Unix(self.path)
                self.c.request(method, target, body and json.dumps(body), {"Content-Type": "application/json"} if body else {})
                r = self.c.getresponse(); text = r.read().decode()
                if r.status != 503: return r.status, text
            except (OSError, http.client.HTTPException):
                if self.c: self.c.close()
                self.c = None
            time.sleep(0.005)

def observation(n):
    source, entry = LINES[n % len(LINES)]
    entry = dict(entry, node=f"w{n % 4 + 1}", timestamp=f"2026-01-05T10:{n // 60 % 60:02}:{n % 60:02}Z")
    entry["message"] = entry["message"] % n
    return {"source": source, "connector": "test", "entry_timeseries": [entry]}

lock, acknowledged, problems, stop = threading.Lock(), {}, [], threading.Event()

def judge(client, calm, sid, job, seen):
    """The same count and verdict as of the service that was told the same without kills; then both end."""
    calm.ask("POST", "/v2/attributor", job)
    numbers = list(seen.values()); random.shuffle(numbers)
    for n in numbers: calm.ask("POST", f"/v2/attributor/{sid}/observation", observation(n))
    status, text = client.ask("GET", f"/v2/attributor/{sid}")
    if status != 200 or json.loads(text)["observations"]["count"] != len(seen): problems.append(f"{sid}: {status}, another count than acknowledged")
    if client.ask("GET", f"/v2/attributor/{sid}/attribution") != calm.ask("GET", f"/v2/attributor/{sid}/attribution"):
        problems.append(f"{sid}: another verdict than without kills")
    for c in (client, calm): c.ask("DELETE", f"/v2/attributor/{sid}")
    return len(numbers)

totals = []
def work(which):
    client, calm, rnd = Client(folder + "/socket"), Client(folder + "/calm"), random.Random(which)
    ids, n, total, opened = [], 0, 0, 0
    while not stop.is_set():
        if len(ids) < SESSIONS_EACH:
            opened += 1
            job = {"workload": {"cluster": "c", "job_id": f"{which}.{opened}", "state": "FAILED", "nodes": ["w[1-4]"],
                   "submit_time": "2026-01-05T09:59:00Z", "start_time": "2026-01-05T10:00:00Z", "end_time": "2026-01-05T11:00:00Z"}}
            status, text = client.ask("POST", "/v2/attributor", job)
            if status not in (201, 409): problems.append(f"create: {status} {text}")
            ids.append(json.loads(text)["attributor_id"])
            with lock: acknowledged[ids[-1]] = (job, {})
        n += 1
        sid = rnd.choice(ids)
        status, text = client.ask("POST", f"/v2/attributor/{sid}/observation", observation(n))
        if status not in (201, 409): problems.append(f"observation: {status} {text}")
        with lock: job, seen = acknowledged[sid]; seen[json.loads(text).get("observation_id")] = n
        if len(seen) >= FULL:
            with lock: del acknowledged[sid]
            ids.remove(sid); total += judge(client, calm, sid, job, seen)
    totals.append(total)

threads = [threading.Thread(target=work, args=(i,)) for i in range(1, CLIENTS + 1)]
for t in threads: t.start()

# A session that is told no more: its verdict must be the same bytes for ever.
quiet = Client(folder + "/socket")
_, text = quiet.ask("POST", "/v2/attributor", {"workload": {"job_id": "quiet", "nodes": ["w1", "w2"]}})
quiet_id = json.loads(text)["attributor_id"]
for n in range(40): quiet.ask("POST", f"/v2/attributor/{quiet_id}/observation", observation(n))
before = quiet.ask("GET", f"/v2/attributor/{quiet_id}/attribution")
print("ready", flush=True)

for line in sys.stdin:            # a line: it has just been killed and started
    with lock: known = {sid: len(seen) for sid, (_, seen) in acknowledged.items()}
    for sid, count in known.items():
        status, text = quiet.ask("GET", f"/v2/attributor/{sid}")
        there = json.loads(text)["observations"]["count"] if status == 200 else status
        with lock: is_open = sid in acknowledged
        if is_open and (status != 200 or there < count): problems.append(f"session {sid}: {there} of {count} acknowledged")
    now = quiet.ask("GET", f"/v2/attributor/{quiet_id}/attribution")
    if now != before: problems.append(f"a verdict changed: {before} {now}")
    print("checked" if not problems else problems[0], flush=True)

stop.set()
for t in threads: t.join()
calm = Client(folder + "/calm")
totals += [judge(quiet, calm, sid, job, seen) for sid, (job, seen) in acknowledged.items()]
print(problems[0] if problems else f"{sum(totals)} observations acknowledged, none lost", flush=True)
PY
mkfifo "$tmp/in" "$tmp/out"
python3 "$tmp/clients.py" "$tmp" <"$tmp/in" >"$tmp/out" &
others="$others $!"
exec 3>"$tmp/in" 4<"$tmp/out"
read -r word <&4
[ "$word" = ready ] || fail "the clients: $word"
round=0
while [ $round -lt "$kills" ]; do
  round=$((round + 1))
  # At another moment of the load each time.
  sleep "0.$((round * 37 % 10))$((round * 53 % 10))"
  stop_service KILL
  start
  echo killed >&3
  read -r word <&4
  [ "$word" = checked ] || fail "after kill $round: $word"
done
exec 3>&-
read -r word <&4
case $word in *"none lost") ;; *) fail "at the end: $word" ;; esac
echo "$kills kills, $word"
stop_service

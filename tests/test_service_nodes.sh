#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Nothing central collects logs: each node's own runner sends what it has into the job's session at the
# service, the job's runner waits for its nodes and names the one that stays silent. The nodes are processes
# here, each with a queue, a log and a spool of its own.
# ctest: timeout=300
set -eu
# shellcheck source=tests/support/service.sh
. "$SRCDIR/tests/support/service.sh"
url=unix:$tmp/socket

# What each node has: the same file name everywhere, and a fault on the second one.
cat >"$tmp/job.json" <<'END'
{"scheduler":"slurm","cluster":"c9","job_id":"77","state":"FAILED","exit_code":"1:0","submit_time":"2026-01-05T09:59:00Z",
"start_time":"2026-01-05T10:00:00Z","end_time":"2026-01-05T11:00:00Z","nodes":["w[1-3]"],"ntasks":3,"gpus_per_node":8}
END
cat >"$tmp/app.log" <<'END'
2026-01-05T10:58:00Z [rank0]: step 5119 loss 2.1
2026-01-05T10:59:59Z [rank0]: RuntimeError: NCCL communicator was aborted on rank 0.
END
for node in w1 w2 w3; do
  mkdir -p "$tmp/$node/new" "$tmp/$node/spool"
  echo "2026-01-05T10:59:00.000000Z $node kernel: usb 1-1: new high-speed USB device number 2" >"$tmp/$node/messages"
done
echo "2026-01-05T10:59:50.000000Z w2 kernel: NVRM: Xid (PCI:0000:41:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus." \
  >>"$tmp/w2/messages"
for node in w1 w2 w3; do
  cat >"$tmp/$node.toml" <<END
[run]
service_url = "$url"
spool = "$tmp/$node/spool"
[queue]
path = "$tmp/$node"
poll_seconds = "1s"
node_patience_seconds = "2m"
[log.file.sys]
source = "syslog"
paths = ["$tmp/$node/messages"]
END
done
hand_over() { # NODE JOB [TIME]
  printf '{"v":1,"trigger_id":"%s.epilog.%s.1.1","hook":"epilog","host":"%s","time":"%s","job":{"job_id":%s,"cluster":"c9","node":"%s"}}\n' \
    "$2" "$1" "$1" "${3:-$(date -u +%Y-%m-%dT%H:%M:%SZ)}" "$2" "$1" >"$tmp/$1/.entry"
  mv "$tmp/$1/.entry" "$tmp/$1/new/$2.epilog.$1.1.1.json"
}
start_node() { # NODE
  "$obj/nvab-run" --watch --node --config "$tmp/$1.toml" --log-level debug 2>>"$tmp/$1.log" &
  others="$others $!"
}
is_done() { [ -e "$tmp/$1/done/$2.epilog.$1.1.1.json" ]; } # NODE JOB

# The runner; its own host has the job's output only.
judge() { # SECONDS-TO-WAIT OUTPUT
  NVAB_RUN_SERVICE_URL=$url NVAB_RUN_NODE_WAIT_SECONDS=$1 "$obj/nvab-run" --format json \
    --connector eca static file "$tmp/job.json" --connector log file.app source applog --connector log file.app paths "$tmp/app.log" \
    >"$2" 2>"$tmp/err" || fail "nvab-run: $(cat "$tmp/err")"
}
value() { # PYTHON-EXPRESSION FILE; r is the result
  python3 -c 'import json, sys; r = json.load(open(sys.argv[2])); print(eval(sys.argv[1]))' "$1" "$2"
}
same() { # WHAT GOT WANTED
  [ "$2" = "$3" ] || fail "$1: got '$2', wanted '$3'"
}

# ---- nodes that were there first, and a service that is not there yet -----------------------------------
for node in w1 w2; do
  start_node $node
  hand_over $node 77
done
wait_for 20 "a node to say that the service is away" grep -q 'looking for job 77 at' "$tmp/w1.log"
[ -e "$tmp/w1/new/77.epilog.w1.1.1.json" ] || [ -d "$tmp/w1/claimed" ] || fail "the entry is gone"
start_service --listen "$url" --state "sqlite:$tmp/journal.db"
judge 25s "$tmp/out"
same "the cause" "$(value 'r["root_cause"]["rule"]' "$tmp/out")" gpu.xid.79
same "the culprit" "$(value 'r["culprits"]["nodes"]' "$tmp/out")" "['w2']"
same "where it is cited" "$(value '[t["origin"]["stream"] for t in r["timeline"] if t["role"] == "root"]' "$tmp/out")" "['w2$tmp/w2/messages']"
value 'r["missing"]' "$tmp/out" | grep -q 'nothing came from w3 itself' || fail "the silent node is not named: $(value 'r["missing"]' "$tmp/out")"
value 'r["missing"]' "$tmp/out" | grep -q 'from w[12]' && fail "one that spoke is said to be silent"
same "how complete it is" "$(value 'r["evidence_status"]' "$tmp/out")" partial
for node in w1 w2; do wait_for 10 "the end of $node's entry" is_done $node 77; done
ask "$url" GET /v2/attributor | grep -q '"total":0' || fail "a session is left"

# ---- all there: nobody waits longer than it takes, and the verdict is that of one who reads all files ----
rm "$tmp"/w1/done/77* "$tmp"/w2/done/77*
start_node w3
for node in w1 w2 w3; do hand_over $node 77; done
begin=$(date +%s)
judge 120s "$tmp/out"
[ $(($(date +%s) - begin)) -lt 60 ] || fail "it waited though all nodes had spoken"
same "what is missing" "$(value '[m for m in r["missing"] if "nothing came" in m]' "$tmp/out")" "[]"
same "how complete it is" "$(value 'r["evidence_status"]' "$tmp/out")" complete
"$obj/nvab-run" --format json --connector eca static file "$tmp/job.json" --connector log file.app source applog \
  --connector log file.app paths "$tmp/app.log" --connector log file.sys source syslog \
  --connector log file.sys paths "$tmp/w1/messages,$tmp/w2/messages,$tmp/w3/messages" >"$tmp/alone" 2>"$tmp/err" || fail "$(cat "$tmp/err")"
for what in 'r["root_cause"]' 'r["culprits"]' 'r["advice"]' 'r["first_failing_rank"]' 'r["attributions"]'; do
  same "$what with and without nodes that send" "$(value "$what" "$tmp/out")" "$(value "$what" "$tmp/alone")"
done

# ---- the service is killed while the runner waits: what nodes had sent is there again -------------------
rm "$tmp"/w?/done/77*
NVAB_RUN_SERVICE_URL=$url NVAB_RUN_NODE_WAIT_SECONDS=60s "$obj/nvab-run" --format json \
  --connector eca static file "$tmp/job.json" --connector log file.app source applog --connector log file.app paths "$tmp/app.log" \
  >"$tmp/out" 2>"$tmp/err" &
run=$!
others="$others $run"
hand_over w2 77
wait_for 30 "the first node's evidence" is_done w2 77
stop_service KILL
sleep 1
start_service --listen "$url" --state "sqlite:$tmp/journal.db"
for node in w1 w3; do hand_over $node 77; done
wait "$run" || fail "the runner: $(cat "$tmp/err")"
same "the cause after a kill" "$(value 'r["root_cause"]["rule"]' "$tmp/out")" gpu.xid.79
same "what is missing after a kill" "$(value '[m for m in r["missing"] if "nothing came" in m]' "$tmp/out")" "[]"

# ---- a job that nobody asks about: its entry ends quietly, and is not dead -------------------------------
hand_over w1 88 2026-01-01T00:00:00Z
wait_for 20 "the end of a job of no interest" is_done w1 88
find "$tmp"/w?/dead -type f | grep -q . && fail "an entry is dead"
stop_service
echo ok

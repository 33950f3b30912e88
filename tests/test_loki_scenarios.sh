#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Jobs whose logs lie in Loki, and whose metrics in a real Prometheus, are judged as they are from files.
# ctest: threads timeout=600 serial
set -eu
# shellcheck source=tests/loki/lib.sh
. "${SRCDIR:-.}/tests/loki/lib.sh"

for tool in prometheus promtool; do
  command -v "$tool" >/dev/null || { echo "$tool is missing"; exit 77; }
done

# Of each kind of blame some; an argument picks others.
scenarios=${*:-"demo
app-assertion-rank0-others-lose-store
app-gpu-oom-one-rank-of-16
app-hydra-key-misspelt
app-index-error-rank-517-of-1024
app-hub-name-not-resolved-all-ranks
app-java-heap-too-small
app-jax-oom-task2-of-8
app-fortran-segfault-intel-mpi
app-checkpoint-of-another-size
app-errors-after-owner-cancelled
app-bad-argument-beside-foreign-oom
amd-hbm-uncorrectable
amd-program-page-fault
gpu-lost-metric-only
gpu-xid-gauge-stuck-from-before"}

mkdir "$tmp/data"
for name in $scenarios; do
  python3 "$src/tests/loki/from_scenario.py" "$src/tests/scenarios/$name" >"$tmp/data/$name.json"
done
start_loki "$tmp"/data/*.json

set --
for name in $scenarios; do
  [ ! -f "$src/tests/scenarios/$name/metrics.json" ] || set -- "$@" "$src/tests/scenarios/$name"
done
python3 "$src/tests/openmetrics.py" "$tmp/history.om" "$@"
promtool tsdb create-blocks-from openmetrics "$tmp/history.om" "$tmp/tsdb" >"$tmp/promtool.log" 2>&1 ||
  fail "promtool: $(cat "$tmp/promtool.log")"
prometheus=http://127.0.0.1:$(python3 -c \
  'import socket; one = socket.socket(); one.bind(("127.0.0.1", 0)); print(one.getsockname()[1])')
echo '{}' >"$tmp/prometheus.yml"
prometheus --config.file="$tmp/prometheus.yml" --storage.tsdb.path="$tmp/tsdb" --storage.tsdb.retention.time=100y \
  --web.listen-address="${prometheus#http://}" 2>"$tmp/prometheus.log" &
children="$children $!"
count=0
until ask GET "$prometheus/-/ready" >/dev/null 2>&1; do
  count=$((count + 1))
  [ "$count" -lt 300 ] || fail "prometheus: $(cat "$tmp/prometheus.log")"
  sleep 0.1
done

for name in $scenarios; do
  folder=$src/tests/scenarios/$name
  "$obj/nvab-run" --quiet --format json --replay "$folder" >"$tmp/files.json" || fail "$name from files"
  # What is no log comes from where it is.
  set --
  [ ! -f "$folder/metrics.json" ] || set -- "$@" --connector metric promql url "$prometheus" \
    --connector metric promql matchers "scenario=\"$name\""
  [ ! -f "$folder/task_exits.ndjson" ] || set -- "$@" --connector log task_exits paths "$folder/task_exits.ndjson"
  [ ! -d "$folder/flight_recorder" ] || set -- "$@" --connector log flight_recorder paths "$folder/flight_recorder"
  "$obj/nvab-run" --quiet --format json --connector eca static file "$folder/job.json" \
    --connector log loki url "$loki" --connector log loki before 1d --connector log loki page_lines 500 \
    --connector log loki.app source applog --connector log loki.sys source syslog "$@" \
    >"$tmp/loki.json" 2>"$tmp/err" || fail "$name from Loki: $(cat "$tmp/err")"
  python3 - "$tmp" "$name" "$folder" <<'PY' || fail "$name: another verdict than from files"
import json, os, sys
tmp, name, folder = sys.argv[1:]
def judged(path):
    result = json.load(open(path))
    root = result["root_cause"] or {}
    return {"root": [root.get("id"), root.get("rule")], "sub_domain": result["sub_domain"],
            "terminal_state": result["terminal_state"], "culprits": result["culprits"],
            "first_failing_rank": result["first_failing_rank"], "action": result["advice"]["action"],
            "exclude": result["advice"]["exclude_nodes"],
            "drain": [one["node"] for one in result["advice"]["drain"]]}, result["connector_reports"]
(files, _), (loki, reports) = judged(f"{tmp}/files.json"), judged(f"{tmp}/loki.json")
there = {"applog": "applog", "syslog": "syslog", "node_metrics": "metrics.json"}
bad = [r for r in reports if r["connector"].startswith(("log.loki", "metric.promql")) and
       r["status"] != ("ok" if os.path.exists(f"{folder}/{there[r['source']]}") else "no_data")]
for key in files:
    if files[key] != loki[key]: print(f"{name}: {key}: {files[key]} from files, {loki[key]} from Loki")
if bad: print(bad)
sys.exit(files != loki or bool(bad))
PY
done
echo ok

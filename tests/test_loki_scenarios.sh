#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Jobs whose logs lie in Loki are judged as they are from files.
# ctest: threads timeout=600
set -eu
# shellcheck source=tests/loki/lib.sh
. "${SRCDIR:-.}/tests/loki/lib.sh"

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
amd-program-page-fault"}

mkdir "$tmp/data"
for name in $scenarios; do
  python3 "$src/tests/loki/from_scenario.py" "$src/tests/scenarios/$name" >"$tmp/data/$name.json"
done
start_loki "$tmp"/data/*.json

for name in $scenarios; do
  folder=$src/tests/scenarios/$name
  "$obj/nvab-run" --quiet --format json --replay "$folder" >"$tmp/files.json" || fail "$name from files"
  # What is no log comes from where it is.
  set --
  [ ! -f "$folder/metrics.json" ] || set -- "$@" --connector metric file paths "$folder/metrics.json"
  [ ! -f "$folder/task_exits.ndjson" ] || set -- "$@" --connector log task_exits paths "$folder/task_exits.ndjson"
  [ ! -d "$folder/flight_recorder" ] || set -- "$@" --connector log flight_recorder paths "$folder/flight_recorder"
  "$obj/nvab-run" --quiet --format json --connector eca static file "$folder/job.json" \
    --connector log loki url "$loki" --connector log loki before 1d --connector log loki page_lines 500 \
    --connector log loki.app source applog --connector log loki.sys source syslog "$@" \
    >"$tmp/loki.json" 2>"$tmp/err" || fail "$name from Loki: $(cat "$tmp/err")"
  python3 - "$tmp" "$name" <<'PY' || fail "$name: another verdict than from files"
import json, sys
tmp, name = sys.argv[1:]
def judged(path):
    result = json.load(open(path))
    root = result["root_cause"] or {}
    return {"root": [root.get("id"), root.get("rule")], "sub_domain": result["sub_domain"],
            "terminal_state": result["terminal_state"], "culprits": result["culprits"],
            "first_failing_rank": result["first_failing_rank"], "action": result["advice"]["action"],
            "exclude": result["advice"]["exclude_nodes"],
            "drain": [one["node"] for one in result["advice"]["drain"]]}, result["connector_reports"]
(files, _), (loki, reports) = judged(f"{tmp}/files.json"), judged(f"{tmp}/loki.json")
bad = [r for r in reports if r["connector"].startswith("log.loki") and r["status"] != "ok"]
for key in files:
    if files[key] != loki[key]: print(f"{name}: {key}: {files[key]} from files, {loki[key]} from Loki")
if bad: print(bad)
sys.exit(files != loki or bool(bad))
PY
done
echo ok

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What log.loki asks for, whatever jobs and nodes are called, parsed with Grafana's own grammar of LogQL.
# ctest: threads timeout=300
set -eu
# shellcheck source=tests/loki/lib.sh
. "${SRCDIR:-.}/tests/loki/lib.sh"
command -v node >/dev/null || { echo "node is missing (Debian: nodejs)"; exit 77; }
grammars=
for folder in "${GRAMMARS_DIR:-}" "$obj/grammars" "$src/obj/grammars"; do
  [ -d "$folder/node_modules/@grafana/lezer-logql" ] && { grammars=$folder; break; }
done
[ -n "$grammars" ] || { echo "the LogQL grammar is missing; './bootstrap check' installs it"; exit 77; }

echo '[]' >"$tmp/data.json"
start_loki "$tmp/data.json"

run() { # CONNECTOR-ARGUMENT...
  "$obj/nvab-run" --quiet --format json --connector eca static file "$tmp/job.json" \
    --connector log loki url "$loki" "$@" >"$tmp/result.json" 2>"$tmp/err" || fail "nvab-run: $(cat "$tmp/err")"
}

# Names that would break out of a string or an expression if anything did not escape them.
python3 - "$tmp" <<'PY'
import json, sys
names = ['plain', 'a "quoted" name', 'back\\slash', 'back`quote', '"} |= "x', '`} |= `x', '${nodes}', '\\', '"', '`',
         'a|b', '(?i).*', '[a-z]+$', 'tab\tand\nline', 'caf\u00e9 \u4e2d\u6587 \U0001f600', '# no comment', '{{.x}}',
         '\\"', '\x01\x7f', "it's", '\\x41\\u0041\\n', '*', 'x' * 200]
json.dump(names, open(f"{sys.argv[1]}/names.json", "w"))
PY
count=$(python3 -c 'import json, sys; print(len(json.load(open(sys.argv[1]))))' "$tmp/names.json")
: >"$tmp/cases"
i=0
while [ "$i" -lt "$count" ]; do
  python3 - "$tmp" "$i" <<'PY'
import json, sys
tmp, i = sys.argv[1], int(sys.argv[2])
name = json.load(open(f"{tmp}/names.json"))[i]
json.dump({"scheduler": "slurm", "job_id": "77", "name": name, "user": "ada", "state": "FAILED",
           "start_time": "2026-03-01T10:00:00Z", "end_time": "2026-03-01T11:00:00Z", "nodes": ["n1", "n2-a.x"]},
          open(f"{tmp}/job.json", "w"))
PY
  control '{}'
  # shellcheck disable=SC2016 # the program fills them in
  run --connector log loki.a query '{job="${job_name}", user="${user}"}' \
    --connector log loki.b query '{job=~`${job_name}`, host=~"${nodes}"} |= `"x"` |~ "${job_name}"'
  requests >"$tmp/asked.json"
  python3 - "$tmp" "$i" <<'PY' >>"$tmp/cases"
import json, re, sys
tmp, i = sys.argv[1], int(sys.argv[2])
name = json.load(open(f"{tmp}/names.json"))[i]
quoted = re.sub(r"([\\.+*?()|\[\]{}^$])", r"\\\1", name)
first, second = json.load(open(f"{tmp}/asked.json"))
print(json.dumps({"query": first["query"], "matchers": {"job": name, "user": "ada"}, "filters": 0}))
print(json.dumps({"query": second["query"], "matchers": {"job": quoted, "host": r"(?:n1|n2-a\.x)"}, "filters": 2}))
PY
  i=$((i + 1))
done

# The queries that stand in the program, for 512 nodes, and those for more lines of one time than a page holds.
python3 - "$tmp" <<'PY'
import json, sys
job = {"scheduler": "slurm", "job_id": "77_3", "state": "FAILED", "start_time": "2026-03-01T10:00:00Z",
       "end_time": "2026-03-01T11:00:00Z", "nodes": ["node[0001-0512]"]}
json.dump(job, open(f"{sys.argv[1]}/job.json", "w"))
values = [["1772359300000000000", f"line {i * 37 % 101} of \"many\" \\ {i}"] for i in range(60)]
json.dump({"streams": [{"stream": {"host": "node0007"}, "values": values},
                       {"stream": {"slurm_job_id": "77_3"}, "values": values}]}, open(f"{sys.argv[1]}/push.json", "w"))
PY
ask POST "$loki/loki/api/v1/push" "$(cat "$tmp/push.json")"
control '{"max_entries": 7}'
run --connector log loki.app source applog --connector log loki.sys source syslog
requests >"$tmp/asked.json"
python3 - "$tmp" <<'PY' >>"$tmp/cases"
import json, sys
tmp = sys.argv[1]
asked = [one["query"] for one in json.load(open(f"{tmp}/asked.json"))]
nodes = [f"node{n:04}" for n in range(1, 513)]
seen, deepest = set(), 0
for query in dict.fromkeys(asked):
    filters = query.count(' |~ "') + query.count(' !~ "')
    deepest = max(deepest, filters)
    if query.startswith("{slurm_job_id"):
        matchers = {"slurm_job_id": "77_3"}
    else:
        part = [n for n in nodes if n in query]
        seen.update(part)
        assert len(part) <= 64, len(part)
        matchers = {"host": "((?:" + "|".join(part) + "))([.].*)?"}
    print(json.dumps({"query": query, "matchers": matchers, "filters": filters}))
assert seen == set(nodes), "not all nodes were asked for"
assert deepest >= 3, f"no moment was split: {deepest}"
result = json.load(open(f"{tmp}/result.json"))
for report in result["connector_reports"]:
    assert report["status"] == "ok" and report["details"]["lines"] == 60, report
PY

# Kueue.
cat >"$tmp/job.json" <<'JSON'
{"scheduler": "kueue", "job_id": "team-a/train", "state": "FAILED", "start_time": "2026-03-01T10:00:00Z",
 "end_time": "2026-03-01T11:00:00Z", "nodes": ["n1"], "steps": [{"id": "train-0"}, {"id": "train-1"}]}
JSON
control '{}'
run --connector log loki.app source applog
requests >"$tmp/asked.json"
python3 - "$tmp" <<'PY' >>"$tmp/cases"
import json, sys
query = json.load(open(f"{sys.argv[1]}/asked.json"))[0]["query"]
print(json.dumps({"query": query, "matchers": {"namespace": "team-a", "pod": "(?:train-0|train-1)"}, "filters": 0}))
PY

python3 -c 'import json, sys; json.dump([json.loads(line) for line in sys.stdin], sys.stdout)' <"$tmp/cases" >"$tmp/cases.json"
node "$src/tests/loki/grammar.mjs" "$grammars" <"$tmp/cases.json" || fail "the grammar refuses them"

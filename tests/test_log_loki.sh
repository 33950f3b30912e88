#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# log.loki against a stand-in that keeps to Loki's API: every line once, whatever the limits, and every
# fault as a report of this connector alone.
# ctest: threads timeout=300
set -eu
# shellcheck source=tests/loki/lib.sh
. "${SRCDIR:-.}/tests/loki/lib.sh"

# A job on four nodes for an hour; lines of programs, and of nodes, many of them at one time.
python3 - "$tmp" <<'PY'
import json, sys
start = 1772359200  # 2026-03-01T10:00:00Z
job = {"scheduler": "slurm", "cluster": "c1", "job_id": "1234", "name": "a \"quoted\" `name` {with} \\ all|.*",
       "user": "ada", "state": "FAILED", "exit_code": "1:0", "submit_time": "2026-03-01T09:59:00Z",
       "start_time": "2026-03-01T10:00:00Z", "end_time": "2026-03-01T11:00:00Z",
       "nodes": ["n1", "n2", "n3", "n4"], "ntasks": 4}
json.dump(job, open(f"{sys.argv[1]}/job.json", "w"))
def ns(seconds, more=0): return str((start + seconds) * 10**9 + more)
app = [[ns(i // 3, (i // 9) * 1000), f"step {i}: loss {i / 7:.3f}"] for i in range(2000)]
app.append([ns(3500), "RuntimeError: CUDA error: an illegal memory access was encountered"])
streams = [{"stream": {"slurm_job_id": "1234", "name": job["name"]}, "values": app},
           {"stream": {"slurm_job_id": "999"}, "values": [[ns(10), "of another job"]]}]
for node in job["nodes"]:
    lines = [[ns(i * 2), f"systemd[1]: Started session {i} of {node}."] for i in range(300)]
    lines += [[ns(1800), f"kernel: burst {i:04d} on {node}: line \u00e9\u4e2d {i * i % 97}"] for i in range(400)]
    streams.append({"stream": {"host": node + ".cluster.local", "job": "syslog"}, "values": lines})
streams.append({"stream": {"host": "n10", "job": "syslog"}, "values": [[ns(5), "of another node"]]})
json.dump(streams, open(f"{sys.argv[1]}/data.json", "w"))
PY
start_loki "$tmp/data.json"

run() { # CONNECTOR-ARGUMENTS...: judges the job into $tmp/result.json, its lines into $tmp/bundle
  rm -rf "$tmp/bundle"
  "$obj/nvab-run" --quiet --format json --save-bundle "$tmp/bundle" --lines all \
    --connector eca static file "$tmp/job.json" --connector log loki url "$loki" "$@" \
    >"$tmp/result.json" 2>"$tmp/err" || fail "nvab-run: $(cat "$tmp/err")"
}

check() { # WHAT PYTHON-EXPRESSION over report, lines (list of saved lines), asked (list of requests)
  requests >"$tmp/asked.json"
  python3 - "$tmp" "$1" "$2" <<'PY' || fail "$1"
import collections, glob, json, os, re, sys
tmp, what, expression = sys.argv[1:]
result = json.load(open(f"{tmp}/result.json"))
reports = {r["connector"]: r for r in result["connector_reports"]}
report = next(r for name, r in reports.items() if name.startswith("log.loki"))
lines = []
for path in glob.glob(f"{tmp}/bundle/*log/**", recursive=True):
    if os.path.isfile(path):
        lines += open(path, encoding="utf-8").read().splitlines()
asked = json.load(open(f"{tmp}/asked.json"))
details = report.get("details") or {}
def has(text): return sum(text in line for line in lines)
steps = collections.Counter(re.findall(r"step (\d+): ", "\n".join(lines)))
every_step_once = len(steps) == 2000 and set(steps.values()) == {1}
bursts = collections.Counter(re.findall(r"burst (\d+ on n\d): ", "\n".join(lines)))
every_burst_once = len(bursts) == 1600 and set(bursts.values()) == {1}
if not eval(expression):
    print(f"{what}: not {expression}\n{json.dumps(report, indent=1)}\n{len(lines)} lines: {lines[:3]}")
    sys.exit(1)
PY
}

app() { run --connector log loki.app source applog "$@"; }
sys() { run --connector log loki.sys source syslog "$@"; }

# ---- all lines, each once ----
control '{}'
app
check "the job's lines and no others" 'report["status"] == "ok" and details["lines"] == 2001 and has("another") == 0'
check "each line once" 'every_step_once'
check "one page is enough" 'details["pages"] == 1 and len(asked) == 1'
check "the report says what was asked" \
  'details["query"] == "{slurm_job_id=~\"1234\"}" and details["start"] == "2026-03-01T09:55:00Z" and details["bytes"] > 40000'
check "streams are named apart from single lines' metadata" \
  'asked[0]["headers"]["X-Loki-Response-Encoding-Flags"] == "categorize-labels"'
check "answers may be packed" '"gzip" in asked[0]["headers"]["Accept-Encoding"]'
check "forward" 'asked[0]["parameters"]["direction"] == "forward"'

control '{}'
app --connector log loki.app page_lines 7
check "pages of 7 lines, nine of which have one time" 'details["lines"] == 2001 and every_step_once'
check "borders were met" 'details["pages"] > 200'

control '{"max_entries": 10}'
app
check "the server's limit is taken over" 'report["status"] == "ok" and details["lines"] == 2001 and every_step_once'

control '{}'
sys
check "lines of the nodes" 'report["status"] == "ok" and details["lines"] == 2800 and has("another") == 0 and details["streams"] == 4'
check "400 lines of one time on each of four nodes" 'every_burst_once'
control '{"max_entries": 100}'
sys
check "1600 lines of one time, 100 at once" \
  'report["status"] == "ok" and details["lines"] == 2800 and every_burst_once'

# ---- queries and windows that are too long ----
control '{"max_matchers_length": 30}'
sys
check "split by nodes" 'report["status"] == "ok" and details["lines"] == 2800 and details["queries"] == 3'
control '{}'
sys --connector log loki.sys nodes_at_once 1
check "asked node by node" 'report["status"] == "ok" and details["lines"] == 2800 and details["queries"] == 4'
control '{"max_hours": 0.1}'
app
check "cut by time where the range is too long" 'report["status"] == "ok" and details["lines"] == 2001 and details["windows_cut"] > 2'
control '{"max_lines_read": 500}'
app
check "cut by time where it is too much" 'report["status"] == "ok" and details["lines"] == 2001 and every_step_once'

# ---- answers that break off, and busy servers ----
control '{"cut_after": [20000, 50000]}'
app
check "an answer that broke off is taken up again" 'report["status"] == "ok" and details["lines"] == 2001 and every_step_once'
control '{"statuses": [[429, "too many outstanding requests\n", {"Retry-After": "1"}], [503, "starting\n"]]}'
app
check "a busy server is asked again" 'report["status"] == "ok" and details["lines"] == 2001 and details["retries"] == 2 and report["seconds"] > 1'

# ---- tenants and names ----
control '{"tenant": "hpc|ai"}'
app --connector log loki.app tenant 'hpc|ai'
check "the tenant goes along" 'report["status"] == "ok" and asked[0]["headers"]["X-Scope-OrgID"] == "hpc|ai"'
app
check "without the tenant it is denied" 'report["status"] == "denied" and "tenant" in report["reason"]'
control '{}'
# shellcheck disable=SC2016 # the program fills them in
app --connector log loki.app query '{slurm_job_id="${job_id}", name="${job_name}"} |= "step"'
check "a job's name is only ever a value" 'report["status"] == "ok" and details["lines"] == 2000'
# shellcheck disable=SC2016
app --connector log loki.app query '{slurm_job_id="${job_id}", name=~`${job_name}`}'
check "also in a regular expression" 'report["status"] == "ok" and details["lines"] == 2001'

# ---- faults: each costs this report, and the run goes on ----
faulty() { # WHAT CONTROL STATUS WORDS [ARGUMENT...]
  what=$1 rules=$2 wanted=$3 words=$4
  shift 4
  control "$rules"
  app "$@"
  check "$what" "report['status'] == '$wanted' and '''$words''' in report['reason'] and result['evidence_status'] != 'complete'"
}
faulty "denied" '{"statuses": [[403, "forbidden\n"]]}' denied "HTTP 403: forbidden"
faulty "a page for people" '{"body": "<html>Sign in</html>", "content_type": "text/html"}' error "text/html"
faulty "JSON of something else" '{"body": "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[]}}"}' error "metric query"
faulty "JSON that is none" '{"body": "{\"status\":\"success\",\"data\":{\"resultType\":\"streams\",\"result\":[{"}' error "not one of Loki"
faulty "an empty answer" '{"statuses": [[200, ""]]}' error "empty"
faulty "an error that stays" '{"statuses": [[500, "boom\n"]]}' error "HTTP 500: boom"
faulty "a server that stays away" '{"statuses": [[502, ""], [502, ""]]}' unavailable "HTTP 502" --connector log loki.app attempts 2
faulty "too busy for our time" '{"statuses": [[429, "", {"Retry-After": "3600"}]]}' unavailable "HTTP 429"
faulty "not all of it" '{"warnings": ["shard 3 did not answer"]}' error "shard 3"
faulty "newest first" '{"ignores_direction": true}' error "ascending"
faulty "older than it keeps" '{"statuses": [[400, "this data is no longer available, it is past now - max_query_lookback (168h)\n"]]}' unavailable "no longer available"
control '{"delay": 3}'
app --connector log loki.app request_timeout 500ms
check "slow" 'report["status"] == "timed_out" and report["seconds"] < 100'
control '{}'
app --connector log loki.app query '{slurm_job_id="none"}'
check "nothing there" 'report["status"] == "no_data" and result["evidence_status"] == "insufficient"'
# shellcheck disable=SC2016
app --connector log loki.app query '{ns="${namespace}"}'
check "what the job has not" 'report["status"] == "no_data" and "namespace" in report["reason"]'
kill "$loki_pid"
wait "$loki_pid" 2>/dev/null || true
rm -rf "$tmp/bundle"
"$obj/nvab-run" --quiet --format json --connector eca static file "$tmp/job.json" --connector log loki url "$loki" \
  --connector log loki attempts 2 >"$tmp/result.json" 2>/dev/null || fail "a server that is down ends the run"
python3 -c '
import json, sys
result = json.load(open(sys.argv[1]))
report = result["connector_reports"][0]
assert report["status"] == "unavailable" and "connect" in report["reason"].lower(), report
assert result["evidence_status"] == "insufficient", result["evidence_status"]' "$tmp/result.json" || fail "down"

# ---- many runners at once: no more than two requests at a time ----
start_loki "$tmp/data.json"
control '{"delay": 0.2}'
runners=
for _ in 1 2 3 4 5 6; do
  "$obj/nvab-run" --quiet --format json --connector eca static file "$tmp/job.json" --connector log loki url "$loki" \
    --connector log loki max_concurrent 2 >/dev/null 2>&1 &
  runners="$runners $!"
done
for runner in $runners; do wait "$runner" || fail "a runner that had to wait"; done
ask GET "$loki/busiest" >"$tmp/busiest"
[ "$(cat "$tmp/busiest")" = 2 ] || fail "$(cat "$tmp/busiest") requests at once, not 2"

# ---- --doctor says what is wrong, and what to do ----
doctor() { # WORDS ARGUMENT...
  words=$1
  shift
  "$obj/nvab-run" --doctor --connector log loki url "$loki" --connector log loki attempts 1 "$@" >"$tmp/doctor" 2>&1 || true
  grep -A1 'log.loki' "$tmp/doctor" | tr '\n' ' ' | grep -q "$words" || fail "no '$words': $(cat "$tmp/doctor")"
}
control '{"tenant": "hpc"}'
doctor 'ok .*labels' --connector log loki tenant hpc
doctor 'fault .*no org id.*tenant'
control '{}'
doctor 'fault .*HTTP 404.*check url' --connector log loki url "$loki/elsewhere"
kill "$loki_pid"
wait "$loki_pid" 2>/dev/null || true
doctor 'fault .*onnect.*network'

# ---- settings that are wrong end the run before it begins ----
refused() { # WORDS ARGUMENT...
  words=$1
  shift
  if "$obj/nvab-run" --quiet --connector eca static file "$tmp/job.json" "$@" >/dev/null 2>"$tmp/err"; then
    fail "taken: $*"
  fi
  grep -qF "$words" "$tmp/err" || fail "$*: $(cat "$tmp/err")"
}
refused "has no url" --connector log loki source applog
# shellcheck disable=SC2016
refused "is a list" --connector log loki url http://h --connector log loki query '{a="${nodes}"}'
refused "has no end" --connector log loki url http://h --connector log loki query '{a="'
echo ok

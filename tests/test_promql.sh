#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# metric.promql against a real Prometheus: the metrics of every scenario as history in it give the verdicts
# that the files give; a live node exporter with a DCGM series as text file; limits.
# ctest: timeout=600 serial
set -eu
src=$(cd "${SRCDIR:-.}" && pwd)
obj=$(cd "${BUILDDIR:-.}" && pwd)/obj
for tool in prometheus promtool prometheus-node-exporter python3 curl; do
  command -v "$tool" >/dev/null || { echo "$tool is missing"; exit 77; }
done
tmp=$(mktemp -d)
pids=
cleanup() {
  for pid in $pids; do kill "$pid" 2>/dev/null || true; done
  for pid in $pids; do wait "$pid" 2>/dev/null || true; done
  rm -rf "$tmp"
}
trap cleanup EXIT
cd "$tmp"

fail() {
  echo "FAIL: $*"
  tail -n 5 "$tmp"/*.log 2>/dev/null || true
  exit 1
}

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

wait_for() { # URL
  count=0
  until curl -sf "$1" >/dev/null 2>&1; do
    count=$((count + 1))
    [ $count -lt 300 ] || fail "$1 does not answer"
    sleep 0.1
  done
}

set --
scenarios=
for metrics in "$src"/tests/scenarios/*/metrics.json; do
  set -- "$@" "${metrics%/metrics.json}"
  scenarios="$scenarios $(basename "${metrics%/metrics.json}")"
done
[ $# -ge 5 ] || fail "there are no scenarios with metrics"
python3 "$src/tests/openmetrics.py" history.om "$@"
promtool tsdb create-blocks-from openmetrics history.om data >promtool.log 2>&1 || fail "promtool"

exporter=$(free_port)
port=$(free_port)
url=http://127.0.0.1:$port
mkdir textfile
dcgm() { # XID
  printf '%s\n' '# TYPE DCGM_FI_DEV_XID_ERRORS gauge' \
    "DCGM_FI_DEV_XID_ERRORS{gpu=\"0\",UUID=\"GPU-0\",device=\"nvidia0\",Hostname=\"live1\",pci_bus_id=\"00000000:01:00.0\"} 79" \
    "DCGM_FI_DEV_XID_ERRORS{gpu=\"3\",UUID=\"GPU-3\",device=\"nvidia3\",Hostname=\"live1\",pci_bus_id=\"00000000:61:00.0\"} $1" \
    >textfile/dcgm.tmp
  mv textfile/dcgm.tmp textfile/dcgm.prom
}
dcgm 0
prometheus-node-exporter --web.listen-address="127.0.0.1:$exporter" --collector.textfile.directory=textfile \
  >exporter.log 2>&1 &
pids="$pids $!"
cat >prometheus.yml <<END
global: {scrape_interval: 1s}
scrape_configs:
- job_name: node
  static_configs: [{targets: ['127.0.0.1:$exporter']}]
  relabel_configs: [{target_label: instance, replacement: 'live1.site.org:9100'}]
END
prometheus --config.file=prometheus.yml --storage.tsdb.path=data --storage.tsdb.retention.time=100y \
  --web.listen-address="127.0.0.1:$port" >prometheus.log 2>&1 &
pids="$pids $!"
wait_for "$url/-/ready"
wait_for "http://127.0.0.1:$exporter/metrics"
live_from=$(date -u -d '-30 seconds' +%Y-%m-%dT%H:%M:%SZ)

# ---- history: the verdict is that of the files ---------------------------------------------------
# What a consumer acts on. Times may be later by a step, and citations name another source.
core='import json, sys
r = json.loads(sys.stdin.readline())
print(json.dumps([r["terminal_state"], r["sub_domain"], (r["root_cause"] or {}).get("id"),
                  (r["root_cause"] or {}).get("rule"), r["culprits"], r["first_failing_rank"], r["advice"]["action"],
                  r["advice"]["exclude_nodes"], [d["node"] for d in r["advice"]["drain"]]], sort_keys=True))'
for scenario in $scenarios; do
  folder=$src/tests/scenarios/$scenario
  "$obj/nvab-run" --replay "$folder" --format json --quiet >files.json || fail "$scenario from files"
  {
    printf '[eca.static]\nfile = "%s/job.json"\n' "$folder"
    [ ! -d "$folder/applog" ] || printf '[log.file.app]\nsource = "applog"\npaths = ["%s/applog"]\n' "$folder"
    [ ! -d "$folder/syslog" ] || printf '[log.file.sys]\nsource = "syslog"\npaths = ["%s/syslog"]\n' "$folder"
    [ ! -f "$folder/task_exits.ndjson" ] ||
      printf '[log.task_exits]\npaths = ["%s/task_exits.ndjson"]\n' "$folder"
    printf '[metric.promql]\nurl = "%s"\nmatchers = '"'"'scenario="%s"'"'"'\n' "$url" "$scenario"
  } >run.toml
  "$obj/nvab-run" --config run.toml --format json --quiet >server.json || fail "$scenario from Prometheus"
  python3 -c "$core" <files.json >want
  python3 -c "$core" <server.json >got
  cmp -s want got || fail "$scenario: $(cat got) instead of $(cat want)"
  grep -q '"connector":"metric.promql","source":"node_metrics","status":"ok"' server.json ||
    fail "$scenario: $(grep -o '"connector":"metric.promql"[^}]*' server.json)"
  # Everything, as a service with other rules wants it, says the same.
  "$obj/nvab-run" --config run.toml --format json --quiet --save-bundle "bundle-$scenario" --lines all >all.json
  python3 -c "$core" <all.json >got
  cmp -s want got || fail "$scenario with all points: $(cat got) instead of $(cat want)"
  "$obj/nvab-run" --replay "bundle-$scenario" --format json --quiet >again.json
  python3 -c "$core" <again.json >got
  cmp -s want got || fail "$scenario from its saved bundle: $(cat got) instead of $(cat want)"
done

# ---- live: a gauge that changes while the job runs, and one that stuck before ----------------------
live() { # JOB START END
  cat >live.toml <<END
[eca.static]
job_id = "$1"
state = "FAILED"
exit_code = "1:0"
nodes = "live1"
start_time = "$2"
end_time = "$3"
[metric.promql]
url = "$url"
step = "1s"
END
}
now() { date -u +%Y-%m-%dT%H:%M:%SZ; }
count=0
until curl -sfG "$url/api/v1/query" --data-urlencode 'query=DCGM_FI_DEV_XID_ERRORS{gpu="3"} == 0' | grep -q '"Hostname":"live1"'; do
  count=$((count + 1))
  [ $count -lt 100 ] || fail "the text file is not scraped"
  sleep 0.2
done
sleep 1.1
dcgm 79
until curl -sfG "$url/api/v1/query" --data-urlencode 'query=DCGM_FI_DEV_XID_ERRORS{gpu="3"} == 79' | grep -q '"Hostname":"live1"'; do
  count=$((count + 1))
  [ $count -lt 200 ] || fail "the change is not scraped"
  sleep 0.2
done
changed=$(now)
live 1 "$live_from" "$changed"
"$obj/nvab-run" --config live.toml --format json --quiet >live.json
grep -q '"root_cause":{"id":"xid_79_fell_off_bus"' live.json || fail "the live Xid was not found: $(cat live.json)"
grep -q '"gpus":\[{"node":"live1","index":3,' live.json || fail "it is not GPU 3: $(grep -o '"culprits":.*"first' live.json)"
# A job that began when the gauge stood there already; GPU 0 shows 79 since ever.
sleep 2.1
live 2 "$(now)" "$(date -u -d '+3 seconds' +%Y-%m-%dT%H:%M:%SZ)"
sleep 3
"$obj/nvab-run" --config live.toml --format json --quiet >stuck.json
if grep -q 'xid_79' stuck.json; then fail "a gauge that stuck before the job was blamed: $(cat stuck.json)"; fi

# ---- limits: the server's own word about points; queries in a list ----------------------------------
live 3 "$(date -u -d '-6 hours' +%Y-%m-%dT%H:%M:%SZ)" "$changed"
printf 'max_points = 30000\nqueries = ["dcgm"]\n' >>live.toml
"$obj/nvab-run" --config live.toml --format json --quiet >limit.json
grep -q '"id":"xid_79_fell_off_bus"' limit.json || fail "over the limit of points: $(cat limit.json)"
if grep -q 'node_boot_time' limit.json; then fail "asked for more than dcgm"; fi
live 4 "$live_from" "$changed"
printf 'extra = ["nonsense((("]\n' >>live.toml
code=0
"$obj/nvab-run" --config live.toml --format json --quiet >bad.out 2>&1 || code=$?
[ $code = 3 ] || fail "a query without nodes was taken"
live 5 "$live_from" "$changed"
# shellcheck disable=SC2016 # the placeholder is nvab-run's
printf '%s\n' 'extra = ["sum(rate(node_cpu_seconds_total{instance=~\"${nodes}.*\"}[1m]) by"]' >>live.toml
"$obj/nvab-run" --config live.toml --format json --quiet >parse.json
grep -q '"id":"xid_79_fell_off_bus"' parse.json || fail "one bad query cost the others"
grep -q '"status":"error","reason":".*parse error' parse.json || fail "a bad query is not reported: $(cat parse.json)"

# ---- who is not known ---------------------------------------------------------------------------------
live 6 "$live_from" "$changed"
sed -i 's/nodes = .*/nodes = "dark[1-3]"/' live.toml
"$obj/nvab-run" --config live.toml --format json --quiet >dark.json
grep -q '"status":"no_data"' dark.json || fail "nodes that nobody scrapes: $(cat dark.json)"
grep -q '"nodes_without_metrics":3' dark.json || fail "who has no metrics is not said"

# ---- the doctor ----------------------------------------------------------------------------------------------
live 7 "$live_from" "$changed"
"$obj/nvab-run" --doctor --config live.toml >doctor.txt || fail "the doctor: $(cat doctor.txt)"
grep -q '^ok .*metric.promql .*clock of the metrics server' doctor.txt || fail "$(cat doctor.txt)"
grep -q '^ok .*metric.promql .*metrics of the node exporter: 1 series' doctor.txt || fail "$(cat doctor.txt)"

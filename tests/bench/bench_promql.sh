#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 512 nodes with 8 GPUs, one hour, a point every 15 s, in a real Prometheus: how long nvab-run takes to fetch
# and judge them, how much of it is the server's, and its memory; beside it one node, for the ratio. NODES=64
# makes it smaller.
set -eu
obj=${BUILDDIR:-.}/obj
nodes=${NODES:-512}
for tool in prometheus promtool python3 curl; do
  command -v "$tool" >/dev/null || { echo "$tool is missing"; exit 77; }
done
tmp=$(mktemp -d "${TMPDIR:-/tmp}/nvab-bench-XXXXXX")
server=
cleanup() {
  [ -z "$server" ] || kill "$server" 2>/dev/null || true
  [ -z "$server" ] || wait "$server" 2>/dev/null || true
  rm -rf "$tmp"
}
trap cleanup EXIT

# Counters that stand still, noisy gauges below their limits, and on one GPU a fault.
cat >"$tmp/make.py" <<'END'
import random, sys
nodes, out = int(sys.argv[1]), open(sys.argv[2], "w")
random.seed(1)
start, points = 1767225600, 241
gpu_metrics = {"DCGM_FI_DEV_XID_ERRORS": lambda i, j: 0, "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL": lambda i, j: 0,
               "DCGM_FI_DEV_PCIE_REPLAY_COUNTER": lambda i, j: 3,
               "DCGM_FI_DEV_GPU_TEMP": lambda i, j: 55 + random.randrange(15),
               "DCGM_FI_DEV_POWER_VIOLATION": lambda i, j: 1000 * j if i % 16 == 0 else 0}
node_metrics = {"node_boot_time_seconds": lambda i, j: 1767000000,
                "node_memory_MemAvailable_bytes": lambda i, j: 4e11 + random.randrange(10**9),
                "node_network_carrier_changes_total": lambda i, j: 2, "node_vmstat_oom_kill": lambda i, j: 0}
count = 0
def series(name, labels, value, i):
    global count
    for j in range(points):
        shown = 79 if name.endswith("XID_ERRORS") and i == nodes // 3 and 'gpu="5"' in labels and j > 200 else value(i, j)
        out.write(f"{name}{{{labels}}} {shown} {start + 15 * j}\n")
        count += 1
for name, value in gpu_metrics.items():
    out.write(f"# TYPE {name} unknown\n")
    for i in range(nodes):
        for gpu in range(8):
            series(name, f'Hostname="node{i:04}",UUID="GPU-{i}-{gpu}",device="nvidia{gpu}",gpu="{gpu}",modelName="NVIDIA H100",'
                         f'pci_bus_id="00000000:{gpu + 1:02X}:00.0"', value, i)
for name, value in node_metrics.items():
    out.write(f"# TYPE {name} unknown\n")
    for i in range(nodes):
        series(name, f'instance="node{i:04}.hpc.example.org:9100",job="node"', value, i)
out.write("# EOF\n")
print(count)
END
samples=$(python3 "$tmp/make.py" "$nodes" "$tmp/history.om")
promtool tsdb create-blocks-from openmetrics "$tmp/history.om" "$tmp/data" >/dev/null
rm "$tmp/history.om"
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
echo '{}' >"$tmp/prometheus.yml"
prometheus --config.file="$tmp/prometheus.yml" --storage.tsdb.path="$tmp/data" --storage.tsdb.retention.time=100y \
  --web.listen-address="127.0.0.1:$port" >"$tmp/log" 2>&1 &
server=$!
until curl -sf "http://127.0.0.1:$port/-/ready" >/dev/null 2>&1; do sleep 0.2; done

cat >"$tmp/measure.py" <<'END'
import json, resource, subprocess, sys, time
name, command = sys.argv[1], sys.argv[2:]
begin = time.monotonic()
out = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
wall = time.monotonic() - begin
used = resource.getrusage(resource.RUSAGE_CHILDREN)
result = json.loads(out)
report = result["connector_reports"][0]
details = report["details"]
print(f"{name}: {wall:.1f} s, of it nvab-run's processor {used.ru_utime + used.ru_stime:.2f} s, "
      f"largest memory {used.ru_maxrss / 1024:.0f} MB; {details['requests']} requests, {details['bytes'] / 1e6:.1f} MB, "
      f"{details['series']} series, {details['samples']} points kept; {report['status']}: "
      f"{(result['root_cause'] or {}).get('id')} on {result['culprits']['nodes']}")
END
measure() { # NAME NODES OPTION...
  name=$1
  cat >"$tmp/run.toml" <<END
[eca.static]
job_id = "1"
state = "FAILED"
exit_code = "1:0"
nodes = "$2"
start_time = "2026-01-01T00:00:00Z"
end_time = "2026-01-01T01:00:00Z"
[metric.promql]
url = "http://127.0.0.1:$port"
END
  shift 2
  python3 "$tmp/measure.py" "$name" "$obj/nvab-run" --config "$tmp/run.toml" --format json --quiet "$@"
}
last=$(printf '%04d' $((nodes - 1)))
echo "$samples samples of $nodes nodes"
measure "$nodes nodes" "node[0000-$last]"
measure "1 node" "node$(printf '%04d' $((nodes / 3)))"

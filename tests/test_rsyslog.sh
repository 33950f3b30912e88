#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A site's syslog server: a real rsyslogd takes what nodes send (RFC 3164 and 5424, TCP and UDP) into a tree
# by host and date, and log.file finds in it what is the job's.
# ctest: timeout=120
set -eu
obj=${BUILDDIR:-.}/obj
for tool in rsyslogd logger python3; do
  command -v "$tool" >/dev/null || { echo "$tool is missing"; exit 77; }
done
tmp=$(mktemp -d)
server=
cleanup() {
  [ -z "$server" ] || kill "$server" 2>/dev/null || true
  rm -rf "$tmp"
}
trap cleanup EXIT

fail() {
  echo "FAIL: $*"
  find "$tmp/remote" -type f -exec head -v {} + 2>/dev/null || true
  cat "$tmp/out" "$tmp/server.log" 2>/dev/null || true
  exit 1
}

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
cat >"$tmp/rsyslog.conf" <<END
global(workDirectory="$tmp" parser.permitSlashInProgramName="off")
module(load="imudp")
module(load="imtcp")
input(type="imudp" address="127.0.0.1" port="$port" ruleset="remote")
input(type="imtcp" address="127.0.0.1" port="$port" ruleset="remote")
template(name="tree" type="string" string="$tmp/remote/%HOSTNAME:::secpath-replace%/%\$YEAR%-%\$MONTH%-%\$DAY%.log")
ruleset(name="remote") { action(type="omfile" dynaFile="tree" template="RSYSLOG_FileFormat" flushInterval="1") }
END
rsyslogd -n -f "$tmp/rsyslog.conf" -i "$tmp/pid" >"$tmp/server.log" 2>&1 &
server=$!

# What nodes send: each with its own name, in its own form.
cat >"$tmp/send.py" <<'END'
import datetime, socket, sys, time
port = int(sys.argv[1])
now = datetime.datetime.now(datetime.timezone.utc)
old = now.astimezone().strftime("%b %e %H:%M:%S")
new = now.isoformat(timespec="milliseconds")
for _ in range(100):
    try:
        tcp = socket.create_connection(("127.0.0.1", port), 1)
        break
    except OSError:
        time.sleep(0.1)
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
def send_udp(line): udp.sendto(line.encode(), ("127.0.0.1", port))
def send_tcp(line): tcp.sendall(line.encode() + b"\n")
def counted(line): tcp.sendall(b"%d %s" % (len(line.encode()), line.encode()))
send_udp(f"<3>{old} n1 kernel: NVRM: Xid (PCI:0000:61:00): 79, pid=1, GPU has fallen off the bus. 3164-udp")
send_tcp(f"<30>{old} n1 slurmd[77]: launch task StepId=1234.0 request from UID:1000 3164-tcp")
send_tcp(f"<3>1 {new} n2.example.org kernel - - - Out of memory: Killed process 4242 (python) total-vm:1kB 5424-tcp")
send_udp(f"<30>1 {new} n2.example.org slurmd 77 - [x@1 y=\"z\"] error: 5424-udp")
counted(f"<3>1 {new} n2.example.org kernel - - - Out of memory: Killed process 4243 (python) total-vm:1kB 5424-counted")
send_udp(f"<3>{old} n9 kernel: NVRM: Xid (PCI:0000:11:00): 79, pid=1, of another host")
send_udp(f"<3>{old} ../n1 kernel: NVRM: Xid (PCI:0000:12:00): 79, pid=1, of no host")
tcp.close()
END
python3 "$tmp/send.py" "$port"
logger -n 127.0.0.1 -P "$port" -d --rfc3164 -t probe "by logger 3164-udp"
logger -n 127.0.0.1 -P "$port" -T --rfc5424=notime -t probe "by logger 5424-tcp"

count=0
until [ "$(cat "$tmp"/remote/*/*.log 2>/dev/null | grep -cE '3164-udp|3164-tcp|5424-tcp|5424-udp|5424-counted')" -ge 7 ]; do
  count=$((count + 1))
  [ $count -lt 100 ] || fail "rsyslogd did not write what it was sent"
  sleep 0.1
done

start=$(date -u -d '-10 minutes' +%Y-%m-%dT%H:%M:%SZ)
end=$(date -u -d '+1 minute' +%Y-%m-%dT%H:%M:%SZ)
cat >"$tmp/run.toml" <<END
[eca.static]
job_id = "1234"
state = "FAILED"
exit_code = "1:0"
nodes = "n1,n2,n3"
start_time = "$start"
end_time = "$end"
[log.file.sys]
source = "syslog"
paths = ["$tmp/remote/%HOSTNAME%/%\$YEAR%-%\$MONTH%-%\$DAY%.log"]
END
"$obj/nvab-run" --config "$tmp/run.toml" --format json --save-bundle "$tmp/bundle" --lines all >"$tmp/out" 2>&1 ||
  fail "nvab-run failed"
grep -q '"root_cause":{"id":"xid_79_fell_off_bus"' "$tmp/out" || fail "the lost GPU was not found"
grep -q '"culprits":{"nodes":\["n1"\]' "$tmp/out" || fail "it is not n1's"
python3 - "$tmp/out" "$tmp/bundle" <<'END' || fail "not the right files"
import glob, json, sys
report = next(r for r in json.loads(open(sys.argv[1]).readline())["connector_reports"] if r["connector"] == "log.file.sys")
assert report["status"] == "ok", report
assert report["details"]["files"] == 2, report
assert report["details"]["nodes_without_files"] == 1, report
text = "".join(open(f).read() for f in glob.glob(sys.argv[2] + "/syslog/**", recursive=True) if not f.endswith("/") and __import__("os").path.isfile(f))
for wanted in "3164-udp", "3164-tcp", "5424-tcp", "5424-udp", "5424-counted":
    assert wanted in text, wanted
for other in "of another host", "of no host":
    assert other not in text, other
END

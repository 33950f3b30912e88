#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# nvab-run --doctor where everything is well, and where single things are not: what it says and how it exits.
# Slurm's programs are stand-ins here; the real ones are in tests/slurm.
# ctest: timeout=300
set -eu
src=$(cd "${SRCDIR:-.}" && pwd)
obj=$(cd "${BUILDDIR:-.}" && pwd)/obj
command -v python3 >/dev/null || { echo "python3 is missing"; exit 77; }
tmp=$(mktemp -d)
server=
cleanup() {
  [ -z "$server" ] || kill "$server" 2>/dev/null || true
  rm -rf "$tmp"
}
trap cleanup EXIT
cd "$tmp"

fail() {
  echo "FAIL: $*"
  cat said 2>/dev/null || true
  exit 1
}

mkdir bin queue tasks logs plugins
cp "$obj/attribution.so" plugins/
cat >bin/sacct <<'END'
#!/bin/sh
printf '1234\n1235\n'
END
slurm() { # VERSION PRIVATE-DATA ACCOUNTING CLOCK
  cat >bin/scontrol <<END
#!/bin/sh
echo "Configuration data as of \$(date -u $4 +%Y-%m-%dT%H:%M:%S)"
echo "AccountingStorageType   = accounting_storage/$3"
echo "EpilogSlurmctld         = /usr/libexec/nvab/nvab-epilogctld"
echo "PlugStackConfig         = $tmp/plugstack.conf"
echo "PluginDir               = $tmp/plugins"
echo "PrivateData             = $2"
echo "SlurmUser               = slurm(64030)"
echo "SLURM_VERSION           = $1"
END
  chmod +x bin/*
}
# The version that the plugin was built for is that of the headers here.
version=$(python3 - <<'END'
import re
text = open("/usr/include/slurm/slurm_version.h").read() if __import__("os").path.exists("/usr/include/slurm/slurm_version.h") else ""
number = re.search(r"SLURM_VERSION_NUMBER\s+(0x[0-9a-f]+)", text)
n = int(number.group(1), 16) if number else 0x160508
print("%d.%02d.%d" % (n >> 16, n >> 8 & 255, n & 255))
END
)
echo 'optional attribution.so' >plugstack.conf
echo 'line' >logs/n1.log
mkfifo fifo
python3 "$src/tests/promql_server.py" requests >fifo &
server=$!
read -r port <fifo
PATH=$tmp/bin:$PATH

settings() { # PROMQL-PATH [FURTHER]
  cat >run.toml <<END
[run]
spool = "$tmp/tasks"
[queue]
path = "$tmp/queue"
[eca.slurm]
[log.job]
[log.file.sys]
source = "syslog"
paths = ["$tmp/logs/%HOSTNAME%.log"]
[metric.promql]
url = "http://127.0.0.1:$1"
attempts = 1
[output.sqlite]
path = "$tmp/results.db"
END
  [ $# -lt 2 ] || echo "$2" >>run.toml
}
doctor() { # WANTED-EXIT OPTION...
  want=$1
  shift
  code=0
  "$obj/nvab-run" --doctor --config run.toml "$@" >said 2>&1 || code=$?
  [ $code = "$want" ] || fail "exit $code instead of $want"
}
says() { # REGEX
  grep -Eq -- "$1" said || fail "it does not say: $1"
}

slurm "$version" none slurmdbd ''
settings "$port/good"
doctor 0
says '^ok +eca.slurm +ask accounting for the last hour: 2 jobs'
says '^ok +eca.slurm +clock of the controller: 0s from ours|^ok +eca.slurm +clock of the controller: '
says '^ok +eca.slurm +hooks that hand jobs over: /usr/libexec/nvab/nvab-epilogctld'
says '^ok +eca.slurm +plugin attribution.so: .*/plugins/attribution.so, built for Slurm'
says '^ok +queue '
says '^ok +spool '
says '^ok +log.file.sys +read .*: 1 files'
says '^ok +metric.promql +query http'
says '^ok +output.sqlite '
says ' 0 at fault'
[ ! -e results.db ] || fail "it made a database"
[ -z "$(find queue tasks -type f)" ] || fail "it left a file"
doctor 0 --format json
python3 -c 'import json; r = json.loads(open("said").readline()); assert r["schema"] == "nvab.doctor/1" and r["faults"] == 0, r' ||
  fail "the JSON"

# One thing at a time.
slurm 19.05.1 none slurmdbd ''
doctor 1
says '^fault +eca.slurm +plugin attribution.so: .* was built for Slurm .*, and this is 19.05.1'
says '-> build it against this Slurm'
slurm "$version" none slurmdbd '-d -1hour'
doctor 0
says '^warning +eca.slurm +clock of the controller: '
doctor 4 --strict
slurm "$version" none none ''
doctor 1
says '^fault +eca.slurm +accounting: Slurm keeps none'
slurm "$version" none slurmdbd ''
: >plugstack.conf
doctor 0
says '^warning +eca.slurm +plugin attribution.so: there is no line for it'
echo 'optional /nowhere/attribution.so' >plugstack.conf
doctor 1
says '^fault +eca.slurm +plugin attribution.so: '
echo 'optional attribution.so' >plugstack.conf
printf '#!/bin/sh\necho "sacct: error: slurmdbd: Connection refused" >&2\nexit 1\n' >bin/sacct
doctor 1
says '^fault +eca.slurm +ask accounting .*Connection refused'
says '-> see that slurmdbd runs'
printf '#!/bin/sh\nsleep 60\n' >bin/sacct
settings "$port/good"
sed -i 's/^\[eca.slurm\]/[eca.slurm]\ncall_timeout_seconds = 1/' run.toml
begin=$(date +%s)
doctor 1
says '^fault +eca.slurm +ask accounting '
[ $(($(date +%s) - begin)) -lt 60 ] || fail "it waited for sacct for ever"
printf '#!/bin/sh\necho 1\n' >bin/sacct
settings "$port/401"
doctor 1
says '^fault +metric.promql +query .*: .*HTTP 401'
says '-> set auth to credentials'
settings "$port/page"
doctor 1
says '-> see that url is the server.s own'
dead=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
settings "$dead"
doctor 1
says '^fault +metric.promql +query '
settings "$port/good"
rm logs/n1.log
rmdir queue
doctor 0
says '^warning +log.file.sys +read .*: no file is there'
says '^warning +queue +.*: there is no such folder'
mkdir queue
settings "$port/good" '[log.nonsense]'
doctor 1
says '^fault +run.toml +read them: .*nonsense'
settings "$port/good" '[run.x]'
doctor 1

# What a user may not do. Root may do everything, so somebody else asks.
if [ "$(id -u)" = 0 ]; then
  chmod 755 "$tmp"
  chmod 700 queue tasks
  settings "$port/good"
  slurm "$version" jobs,usage slurmdbd ''
  code=0
  setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all --bounding-set=-all \
    "$obj/nvab-run" --doctor --config run.toml >said 2>&1 || code=$?
  [ $code = 1 ] || fail "exit $code as nobody"
  says '^warning +eca.slurm +jobs of other users: PrivateData=jobs hides them'
  says '^fault +queue +.*files cannot be made there'
  says '^fault +spool +'
  says '^warning +log.job +.*cannot become other users'
  says '^fault +output.sqlite +.*this user may not'
fi

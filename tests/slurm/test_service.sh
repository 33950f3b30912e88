#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=400
# From the end of a real job to a verdict by the service: hooks, queue, runner, service, result; with nodes
# that send their own evidence, one that is silent, a session that another client holds, and a service that
# is away for a while, is killed, and comes back.
set -eu
# shellcheck source=tests/slurm/lib.sh
. "$SRCDIR/tests/slurm/lib.sh"

export CLUSTER_NVAB="$BUILDDIR" CLUSTER_HOOKS="plugin epilog epilogctld" CLUSTER_NODES=2
start_cluster
# Nodes have no disk of their own here: each has a folder.
nodes=$CLUSTER_NODE_NAMES
# shellcheck disable=SC2086 # a word each
set -- $nodes
first=$1
second=$2
for node in $nodes; do mkdir -p "$work/$node/new"; done
sed -i "s|^queue=.*|queue=$work/\$SLURMD_NODENAME|" "$CLUSTER_DIR/nvab/nvab-epilog"

run=$BUILDDIR/obj/nvab-run
url=unix:$work/service.sock
results=$work/results.db
{
  printf '[run]\nservice_url = "%s"\nspool = "%s"\ntimeout_seconds = 20\nnode_wait_seconds = 15\njobs = 3\n' "$url" "$tasks"
  printf '[queue]\npath = "%s"\npoll_seconds = "1s"\nretry_max_seconds = "2s"\n' "$queue"
  printf '[policy]\nauto = "all"\n[output.sqlite]\npath = "%s"\n' "$results"
} >"$work/nvab.toml"
for node in $nodes; do
  printf '[run]\nservice_url = "%s"\nspool = "%s"\n[queue]\npath = "%s"\npoll_seconds = "1s"\n' \
    "$url" "$tasks" "$work/$node" >"$work/$node.toml"
done

start_service() {
  "$BUILDDIR/obj/nvab-service" --listen "$url" --state "sqlite:$work/journal.db" 2>>"$jobs/service.log" &
  service=$!
}
end() { # PID [SIGNAL]
  kill "-${2:-TERM}" "$1" 2>/dev/null || true
  wait "$1" 2>/dev/null || true
}
start_watch() {
  "$run" --watch --config "$work/nvab.toml" --log-level info 2>>"$jobs/watch.log" &
  watch=$!
}
start_node() { # NODE
  "$run" --watch --node --config "$work/$1.toml" --log-level debug 2>>"$jobs/$1.log" &
  eval "pid_$1=$!"
}
stop_node() { eval "end \$pid_$1"; } # NODE
sql() { python3 -c 'import sqlite3,sys
for row in sqlite3.connect("file:%s?mode=ro" % sys.argv[1], uri=True).execute(sys.argv[2]): print(*row)' "$results" "$1"; }
runs() { sql "select count(*) from attribution_run r join execution_context c on c.id = r.context_id where c.job_id = '$1'" 2>/dev/null || echo 0; }
has_runs() { [ "$(runs "$1")" = "$2" ]; } # JOB COUNT
results_of() { # JOB; the whole result as JSON
  sql "select r.result_json from attribution_run r join execution_context c on c.id = r.context_id where c.job_id = '$1'"
}
status() { "$run" --queue-status --format json --config "$work/nvab.toml" | member "$1"; }
is_status() { [ "$(status "$1")" = "$2" ]; } # STATE COUNT

# ---- all are there --------------------------------------------------------------------------------------
start_service
for node in $nodes; do start_node "$node"; done
start_watch
job=$(submit -N2 -o /dev/null --wrap 'exit 3')
more=$(submit -o /dev/null --array=1-3 --wrap 'exit 1')
wait_jobs "$job" "$more"
wait_until 60 "the verdict on job $job" has_runs "$job" 1
for task in 1 2 3; do wait_until 60 "the verdict on job ${more}_$task" has_runs "${more}_$task" 1; done
has "nodes that sent" "$(results_of "$job")" '"connector":"nodes","source":"syslog","status":"ok".{0,40}"observation_count":2'

# ---- a node that is silent ------------------------------------------------------------------------------
stop_node "$second"
silent=$(submit -N2 -o /dev/null --wrap 'exit 4')
wait_jobs "$silent"
wait_until 60 "the verdict on job $silent" has_runs "$silent" 1
has "the silent node" "$(results_of "$silent")" "nothing came from $second itself"
start_node "$second"

# ---- a service that is away -----------------------------------------------------------------------------
end "$service"
away=$(submit -N2 -o /dev/null --wrap 'exit 5')
wait_jobs "$away"
sleep 8
same "verdicts without a service" "$(runs "$away")" 0
same "dead entries without a service" "$(status dead)" 0
start_service
wait_until 60 "the verdict on job $away" has_runs "$away" 1
has "nodes that waited for the service" "$(results_of "$away")" '"connector":"nodes","source":"syslog","status":"ok"'

# ---- one that is killed while a session is open -----------------------------------------------------------
stop_node "$second"
killed=$(submit -N2 -o /dev/null --wrap 'exit 6')
wait_jobs "$killed"
is_waiting() { grep -q "job $killed: this node has sent all" "$jobs/$first.log"; }
wait_until 30 "the first node's evidence on job $killed" is_waiting
end "$service" KILL
start_service
start_node "$second"
wait_until 60 "the verdict on job $killed" has_runs "$killed" 1
has "nodes before and after the kill" "$(results_of "$killed")" '"connector":"nodes","source":"syslog","status":"ok"'

# ---- a session that another client holds ------------------------------------------------------------------
end "$watch"
for node in $nodes; do stop_node "$node"; done
held=$(submit -N2 -o /dev/null --wrap 'exit 7')
wait_jobs "$held"
"$run" -j "$held" --config "$work/nvab.toml" --quiet >/dev/null 2>>"$jobs/watch.log" &
other=$!
is_open() { python3 - "$work/service.sock" <<'PY' | grep -q '"total":1'
import http.client, socket, sys
class Unix(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX); self.sock.connect(sys.argv[1])
c = Unix("x"); c.request("GET", "/v2/attributor"); print(c.getresponse().read().decode())
PY
}
wait_until 30 "the other client's session" is_open
start_watch
wait_until 20 "the conflict" is_status conflicted 1
wait "$other" || fail "the other client: $?"
wait_until 60 "the verdicts on job $held" has_runs "$held" 2
wait_until 20 "the queue to be empty" is_status conflicted 0
same "dead entries" "$(status dead)" 0
end "$watch"
end "$service"
no_node_is_drained "at the end"
finish

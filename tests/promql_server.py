#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Stands in for servers in trouble that speak PromQL: the first part of the path says which trouble. Prints its
# port, and writes one line a request to the file that is named: promql_server.py LOG
import http.server
import json
import re
import sys
import time
import urllib.parse

LOG = open(sys.argv[1], "w", buffering=1, encoding="utf-8")
BUSY = {"count": 0}


def series(name, label, node, values, start):
    return {"metric": {"__name__": name, label: node, "gpu": "0", "UUID": "GPU-0"},
            "values": [[start + 15 * i, str(v)] for i, v in enumerate(values)]}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self, status, body, kind="application/json", headers=()):
        data = body.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def good(self, query, start, warnings=()):
        if self.path.endswith("/query"):
            value = [time.time(), str(time.time() if "time()" in query and "node" not in query else 3)]
            off = "timestamp(" in query
            return self.answer(200, json.dumps({"status": "success", "data": {
                "resultType": "vector", "result": [] if off else [{"metric": {}, "value": value}]}}))
        result = []
        nodes = query.split('=~"')[1].split('"')[0].replace("\\\\", "\\") if '=~"' in query else ""
        if query.startswith("DCGM_FI_DEV_XID_ERRORS") and re.fullmatch(nodes, "n1"):
            result.append(series("DCGM_FI_DEV_XID_ERRORS", "Hostname", "n1", [0] * 30 + [79] * 5, start))
        self.answer(200, json.dumps({"status": "success", "warnings": list(warnings),
                                     "data": {"resultType": "matrix", "result": result}}))

    def refuse(self, status, words):
        self.answer(status, json.dumps({"status": "error", "errorType": "bad_data", "error": words}))

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", "0"))).decode()
        form = dict(urllib.parse.parse_qsl(body))
        query, mode = form.get("query", ""), self.path.split("/")[1]
        start, end, step = (float(form.get(k, "0")) for k in ("start", "end", "step"))
        LOG.write(json.dumps({"mode": mode, "query": query[:60], "step": step, "hours": (end - start) / 3600,
                              "nodes": query.split("=~")[1].count("|") + 1 if "=~" in query else 0,
                              "tenant": self.headers.get("X-Scope-OrgID")}) + "\n")
        if mode == "slow":
            time.sleep(5)
            self.good(query, start)
        elif mode == "page":
            self.answer(200, "<html>please log in</html>", "text/html")
        elif mode == "loki":
            self.answer(200, json.dumps({"status": "success", "data": {"resultType": "streams", "result": []}}))
        elif mode == "cut":
            self.send_response(200)
            self.send_header("Content-Length", "5000")
            self.end_headers()
            self.wfile.write(b'{"status":"success","data":{"resultType":"matrix","result":[')
            self.close_connection = True
        elif mode in ("401", "403", "404", "500"):
            self.refuse(int(mode), "no")
        elif mode == "tenant":
            if self.headers.get("X-Scope-OrgID") == "hpc":
                self.good(query, start)
            else:
                self.refuse(401, "no org id")
        elif mode == "busy":
            BUSY["count"] += 1
            if BUSY["count"] % 2:
                self.answer(429, "slow down", "text/plain", [("Retry-After", "0")])
            else:
                self.good(query, start)
        elif mode == "always_busy":
            self.answer(503, "away", "text/plain")
        elif mode == "points" and (end - start) / step > 100:
            self.refuse(400, "exceeded maximum resolution of 100 points per timeseries.")
        elif mode == "samples" and query.split("=~")[1].count("|") > 0:
            self.refuse(422, "query processing would load too many samples into memory in query execution")
        elif mode == "length" and end - start > 3600:
            self.refuse(422, "the query time range exceeds the limit (query length: 2h, limit: 1h)")
        elif mode == "old" and "@" in query:
            self.refuse(400, 'invalid parameter "query": 1:20: parse error: @ modifier is disabled')
        elif mode == "partial":
            self.good(query, start, ["receive series from Addr: store-2: rpc error: Unavailable"])
        else:
            self.good(query, start)


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
server.handle_error = lambda *args: None  # a client that waits no longer
print(server.server_address[1], flush=True)
server.serve_forever()

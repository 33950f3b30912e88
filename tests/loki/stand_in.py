#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stands in for Grafana Loki: query_range as its HTTP API documentation and its page on errors of
queries describe it, over lines that a test gives.

    stand_in.py --port-file FILE [--tls-…] DATA.json

DATA.json is a list of {"stream": {label: value}, "values": [["nanoseconds", "line"], …]} as Loki's
push API takes it; POST /loki/api/v1/push adds more. POST /control with a JSON object changes how it
behaves from then on (see Rules); GET /control gives what it was asked for.
"""
import argparse
import gzip
import json
import re
import sys
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Rules:
    """What a test may change."""

    def __init__(self):
        self.max_entries = 5000  # max_entries_limit_per_query
        self.max_hours = 721  # max_query_length
        self.max_matchers_length = 0  # of the query's text; 0: any
        self.max_lines_read = 0  # refuses windows with more lines: "too many bytes"; 0: any
        self.tenant = ""  # wanted in X-Scope-OrgID; "": none
        self.statuses = []  # [[status, body, {headers}], …] for the next requests, one each
        self.cut_after = []  # bytes of the body of the next good answers; null: all
        self.delay = 0.0  # seconds before each answer
        self.body = ""  # instead of any answer, with content_type
        self.content_type = "application/json; charset=UTF-8"
        self.warnings = []
        self.ignores_direction = False
        self.categorizes = True  # knows categorize-labels


class ParseError(Exception):
    pass


STRING = re.compile(r'"(?:[^"\\]|\\.)*"|`[^`]*`')
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


def unquote(text):
    """A Go string."""
    if text[0] == "`":
        return text[1:-1]

    def replace(match):
        body = match.group(1)
        if body[0] in "xuU":
            return chr(int(body[1:], 16))
        return ESCAPES.get(body[0], body[0])

    return re.sub(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", replace, text[1:-1], flags=re.S)


def compile_re2(text):
    """What RE2 has and Python writes otherwise."""
    text = re.sub(r"\\x\{([0-9a-fA-F]+)\}", lambda m: "\\U%08x" % int(m.group(1), 16), text)
    try:
        return re.compile(text, re.S if "(?s" in text else 0)
    except re.error as error:
        raise ParseError(f"error parsing regexp: {error}") from error


class Query:
    """A stream selector and line filters."""

    def __init__(self, text):
        self.matchers, self.filters = [], []
        rest = text.strip()
        if not rest.startswith("{"):
            raise ParseError("parse error at line 1, col 1: syntax error: unexpected IDENTIFIER")
        rest = self._selector(rest[1:].lstrip())
        while rest:
            match = re.match(r"(\|=|!=|\|~|!~)\s*", rest)
            string = match and STRING.match(rest, match.end())
            if not string:
                raise ParseError(f"parse error : syntax error: unexpected {rest[:20]!r}")
            value = unquote(string.group(0))
            self.filters.append((match.group(1), compile_re2(value) if "~" in match.group(1) else value))
            rest = rest[string.end():].lstrip()

    def _selector(self, rest):
        positive = False
        while not rest.startswith("}"):
            match = re.match(r"([a-zA-Z_][a-zA-Z0-9_]*)\s*(=~|!~|!=|=)\s*", rest)
            string = match and STRING.match(rest, match.end())
            if not string:
                raise ParseError(f"parse error : syntax error: unexpected {rest[:20]!r}")
            value = unquote(string.group(0))
            test = compile_re2(f"^(?:{value})$") if "~" in match.group(2) else value
            positive |= match.group(2) == "=" and value != ""
            positive |= match.group(2) == "=~" and not test.match("")
            self.matchers.append((match.group(1), match.group(2), test))
            rest = rest[string.end():].lstrip()
            if rest.startswith(","):
                rest = rest[1:].lstrip()
            elif not rest.startswith("}"):
                raise ParseError("parse error : syntax error: unexpected end of selector")
        if not positive:
            raise ParseError(
                "parse error : queries require at least one regexp or equality matcher that does not have an "
                "empty-compatible value. For instance, app=~\".*\" does not meet this requirement, but "
                "app=~\".+\" will")
        return rest[1:].lstrip()

    def takes_stream(self, labels):
        for name, operator, test in self.matchers:
            value = labels.get(name, "")
            found = value == test if operator in ("=", "!=") else bool(test.match(value))
            if found != (operator in ("=", "=~")):
                return False
        return True

    def takes_line(self, line):
        for operator, test in self.filters:
            found = test in line if operator in ("|=", "!=") else bool(test.search(line))
            if found != operator.startswith("|"):
                return False
        return True


class Store:
    def __init__(self):
        self.streams = {}  # labels as JSON -> [labels, [(ns, line, metadata)]]
        self.rules = Rules()
        self.requests = []
        self.running, self.busiest = 0, 0  # requests at a time, and the most that there were
        self.lock = threading.Lock()

    def push(self, streams):
        for stream in streams:
            key = json.dumps(stream["stream"], sort_keys=True)
            entries = self.streams.setdefault(key, (stream["stream"], []))[1]
            for value in stream["values"]:
                entries.append((int(value[0]), value[1], value[2] if len(value) > 2 else {}))
            # The same line at the same time is kept once.
            unique = {(ns, line): metadata for ns, line, metadata in entries}
            entries[:] = sorted((ns, line, metadata) for (ns, line), metadata in unique.items())

    def select(self, query, start, end):
        """(ns, key, line, metadata) of the window, in no order."""
        for key, (labels, entries) in self.streams.items():
            if not query.takes_stream(labels):
                continue
            for ns, line, metadata in entries:
                if start <= ns < end and query.takes_line(line):
                    yield ns, key, line, metadata


class Refusal(Exception):
    def __init__(self, status, text, headers=None):
        super().__init__(text)
        self.status, self.text, self.headers = status, text, headers or {}


def hours(ns):
    return f"{ns // 3600_000_000_000}h{ns // 60_000_000_000 % 60}m{ns // 1_000_000_000 % 60}s"


def check_limits(rules, parameters, headers, text):
    if rules.tenant and headers.get("X-Scope-OrgID", "") != rules.tenant:
        raise Refusal(401, "no org id\n")
    limit = int(parameters.get("limit", "100"))
    if limit > rules.max_entries:
        raise Refusal(400, "max entries limit per query exceeded, limit > max_entries_limit_per_query "
                      f"({limit} > {rules.max_entries})\n")
    start, end = int(parameters["start"]), int(parameters["end"])
    if end < start:
        raise Refusal(400, f"invalid query, through < from ({end} < {start})\n")
    if end - start > rules.max_hours * 3600_000_000_000:
        raise Refusal(400, f"the query time range exceeds the limit (query length: {hours(end - start)}, "
                      f"limit: {hours(int(rules.max_hours * 3600_000_000_000))})\n")
    if rules.max_matchers_length and len(text) > rules.max_matchers_length:
        raise Refusal(400, "max streams matchers per query exceeded, matchers-count > limit (1000 > 500)\n")
    return limit, start, end


def answer(store, parameters, headers):
    rules = store.rules
    text = parameters.get("query", "")
    try:
        query = Query(text)
    except ParseError as error:
        raise Refusal(400, f"{error}\n") from error
    limit, start, end = check_limits(rules, parameters, headers, text)
    lines = list(store.select(query, start, end))
    if rules.max_lines_read and len(lines) > rules.max_lines_read and end - start > 1_000_000_000:
        raise Refusal(400, "the query would read too many bytes (query: 5.0GB, limit: 1.0GB); consider adding "
                      "more specific stream selectors or reduce the time range of the query\n")
    forward = parameters.get("direction", "backward") == "forward" and not rules.ignores_direction
    # Which of several lines with one time come first is nobody's promise: here, the text decides.
    lines.sort(key=lambda one: (one[0], one[2], one[1]), reverse=not forward)
    flags = rules.categorizes and "categorize-labels" in headers.get("X-Loki-Response-Encoding-Flags", "")
    streams = {}
    for ns, key, line, metadata in lines[:limit]:
        labels = store.streams[key][0]
        value = [str(ns), line]
        if flags:
            value.append({"structuredMetadata": metadata} if metadata else {})
        elif metadata:
            labels = {**labels, **metadata}
        streams.setdefault(json.dumps(labels, sort_keys=True), (labels, []))[1].append(value)
    data = {"resultType": "streams",
            "result": [{"stream": labels, "values": values} for labels, values in streams.values()],
            "stats": {"summary": {"totalLinesProcessed": len(lines), "execTime": 0.001}}}
    if flags:
        data["encodingFlags"] = ["categorize-labels"]
    whole = {"status": "success", "data": data}
    if rules.warnings:
        whole["warnings"] = rules.warnings
    return json.dumps(whole, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    store = None

    def log_message(self, *args):
        pass

    def reply(self, status, body, content_type, headers=None, cut_after=None):
        if isinstance(body, str):
            body = body.encode()
        self.send_response(status)
        if "gzip" in self.headers.get("Accept-Encoding", "") and len(body) > 100 and cut_after is None:
            body = gzip.compress(body, 1)
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        if cut_after is not None and cut_after < len(body):
            self.wfile.write(body[:cut_after])
            self.wfile.flush()
            self.close_connection = True
            return
        self.wfile.write(body)

    def do_GET(self):
        parts = urllib.parse.urlsplit(self.path)
        parameters = dict(urllib.parse.parse_qsl(parts.query, keep_blank_values=True))
        if parts.path == "/control":
            return self.reply(200, json.dumps(self.store.requests), "application/json")
        if parts.path == "/busiest":
            return self.reply(200, str(self.store.busiest), "text/plain")
        if parts.path == "/ready":
            return self.reply(200, "ready\n", "text/plain")
        if parts.path == "/loki/api/v1/labels":
            return self.labels()
        if parts.path != "/loki/api/v1/query_range":
            return self.reply(404, "404 page not found\n", "text/plain; charset=utf-8")
        return self.query_range(parameters)

    def labels(self):
        rules = self.store.rules
        if rules.tenant and self.headers.get("X-Scope-OrgID", "") != rules.tenant:
            return self.reply(401, "no org id\n", "text/plain; charset=utf-8")
        names = sorted({name for labels, _ in self.store.streams.values() for name in labels})
        whole = {"status": "success"}
        if names:
            whole["data"] = names
        return self.reply(200, json.dumps(whole), "application/json; charset=UTF-8")

    def query_range(self, parameters):
        store, rules = self.store, self.store.rules
        with store.lock:
            store.requests.append({"query": parameters.get("query", ""), "parameters": parameters,
                                   "headers": dict(self.headers)})
            scripted = rules.statuses.pop(0) if rules.statuses else None
            cut = rules.cut_after.pop(0) if rules.cut_after else None
            store.running += 1
            store.busiest = max(store.busiest, store.running)
        time.sleep(rules.delay)
        with store.lock:
            store.running -= 1  # before the answer, behind which the next may come
        if scripted:
            return self.reply(scripted[0], scripted[1], "text/plain; charset=utf-8",
                              scripted[2] if len(scripted) > 2 else {})
        if rules.body:
            return self.reply(200, rules.body, rules.content_type)
        try:
            body = answer(store, parameters, self.headers)
        except Refusal as refusal:
            return self.reply(refusal.status, refusal.text, "text/plain; charset=utf-8", refusal.headers)
        return self.reply(200, body, rules.content_type, cut_after=cut)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        if self.path == "/control":
            rules = Rules()
            for name, value in json.loads(body or b"{}").items():
                if not hasattr(rules, name):
                    return self.reply(400, f"no rule {name}\n", "text/plain")
                setattr(rules, name, value)
            with self.store.lock:
                self.store.rules = rules
                self.store.requests.clear()
            return self.reply(204, "", "text/plain")
        if self.path == "/loki/api/v1/push":
            with self.store.lock:
                self.store.push(json.loads(body)["streams"])
            return self.reply(204, "", "text/plain")
        return self.reply(404, "404 page not found\n", "text/plain")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port-file", required=True)
    parser.add_argument("data", nargs="*")
    arguments = parser.parse_args()
    store = Store()
    for path in arguments.data:
        with open(path, encoding="utf-8") as file:
            store.push(json.load(file))
    Handler.store = store
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    with open(arguments.port_file + ".new", "w", encoding="ascii") as file:
        file.write(str(server.server_address[1]))
    import os
    os.rename(arguments.port_file + ".new", arguments.port_file)
    server.serve_forever()


if __name__ == "__main__":
    sys.exit(main())

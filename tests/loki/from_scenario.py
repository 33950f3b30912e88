#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a shipper would have pushed to Loki of a scenario's logs: each line with the time it was written
at, under the labels of its source.

    from_scenario.py FOLDER > data.json

applog: {slurm_job_id, filename}; syslog: {host, job="syslog"}, by the host that a line names.
"""
import datetime
import json
import os
import re
import sys

UTC = datetime.timezone.utc
ISO = re.compile(r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d+))?\s*(Z|[+-]\d\d:?\d\d)?")
BSD = re.compile(r"^(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +(\d+) (\d\d):(\d\d):(\d\d)")
MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()


def time_of(line, year):
    """Seconds since 1970 of the line's own stamp, or None."""
    head = line[:120]
    match = BSD.match(head)
    if match:
        month = MONTHS.index(match.group(1)) + 1
        return datetime.datetime(year, month, *map(int, match.groups()[1:]), tzinfo=UTC).timestamp()
    match = ISO.search(head)
    if not match or match.start() > 40 or " AT " in head[: match.start()]:
        return None
    *numbers, fraction, zone = match.groups()
    at = datetime.datetime(*map(int, numbers), tzinfo=UTC).timestamp()
    if fraction:
        at += float("0." + fraction)
    if zone and zone != "Z":
        digits = zone[1:].replace(":", "")
        at -= (1 if zone[0] == "+" else -1) * (int(digits[:2]) * 3600 + int(digits[2:]) * 60)
    return at


def host_of(line, fallback):
    match = re.match(r"^(?:\S+T\S+|[A-Z][a-z]{2} +\d+ [\d:]{8}) ([A-Za-z0-9_.-]+) \S+?(\[\d+\])?:", line)
    return match.group(1) if match else fallback


def stamped(path, first, year):
    """(ns, line) of a file; a line without a time of its own comes right behind the one before."""
    at, last = first, 0
    with open(path, encoding="utf-8", errors="replace", newline="\n") as file:
        for line in file:
            line = line.rstrip("\n")
            own = time_of(line, year)
            if own is not None:
                at = own
            last = max(last + 1000, int(at * 1e6) * 1000)
            yield last, line


def main(folder):
    with open(os.path.join(folder, "job.json"), encoding="utf-8") as file:
        job = json.load(file)
    start = datetime.datetime.fromisoformat((job.get("start_time") or job["start"]).replace("Z", "+00:00"))
    streams = {}
    for source in ("applog", "syslog"):
        top = os.path.join(folder, source)
        for path, _, names in sorted(os.walk(top)):
            for name in sorted(names):
                full = os.path.join(path, name)
                for ns, line in stamped(full, start.timestamp(), start.year):
                    if source == "applog":
                        labels = {"slurm_job_id": str(job["job_id"]), "filename": os.path.relpath(full, folder)}
                    else:
                        labels = {"job": "syslog", "host": host_of(line, name.split(".")[0])}
                    key = json.dumps(labels, sort_keys=True)
                    streams.setdefault(key, {"stream": labels, "values": []})["values"].append([str(ns), line])
    json.dump(list(streams.values()), sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])

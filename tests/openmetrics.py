#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# metrics.json of scenarios as one OpenMetrics text for `promtool tsdb create-blocks-from openmetrics`, each
# series with a label that says of which scenario it is: openmetrics.py OUT SCENARIO...
import json
import os
import sys


def escape(text):
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


samples = {}
for folder in sys.argv[2:]:
    scenario = os.path.basename(folder.rstrip("/"))
    with open(os.path.join(folder, "metrics.json"), encoding="utf-8") as file:
        for series in json.load(file):
            labels = dict(series["labels"], scenario=scenario)
            shown = ",".join(f'{k}="{escape(v)}"' for k, v in sorted(labels.items()))
            for time, value in series["values"]:
                samples.setdefault(series["metric"], []).append((shown, float(time), value))
with open(sys.argv[1], "w", encoding="utf-8") as out:
    for name in sorted(samples):
        out.write(f"# TYPE {name} unknown\n")
        for shown, time, value in sorted(samples[name]):
            out.write(f"{name}{{{shown}}} {value} {time:.3f}\n")
    out.write("# EOF\n")

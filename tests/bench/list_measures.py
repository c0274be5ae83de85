# SPDX-License-Identifier: MIT
"""What thousands of runs cost: run_bench.py's measure of bench_runs."""
import json
import os
import statistics
import subprocess

from bench_place import spread

GOALS_MS = {"listed_warm": 1000, "filter_key": 50, "judge": 1000}
NOTES = {"runs.md": """\
`bench_runs` writes run folders (config, result with its summary, a tenth of them with notes) into a home of their own and
measures the real index, models and window (Qt's offscreen platform) over them. Listing, looking at the disk and writing
notes happen on the thread `lockstep-runs`, so the window answers meanwhile.

"""}


def measure_runs(options):
    ran = subprocess.run([options.bin / "bench_runs", str(options.runs), "7"], capture_output=True, text=True, timeout=900,
                         env={**os.environ, "QT_QPA_PLATFORM": "offscreen"})
    if ran.returncode != 0:
        raise SystemExit(f"run_bench: bench_runs ended {ran.returncode}: {ran.stderr.strip()}")
    rows = []
    for line in ran.stdout.splitlines():
        each = json.loads(line)
        goal = GOALS_MS.get(each["key"])
        rows.append((f"{options.runs:,} runs. {each['what']}", spread(each["ms"], "ms"), f"≤ {goal:,} ms" if goal else "",
                     not goal or statistics.median(each["ms"]) <= goal))
    return rows

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Records what two real ranks needed for each step, for straggler_test: runs lockstep-trainer under DDP with --trace and
reads each rank's own times from its trace, as trainer/strategies/ddp measures them.

    record.py lockstep-trainer OUT.txt --says "what ran beside it" [--steps 1500] [--model=… and other options of the trainer]

A line a step, both ranks in it: ready (end of the last all-reduce to the own last gradient), then load, h2d, forward,
backward and optimizer, in µs.
"""

import argparse
import bisect
import json
import os
import subprocess
import tempfile
from pathlib import Path

OWN = ["load", "h2d", "forward", "backward", "optimizer"]


def own_times(path):
    """[[ready, load, …] a step] of one rank's trace; its first step has no all-reduce before it."""
    events = [e for e in json.loads(Path(path).read_text())["traceEvents"] if e["ph"] == "X"]
    laps = sorted((e["ts"], e["name"], e["dur"]) for e in events if e["tid"] == 0 and e["name"] != "step")
    sums = sorted(e["ts"] + e["dur"] for e in events if e["name"] == "all-reduce")
    steps, own, last = [], dict.fromkeys(OWN, 0.0), None
    for start, name, length in laps:
        if name in own:
            own[name] += length
        if name == "backward":
            if last is not None:
                steps.append([start + length - last] + list(own.values()))
            own = dict.fromkeys(OWN, 0.0)
        if name == "exposed":  # the last bucket's sum is there by then
            last = sums[bisect.bisect(sums, start + length) - 1]
    return steps


def run(trainer, options, steps):
    with tempfile.TemporaryDirectory() as folder:
        ranks = []
        for rank in range(2):
            environment = {**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2",
                           "LOCAL_WORLD_SIZE": "2", "LOCKSTEP_TRACES": f"{folder}/traces"}
            ranks.append(subprocess.Popen(
                [trainer, "--method=ddp", f"--init-method=file://{folder}/store", "--epochs=1000", "--oversubscribe",
                 f"--trace={steps}", f"--frames={folder}/frames", *options],
                env=environment, stderr=subprocess.DEVNULL))
        traces = [Path(f"{folder}/traces/rank-{rank}.json") for rank in range(2)]
        while not all(trace.exists() for trace in traces):
            if any(rank.poll() is not None for rank in ranks):
                raise SystemExit("a rank ended before its trace was written")
            try:
                ranks[0].wait(0.2)
            except subprocess.TimeoutExpired:
                pass
        for rank in ranks:
            rank.terminate()
        for rank in ranks:
            rank.wait()
        alerts = [line for line in Path(f"{folder}/frames").read_text().splitlines() if '"straggler"' in line]
        return [own_times(trace) for trace in traces], alerts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trainer")
    parser.add_argument("out")
    parser.add_argument("--says", required=True)
    parser.add_argument("--steps", type=int, default=1500)
    args, args.options = parser.parse_known_args()
    ranks, alerts = run(args.trainer, args.options, args.steps)
    lines = [f"# two ranks, {' '.join(args.options) or 'no options'}; {args.says}"]
    lines += [" ".join(f"{t:.0f}" for rank in step for t in rank) for step in zip(*ranks)]
    Path(args.out).write_text("\n".join(lines) + "\n")
    print(len(lines) - 1, "steps,", len(alerts), "alerts", *alerts, sep="\n")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What shards in proportion to the devices' speed gain where one of two CPU devices is about half as fast: DDP with even, measured and
adaptive shards in turns, beside a busy loop on the second device's core. The kernel gives the loop half of that core where it belongs to
the same session as the ranks, so all run in this one. Prints a row a way; exit code 1 if a median is below the goal of 1.25.
    tests/bench/uneven_shards.py BIN [REPEATS]     3 repeats unless given; about 12 s a run. Needs two cores."""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

GOAL = 1.25
WAYS = ("even", "measured", "adaptive")


def train(binaries, folder, shards):
    """(seconds of training, samples of each rank in a batch) of one run."""
    summary = pathlib.Path(folder) / "summary.json"
    trainer = [binaries / "lockstep-trainer", "--method=ddp", "--devices=0,1", "--model=convnet", "--dropout=0", "--epochs=3",
               "--train-samples=6400", "--test-samples=1", f"--shards={shards}", f"--summary={summary}"]
    ran = subprocess.run([binaries / "lockstep-agent", "run", "--nproc-per-node", "2", "--", *trainer], stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True)
    if ran.returncode != 0:
        sys.exit(f"the run ended with {ran.returncode}:\n{ran.stdout}")
    made = json.loads(summary.read_text())
    return made["total_training_time_s"], made.get("replica_batch") or [32, 32]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    binaries, repeats = pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 3
    if len(os.sched_getaffinity(0)) < 2:
        print("not run: there is only one core")
        return 0
    loop = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    os.sched_setaffinity(loop.pid, {sorted(os.sched_getaffinity(0))[1]})
    try:
        with tempfile.TemporaryDirectory(prefix="lockstep-bench-") as folder:
            turns = [{way: train(binaries, folder, way) for way in (WAYS if turn % 2 == 0 else reversed(WAYS))} for turn in range(repeats)]
    finally:
        loop.kill()
    print("| shards | training, median | times as fast as even ones, median (extremes) of a turn's pair | last shares |\n|---|---|---|---|")
    missed = False
    for way in WAYS:
        gains = [turn["even"][0] / turn[way][0] for turn in turns]
        missed = missed or (way != "even" and statistics.median(gains) < GOAL)
        print(f"| {way} | {statistics.median(turn[way][0] for turn in turns):.2f} s | {statistics.median(gains):.2f} "
              f"({min(gains):.2f}-{max(gains):.2f}) | {' and '.join(str(n) for n in turns[-1][way][1])} |")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

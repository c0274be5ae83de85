#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether training with an asynchronous server is as steady as with a synchronous one: the last epoch's loss and the test accuracy
of several seeds, and of one seed several times, at equal samples. LeNet on two CPU devices, two epochs. No time is measured, so the
machine may be busy; but how stale updates get depends on what else it does.
    tests/bench/steadiness.py BIN [SEEDS]     8 seeds unless given; 2 s a run, 8 runs a seed"""

import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

WAYS = [("DDP", ["--method=ddp"]), ("server (ps-sync)", ["--method=ps-sync"]), ("async server (ps-async)", ["--method=ps-async"]),
        ("async server, staleness 1 at most", ["--method=ps-async", "--max-staleness=1"])]


def outcome(binaries, folder, way, seed):
    """(loss of the last epoch, test accuracy, mean staleness) of one run."""
    summary = pathlib.Path(folder) / "summary.json"
    trainer = [binaries / "lockstep-trainer", *way, "--devices=0,1", "--model=lenet", "--train-samples=12800", "--epochs=2",
               f"--seed={seed}", f"--summary={summary}"]
    ran = subprocess.run([binaries / "lockstep-agent", "run", "--nproc-per-node", "2", "--", *trainer], stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True)
    if ran.returncode != 0:
        sys.exit(f"the run ended with {ran.returncode}:\n{ran.stdout}")
    made = json.loads(summary.read_text())
    return made["epochs"][-1]["loss"], made["test_accuracy"], made.get("metrics", {}).get("staleness", 0.0)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    binaries, seeds = pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 8
    print("| | loss, mean ± standard deviation over seeds | of one seed | test accuracy over seeds | mean staleness |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="lockstep-bench-") as folder:
        for name, way in WAYS:
            several = [outcome(binaries, folder, way, seed) for seed in range(1, seeds + 1)]
            again = [outcome(binaries, folder, way, 1) for _ in range(seeds)]
            losses, accuracies, staleness = zip(*several)
            same = [loss for loss, _, _ in again]
            print(f"| {name} | {statistics.mean(losses):.4f} ± {statistics.stdev(losses):.4f} | ± {statistics.stdev(same):.4f} | "
                  f"{statistics.mean(accuracies) * 100:.2f} ± {statistics.stdev(accuracies) * 100:.2f} % | {statistics.mean(staleness):.2f} |",
                  flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The idle part of a pipeline's step beside (S-1)/(M+S-1), on two CPU devices with equally long stages: a TorchScript network of
twelve equal layers, six a stage. Prints a row for each schedule and number of micro-batches, medians of several runs in turns; exit code 1
where a median is off by more than 15 % of the formula.
    tests/bench/pipeline_bubble.py BIN PYTHON [REPEATS]     PYTHON: one that imports torch; 3 repeats unless given, 15 to 26 s a run"""

import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

GOAL = 0.15
MICRO_BATCHES, STAGES = (1, 2, 4, 8), 2
SCHEDULES = ("gpipe", "1f1b")
MODEL = '''
import json, sys, torch
from torch import nn
class First(nn.Module):
    """Pixels need no gradient, which would save the first stage one of its 18 products of matrices; pixels times a parameter do."""
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(784))
        self.layer = nn.Linear(784, 784)
    def forward(self, x):
        return torch.relu(self.layer(x.flatten(1) * self.scale))
class Equal(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = First()
        for i in range(10):
            self.add_module(f"middle{i}", nn.Sequential(nn.Linear(784, 784), nn.ReLU()))
        self.last = nn.Sequential(nn.Linear(784, 784), nn.Linear(784, 10))
    def forward(self, x):
        x = self.first(x)
        for i in range(10):
            x = getattr(self, f"middle{i}")(x)
        return self.last(x)
torch.manual_seed(1)
net = Equal()
torch.jit.trace(net, torch.zeros(2, 1, 28, 28)).save(sys.argv[1] + "/equal.pt")
layers = ["first", *(f"middle{i}" for i in range(10)), "last"]
json.dump({"input": {"values": "pixels", "shape": [1, 28, 28]}, "classes": 10, "layers": layers},
          open(sys.argv[1] + "/equal.json", "w"))
'''


def bubble(binaries, folder, schedule, micro_batches):
    """Of one run, after its first epoch."""
    summary = pathlib.Path(folder) / "summary.json"
    trainer = [binaries / "lockstep-trainer", "--method=pipeline", "--devices=0,1", f"--model={folder}/equal.pt", "--batch-size=2048",
               "--train-samples=20480", "--test-samples=1", "--epochs=3", f"--micro-batches={micro_batches}", f"--pipeline-schedule={schedule}",
               "--stage-layers=6,6", f"--summary={summary}"]
    ran = subprocess.run([binaries / "lockstep-agent", "run", "--nproc-per-node", str(STAGES), "--", *trainer],
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if ran.returncode != 0:
        sys.exit(f"the run ended with {ran.returncode}:\n{ran.stdout}")
    return json.loads(summary.read_text())["metrics"]["bubble"]


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    binaries, python = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    repeats = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    with tempfile.TemporaryDirectory(prefix="lockstep-bench-") as folder:
        subprocess.run([python, "-c", MODEL, folder], check=True)
        measured = {(schedule, m): [] for m in MICRO_BATCHES for schedule in SCHEDULES}
        for _ in range(repeats):
            for schedule, m in measured:
                measured[schedule, m].append(bubble(binaries, folder, schedule, m))
    print("| schedule | micro-batches | (S-1)/(M+S-1) | measured (median; least-most) | off by |\n|---|---|---|---|---|")
    missed = False
    for (schedule, m), values in measured.items():
        formula, median = (STAGES - 1) / (m + STAGES - 1), statistics.median(values)
        missed = missed or abs(median / formula - 1) > GOAL
        print(f"| {schedule} | {m} | {formula:.3f} | {median:.3f} ({min(values):.3f}-{max(values):.3f}) | {(median / formula - 1) * 100:+.0f} % |")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

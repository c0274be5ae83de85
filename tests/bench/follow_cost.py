#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What following an unchanged script costs: `lockstep-agent run` with and without --auto, in turns.

    follow_cost.py BIN PYTHON [--repeats 7] [--steps 1500]     PYTHON: one with torch

Prints the cost a step and of a start: medians of the pairs' differences, and their extremes. A step is a small model's (some 0.3 ms) on
one thread, with a DataLoader, so the cost is nearly all that differs.
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

SCRIPT = """
import sys, time
begun = time.monotonic()
import torch
from torch.utils.data import DataLoader, TensorDataset
torch.set_num_threads(1)
steps = int(sys.argv[1])
model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
data = TensorDataset(torch.randn(8 * steps, 64), torch.randint(0, 10, (8 * steps,)))
taken = []
for x, y in DataLoader(data, 8):
    loss = torch.nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    taken.append(time.monotonic())
first = len(taken) // 10
print("FIGURE", (taken[-1] - taken[first]) / (len(taken) - 1 - first) * 1e6, taken[0] - begun)
"""


def run(options, script, home, *more):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LOCKSTEP_")}
    environment.update(LOCKSTEP_HOME=home, PYTHONDONTWRITEBYTECODE="1")
    done = subprocess.run([options.bin / "lockstep-agent", "run", *more, "--", options.python, script, str(options.steps)],
                          env=environment, capture_output=True, text=True, check=True)
    (line,) = [line for line in done.stdout.splitlines() if "FIGURE" in line]
    return [float(word) for word in line.split()[-2:]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("python", type=pathlib.Path)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--steps", type=int, default=1500)
    options = parser.parse_args()
    differences, alone = [], []
    with tempfile.TemporaryDirectory() as home:
        script = pathlib.Path(home) / "train.py"
        script.write_text(SCRIPT)
        for repeat in range(options.repeats):
            order = [(), ("--auto",)] if repeat % 2 == 0 else [("--auto",), ()]
            both = {more: run(options, script, home, *more) for more in order}
            alone.append(both[()][0])
            differences.append([followed - plain for followed, plain in zip(both[("--auto",)], both[()])])
    for name, unit, scale, values in (("a step", "us", 1, [step for step, _ in differences]),
                                      ("a start", "ms", 1000, [start for _, start in differences])):
        values = [value * scale for value in values]
        print(f"{name}: {statistics.median(values):+.0f} {unit} ({min(values):+.0f} to {max(values):+.0f}; n = {len(values)} pairs)")
    print(f"a step that is not followed: {statistics.median(alone):.0f} us")


if __name__ == "__main__":
    sys.exit(main())

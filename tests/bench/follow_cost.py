#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What following an unchanged script costs: `lockstep-agent run` with and without --auto, in turns.

    follow_cost.py BIN PYTHON [--repeats 7] [--steps 1500] [--ranks 1] [--device cpu]     PYTHON: one with torch

Prints the cost a step and of a start: medians of the pairs' differences, and their extremes. A step is a small model's (some 0.3 ms) on
one thread, with a DataLoader, so the cost is nearly all that differs; with several --ranks it is a step of DDP. The two runs of a pair are there
at once and take turns of a tenth of a second, so that a machine whose speed varies affects both alike; their clocks stand still in
the other's turn.
"""
import argparse
import mmap
import os
import pathlib
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time

SCRIPT = """
import mmap, os, sys, time
paused = memoryview(mmap.mmap(os.open(os.environ["BENCH_PAUSED"], os.O_RDONLY), 8, access=mmap.ACCESS_READ)).cast("Q")
def clock():
    while True:
        before, now = paused[0], time.monotonic_ns()
        if paused[0] == before:
            return (now - before) / 1e9
begun = clock()
import torch
from torch.utils.data import DataLoader, TensorDataset
torch.set_num_threads(1)
steps, device = int(sys.argv[1]), sys.argv[2]
model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10)).to(device)
if "WORLD_SIZE" in os.environ:
    torch.distributed.init_process_group("gloo")
    model = torch.nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
data = TensorDataset(torch.randn(8 * steps, 64), torch.randint(0, 10, (8 * steps,)))
taken = []
for x, y in DataLoader(data, 8):
    loss = torch.nn.functional.cross_entropy(model(x.to(device)), y.to(device))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    taken.append(clock())
first = len(taken) // 10
print("FIGURE", (taken[-1] - taken[first]) / (len(taken) - 1 - first) * 1e6, taken[0] - begun)
if "WORLD_SIZE" in os.environ:
    torch.distributed.destroy_process_group()
"""
TURN_S = 0.1


class Run:
    """An agent whose ranks can be paused."""

    def __init__(self, options, script, home, more):
        self._file = tempfile.NamedTemporaryFile(dir=home)
        self._file.write(bytes(8))
        self._file.flush()
        self._paused = mmap.mmap(self._file.fileno(), 8)
        self._paused_ns = 0
        self._since_ns = None
        environment = {name: value for name, value in os.environ.items() if not name.startswith("LOCKSTEP_")}
        environment.update(LOCKSTEP_HOME=home, PYTHONDONTWRITEBYTECODE="1", BENCH_PAUSED=self._file.name)
        ranks = ["--nproc-per-node", str(options.ranks)] if options.ranks > 1 else []
        self._agent = subprocess.Popen([options.bin / "lockstep-agent", "run", *ranks, *more, "--", options.python, script, str(options.steps), options.device],
                                       env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self._groups = self._started(options.ranks)

    def _started(self, ranks):
        """The process groups of its ranks, once all are there: the agent has its keeper beside them."""
        path = pathlib.Path(f"/proc/{self._agent.pid}/task/{self._agent.pid}/children")
        while self._agent.poll() is None:
            children = [int(pid) for pid in path.read_text().split()]
            groups = [pid for pid in children if "keeper" not in pathlib.Path(f"/proc/{pid}/comm").read_text()]
            if len(groups) == ranks == len(children) - 1:  # before it has its name, the keeper looks like a rank
                return groups
            time.sleep(0.001)
        sys.exit(f"lockstep-agent: {self._agent.communicate()}")

    def _signal(self, number):
        for group in self._groups:
            try:
                os.killpg(group, number)
            except ProcessLookupError:
                pass

    def pause(self):
        """Stops the ranks."""
        self._signal(signal.SIGSTOP)
        self._since_ns = time.monotonic_ns()

    def go_on(self):
        """Ends a pause, which its clocks have not seen."""
        self._paused_ns += time.monotonic_ns() - self._since_ns
        self._paused[:] = struct.pack("@Q", self._paused_ns)
        self._signal(signal.SIGCONT)

    def over(self):
        """Whether it has ended."""
        return self._agent.poll() is not None

    def figures(self):
        """Microseconds a step, and seconds to the first one: of the slowest rank."""
        out, errors = self._agent.communicate()
        if self._agent.returncode:
            sys.exit(errors)
        return [max(values) for values in zip(*([float(word) for word in line.split()[-2:]] for line in out.splitlines() if "FIGURE" in line))]


def pair(options, script, home, order):
    """The figures of both, which take turns."""
    runs = []
    for more in order:
        runs.append(Run(options, script, home, more))
        runs[-1].pause()
    while left := [run for run in runs if not run.over()]:
        for run in left:
            run.go_on()
            end = time.monotonic() + TURN_S
            while time.monotonic() < end and not run.over():
                time.sleep(0.002)
            run.pause()
    return {more: run.figures() for more, run in zip(order, runs)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("python", type=pathlib.Path)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--device", default="cpu", help="or cuda, on which the host's own work is nearly all of such a step")
    options = parser.parse_args()
    differences, alone = [], []
    with tempfile.TemporaryDirectory() as home:
        script = pathlib.Path(home) / "train.py"
        script.write_text(SCRIPT)
        for repeat in range(options.repeats):
            both = pair(options, script, home, [(), ("--auto",)] if repeat % 2 == 0 else [("--auto",), ()])
            alone.append(both[()][0])
            differences.append([followed - plain for followed, plain in zip(both[("--auto",)], both[()])])
    for name, unit, scale, values in (("a step", "us", 1, [step for step, _ in differences]),
                                      ("a start", "ms", 1000, [start for _, start in differences])):
        values = [value * scale for value in values]
        print(f"{name}: {statistics.median(values):+.0f} {unit} ({min(values):+.0f} to {max(values):+.0f}; n = {len(values)} pairs)")
    print(f"a step that is not followed: {statistics.median(alone):.0f} us")


if __name__ == "__main__":
    sys.exit(main())

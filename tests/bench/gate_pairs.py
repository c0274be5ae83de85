#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How often `lockstepctl check --against` is wrong on this machine as it is, and how often it finds what it is for: real revisions of a script.

    gate_pairs.py BIN PYTHON [--checks 40] [--repeats 5] [--noise] [--one-after-another]     PYTHON: one with torch

Two checks each time, with 5 % more time allowed: a working tree that computes what its revision does, which may not fail, and one that
computes 10 % more, which should. --noise keeps a core busy in bursts meanwhile, 1 s of every 4 s on average. Prints how many of the checks
passed, failed and were undecided, how much a round's two runs scatter against each other, how much repeats of one run do, and what the
slower one really took. Ends with 1 when more than 5 % of the identical pairs fail, or of the slower ones pass: it decides by
bounds of 95 %.
"""
import argparse
import collections
import json
import math
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

SCRIPT = """
import torch
torch.set_num_threads(1)
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(6400, 256), torch.randint(0, 10, (6400,))
for at in range(0, 6400, 64):
    for _ in range(ROUNDS):  # of work in a step
        loss = torch.nn.functional.cross_entropy(model(x[at:at + 64]), y[at:at + 64])
        loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""
ROUNDS = {"base": 20, "same": 20, "slower": 22}
BURSTS = """
import random, time
while True:
    until = time.monotonic() + random.expovariate(1)
    while time.monotonic() < until:
        pass
    time.sleep(random.expovariate(1 / 3))
"""


class Bench:
    """A repository with the script, and a home for its runs."""

    def __init__(self, options, folder):
        self._options, self._tree, self._home = options, folder / "tree", folder / "home"
        self._tree.mkdir()
        self._write("base")
        for words in (["init", "--quiet"], ["add", "train.py"],
                      ["-c", "user.name=bench", "-c", "user.email=bench@localhost", "commit", "--quiet", "--message", "base"]):
            subprocess.run(["git", *words], cwd=self._tree, check=True)

    def _write(self, name):
        (self._tree / "train.py").write_text(SCRIPT.replace("ROUNDS", str(ROUNDS[name])) + f"# {name}\n")

    def check(self, name):
        """What check says of this working tree, and the training times of base and tree by their round."""
        self._write(name)
        shutil.rmtree(self._home, ignore_errors=True)
        environment = {key: value for key, value in os.environ.items() if not key.startswith("LOCKSTEP_")}
        words = [self._options.bin.resolve() / "lockstepctl", "check", "--against", "git:HEAD", "--max-slower", "5%", "--json", "--repeats",
                 str(self._options.repeats), *(["--one-after-another"] if self._options.one_after_another else []), "--", self._options.python.absolute(), "train.py"]
        done = subprocess.run(words, env={**environment, "LOCKSTEP_HOME": str(self._home)}, cwd=self._tree, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True)
        if done.returncode not in (0, 1, 4):
            sys.exit(f"lockstepctl check: {done.stdout}{done.stderr}")
        (case,) = json.loads(done.stdout)["runs"]
        times = collections.defaultdict(dict)
        for run in (self._home / "runs").iterdir():
            record, result = (json.loads((run / file).read_text()) for file in ("config.json", "result.json"))
            times[record["repeat"]][record["name"]] = result["summary"]["total_training_time_s"]
        return case, [(both["base git:HEAD"], both["working tree"]) for both in times.values()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("python", type=pathlib.Path)
    parser.add_argument("--checks", type=int, default=40)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--noise", action="store_true")
    parser.add_argument("--one-after-another", action="store_true")
    options = parser.parse_args()
    noise = subprocess.Popen([sys.executable, "-c", BURSTS], start_new_session=True) if options.noise else None
    outcomes = {"same": collections.Counter(), "slower": collections.Counter()}
    apart, scatter, slower = [], [], []
    try:
        for number in range(1, options.checks + 1):
            for name, counts in outcomes.items():
                with tempfile.TemporaryDirectory(prefix="lockstep-bench-") as folder:
                    case, rounds = Bench(options, pathlib.Path(folder)).check(name)
                counts[case["outcome"]] += 1
                print(f"{number} {name}: {case['outcome']}, {case['reason']}", file=sys.stderr, flush=True)
                apart.append(statistics.stdev(math.log(tree / base) for base, tree in rounds))
                scatter += [statistics.stdev(map(math.log, times)) for times in zip(*rounds)]
                if name == "slower":
                    slower.append(math.exp(statistics.mean(math.log(tree / base) for base, tree in rounds)) - 1)
    finally:
        if noise:
            noise.kill()
            noise.wait()
    print(f"| {options.checks} checks of {options.repeats} repeats | passed | failed | undecided |\n|---|---|---|---|")
    for name, counts in outcomes.items():
        print(f"| {name} | {counts['passed']} | {counts['slower']} | {counts['undecided']} |")
    for what, values in (("the ratio of a round's two runs scatters", apart), ("repeats of a run scatter", scatter)):
        print(f"\n{what} by {100 * statistics.median(values):.1f} % (standard deviation of logarithms, median; at most {100 * max(values):.1f} %)")
    print(f"\nthe slower one took {100 * statistics.median(slower):.1f} % more time (median; {100 * min(slower):.1f} to {100 * max(slower):.1f} %)")
    return int(max(outcomes["same"]["slower"], outcomes["slower"]["passed"]) > 0.05 * options.checks)


if __name__ == "__main__":
    sys.exit(main())

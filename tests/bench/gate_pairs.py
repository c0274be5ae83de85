#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How often `lockstepctl check` is wrong on this machine as it is, and how often it finds what it is for: real runs of an unchanged script.

    gate_pairs.py BIN PYTHON [--checks 40] [--repeats 5] [--noise]     PYTHON: one with torch

An experiment has three runs in balanced rounds: a base, the same again, and one that computes 10 % more. Two checks are made of it, with 5 %
more time allowed: the same against the base may not fail, and the slower one should. --noise keeps a core busy in bursts meanwhile, 1 s of
every 4 s on average. Prints how many of the checks passed, failed and were undecided, how much the repeats of a run scatter, and what the
slower run really took. Ends with 1 when more than 5 % of the identical pairs fail, or of the slower runs pass: it decides by
bounds of 95 %.
"""
import argparse
import collections
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

SCRIPT = """
import sys, torch
torch.set_num_threads(1)
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(6400, 256), torch.randint(0, 10, (6400,))
rounds = int(sys.argv[sys.argv.index("--rounds") + 1])  # of work in a step
for at in range(0, 6400, 64):
    for _ in range(rounds):
        loss = torch.nn.functional.cross_entropy(model(x[at:at + 64]), y[at:at + 64])
        loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""
ROUNDS, MORE = 20, 2
BURSTS = """
import random, time
while True:
    until = time.monotonic() + random.expovariate(1)
    while time.monotonic() < until:
        pass
    time.sleep(random.expovariate(1 / 3))
"""


def recipe(python, script):
    # Told apart by their names: of runs that are alike in all else a recipe keeps one.
    facts = {"method": "baseline", "devices": [0], "device": "cpu", "known": ["method", "devices", "device"]}
    runs = [{"name": name, "command": [str(python), "-m", "lockstep", str(script), "--rounds", str(rounds), "--as", name], **facts}
            for name, rounds in (("base", ROUNDS), ("same", ROUNDS), ("slower", ROUNDS + MORE))]
    return {"name": "gate", "title": "Pairs for the gate", "summary": "A base, the same again, and one with 10 % more to compute.",
            "question": "Does a check tell them apart?", "runs": runs}


class Bench:
    def __init__(self, options, home):
        self._bin, self._repeats = options.bin.resolve(), options.repeats
        self._environment = {name: value for name, value in os.environ.items() if not name.startswith("LOCKSTEP_")}
        self._environment["LOCKSTEP_HOME"] = str(home)
        script = home / "train.py"
        script.write_text(SCRIPT)
        self._recipe = home / "gate.json"
        self._recipe.write_text(json.dumps(recipe(options.python, script)))

    def _ctl(self, *words, codes=(0,)):
        done = subprocess.run([self._bin / "lockstepctl", *map(str, words)], env=self._environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True)
        if done.returncode not in codes:
            sys.exit(f"lockstepctl {' '.join(map(str, words))}: {done.stdout}{done.stderr}")
        return done.stdout

    def experiment(self):
        """The ids and the training times of its runs, by their names."""
        self._ctl("run", self._recipe, f"--repeats={self._repeats}")
        ids, times = collections.defaultdict(list), collections.defaultdict(list)
        for run in json.loads(self._ctl("list", "--json"))["runs"]:
            ids[run["name"]].append(run["run"])
            result = json.loads((pathlib.Path(self._environment["LOCKSTEP_HOME"]) / "runs" / run["run"] / "result.json").read_text())
            times[run["name"]].append(result["summary"]["total_training_time_s"])
        return ids, times

    def check(self, base, new):
        (case,) = json.loads(self._ctl("check", ",".join(base), ",".join(new), "--max-slower", "5%", "--json", codes=(0, 1, 4)))["runs"]
        return case


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("python", type=pathlib.Path)
    parser.add_argument("--checks", type=int, default=40)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--noise", action="store_true")
    options = parser.parse_args()
    noise = subprocess.Popen([sys.executable, "-c", BURSTS], start_new_session=True) if options.noise else None
    outcomes = {"same": collections.Counter(), "slower": collections.Counter()}
    scatter, slower = [], []
    try:
        for number in range(1, options.checks + 1):
            with tempfile.TemporaryDirectory(prefix="lockstep-bench-") as folder:
                bench = Bench(options, pathlib.Path(folder))
                ids, times = bench.experiment()
                for name, counts in outcomes.items():
                    case = bench.check(ids["base"], ids[name])
                    counts[case["outcome"]] += 1
                    print(f"{number} {name}: {case['outcome']}, {case['reason']}", file=sys.stderr, flush=True)
                scatter += [statistics.stdev(map(math.log, repeats)) for repeats in times.values()]
                slower.append(statistics.geometric_mean(times["slower"]) / statistics.geometric_mean(times["base"]) - 1)
    finally:
        if noise:
            noise.kill()
            noise.wait()
    print(f"| {options.checks} checks of {options.repeats} repeats | passed | failed | undecided |\n|---|---|---|---|")
    for name, counts in outcomes.items():
        print(f"| {name} | {counts['passed']} | {counts['slower']} | {counts['undecided']} |")
    print(f"\nrepeats of a run scatter by {100 * statistics.median(scatter):.1f} % (standard deviation of their logarithms, median; at most "
          f"{100 * max(scatter):.1f} %); the slower run took {100 * statistics.median(slower):.1f} % more time (median; "
          f"{100 * min(slower):.1f} to {100 * max(slower):.1f} %)")
    return int(max(outcomes["same"]["slower"], outcomes["slower"]["passed"]) > 0.05 * options.checks)


if __name__ == "__main__":
    sys.exit(main())

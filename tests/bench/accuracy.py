#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether bf16 and channels-last cost accuracy: the same trainings with and without, seed by seed.

    accuracy.py                       LeNet, all of Fashion-MNIST, 5 epochs, 6 seeds: some minutes
    accuracy.py --seeds 3 --epochs 2 --train-samples 12800

One seed shows little: two fp32 trainings that differ by a rounding end up to a point apart. So the mean over seeds is
compared, with its standard error; the goal is a mean difference of at most 0.3 points of test accuracy. Times don't matter here, so a
busy machine will do.
"""
import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOAL = 0.3
VARIANTS = {"fp32": [], "bf16": ["--precision", "bf16"], "channels-last": ["--channels-last"]}


def accuracy(options, variant, seed):
    ran = subprocess.run([options.bin / "lockstep-trainer", "--model", options.model, "--seed", str(seed), "--epochs",
                          str(options.epochs), "--train-samples", str(options.train_samples), "--batch-size", "64", "--lr",
                          "0.02", "--frames", "/dev/null", "--summary", "-", *VARIANTS[variant]],
                         capture_output=True, text=True)
    if ran.returncode != 0:
        raise SystemExit(f"accuracy: lockstep-trainer ended {ran.returncode}: {ran.stderr.strip()}")
    return json.loads(ran.stdout)["test_accuracy"] * 100


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/bin", help="folder of the programs")
    parser.add_argument("--model", default="lenet")
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--train-samples", type=int, default=60000)
    options = parser.parse_args()
    found = {name: [] for name in VARIANTS}
    for seed in range(1, options.seeds + 1):
        for name in VARIANTS:
            found[name].append(accuracy(options, name, seed))
        print(f"seed {seed}: " + ", ".join(f"{name} {values[-1]:.2f}" for name, values in found.items()), flush=True)
    kept = True
    print("\n| | test accuracy, mean (extremes) | less fp32's, mean ± standard error | goal | kept |\n|---|---|---|---|---|")
    for name, values in found.items():
        row = f"| {name} | {statistics.mean(values):.2f} % ({min(values):.2f}-{max(values):.2f}) |"
        if name == "fp32":
            print(row + " - | - | - |")
            continue
        apart = [one - other for one, other in zip(values, found["fp32"])]
        error = statistics.stdev(apart) / math.sqrt(len(apart)) if len(apart) > 1 else math.nan
        ok = abs(statistics.mean(apart)) <= GOAL
        kept = kept and ok
        print(f"{row} {statistics.mean(apart):+.2f} ± {error:.2f} points | ±{GOAL} points | {'yes' if ok else 'NO'} |")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())

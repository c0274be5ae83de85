#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What shards in proportion to the devices' speed gain where one of two CPU devices is half as fast: DDP with even, measured and
adaptive shards in turn, while a busy loop takes half of the second device's core. Prints the verdict, then a line a run; exit code 1
if a gain is below the goal of 1.25 or parameters depend on the shards by more than rounding.
    tests/bench/uneven_shards.py BIN [REPEATS]     5 repeats unless given; about 12 s a run. Needs two cores."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

GOAL = 1.25
RECIPE = {
    "name": "uneven-shards",
    "title": "Shards for unlike devices",
    "summary": "DDP on two devices of which one is slowed, with even and uneven shards.",
    "question": "What do shards in proportion to speed gain?",
    "base": {
        "method": "ddp",
        "devices": 2,
        "model": "convnet",
        "dataset": "fashion-mnist",
        "device": "cpu",
        "epochs": 3,
        "batch_size": 64,
        "train_samples": 6400,
        "test_samples": 1000,
        "dropout": 0,
    },
    "runs": [{}, {"shards": "measured"}, {"shards": "adaptive"}],
    "reference": {"method": "ddp", "shards": "even"},
}


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    binaries, repeats = pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 5
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        print("not run: there is only one core")
        return 0
    loop = subprocess.Popen([sys.executable, "-c", "while True: pass"], preexec_fn=lambda: os.sched_setaffinity(0, {cores[1]}))
    try:
        with tempfile.TemporaryDirectory(prefix="lockstep-bench-") as folder:
            recipe = pathlib.Path(folder) / "recipe.json"
            recipe.write_text(json.dumps({**RECIPE, "repeats": repeats}))
            environment = {**os.environ, "LOCKSTEP_HOME": folder + "/home"}

            def ctl(*words):
                ran = subprocess.run([binaries / "lockstepctl", *words], env=environment, stdout=subprocess.PIPE, text=True)
                if ran.returncode != 0:
                    sys.exit(f"lockstepctl {words[0]} ended with {ran.returncode}:\n{ran.stdout}")
                return ran.stdout

            print(ctl("run", recipe))
            verdict = json.loads(ctl("compare", "--json"))
            low = []
            for run in verdict["runs"]:
                print(json.dumps({key: run.get(key) for key in ("name", "training_time_s", "speed_up", "speed_up_low", "speed_up_high")}))
                if "shards" in run["name"] and run.get("speed_up", 0) < GOAL:
                    low.append(run["name"])
            if low:
                print(f"below {GOAL}: {', '.join(low)}")
            return 1 if low else 0
    finally:
        loop.send_signal(signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main())

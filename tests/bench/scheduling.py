#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""LeNet's step by the way it is trained and Linux's scheduling policy: two CPU devices, batch 64, alone and beside compilers that keep both
cores busy half of the time. Policies and ways take turns; of a run, the faster one of its last two epochs of 200 steps counts.
    tests/bench/scheduling.py BIN [REPEATS]     some 4 s a run, 20 runs a repeat; 3 repeats unless given"""

import contextlib
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading

POLICIES = ("other", "batch")
PIPELINE = ["--method=pipeline", "--stage-layers=2,3"]
WAYS = {"DDP": ["--method=ddp"], "server": ["--method=ps-sync"],
        **{f"pipeline, {count} micro-batches": [*PIPELINE, f"--micro-batches={count}"] for count in (1, 4, 8)}}
BATCH, STEPS = 64, 200
COMPILER = ["g++", "-std=c++20", "-fsyntax-only", "-x", "c++", "-"]
PROGRAM = "#include <iostream>\n#include <map>\n#include <regex>\n"


def step_ms(binaries, folder, words):
    summary = pathlib.Path(folder) / "summary.json"
    trainer = [binaries / "lockstep-trainer", *words, "--model=lenet", "--dataset=fashion-mnist", "--device=cpu", "--devices=0,1",
               f"--batch-size={BATCH}", "--optimizer=sgd", "--lr=0.01", "--augment=affine", "--loader=batch", "--workers=0", "--epochs=3",
               f"--train-samples={BATCH * STEPS}", f"--summary={summary}"]
    ran = subprocess.run([binaries / "lockstep-agent", "run", "--nproc-per-node", "2", "--", *trainer],
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if ran.returncode != 0:
        sys.exit(f"the run ended with {ran.returncode}:\n{ran.stdout}")
    return min(epoch["duration_s"] for epoch in json.loads(summary.read_text())["epochs"][1:]) / STEPS * 1e3


@contextlib.contextmanager
def compilers():
    """One a core, each of which rests as long as it has worked."""
    over = threading.Event()

    def work():
        while not over.wait(0.4):
            subprocess.run(COMPILER, input=PROGRAM, text=True, check=True)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    binaries = pathlib.Path(sys.argv[1]).resolve()
    repeats = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    measured = {}
    with tempfile.TemporaryDirectory(prefix="lockstep-bench-") as folder:
        for _ in range(repeats):
            for beside in (contextlib.nullcontext, compilers):
                for way, words in WAYS.items():
                    for policy in POLICIES:
                        with beside():
                            took = step_ms(binaries, folder, [*words, f"--scheduling={policy}"])
                        measured.setdefault((way, beside is compilers, policy), []).append(took)
    print("| step, ms (median; least-most) | " + " | ".join(f"{policy}, {where}" for where in ("alone", "beside compilers")
                                                            for policy in POLICIES) + " |\n|---|---|---|---|---|")
    for way in WAYS:
        cells = [measured[way, busy, policy] for busy in (False, True) for policy in POLICIES]
        print(f"| {way} | " + " | ".join(f"{statistics.median(each):.2f} ({min(each):.2f}-{max(each):.2f})" for each in cells) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main())

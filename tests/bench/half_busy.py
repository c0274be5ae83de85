#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether a verdict is right when another program keeps a core busy for half of an experiment: a recipe is run with nothing beside it, and
again with a busy loop on one core until half of its runs have ended. A line that decides beside the loop is right if its interval and the
quiet one share a value; one that does not decide must say what would.
    tests/bench/half_busy.py BIN [RECIPE] [REPEATS]     lenet-dp-vs-ddp and 6 unless given; minutes, on a machine with no other load"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

DECIDED = ("worth_it", "not_worth_it", "faster", "slower", "equal")


def run(binaries, recipe, repeats, busy_until):
    """The results of the recipe with a busy loop beside it until so many of its runs have ended."""
    with tempfile.TemporaryDirectory(prefix="lockstep-bench-") as folder:
        home = pathlib.Path(folder)
        # In a session of its own, like another person's program: the kernel shares a core between sessions.
        loop = subprocess.Popen(["taskset", "-c", "0", sys.executable, "-c", "while True: pass"], start_new_session=True)
        with open(home / "out", "w+") as out:
            running = subprocess.Popen([binaries / "lockstepctl", "run", recipe, "--quick", f"--repeats={repeats}", "--json"],
                                       env={**os.environ, "LOCKSTEP_HOME": folder}, stdout=out, stderr=subprocess.DEVNULL)
            while running.poll() is None and len(list(home.glob("runs/*/result.json"))) < busy_until:
                time.sleep(0.1)
            loop.kill()
            loop.wait()
            running.wait()
            out.seek(0)
            return json.loads(out.read())["results"]


def words(speed_up):
    if not speed_up:
        return "-"
    return f"{speed_up['factor']:.3f}× ({speed_up['low']:.3f} to {speed_up['high']:.3f})" if speed_up["low"] else f"{speed_up['factor']:.3f}×"


def is_right(line, quiet):
    """Whether a line is as this file's head asks."""
    if line["outcome"] not in DECIDED:
        return " more repeat" in (line["reason"] or "") or "quiet" in (line["reason"] or "")
    ours, others = line["speed_up_training"], quiet["speed_up_training"]
    return ours["low"] <= others["high"] and others["low"] <= ours["high"]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    binaries = pathlib.Path(sys.argv[1]).resolve()
    recipe, repeats = (sys.argv[2:3] or ["lenet-dp-vs-ddp"])[0], int((sys.argv[3:4] or ["6"])[0])
    quiet = run(binaries, recipe, repeats, 0)
    busy = run(binaries, recipe, repeats, sum(row["repeats"] for row in quiet["rows"] if not row["published"]) / 2)
    right = True
    print("| line | nothing beside it | busy loop on one core for half of it | its reason | right |\n|---|---|---|---|---|")
    for before, line in zip(quiet["judgement"]["lines"], busy["judgement"]["lines"]):
        if line["outcome"] == "failed":
            continue
        good = is_right(line, before)
        right = right and good
        print(f"| {line['run']}, against {line['against']} | {before['outcome']}, {words(before['speed_up_training'])} | "
              f"{line['outcome']}, {words(line['speed_up_training'])} | {line['reason'] or '-'} | {'yes' if good else '**no**'} |")
    for pair in busy["judgement"]["pairs"]:
        if pair["adjusted_for_load"]:
            print(f"{pair['run']}: adjusted for measured load {json.dumps(pair['adjusted_for_load'])}")
    for reservation in busy["judgement"]["reservations"]:
        print(reservation)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())

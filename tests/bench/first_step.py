#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""From `lockstepctl run` to the first step of DDP on two hosts that have all they need (after sync): where the time goes, by the
stamps that the run's own log keeps. The first host's check comes before it and is shown apart.
    tests/bench/first_step.py BIN [TIMES]      Needs root. Both hosts are namespaces of this machine, ssh between them."""

import json
import pathlib
import statistics
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "e2e"))
from netns_lab import Lab  # noqa: E402

RECIPE = {
    "name": "first-step",
    "title": "First step",
    "summary": "DDP on two hosts.",
    "question": "How long until it trains?",
    "base": {"model": "lenet", "dataset": "fashion-mnist", "device": "cpu", "epochs": 1, "batch_size": 64, "train_samples": 6400},
    "runs": [{"method": "ddp", "devices": [0, 1]}],
    "repeats": 1,
}
GOAL_S = 3.0


def stamps(run, pressed):
    """Seconds after the press: what the log of both hosts says, in the order in which it happens."""
    found = {}
    for log in sorted(run.glob("node-*.ndjson")):
        for line in log.read_bytes().splitlines():
            frame = json.loads(line)
            at = frame["wall_us"] / 1e6 - pressed
            kind = frame["type"]
            if kind == "state" and "rank" not in frame and frame["state"] == "init" and frame["node"] == 0:
                found.setdefault("agent 0 is up", at)
            if kind == "log" and "nodes have joined" in frame.get("message", ""):
                found.setdefault("all agents have joined, ranks start", at)
            if kind == "state" and "rank" in frame and frame["state"] in ("init", "training"):
                key = {"init": "the last rank has met the others", "training": "the last rank trains"}[frame["state"]]
                found[key] = max(found.get(key, 0), at)
            if kind == "steps":
                found["first steps' frame"] = min(found.get("first steps' frame", at), at)
    return dict(sorted(found.items(), key=lambda item: item[1]))


def main():
    binaries, times = pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 7
    if reason := Lab.missing():
        print("not run: " + reason)
        return 0
    with tempfile.TemporaryDirectory(prefix="lockstep-lab-") as folder:
        with Lab(folder, {"hostA": "bond0", "hostB": "eno1"}, {"LOCKSTEP_TRAINER": str(binaries / "lockstep-trainer")}) as lab:
            agent = binaries / "lockstep-agent"
            nodes = f"hostA%bond0:0 agent={agent};hostB%eno1:1 agent={agent}"
            recipe = pathlib.Path(folder) / "recipe.json"
            recipe.write_text(json.dumps(RECIPE))
            table = {}
            for again in range(times + 1):
                pressed = time.time()
                ran = lab.run([binaries / "lockstepctl", "run", recipe, "--set", f"nodes={nodes}"], env=lab.laptop_environment())
                if ran.returncode != 0:
                    print(ran.stdout + ran.stderr)
                    return 1
                run = sorted((lab.laptop_home / "runs").iterdir())[-1]
                shown = stamps(run, pressed)
                if again == 0:
                    print("the first time, with the check of the devices: " + ", ".join(f"{k} {v:.2f} s" for k, v in shown.items()))
                    continue
                for key, value in shown.items():
                    table.setdefault(key, []).append(value)
    for key, values in table.items():
        print(f"{key:40} {statistics.median(values):5.2f} s  ({min(values):.2f} to {max(values):.2f})")
    first = statistics.median(table["first steps' frame"])
    print(f"goal {GOAL_S} s: {'kept' if first <= GOAL_S else 'missed'}, {len(table['agent 0 is up'])} launches")
    return 0


if __name__ == "__main__":
    sys.exit(main())

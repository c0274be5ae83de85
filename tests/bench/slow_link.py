#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""DDP of convnet or BERT over two hosts behind a throttled link, against one device, and what was forecast of it: what
docs/results.md and docs/recipes/bert-nodes.md report about slow links.
    tests/bench/slow_link.py BIN [RATE…] [--bert DIR]    RATE as tc writes it, "none" for no throttle; 1gbit and 100mbit when none is
                                                given. DIR: what lockstepctl get-data bert got. Needs root. Each host's trainer
                                                has a core of its own."""

import dataclasses
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "e2e"))
from netns_lab import Lab, tool  # noqa: E402

RECIPE = {
    "name": "slow-link",
    "title": "Slow link",
    "summary": "DDP over a throttled link.",
    "question": "What does it cost?",
    "base": {
        "model": "convnet",
        "dataset": "fashion-mnist",
        "device": "cpu",
        "epochs": 2,
        "batch_size": 64,
        "train_samples": 1280,
    },
    "runs": [{"method": "baseline", "devices": [0]}, {"method": "ddp", "devices": [0, 1]}],
    "repeats": 3,
    "reference": "baseline",
}


def bert(folder):
    """What differs from RECIPE: BERT on the texts and with the weights of that folder."""
    tuning = {"optimizer": "adamw", "lr": 5e-5, "weight_decay": 0.01, "decay_biases": False, "clip_grad_norm": 1}
    return {"model": "bert", "dataset": "sentiment", "data_dir": str(folder), "bert_dir": str(folder), "batch_size": 32,
            "train_samples": 160, "test_samples": 32, **tuning}


@dataclasses.dataclass
class SlowLink:
    lab: str  # what `lockstepctl lab` printed
    forecast: dict  # of DDP over the two: made before the runs, with its outcome
    one_device_step_s: float
    runs: str  # what `lockstepctl run` printed, the verdict among it

    def table(self):
        step, outcome = self.forecast["step_s"], self.forecast["outcome"]
        return (
            f"step of DDP on 2 devices: forecast {step['value'] * 1e3:.1f} ms ({step['low'] * 1e3:.1f} to {step['high'] * 1e3:.1f}), "
            f"measured {outcome['measured_step_s'] * 1e3:.1f} ms, off by {outcome['error'] * 100:+.1f} %\n"
            f"  of the forecast: compute {self.forecast['compute_s'] * 1e3:.1f} ms, communication "
            f"{self.forecast['communication_s'] * 1e3:.1f} ms, of it not hidden {self.forecast['exposed_s'] * 1e3:.1f} ms, "
            f"wait {self.forecast['wait_s'] * 1e3:.2f} ms; one device {self.one_device_step_s * 1e3:.1f} ms\n"
            f"speed-up: forecast {self.forecast['speed_up']['value']:.3f}"
        )


def throttle(lab, rate):
    for host in lab.hosts.values():
        words = [tool("tc"), "-n", host.namespace, "qdisc", "add", "dev", host.interface, "root", "tbf"]
        subprocess.run([*words, "rate", rate, "burst", "256k", "latency", "50ms"], check=True)


def measure(binaries, rate, repeats=3, base=None):
    """Lab, forecast and runs over a link of that rate. Raises with the program's words where one fails."""
    binaries = pathlib.Path(binaries)
    with tempfile.TemporaryDirectory(prefix="lockstep-lab-") as folder:
        environment = {"LOCKSTEP_TRAINER": str(binaries / "lockstep-trainer")}
        with Lab(folder, {"hostA": "bond0", "hostB": "eno1"}, environment) as lab:
            if rate != "none":
                throttle(lab, rate)
            agent = binaries / "lockstep-agent"
            nodes = f"hostA%bond0:0 agent={agent};hostB%eno1:1 agent={agent}"
            recipe = pathlib.Path(folder) / "recipe.json"
            recipe.write_text(json.dumps({**RECIPE, "base": {**RECIPE["base"], **(base or {})}, "repeats": repeats}))

            def ctl(*words):
                ran = lab.run([binaries / "lockstepctl", *words], env=lab.laptop_environment())
                if ran.returncode != 0:
                    raise RuntimeError(f"lockstepctl {words[0]} ended with {ran.returncode}:\n{ran.stdout}{ran.stderr}")
                return ran.stdout

            measured = ctl("lab", "--nodes", nodes)
            ctl("forecast", recipe, "--nodes", nodes)
            runs = ctl("run", recipe, "--set", f"nodes={nodes}")
            graded = json.loads(ctl("forecast", "--show", "--json"))
            row = next(row for row in graded["rows"] if row["method"] == "ddp")
            return SlowLink(measured, row, graded["one_device_step_s"], runs)


def main():
    words, base = sys.argv[1:], None
    if "--bert" in words:
        at = words.index("--bert")
        base = bert(pathlib.Path(words[at + 1]).resolve())
        del words[at:at + 2]
    binaries, rates = pathlib.Path(words[0]).resolve(), words[1:] or ["1gbit", "100mbit"]
    if reason := Lab.missing():
        print("not run: " + reason)
        return 0
    for rate in rates:
        result = measure(binaries, rate, base=base)
        print(f"== {rate}\n{result.lab}\n{result.runs}\n{result.table()}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

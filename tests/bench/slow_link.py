#!/usr/bin/env python3
"""DDP of convnet over two hosts behind a throttled link, against one device: what docs/results.md tells of slow links.
    tests/bench/slow_link.py BIN [RATE…]        RATE as tc writes it; 1gbit and 100mbit when none is given. Needs root."""

import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "e2e"))
from netns_lab import Lab, tool  # noqa: E402

RECIPE = {"name": "slow-link", "title": "Slow link", "summary": "DDP over a throttled link.", "question": "What does it cost?",
          "base": {"model": "convnet", "dataset": "fashion-mnist", "device": "cpu", "epochs": 2, "batch_size": 64, "train_samples": 1280},
          "runs": [{"method": "baseline", "devices": [0]}, {"method": "ddp", "devices": [0, 1]}], "repeats": 3, "reference": "baseline"}


def main():
    binaries, rates = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:] or ["1gbit", "100mbit"]
    if reason := Lab.missing():
        print("not run: " + reason)
        return 0
    for rate in rates:
        with tempfile.TemporaryDirectory(prefix="lockstep-lab-") as folder:
            environment = {"LOCKSTEP_TRAINER": str(binaries / "lockstep-trainer")}
            with Lab(folder, {"hostA": "bond0", "hostB": "eno1"}, environment) as lab:
                for host in lab.hosts.values():
                    subprocess.run([tool("tc"), "-n", host.namespace, "qdisc", "add", "dev", host.interface, "root", "tbf",
                                    "rate", rate, "burst", "256k", "latency", "50ms"], check=True)
                recipe = pathlib.Path(folder) / "recipe.json"
                recipe.write_text(json.dumps(RECIPE))
                agent = binaries / "lockstep-agent"
                ran = lab.run([binaries / "lockstepctl", "run", recipe, "--remote-agent", agent,
                               "--set", f"nodes=hostA%bond0:0 agent={agent};hostB%eno1:1 agent={agent}"], env=lab.laptop_environment())
                print(f"== {rate}\n{ran.stdout}{ran.stderr}", flush=True)
                if ran.returncode != 0:
                    return ran.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())

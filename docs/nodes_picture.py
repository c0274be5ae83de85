#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The picture of the Nodes page: three hosts in network namespaces, each with its own sshd, added and looked at by the doctor
as a person does it. One of them is behind a link of 1 Gbit/s.
    docs/nodes_picture.py BIN FILE.png [OPTION...]"""

import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "tests/e2e"))
from netns_lab import Lab, tool  # noqa: E402


def main():
    binaries, picture, options = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2], sys.argv[3:]
    if reason := Lab.missing():
        print("left as it is: " + reason)
        return 0
    with tempfile.TemporaryDirectory(prefix="lockstep-lab-") as folder:
        with Lab(folder, {"hostA": "bond0", "hostB": "eno1", "hostC": "eth1"}) as lab:
            host = lab.hosts["hostC"]
            subprocess.run([tool("tc"), "-n", host.namespace, "qdisc", "add", "dev", host.interface, "root", "tbf",
                            "rate", "1gbit", "burst", "256k", "latency", "50ms"], check=True)
            environment = lab.laptop_environment(QT_QPA_PLATFORM="offscreen")
            for name in lab.hosts:
                lab.run([binaries / "lockstepctl", "nodes", "add", name, "--agent", binaries / "lockstep-agent"],
                        env=environment, check=True)
            made = lab.run([binaries / "lockstep", "--screenshot", os.path.abspath(picture), "--page", "nodes", "--size",
                            "1280x1180", "--doctor", *(options or ["--light"])], env=environment)
            print(made.stdout + made.stderr, end="")
            return made.returncode


if __name__ == "__main__":
    sys.exit(main())

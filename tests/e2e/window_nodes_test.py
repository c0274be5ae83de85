#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The window over three hosts in network namespaces, each with its own sshd: e2e_window_nodes_test presses what a person
presses, on the lab's laptop; this cuts and restores the cable when it asks for that, and looks from outside whether the logs
are whole and nobody is left."""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from netns_lab import Lab  # noqa: E402


def fail(words):
    print("FAIL: " + words, file=sys.stderr)
    return 1


def check_logs(lab, run, frames):
    """Agent 0's copy and the laptop's are the second host's own log byte for byte; nothing lacks, nothing stands twice, and the
    window followed every line of both."""
    first, second = (lab.hosts[name].home / "runs" / run for name in ("hostA", "hostB"))
    here = lab.laptop_home / "runs" / run
    lines = 0
    for node, original in ((0, first / "node-0.ndjson"), (1, second / "node-1.ndjson")):
        log = original.read_bytes()
        seqs = [json.loads(line)["seq"] for line in log.splitlines()]
        if seqs != list(range(len(seqs))):
            return f"node {node}'s own log lacks lines or has some twice"
        for who, copy in (("agent 0", first), ("the laptop", here)):
            if (copy / original.name).read_bytes() != log:
                return f"{who}'s copy of node {node}'s log differs from the original"
        lines += len(seqs)
    if frames != lines:
        return f"the window followed {frames} frames, the logs hold {lines}"
    print(f"{lines} lines on two hosts, the same everywhere: 0 lost, 0 doubled")
    return ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--shots", help="a folder for pictures of every stage, light and dark, small and large")
    arguments = parser.parse_args()
    if reason := Lab.missing():
        print("skipped: " + reason)
        return 77
    binaries = pathlib.Path(arguments.bin).resolve()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="lockstep-lab-") as folder:
        with Lab(folder, {"hostA": "bond0", "hostB": "eno1", "hostC": "eth0"}) as lab:
            environment = lab.laptop_environment(
                QT_QPA_PLATFORM="offscreen",
                LOCKSTEP_LAB="1",
                LOCKSTEP_AGENT=str(binaries / "lockstep-agent"),
                LOCKSTEP_CTL=str(binaries / "lockstepctl"),
            )
            if arguments.shots:
                environment["LOCKSTEP_SHOTS"] = str(pathlib.Path(arguments.shots).resolve())
            window = lab.start([binaries / "e2e_window_nodes_test"], env=environment, stdin=subprocess.PIPE)
            run, frames = "", 0
            for line in window.stdout:
                words = line.split()
                if words[:1] == ["lab"]:
                    {"cut": lab.cut, "restore": lab.restore}[words[1]](words[2])
                    window.stdin.write("done\n")
                    window.stdin.flush()
                elif words[:1] == ["run"]:
                    run, frames = words[1], int(words[3])
                else:
                    print(line, end="", flush=True)
            errors = window.stderr.read()
            if window.wait() != 0:
                return fail("the window's own test, see above\n" + errors)
            if not run:
                return fail("the window reported no run")
            for host in lab.hosts:
                end = time.monotonic() + 15
                while (left := lab.processes(host)) and time.monotonic() < end:
                    time.sleep(0.05)
                if left:
                    return fail(f"left on {host}: {left}")
            print("0 processes left on any host")
            if wrong := check_logs(lab, run, frames):
                return fail(wrong)
    print(f"{time.monotonic() - began:.1f} s with the lab's own building")
    return 0


if __name__ == "__main__":
    sys.exit(main())

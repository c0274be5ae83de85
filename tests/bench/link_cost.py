#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the encrypted link between two nodes' agents costs: processor time of both, beside an agent that does not encrypt, in turns.

    link_cost.py BIN AGENT [--ranks 32] [--seconds 15] [--repeats 5]

AGENT is a lockstep-agent whose link is plain: one built before the link was encrypted. Each of two agents on this machine has that many
fake ranks that report every step; a step takes 50 ms.
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

TICKS = os.sysconf("SC_CLK_TCK")


def agents_of(home):
    """CPU seconds of the run's agents, by node."""
    seconds = {}
    for folder in pathlib.Path("/proc").iterdir():
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0") if folder.name.isdigit() else []
            if not words or not words[0].endswith(b"lockstep-agent") and b"agent" not in words[0]:
                continue
            if b"--node-rank" not in words or f"LOCKSTEP_HOME={home}".encode() not in (folder / "environ").read_bytes():
                continue
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        node = int(words[words.index(b"--node-rank") + 1])
        seconds[node] = seconds.get(node, 0) + (int(fields[11]) + int(fields[12])) / TICKS
    return seconds


def measured(agent, options):
    """Percent of a core that each node's agents took, and bytes a second of the log that went over the link."""
    with tempfile.TemporaryDirectory(prefix="lockstep-link-") as home:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("LOCKSTEP_")}
        environment.update(LOCKSTEP_HOME=home, FAKE_RANK="epochs=1;step_ms=50;steps=" + str(20 * (options.seconds + 15)))
        nodes = [subprocess.Popen([agent, "run", "--nnodes", "2", "--node-rank", str(node), "--run-id", "20260101T000000Z-0badcafe",
                                   "--nproc-per-node", str(options.ranks), "--interface", "lo", "--", options.bin / "fake_rank"],
                                  env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for node in (0, 1)]
        try:
            log = pathlib.Path(home) / "runs/20260101T000000Z-0badcafe/node-1.ndjson"
            until = time.monotonic() + 60
            while not log.is_file() or log.read_bytes().count(b'"steps"') < 2 * options.ranks:
                if time.monotonic() > until or any(node.poll() is not None for node in nodes):
                    raise SystemExit(f"{agent}: the ranks did not begin to train")
                time.sleep(0.2)
            before, size, start = agents_of(home), log.stat().st_size, time.monotonic()
            time.sleep(options.seconds)
            after, passed = agents_of(home), time.monotonic() - start
            return [100 * (after[node] - before[node]) / passed for node in (0, 1)] + [(log.stat().st_size - size) / passed]
        finally:
            for node in nodes:
                node.terminate()
            for node in nodes:
                node.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("agent", type=pathlib.Path)
    parser.add_argument("--ranks", type=int, default=32)
    parser.add_argument("--seconds", type=int, default=15)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    plain, encrypted = [], []
    for repeat in range(options.repeats):
        for agent, into in ((options.agent, plain), (options.bin / "lockstep-agent", encrypted)):
            into.append(measured(agent, options))
        print(f"{repeat + 1} of {options.repeats}: plain {plain[-1]}, encrypted {encrypted[-1]}", flush=True)
    print(f"| {2 * options.ranks} ranks on two nodes, one line a step and rank, {statistics.median(one[2] for one in encrypted) / 1e3:.0f} kB/s "
          "over the link | plain | encrypted | difference, median (least to most) |\n|---|---|---|---|")
    for node in (0, 1):
        before, after = [one[node] for one in plain], [one[node] for one in encrypted]
        apart = [b - a for a, b in zip(before, after)]
        print(f"| agent {node} | {statistics.median(before):.2f} % of a core | {statistics.median(after):.2f} % | "
              f"{statistics.median(apart):+.2f} ({min(apart):+.2f} to {max(apart):+.2f}) |")


if __name__ == "__main__":
    main()

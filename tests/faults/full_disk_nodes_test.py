#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The disk of the first of three nodes is full for a while: links stay, training goes on, and room made later makes every log and copy
whole.

    full_disk_nodes_test.py BUILD [unittest's arguments]"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

from chaos_hosts import INTERFACES, Hosts, in_own_mounts
from netns_lab import Lab, holds, wait_for

BUILD = None


class FirstNode(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lockstep-disks-")
        self.addCleanup(folder.cleanup)
        self.hosts = Hosts(folder.name, BUILD)
        self.addCleanup(self.hosts.close)

    def test_a_full_disk_there_cuts_no_link_and_once_there_is_room_nothing_lacks(self):
        recipe = self.hosts.write_recipe("disk", repeats=1)
        process = self.hosts.lab.start([self.hosts.bin / "lockstepctl", "run", recipe, "--remote-agent", self.hosts.bin / "lockstep-agent"],
                                       env=self.hosts.environment, stdin=subprocess.DEVNULL)

        def training():
            return next((run for run in (self.hosts.home("hostA") / "runs").glob("*") if holds(run / "node-2.ndjson", b'"type":"steps"')), None)

        run = wait_for(training, 60, "steps of the third host")
        self.hosts.fill_disk("hostA")
        time.sleep(4)
        self.hosts.empty_disk("hostA")
        out, errors = process.communicate(timeout=240)
        self.assertEqual(process.returncode, 0, out + errors)
        frames = [json.loads(line) for line in (run / "node-0.ndjson").read_text().splitlines()]
        self.assertTrue([frame for frame in frames if frame["type"] == "alert" and frame["kind"].startswith("log_")], "nobody was told")
        self.assertEqual([frame for frame in frames if frame["type"] == "link" and frame["link"] == "lost"], [])
        self.assertEqual(json.loads((run / "result.json").read_text())["state"], "done")
        for node, name in enumerate(INTERFACES):
            log = (self.hosts.home(name) / "runs" / run.name / f"node-{node}.ndjson").read_bytes()
            self.assertEqual([json.loads(line)["seq"] for line in log.splitlines()], list(range(log.count(b"\n"))))
            for copy in ("hostA", "laptop"):
                self.assertEqual((self.hosts.home(copy) / "runs" / run.name / f"node-{node}.ndjson").read_bytes(), log, f"{copy}, node {node}")


def main():
    global BUILD
    if reason := Lab.missing():
        print("skipped: " + reason)
        sys.exit(77)
    in_own_mounts()
    BUILD = pathlib.Path(sys.argv.pop(1))
    unittest.main(verbosity=2)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Somebody sets the clock of the machine back and forth while a run trains: lockstep-agent and its ranks with jumping_clock.cpp
preloaded.

    clock_test.py PRELOADED BIN [unittest's arguments]"""
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from given import BIN, PRELOADED  # noqa: E402
from waiting import wait_for  # noqa: E402


class Clock(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lockstep-clock-")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.clock = self.root / "clock"
        self.clock.write_bytes(bytes(8))
        clean = {name: value for name, value in os.environ.items() if not name.startswith("LOCKSTEP_")}
        self.environment = dict(clean, LOCKSTEP_HOME=str(self.root / "home"), FAKE_RANK="epochs=4;steps=50;step_ms=20")

    def set_clock(self, seconds):
        with open(self.clock, "r+b") as file:
            file.write(struct.pack("=q", int(seconds * 1e9)))

    def frames(self):
        log = next((self.root / "home/runs").glob("*/node-0.ndjson"), None)
        return [json.loads(line) for line in log.read_bytes().split(b"\n")[:-1]] if log else []

    def epochs(self):
        return [frame for frame in self.frames() if frame["type"] == "epoch" and frame["rank"] == 0]

    def ctl(self, *words):
        done = subprocess.run([BIN / "lockstepctl", *words], env=self.environment, capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_a_clock_that_is_set_during_a_run_raises_no_alarm_and_changes_no_time(self):
        preloaded = dict(self.environment, LD_PRELOAD=str(PRELOADED), JUMPING_CLOCK=str(self.clock))
        agent = subprocess.Popen([BIN / "lockstep-agent", "run", "--nproc-per-node", "2", "--", BIN / "fake_rank"], env=preloaded,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (agent.kill(), agent.wait(), agent.stderr.close()))
        for done, seconds in ((1, -3600), (2, 86400), (3, 0)):
            wait_for(lambda done=done: len(self.epochs()) >= done, 20, f"epoch {done}")
            self.set_clock(seconds)
        _, errors = agent.communicate(timeout=100)
        self.assertEqual(agent.returncode, 0, errors)

        frames = self.frames()
        alerts = [frame for frame in frames if frame["type"] == "alert" and not frame["kind"].startswith("disk")]
        self.assertEqual(alerts, [])
        walls = [frame["wall_us"] for frame in frames]
        self.assertTrue(any(after < before - 3e9 for before, after in zip(walls, walls[1:])), "no frame has seen the clock set back")
        self.assertEqual([frame["seq"] for frame in frames], list(range(len(frames))))
        durations = [epoch["duration_s"] for epoch in self.epochs()]
        self.assertEqual(len(durations), 4)
        for duration in durations:
            self.assertTrue(1 <= duration < 60, durations)
        (run,) = self.ctl("list", "--json")["runs"]
        self.assertEqual(run["state"], "done")
        result = json.loads((self.root / "home/runs" / run["run"] / "result.json").read_text())
        self.assertTrue(4 <= result["run_time_s"] < 240, result["run_time_s"])


if __name__ == "__main__":
    unittest.main(verbosity=2)

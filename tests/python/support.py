# SPDX-License-Identifier: MIT
"""What the tests of scripts share: a home of their own, the programs, the log of a run."""
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from waiting import wait_for  # noqa: E402, F401  (for the tests that share this)

RESOURCES = HERE.parents[1] / "resources/python"
BIN = None  # set by main()
ADDITIVE = ("load", "h2d", "forward", "backward", "exposed", "optimizer", "other")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="lockstep-python-")
        self.home = pathlib.Path(self.folder.name)
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("LOCKSTEP_")}
        self.environment.update(LOCKSTEP_HOME=str(self.home), PYTHONPATH=str(RESOURCES), PYTHONDONTWRITEBYTECODE="1")

    def tearDown(self):
        self.folder.cleanup()

    def call(self, *words, code=0, timeout=100, **environment):
        done = subprocess.run([str(word) for word in words], env={**self.environment, **environment},
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout)
        self.assertEqual(done.returncode, code, f"{words}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
        return done

    def agent(self, *words, **more):
        return self.call(BIN / "lockstep-agent", *words, **more)

    def ctl(self, *words, **more):
        return self.call(BIN / "lockstepctl", *words, **more)

    def runs(self):
        folder = self.home / "runs"
        return sorted(folder.iterdir()) if folder.is_dir() else []

    def frames(self, run):
        """Of the run's log, without what depends on the machine that runs the tests: its disk may be nearly full."""
        frames = [json.loads(line) for line in (run / "node-0.ndjson").read_text().splitlines()]
        return [frame for frame in frames if frame.get("kind") != "disk_low"]

    def check_frames(self, run, ranks, alerts=()):
        """Every line of each rank was good, none is missing, and the phases add up; these alerts were raised. Gives them by rank."""
        frames = self.frames(run)
        self.assertEqual([path.name for path in (run / "console").glob("*.bad")], [])
        self.assertEqual([frame["kind"] for frame in frames if frame["type"] == "alert"], [*alerts])
        by_rank = {rank: [f for f in frames if f.get("rank") == rank and "rseq" in f] for rank in range(ranks)}
        for sent in by_rank.values():
            self.assertEqual([frame["rseq"] for frame in sent], list(range(len(sent))))
            for epoch in (frame for frame in sent if frame["type"] == "epoch"):
                windows = [f for f in sent if f["type"] == "steps" and f["epoch"] == epoch["epoch"] and f["count"]]
                self.assertEqual(sum(window["count"] for window in windows), epoch["steps"])
                self.assertEqual(sum(window["samples"] for window in windows), epoch["samples"])
                whole = sum(epoch["phases"][name]["sum_s"] for name in ADDITIVE if name in epoch["phases"])
                self.assertAlmostEqual(whole, epoch["duration_s"], delta=1e-6)
                for before, after in zip(windows, windows[1:]):
                    self.assertEqual(after["first_step"], before["last_step"] + 1)
        return by_rank

    def result(self, run):
        return json.loads((run / "result.json").read_text())


def main():
    global BIN
    import support  # the tests' own copy of this module, when this is __main__'s

    support.BIN = BIN = pathlib.Path(sys.argv.pop(1))
    unittest.main(verbosity=2)

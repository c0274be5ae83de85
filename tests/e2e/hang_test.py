#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Two real ranks over Gloo, one of which is stopped: the run itself names it, lockstepctl shows it, and the run goes on with it."""
import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
from small_data import write_small_data  # noqa: E402
from waiting import wait_for  # noqa: E402

arguments = None
HANG_AFTER_S = 2


class Hang(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lockstep-hang-")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("LOCKSTEP_")}
        self.environment.update(LOCKSTEP_HOME=str(self.root / "home"), LOCKSTEP_TRAINER=arguments.trainer)

    def ctl(self, *words):
        ran = subprocess.run([pathlib.Path(arguments.bin) / "lockstepctl", *words], env=self.environment, capture_output=True,
                             text=True, timeout=100, stdin=subprocess.DEVNULL)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        return ran.stdout

    def begin(self):
        base = {"model": "lenet", "dataset": "fashion-mnist", "data_dir": str(write_small_data(self.root / "data")),
                "device": "cpu", "epochs": 400, "batch_size": 24, "train_samples": 1200, "oversubscribe": True,
                "hang_after": HANG_AFTER_S}
        recipe = self.root / "recipe.json"
        recipe.write_text(json.dumps({"name": "hang", "title": "Hang", "summary": "Hang.", "question": "Who does not come?",
                                      "base": base, "runs": [{"method": "ddp", "devices": [0, 1]}], "repeats": 1}))
        experiment = json.loads(self.ctl("run", str(recipe), "--detach", "--json"))["experiment"]
        self.addCleanup(self.ctl, "stop", experiment)
        return experiment

    def frames(self, kind):
        return [frame for log in (self.root / "home/runs").glob("*/node-0.ndjson")
                for frame in map(json.loads, log.read_text().splitlines()[:-1]) if frame["type"] == kind]

    def alert(self, kind):
        return next((frame["message"] for frame in self.frames("alert") if frame["kind"] == kind), None)

    def test_a_rank_that_is_stopped_is_named_and_the_run_goes_on_with_it(self):
        self.begin()
        wait_for(lambda: {frame["rank"] for frame in self.frames("steps")} == {0, 1}, 60, "steps of both ranks")
        pid = next(frame["pid"] for frame in self.frames("state") if frame.get("rank") == 1 and "pid" in frame)
        os.kill(pid, signal.SIGSTOP)
        self.addCleanup(os.kill, pid, signal.SIGCONT)
        message = wait_for(lambda: self.alert("hang"), 60, "the alert")
        self.assertRegex(message, r"^rank 0 has waited for \d+ s in collective \d+ \(step \d+, phase (exposed|load|backward)\); "
                                  r"rank 1 has not come: ")
        self.assertIn("its process is stopped (by SIGSTOP or a debugger)", message)
        places = wait_for(lambda: [frame["message"] for frame in self.frames("log") if frame.get("source") == "stack"][1:], 20,
                          "where rank 0 is, unasked")
        self.assertRegex(places[0], r"^  step \d+, phase (exposed|load|backward) for \d+ s, in collective \d+ for \d+ s$")
        run = next((self.root / "home/runs").iterdir()).name
        self.assertIn("! " + message, self.ctl("show", run))
        os.kill(pid, signal.SIGCONT)
        wait_for(lambda: self.alert("hang_over"), 60, "that the ranks go on")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--trainer", required=True)
    arguments, words = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *words], verbosity=2)

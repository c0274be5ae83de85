# SPDX-License-Identifier: MIT
"""Runs of two real ranks on this machine, in a home of the test's own."""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
from small_data import write_small_data  # noqa: E402
from waiting import processes_of, wait_for  # noqa: E402

arguments = None


class OneMachine(unittest.TestCase):
    """A queue's owner, an agent and lockstep-trainer, as a person has them."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lockstep-e2e-")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        # Who still ends a run may write into its folder while that is removed.
        self.addCleanup(lambda: wait_for(lambda: not processes_of(self.root / "home"), 30, "the end of all processes"))
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("LOCKSTEP_")}
        self.environment.update(LOCKSTEP_HOME=str(self.root / "home"), LOCKSTEP_TRAINER=arguments.trainer)

    def ctl(self, *words):
        ran = subprocess.run([pathlib.Path(arguments.bin) / "lockstepctl", *words], env=self.environment, capture_output=True,
                             text=True, timeout=200, stdin=subprocess.DEVNULL)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        return ran.stdout

    def begin(self, *words, **config):
        """The id of an experiment with one run of DDP on two devices, which goes on in the background."""
        base = {"model": "lenet", "dataset": "fashion-mnist", "data_dir": write_small_data(self.root / "data"), "device": "cpu",
                "batch_size": 24, "train_samples": 1200, "oversubscribe": True, **config}
        recipe = self.root / "recipe.json"
        recipe.write_text(json.dumps({"name": "one-machine", "title": "One machine", "summary": "Two ranks.",
                                      "question": "What becomes of it?", "base": base,
                                      "runs": [{"method": "ddp", "devices": [0, 1]}], "repeats": 1}))
        return json.loads(self.ctl("run", str(recipe), "--detach", "--json", *words))["experiment"]

    def frames(self, run, *kinds):
        """Whole frames of these types in the run's log so far; none if there is no log yet."""
        log = self.root / "home/runs" / run / "node-0.ndjson"
        lines = log.read_text().splitlines()[:-1] if log.exists() else []
        return [frame for frame in map(json.loads, lines) if frame["type"] in kinds]

    def only_run(self, experiment):
        """The run's id; absent until it is launched."""
        kept = json.loads((self.root / "home/experiments" / experiment / "experiment.json").read_text())
        return next((entry["run"] for entry in kept["entries"] if entry.get("run")), None)


def main():
    global arguments
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--trainer", required=True)
    arguments, words = parser.parse_known_args()
    unittest.main(module="__main__", argv=[sys.argv[0], *words], verbosity=2)

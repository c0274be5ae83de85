#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Real ranks, one of which is killed: the run starts them again from its own checkpoint, ends with the bits of an undisturbed one, and
says everywhere what happened."""
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


class Restarts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lockstep-restarts-")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("LOCKSTEP_")}
        self.environment.update(LOCKSTEP_HOME=str(self.root / "home"), LOCKSTEP_TRAINER=arguments.trainer, LOCKSTEP_STEP_WINDOW_MS="0")

    def ctl(self, *words):
        ran = subprocess.run([pathlib.Path(arguments.bin) / "lockstepctl", *words], env=self.environment, capture_output=True,
                             text=True, timeout=200, stdin=subprocess.DEVNULL)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        return ran.stdout

    def recipe(self, **more):
        base = {"model": "lenet", "dataset": "fashion-mnist", "data_dir": str(write_small_data(self.root / "data")),
                "device": "cpu", "epochs": 12, "batch_size": 24, "train_samples": 1200, "oversubscribe": True, **more}
        path = self.root / "recipe.json"
        path.write_text(json.dumps({"name": "restarts", "title": "Restarts", "summary": "Restarts.", "question": "Does it go on?",
                                    "base": base, "runs": [{"method": "ddp", "devices": [0, 1]}], "repeats": 1}))
        return str(path)

    def frames(self, run, kind):
        log = self.root / "home/runs" / run / "node-0.ndjson"
        lines = log.read_text().splitlines()[:-1] if log.exists() else []
        return [frame for frame in map(json.loads, lines) if frame["type"] == kind]

    def result(self, run):
        return json.loads((self.root / "home/runs" / run / "result.json").read_text())

    def only_run(self, experiment):
        def found():
            kept = json.loads((self.root / "home/experiments" / experiment / "experiment.json").read_text())
            return next((entry["run"] for entry in kept["entries"] if entry.get("run")), None)
        return wait_for(found, 60, "the run's id")

    def begin(self, *words, **config):
        return json.loads(self.ctl("run", self.recipe(**config), "--detach", "--json", *words))["experiment"]

    def undisturbed(self):
        """The last parameters' checksum of a run in which no rank fails."""
        experiment = self.begin()
        self.ctl("attach", experiment)
        return self.result(self.only_run(experiment))["summary"]["parameters_sha256"]

    def test_a_rank_killed_in_any_phase_is_named_and_the_run_goes_on_to_the_same_end(self):
        expected = self.undisturbed()
        phases = (("init", None), ("training", 1), ("evaluating", 1), ("checkpointing", 2), ("evaluating", 3))
        experiment = self.begin(max_restarts=len(phases))
        run = self.only_run(experiment)
        for number, (state, epoch) in enumerate(phases):
            def reached():
                """The states of rank 1 since it was started for the last time, once that one is among them."""
                states = [frame for frame in self.frames(run, "state") if frame.get("rank") == 1]
                begun = [place for place, frame in enumerate(states) if frame["state"] == "init"]
                if len(begun) != number + 1:
                    return None
                own = states[begun[-1]:]
                return own if any(one["state"] == state and one.get("epoch") == epoch for one in own) else None
            pid = wait_for(reached, 60, f"{state} of epoch {epoch}")[0]["pid"]
            os.kill(pid, signal.SIGKILL)
        self.ctl("attach", experiment)
        result = self.result(run)
        self.assertEqual((result["state"], result["summary"]["parameters_sha256"]), ("done", expected))
        restarts = [frame["message"] for frame in self.frames(run, "alert") if frame["kind"] == "restart"]
        self.assertEqual(len(restarts), len(phases))
        for message in restarts:
            self.assertRegex(message, r"since rank 1 .*SIGKILL")

    def test_a_run_whose_rank_is_killed_ends_like_an_undisturbed_one_and_says_so(self):
        expected = self.undisturbed()
        heard = self.root / "heard"
        command = f'echo "$LOCKSTEP_ALERT_KIND $LOCKSTEP_ALERT_TITLE" >> {heard}'
        experiment = self.begin("--on-alert", command, max_restarts=2)
        run = self.only_run(experiment)
        wait_for(lambda: any(frame["epoch"] == 3 for frame in self.frames(run, "steps")), 60, "the third epoch")
        pid = next(frame["pid"] for frame in self.frames(run, "state") if frame.get("rank") == 1 and "pid" in frame)
        os.kill(pid, signal.SIGKILL)
        self.ctl("attach", experiment)

        result = self.result(run)
        self.assertEqual((result["state"], result["summary"]["parameters_sha256"]), ("done", expected))
        self.assertEqual([epoch["epoch"] for epoch in result["summary"]["epochs"]], list(range(1, 13)))
        (restart,) = [frame["message"] for frame in self.frames(run, "alert") if frame["kind"] == "restart"]
        self.assertRegex(restart, r"^all ranks are started again, 1 of 2 times, since rank 1 .*SIGKILL")
        first = [frame["first_step"] for frame in self.frames(run, "steps") if frame["rank"] == 0]
        (back,) = [after for before, after in zip(first, first[1:]) if after <= before]
        self.assertEqual((back > 0, back % 50), (True, 0))  # a whole epoch's checkpoint: the newest when the rank was killed
        self.assertIn("! " + restart, self.ctl("show", run))
        wait_for(lambda: heard.exists() and "restart DDP on 2 devices\n" in heard.read_text(), 20, "the user's own command")
        verdict = json.loads(self.ctl("compare", run, "--json"))
        self.assertIn("ranks failed and were started again in repeat 1", json.dumps(verdict))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--trainer", required=True)
    arguments, words = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *words], verbosity=2)

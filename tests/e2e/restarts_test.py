#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Real ranks, one of which is killed: the run starts them again from its own checkpoint, ends with the bits of an undisturbed one, and
says everywhere what happened."""
import json
import os
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
from one_machine import OneMachine, main  # noqa: E402
from waiting import wait_for  # noqa: E402


class Restarts(OneMachine):
    def setUp(self):
        super().setUp()
        self.environment["LOCKSTEP_STEP_WINDOW_MS"] = "0"

    def start(self, *words, **config):
        """Experiment and run."""
        experiment = self.begin(*words, **{"epochs": 12, **config})
        return experiment, wait_for(lambda: self.only_run(experiment), 60, "the run's id")

    def result(self, run):
        return json.loads((self.root / "home/runs" / run / "result.json").read_text())

    def steps_by_start(self, run):
        """The steps at which rank 0's frames begin, of each of its processes."""
        starts = []
        for frame in self.frames(run, "state", "steps"):
            if frame.get("rank") == 0 and frame["type"] == "state" and "pid" in frame:
                starts.append([])
            elif frame.get("rank") == 0 and frame["type"] == "steps":
                starts[-1].append(frame["first_step"])
        return starts

    def undisturbed(self, **config):
        """The last parameters' checksum of a run in which no rank fails."""
        experiment, run = self.start(**config)
        self.ctl("attach", experiment)
        return self.result(run)["summary"]["parameters_sha256"]

    def test_a_rank_killed_in_any_phase_is_named_and_the_run_goes_on_to_the_same_end(self):
        epochs = 150  # so many that the last kill, however late, comes before the end
        expected = self.undisturbed(epochs=epochs)
        phases = (("init", None), ("training", 1), ("evaluating", 1), ("checkpointing", 2), ("evaluating", 3))
        experiment, run = self.start(max_restarts=len(phases), epochs=epochs)
        for number, (state, epoch) in enumerate(phases):
            def reached():
                """The states of rank 1 since it was started for the last time, once that one or one of a later epoch is among them: where the
                last kill came late, the run goes on from later."""
                states = [frame for frame in self.frames(run, "state") if frame.get("rank") == 1]
                begun = [place for place, frame in enumerate(states) if frame["state"] == "init"]
                if len(begun) != number + 1:
                    return None
                own = states[begun[-1]:]
                return own if any(one["state"] == state and one.get("epoch", 0) >= (epoch or 0) for one in own) else None
            pid = wait_for(reached, 60, f"{state} of epoch {epoch}")[0]["pid"]
            os.kill(pid, signal.SIGKILL)
        self.ctl("attach", experiment)
        result = self.result(run)
        self.assertEqual((result["state"], result["summary"]["parameters_sha256"]), ("done", expected))
        restarts = [frame["message"] for frame in self.frames(run, "alert") if frame["kind"] == "restart"]
        self.assertEqual(len(restarts), len(phases))
        for message in restarts:
            self.assertRegex(message, r"since rank 1 .*SIGKILL")

    def test_a_loss_that_is_not_finite_ends_the_run_without_restarts_that_would_come_to_it_again(self):
        experiment, run = self.start(max_restarts=2, lr=1e30)
        path = self.root / "home/runs" / run / "result.json"
        wait_for(path.exists, 100, "the run's end")
        result = self.result(run)
        self.assertEqual(result["state"], "failed", experiment)
        self.assertRegex(result["reason"], "training stopped because the loss of rank [01] is .*--on-nonfinite rollback or continue")
        self.assertEqual([frame for frame in self.frames(run, "alert") if frame["kind"] == "restart"], [])

    def test_a_run_whose_rank_is_killed_ends_like_an_undisturbed_one_and_says_so(self):
        expected = self.undisturbed()
        heard = self.root / "heard"
        command = f'echo "$LOCKSTEP_ALERT_KIND $LOCKSTEP_ALERT_TITLE" >> {heard}'
        experiment, run = self.start("--on-alert", command, max_restarts=2)
        wait_for(lambda: any(frame["epoch"] == 3 for frame in self.frames(run, "steps")), 60, "the third epoch")
        pid = next(frame["pid"] for frame in self.frames(run, "state") if frame.get("rank") == 1 and "pid" in frame)
        os.kill(pid, signal.SIGKILL)
        self.ctl("attach", experiment)

        result = self.result(run)
        self.assertEqual((result["state"], result["summary"]["parameters_sha256"]), ("done", expected))
        self.assertEqual([epoch["epoch"] for epoch in result["summary"]["epochs"]], list(range(1, 13)))
        (restart,) = [frame["message"] for frame in self.frames(run, "alert") if frame["kind"] == "restart"]
        self.assertRegex(restart, r"^all ranks are started again, 1 of 2 times, since rank 1 .*SIGKILL")
        first, again = self.steps_by_start(run)
        back = again[0]
        self.assertTrue(0 < back <= first[-1] + 1, f"{first[-1]}, then {back}")
        self.assertEqual(back % 50, 0)  # a whole epoch's checkpoint: the newest when the rank was killed
        self.assertIn("! " + restart, self.ctl("show", run))
        wait_for(lambda: heard.exists() and "restart DDP on 2 devices\n" in heard.read_text(), 20, "the user's own command")
        verdict = json.loads(self.ctl("compare", run, "--json"))
        self.assertIn("ranks failed and were started again in repeat 1", json.dumps(verdict))


if __name__ == "__main__":
    main()

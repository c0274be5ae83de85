#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The callbacks for Lightning, Hugging Face's Trainer and Accelerate, with the real libraries."""
import json
import re
import subprocess
import sys

import support
from support import HERE, Case, wait_for

STEPS, EPOCHS = 10, 2  # of an epoch of 160 samples in batches of 16


class Libraries(Case):
    def trained(self, script, *options):
        """What a script printed, rank 0's frames, and the run's summary."""
        done = self.agent("run", *options, "--", sys.executable, HERE / "libraries" / script, self.home / "events")
        (run,) = self.runs()
        sent = self.check_frames(run, 1)[0]
        epochs = [frame for frame in sent if frame["type"] == "epoch"]
        self.assertEqual([(epoch["steps"], epoch["samples"]) for epoch in epochs], [(STEPS, 160)] * EPOCHS)
        for phase in ("load", "forward", "backward", "optimizer"):
            self.assertGreater(min(epoch["phases"][phase]["sum_s"] for epoch in epochs), 0, phase)
        states = [frame["state"] for frame in sent if frame["type"] == "state"]
        self.assertEqual((states[0], states[-1]), ("init", "done"))
        said = re.search(r'\{"losses".*', done.stdout)  # Hugging Face prints dictionaries, too
        return json.loads(said[0]), sent, self.result(run)["summary"]

    def about(self, sent):
        return {key: value for frame in sent for key, value in frame.get("about", {}).items()}

    def last_loss(self, sent):
        return [frame for frame in sent if frame["type"] == "steps" and frame["count"]][-1]["loss"]["last"]

    def values(self, sent, name):
        return [frame["scalars"][name] for frame in sent if frame["type"] == "steps" and name in frame.get("scalars", {})]

    def check_lightning(self, *options):
        said, sent, summary = self.trained("lightning_fit.py", *options)
        about = self.about(sent)
        self.assertEqual((about["method"], about["model"], about["epochs"], about["batch_size"]), ("baseline", "Small", EPOCHS, 16))
        self.assertAlmostEqual(self.last_loss(sent), said["losses"][-1], places=6)
        losses = self.values(sent, "train_loss")
        self.assertEqual(sum(each["weight"] for each in losses), 2 * EPOCHS)  # every fifth step, once: not once more by its logger
        self.assertAlmostEqual(losses[-1]["last"], said["losses"][-1], places=6)
        accuracies = self.values(sent, "val_accuracy")
        self.assertEqual(sum(each["weight"] for each in accuracies), EPOCHS)  # without the check before training
        self.assertAlmostEqual(accuracies[-1]["last"], said["accuracy"], places=6)
        self.assertAlmostEqual(summary["metrics"]["val_accuracy"], said["accuracy"], places=6)

    def test_lightning_reports_its_steps_and_what_the_module_logs(self):
        self.check_lightning()

    def test_beside_auto_nothing_is_counted_twice(self):
        self.check_lightning("--auto")

    def test_hugging_faces_trainer_reports_its_steps_and_what_it_logs(self):
        said, sent, _ = self.trained("hf_train.py")
        about = self.about(sent)
        self.assertEqual((about["method"], about["model"], about["epochs"], about["batch_size"]), ("baseline", "Small", EPOCHS, 16))
        losses = self.values(sent, "loss")
        self.assertEqual(sum(each["weight"] for each in losses), len(said["losses"]))
        self.assertAlmostEqual(losses[-1]["last"], said["losses"][-1], places=3)
        self.assertAlmostEqual(self.values(sent, "eval_loss")[-1]["last"], said["eval_loss"][-1], places=3)
        self.assertEqual(self.values(sent, "epoch"), [])

    def test_accelerates_tracker_reports_what_the_script_logs(self):
        said, sent, summary = self.trained("accelerate_loop.py")
        about = self.about(sent)
        self.assertEqual((about["method"], about["epochs"], about["lr"]), ("baseline", EPOCHS, 0.1))
        self.assertEqual(about["batch_size"], 16)  # as it was seen, whatever the configuration says
        self.assertAlmostEqual(self.last_loss(sent), said["losses"][-1], places=6)
        self.assertEqual([round(each["last"], 6) for each in self.values(sent, "accuracy")], [round(each, 6) for each in said["accuracies"]])
        self.assertNotIn("note", summary["metrics"])

    def check_stop(self, *options):
        """The frames of the runs that were stopped."""
        for script in ("lightning_fit.py", "hf_train.py"):
            before = len(self.runs())
            agent = subprocess.Popen([support.BIN / "lockstep-agent", "run", *options, "--", sys.executable, HERE / "libraries" / script,
                                      self.home / "events", "100000"], env=self.environment, stdout=subprocess.PIPE, text=True)
            self.addCleanup(agent.kill)
            wait_for(lambda: len(self.runs()) > before, 20, "the run")
            run = self.runs()[-1]
            log = run / "node-0.ndjson"
            wait_for(lambda: log.exists() and '"steps"' in log.read_text(), 60, "its first steps")
            self.agent("stop", run.name)
            said, _ = agent.communicate(timeout=120)
            self.assertIn('{"losses"', said)
            self.assertEqual(self.result(run)["state"], "stopped")
            self.assertEqual(self.frames(run)[-1]["state"], "stopped")
            yield self.frames(run)

    def test_a_stop_ends_the_librarys_training_and_the_script_goes_on_to_its_end(self):
        self.assertEqual(len([*self.check_stop()]), 2)

    def test_a_stop_ends_all_ranks_with_the_same_step(self):
        for frames in self.check_stop("--nproc-per-node", "2"):
            steps = [sum(frame["count"] for frame in frames if frame["type"] == "steps" and frame["rank"] == rank) for rank in (0, 1)]
            self.assertGreater(steps[0], 0)
            self.assertEqual(steps[0], steps[1])

    def test_without_an_address_a_callback_does_nothing(self):
        done = self.call(sys.executable, HERE / "libraries/accelerate_loop.py")
        self.assertNotIn("lockstep", done.stderr)
        self.assertIn("losses", done.stdout)
        self.assertEqual(self.runs(), [])


if __name__ == "__main__":
    support.main()

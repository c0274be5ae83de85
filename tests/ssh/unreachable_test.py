#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A queue over this machine and another one, through a real sshd that is switched off and on again between its runs."""

import argparse
import json
import pathlib
import sys
import tempfile
import unittest

sys.path[:0] = [str(pathlib.Path(__file__).parent), str(pathlib.Path(__file__).resolve().parents[1])]
from lab_hosts import Lab, run_tests  # noqa: E402
from waiting import wait_for  # noqa: E402

arguments = None
LIMIT_S = 30


class Unreachable(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lockstep-unreachable-")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        ranks = {"LOCKSTEP_TRAINER": arguments.fake_rank, "FAKE_RANK": "epochs=1;steps=40;step_ms=50"}
        self.lab = Lab(self.root, arguments.bin)
        self.addCleanup(self.lab.stop)
        self.lab.environment.update(ranks)
        self.box = self.lab.add("box", ranks)
        nodes = f".%lo:0;box%lo:0 agent={self.lab.bin / 'lockstep-agent'}"
        recipe = {"name": "two", "title": "Two nodes", "summary": "A rank on each.", "question": "Is box there?", "repeats": 3,
                  "base": {"model": "lenet", "dataset": "fashion-mnist", "device": "cpu", "epochs": 1, "batch_size": 64,
                           "train_samples": 640, "oversubscribe": True, "nodes": nodes},
                  "runs": [{"method": "ddp", "devices": [0, 1]}]}
        (self.root / "two.json").write_text(json.dumps(recipe))

    def start(self):
        said = self.lab.ctl("run", str(self.root / "two.json"), "--detach", "--json", "--no-check")
        self.assertEqual(said.returncode, 0, said.stderr)
        return json.loads(said.stdout)["experiment"]

    def queue(self, experiment):
        said = self.lab.ctl("queue", experiment, "--json")
        self.assertEqual(said.returncode, 0, said.stderr)
        return json.loads(said.stdout)

    def entries(self, experiment):
        return self.queue(experiment)["entries"]

    def wait(self, experiment, what, holds):
        wait_for(lambda: holds(self.entries(experiment)), LIMIT_S, what, lambda: f"; the queue is {self.entries(experiment)}")
        return self.entries(experiment)

    def queue_that_waits_for_box(self):
        """Its first run goes on without ssh, and its second can't start."""
        experiment = self.start()
        self.wait(experiment, "the first run", lambda entries: entries[0]["state"] == "running")
        self.box.stop()
        entries = self.wait(experiment, "the second run waits", lambda entries: "tried again" in entries[1]["reason"])
        self.assertRegex(entries[1]["reason"], r"^node 1 \(box\): box can't be reached: .*; it is tried again until \d\d:\d\d$")
        self.assertEqual([entry["state"] for entry in entries], ["done", "launching", "queued"])
        return experiment

    def test_a_node_that_comes_back_finds_the_queue_waiting(self):
        experiment = self.queue_that_waits_for_box()
        self.box.start()
        entries = self.wait(experiment, "the end", lambda entries: entries[-1]["state"] == "done")
        self.assertEqual([(entry["state"], entry["reason"]) for entry in entries], [("done", "")] * 3)

    def test_a_queue_that_waits_can_be_skipped_and_stopped_and_leaves_no_run_behind(self):
        experiment = self.queue_that_waits_for_box()
        self.assertEqual(self.lab.ctl("skip", experiment, "2").returncode, 0)
        self.wait(experiment, "the third run waits", lambda entries: "tried again" in entries[2]["reason"])
        self.assertEqual(self.lab.ctl("stop", experiment).returncode, 0)
        entries = self.wait(experiment, "its end", lambda entries: entries[2]["state"] == "stopped")
        self.assertRegex(entries[1]["reason"], "^skipped by ")
        self.assertRegex(entries[2]["reason"], "^stopped by ")
        self.assertEqual([entry["run"] for entry in entries[1:]], ["", ""])
        runs = [folder.name for folder in (self.lab.here / "runs").iterdir()]
        self.assertEqual(runs, [entries[0]["run"]])

    def test_what_an_unknown_node_kept_from_running_is_queued_again_by_one_word(self):
        self.box.stop()
        experiment = self.start()
        entries = self.wait(experiment, "the refusal", lambda entries: entries[0]["state"] == "failed")
        self.assertRegex(entries[0]["reason"], r"^node 1 \(box\): box can't be reached")
        self.assertEqual([entry["reason"] for entry in entries[1:]], [f"not started: {entries[0]['name']} was refused"] * 2)
        self.box.start()
        wait_for(lambda: not self.queue(experiment)["owned"], LIMIT_S, "the owner's end")
        said = self.lab.ctl("retry", experiment)
        self.assertEqual(said.returncode, 0, said.stderr)
        entries = self.wait(experiment, "the end", lambda entries: entries[-1]["state"] == "done")
        self.assertEqual([(entry["state"], entry["reason"]) for entry in entries], [("done", "")] * 3)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--fake-rank", required=True)
    arguments, words = parser.parse_known_args()
    sys.exit(run_tests(words))

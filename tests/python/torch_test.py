#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The examples and DDP's buckets on real PyTorch: under lockstep-agent, torchrun and plain python, and by a recipe."""
import json
import sys

import support
from support import HERE, RESOURCES, Case

STUDY = RESOURCES / "examples/lenet_study.py"
SMALL = ["--train-samples", "640", "--epochs", "1"]


class Torch(Case):
    def test_the_hook_leaves_every_bit_of_ddp_as_it_is(self):
        for ranks in (2, 3):  # three: there the sums depend on the buckets' layout, and 1/3 is no exact number
            with self.subTest(ranks=ranks):
                before = self.runs()
                said = self.agent("run", "--nproc-per-node", ranks, "--", sys.executable, HERE / "ddp_bits.py").stdout
                self.assertEqual(said.count("bit-equal"), ranks)
                (run,) = set(self.runs()) - set(before)
                for sent in self.check_frames(run, ranks).values():
                    (epoch,) = [frame for frame in sent if frame["type"] == "epoch"]
                    phases = epoch["phases"]
                    self.assertNotIn("wait", phases)  # not asked for
                    self.assertGreater(phases["exposed"]["sum_s"], 0)
                    self.assertGreater(phases["backward"]["sum_s"], 0)
                    # The last bucket's way lies behind backward; the others' may lie inside it.
                    self.assertGreater(phases["comm"]["sum_s"], 0)
                    longest = phases["backward"]["sum_s"] + phases["exposed"]["sum_s"]
                    self.assertLessEqual(phases["comm"]["sum_s"], longest)

    def test_who_waits_for_whom_is_told_when_asked_for(self):
        said = self.agent("run", "--nproc-per-node", 2, "--", sys.executable, HERE / "ddp_bits.py", "wait").stdout
        self.assertEqual(said.count("bit-equal"), 2)
        by_rank = self.check_frames(self.runs()[0], 2)
        fast, slow = ([f for f in by_rank[rank] if f["type"] == "epoch"][0]["phases"] for rank in (0, 1))
        # Rank 1 sleeps 20 ms in each of 12 steps; the first one's wait is unknown.
        self.assertGreater(fast["wait"]["sum_s"], 0.15)
        self.assertLess(fast["wait"]["sum_s"], fast["exposed"]["sum_s"])
        self.assertLess(slow["wait"]["sum_s"], fast["wait"]["sum_s"] / 4)

    def test_a_rank_that_is_not_shown_takes_part_in_the_exchange_of_waiting_times(self):
        ran = self.agent("run", "--nproc-per-node", 2, "--", sys.executable, HERE / "ddp_bits.py", "wait", "cut")
        self.assertEqual(ran.stdout.count("bit-equal"), 2)
        self.assertIn("rank 1 is no longer shown", ran.stdout + ran.stderr)

    def test_the_study_by_a_recipe_of_ours(self):
        path = self.home / "study.json"
        command = ["{python:torch,torchvision}", "{scripts}/examples/lenet_study.py", "--mode", "DDP", "--no-affine",
                   "--train-samples", "{train_samples}", "--epochs", "{epochs}", "--batch-size", "{batch_size}"]
        path.write_text(json.dumps({"name": "study", "runs": [
            {"name": "study", "method": "ddp", "devices": 2, "loader": "item", "train_samples": 640, "epochs": 1,
             "oversubscribe": True, "command": command}]}))
        done = self.ctl("run", path, "--json", LOCKSTEP_PYTHON=sys.executable,
                        LOCKSTEP_AGENT=str(support.BIN / "lockstep-agent"))
        self.assertIn(f"scripts run with {sys.executable} (found by LOCKSTEP_PYTHON)", done.stderr)
        (row,) = json.loads(done.stdout)["results"]["rows"]
        self.assertEqual((row["method"], row["backend"], row["workers"], row["devices"]), ("ddp", "gloo", 0, 2))
        self.assertEqual(row["notes"], ["not comparable: oversubscribed"])  # nothing that contradicts the recipe
        self.assertGreater(row["test_accuracy"], 0.1)
        self.assertEqual(len(row["per_class_accuracy"]), 10)
        sent = self.check_frames(self.home / "runs" / row["runs"][0], 2)
        (epoch,) = [frame for frame in sent[1] if frame["type"] == "epoch"]
        self.assertEqual((epoch["samples"], epoch["steps"]), (320, 10))
        for phase in ("load", "forward", "backward", "exposed", "optimizer", "comm"):
            self.assertGreater(epoch["phases"][phase]["sum_s"], 0, phase)
        (evaluated,) = [frame for frame in sent[0] if frame["type"] == "eval"]
        self.assertEqual(evaluated["samples"], 10000)

    def test_the_study_under_torchrun_and_plain_python(self):
        torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
        for words in ([*torchrun, STUDY, "--mode", "DDP"], [sys.executable, STUDY, "--num-workers", "1"]):
            done = self.call(*words, *SMALL)
            self.assertIn("epoch 1:", done.stdout)
            self.assertNotIn("lockstep", done.stderr)
        self.assertEqual(self.runs(), [])

    def test_few_lines_are_enough(self):
        self.agent("run", "--", sys.executable, RESOURCES / "examples/few_lines.py")
        sent = self.check_frames(self.runs()[0], 1)[0]
        losses = [frame["loss"]["mean"] for frame in sent if frame["type"] == "steps"]
        self.assertLess(losses[-1], losses[0] / 10)
        self.assertEqual(self.result(self.runs()[0])["summary"]["model"], "sine")


if __name__ == "__main__":
    support.main()

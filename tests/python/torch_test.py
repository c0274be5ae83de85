#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The examples and DDP's buckets on real PyTorch: under lockstep-agent, torchrun and plain python, and by a recipe."""
import json
import sys

import support
from small_data import write_small_data
from support import HERE, RESOURCES, Case

STUDY = RESOURCES / "examples/lenet_study.py"
TESTED = 301  # images, which two ranks can't share evenly


class Torch(Case):
    def bits(self, ranks, *words):
        """What ddp_bits.py printed, and each rank's frames."""
        ran = self.agent("run", "--nproc-per-node", ranks, "--", sys.executable, HERE / "ddp_bits.py", *words)
        return ran, self.check_frames(self.runs()[0], ranks)

    def check_phases(self, epoch):
        phases = epoch["phases"]
        self.assertNotIn("wait", phases)  # not asked for
        self.assertGreater(phases["exposed"]["sum_s"], 0)
        self.assertGreater(phases["backward"]["sum_s"], 0)
        # The last bucket's way lies behind backward; the others' may lie inside it.
        self.assertGreater(phases["comm"]["sum_s"], 0)
        self.assertLessEqual(phases["comm"]["sum_s"], phases["backward"]["sum_s"] + phases["exposed"]["sum_s"])

    def test_the_hook_leaves_every_bit_of_ddp_as_it_is(self):
        ran, by_rank = self.bits(3)  # three: the sums depend on the buckets' layout, and 1/3 is no exact number
        self.assertEqual(ran.stdout.count("bit-equal"), 3)
        for sent in by_rank.values():
            (epoch,) = [frame for frame in sent if frame["type"] == "epoch"]
            self.check_phases(epoch)

    def test_who_waits_for_whom_is_reported_when_asked_for_and_by_a_rank_that_is_not_shown_too(self):
        ran, by_rank = self.bits(2, "more")
        self.assertEqual(ran.stdout.count("bit-equal"), 3 * 2)
        epochs_of = [[frame for frame in by_rank[rank] if frame["type"] == "epoch"] for rank in (0, 1)]
        for epochs in epochs_of:
            self.check_phases(epochs[0])
        fast, slow = (epochs[1]["phases"] for epochs in epochs_of)
        # Rank 1 sleeps 60 ms in each of 12 steps; the first one's wait is unknown.
        self.assertGreater(fast["wait"]["sum_s"], 0.15)
        self.assertLess(fast["wait"]["sum_s"], fast["exposed"]["sum_s"])
        self.assertLess(slow["wait"]["sum_s"], fast["wait"]["sum_s"] / 4)
        # In the third epoch rank 1 reports to nobody, and rank 0 hears from it all the same.
        self.assertEqual([len(epochs) for epochs in epochs_of], [3, 2])
        self.assertIn("rank 1 is no longer shown", ran.stdout + ran.stderr)
        self.assertGreater(epochs_of[0][2]["phases"]["wait"]["sum_s"], 0.15)

    def test_a_loss_that_is_no_number_is_an_alert_that_names_the_first_tensor(self):
        script = ("import torch, lockstep\nfrom collections import OrderedDict\n"
                  "net = torch.nn.Sequential(OrderedDict(first=torch.nn.Linear(2, 4), last=torch.nn.Linear(4, 1)))\n"
                  "run = lockstep.Run(method='baseline')\nfor batch in run.epoch(1, range(9)):\n"
                  "    loss = net(torch.ones(3, 2)).mean()\n    net.zero_grad()\n    (loss * (float('inf') if batch > 3 else 1)).backward()\n"
                  "    run.step(loss if batch < 4 else float('inf'), 3)\nrun.close()\n")
        self.agent("run", "--", sys.executable, "-c", script)
        (alert,) = [frame for frame in self.check_frames(self.runs()[0], 1, ["non_finite_loss"])[0] if frame["type"] == "alert"]
        self.assertEqual((alert["step"], alert["message"]), (4, "the loss of rank 0 is infinite since step 4 "
                                                                 "(the first tensor that is not finite: the gradient of last.bias)"))

    def test_what_cannot_be_watched_trains_as_before_and_two_models_can(self):
        script = self.home / "models.py"
        script.write_text("""
import torch, torch.distributed as dist, lockstep, lockstep.ddp
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from torch.nn.parallel import DistributedDataParallel
dist.init_process_group("gloo")
run = lockstep.Run(method="ddp")
hooked, one, two = (DistributedDataParallel(torch.nn.Linear(8, 8)) for _ in range(3))
hooked.register_comm_hook(None, allreduce_hook)
lockstep.ddp.watch(run, hooked)
lockstep.ddp.watch(run, torch.nn.Linear(8, 8))
lockstep.ddp.watch(run, one)
lockstep.ddp.watch(run, two)
for x in run.epoch(1, [torch.randn(4, 8)] * 5):
    with run.phase("backward"):
        hooked(two(one(x))).sum().backward()
    run.step(1.0, 4)
print("trained")
run.close()
dist.destroy_process_group()
""")
        done = self.agent("run", "--nproc-per-node", 2, "--", sys.executable, script)
        said = done.stdout + done.stderr
        self.assertEqual(said.count("trained"), 2)
        self.assertEqual(said.count("the sums of this model's gradients are not timed"), 4)
        for sent in self.check_frames(self.runs()[0], 2).values():
            (epoch,) = [frame for frame in sent if frame["type"] == "epoch"]
            self.check_phases(epoch)

    def test_the_study_by_a_recipe_of_ours(self):
        data = write_small_data(self.home / "data", train=640, test=TESTED)
        path = self.home / "study.json"
        command = ["{python:torch,torchvision}", "{scripts}/examples/lenet_study.py", "--mode", "DDP", "--no-affine", "--data-dir", data,
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
        self.assertEqual(evaluated["samples"], TESTED)

    def test_the_study_under_torchrun_and_plain_python(self):
        small = ["--data-dir", write_small_data(self.home / "data", train=640, test=TESTED), "--epochs", "1"]
        torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
        for words in ([*torchrun, STUDY, "--mode", "DDP"], [sys.executable, STUDY, "--num-workers", "1"]):
            done = self.call(*words, *small)
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

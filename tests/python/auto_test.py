#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Scripts that know nothing of Lockstep, followed by lockstep.auto on real PyTorch."""
import json
import re
import subprocess
import sys
import unittest

import support
from support import HERE, RESOURCES, Case

PLAIN, LIBRARY, AS_ON_GPU, RANKS, PAIR, GAN, COMPILED, SHARDED, SCALED, DIVERGES, OWN, ODD, RESUMES = (
    HERE / "unchanged" / f"{name}.py"
    for name in ("plain", "library", "as_on_gpu", "ranks", "pair", "gan", "compiled", "sharded", "scaled", "diverges", "own", "odd", "resumes"))


class Followed(Case):
    def followed(self, *words, options=(), **environment):
        """Runs a command of Python with --auto. Gives its run's folder and what it printed."""
        done = self.agent("run", "--auto", *options, "--", sys.executable, *words, **environment)
        return self.runs()[-1], done

    def printed(self, done):
        return json.loads(done.stdout[done.stdout.index('{"'):].splitlines()[0])

    def epochs(self, frames):
        return [frame for frame in frames if frame["type"] == "epoch"]

    def about(self, *ranks):
        """What the frames of these ranks say of the run."""
        return {key: value for sent in ranks for frame in sent for key, value in frame.get("about", {}).items()}


class Timed(Followed):
    """What is measured beside timers that the script sets by hand."""

    def check_phases(self, command, steps, ranks=1, batch_s=0.0003):
        """Each phase is, in one epoch at least, within 3 % or 0.3 ms a batch of what timers set by hand say: a process that is
        preempted between two stamps spends that time in neither, and on a busy machine that happens in some epochs. `batch_s` allows more
        a batch where workers take the core just when a batch has come."""
        run, done = self.followed(*command)
        said = self.printed(done)
        sent = self.check_frames(run, ranks)[0]
        epochs = self.epochs(sent)
        self.assertEqual([epoch["steps"] for epoch in epochs], [steps] * 5)
        self.assertEqual([epoch["samples"] for epoch in epochs], [640] * 5)
        for phase in ("load", "forward", "backward", "optimizer"):
            names = ("backward", "exposed") if phase == "backward" else (phase,)  # by hand, waiting for sums is in backward
            pairs = [(sum(epoch["phases"][name]["sum_s"] for name in names if name in epoch["phases"]), hand[phase])
                     for epoch, hand in zip(epochs, said["hand"])]
            self.assertTrue(any(abs(ours - hand) <= max(0.03 * hand, batch_s * 20) for ours, hand in pairs), f"{phase}: {pairs}")
        return run, said, sent

    def check_bits(self, said, command):
        """The losses are those of the same script when nobody follows it."""
        self.assertEqual(said["losses"], self.printed(self.call(sys.executable, *command))["losses"])

    def check_against_hand(self, words, steps, ranks=1, launcher=(), batch_s=0.0003):
        """The same, and that no time of the validation is in an epoch."""
        run, said, sent = self.check_phases([*launcher, PLAIN, *words], steps, ranks, batch_s)
        epochs = self.epochs(sent)
        # If its validation were in an epoch, each would be longer than its own work by so much.
        self.assertGreater(said["validation"], 5 * 0.16)
        rest = [epoch["duration_s"] - sum(hand.values()) for epoch, hand in zip(epochs, said["hand"])]
        self.assertLess(min(rest), 0.5 * said["validation"] / 5)
        return run, said, sent


class AgainstHand(Timed):
    """Nothing may run beside these timers: ctest runs these alone."""

    def test_a_plain_loop_has_the_phases_of_timers_set_by_hand_the_same_bits_and_no_time_of_its_validation(self):
        run, said, sent = self.check_against_hand([], 20)
        self.check_bits(said, [PLAIN])
        states = [frame["state"] for frame in sent if frame["type"] == "state"]
        self.assertEqual(states[0], "init")
        self.assertEqual(states.count("evaluating"), 5)
        self.assertEqual(states[-1], "done")
        self.assertEqual(self.about(sent), {"method": "baseline", "workers": 0, "batch_size": 32})
        windows = [frame for frame in sent if frame["type"] == "steps"]
        self.assertEqual(windows[-1]["loss"]["last"], said["losses"][-1])
        self.assertEqual(self.result(run)["summary"]["steps"], 100)

    def test_the_start_of_loading_processes_is_load_and_that_of_a_validations_is_nobodys_time(self):
        for words in ["workers"], ["persist"]:
            with self.subTest(words):
                _, said, sent = self.check_against_hand(words, 20, batch_s=0.002)  # its start takes 5 ms a batch
                self.check_bits(said, [PLAIN, *words])
                # Its start takes 0.1 s; in the step before it it would be `other`.
                self.assertLess(min(epoch["phases"]["other"]["sum_s"] for epoch in self.epochs(sent)), 0.05)

    def test_accumulation_with_a_scaled_loss_over_a_stream(self):
        _, said, sent = self.check_against_hand(["accumulate"], 5)
        last = [frame for frame in sent if frame["type"] == "steps"][-1]["loss"]["last"]
        self.assertAlmostEqual(last, sum(said["losses"][-4:]), places=5)  # one step's, without the scaler's 1024
        self.assertEqual(self.about(sent)["batch_size"], 4 * 32)

    def test_two_optimizers_a_compiled_model_and_accelerate_have_these_phases_and_the_same_bits(self):
        for word in "two", "compiled", "accelerate":
            with self.subTest(word):
                _, said, _ = self.check_against_hand([word], 20)
                self.check_bits(said, [PLAIN, word])

    def test_events_that_are_reached_at_once_give_these_phases_and_the_same_losses(self):
        for words in [], ["accumulate"]:
            with self.subTest(words):
                _, said, sent = self.check_against_hand(words, 5 if words else 20, launcher=[AS_ON_GPU])
                self.check_bits(said, [PLAIN, *words])
                if not words:
                    windows = [frame for frame in sent if frame["type"] == "steps"]
                    self.assertEqual(windows[-1]["loss"]["last"], said["losses"][-1])

    def test_ddp_under_torchrun_has_these_phases_and_the_same_bits(self):
        launcher = ("-m", "torch.distributed.run", "--nproc-per-node=2")
        _, said, _ = self.check_against_hand(["ddp"], 20, 2, launcher)
        self.check_bits(said, [*launcher, PLAIN, "ddp"])

    def test_scripts_of_lightning_and_of_hugging_faces_trainer_have_these_phases_and_the_same_bits(self):
        for library in "lightning", "huggingface":
            with self.subTest(library):
                _, said, _ = self.check_phases([LIBRARY, library], 20)
                self.check_bits(said, [LIBRARY, library])


class OnAGpu(Timed):
    """The same on a GPU, by events in its stream."""

    @classmethod
    def setUpClass(cls):
        asked = subprocess.run([sys.executable, "-c", "import torch; print(torch.cuda.is_available())"], capture_output=True, text=True)
        if asked.stdout.strip() != "True":
            raise unittest.SkipTest("skipped: no GPU")

    def test_a_plain_loop_has_the_phases_of_timers_that_wait_for_the_device_and_the_same_bits(self):
        for words in ["cuda"], ["cuda", "workers"], ["cuda", "two"], ["cuda", "dp"]:
            with self.subTest(words):
                _, said, _ = self.check_against_hand(words, 20, batch_s=0.002 if "workers" in words else 0.0003)
                self.check_bits(said, [PLAIN, *words])

    def test_a_script_that_waits_for_nothing_has_the_phases_of_its_own_events_and_its_loader_is_hidden(self):
        _, said, sent = self.check_phases([PLAIN, "ahead"], 20)
        self.check_bits(said, [PLAIN, "ahead"])
        # A batch takes 6.4 ms to load, and the device as long or longer to work on: only the first one is waited for.
        for epoch in self.epochs(sent)[1:]:
            self.assertGreater(sum(epoch["phases"][phase]["sum_s"] for phase in ("forward", "backward")), 20 * 0.005)
            self.assertLess(epoch["phases"]["load"]["sum_s"], 0.9 * 20 * 0.0064)

    def test_two_ranks_of_ddp_over_gloo_share_one_and_their_waiting_for_sums_is_told_apart(self):
        launcher = ("-m", "torch.distributed.run", "--nproc-per-node=2")
        _, said, sent = self.check_against_hand(["cuda", "ddp"], 20, 2, launcher)
        self.check_bits(said, [*launcher, PLAIN, "cuda", "ddp"])
        self.assertTrue(all(epoch["phases"]["comm"]["sum_s"] > 0 for epoch in self.epochs(sent)))

    def test_accumulation_with_a_scaled_loss(self):
        _, said, sent = self.check_against_hand(["cuda", "accumulate"], 5)
        last = [frame for frame in sent if frame["type"] == "steps"][-1]["loss"]["last"]
        self.assertAlmostEqual(last, sum(said["losses"][-4:]), places=5)


class Auto(Followed):
    def test_what_a_script_does_with_its_samplers_and_losses_is_its_own(self):
        """A sampler whose length draws its batches, a loss that is changed after the step, and one that is a view of something large."""
        run, done = self.followed(OWN)
        said, alone = self.printed(done), self.printed(self.call(sys.executable, OWN))
        self.assertEqual((said["weights"], said["lengths"]), (alone["weights"], 0))
        windows = [frame for frame in self.check_frames(run, 1)[0] if frame["type"] == "steps" and "loss" in frame]
        self.assertAlmostEqual(windows[-1]["loss"]["last"], said["last"], places=6)
        self.assertLess(said["grown_mb"], 100)

    def test_a_step_that_a_scaler_leaves_out_is_a_step_and_no_loss_is_a_scaled_one(self):
        for words in [], ["sharded"]:
            with self.subTest(words):
                run, done = self.followed(SCALED, *words)
                windows = [frame for frame in self.check_frames(run, 1)[0] if frame["type"] == "steps" and frame["count"]]
                self.assertEqual((sum(frame["count"] for frame in windows), sum(frame["samples"] for frame in windows)), (3, 12))
                losses = self.printed(done)["losses"]
                known = [frame["loss"] for frame in windows if "loss" in frame]
                self.assertAlmostEqual(min(loss["min"] for loss in known), min(losses[:2]), places=2)
                self.assertAlmostEqual(max(loss["max"] for loss in known), max(losses[:2]), places=2)  # the third is unknown: it was divided

    def test_a_scaled_loss_is_told_without_its_factor_though_the_next_batch_is_fetched_before_its_backward(self):
        run, done = self.followed(SCALED, "ahead")
        known = [frame["loss"] for frame in self.check_frames(run, 1)[0] if frame["type"] == "steps" and "loss" in frame]
        losses = self.printed(done)["losses"]
        self.assertAlmostEqual(min(loss["min"] for loss in known), min(losses[:2]), places=2)
        self.assertAlmostEqual(max(loss["max"] for loss in known), max(losses[:2]), places=2)

    def test_scalars_that_a_script_writes_for_tensorboard_are_metrics_of_their_epoch(self):
        run, done = self.followed(HERE / "unchanged" / "writes.py", self.home / "events")
        sent = self.check_frames(run, 1)[0]
        metrics = self.result(run)["summary"]["metrics"]
        self.assertAlmostEqual(metrics["accuracy"], 0.7)
        self.assertAlmostEqual(metrics["Loss_train"], self.printed(done)["mean_of_last_epoch"], places=6)
        validations = [(frame["epoch"], frame["scalars"]["accuracy"]["last"]) for frame in sent
                       if frame["type"] == "steps" and "accuracy" in frame.get("scalars", {})]
        self.assertEqual(validations, [(1, 0.6), (2, 0.7)])
        self.assertEqual(metrics["test_accuracy"], 0.25)  # of another writer
        self.assertEqual(len(list((self.home / "events").glob("events*"))), 1)

    def test_a_process_that_follows_another_one_is_the_same_rank_and_counts_too(self):
        line = f"{sys.executable} {GAN} && {sys.executable} {GAN}"
        self.agent("run", "--auto", "--", "sh", "-c", line)
        (run,) = self.runs()
        sent = [frame for frame in self.frames(run) if "rseq" in frame]
        self.assertEqual([frame["kind"] for frame in self.frames(run) if frame["type"] == "alert"], [])
        begins = [number for number, frame in enumerate(sent) if frame["rseq"] == 0]
        self.assertEqual(len(begins), 2)
        first, second = sent[:begins[1]], sent[begins[1]:]
        for part in (first, second):
            self.assertEqual([frame["rseq"] for frame in part], list(range(len(part))))
            self.assertEqual(part[-1]["state"], "done")
        self.assertEqual([[epoch["steps"] for epoch in self.epochs(part)] for part in (first, second)], [[50], [50]])
        self.assertEqual(self.result(run)["state"], "done")

    def test_steps_that_take_turns_between_two_loaders_are_of_the_epochs_of_the_first(self):
        run, _ = self.followed(HERE / "unchanged" / "turns.py")
        self.assertEqual([epoch["steps"] for epoch in self.epochs(self.check_frames(run, 1)[0])], [8, 8, 4])

    def test_ranks_that_torchrun_starts_are_taken_in(self):
        run, _ = self.followed("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", RANKS, "slow=1")
        self.check_two_ranks(run)

    def test_ranks_that_the_agent_starts(self):
        run, _ = self.followed(RANKS, "slow=1", options=("--nproc-per-node", "2"))
        self.check_two_ranks(run)

    def test_ranks_that_spawn_starts_are_taken_in_with_their_own_numbers_and_the_slow_one_is_named_while_they_run(self):
        run, _ = self.followed(RANKS, "slow=1", "epochs=15")
        self.check_two_ranks(run, epochs=15, alerts=["straggler"])
        told = [frame for frame in self.frames(run) if frame["type"] == "alert"]
        self.assertEqual([alert["kind"] for alert in told], ["straggler"])
        said = re.match("rank 1 on .* is slower than the others in forward: its gradients are ready ([0-9.]+) ms later", told[0]["message"])
        self.assertTrue(said, told[0]["message"])
        self.assertGreater(float(said[1]), 29)  # it sleeps 30 ms more; both ranks' own times are medians
        self.assertLess(float(said[1]), 40)

    def test_sums_of_one_model_are_not_counted_again_in_the_backward_of_another(self):
        run, done = self.followed(PAIR, options=("--nproc-per-node", "2"))
        sent = self.check_frames(run, 2)[0]
        communication = sum(epoch["phases"]["comm"]["sum_s"] for epoch in self.epochs(sent))
        self.assertGreater(communication, 20 * 0.02)
        self.assertLess(communication, self.printed(done)["backward"])

    def test_a_script_ends_after_so_many_samples_at_the_same_step_of_every_rank(self):
        run, done = self.followed("-m", "lockstep", "--max-samples", str(2 * 32 * 13 - 1), RANKS, options=("--nproc-per-node", "2"))
        self.assertIn("the script ends after 13 steps, as it was asked to; its first step had 32 samples in each of 2 processes that train together", done.stderr + done.stdout)
        for sent in self.check_frames(run, 2).values():
            self.assertEqual([(epoch["steps"], epoch["samples"]) for epoch in self.epochs(sent)], [(10, 320), (3, 96)])
        self.assertEqual(self.result(run)["summary"]["steps"], 13)

    def test_ranks_of_unlike_batches_end_at_the_same_step_by_the_samples_of_rank_0_and_the_batch_is_theirs_together(self):
        run, _ = self.followed("-m", "lockstep", "--max-samples", str(2 * 32 * 7), RANKS, "half=1", options=("--nproc-per-node", "2"))
        by_rank = self.check_frames(run, 2)
        self.assertEqual(self.about(*by_rank.values())["batch_size"], 48)
        for sent, samples in zip(by_rank.values(), (32, 16)):
            self.assertEqual([(epoch["steps"], epoch["samples"]) for epoch in self.epochs(sent)], [(7, 7 * samples)])

    def test_a_script_that_catches_its_end_at_the_limit_ends_too_and_is_told_so_once(self):
        run, done = self.followed("-m", "lockstep", "--max-steps", "7", ODD, "a_bare_except")
        self.assertEqual((done.stdout + done.stderr).count("the script ends after 7 steps"), 1)
        sent = self.check_frames(run, 1)[0]
        self.assertEqual([epoch["steps"] for epoch in self.epochs(sent)], [7])
        self.assertEqual(sent[-1]["state"], "done")

    def test_a_script_without_a_loader_ends_after_so_many_steps(self):
        run, _ = self.followed("-m", "lockstep", "--max-steps", "7", GAN)
        self.assertEqual([epoch["steps"] for epoch in self.epochs(self.check_frames(run, 1)[0])], [7])

    def check_two_ranks(self, run, epochs=2, alerts=()):
        self.assertEqual(json.loads((run / "config.json").read_text())["processes"], 2)
        by_rank = self.check_frames(run, 2, alerts)
        self.assertEqual(self.about(*by_rank.values()),
                         {"method": "ddp", "backend": "gloo", "model": "Linear", "workers": 0, "batch_size": 64})
        for sent in by_rank.values():
            self.assertEqual([epoch["steps"] for epoch in self.epochs(sent)], [10] * epochs)
        # Rank 1 sleeps 30 ms in each step before backward; rank 0 waits for it in the gradients' sum.
        seconds = [{phase: sum(epoch["phases"][phase]["sum_s"] for epoch in self.epochs(by_rank[rank]))
                    for phase in ("forward", "exposed", "comm")} for rank in (0, 1)]
        self.assertGreater(seconds[1]["forward"], 0.3 * epochs)
        self.assertGreater(seconds[0]["exposed"], 0.05 * epochs)
        self.assertGreaterEqual(seconds[0]["comm"], seconds[0]["exposed"])
        summary = self.result(run)["summary"]
        self.assertEqual((summary["method"], summary["world_size"], summary["steps"]), ("ddp", 2, 10 * epochs))
        (found,) = json.loads(self.ctl("show", run.name, "--json").stdout)["results"]["judgement"]["bottlenecks"]
        self.assertEqual(found["bound"], "straggler-bound", found)
        self.assertRegex(found["evidence"], "rank 1 spends .* more than the others, most of it in forward")

    def test_what_a_script_compiles_is_what_it_compiles_unfollowed(self):
        run, done = self.followed(COMPILED)
        alone = self.call(sys.executable, COMPILED)
        self.assertEqual(self.printed(done), self.printed(alone))
        self.assertNotIn("Dynamo", done.stdout + done.stderr)  # its warnings of functions that it can't compile
        sent = self.check_frames(run, 1)[0]
        self.assertEqual([(epoch["steps"], epoch["samples"]) for epoch in self.epochs(sent)], [(5, 160), (5, 160)])

    def test_torchscript_compiles_a_backward_that_is_followed(self):
        script = self.home / "scripted.py"
        script.write_text("import torch\n@torch.jit.script\ndef square(x):\n    y = (x * x).sum()\n    torch.autograd.backward([y])\n    return y\n"
                          "x = torch.ones(3, requires_grad=True)\nprint(float(square(x)), x.grad.tolist())\n")
        done = self.agent("run", "--auto", "--", sys.executable, script)
        self.assertIn("3.0 [2.0, 2.0, 2.0]", done.stdout)

    def test_a_model_that_is_sharded_is_named_and_its_steps_are_timed(self):
        for kind in ("class", "function"):
            with self.subTest(kind):
                run, _ = self.followed(SHARDED, kind, options=("--nproc-per-node", "2"))
                by_rank = self.check_frames(run, 2)
                self.assertEqual(self.about(*by_rank.values()),
                                 {"method": "fsdp", "backend": "gloo", "model": "Net", "workers": 0, "batch_size": 64})
                for sent in by_rank.values():
                    for epoch in self.epochs(sent):
                        self.assertEqual((epoch["steps"], epoch["samples"]), (10, 320))
                        self.assertTrue(all(epoch["phases"][name]["sum_s"] > 0 for name in ("load", "forward", "backward", "optimizer")))

    def test_samples_are_unknown_where_ranks_train_parts_of_the_same_tensors_on_the_same_batches(self):
        run, _ = self.followed(SHARDED, "tensors", options=("--nproc-per-node", "2"))
        by_rank = self.check_frames(run, 2)
        self.assertEqual(self.about(*by_rank.values()), {"backend": "gloo", "workers": 0})
        for sent in by_rank.values():
            self.assertEqual([(epoch["steps"], epoch["samples"]) for epoch in self.epochs(sent)], [(20, 0)] * 2)

    def non_finite_loss(self, *words, ranks=1):
        """Step and message of each rank's alert in a training that diverges; there is one of each rank."""
        run, _ = self.followed(*words, options=("--nproc-per-node", str(ranks)))
        sent = self.check_frames(run, ranks, ["non_finite_loss"] * ranks)
        alerts = [[(each["step"], each["message"]) for each in frames if each["type"] == "alert"] for frames in sent.values()]
        return [alert for (alert,) in alerts]

    def test_a_loss_that_is_no_number_is_an_alert_with_its_step_and_the_parameter_or_that_it_is_none(self):
        self.assertEqual(self.non_finite_loss(DIVERGES, "parameter"),
                         [(5, "the loss of rank 0 is NaN since step 5 (the first tensor that is not finite: last.bias)")])
        self.assertEqual(self.non_finite_loss(DIVERGES, "outside"), [
            (5, "the loss of rank 0 is NaN since step 5 (the first tensor that is not finite: SGD.param_groups[1]['params'][0], which is in no "
                "module)")])
        self.assertEqual(self.non_finite_loss(DIVERGES, "batch"), [
            (5, "the loss of rank 0 is NaN since step 5 (all parameters are finite: the batch, the forward or the loss function causes it)")])

    def test_the_rank_whose_batch_makes_the_loss_no_number_is_told_from_the_one_that_got_it_by_the_gradients(self):
        self.assertEqual(self.non_finite_loss(DIVERGES, "batch", ranks=2), [
            (6, "the loss of rank 0 is NaN since step 6 (the first tensor that is not finite: first.weight)"),
            (5, "the loss of rank 1 is NaN since step 5 (all parameters are finite: the batch, the forward or the loss function causes it)")])

    def test_of_a_sharded_model_no_rank_waits_for_another_to_name_a_tensor(self):
        for kind, cause in ("class", ""), ("function", " (the first tensor that is not finite: 0.weight)"):
            with self.subTest(kind):
                alerts = self.non_finite_loss(SHARDED, kind, "diverges", ranks=2)
                self.assertEqual(alerts, [(6, f"the loss of rank 0 is NaN since step 6{cause}"), (5, "the loss of rank 1 is NaN since step 5")])

    def odd(self, mode, alerts=(), options=()):
        """Steps and samples of each epoch of the odd script, and the frames."""
        run, _ = self.followed(ODD, mode, options=options)
        sent = self.check_frames(run, 1, alerts)[0]
        return [(epoch["steps"], epoch["samples"]) for epoch in self.epochs(sent)], sent

    def test_losses_that_are_no_list_of_tensors_are_unknown_and_following_goes_on(self):
        epochs, sent = self.odd("losses_in_a_dictionary")
        self.assertEqual(epochs, [(20, 160)])
        self.assertEqual([frame for frame in sent if "loss" in frame], [])

    def test_a_module_that_cant_be_looked_through_costs_the_cause_of_an_alert_and_no_more(self):
        epochs, sent = self.odd("unmade_module", ["non_finite_loss"])
        self.assertEqual(epochs, [(20, 160)])
        self.assertEqual([frame["message"] for frame in sent if frame["type"] == "alert"], ["the loss of rank 0 is NaN since step 5"])

    def test_steps_and_samples_of_loops_unlike_most(self):
        for mode, expected in (("time_first", [(20, 160)]), ("one_backward_for_four_batches", [(5, 160)]),
                               ("an_iterator_for_each_step", [(20, 160)] * 2), ("a_validation_in_each_step", [(20, 160)]),
                               ("two_loaders", [(20, 320)]), ("every_second_backward_fails", [(10, 80)]),
                               ("an_optimizer_that_raises", [(19, 0)]), ("a_thread_for_each_epoch", [(20, 160)] * 3),
                               ("steps_after_the_loop", [(7, 160)] * 3), ("a_validation_with_a_backward", [(20, 160)] * 3),
                               ("skipped_batches", [(6, 48)] + [(16, 128)] * 2), ("a_loader_without_end", [(20, 160)] * 3),
                               ("loaders_within_loaders", [(20, 160)] * 2),
                               ("an_optimizer_that_goes_through_the_loader", [(1, 160)] * 3),
                               ("two_batches_a_step_and_two_ahead", [(10, 160)] * 3)):
            with self.subTest(mode):
                epochs, sent = self.odd(mode)
                self.assertEqual(epochs, expected)
                self.assertEqual([epoch["epoch"] for epoch in self.epochs(sent)], list(range(1, len(epochs) + 1)))

    def test_the_loss_of_a_batch_is_its_first_passs_and_the_sum_of_several_losses(self):
        run, done = self.followed(ODD, "several_passes_of_a_batch")
        windows = [frame for frame in self.check_frames(run, 1)[0] if frame["type"] == "steps"]
        for epoch, mean in enumerate(self.printed(done)["means"], 1):
            found = [(each["count"], each["loss"]["mean"]) for each in windows if each["epoch"] == epoch]
            self.assertAlmostEqual(sum(count * loss for count, loss in found) / 20, mean, places=5)

    def test_training_in_a_fork_is_told_once_that_it_is_not_followed(self):
        run, done = self.followed(ODD, "training_in_a_fork")
        self.assertEqual(done.stdout.count("is not followed, since it was forked"), 1, done.stdout)
        self.assertEqual(self.epochs(self.frames(run)), [])

    def test_batches_that_come_from_another_thread_are_an_alert_and_no_samples(self):
        epochs, sent = self.odd("batches_from_a_thread", ["loads_in_thread"])
        self.assertEqual(epochs, [(20, 0)])
        self.assertEqual([frame["message"] for frame in sent if frame["type"] == "alert"], [
            "the batches of rank 0 are fetched in another thread than the one that trains: its samples, its epochs and its time for data are "
            "unknown"])

    def test_optimizers_that_take_turns_make_one_step_and_time_before_backward_is_not_called_forward_without_a_loader(self):
        run, _ = self.followed(GAN)
        (epoch,) = self.epochs(self.check_frames(run, 1)[0])
        self.assertEqual((epoch["steps"], epoch["samples"]), (50, 0))
        self.assertLess(epoch["phases"]["load"]["sum_s"] if "load" in epoch["phases"] else 0, 1e-9)

    def test_one_process_is_told_nothing_of_ranks_unless_their_number_is_given(self):
        show = "import os; print('shown', *(os.environ.get(name) for name in ('RANK', 'WORLD_SIZE', 'MASTER_PORT')))"
        self.assertIn("shown None None None", self.followed("-c", show)[1].stdout)
        self.assertIn("shown 0 1", self.followed("-c", show, options=("--nproc-per-node", "1"))[1].stdout)

    def test_a_script_that_is_started_again_has_all_its_epochs_whoever_starts_it(self):
        torchrun = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "--max-restarts", "1")
        for ranks, options, words, alerts in ((1, ("--max-restarts", "1"), (), ["rank_died", "restart"]), (2, (), torchrun, ["restart"])):
            with self.subTest(ranks=ranks):
                run, _ = self.followed(*words, RESUMES, self.home / f"checkpoint-{ranks}", options=options)
                frames = self.frames(run)
                self.assertEqual([frame["kind"] for frame in frames if frame["type"] == "alert"], alerts)
                for rank in range(ranks):
                    sent = [frame for frame in frames if frame.get("rank") == rank]
                    epochs = self.epochs(sent)
                    self.assertEqual([(epoch["epoch"], epoch["steps"], epoch["samples"]) for epoch in epochs],
                                     [(number, 8, 64) for number in (1, 2, 3, 4)])
                    firsts = [min(frame["first_step"] for frame in sent if frame["type"] == "steps" and frame["epoch"] == number)
                              for number in (1, 2, 3, 4)]
                    self.assertEqual(firsts, [0, 8, 16, 24])
                result = self.result(run)
                self.assertEqual([epoch["epoch"] for epoch in result["summary"]["epochs"]], [1, 2, 3, 4])
                self.assertEqual(result["summary"]["steps"], 32)
                longest = [max(epoch["duration_s"] for epoch in self.epochs(frames) if epoch["epoch"] == number) for number in (1, 2, 3, 4)]
                self.assertAlmostEqual(result["summary"]["total_training_time_s"], sum(longest), places=6)
                (warning,) = result["warnings"]
                self.assertIn("the script was started again after epoch 2: whether it went on from a checkpoint", warning)

    def test_a_script_that_reports_by_itself_is_left_to_it(self):
        run, _ = self.followed(RESOURCES / "examples/few_lines.py")
        sent = self.check_frames(run, 1)[0]
        self.assertEqual(len([frame for frame in sent if frame["type"] == "state" and frame["state"] == "init"]), 1)
        self.assertEqual(self.result(run)["summary"]["model"], "sine")

    def test_a_sitecustomize_of_the_users_own_is_run_too(self):
        theirs = self.home / "theirs"
        theirs.mkdir()
        (theirs / "sitecustomize.py").write_text("import builtins\nbuiltins.theirs = 'was here'\n")
        _, done = self.followed("-c", "print(theirs)", PYTHONPATH=str(theirs))
        self.assertIn("was here", done.stdout)

    def test_python_m_lockstep_runs_a_script_and_a_module_with_their_arguments(self):
        script = self.home / "script.py"
        script.write_text("import sys\nprint('heard', __name__, sys.argv[1:], sys.path[0])\n")
        done = self.call(sys.executable, "-m", "lockstep", script, "--epochs", "2")
        self.assertIn(f"heard __main__ ['--epochs', '2'] {self.home}", done.stdout)
        self.assertIn("nobody follows (LOCKSTEP_FRAMES is not set)", done.stderr)
        self.assertIn("usage", self.call(sys.executable, "-m", "lockstep", "-m", "json.tool", "--help").stdout)
        self.assertIn("usage: python -m lockstep", self.call(sys.executable, "-m", "lockstep", code=1).stderr)
        wrong = self.call(sys.executable, "-m", "lockstep", "--max-steps", "many", script, code=1)
        self.assertIn("--max-steps needs a whole number from 1, not 'many'", wrong.stderr)

    def test_a_script_that_ends_itself_with_a_message_has_failed_and_one_that_is_ended_by_its_limit_has_not(self):
        script = self.home / "exits.py"
        script.write_text(GAN.read_text() + "import sys\nsys.exit('the loss diverged')\n")
        for limit, code, state in ([], 1, "failed"), (["--max-steps", "5"], 0, "done"):
            with self.subTest(state):
                done = self.agent("run", "--auto", "--", sys.executable, "-m", "lockstep", *limit, script, code=code)
                self.assertEqual("the loss diverged" in done.stderr, not limit)
                states = [frame["state"] for frame in self.frames(self.runs()[-1]) if frame["type"] == "state" and "rseq" in frame]
                self.assertEqual(states[-1], state)

    def test_a_failure_is_the_scripts_own(self):
        script = self.home / "fails.py"
        script.write_text(GAN.read_text() + "raise ValueError('the script is wrong')\n")
        done = self.agent("run", "--auto", "--", sys.executable, script, code=1)
        self.assertIn("the script is wrong", done.stderr)
        states = [frame["state"] for frame in self.frames(self.runs()[-1]) if frame["type"] == "state" and "rseq" in frame]
        self.assertEqual(states[-1], "failed")


if __name__ == "__main__":
    support.main()

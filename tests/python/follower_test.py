#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How calls into PyTorch become steps and phases, with a clock that is set by hand. Needs no PyTorch."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "resources/python"))
from lockstep.follower import Follower, Reporter  # noqa: E402
from lockstep.frames import descriptive_values  # noqa: E402
from lockstep.metrics import MetricLog  # noqa: E402
from lockstep.script_facts import batch_size, listed_size  # noqa: E402

MS = 1_000_000


class Heard(Reporter):
    def __init__(self):
        self.states, self.epochs, self.losses = [], [], []

    def begin_epoch(self, epoch, steps):
        self.states.append(("training", epoch, steps))

    def begin_evaluation(self, epoch):
        self.states.append(("evaluating", epoch))

    def end_evaluation(self, epoch):
        self.states.append(("training again", epoch))

    def steps(self, log, force):
        log.read()
        if log.window.count:
            self.losses.append(log.report()["loss"])

    def end_epoch(self, log, training_ns):
        phases = {name: round(entry["sum_s"] * 1000) for name, entry in log.phases.items() if entry["sum_s"]}
        self.epochs.append((log.steps, log.samples, training_ns // MS, phases))


class Script:
    """A training script whose every call takes the time that it is given, in ms."""

    def __init__(self):
        self.ns = 0
        self.heard = Heard()
        self.follower = Follower(self.heard, lambda: self.ns)

    def wait(self, ms):
        self.ns += ms * MS

    def open(self, iterator, ms):
        begin = self.ns
        self.wait(ms)
        self.follower.opened(iterator, begin, self.ns)

    def fetch(self, iterator, ms, length=None, samples=4):
        """Iterators from 10 on are a validation's, over another data set."""
        begin = self.ns
        self.wait(ms)
        self.follower.fetched(iterator, int(iterator >= 10), length, begin, self.ns, samples)

    def end_of(self, iterator, ms=0):
        begin = self.ns
        self.wait(ms)
        self.follower.exhausted(iterator, begin, self.ns)

    def backward(self, ms, loss=1.0, exposed=0, comm=0):
        self.follower.backward_begins(loss, self.ns)
        self.wait(ms)
        self.follower.backward_ends(self.ns, exposed * MS, comm * MS)

    def optimize(self, ms, optimizer=1):
        self.follower.optimizer_begins(optimizer)
        self.wait(ms)
        self.follower.optimizer_ends(optimizer)

    def train(self, iterator, length=None):
        """A step of 20 ms: 2 in the loader, 5 forward, 10 backward, 3 in the optimizer."""
        self.fetch(iterator, 2, length)
        self.work()

    def work(self):
        self.wait(5)
        self.backward(10)
        self.optimize(3)

    def finish(self):
        self.follower.finish()
        return self.heard.epochs


PLAIN = {"load": 2, "forward": 5, "backward": 10, "optimizer": 3}


def times(count, more=()):
    return {**{phase: count * ms for phase, ms in PLAIN.items()}, **dict(more)}


class FollowerTest(unittest.TestCase):
    def test_a_plain_loop(self):
        script = Script()
        for _ in range(3):
            script.train(1, length=3)
        script.end_of(1, 4)
        self.assertEqual(script.heard.epochs, [(3, 12, 64, times(3, {"load": 10}))])
        self.assertEqual(script.heard.states, [("training", 1, 3)])

    def test_a_step_counts_as_complete_once_its_optimizer_has_stepped(self):
        script = Script()
        script.fetch(1, 2)
        script.backward(10)
        self.assertEqual((script.follower.complete, script.follower.first_samples), (0, 4))
        script.optimize(3)
        self.assertEqual((script.follower.complete, script.follower.steps), (1, 0))
        script.fetch(1, 2, samples=3)
        self.assertEqual((script.follower.complete, script.follower.steps, script.follower.first_samples), (1, 1, 4))

    def test_what_a_validation_fetches_is_nobodys_time_wherever_it_stands(self):
        script = Script()
        for iterator in (11, 12, 13):  # before training, which breaks off after some batches
            script.fetch(iterator, 50)
        for epoch in (1, 2):
            for step in range(4):
                script.train(epoch)
                if step == 1:  # in the middle of the epoch
                    for _ in range(5):
                        script.fetch(20 + epoch, 30)
                        script.wait(7)
                    script.end_of(20 + epoch)
            script.end_of(epoch)
            for _ in range(5):
                script.fetch(30 + epoch, 30)
            script.end_of(30 + epoch)
        self.assertEqual(script.finish(), [(4, 16, 80, times(4))] * 2)
        self.assertEqual([state for state in script.heard.states if state[0] == "evaluating"],
                         [("evaluating", 1), ("evaluating", 1), ("evaluating", 2), ("evaluating", 2)])

    def test_the_start_of_a_loaders_workers_is_load_and_that_of_a_validation_is_nobodys_time(self):
        script = Script()
        script.open(1, 40)
        script.wait(500)  # the model is made
        for epoch in (1, 2):
            for step in range(4):
                script.train(epoch)
                if step == 1:
                    script.open(10 + epoch, 30)
                    script.fetch(10 + epoch, 30)
                    script.wait(7)
                    script.end_of(10 + epoch)
            script.end_of(epoch)
            script.open(epoch + 1, 40)
        self.assertEqual(script.finish(), [(4, 16, 120, times(4, {"load": 48}))] * 2)

    def test_an_iterator_that_is_opened_in_the_middle_of_a_step_is_load_once(self):
        script = Script()
        script.fetch(1, 2)
        script.wait(5)
        script.backward(10)
        script.open(2, 30)
        script.fetch(2, 2)
        script.work()
        self.assertEqual(script.finish()[-1][2:], (67, {"load": 34, "forward": 10, "backward": 20, "optimizer": 3}))

    def test_a_second_loader_that_begins_again_between_two_fetches_is_load_once(self):
        script = Script()
        for _ in range(3):
            script.fetch(1, 2)
            script.end_of(2)
            script.open(2, 30)
            script.fetch(2, 2)
            script.work()
        self.assertEqual([phases for _, _, _, phases in script.finish()][1:], [{**PLAIN, "load": 34}] * 2)

    def test_an_iterator_that_is_opened_while_a_batch_is_worked_on_counts_in_that_step(self):
        script = Script()
        script.fetch(1, 2)
        script.open(2, 30)
        script.work()
        script.fetch(2, 2)
        script.work()
        epochs = script.finish()
        self.assertEqual(sum(epoch[2] for epoch in epochs), script.ns // MS)
        self.assertEqual([epoch[3]["load"] for epoch in epochs], [2, 2])

    def test_workers_that_persist_begin_an_epoch_each_time_also_when_the_last_one_was_left_early(self):
        script = Script()
        for _ in range(3):
            script.open(1, 10)
            script.fetch(1, 2)  # one batch ahead
            for _ in range(3):
                script.fetch(1, 2)
                script.work()
        self.assertEqual([(steps, samples) for steps, samples, _, _ in script.finish()], [(3, 12)] * 3)

    def test_an_iterator_that_begins_again_within_a_step_is_followed_on(self):
        script = Script()
        script.fetch(1, 2)
        script.wait(5)
        script.backward(10)
        script.open(1, 10)
        script.backward(10)
        script.optimize(3)
        self.assertEqual(script.follower.complete, 1)

    def test_both_loaders_of_a_pair_count_from_the_second_epoch_on_with_their_start(self):
        script = Script()
        for epoch in range(3):
            for iterator in (2 * epoch, 2 * epoch + 1):
                begin = script.ns
                script.wait(30)
                script.follower.opened(iterator, begin, script.ns)
            for _ in range(3):
                for iterator in (2 * epoch, 2 * epoch + 1):
                    begin = script.ns
                    script.wait(2)
                    script.follower.fetched(iterator, iterator % 2, 3, begin, script.ns, 4)
                script.work()
        self.assertEqual([phases["load"] for _, _, _, phases in script.finish()][1:], [60 + 3 * 4] * 2)

    def test_accumulation_makes_one_step_of_several_batches_and_adds_their_losses(self):
        script = Script()
        for _ in range(2):
            for loss in (0.25, 0.5):
                script.fetch(1, 2, length=4)
                script.wait(5)
                script.backward(10, loss)
            script.optimize(3)
        script.end_of(1)
        self.assertEqual(script.heard.epochs, [(2, 16, 74, {"load": 8, "forward": 20, "backward": 40, "optimizer": 6})])
        self.assertEqual(script.heard.states, [("training", 1, 2)])
        self.assertEqual(script.heard.losses[-1]["last"], 0.75)

    def test_a_loader_that_fetches_one_batch_ahead_ends_its_epoch_with_its_last_batch(self):
        script = Script()
        for epoch in (1, 2):
            script.fetch(epoch, 2)
            for _ in range(3):
                script.fetch(epoch, 2)
                script.work()
            script.end_of(epoch)
            script.work()
        self.assertEqual(script.finish(), [(4, 16, 80, times(4))] * 2)
        self.assertEqual([state[0] for state in script.heard.states], ["training", "training"])

    def test_a_loader_that_fetches_all_batches_of_a_step_and_one_more_before_it(self):
        script = Script()
        for epoch in (1, 2):
            for batches in (4, 3):
                for _ in range(batches):
                    script.fetch(epoch, 2)
                for _ in range(3):
                    script.wait(5)
                    script.backward(10)
                script.optimize(3)
            script.end_of(epoch)
        script.fetch(10, 2)
        self.assertEqual([epoch[:2] for epoch in script.finish()], [(2, 24), (2, 24)])
        self.assertEqual([state[0] for state in script.heard.states], ["training", "training"])

    def test_an_optimizer_that_has_begun_before_it_was_followed_ends_its_step(self):
        script = Script()
        script.fetch(1, 2)
        script.wait(5)
        script.backward(10)
        script.wait(3)
        script.follower.optimizer_ends(1)
        script.train(1)
        script.end_of(1)
        self.assertEqual(script.heard.epochs, [(2, 8, 40, times(2))])

    def test_an_epoch_that_is_left_early_ends_when_the_next_begins(self):
        script = Script()
        for epoch in (1, 2):
            for _ in range(3):
                script.train(epoch)
        self.assertEqual([epoch[:3] for epoch in script.finish()], [(3, 12, 60), (3, 12, 60)])

    def test_steps_that_take_turns_between_two_loaders_are_of_one_epoch_until_the_first_is_over(self):
        script = Script()
        for _ in range(2):
            for _ in range(3):
                script.train(1)
                script.train(10)
            script.end_of(1)
        self.assertEqual([epoch[:3] for epoch in script.finish()], [(6, 24, 120), (6, 24, 120)])

    def test_a_loader_that_is_left_for_one_over_other_data_has_had_its_epoch(self):
        script = Script()
        for iterator in (1, 10):
            for _ in range(3):
                script.train(iterator)
            script.follower.dropped(iterator)
        self.assertEqual([epoch[:3] for epoch in script.finish()], [(3, 12, 60), (3, 12, 60)])

    def test_two_loaders_in_one_step_both_count(self):
        script = Script()
        for _ in range(3):
            script.fetch(1, 2)
            script.fetch(2, 4)
            script.work()
        # From the second step on: what is beside the newest loader might have been a validation until then.
        (epoch,) = script.finish()
        self.assertEqual(epoch, (3, 20, 70, {"load": 16, "forward": 15, "backward": 30, "optimizer": 9}))

    def test_without_a_loader_a_step_ends_with_its_optimizers_and_what_comes_before_backward_is_other(self):
        script = Script()
        for _ in range(3):
            script.work()
        # The first step begins with its backward: nothing was known of the script before.
        self.assertEqual(script.finish(), [(3, 0, 49, {"other": 10, "backward": 30, "optimizer": 9})])

    def test_optimizers_that_take_turns_belong_to_one_step(self):
        script = Script()
        for _ in range(3):
            script.fetch(1, 2)
            for optimizer in (1, 2):
                script.wait(5)
                script.backward(10)
                script.optimize(3, optimizer)
        script.end_of(1)
        self.assertEqual(script.heard.epochs, [(3, 12, 114, {"load": 6, "forward": 30, "backward": 60, "optimizer": 18})])

    def test_an_optimizer_that_calls_backward_itself(self):
        script = Script()
        for _ in range(2):
            script.fetch(1, 2)
            script.follower.optimizer_begins(1)
            for _ in range(3):
                script.wait(5)
                script.backward(10)
            script.wait(3)
            script.follower.optimizer_ends(1)
        script.end_of(1)
        self.assertEqual(script.heard.epochs, [(2, 8, 100, {"load": 4, "forward": 30, "backward": 60, "optimizer": 6})])

    def test_a_validation_between_the_batches_of_one_step_is_no_part_of_it(self):
        script = Script()
        for step in range(3):  # a step has two batches, and the epoch three
            script.fetch(1, 2, length=3)
            script.wait(5)
            script.backward(10)
            if step == 1:
                script.optimize(3)
        script.end_of(1)
        for _ in range(3):
            script.fetch(10, 7)
            script.wait(1)
        script.end_of(10)
        script.train(2, length=3)
        script.end_of(2)
        step = {"load": 4, "forward": 10, "backward": 20, "optimizer": 3}
        self.assertEqual(script.heard.epochs, [(1, 8, 37, step), (1, 8, 37, step)])
        self.assertEqual(script.heard.states, [("training", 1, 2), ("evaluating", 1), ("training again", 1), ("training", 2, 2)])

    def test_an_epoch_has_as_many_steps_as_its_batches_make_however_often_each_goes_backward(self):
        script = Script()
        for _ in range(3):
            script.fetch(1, 2, length=3)
            for _ in range(3):
                script.backward(10)
            script.optimize(3)
        script.end_of(1)
        self.assertEqual(script.heard.states, [("training", 1, 3)])

    def test_an_optimizer_that_raises_ends_no_step_and_the_next_one_does(self):
        script = Script()
        script.fetch(1, 2)
        script.wait(5)
        script.backward(10)
        script.follower.optimizer_begins(1)  # the script catches what it raises
        for _ in range(2):
            script.train(1)
        self.assertEqual(script.finish(), [(2, 12, 57, {"load": 6, "forward": 15, "backward": 30, "optimizer": 6})])

    def test_a_script_whose_optimizer_is_none_of_pytorchs_keeps_no_losses_without_end(self):
        script = Script()
        for _ in range(10_000):
            script.backward(1)
        self.assertLessEqual(len(script.follower._step.losses), 4096)

    def test_sums_of_gradients_are_cut_out_of_backward(self):
        script = Script()
        script.fetch(1, 2)
        script.wait(5)
        script.backward(10, exposed=4, comm=6)
        script.optimize(3)
        script.end_of(1)
        self.assertEqual(script.heard.epochs,
                         [(1, 4, 20, {"load": 2, "forward": 5, "backward": 6, "exposed": 4, "comm": 6, "optimizer": 3})])

    def test_a_loss_that_is_unknown_is_none(self):
        script = Script()
        script.fetch(1, 2)
        script.backward(10, loss=None)
        script.optimize(3)
        script.end_of(1)
        self.assertEqual(script.heard.losses, [None])


class FactsTest(unittest.TestCase):
    def test_tags_that_would_get_one_name_are_told_apart(self):
        log = MetricLog()
        for tag, value in (("损失", 1), ("精度", 2), ("a/b", 3), ("a_b", 4), ("x" * 60 + "1", 5), ("x" * 60 + "2", 6), ("损失", 3)):
            log.add(tag, value)
        taken = log.take()
        self.assertEqual(sorted(metric["sum"] for metric in taken.values()), [2, 3, 4, 4, 5, 6])
        self.assertTrue(all(len(name) <= 48 for name in taken))

    def test_values_that_nobody_takes_are_bounded(self):
        log = MetricLog()
        for value in range(20_000):
            log.add("loss", value)
        self.assertEqual(log.take()["loss"]["weight"], 10_000)

    def test_what_a_script_says_of_itself_is_numbers_and_short_texts(self):
        self.assertEqual(descriptive_values({"lr": 0.1, "betas": (0.9, 0.999), "name": "x" * 1000, "amp": True, "none": None}),
                         {"lr": 0.1, "betas": "[0.9, 0.999]", "name": "x" * 200, "amp": True, "none": None})

    def test_lists_of_samples_are_counted(self):
        class Tensor:
            def __init__(self, *shape):
                self.shape = shape

        image = Tensor(3, 32, 32)
        self.assertEqual(listed_size(((image,) * 5, (Tensor(1),) * 5)), 5)  # torchvision's references
        self.assertEqual(listed_size([{"image": image}] * 4), 4)  # detectron2
        self.assertEqual(listed_size((Tensor(8, 3), Tensor(8))), 0)
        self.assertEqual(batch_size((Tensor(8, 3), Tensor(8))), 8)


if __name__ == "__main__":
    unittest.main(verbosity=2)

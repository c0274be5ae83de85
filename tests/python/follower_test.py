#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How calls into PyTorch become steps and phases, with a clock that is set by hand. Needs no PyTorch."""
import unittest

from hand_clock import MS, PLAIN, Script, times
from lockstep.open_optimizers import MOST_INSIDE


class FollowerTest(unittest.TestCase):
    def test_a_plain_loop(self):
        script = Script()
        for _ in range(3):
            script.train(1, length=3)
        script.end_of(1, 4)
        self.assertEqual(script.finish(), [(3, 12, 64, times(3, {"load": 10}))])
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
        self.assertEqual([phases for _, _, _, phases in script.finish()][1:], [times(2, {"load": 68})])

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
        self.assertEqual(script.finish(), [(2, 16, 74, {"load": 8, "forward": 20, "backward": 40, "optimizer": 6})])
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

    def test_a_batch_that_is_fetched_between_backward_and_the_optimizers_step_is_the_next_steps(self):
        for together, samples in ((1, 16), (2, 32)):
            with self.subTest(together=together):
                script = Script()
                for epoch in range(3):
                    for step in range(5):
                        for _ in range(together if step < 4 else 0):
                            script.fetch(epoch, 2, length=4 * together)
                        if step == 4:
                            script.end_of(epoch, 2)
                        if step:
                            script.optimize(3)
                        if step < 4:
                            script.wait(5)
                            script.backward(10, float(step))
                epochs = script.finish()
                self.assertEqual(epochs[1:], [(4, samples, 74 + 8 * together, times(4, {"load": 2 + 8 * together}))] * 2)
                self.assertEqual((len(epochs), epochs[0][0], epochs[0][2]), (3, 4, epochs[1][2]))
                self.assertEqual([loss["last"] for loss in script.heard.losses][-1], 3.0)

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

    def test_several_batches_before_one_backward_are_one_step_and_what_lies_between_them_is_forward(self):
        for together, phases in ((4, times(2, {"load": 16, "forward": 40})), (2, times(4, {"load": 16, "forward": 35, "other": 5}))):
            with self.subTest(together=together):
                script = Script()
                for epoch in (1, 2):
                    for step in range(8 // together):
                        for _ in range(together):
                            script.fetch(epoch, 2, length=8)
                            script.wait(5)
                        script.backward(10)
                        script.optimize(3)
                        script.follower.asked()
                        if step < 2 and epoch == 1:  # that they belong together shows at the second step
                            self.assertEqual(script.follower.first_samples, 4 * (together if step else 1))
                    script.end_of(epoch)
                steps = 8 // together
                script.finish()
                self.assertEqual(script.heard.epochs[0], (steps, 32, sum(phases.values()), phases))
                self.assertEqual(script.heard.epochs[1], (steps, 32, 56 + 13 * steps, times(steps, {"load": 16, "forward": 40})))
                self.assertEqual(script.heard.states[-1], ("training", 2, steps))

    def test_batches_that_are_skipped_before_the_first_backward_are_no_part_of_its_step(self):
        script = Script()
        for _ in range(100):
            script.fetch(1, 1)
        script.work()
        for _ in range(3):
            script.train(1)
        self.assertEqual([epoch[:2] for epoch in script.finish()], [(4, 16)])

    def test_a_loader_that_fetches_one_batch_ahead_does_so_also_when_one_is_skipped(self):
        script = Script()
        script.fetch(1, 2)
        for step in range(5):
            for _ in range(2 if step == 3 else 1):
                script.fetch(1, 2)
            script.work()
        script.end_of(1)
        script.work()
        self.assertEqual([epoch[:2] for epoch in script.finish()], [(6, 24)])

    def test_an_iterator_for_each_step_is_one_epoch_of_as_many_steps_as_the_loader_has_batches(self):
        for persists in (False, True):
            with self.subTest(persists=persists):
                script = Script()
                for step in range(8):
                    iterator = 5 if persists else step + 1
                    script.open(iterator, 1)
                    script.fetch(iterator, 2, length=3, data=7)
                    if not persists:
                        script.follower.dropped(iterator)
                    script.work()
                self.assertEqual(script.finish(), [(3, 12, 63, times(3, {"load": 9}))] * 2 + [(2, 8, 42, times(2, {"load": 6}))])
                self.assertEqual(script.heard.states, [("training", epoch, 3) for epoch in (1, 2, 3)])

    def test_of_iterators_that_were_dropped_nothing_is_kept(self):
        script = Script()
        for step in range(1000):
            for iterator in (2 * step, 2 * step + 1):
                script.open(iterator, 1)
                script.fetch(iterator, 2, data=iterator % 2)
                script.follower.dropped(iterator)
            script.work()
        follower = script.follower.at_once
        kept = [value for part in (follower, follower._trained, follower._trained.beside) for value in vars(part).values()
                if isinstance(value, (set, dict, list))]
        self.assertLess(max(map(len, kept)), 5)

    def test_a_batch_of_a_validation_in_each_step_is_known_by_its_lack_of_gradients(self):
        script = Script()
        for _ in range(3):
            script.fetch(1, 2)
            script.fetch(11, 30, learns=False)  # from an iterator that is held on
            script.work()
        for _ in range(3):
            script.train(1)
            script.fetch(11, 30, learns=False)
        self.assertEqual(script.finish(), [(6, 24, 120, times(6))])

    def test_loaders_that_are_fetched_without_gradients_alone_are_trained_on(self):
        script = Script()
        for _ in range(3):
            script.fetch(1, 2, learns=False)
            script.work()
        self.assertEqual(script.finish(), [(3, 12, 60, times(3))])

    def test_of_two_loaders_over_different_data_both_count_from_the_first_step_on(self):
        script = Script()
        for _ in range(3):
            script.fetch(1, 2)
            script.fetch(10, 2)
            script.work()
        self.assertEqual(script.finish(), [(3, 24, 66, times(3, {"load": 12}))])

    def test_a_backward_that_raises_costs_its_loss_and_its_batch_and_its_time_stays(self):
        script = Script()
        for step in range(4):
            script.fetch(1, 2)
            script.wait(5)
            if step % 2:
                script.follower.backward_begins(9.0, script.ns)
                script.wait(10)
                script.follower.backward_fails(script.ns)
            else:
                script.backward(10)
                script.optimize(3)
        script.train(1)
        self.assertEqual(script.finish(), [(3, 12, 94, {"load": 10, "forward": 25, "backward": 50, "optimizer": 9})])
        self.assertEqual([loss["max"] for loss in script.heard.losses], [1.0] * len(script.heard.losses))

    def test_an_optimizer_that_raises_without_a_loader_ends_no_step_and_the_next_one_does(self):
        script = Script()
        for step in range(5):
            script.backward(10)
            script.follower.optimizer_begins(1)
            if step != 2:
                script.follower.optimizer_ends(1)
        self.assertEqual([epoch[0] for epoch in script.finish()], [4])

    def optimize_within(self, script, count=1, closure=False):
        """A step of an optimizer, of 2 ms, that has its base class's make that many, of 3 ms each."""
        script.follower.optimizer_begins(1)
        script.wait(1)
        for _ in range(count):
            script.follower.optimizer_begins(1)
            if closure:
                script.wait(5)
                script.backward(10)
            script.wait(3)
            script.follower.optimizer_ends(1)
        script.wait(1)
        script.follower.optimizer_ends(1)

    def test_an_optimizers_step_that_has_its_base_classs_make_steps_is_one_step(self):
        for loader in False, True:
            for count in (1, 2, 3):
                with self.subTest(loader=loader, count=count):
                    script = Script()
                    for _ in range(20):
                        if loader:
                            script.fetch(1, 2)
                            script.wait(5)
                        script.backward(10)
                        self.optimize_within(script, count)
                    (epoch,) = script.finish()
                    self.assertEqual((epoch[0], epoch[3]["optimizer"], "other" in epoch[3]), (20, 20 * (2 + 3 * count), False))

    def test_so_it_is_where_these_compute_the_loss(self):
        for count in (1, 2):
            with self.subTest(count=count):
                script = Script()
                for _ in range(20):
                    script.fetch(1, 2)
                    self.optimize_within(script, count, closure=True)
                self.assertEqual([epoch[:2] for epoch in script.finish()], [(20, 80)])

    def test_an_optimizer_that_raises_in_its_base_classs_step_without_a_loader_ends_no_step_and_the_next_one_does(self):
        script = Script()
        for step in range(20):
            script.backward(10)
            if step % 5 == 4:
                for _ in range(2):
                    script.follower.optimizer_begins(1)
            else:
                self.optimize_within(script)
        self.assertEqual([epoch[0] for epoch in script.finish()], [16])

    def test_an_optimizer_that_has_raised_and_is_called_again_makes_a_step(self):
        for loader in False, True:
            with self.subTest(loader=loader):
                script = Script()
                for step in range(20):
                    if loader:
                        script.fetch(1, 2)
                    script.backward(10)
                    if step % 5 == 4:
                        script.follower.optimizer_begins(1)
                    script.optimize(3)
                self.assertEqual([epoch[0] for epoch in script.finish()], [20])

    def test_where_an_optimizer_raises_before_it_computes_the_loss_without_a_loader_steps_are_soon_known_again(self):
        script = Script()
        for step in range(40):
            script.follower.optimizer_begins(1)
            if step != 4:
                script.wait(5)
                script.backward(10)
                script.follower.optimizer_ends(1)
        self.assertEqual([epoch[0] for epoch in script.finish()], [40 - MOST_INSIDE])

    def test_an_optimizer_whose_step_a_scaler_calls_makes_one_step_of_both_and_none_when_it_raises(self):
        script = Script()
        for step in range(5):
            script.backward(10)
            script.follower.optimizer_begins(1, True)
            script.follower.optimizer_begins(1)
            if step == 2:
                script.follower.optimizer_fails(1, True)
            else:
                script.follower.optimizer_ends(1)
                script.follower.optimizer_ends(1, True)
        self.assertEqual([epoch[0] for epoch in script.finish()], [4])

    def test_an_optimizer_that_has_begun_before_it_was_followed_ends_its_step(self):
        script = Script()
        script.fetch(1, 2)
        script.wait(5)
        script.backward(10)
        script.wait(3)
        script.follower.optimizer_ends(1)
        script.train(1)
        script.end_of(1)
        self.assertEqual(script.finish(), [(2, 8, 40, times(2))])

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
            if script.follower.steps == 1:
                self.assertEqual(script.follower.first_samples, 8)
        # What is beside the newest loader might have been a validation until the second step: the first one's time for it is not known.
        (epoch,) = script.finish()
        self.assertEqual(epoch, (3, 24, 70, {"load": 16, "forward": 15, "backward": 30, "optimizer": 9}))

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
        self.assertEqual(script.finish(), [(3, 12, 114, {"load": 6, "forward": 30, "backward": 60, "optimizer": 18})])

    def test_optimizers_that_step_within_backward_share_its_time_with_it(self):
        script = Script()
        for _ in range(2):
            script.fetch(1, 2)
            script.wait(5)
            script.follower.backward_begins(1.0, script.ns)
            for optimizer in (1, 2):
                script.wait(4)
                script.optimize(1, optimizer)
            script.follower.backward_ends(script.ns)
        self.assertEqual(script.finish(), [(2, 8, 34, {"load": 4, "forward": 10, "backward": 16, "optimizer": 4})])

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
        self.assertEqual(script.finish(), [(2, 8, 100, {"load": 4, "forward": 30, "backward": 60, "optimizer": 6})])

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
        self.assertEqual(script.finish(), [(1, 8, 37, step), (1, 8, 37, step)])
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

    def test_the_epoch_in_which_a_script_fails_has_its_steps_and_no_end(self):
        for ended in False, True:
            with self.subTest(ended=ended):
                script = Script()
                for _ in range(4):
                    script.train(1)
                script.end_of(1)
                for _ in range(3):
                    script.train(2)
                if ended:
                    script.end_of(2)
                script.follower.finish(failed=True)
                self.assertEqual([epoch[0] for epoch in script.heard.epochs], [4, 3] if ended else [4])
                self.assertEqual(script.heard.states, [("training", 1, None), ("training", 2, None)])
                self.assertEqual(sum(script.heard.counts), 7)

    def test_a_script_whose_optimizer_is_none_of_pytorchs_keeps_no_losses_without_end(self):
        script = Script()
        for _ in range(10_000):
            script.backward(1)
        self.assertLessEqual(len(script.follower._step.losses), 4096)

    def test_iterators_that_are_dropped_leave_nothing_behind_and_the_newest_keep_their_batches(self):
        script = Script()
        script.train(1)
        for iterator in range(10, 5000):
            script.open(iterator, 1)
            script.fetch(iterator, 1, learns=False)
            script.follower.dropped(iterator)
        self.assertLess(len(script.follower._fetches), 1100)
        for _ in range(3):
            script.train(1)
        self.assertEqual([epoch[:2] for epoch in script.finish()], [(4, 16)])
        script = Script()
        for iterator in range(3000):  # each step's own
            script.fetch(iterator, 1, 3000, data=0)
            script.follower.dropped(iterator)
            script.work()
        self.assertEqual([epoch[:2] for epoch in script.finish()], [(3000, 12000)])

    def test_a_further_pass_of_a_batch_is_time_of_its_step_and_no_loss(self):
        script = Script()
        for _ in range(2):
            script.fetch(1, 2)
            for loss, again in ((1.0, False), (7.0, True)):
                script.follower.backward_begins(loss, script.ns, again)
                script.wait(10)
                script.follower.backward_ends(script.ns)
        script.optimize(3)
        script.end_of(1)
        self.assertEqual(script.finish(), [(1, 8, 47, {"load": 4, "backward": 40, "optimizer": 3})])
        self.assertEqual([loss["last"] for loss in script.heard.losses], [2.0])

    def test_sums_of_gradients_are_cut_out_of_backward(self):
        script = Script()
        script.fetch(1, 2)
        script.wait(5)
        script.backward(10, exposed=4, comm=6)
        script.optimize(3)
        script.end_of(1)
        self.assertEqual(script.finish(),
                         [(1, 4, 20, {"load": 2, "forward": 5, "backward": 6, "exposed": 4, "comm": 6, "optimizer": 3})])

    def test_a_loss_that_is_unknown_is_none(self):
        script = Script()
        script.fetch(1, 2)
        script.backward(10, loss=None)
        script.optimize(3)
        script.end_of(1)
        self.assertEqual(script.heard.losses, [None])


if __name__ == "__main__":
    unittest.main(verbosity=2)

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which batches belong to which step and which steps to which epoch, in scripts that skip batches, leave gradients over or validate with a
backward. With a clock that is set by hand; needs no PyTorch."""
import random
import unittest
from unittest.mock import patch

from hand_clock import PLAIN, Script, times
from lockstep.follower import Follower
from lockstep.reporter import Reporter


class LongWay(Follower):
    """Looks at every step as if it were unlike the one before."""

    def _goes_on_alike(self):
        return False


class Told(Reporter):
    """All that a follower reports, in its order."""

    def __init__(self):
        self.heard = []

    def begin_epoch(self, epoch, steps):
        self.heard.append(("epoch begins", epoch, steps))

    def begin_evaluation(self, epoch):
        self.heard.append(("evaluation begins", epoch))

    def end_evaluation(self, epoch):
        self.heard.append(("evaluation ends", epoch))

    def steps(self, log, force):
        log.read()
        self.heard.append(("steps", log.report()))

    def end_epoch(self, log, training_ns):
        self.heard.append(("epoch ends", log.summary(log.start_ns), training_ns))


def made_up_training(kind, seed):
    """What is reported of loops over several iterators that chance has made, with skipped batches, several backwards and validations."""
    chance, now, told, iterators = random.Random(seed), [0], Told(), []

    def tick():
        now[0] += chance.randint(1, 1000)
        return now[0]

    def backward():
        follower.backward_begins(chance.choice((1.0, 2.0, None)), tick())
        (follower.backward_fails if chance.random() < 0.05 else follower.backward_ends)(tick())

    def optimize(optimizer):
        follower.optimizer_begins(optimizer)
        follower.optimizer_ends(optimizer)

    follower = kind(told, tick)
    for _ in range(100):
        call = "open" if not iterators else chance.choices(("open", "again", "end", "drop", "backward", "optimize", "loop"),
                                                           (5, 4, 4, 5, 5, 5, 72))[0]
        if call == "open":
            iterators.append((len(iterators) + 1, chance.choice((1, 1, 1, 2, 3)), chance.choice((1, 3, 5, None))))
        iterator, data, length = iterators[-1] if chance.random() < 0.9 else chance.choice(iterators)
        if call in ("open", "again"):
            follower.opened(iterator, tick(), tick())
        elif call == "end":
            follower.exhausted(iterator, tick(), tick())
        elif call == "drop":
            follower.dropped(iterator)
        elif call == "backward":
            backward()
        elif call == "optimize":
            optimize(2)
        else:
            for _ in range(chance.choice((1, 1, 1, 1, 2))):
                follower.fetched(iterator, data, length, tick(), tick(), chance.choice((8, 8, 4, 0)), chance.random() < 0.8,
                                 chance.random() < 0.1)
            for _ in range(chance.choice((1, 1, 1, 2, 0))):
                backward()
            if chance.random() < 0.75:
                optimize(1)
    follower.finish()
    return told.heard


class PassesTest(unittest.TestCase):
    @patch("lockstep.steps.WINDOW_NS", -1)  # each step is reported by itself, at once
    def test_the_short_way_of_a_step_like_the_one_before_reports_what_the_long_way_does(self):
        for seed in range(600):
            with self.subTest(seed=seed):
                self.assertEqual(made_up_training(Follower, seed), made_up_training(LongWay, seed))

    def test_batches_that_are_skipped_count_nowhere_and_those_after_them_belong_together_where_they_did_before(self):
        for groups, expected in (((13, 1, 1, 1), (4, 16)),  # a script that goes on where it was stopped
                                 ((1, 1, 2, 1, 1, 2, 1), (7, 28)),  # one whose bad batches have no backward
                                 ((1, 2, 2, 2), (4, 16)),
                                 ((16, 4, 4), (3, 48)), ((3, 4, 2), (3, 36)),  # one backward for several
                                 ((5, 4, 4, 3), (4, 64)),  # and one that is fetched ahead
                                 ((100, 4, 4), (3, 36))):
            with self.subTest(groups=groups):
                script = Script()
                for number, group in enumerate(groups):
                    for _ in range(group):
                        script.fetch(1, 2)
                    if groups[0] == 5 and number == 3:
                        script.end_of(1)
                    script.work()
                self.assertEqual([epoch[:2] for epoch in script.finish()], [expected])

    def test_iterators_that_give_several_batches_to_one_backward_each_do_so_from_the_second_on(self):
        script = Script()
        for iterator in range(4):
            for _ in range(3):
                script.fetch(iterator, 2, length=9, data=7)
            script.work()
            script.follower.dropped(iterator)
        self.assertEqual(sum(epoch[1] for epoch in script.finish()), 4 * (1 + 3 * 3))

    def test_how_many_samples_are_trained_on_is_unknown_where_steps_without_a_batch_stand_beside_those_with_one(self):
        script = Script()
        for loss in range(10):
            if loss % 5 == 0:
                script.fetch(1, 2)
            script.backward(10, float(loss))
            script.optimize(3)
        logs, end_epoch = [], script.heard.end_epoch
        script.heard.end_epoch = lambda log, ns: (logs.append(log.summary(0)), end_epoch(log, ns))
        self.assertEqual([epoch[:2] for epoch in script.finish()], [(10, 0)])
        self.assertEqual(logs[0]["loss"], 4.5)

    def test_a_loader_that_repeats_its_sampler_for_ever_has_an_epoch_for_each_pass_of_it(self):
        script = Script()
        for _ in range(3):
            for _ in range(4):
                script.fetch(1, 2, length=4, endless=True)
                script.work()
            for _ in range(3):
                script.fetch(10, 30, length=9, endless=True, learns=False)
        self.assertEqual(script.finish(), [(4, 16, 80, times(4))] * 3)

    def test_gradients_that_are_left_over_and_stepped_after_the_loop_are_its_epochs_last_step(self):
        script = Script()
        for epoch in (1, 2):
            for batch in range(3):
                script.fetch(epoch, 2, length=3)
                script.wait(5)
                script.backward(10)
                if batch == 1:
                    script.optimize(3)
            script.end_of(epoch, 4)
            for optimizer in (1, 2):
                script.optimize(3, optimizer)
            script.wait(100)  # a checkpoint is written
            script.open(epoch + 1, 4)
        self.assertEqual(script.finish(), [(2, 12, 64, {"load": 10, "forward": 15, "backward": 30, "optimizer": 9}),
                                           (2, 12, 68, {"load": 14, "forward": 15, "backward": 30, "optimizer": 9})])
        self.assertEqual([state[:2] for state in script.heard.states], [("training", 1), ("training", 2)])

    def test_a_pass_over_other_data_whose_backwards_no_optimizer_follows_is_a_validation(self):
        script = Script()
        for epoch in (1, 2, 3):
            for batch in range(4):
                script.fetch(epoch, 2, length=4)
                script.wait(5)
                script.backward(10)
                for iterator in (10 + epoch, 20 + epoch) if batch in (0, 3) else ():  # within a step of two batches, and after the epoch
                    if batch:
                        script.optimize(3) if iterator < 20 else None
                        script.end_of(epoch) if iterator < 20 else None
                    for _ in range(3):
                        script.fetch(iterator, 30)
                        script.backward(10, 99.0)
                        script.wait(7)
                    script.end_of(iterator)
                if batch == 1:
                    script.optimize(3)
        step = {"load": 8, "forward": 20, "backward": 40, "optimizer": 6}
        self.assertEqual(script.finish(), [(2, 16, 74, step)] * 3)
        self.assertEqual([state for state in script.heard.states if state[0] == "training"], [("training", epoch, 2) for epoch in (1, 2, 3)])
        self.assertEqual({loss["max"] for loss in script.heard.losses}, {2.0})

    def test_gradients_of_whole_passes_over_the_same_data_are_of_the_step_that_follows(self):
        script = Script()
        for iterator in (1, 2, 3, 4):
            for _ in range(3):
                script.fetch(iterator, 2)
                script.backward(10)
            script.end_of(iterator)
            if iterator % 2 == 0:
                script.optimize(3)
        self.assertEqual([epoch[:2] for epoch in script.finish()], [(1, 24)] * 2)

    def test_the_batch_at_which_a_loop_is_left_is_trained_on_nowhere(self):
        script = Script()
        for epoch in range(3):
            loader = 2 * epoch
            for _ in range(2):
                script.train(loader, 9)
            script.fetch(loader, 2, 9)  # here the loop breaks
            script.follower.dropped(loader)
            script.fetch(loader + 11, 300, learns=False)
            script.end_of(loader + 11)
        self.assertEqual([epoch[:3] for epoch in script.finish()], [(2, 8, 40)] * 3)

    def test_zipped_loaders_have_an_epoch_for_each_pass_whichever_ends_it(self):
        for lengths in ((5, 3), (3, 5)):
            with self.subTest(lengths):
                script = Script()
                for epoch in range(3):
                    for step in range(4):
                        for which, length in enumerate(lengths):
                            if step == length:
                                script.end_of(2 * epoch + which)
                                break
                            script.fetch(2 * epoch + which, 1, length, data=which)
                        else:
                            script.work()
                            continue
                        break
                    for which in range(2):
                        script.follower.dropped(2 * epoch + which)
                    script.fetch(epoch + 11, 300, learns=False)
                    script.end_of(epoch + 11)
                self.assertEqual([epoch[:3] for epoch in script.finish()], [(3, 24, 60)] * 3)

    def test_samples_are_unknown_where_batches_of_a_loader_that_is_over_may_be_used_again(self):
        script = Script()
        for epoch in range(2):
            for step in range(5):
                script.fetch(epoch, 1, 5, data=1)
                if step < 3:
                    script.fetch(epoch + 5, 1, 3, data=2)
                elif step == 3:
                    script.end_of(epoch + 5)
                script.work()
            script.end_of(epoch)
        self.assertEqual([epoch[:2] for epoch in script.finish()], [(5, 0)] * 2)
        self.assertEqual(script.heard.states, [("training", 1, None), ("training", 2, None)])

    def test_steps_that_take_turns_between_two_iterators_over_the_same_data_are_of_one_epoch(self):
        script = Script()
        for epoch in range(3):
            for iterator in (2 * epoch, 2 * epoch + 1):
                script.open(iterator, 1)
            for _ in range(3):
                for iterator in (2 * epoch, 2 * epoch + 1):
                    script.train(iterator, 4)
            for iterator in (2 * epoch, 2 * epoch + 1):
                script.follower.dropped(iterator)
        self.assertEqual(script.finish(), [(6, 24, 122, times(6, {"load": 14}))] * 3)
        self.assertEqual(script.heard.states, [("training", epoch, steps) for epoch in (1, 2, 3) for steps in (4, None)])

    def test_that_they_do_so_shows_at_the_latest_when_the_first_one_comes_again(self):
        script = Script()
        beside = 5
        for epoch in range(3):
            for step in range(4):
                script.train(epoch, 4)
                if step == 2:  # the other one is over, and begins again
                    script.end_of(beside)
                    script.follower.dropped(beside)
                    beside += 1
                script.train(beside, 4)
            script.end_of(epoch)
            script.follower.dropped(epoch)
        self.assertEqual([epoch[0] for epoch in script.finish()], [1, 4, 8, 8, 3])
        script = Script()
        for iterator in (1, 2, 1, 2, 1, 2, 1):
            script.train(iterator, 9)
        self.assertEqual([epoch[0] for epoch in script.finish()], [1, 6])

    def test_a_new_iterator_over_the_same_data_begins_an_epoch_though_the_one_before_is_held_and_not_over(self):
        for turns in (False, True):
            with self.subTest(turns=turns):
                script = Script()
                for iterator in (8, 9, 8, 9) if turns else ():
                    script.train(iterator, 9)
                for iterator in (8, 9) if turns else ():
                    script.end_of(iterator)
                for iterator in range(5):
                    script.open(iterator, 0)
                    for _ in range(3):
                        script.train(iterator, 9)
                epochs = [epoch[:2] for epoch in script.finish()]
                self.assertEqual(epochs[2:] if turns else epochs, [(6, 24), (6, 24), (3, 12)] if turns else [(3, 12)] * 5)

    def test_a_shorter_loader_that_begins_again_within_an_epoch_ends_none(self):
        script = Script()
        beside = 100
        for epoch in range(3):
            for step in range(5):
                script.fetch(epoch, 1, 5, data=1)
                if (5 * epoch + step) % 2 == 0:
                    script.end_of(beside)
                    beside += 1
                script.fetch(beside, 1, 2, data=2)
                script.work()
            script.end_of(epoch)
        self.assertEqual([epoch[:2] for epoch in script.finish()], [(5, 40)] * 3)

    def test_a_validation_that_breaks_off_is_not_trained_on_where_training_has_no_loader(self):
        for held, batches in ((True, 3), (False, 3), (False, 1)):
            with self.subTest(held=held, batches=batches):
                script = Script()
                for epoch in range(3):
                    for _ in range(4):
                        script.backward(10)
                        script.optimize(3)
                    for _ in range(batches):
                        script.fetch(10 + epoch, 30, length=5, learns=False)
                    if not held:
                        script.follower.dropped(10 + epoch)
                self.assertEqual(script.finish(), [(12, 0, 156, {"backward": 120, "optimizer": 36})])

    def test_a_batch_that_is_fetched_ahead_is_not_the_second_backwards_of_the_one_before(self):
        script = Script()
        for epoch in range(3):
            script.fetch(epoch, 2, length=5)
            for batch in range(5):
                if batch < 4:
                    script.fetch(epoch, 2, length=5)
                else:
                    script.end_of(epoch)
                for optimizer in (1, 2):  # a generator's and a discriminator's
                    script.backward(10)
                    script.optimize(3, optimizer)
        self.assertEqual([epoch[:2] for epoch in script.finish()], [(5, 20)] * 3)
        self.assertEqual([state[2] for state in script.heard.states], [3, 5, 5, 5])  # the first epoch's is told anew
        self.assertEqual(script.follower.first_samples, 4)

    def test_an_iterator_that_was_looked_at_before_training_is_not_trained_on(self):
        script = Script()
        script.open(10, 5)
        script.fetch(10, 30, samples=20, length=2)
        for epoch in range(3):
            script.open(epoch, 0)
            for _ in range(4):
                script.fetch(epoch, 2, 4)
                script.work()
            script.end_of(epoch)
            script.wait(100)
        self.assertEqual(script.finish(), [(4, 16, 80, times(4))] * 3)

    def test_a_loader_whose_iterator_is_made_within_the_first_step_is_trained_on_beside_the_epochs(self):
        script = Script()
        for epoch in range(2):
            script.open(epoch, 0)
            for step in range(5):
                script.fetch(epoch, 1, 5, data=1)
                if epoch + step == 0:
                    script.open(100, 0)
                script.fetch(100, 1, 50, data=2)
                script.work()
            script.end_of(epoch)
        self.assertEqual([epoch[:2] for epoch in script.finish()], [(5, 40)] * 2)

    def test_a_pass_over_the_training_data_that_no_optimizer_follows_is_no_part_of_a_step(self):
        script = Script()
        for epoch in range(3):
            for _ in range(4):
                script.train(2 * epoch, 4)
            script.end_of(2 * epoch)
            for _ in range(4):  # which weights matter most
                script.fetch(2 * epoch + 1, 2, 4)
                script.wait(5)
                script.backward(10, 7.0)
            script.end_of(2 * epoch + 1)
        self.assertEqual(script.finish(), [(4, 16, 80, times(4))] * 3)
        self.assertEqual(max(loss["max"] for loss in script.heard.losses), 1.0)

    def test_a_pass_that_is_shorter_than_what_is_accumulated_belongs_to_a_step(self):
        script = Script()
        for batch in range(24):
            script.fetch(batch // 3, 2, 3)
            script.wait(5)
            script.backward(10)
            if batch % 4 == 3:
                script.optimize(3)
            if batch % 3 == 2:
                script.end_of(batch // 3)
        self.assertEqual(sum(epoch[1] for epoch in script.finish()), 24 * 4)

    def test_a_backward_without_a_batch_before_one_with_a_batch_is_no_part_of_its_step(self):
        script = Script()
        for epoch in range(3):
            script.backward(10, 100.0)  # of one fixed image
            for _ in range(4):
                script.train(epoch, 4)
            script.end_of(epoch)
        self.assertEqual(script.finish(), [(4, 16, 80, times(4))] * 3)
        self.assertEqual(max(loss["max"] for loss in script.heard.losses), 1.0)

    def test_steps_with_a_backward_for_each_of_two_loaders_are_as_many_as_the_first_has_batches(self):
        script = Script()
        for _ in range(4):
            for iterator in (1, 2):
                script.fetch(iterator, 2, 4, data=iterator)
                script.backward(10)
            script.optimize(3)
        script.finish()
        self.assertEqual(script.heard.states, [("training", 1, 4)])

    def test_batches_that_are_fetched_without_gradients_are_trained_on_where_each_has_its_backward(self):
        for together, backwards in ((4, 4), (2, 1)):
            with self.subTest(together=together, backwards=backwards):
                script = Script()
                for epoch in range(3):
                    for _ in range(2):
                        for _ in range(together):
                            script.fetch(epoch, 2, 2 * together, learns=False)
                        for _ in range(backwards):
                            script.backward(10)
                        script.optimize(3)
                    script.end_of(epoch)
                self.assertEqual([epoch[:2] for epoch in script.finish()], [(2, 8 * together)] * 3)

    def test_a_look_at_a_validation_before_training_without_a_loader_is_the_first_steps_at_most(self):
        script = Script()
        for _ in range(2):
            script.fetch(10, 30, length=5, learns=False)
        for epoch in range(3):
            for _ in range(4):
                script.backward(10)
                script.optimize(3)
            for _ in range(3):
                script.fetch(11 + epoch, 30, length=5, learns=False)
        (_, samples, _, phases), = script.finish()
        self.assertEqual((samples, phases["load"]), (0, 60))

    def test_steps_of_two_passes_each_are_whole_after_steps_of_one_pass(self):
        script = Script()
        passes = iter(range(100))
        for step in range(6):
            for iterator in (next(passes) for _ in range(1 if step < 2 else 2)):
                for _ in range(3):
                    script.fetch(iterator, 2, 3)
                    script.backward(10)
                script.end_of(iterator)
            script.optimize(3)
        self.assertEqual([epoch[1] for epoch in script.finish()], [12] * 2 + [24] * 4)

    def test_a_loader_whose_iterator_is_made_within_the_first_of_several_backwards_is_trained_on_beside_the_epochs(self):
        script = Script()
        for epoch in range(2):
            for batch in range(6):
                script.fetch(epoch, 1, 6, data=1)
                if epoch + batch == 0:
                    script.open(100, 0)
                script.fetch(100, 1, 50, data=2)
                script.backward(10)
                if batch % 2:
                    script.optimize(3)
            script.end_of(epoch)
        self.assertEqual([epoch[:2] for epoch in script.finish()], [(3, 48)] * 2)

    def test_two_loaders_of_which_one_batch_each_is_fetched_ahead_keep_it_where_two_backwards_follow(self):
        script = Script()
        for epoch in range(3):
            for batch in range(6):
                for loader in (0, 100):
                    if batch < 5:
                        script.fetch(loader + epoch, 2, 5, data=loader)
                if batch == 5:
                    script.end_of(epoch)
                for optimizer in (1, 2) if batch else ():
                    script.backward(10)
                    script.optimize(3, optimizer)
        self.assertEqual([epoch[0] for epoch in script.finish()], [5] * 3)
        self.assertEqual(script.follower.first_samples, 8)

    def test_a_regulariser_that_goes_backward_before_each_batch_is_part_of_the_step_from_the_second_on(self):
        script = Script()
        for iterator in range(4):  # a pass of one batch each
            script.backward(4, 0.5)
            script.train(iterator, 1)
            script.end_of(iterator)
        self.assertEqual([round(epoch[3]["backward"]) for epoch in script.finish()], [10, 14, 14, 14])

    def test_the_samples_of_an_epoch_with_a_batch_of_unknown_size_are_unknown(self):
        for together in (1, 2):
            with self.subTest(together=together):
                script = Script()
                for batch in range(8):
                    script.fetch(1, 2, 8, samples=0 if batch == 5 else 4)
                    if (batch + 1) % together == 0:
                        script.work()
                self.assertEqual([epoch[:2] for epoch in script.finish()], [(8 // together, 0)])
        script = Script()
        for batch in range(4):
            script.fetch(1, 2, 4, samples=0 if batch == 2 else 4)
            if batch:
                script.optimize(3)  # of the batch before
            script.backward(10)
        script.optimize(3)
        self.assertEqual([epoch[:2] for epoch in script.finish()], [(4, 0)])

    def test_a_first_batch_that_is_fetched_without_gradients_is_one_of_the_loaders_whose_others_have_them(self):
        script = Script()
        for epoch in range(2):
            for batch in range(6):
                script.fetch(epoch, 2, 6, learns=epoch + batch > 0)
                script.work()
                if batch == 3:
                    script.backward(10)  # once more
                    script.optimize(3)
            script.end_of(epoch)
        self.assertEqual([epoch[0] for epoch in script.finish()], [7, 7])

    def test_two_loaders_that_are_as_long_keep_the_steps_that_were_announced(self):
        script = Script()
        for step in range(5):
            script.fetch(1, 1, 5, data=1)
            if step == 0:
                script.open(2, 0)
            script.fetch(2, 1, 5, data=2)
            script.work()
        script.finish()
        self.assertEqual({state[2] for state in script.heard.states}, {5})

    def test_an_epoch_of_which_all_batches_were_trained_on_has_its_end_though_the_script_fails_then(self):
        for batches, ahead, ended in ((4, 0, True), (3, 0, False), (4, 1, False)):
            with self.subTest(batches=batches, ahead=ahead):
                script = Script()
                for _ in range(ahead):
                    script.fetch(1, 2, 4)
                for batch in range(batches - ahead):
                    script.train(1, 4)
                if ahead:
                    script.end_of(1)
                script.follower.finish(failed=True)
                self.assertEqual(len(script.heard.epochs), int(ended))

    def test_a_validation_between_a_batch_and_its_backward_is_no_part_of_the_step(self):
        for together, loaders, ended in ((1, 1, True), (2, 1, True), (1, 2, True), (1, 1, False)):
            with self.subTest(together=together, loaders=loaders, ended=ended):
                script = Script()
                for step in range(4):
                    for batch in range(together):
                        script.fetch(1, 2)
                        validated = range(20 + 10 * step, 20 + 10 * step + loaders) if step % 2 and batch == together - 1 else ()
                        for iterator in validated:
                            script.open(iterator, 40)
                        for iterator in 3 * [*validated]:
                            script.fetch(iterator, 30, learns=False)
                            script.wait(7)
                        for iterator in validated:
                            (script.end_of if ended else script.follower.dropped)(iterator)
                        script.wait(5)
                        script.backward(10)
                    script.optimize(3)
                # Of a validation that breaks off what is worked on its last batch is unknown.
                expected = {phase: 4 * ms * (together if phase != "optimizer" else 1) for phase, ms in PLAIN.items()}
                expected["forward"] += 0 if ended else 2 * 7
                self.assertEqual(script.finish(), [(4, 16 * together, sum(expected.values()), expected)])

    def test_batches_that_are_fetched_without_gradients_from_the_iterator_that_is_trained_on_are_a_validations(self):
        for ahead in (0, 1):
            with self.subTest(ahead=ahead):
                script = Script()
                for number in range(7 + ahead):
                    for _ in range(number % 3 if number > 1 else 0):
                        script.fetch(1, 30, learns=False)
                        script.wait(7 * (1 - ahead))
                    script.fetch(1, 2)
                    if number >= ahead:
                        script.work()
                self.assertEqual(script.finish(), [(7, 28, 140 + 2 * ahead, times(7, {"load": 14 + 2 * ahead}))])

    def test_a_first_batch_that_is_fetched_ahead_without_gradients_is_trained_on(self):
        script = Script()
        script.fetch(1, 2, learns=False)
        for number in range(5):
            script.fetch(1, 2) if number < 4 else script.end_of(1)
            script.work()
        self.assertEqual([epoch[:2] for epoch in script.finish()], [(5, 20)])

    def test_a_batch_from_a_new_iterator_beside_that_of_each_step_is_trained_on(self):
        script = Script()
        for step in range(5):
            script.fetch(1, 2, 5)
            script.fetch(10 + step, 2, 5)
            script.follower.dropped(10 + step)
            script.work()
        self.assertEqual([epoch[:2] for epoch in script.finish()], [(5, 40)])


if __name__ == "__main__":
    unittest.main(verbosity=2)

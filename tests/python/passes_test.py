#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which batches belong to which step and which steps to which epoch, in scripts that skip batches, leave gradients over or validate with a
backward. With a clock that is set by hand; needs no PyTorch."""
import random
import unittest

from hand_clock import Script, times
from lockstep.follower import Follower, Reporter


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


LOADERS = ((1, 10, 5), (2, 10, 5), (3, 20, 3), (4, 30, None), (5, 20, 3))  # iterator, data set, batches


def made_up_training(kind, seed):
    """What is reported of a hundred calls in an order that chance has made, most of them of one loader."""
    chance, now, told = random.Random(seed), [0], Told()

    def tick():
        now[0] += chance.randint(1, 1000)
        return now[0]

    follower = kind(told, tick)
    for _ in range(100):
        iterator, data, length = LOADERS[min(int(chance.expovariate(1.5)), len(LOADERS) - 1)]
        call = chance.choices(("opened", "fetched", "exhausted", "dropped", "backward", "optimizer"), (5, 35, 4, 2, 26, 28))[0]
        if call in ("opened", "exhausted"):
            getattr(follower, call)(iterator, tick(), tick())
        elif call == "fetched":
            follower.fetched(iterator, data, length, tick(), tick(), chance.choice((8, 8, 4, 0)), chance.random() < 0.8, iterator == 4)
        elif call == "dropped":
            follower.dropped(iterator)
        elif call == "backward":
            follower.backward_begins(chance.choice((1.0, 2.0, None)), tick())
            (follower.backward_fails if chance.random() < 0.05 else follower.backward_ends)(tick())
        else:
            optimizer = chance.choice((1, 1, 1, 2))
            follower.optimizer_begins(optimizer)
            follower.optimizer_ends(optimizer)
    follower.finish()
    return told.heard


class PassesTest(unittest.TestCase):
    def test_the_short_way_of_a_step_like_the_one_before_reports_what_the_long_way_does(self):
        for seed in range(1000):
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

    def test_steps_after_those_that_were_left_over_are_of_another_epoch(self):
        script = Script()
        script.fetch(1, 2)
        script.backward(10)
        script.end_of(1)
        for _ in range(4):
            script.optimize(3)
            script.backward(10)
        self.assertEqual([epoch[:2] for epoch in script.finish()], [(1, 4), (3, 0)])

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


if __name__ == "__main__":
    unittest.main(verbosity=2)

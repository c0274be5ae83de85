#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the timers of DistributedDataParallel say, read one by one and of many backwards together. Needs PyTorch."""
import gc
import pathlib
import sys
import unittest

import torch
from torch.distributed import HashStore, Logger, destroy_process_group, init_process_group
from torch.nn.parallel import DistributedDataParallel

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "resources/python"))
from device import Device  # noqa: E402
from lockstep.gradient_sums import ALWAYS_TIMED, UNKNOWN, GradientSums, _StreamModel  # noqa: E402
from lockstep.stream_clock import StreamClock  # noqa: E402
from lockstep.watch import Watch  # noqa: E402


class Stepping(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        init_process_group("gloo", rank=0, world_size=1, store=HashStore())
        cls.addClassCleanup(destroy_process_group)

    def step(self, model, may_wait=False, by_hand=None, forwards=1):
        """Forwards and a backward: what is known of it. `by_hand` is given what the timers said. With no forward of its own, a part of the
        model is used, which sums nothing."""
        loss = sum(model(torch.ones(4, 50)).sum() for _ in range(forwards)) if forwards else model.module(torch.ones(4, 50)).sum()
        self.sums.begin()
        loss.backward()
        if by_hand is not None:
            logger = Logger(model.reducer)
            logger.set_runtime_stats_and_log()
            known = logger._get_ddp_logging_data().ints_map
            way = known["backward_comm_time"]
            by_hand.append((way - known["backward_compute_comm_overlap_time"], way))
        return self.sums.end(may_wait)


class GradientSumsTest(Stepping):
    def setUp(self):
        self.sums = GradientSums()
        self.model = self.wrapped()

    def wrapped(self):
        model = DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(50, 50), torch.nn.Linear(50, 50)))
        self.sums.add(model)
        return model

    def test_what_is_read_of_a_backward_is_what_the_timers_say(self):
        for _ in range(3):
            by_hand = []
            self.assertEqual([self.step(self.model, by_hand=by_hand)], by_hand)
            self.assertGreater(by_hand[0][1], 0)

    def test_what_is_read_of_many_together_is_the_sum_of_what_the_timers_say_of_each(self):
        self.step(self.model)
        for count in (1, 5, 16):
            by_hand = []
            for _ in range(count):
                self.assertEqual(self.step(self.model, True, by_hand), UNKNOWN)
            for sums, each in zip(self.sums.noted(), zip(*by_hand)):
                self.assertAlmostEqual(sums, sum(each), delta=count * count)  # PyTorch cuts each mean to a whole nanosecond
            self.assertEqual(self.sums.noted(), UNKNOWN)

    def test_what_was_noted_is_known_after_the_script_has_let_go_of_the_model(self):
        self.step(self.model)
        self.step(self.model, True)
        self.model = None
        gc.collect()
        self.assertGreater(self.sums.noted()[1], 0)
        self.assertEqual(self.sums.wrapped, [])

    def test_backwards_are_unknown_where_the_model_had_other_forwards_than_these(self):
        self.step(self.model)
        for _ in range(2):
            self.step(self.model, True)
            self.model(torch.ones(4, 50))
        self.assertEqual(self.sums.noted(), UNKNOWN)

    def test_each_backward_is_read_by_itself_once_many_together_were_unknown(self):
        self.step(self.model)
        for _ in range(2):
            self.step(self.model, True, forwards=2)
        self.assertEqual(self.sums.noted(), UNKNOWN)
        by_hand = []
        self.assertEqual([self.step(self.model, True, by_hand, forwards=2)], by_hand)
        self.assertEqual(self.sums.noted(), UNKNOWN)

    def test_the_first_backwards_of_all_are_unknown_together_where_they_had_two_forwards(self):
        for _ in range(3):
            self.step(self.model, True, forwards=2)
        self.assertEqual(self.sums.noted(), UNKNOWN)

    def test_of_a_model_with_two_forwards_for_each_backward_none_is_read_with_others(self):
        for _ in range(2):
            self.step(self.model, forwards=2)
        for _ in range(3):
            by_hand = []
            self.assertEqual([self.step(self.model, True, by_hand, forwards=2)], by_hand)
            self.assertGreater(by_hand[0][1], 0)
        self.assertEqual(self.sums.noted(), UNKNOWN)

    def test_of_backwards_with_two_forwards_and_with_none_in_turn_the_former_count_once(self):
        for _ in range(2):
            self.step(self.model, forwards=2)
            self.assertEqual(self.step(self.model, forwards=0), UNKNOWN)
        for _ in range(3):
            by_hand = []
            self.assertEqual([self.step(self.model, True, by_hand, forwards=2)], by_hand)
            self.assertEqual(self.step(self.model, True, forwards=0), UNKNOWN)
        self.assertEqual(self.sums.noted(), UNKNOWN)

    def test_a_forward_before_the_first_backward_doesnt_keep_later_ones_from_being_read_together(self):
        self.model(torch.ones(4, 50))
        for _ in range(2):
            self.step(self.model)
        self.assertEqual(self.step(self.model, True), UNKNOWN)
        self.assertGreater(self.sums.noted()[1], 0)

    def test_a_model_that_is_wrapped_anew_after_a_backward_that_raised_is_read(self):
        self.step(self.model)
        self.sums.begin()
        self.sums.fail()
        self.check_the_next()

    def test_so_is_one_where_nothing_tells_that_the_backward_has_raised(self):
        self.step(self.model)
        self.sums.begin()
        self.sums.backwards = 0
        self.check_the_next()

    def check_the_next(self):
        self.model = None
        gc.collect()
        self.model = self.wrapped()
        by_hand = []
        self.assertEqual([self.step(self.model, by_hand=by_hand)], by_hand)
        self.assertGreater(by_hand[0][1], 0)

    def test_a_failure_without_a_begin_leaves_the_next_backwards_inside_each_other_known(self):
        self.sums.fail()
        self.test_of_backwards_inside_each_other_the_outermost_is_read()

    def test_of_backwards_inside_each_other_the_outermost_is_read(self):
        for may_wait in (False, True):
            loss = self.model(torch.ones(4, 50)).sum()
            self.sums.begin()
            self.sums.begin()
            self.assertEqual(self.sums.end(may_wait), UNKNOWN)
            loss.backward()
            exposed, comm = self.sums.end(may_wait)
            self.assertGreater((self.sums.noted() if may_wait else (exposed, comm))[1], 0)

    def test_a_backward_without_sums_and_one_of_another_model_are_not_read_again(self):
        other = self.wrapped()
        self.step(self.model)
        with self.model.no_sync():
            self.assertEqual(self.step(self.model, True), UNKNOWN)
        by_hand = []
        self.assertEqual([self.step(other, True, by_hand)], by_hand)
        self.assertEqual(self.sums.noted(), UNKNOWN)

    def test_the_model_reads_its_own_timers_as_seldom_as_without(self):
        for _ in range(20):
            self.step(self.model)
        self.assertLessEqual(self.model._get_ddp_logging_data()["iteration"], 10)


class WaitingTest(Stepping):
    """What a rank's heartbeats say of a backward, in which it waits for the others."""

    def setUp(self):
        self.watch = Watch()
        self.watch._torch, self.watch._world, self.watch._tell = torch, 2, lambda *_: None
        self.model = DistributedDataParallel(torch.nn.Linear(5, 5))
        self.watch._gradient_sums.add(self.model)

    def collectives(self):
        where = self.watch._position.report()["at"]
        return where.get("collectives", 0), where.get("collectives_ended", 0), "wait_s" in where

    def begin(self):
        loss = self.model(torch.ones(4, 5)).sum()
        self.watch.backward_begins(loss, 0)
        return loss

    def test_a_backward_that_sums_gradients_is_a_collective_until_it_ends_or_raises(self):
        self.begin().backward()
        self.assertEqual(self.collectives(), (1, 0, True))
        self.watch.backward_ends(0)
        self.assertEqual(self.collectives(), (1, 1, False))
        self.begin()
        self.watch.backward_fails(0)
        self.assertEqual(self.collectives(), (2, 2, False))

    def test_one_inside_another_neither_begins_a_collective_nor_ends_it(self):
        for ends in (self.watch.backward_ends, self.watch.backward_fails):
            before, _, _ = self.collectives()
            self.begin().backward()
            self.begin().backward()
            ends(0)
            self.assertEqual(self.collectives(), (before + 1, before, True))
            self.watch.backward_ends(0)
            self.assertEqual(self.collectives(), (before + 1, before + 1, False))

    def test_a_backward_waits_for_nobody_without_sums_or_other_ranks_or_on_a_gpu(self):
        with self.model.no_sync():
            self.begin().backward()
        self.watch.backward_ends(0)
        self.watch._world = 1
        self.begin().backward()
        self.watch.backward_ends(0)
        self.watch._world, self.watch._gradient_sums.wrapped = 2, [_StreamModel(self.model, None)]
        self.begin().backward()
        self.assertEqual(self.collectives(), (0, 0, False))


class OnADeviceTest(Stepping):
    """Of a model on a GPU the timers are events. Here they are a CPU's, and a device whose clock is set by hand says when they may be read."""

    def setUp(self):
        self.ns = 0
        self.device = Device(lambda: self.ns)
        self.sums = GradientSums()
        self.model = self.wrapped()
        self.sums.use(StreamClock(self.device, 0, lambda: self.ns))

    def wrapped(self):
        model = DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(50, 50), torch.nn.Linear(50, 50)))
        self.sums.wrapped.append(_StreamModel(model, self.sums._stream))
        return model

    def timed(self, by_hand=None, forwards=1):
        """A step for which the device needs a millisecond. Gives what tells of it later."""
        self.device.give(1)
        self.assertEqual(self.step(self.model, by_hand=by_hand, forwards=forwards), UNKNOWN)
        return self.sums.later()

    def catch_up(self):
        self.ns = self.device.free_ns

    def past_those_that_are_always_timed(self):
        for _ in range(ALWAYS_TIMED + 1):
            self.timed()
            self.catch_up()

    def test_where_the_device_keeps_up_what_is_read_of_each_backward_is_what_the_timers_say(self):
        for forwards in (1, 2):
            for _ in range(15):
                by_hand = []
                later = self.timed(by_hand, forwards)
                self.catch_up()
                self.assertEqual([later()], by_hand)
                self.assertGreater(by_hand[0][1], 0)

    def test_a_backward_that_raises_has_no_sums_and_a_model_that_is_wrapped_anew_is_read(self):
        self.timed()
        self.catch_up()
        self.sums.begin()
        self.sums.fail()
        self.assertEqual(self.sums.later()(), UNKNOWN)
        self.sums.begin()
        self.sums.backwards = 0  # nothing tells that this one has raised
        self.model = None
        gc.collect()
        self.model = self.wrapped()
        by_hand = []
        later = self.timed(by_hand)
        self.catch_up()
        self.assertEqual([later()], by_hand)
        self.assertGreater(by_hand[0][1], 0)

    def test_what_nobody_has_asked_for_is_known_after_the_next_backward_too(self):
        by_hand, told = [], []
        for _ in range(15):
            told.append(self.timed(by_hand))
            self.catch_up()
        self.assertEqual([later() for later in told], by_hand)

    def test_no_backward_is_timed_before_the_device_has_ended_the_one_before_and_such_ones_are_like_the_newest(self):
        self.past_those_that_are_always_timed()
        by_hand = []
        first = self.timed(by_hand)
        others = [self.timed() for _ in range(3)]
        self.catch_up()
        self.assertEqual([first(), *(later() for later in others)], by_hand * 4)
        self.timed(by_hand)
        self.catch_up()
        self.timed()
        self.assertNotEqual(*by_hand)
        self.assertEqual(others[0](), by_hand[1])

    def test_of_the_first_backwards_those_are_not_read_whose_timers_were_set_anew(self):
        first, second = self.timed(), self.timed()
        self.catch_up()
        self.assertEqual((first(), second()), (UNKNOWN, UNKNOWN))
        by_hand = []
        third = self.timed(by_hand)
        self.catch_up()
        self.assertEqual([third()], by_hand)

    def test_a_backward_without_sums_and_one_inside_another_have_none(self):
        self.timed()
        self.catch_up()
        with self.model.no_sync():
            self.assertEqual(self.timed()(), UNKNOWN)
        self.sums.begin()
        self.timed()
        self.assertEqual(self.sums.later()(), UNKNOWN)
        self.sums.end(False)
        self.catch_up()
        self.assertGreater(self.sums.later()()[1], 0)

    def test_a_backward_of_something_else_has_no_sums_and_leaves_the_newest_known(self):
        self.past_those_that_are_always_timed()
        by_hand = []
        self.timed(by_hand)
        self.catch_up()
        self.sums.begin()
        torch.ones(4, requires_grad=True).sum().backward()
        self.sums.end(False)
        other = self.sums.later()
        self.timed()
        not_timed = self.timed()
        self.catch_up()
        self.assertEqual((other(), not_timed()), (UNKNOWN, by_hand[0]))

    def test_what_is_not_timed_is_unknown_where_another_model_may_have_had_the_backward(self):
        other = self.wrapped()
        self.past_those_that_are_always_timed()
        first, second = self.timed(), self.timed()
        self.catch_up()
        self.assertGreater(first()[1], 0)
        self.assertEqual(second(), UNKNOWN)
        by_hand = []
        self.step(other, by_hand=by_hand)
        later = self.sums.later()
        self.catch_up()
        self.assertEqual([later()], by_hand)

    def test_a_backward_is_as_the_newest_once_the_script_has_let_go_of_the_model(self):
        by_hand = []
        self.timed(by_hand)
        self.catch_up()
        later = self.timed()
        self.model = None
        gc.collect()
        self.catch_up()
        self.assertEqual([later()], by_hand)

    def test_nothing_is_timed_before_the_device_is_known(self):
        self.sums = GradientSums()
        self.sums.wrapped.append(_StreamModel(self.model, None))
        self.assertEqual(self.timed()(), UNKNOWN)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)

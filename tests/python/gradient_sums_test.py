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
from lockstep.gradient_sums import UNKNOWN, GradientSums  # noqa: E402


class GradientSumsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        init_process_group("gloo", rank=0, world_size=1, store=HashStore())
        cls.addClassCleanup(destroy_process_group)

    def setUp(self):
        self.sums = GradientSums()
        self.model = self.wrapped()

    def wrapped(self):
        model = DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(50, 50), torch.nn.Linear(50, 50)))
        self.sums.add(model)
        return model

    def step(self, model, may_wait=False, by_hand=None):
        """A forward and a backward: what is known of it. `by_hand` is given what the timers said."""
        loss = model(torch.ones(4, 50)).sum()
        self.sums.begin()
        loss.backward()
        if by_hand is not None:
            logger = Logger(model.reducer)
            logger.set_runtime_stats_and_log()
            known = logger._get_ddp_logging_data().ints_map
            way = known["backward_comm_time"]
            by_hand.append((way - known["backward_compute_comm_overlap_time"], way))
        return self.sums.end(may_wait)

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


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""When a script's calls are passed on to its follower. That what it finds is the same then is checked by every test of hand_clock's script."""
import unittest

from hand_clock import MS, Heard
from lockstep.calls import MOST_STEPS, Calls


class CallsTest(unittest.TestCase):
    def setUp(self):
        self.ns = 0
        self.heard = Heard()
        self.calls = Calls(self.heard, lambda: self.ns, longest_ns=10**12)

    def fetch(self, iterator=1):
        self.calls.tell("asked")
        self.calls.tell("fetched", iterator, 0, 1000, self.ns, self.ns, 4)

    def work(self, loss=0.5):
        self.ns += MS
        self.calls.tell("backward_begins", loss, self.ns)
        self.calls.tell("backward_ends", self.ns + MS)
        self.calls.tell("optimizer_begins", 7)
        self.calls.tell("optimizer_ends", 7)

    def train(self, steps):
        for _ in range(steps):
            self.fetch()
            self.work()

    def test_the_calls_of_alike_steps_wait_until_the_backward_of_a_certain_step(self):
        self.train(3)
        passed_on = self.calls.follower.steps
        self.train(MOST_STEPS - 3)
        self.fetch()
        self.assertEqual((self.calls.follower.steps, self.calls.steps), (passed_on, MOST_STEPS))
        self.work()
        self.assertEqual((self.calls.follower.steps, self.calls.complete), (MOST_STEPS, MOST_STEPS + 1))

    def test_they_wait_no_longer_than_they_may_when_the_next_backward_begins(self):
        self.calls = Calls(self.heard, lambda: self.ns, longest_ns=5 * MS)
        self.train(4)
        self.assertEqual(self.calls.follower.steps, 2)
        self.ns += 5 * MS
        self.train(1)
        self.assertEqual(self.calls.follower.steps, 4)

    def test_any_other_call_passes_on_what_waits(self):
        others = {"opened": (2, 0, 0), "exhausted": (1, 0, 0), "dropped": (2,), "backward_fails": (0,), "optimizer_fails": (7,),
                  "fetched": (2, 0, 1000, 0, 0, 4), "optimizer_begins": (7,), "finish": ()}
        for call, arguments in others.items():
            with self.subTest(call):
                self.setUp()
                self.train(6)
                self.assertLess(self.calls.follower.complete, 6)
                self.calls.tell(call, *arguments)
                self.assertEqual(self.calls.follower.steps, self.calls.steps)
                self.assertGreaterEqual(self.calls.steps, 5)
                self.train(1)
                self.assertGreaterEqual(self.calls.complete, 6)

    def test_what_a_call_that_waited_raises_reaches_the_call_that_passes_it_on(self):
        self.train(4)
        self.fetch()
        self.work(loss="no number")
        with self.assertRaises(ValueError):
            self.calls.tell("finish")


if __name__ == "__main__":
    unittest.main(verbosity=2)

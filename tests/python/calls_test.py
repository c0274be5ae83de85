#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""When a script's calls are passed on to its follower. That what it finds is the same then is checked by every test of hand_clock's script."""
import random
import unittest

from hand_clock import MS, Heard, Script
from lockstep.calls import MOST_STEPS, Calls


class CallsTest(unittest.TestCase):
    def setUp(self):
        self.ns = 0
        self.heard = Heard()
        self.calls = Calls(self.heard, clock=lambda: self.ns, longest_ns=10**12)

    def fetch(self, iterator=1):
        self.calls.asked()
        self.calls.tell("fetched", iterator, 0, 1000, self.ns, self.ns, 4, True, False)

    def work(self, loss=0.5):
        self.ns += MS
        self.calls.tell("backward_begins", loss, self.ns, False)
        self.calls.tell("backward_ends", self.ns + MS, 0, 0)
        self.calls.tell("optimizer_begins", 7, False)
        self.calls.tell("optimizer_ends", 7, False)

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
        self.calls = Calls(self.heard, clock=lambda: self.ns, longest_ns=5 * MS)
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

    def test_what_is_known_of_the_sums_of_all_that_waited_is_shared_out_by_how_long_their_backwards_took(self):
        sums = [(6 * MS, 8 * MS)]
        self.calls = Calls(self.heard, lambda: sums.pop(), lambda: self.ns, longest_ns=10**12)
        self.train(3)
        for lasted in (1, 3, 4):
            self.calls.asked()
            self.calls.tell("fetched", 1, 0, 1000, self.ns, self.ns, 4, True, False)
            self.calls.tell("backward_begins", 0.5, self.ns, False)
            self.ns += lasted * MS
            self.calls.tell("backward_ends", self.ns, 0, 0)
            self.calls.tell("optimizer_begins", 7, False)
            self.calls.tell("optimizer_ends", 7, False)
        self.calls.tell("finish")
        self.assertEqual(sums, [])
        (epoch,) = self.heard.epochs
        self.assertEqual({phase: ms for phase, ms in epoch[3].items() if phase != "other"}, {"forward": 3, "backward": 5, "exposed": 6, "comm": 8})

    def test_what_a_call_that_waited_raises_reaches_the_call_that_passes_it_on(self):
        self.train(4)
        self.fetch()
        self.work(loss="no number")
        with self.assertRaises(ValueError):
            self.calls.tell("finish")

    def test_of_steps_that_differ_now_and_then_a_follower_finds_the_same_later_as_at_once(self):
        for seed in range(300):
            with self.subTest(seed=seed):
                chance = random.Random(seed)
                script = Script()

                def ms(most=5):
                    return chance.randrange(most)

                def now_and_then(usual, *others):
                    return chance.choice(others) if chance.random() < 0.02 else usual

                endless, optimizers = chance.random() < 0.2, chance.choice((1, 1, 2))
                for step in range(80):
                    script.wait(ms())
                    iterator, length = 1 if endless else 1 + step // 40, now_and_then(40, None)
                    script.fetch(iterator, ms(), length, now_and_then(4, 0, 3), now_and_then(True, False), now_and_then(0, 7),
                                 now_and_then(endless, not endless))
                    script.wait(ms())
                    for _ in range(now_and_then(1, 0, 2)):
                        script.follower.backward_begins(chance.random(), script.ns, now_and_then(False, True))
                        lasted = ms(20)
                        script.wait(lasted)
                        comm = now_and_then(lasted, 0, lasted + 3)
                        script.follower.backward_ends(script.ns, ms(comm + 1) * MS, comm * MS)
                        script.wait(ms())
                    for optimizer in range(now_and_then(optimizers, 1, 2)):
                        kind = now_and_then(optimizer, 7), now_and_then(False, True)
                        script.follower.optimizer_begins(*kind)
                        script.wait(ms())
                        script.follower.optimizer_ends(*kind)
                    if chance.random() < 0.01:
                        script.follower.dropped(iterator)
                    if step % 40 == 39 and not endless and now_and_then(True, False):
                        script.end_of(iterator, ms())
                script.finish()


if __name__ == "__main__":
    unittest.main(verbosity=2)

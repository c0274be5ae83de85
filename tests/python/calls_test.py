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

    def test_they_wait_where_an_optimizers_step_computes_the_loss_too(self):
        for _ in range(MOST_STEPS - 1):
            self.fetch()
            self.calls.tell("optimizer_begins", 7, False)
            self.calls.tell("backward_begins", 0.5, self.ns, False)
            self.calls.tell("backward_ends", self.ns + MS, 0, 0)
            self.calls.tell("optimizer_ends", 7, False)
        self.assertEqual((self.calls.follower.steps, self.calls.steps), (2, MOST_STEPS - 2))

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

    def test_what_is_to_be_done_in_a_step_is_done_when_the_follower_knows_of_it_and_of_none_after_it(self):
        for passes in ("all at once", "after 5 ms"):
            for middle in (False, True):
                with self.subTest(passes=passes, middle=middle):
                    self.setUp()
                    self.calls = Calls(self.heard, clock=lambda: self.ns, longest_ns=10**12 if passes == "all at once" else 5 * MS)
                    done = []
                    for step in range(50):
                        self.fetch()
                        if middle:
                            self.calls.then(lambda step=step: done.append((step, self.calls.follower.steps)))
                        self.work()
                        if not middle:
                            self.calls.then(lambda step=step: done.append((step, self.calls.follower.steps)))
                    self.assertLess(len(done), 50)
                    self.calls.tell("finish")
                    self.assertEqual(done, [(step, step) for step in range(50)])

    def test_what_is_to_be_done_in_an_epoch_of_an_endless_loader_is_done_before_the_next_one_begins(self):
        done = []
        for step in range(90):
            self.calls.asked()
            self.calls.tell("fetched", 1, 0, 30, self.ns, self.ns, 4, True, True)
            self.work()
            self.calls.then(lambda step=step: done.append((step, len(self.heard.epochs))))
        self.calls.tell("finish")
        self.assertEqual(done, [(step, step // 30) for step in range(90)])

    def test_what_a_call_that_waited_raises_reaches_the_call_that_passes_it_on(self):
        self.train(4)
        self.fetch()
        self.work(loss="no number")
        with self.assertRaises(ValueError):
            self.calls.tell("finish")

    def test_of_steps_that_differ_now_and_then_a_follower_finds_the_same_later_as_at_once(self):
        for seed in range(400):
            with self.subTest(seed=seed):
                OddScript(seed).run()


class OddScript(Script):
    """Steps that are mostly alike."""

    def __init__(self, seed):
        super().__init__()
        self.chance = random.Random(seed)

    def ms(self, most=5):
        return self.chance.randrange(most)

    def mostly(self, usual, *others):
        return self.chance.choice(others) if self.chance.random() < 0.02 else usual

    def pass_backward(self):
        self.follower.backward_begins(self.chance.random(), self.ns, self.mostly(False, True))
        lasted = self.ms(20)
        self.wait(lasted)
        comm = self.mostly(lasted, 0, lasted + 3)
        self.follower.backward_ends(self.ns, self.ms(comm + 1) * MS, comm * MS)
        self.wait(self.ms())

    def step(self, inside, optimizers):
        """`inside`: an optimizer's step computes the loss."""
        if not inside:
            for _ in range(self.mostly(1, 0, 2)):
                self.pass_backward()
        for optimizer in range(optimizers):
            which = self.mostly(optimizer, 7), self.mostly(False, True)
            self.optimize_within(which, self.mostly(self.within, 0, 1, 2), inside)

    def optimize_within(self, which, within, inside):
        """`within`: how many steps of its base class an optimizer's step makes; 0: these are not told of."""
        self.follower.optimizer_begins(*which)
        self.wait(self.ms())
        if within:
            for _ in range(within):
                self.optimize_within(which, 0, inside)
        else:
            for _ in range(self.mostly(1, 0, 2) if inside else 0):
                self.pass_backward()
        if self.mostly(True, False):  # else it raises
            self.follower.optimizer_ends(*which)

    def then(self):
        if self.chance.random() < 0.1:
            self.follower.then()

    def run(self):
        self.within = self.chance.choice((0, 0, 0, 1, 2))
        endless, inside, optimizers = self.chance.random() < 0.2, self.chance.random() < 0.3, self.chance.choice((1, 1, 2))
        for step in range(80):
            self.wait(self.ms())
            iterator = 1 if endless else 1 + step // 40
            self.fetch(iterator, self.ms(), self.mostly(40, None), self.mostly(4, 0, 3), self.mostly(True, False), self.mostly(0, 7),
                       self.mostly(endless, not endless))
            self.wait(self.ms())
            self.then()
            self.step(self.mostly(inside, not inside), self.mostly(optimizers, 1, 2))
            self.then()
            if self.chance.random() < 0.01:
                self.follower.dropped(iterator)
            if step % 40 == 39 and not endless and self.mostly(True, False):
                self.end_of(iterator, self.ms())
        self.finish()


if __name__ == "__main__":
    unittest.main(verbosity=2)

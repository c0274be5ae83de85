#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a follower finds of a script that trains on a GPU, whose clock is set by hand. That it finds the same as without where the GPU does
nothing is checked by every test of hand_clock's script. Needs no PyTorch."""
import random
import unittest
from unittest.mock import patch

from device import MS, Device
from hand_clock import Heard
from lockstep.stream_calls import StreamCalls
from lockstep.stream_clock import LONGEST_WAIT_NS, StreamClock


class Number:
    """A loss that is one number on a GPU. `copies`: those that were sent to the host, as they are there."""

    def __init__(self, value, copies):
        self.value, self.copies, self.is_cuda, self.dtype, self.shape = value, copies, True, "float32", ()

    def numel(self):
        return 1

    def detach(self):
        return self

    def reshape(self, _):
        return self

    def new_empty(self, shape, device, pin_memory):
        assert (device, pin_memory) == ("cpu", True)
        self.copies.append(Copy())
        return self.copies[-1]

    def item(self):
        raise AssertionError("to read a tensor on a GPU waits for it")


class Copy:
    dtype, shape, value = "float32", (), None

    def copy_(self, number, non_blocking):
        assert non_blocking
        self.value = number.value

    def item(self):
        return self.value


Number.__name__ = "Tensor"  # as PyTorch's own: what is derived from it may be no number


class Training:
    """A host that gives a device its work in no time, unless a call says otherwise, all in ms."""

    def __init__(self, later=None):
        self.ns, self.heard = 1_000 * MS, Heard()
        self.device = Device(lambda: self.ns)
        self.device.give(30)  # what the script has given it before the first backward
        with patch("lockstep.stream_clock.sleep", self.wait_s), patch("lockstep.stream_clock.monotonic_ns", lambda: self.ns):
            self.calls = StreamCalls(self.heard, StreamClock(self.device, 0, lambda: self.ns), *([later] if later else []))

    def wait_s(self, seconds):
        self.ns += round(seconds * 1e9)

    def wait(self, ms):
        self.ns += round(ms * MS)

    def open(self, ms, iterator):
        """Workers are started."""
        self.calls.opening()
        begin_ns = self.ns
        self.wait(ms)
        self.calls.tell("opened", iterator, begin_ns, self.ns)

    def fetch(self, ms=0.0, iterator=1, length=None, learns=True):
        self.calls.asked()
        begin_ns = self.ns
        self.wait(ms)
        self.calls.tell("fetched", iterator, int(iterator >= 10), length, begin_ns, self.ns, 4, learns, False)

    def work(self, forward=5.0, backward=10.0, optimizer=3.0, loss=0.5):
        self.device.give(forward)
        self.calls.tell("backward_begins", loss, self.ns, False)
        self.device.give(backward)
        self.calls.tell("backward_ends", self.ns, 0, 0)
        self.calls.tell("optimizer_begins", 7, False)
        self.device.give(optimizer)
        self.calls.tell("optimizer_ends", 7, False)

    def end_of(self, iterator=1):
        self.calls.asked()
        self.calls.tell("exhausted", iterator, self.ns, self.ns)

    def synchronize(self):
        self.ns = max(self.ns, self.device.free_ns)

    def finish(self):
        with patch("lockstep.stream_clock.sleep", self.wait_s), patch("lockstep.stream_clock.monotonic_ns", lambda: self.ns):
            self.calls.tell("finish")
        return self.heard.epochs


class StreamCallsTest(unittest.TestCase):
    def first_step(self, training):
        """It lasts until the device has caught up."""
        training.fetch()
        training.work()
        training.synchronize()

    def test_the_phases_of_a_host_that_runs_ahead_are_the_devices(self):
        training = Training()
        for _ in range(40):
            training.fetch(1)
            training.work()
        self.assertEqual(training.heard.epochs, [])
        ((steps, samples, training_ms, phases),) = training.finish()
        self.assertEqual((steps, samples), (40, 160))
        # The first batch came before the device had anything to do; the others while it worked.
        self.assertEqual(phases, {"load": 1, "forward": 200, "backward": 400, "optimizer": 120})
        self.assertEqual(training_ms, 721)

    def test_of_batches_that_come_late_only_the_time_in_which_the_device_has_nothing_to_do_is_load(self):
        training = Training()
        self.first_step(training)
        for _ in range(20):
            training.fetch(25)  # 18 of them while the device works on the step before, of which it knows from the second one on
            training.work()
        ((_, _, _, phases),) = training.finish()
        self.assertEqual(phases, {"load": 25 + 19 * 7, "forward": 21 * 5, "backward": 21 * 10, "optimizer": 21 * 3})

    def test_a_script_that_waits_for_each_loss_has_the_same_phases_as_one_that_does_not(self):
        found = []
        for waits in (False, True):
            training = Training()
            self.first_step(training)
            for _ in range(20):
                training.fetch()
                training.work()
                if waits:
                    training.synchronize()
            found.append(training.finish())
        self.assertEqual(found[0], found[1])

    def test_how_many_steps_have_ended_is_known_before_the_device_has_ended_them(self):
        training = Training()
        for step in range(5):
            training.fetch()
            self.assertEqual((training.calls.steps, training.calls.follower.first_samples), (step, 4 * min(step, 1)))
            training.work()
            self.assertEqual(training.calls.complete, step + 1)
        self.assertEqual(training.heard.states, [])
        training.synchronize()
        training.fetch()
        self.assertEqual(training.heard.states, [("training", 1, None)])

    def test_a_validation_and_the_start_of_its_workers_are_nobodys_time(self):
        training = Training()
        for epoch in (1, 2):
            for _ in range(4):
                training.fetch(iterator=epoch, length=4)
                training.work()
            training.end_of(epoch)
            training.open(100, 10 + epoch)
            for _ in range(6):
                training.fetch(1, iterator=10 + epoch, learns=False)
                training.device.give(9)
            training.end_of(10 + epoch)
            training.synchronize()
            training.fetch(iterator=10 + epoch, learns=False)
            self.assertEqual(training.heard.states[-1], ("evaluating", epoch))
        self.assertEqual(training.finish(), [(4, 16, 72, {"forward": 20, "backward": 40, "optimizer": 12})] * 2)

    def test_the_start_of_workers_is_load_as_far_as_the_device_waits_for_it(self):
        training = Training()
        for epoch in (1, 2):
            training.open(50, epoch)
            for _ in range(2):
                training.fetch(iterator=epoch, length=2)
                training.work()
            training.end_of(epoch)
            training.device.give(8)  # such as for a look at what was learnt
        first, second = training.finish()
        self.assertEqual(first[3]["load"], 50)
        self.assertEqual(second[3]["load"], 50 - 2 * 18 - 8)  # the device is busy for so long before it waits

    def test_what_comes_before_the_start_of_workers_is_no_load(self):
        training = Training()
        for epoch in (1, 2):
            training.open(50, epoch)
            training.fetch(iterator=epoch, length=1)
            training.work()
            training.synchronize()
            training.end_of(epoch)
            training.wait(500)
        self.assertEqual([epoch[3]["load"] for epoch in training.finish()], [50, 50])

    def test_both_followers_hear_of_iterators_that_the_script_holds_no_longer_in_their_turn(self):
        training = Training()
        for iterator in (1, 2, 3):
            training.fetch(iterator=iterator, length=5)
            training.work()
            training.calls.dropped.append(iterator)
        training.fetch(iterator=4)
        self.assertEqual([*training.calls.follower._dropped], [1, 2, 3])
        self.assertEqual([*training.calls._timed.follower._dropped], [])
        training.synchronize()
        training.fetch(iterator=4)
        training.work()
        self.assertEqual([*training.calls._timed.follower._dropped], [1, 2, 3])

    def test_a_loss_is_read_once_it_has_come_and_from_a_place_that_is_used_again(self):
        training, copies = Training(), []
        for step in range(40):
            training.fetch()
            training.work(loss=Number(float(step), copies))
            training.wait(18)
        training.finish()
        self.assertEqual(training.heard.losses[-1]["last"], 39.0)
        self.assertLess(len(copies), 5)

    def test_events_are_used_again(self):
        training = Training()
        for _ in range(100):
            training.fetch()
            training.work()
            training.wait(18)
        self.assertLess(training.device.events, 30)

    def test_sums_of_gradients_are_asked_for_when_the_device_has_ended_the_backward(self):
        training = Training(lambda: lambda: (4 * MS, 6 * MS) if training.device.free_ns <= training.ns else self.fail("it goes on"))
        for _ in range(20):
            training.fetch()
            training.work()
            training.synchronize()
        ((_, _, _, phases),) = training.finish()
        self.assertEqual(phases, {"forward": 100, "backward": 120, "exposed": 80, "comm": 120, "optimizer": 60})

    def test_what_is_to_be_done_in_a_step_is_done_once_the_device_has_made_it(self):
        training, done = Training(), []
        for step in range(40):
            training.fetch()
            training.work()
            training.calls.then(lambda step=step: done.append((step, training.calls._timed.follower.steps)))
        self.assertEqual(done, [])  # the host is far ahead
        training.finish()
        self.assertEqual(done, [(step, step) for step in range(40)])

    def test_a_script_ends_though_the_device_never_answers(self):
        training = Training()
        for _ in range(3):
            training.fetch()
            training.work()
            training.synchronize()
        training.fetch()
        training.device.answers = False
        before_ns = training.ns
        training.work()
        training.fetch()
        training.work()
        done = []
        training.calls.then(lambda: done.append(True))
        self.assertEqual([epoch[0] for epoch in training.finish()], [3])
        self.assertEqual(done, [True])
        self.assertLess(training.ns - before_ns, LONGEST_WAIT_NS + 10 * MS)

    def test_clocks_that_drift_apart_are_kept_together(self):
        training = Training()
        for fast in (1.001, 0.999):
            with patch("device.Event.elapsed_time", lambda event, later: (later.reached_ns - event.reached_ns) / MS * fast):
                for _ in range(500):
                    training.fetch()
                    training.work()
                    training.synchronize()
                    training.wait(2)
            training.fetch()
            self.assertLess(abs(training.calls._now_ns - training.ns), 0.1 * MS)

    def test_whatever_the_device_does_all_its_time_is_somebodys(self):
        for seed in range(100):
            with self.subTest(seed=seed):
                chance, training = random.Random(seed), Training()
                begun_ns = training.ns
                for _ in range(40):
                    training.fetch(chance.choice((0, 1, 30)), length=40)
                    training.work(*(chance.randrange(12) for _ in range(3)))
                    if chance.random() < 0.2:
                        training.synchronize()
                    training.wait(chance.choice((0, 0, 15)))
                ended_ns = training.device.free_ns
                ((steps, _, training_ms, phases),) = training.finish()
                self.assertEqual((steps, sum(phases.values())), (40, training_ms))
                self.assertEqual(training_ms, (ended_ns - begun_ns) // MS)


if __name__ == "__main__":
    unittest.main(verbosity=2)

# SPDX-License-Identifier: MIT
"""A training script for the tests of lockstep.follower: its calls take the time that they are given, and what is reported is kept. All of
it is told a second follower through lockstep.calls, too, and a third one through lockstep.stream_calls, with a device that does nothing: they
have to know the same."""
import collections
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "resources/python"))
from device import MS, Device  # noqa: E402
from lockstep.calls import Calls  # noqa: E402
from lockstep.follower import Follower  # noqa: E402
from lockstep.reporter import Reporter  # noqa: E402
from lockstep.steps import EpochLog  # noqa: E402
from lockstep.stream_calls import BEGAN, StreamCalls  # noqa: E402
from lockstep.stream_clock import StreamClock  # noqa: E402


class Heard(Reporter):
    def __init__(self):
        self.states, self.epochs, self.losses, self.counts = [], [], [], []

    def begin_epoch(self, epoch, steps):
        self.states.append(("training", epoch, steps))

    def begin_evaluation(self, epoch):
        self.states.append(("evaluating", epoch))

    def end_evaluation(self, epoch):
        self.states.append(("training again", epoch))

    def steps(self, log, force):
        log.read()
        if log.window.count:
            window = log.report()
            self.losses.append(window["loss"])
            self.counts.append(window["count"])

    def end_epoch(self, log, training_ns):
        phases = {name: round(entry["sum_s"] * 1000) for name, entry in log.phases.items() if entry["sum_s"]}
        self.epochs.append((log.steps, log.samples, training_ns // MS, phases))


def known(thing):
    """All that a follower knows, in values that can be compared, but for what depends on when steps were reported."""
    if isinstance(thing, EpochLog):
        return thing.epoch, thing.first_step, thing.start_ns, thing.steps
    if isinstance(thing, dict):
        return {key: known(value) for key, value in thing.items() if key not in ("_reporter", "_now")}
    if isinstance(thing, (list, tuple, collections.deque)):
        return [known(value) for value in thing]
    return known(vars(thing)) if hasattr(thing, "__dict__") else thing


class Both:
    """A follower that is told everything at once, and beside it those that are told through lockstep.calls and lockstep.stream_calls."""

    def __init__(self, heard, clock):
        self._heard, self._heard_later, self._heard_of_device = heard, Heard(), Heard()
        self.at_once = Follower(heard, clock)
        self.calls = Calls(self._heard_later, clock=clock, longest_ns=10**12)
        self._clock, self._set_ns, self._sums = clock, None, (0, 0)
        self.on_device = StreamCalls(self._heard_of_device, StreamClock(Device(self._now), 0, self._now), self._later)

    def __getattr__(self, name):
        if name in ("steps", "complete"):
            for later in (self.calls, self.on_device):
                assert getattr(self.at_once, name) == getattr(later, name), f"{name}: {getattr(later, name)}"
        if name.startswith("_") or not callable(getattr(Follower, name)):
            return getattr(self.at_once, name)
        return lambda *arguments, **named: self._tell(name, [*arguments, *named.values()])

    def then(self):
        """What is to be done finds the followers that are told later as the one that is told at once is now."""
        now = self.at_once.steps, len(self._heard.epochs)
        for calls, timed, heard in ((self.calls, self.calls, self._heard_later), (self.on_device, self.on_device._timed, self._heard_of_device)):
            calls.then(lambda timed=timed, heard=heard: self._check((timed.follower.steps, len(heard.epochs)), now))

    @staticmethod
    def _check(found, expected):
        assert found == expected, f"{found} instead of {expected}"

    def _now(self):
        return self._clock() if self._set_ns is None else self._set_ns

    def _later(self):
        sums = self._sums
        return lambda: sums

    def _tell(self, name, arguments):
        getattr(self.at_once, name)(*arguments)
        self.calls.tell(name, *arguments)
        self._tell_device(name, arguments)
        assert self.at_once.steps == self.calls.steps == self.on_device.steps
        if self.calls._waiting or name == "asked" or len(self.at_once._dropped) > 10:  # else it takes long
            return
        assert (self._heard.states, self._heard.epochs) == (self._heard_later.states, self._heard_later.epochs)
        assert known(self.at_once) == known(self.calls.follower)

    def _tell_device(self, name, arguments):
        """What begins is told when it does."""
        if name in BEGAN:
            self._set_ns = arguments[BEGAN[name]]
            (self.on_device.opening if name == "opened" else self.on_device.asked)()
            self._set_ns = None
        if name == "backward_ends":
            self._sums = (*arguments[1:], 0, 0)[:2]
        self.on_device.tell(name, *arguments)
        if name == "finish":
            assert (self._heard.states, self._heard.epochs) == (self._heard_of_device.states, self._heard_of_device.epochs)
            assert known(self.at_once) == known(self.on_device._timed.follower)


class Script:
    """A training script whose every call takes the time that it is given, in ms."""

    def __init__(self):
        self.ns = 0
        self.heard = Heard()
        self.follower = Both(self.heard, lambda: self.ns)

    def wait(self, ms):
        self.ns += ms * MS

    def open(self, iterator, ms):
        begin = self.ns
        self.wait(ms)
        self.follower.opened(iterator, begin, self.ns)

    def fetch(self, iterator, ms, length=None, samples=4, learns=True, data=None, endless=False):
        """Iterators from 10 on are a validation's, over another data set."""
        begin = self.ns
        self.wait(ms)
        self.follower.fetched(iterator, int(iterator >= 10) if data is None else data, length, begin, self.ns, samples, learns,
                              endless)

    def end_of(self, iterator, ms=0):
        begin = self.ns
        self.wait(ms)
        self.follower.exhausted(iterator, begin, self.ns)

    def backward(self, ms, loss=1.0, exposed=0, comm=0):
        self.follower.backward_begins(loss, self.ns, False)
        self.wait(ms)
        self.follower.backward_ends(self.ns, exposed * MS, comm * MS)

    def optimize(self, ms, optimizer=1):
        self.follower.optimizer_begins(optimizer, False)
        self.wait(ms)
        self.follower.optimizer_ends(optimizer, False)

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

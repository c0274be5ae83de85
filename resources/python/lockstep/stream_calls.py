# SPDX-License-Identifier: MIT
"""What a script calls in PyTorch that trains on a GPU, on its way to a lockstep.follower.Follower.

The host runs ahead of the device, so when it makes a call says little about when the work before it is done. Each call puts an event into
the device's stream, and is passed on once that was reached, with the stream's time instead of the host's. Until then the follower
doesn't know of it. How many steps have ended has to be known at once, for what ends a run: a second follower, which reports nothing, is
told every call when it is made.
"""
from __future__ import annotations

from collections import deque
from typing import Any, Callable, Deque, Dict, List, Optional, Tuple

from lockstep.alike import AlikeFollower
from lockstep.calls import Calls
from lockstep.gradient_sums import Later, unknown
from lockstep.metrics import MOST_UNREAD
from lockstep.reporter import Reporter
from lockstep.steps import EpochLog
from lockstep.stream_clock import Mark, StreamClock
from lockstep.tensors import copied

# The places of the times among a call's arguments: when what it tells of began, if it is told at its end only, and when the call was made.
BEGAN = {"opened": 1, "exhausted": 1, "fetched": 3}
MADE = {"opened": 2, "exhausted": 2, "fetched": 4, "backward_begins": 1, "backward_ends": 0, "backward_fails": 0}
BEGINS = ("asked", "opening")  # what tells that something of the former begins
THEN = "then"  # no call: something to be done in its place


class Arriving:
    """A loss on its way to the host's memory."""

    def __init__(self, number: Any) -> None:
        self.number = number  # a tensor there


class Silent(Reporter):
    """For the follower that only counts."""

    def steps(self, log: EpochLog, force: bool) -> None:
        """Forgets what waits to be read."""
        log.read()
        log.report()


class StreamCalls:
    """The same as lockstep.calls.Calls, whose methods these are, for a script that trains on a GPU."""

    wait = False  # the sums of a backward aren't read with those of others

    def __init__(self, reporter: Reporter, stream: StreamClock, later: Callable[[], Later] = lambda: unknown) -> None:
        """`later`: gives what will be known of the sums of the backward that has just ended."""
        self.dropped: Deque[int] = deque()
        self._counted = Calls(Silent(), clock=stream.now)
        self._timed = Calls(reporter, clock=lambda: self._now_ns)
        self._now_ns = self._began_ns = 0  # by the stream: of the call that is being passed on, and when what it tells of began
        self._stream = stream
        self._later = later
        self._begun = False  # a backward: what came before is told with the host's times
        self._waiting: Deque[Tuple[str, Tuple[Any, ...], Optional[Mark], Optional[Later]]] = deque()
        self._spare: Dict[Any, List[Arriving]] = {}  # by type

    @property
    def follower(self) -> AlikeFollower:
        """The one that knows of every call."""
        return self._counted.follower

    @property
    def steps(self) -> int:
        """How many steps have ended, for the host."""
        return self._counted.steps

    @property
    def complete(self) -> int:
        """How many steps will have ended when the next batch is fetched now, for the host."""
        return self._counted.complete

    def asked(self) -> int:
        """A batch is asked for. Gives how many steps will have ended when it is fetched."""
        self._wait_with("asked", ())
        self._pass_on()
        return self._counted.asked()

    def opening(self) -> None:
        """An iterator is about to be made."""
        self._wait_with("opening", ())

    def tell(self, call: str, *arguments: Any) -> None:
        """Passes on a call of the follower's method of this name: at once to the one that counts, later to the one that reports."""
        while self.dropped:
            iterator = self.dropped.popleft()
            self._counted.dropped.append(iterator)
            self._waiting.append(("dropped", (iterator,), None, None))
        if call == "backward_begins":
            self._begun = True
            self._counted.tell(call, None, *arguments[1:])
            self._wait_with(call, (self._copied(arguments[0]), *arguments[1:]))
            self._pass_on()
            return
        self._counted.tell(call, *arguments)
        if call == "finish":
            self._finish(arguments)
        elif self._begun:
            self._wait_with(call, arguments)
        else:
            self._now_ns = self._stream.now()
            self._timed.tell(call, *arguments)

    def then(self, work: Callable[[], None]) -> None:
        """Does this once the follower that reports knows of all calls so far: now or later."""
        if len(self._waiting) >= MOST_UNREAD:
            self._pass_on()
        if self._waiting:
            self._waiting.append((THEN, (work,), None, None))
        else:
            self._timed.then(work)

    def _wait_with(self, call: str, arguments: Tuple[Any, ...]) -> None:
        self._waiting.append((call, arguments, self._stream.mark(), self._later() if call == "backward_ends" else None))

    def _pass_on(self) -> None:
        """Passes on what the device has reached."""
        while self._waiting:
            call, arguments, mark, later = self._waiting[0]
            if mark is not None:
                if not self._stream.reached(mark):
                    return
                self._now_ns = self._stream.read(mark)
            self._waiting.popleft()
            self._tell_timed(call, arguments, later)

    def _tell_timed(self, call: str, arguments: Tuple[Any, ...], later: Optional[Later]) -> None:
        """Tells the follower that reports, with the stream's times."""
        if call in BEGINS:
            self._began_ns = self._now_ns
            if call == "asked":
                self._timed.asked()
            return
        if call == "dropped":
            self._timed.dropped.extend(arguments)
            return
        if call == THEN:
            self._timed.then(*arguments)
            return
        given = list(arguments)
        if call in BEGAN:
            given[BEGAN[call]] = self._began_ns
        if call in MADE:
            given[MADE[call]] = self._now_ns
        if call == "backward_begins":
            given[0] = self._arrived(given[0])
        if later is not None:
            given[1:3] = later()
        self._timed.tell(call, *given)

    def _finish(self, arguments: Tuple[Any, ...]) -> None:
        """The script ends: waits for the device, unless it takes too long, such as where another rank has left it waiting."""
        marks = [mark for _, _, mark, _ in self._waiting if mark is not None]
        try:
            if not marks or self._stream.wait(marks[-1]):
                self._pass_on()
        finally:  # the device may have failed: what it has not done is unknown
            for call, given, _, _ in self._waiting:
                if call == THEN:
                    self._timed.then(*given)
            self._timed.tell("finish", *arguments)

    def _copied(self, loss: Any) -> Any:
        """The loss as it is now; one that is a number on a GPU comes later, and nobody waits for it."""
        if not getattr(loss, "is_cuda", False) or type(loss).__name__ != "Tensor" or loss.numel() != 1:
            return copied(loss)
        spare = self._spare.setdefault(loss.dtype, [])
        arriving = spare.pop() if spare else Arriving(loss.new_empty(loss.shape, device="cpu", pin_memory=True))
        arriving.number.copy_(loss.detach().reshape(arriving.number.shape), non_blocking=True)
        return arriving

    def _arrived(self, loss: Any) -> Any:
        """The loss that has come."""
        if not isinstance(loss, Arriving):
            return loss
        self._spare[loss.number.dtype].append(loss)
        return loss.number.item()

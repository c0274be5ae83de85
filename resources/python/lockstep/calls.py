# SPDX-License-Identifier: MIT
"""What a script calls in PyTorch, on its way to a lockstep.follower.Follower.

As long as steps are alike, their calls wait, and are passed on together on every sixteenth step, or after a tenth of a second: between a
script's own work each would take three times as long, since by then the processor's caches hold other things. Anything else is passed on
at once, after what waits.
"""
from __future__ import annotations

from typing import Any, Callable, List, Tuple

from lockstep.clock import clock_ns
from lockstep.follower import Follower
from lockstep.reporter import Reporter
from lockstep.steps import WINDOW_NS

ALIKE = ("fetched", "backward_begins", "backward_ends", "optimizer_begins", "optimizer_ends")  # the calls of a step that may wait
MOST_STEPS = 16  # whose calls wait. They are passed on at multiples of it, the same step in all ranks: no rank waits for another's work
AT_ONCE = -1  # the place among these of whatever may not


class Calls:
    """All calls come from the thread that trains. They raise what the follower raises."""

    def __init__(self, reporter: Reporter, clock: Callable[[], int] = clock_ns, longest_ns: int = WINDOW_NS) -> None:
        """`longest_ns`: after which time a call waits no longer, once the next backward begins."""
        self.follower = Follower(reporter, self._now)
        self._clock = clock
        self._longest_ns = longest_ns
        self._at_ns = 0  # when the call was made that is being passed on; 0: now
        self._waiting: List[Tuple[str, Tuple[Any, ...], int]] = []  # each with the time
        self._due_ns = 0
        self._place = AT_ONCE  # in ALIKE: of the next call that may wait
        self._iterator = 0  # whose batches these steps have
        self._steps = 0  # that have ended, with those whose calls wait

    @property
    def steps(self) -> int:
        """How many steps have ended."""
        return self.follower.steps if self._place == AT_ONCE else self._steps

    @property
    def complete(self) -> int:
        """How many steps will have ended when the next batch is fetched now."""
        return self.follower.complete if self._place == AT_ONCE else self._steps + int(not self._place)

    def tell(self, call: str, *arguments: Any) -> None:
        """Passes on a call of the follower's method of this name, now or later."""
        place = self._place
        if place >= 0 and call == ALIKE[place] and (place or arguments[0] == self._iterator):
            self._place = (place + 1) % len(ALIKE)
            if place == 0:
                self._steps += 1
            elif place == 1 and (self._steps % MOST_STEPS == 0 or self._clock() >= self._due_ns):
                self._pass_on()  # before this call's time is taken: a follower assigns its own work before a backward to no phase
            self._waiting.append((call, arguments, self._clock()))
            return
        if call == "asked" and not place:  # the fetch that follows asks, too
            return
        self._place = AT_ONCE
        self._pass_on()
        getattr(self.follower, call)(*arguments)
        iterator = self.follower.alike if call == ALIKE[-1] else None
        if iterator is not None:
            self._place, self._iterator, self._steps = 0, iterator, self.follower.steps
            self._due_ns = self._clock() + self._longest_ns

    def _pass_on(self) -> None:
        """Passes on what waits."""
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, []
        self._due_ns = self._clock() + self._longest_ns
        try:
            for call, arguments, at_ns in waiting:
                self._at_ns = at_ns
                getattr(self.follower, call)(*arguments)
        finally:
            self._at_ns = 0

    def _now(self) -> int:
        return self._at_ns or self._clock()

# SPDX-License-Identifier: MIT
"""What a script calls in PyTorch, on its way to a lockstep.follower.Follower.

As long as steps are alike, their calls wait, and are passed on together on every sixteenth step, or after a tenth of a second: between a
script's own work each would take three times as long, since by then the processor's caches hold other things. Anything else is passed on
at once, after what waits.
"""
from __future__ import annotations

from collections import deque
from typing import Any, Callable, Deque, List, Optional, Tuple

from lockstep.alike import INSIDE, ONE_BY_ONE, AlikeFollower, Call
from lockstep.clock import clock_ns
from lockstep.gradient_sums import UNKNOWN, Sums
from lockstep.metrics import MOST_UNREAD
from lockstep.reporter import Reporter
from lockstep.steps import WINDOW_NS

MOST_STEPS = 16  # whose calls wait. They are passed on at multiples of it, the same step in all ranks: no rank waits for another's work
AT_ONCE = -1  # the place in a step's order of a call that may not wait


class Calls:
    """All calls come from the thread that trains. They raise what the follower raises."""

    def __init__(self, reporter: Reporter, sums: Callable[[], Sums] = lambda: UNKNOWN, clock: Callable[[], int] = clock_ns,
                 longest_ns: int = WINDOW_NS) -> None:
        """`sums`: gives what backwards whose ends wait have waited for sums of gradients, and how long these were under way. `longest_ns`:
        after which time a call waits no longer, once the next backward begins."""
        self.follower = AlikeFollower(reporter, self._now)
        self.dropped: Deque[int] = deque()  # iterators that the script holds no longer: whatever is put there is told before the next call
        self._sums = sums
        self._clock = clock
        self._longest_ns = longest_ns
        self._at_ns = 0  # when the call was made that is being passed on; 0: now
        self._waiting: List[Call] = []
        # What is to be done once so many of the calls that wait were passed on.
        self._then: Deque[Tuple[int, Callable[[], None]]] = deque(maxlen=MOST_UNREAD)
        self._due_ns = 0
        self._order = ONE_BY_ONE  # of the calls of these steps
        self._place = AT_ONCE  # in this order: of the next call that may wait
        self._before = ""  # the newest call that was passed on at once
        self._iterator = 0  # whose batches these steps have
        self._steps = 0  # that have ended, with those whose calls wait

    @property
    def wait(self) -> bool:
        """Whether calls do, unless the next one is another than in the step before."""
        return self._place != AT_ONCE

    @property
    def steps(self) -> int:
        """How many steps have ended."""
        return self.follower.steps if self._place == AT_ONCE else self._steps

    @property
    def complete(self) -> int:
        """How many steps will have ended when the next batch is fetched now."""
        return self.follower.complete if self._place == AT_ONCE else self._steps + int(not self._place)

    def opening(self) -> None:
        """An iterator is about to be made."""

    def asked(self) -> int:
        """A batch is asked for. Gives how many steps will have ended when it is fetched."""
        if not self._place:  # the fetch that follows asks, too
            return self._steps + 1
        self.tell("asked")
        return self.complete

    def tell(self, call: str, *arguments: Any) -> None:
        """Passes on a call of the follower's method of this name, now or later."""
        place = self._place
        if place >= 0 and call == self._order[place] and not self.dropped and (place or arguments[0] == self._iterator):
            self._place = (place + 1) % len(self._order)
            if place == 0:
                self._steps += 1
            elif call == "backward_begins" and (self._steps % MOST_STEPS == 0 or self._clock() >= self._due_ns):
                self._pass_on()  # before this call's time is taken: a follower assigns its own work before a backward to no phase
            self._waiting.append((call, arguments, self._clock()))
            return
        self._place = AT_ONCE
        self._pass_on()
        while self.dropped:
            self.follower.dropped(self.dropped.popleft())
        if call == "backward_begins":
            self._order = INSIDE if self._before == INSIDE[1] else ONE_BY_ONE
        self._before = call
        getattr(self.follower, call)(*arguments)
        iterator = self.follower.alike if call == "optimizer_ends" else None
        if iterator is not None:
            self._place, self._iterator, self._steps = 0, iterator, self.follower.steps
            self._due_ns = self._clock() + self._longest_ns

    def then(self, work: Callable[[], None]) -> None:
        """Does this once the follower knows of all calls so far: now or later."""
        if self._waiting:
            self._then.append((len(self._waiting), work))
        else:
            work()

    def _pass_on(self) -> None:
        """Passes on what waits."""
        if not self._waiting:
            return
        self._share_sums()
        waiting, self._waiting = self._waiting, []
        self._due_ns = self._clock() + self._longest_ns
        try:
            told = 0
            while told < len(waiting):
                call, arguments, self._at_ns = waiting[told]
                taken = self.follower.take(waiting[told:self._end_of_alike(told)]) if call == "fetched" else 0
                if not taken:
                    getattr(self.follower, call)(*arguments)
                told += taken or 1
                while self._then and self._then[0][0] <= told:
                    self._then.popleft()[1]()
        finally:
            self._at_ns = 0

    def _end_of_alike(self, told: int) -> Optional[int]:
        """Up to where steps may be taken at once, of which the first one's calls begin here: up to the end of the one in which something is
        to be done."""
        if not self._then:
            return None
        length = len(self._order)
        return told + -(-(self._then[0][0] - told) // length) * length

    def _share_sums(self) -> None:
        """Shares out what the backwards that wait have waited for, which is known of all together, by how long each took."""
        ends = [number for number, (call, _, _) in enumerate(self._waiting) if call == "backward_ends"]
        exposed_ns, comm_ns = self._sums() if ends else UNKNOWN
        if not comm_ns:
            return
        lasted = [self._waiting[number][1][0] - self._waiting[number - 1][2] for number in ends]
        whole = max(1, sum(lasted))
        for number, part in zip(ends, lasted):
            call, (end_ns, *_), at_ns = self._waiting[number]
            self._waiting[number] = call, (end_ns, exposed_ns * part // whole, comm_ns * part // whole), at_ns

    def _now(self) -> int:
        return self._at_ns or self._clock()

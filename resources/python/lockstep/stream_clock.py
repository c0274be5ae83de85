# SPDX-License-Identifier: MIT
"""When a GPU has done what a script gave it, by events in the stream that the script uses. Nobody waits for them.

An event is reached when the stream has done all that it was given before. The time between two of them is that of the work that was given
between them, and of waiting for the host where that was slower. So the times add up to the stream's, as those of lockstep-trainer do.
"""
from __future__ import annotations

from time import monotonic_ns, sleep
from typing import Any, Callable, List, Tuple

from lockstep.clock import clock_ns

LONGEST_WAIT_NS = 2 * 10**9  # for a device that may never answer
PAUSE_S = 0.0005  # between two questions meanwhile

Mark = Tuple[Any, int]  # an event, and when the host put it into the stream


class StreamClock:
    """All calls come from the thread that trains. They raise what the device's functions raise."""

    def __init__(self, cuda: Any, device: Any, clock: Callable[[], int] = clock_ns) -> None:
        """`cuda`: the module torch.cuda. Waits, this once, until the device has done what it was given, so that its times are the host's."""
        self._cuda, self._device, self.now = cuda, device, clock
        self._spare: List[Any] = []  # events are expensive to make
        first = self.mark()
        self.wait(first)
        self._newest = first[0]  # of those that were read
        self._newest_ns = self.now()

    def mark(self) -> Mark:
        """A point in the stream: behind all that it was given so far."""
        event = self._spare.pop() if self._spare else self._cuda.Event(enable_timing=True)
        event.record(self._cuda.current_stream(self._device))
        return event, self.now()

    @staticmethod
    def reached(mark: Mark) -> bool:
        """Whether the stream has come to this mark."""
        return bool(mark[0].query())

    def free(self, mark: Mark) -> None:
        """Nobody needs this mark any more."""
        self._spare.append(mark[0])

    def read(self, mark: Mark) -> int:
        """When the stream reached this mark, on the host's clock. It has been reached, and those before it were read; it is freed."""
        event, given_ns = mark
        elapsed_ns = round(self._newest.elapsed_time(event) * 1e6)
        # The two clocks drift apart by some millionths. What has been reached was given before, and was reached before now.
        self._newest_ns = max(self._newest_ns, min(max(self._newest_ns + elapsed_ns, given_ns), self.now()))
        self._spare.append(self._newest)
        self._newest = event
        return self._newest_ns

    def wait(self, mark: Mark) -> bool:
        """Waits until this mark is reached. False: it takes too long."""
        until_ns = monotonic_ns() + LONGEST_WAIT_NS
        while not self.reached(mark):
            if monotonic_ns() > until_ns:
                return False
            sleep(PAUSE_S)
        return True

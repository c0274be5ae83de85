# SPDX-License-Identifier: MIT
"""How many samples the full steps of a process have, whatever is fetched for each: several batches make one step where gradients accumulate."""
from __future__ import annotations

from typing import Callable, Optional, Sequence

ALIKE_BY_SAMPLER, ALIKE = 2, 100  # full steps that have to be alike: of a loader whose own sampler fills its batches, and of any other one


class StepSizes:
    """Tells the size of full steps once, when enough of them were alike. Of steps of different sizes nothing is told.

    The first step of all may be smaller, since what belongs to it may show at the second one, and so may the last one of an epoch.
    """

    def __init__(self, enough: int, tell: Callable[[int], None]) -> None:
        """`enough`: ALIKE_BY_SAMPLER, or ALIKE. At the script's end two steps that are alike are enough, and by a loader's own sampler any."""
        self._enough, self._tell = enough, tell
        self._on = True  # nothing was told yet, and something may be
        self._waiting: Optional[int] = None  # the newest step: whether it is the last one of its epoch isn't known yet
        self._waiting_is_first = True
        self._largest = 0
        self._alike = 0  # full steps of that size

    def take(self, sizes: Sequence[int], ends_epoch: bool) -> None:
        """The samples (0: unknown) of the next steps. `ends_epoch`: the newest one is the last of its epoch."""
        if not self._on:
            return
        for size in sizes:
            self._judge(may_be_smaller=False)
            self._waiting = size
        if ends_epoch:
            self._judge(may_be_smaller=True)
        if self._alike >= self._enough:
            self._say()

    def finish(self) -> None:
        """No more steps come."""
        self._judge(may_be_smaller=True)
        if self._largest and (self._alike >= ALIKE_BY_SAMPLER or self._enough == ALIKE_BY_SAMPLER):
            self._say()

    def _judge(self, may_be_smaller: bool) -> None:
        size, self._waiting = self._waiting, None
        if size is None:
            return
        may_be_smaller, self._waiting_is_first = may_be_smaller or self._waiting_is_first, False
        if size <= 0 or (self._alike and (size > self._largest or (size < self._largest and not may_be_smaller))):
            self._on = False
        elif not may_be_smaller or size == self._largest:
            self._on = self._on and size >= self._largest
            self._largest, self._alike = size, self._alike + 1
        else:
            self._largest = max(self._largest, size)

    def _say(self) -> None:
        if self._on:
            self._on = False
            self._tell(self._largest)

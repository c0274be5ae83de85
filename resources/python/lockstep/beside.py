# SPDX-License-Identifier: MIT
"""Iterators that gave a batch before a backward besides the newest one. They are trained on from the second time on: a validation that has
broken off, or a batch that the script only looks at, is like them once."""
from __future__ import annotations

from typing import Dict, Set

from lockstep.open_step import Fetches


class Beside:
    """Those of the newest backward. `held`: iterators that the script may still take batches from."""

    def __init__(self) -> None:
        self.data: Set[int] = set()  # data sets of those that were there twice in a row
        self._held: Dict[int, int] = {}  # samples of the first batch of each iterator that is held
        self._gone: Dict[int, int] = {}  # the same of those that are held no longer, by data set: each time it is another iterator

    def __bool__(self) -> bool:
        return bool(self._held or self._gone)

    def clear(self) -> None:
        """The newest backward has one iterator's batches."""
        self._held, self._gone = {}, {}

    def drop(self, iterator: int) -> None:
        """The script holds the iterator no longer."""
        self._held.pop(iterator, None)

    def samples(self, iterator: int) -> int:
        """Of the first batch of one that was there before."""
        return self._held[iterator]

    def again(self, others: Set[int]) -> Set[int]:
        """Those of other iterators that were there at the backward before."""
        return others & self._held.keys()

    def gone_again(self, newest: int, fresh: Dict[int, Fetches], held: Set[int]) -> int:
        """Notes what is held no longer, beside the newest iterator if that is held. Returns how many samples the step before had of what
        shows now to be trained on."""
        before, self._gone = self._gone, {}
        if newest not in held or fresh.keys() <= held:
            return 0
        self._gone = {fetches.data: fetches.samples[0] for iterator, fetches in fresh.items() if iterator not in held}
        twice = (before.keys() & self._gone.keys()) - self.data
        self.data |= twice
        return sum(before[data] for data in twice)

    def take(self, fresh: Dict[int, Fetches], held: Set[int], again: Set[int]) -> None:
        """These iterators that are held have given batches, and these ones again."""
        self.data |= {fresh[iterator].data for iterator in again}
        self._held = {iterator: fresh[iterator].samples[0] for iterator in held}

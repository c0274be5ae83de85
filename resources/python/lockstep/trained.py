# SPDX-License-Identifier: MIT
"""Which iterators are trained on, of those that give batches."""
from __future__ import annotations

from typing import Dict, Set, Tuple

from lockstep.beside import Beside
from lockstep.open_step import Fetches


class Trained:
    """`fresh`: what iterators gave since the last backward. `held`: iterators that the script may still take batches from. `is_first`: no epoch
    has begun yet."""

    def __init__(self) -> None:
        self.iterators: Set[int] = set()  # whose batches are trained on
        self.data: Set[int] = set()  # their data sets
        self.beside = Beside()

    def drop(self, iterator: int) -> None:
        """The script holds the iterator no longer."""
        self.iterators.discard(iterator)
        self.beside.drop(iterator)

    def forget(self, data: Set[int]) -> None:
        """These data sets are not trained on, nor is any iterator that was taken to be."""
        self.data -= data
        self.iterators.clear()

    def newest(self, fresh: Dict[int, Fetches], held: Set[int], is_first: bool) -> int:
        """The iterator of the newest batch. What the script holds no longer may be a batch that it only looks at: if it holds others that are
        trained on, or as far as is known yet may be, the newest batch of these counts."""
        newest = max(fresh, key=lambda iterator: fresh[iterator].spans[-1][1])
        if newest in held or newest in self.iterators:
            return newest
        kept = [iterator for iterator in fresh.keys() & held
                if is_first or iterator in self.iterators or fresh[iterator].data in self.data]
        return max(kept or [newest], key=lambda iterator: fresh[iterator].spans[-1][1])

    def choose(self, newest: int, fresh: Dict[int, Fetches], held: Set[int], is_first: bool) -> Tuple[int, Set[int]]:
        """Chooses the newest iterator, and those beside it that a step has had before. Returns how many samples the step before had of those for
        which that shows now, and the iterators that were beside in it, if it shows for one of these."""
        self.data.add(fresh[newest].data)
        if len(fresh) == 1 and self.iterators == {newest}:
            self.beside.clear()
            return 0, set()
        others = fresh.keys() - {newest}
        missed = self.beside.gone_again(newest, fresh, held)
        # One beside the newest counts from the second time on: a validation that has broken off looks like it once.
        known = {iterator for iterator in others if fresh[iterator].data in self.beside.data}
        again = self.beside.again(others)
        late = again - self.iterators
        for iterator in late:
            missed += self.beside.samples(iterator)
        if is_first:  # what the script holds over data of its own is no validation that has broken off
            data = [fetches.data for fetches in fresh.values()]
            known |= {iterator for iterator in others & held if fresh[iterator].learns and data.count(fresh[iterator].data) == 1
                      and fresh[iterator].came_after(fresh[newest])}
        self.iterators = {newest} | again | known | (self.iterators & held)
        self.beside.take(fresh, others & held, again)
        return missed, again if late else set()

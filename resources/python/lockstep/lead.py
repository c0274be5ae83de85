# SPDX-License-Identifier: MIT
"""The iterator whose pass through its DataLoader is the epoch."""
from __future__ import annotations

from typing import Container, List, Optional, Set

from lockstep.open_step import Fetches


class Lead:
    """What an epoch goes by. `held`: iterators that the script may still take batches from."""

    def __init__(self, turns: Optional[Set[int]] = None) -> None:
        self.iterator: Optional[int] = None  # None: no DataLoader is trained on, or none yet
        self.length: Optional[int] = None  # batches of a pass
        self.endless = False  # it goes on after a pass
        self.data = 0  # its data set
        self.begin_ns = 0  # when its first batch of those that waited was fetched
        self.batches = 0  # how many it has given
        self.over = False  # it has no more batches; one may be left to train on
        self.over_ns = 0  # when that showed
        self.aside: List[int] = []  # samples of batches that its first backward did not use: fetched ahead, or skipped
        self.again = False  # it begins again, after one batch
        self.alone = True  # the epoch is as long as it, as far as is known: what its first step has beside it is as long
        self.turns = set() if turns is None else turns  # data sets over which several iterators take turns
        self._at_turn = 0  # how many it had given when another one had a step
        self._passed = 0  # how many iterators of one batch the epoch has had before it

    def take(self, iterator: int, fetches: Fetches, batches_before: int = 0) -> None:
        """The epoch goes by this iterator, which has given so many batches before those that wait."""
        self.iterator = iterator
        self.length, self.endless, self.data = fetches.length, fetches.endless, fetches.data
        self.batches = batches_before + len(fetches.spans)
        self.begin_ns = fetches.spans[0][0]

    def pass_on(self, iterator: int, fetches: Fetches) -> None:
        """The epoch goes on with this iterator."""
        self._passed += 1
        self.iterator, self.again, self.over, self.batches = iterator, False, False, len(fetches.spans)

    def has_made_a_pass(self) -> bool:
        """Whether it goes on after a pass that has just ended."""
        return self.endless and self.batches == self.length

    def has_given_all(self) -> bool:
        """Whether it has no more batches, or has given as many as a pass has."""
        return self.over or (self.iterator is not None and self.batches == self.length)

    def was_left(self, held: Container[int]) -> bool:
        """Whether the script has left it after one batch."""
        return self.iterator is not None and self.iterator not in held and self.batches == 1 and not self.over

    def goes_on_with(self, fetches: Fetches, held: Container[int]) -> bool:
        """Whether the epoch goes on with another iterator, since this one was left after one batch of the same data."""
        return ((self.again or self.was_left(held)) and self.data == fetches.data
                and (self.length is None or self._passed + 1 < self.length))

    def takes_turns_with(self, fetches: Fetches, held: Container[int], has_begun: bool) -> bool:
        """Whether it will go on after a step of another iterator. Over the same data that one may be the next epoch's, unless a backward has
        followed its batches before (`has_begun`), or both were made before either gave a batch. Where iterators over these data have taken
        turns, it is a new one of them if this one has given a batch since the last turn."""
        has_gone_on, self._at_turn = self.batches > self._at_turn, self.batches
        if self.iterator not in held:
            return False
        made_first = fetches.opening is not None and fetches.opening[0] <= self.begin_ns
        if self.data == fetches.data and (has_begun or made_first):
            self.turns.add(self.data)
        return has_begun or made_first or self.data != fetches.data or (has_gone_on and self.data in self.turns)

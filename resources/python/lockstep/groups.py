# SPDX-License-Identifier: MIT
"""Which batches belong to a backward: all that were fetched since the one before, or some of them, where others were fetched ahead or
skipped. How it is shows at the second backward of an iterator."""
from __future__ import annotations

from typing import Container, Deque, Dict, List, Optional, Set, Tuple

from lockstep.lead import Lead
from lockstep.open_step import Fetches, Step

MOST_TOGETHER = 64  # batches of one backward; of more, the script has skipped some


class More:
    """What belongs to a group's backwards besides the first batch of each of its iterators."""

    def __init__(self) -> None:
        self.samples = self.batches = 0
        self.unsized = False  # whether the samples of one are unknown
        # Of the group before, where they show only now: among `samples` unless a backward has raised. Below 0: it was given too many.
        self.samples_before = 0
        self.aside: List[int] = []  # of batches of an iterator's first group that were skipped, or fetched ahead for steps after its end
        self.shows = False  # how many batches belong to each backward shows only now


class Groups:
    """The iterators that give batches, and the group of them that the newest backward has used."""

    def __init__(self) -> None:
        self.newest: List[Tuple[int, Fetches]] = []  # iterators that gave batches before the newest backward, and nothing was asked for since
        self._backwards = 0  # how many have followed
        self._failed = False  # one of them has raised
        # Iterators whose batches a backward has followed: how many came before the first one, 1 if they come one by one; and how many
        # backwards followed before another one came.
        self._begun: Dict[int, Tuple[int, int]] = {}
        self._undecided: Dict[int, int] = {}  # data sets of which only one group is known, and how many batches it had
        self._ahead: Set[int] = set()  # iterators that fetch one batch ahead
        self._late: Set[int] = set()  # data sets of which a backward has used a batch that was fetched before the last one, while the loader went on
        self._kept_ahead: Set[int] = set()  # data sets of loaders that fetch one ahead while several backwards follow each batch
        self._together: Dict[int, int] = {}  # data sets of which several batches before a backward belong to it, and how many do
        self._groups_ahead: Dict[int, int] = {}  # those of which whole groups are fetched ahead, and of how many batches

    def begin(self, used: List[Tuple[int, Fetches]]) -> None:
        """A backward or an optimizer uses the batches of these iterators."""
        self.newest, self._backwards, self._failed = used, 0, False

    def backward(self) -> None:
        """A backward begins, which is another of the group's if it had one."""
        self._backwards += 1

    def fails(self) -> None:
        """It has raised."""
        self._failed = True

    def leave(self, iterator: int) -> None:
        """The iterator gives no more of the batches that it has begun to give."""
        self._ahead.discard(iterator)
        self._begun.pop(iterator, None)

    def are_ahead(self, fetches: Dict[int, Fetches], lead: Lead) -> bool:
        """Whether the epoch's iterator has given batches for this backward before the last ones that were trained on."""
        waiting = _waiting(fetches, lead.iterator)
        if waiting is None:
            return lead.over and bool(lead.aside)
        return lead.over or not self._is_kept(waiting)

    def take_ahead(self, step: Step, fetches: Dict[int, Fetches], lead: Lead, pair: Set[int]) -> None:
        """The step takes these: the next one, with that of each iterator beside it (`pair`), or as many as belong to a backward."""
        if _waiting(fetches, lead.iterator) is None:
            self._take_aside(step, lead)
            return
        step.batches += 1
        for iterator in pair if lead.iterator in pair else (lead.iterator,):
            waiting = _waiting(fetches, iterator)
            if waiting is None or iterator is None or (self._is_kept(waiting) and not lead.over):
                continue
            self._undecided.pop(waiting.data, None)
            if not lead.over:
                self._late.add(waiting.data)
            step.take(waiting.samples.popleft())
            if not waiting.samples:
                del fetches[iterator]

    def _take_aside(self, step: Step, lead: Lead) -> None:
        """Batches that were left aside were fetched ahead, since a step after the loader's end has had no others."""
        self._groups_ahead.setdefault(lead.data, len(lead.aside))
        count = self._together.get(lead.data, 1)
        taken, lead.aside = lead.aside[:count], lead.aside[count:]
        step.batches += len(taken)
        for samples in taken:
            step.take(samples)

    def has_begun(self, iterator: int) -> bool:
        """Whether a backward has followed the iterator's batches."""
        return iterator in self._begun

    def are_together(self, iterator: int, fetches: Fetches) -> bool:
        """Whether the batches that an iterator gave since the last backward belong to one, as far as is known yet."""
        few = 2 if iterator in self._begun or fetches.data in self._together else 3
        return few <= len(fetches.spans) <= MOST_TOGETHER

    def ends_alike(self) -> bool:
        """Ends a group of one batch and one backward, if its iterator's have been so from the first one on. False: it is another one."""
        (iterator, fetches), *others = self.newest
        if (others or fetches.together != 1 or self._backwards != 1 or fetches.samples or fetches.data in self._undecided
                or self._begun.get(iterator) != (1, 1)):
            return False
        self.newest = []
        return True

    def end(self, held: Container[int]) -> More:
        """No more backwards follow those that came: if one did, it may have been of several batches. `held`: iterators that the script may
        still take batches from."""
        group, self.newest = self.newest, []
        more = More()
        for iterator, fetches in group:
            count = fetches.together
            taken = self._surplus(iterator, fetches, more) if self._backwards <= 1 else self._give_back(iterator, fetches, more)
            if taken and not self._failed:
                more.samples += sum(taken)
                more.unsized = more.unsized or 0 in taken
                more.batches = max(more.batches, min(len(taken), count - 1))
            if iterator in held and (count == 1 or iterator not in self._begun):
                self._begun[iterator] = count, self._backwards
        return more

    def _surplus(self, iterator: int, fetches: Fetches, more: More) -> List[int]:
        """The samples of the batches that belong to the backward before besides its first one, and to the one before that if it shows now."""
        count, waiting = fetches.together, fetches.samples
        if count == 1:
            self._undecided.pop(fetches.data, None)
            if waiting:
                self._ahead.add(iterator)
            return []
        if count > MOST_TOGETHER:
            waiting.clear()
            return []
        if fetches.data not in self._together:
            first = self._begun[iterator][0] if iterator in self._begun else None
            if first == 1:  # the others were skipped
                _taken(waiting, count - 1)
                return []
            if first is None and fetches.data not in self._undecided:
                self._undecided[fetches.data] = count
                return []
            return self._found_together(iterator, fetches, first or 1, more)
        ahead = self._groups_ahead.get(fetches.data, 0)
        if ahead and iterator not in self._begun and count == self._together[fetches.data] + ahead:
            taken = _taken(waiting, count - 1 - ahead)
            more.aside = _taken(waiting, ahead)
            return taken
        return _taken(waiting, count - 1 if iterator in self._ahead else len(waiting))

    def _give_back(self, iterator: int, fetches: Fetches, more: More) -> List[int]:
        """Several backwards follow each batch, of which one is fetched ahead: that shows where as many follow the second group, which has one
        batch less. The first group was given the one fetched ahead, too; this group is given none instead, and its own one waits."""
        batches, backwards = self._begun.get(iterator, (0, 0))
        if self._failed or fetches.data not in self._late or fetches.data in self._kept_ahead:
            return []
        if backwards == self._backwards and min(batches, backwards) == fetches.together + 1:
            self._kept_ahead.add(fetches.data)
            fetches.samples.append(fetches.taken)
            more.samples -= fetches.taken
            more.samples_before -= fetches.taken
            more.shows = True
        return []

    def _is_kept(self, fetches: Fetches) -> bool:
        """Whether the only batch that waits is one that was fetched ahead, for the next group."""
        return len(fetches.samples) == 1 and fetches.data in self._kept_ahead

    def _found_together(self, iterator: int, fetches: Fetches, first: int, more: More) -> List[int]:
        """Several batches belong to each backward: those of the newest one and, of the `first` ones before the one before, as many. One more
        there was fetched ahead; several more are left aside, since they may have been skipped."""
        count, waiting = fetches.together, fetches.samples
        self._together[fetches.data] = count
        left = len(waiting) - (count - 1)  # of the group before
        if first == count + 1:
            self._ahead.add(iterator)
        else:
            more.aside = _taken(waiting, min(first - count, left))
            left -= len(more.aside)
        before = _taken(waiting, min(first, count, left + 1) - 1)
        more.shows = True
        more.samples_before += sum(before)
        return before + _taken(waiting, count - 1)


def _waiting(fetches: Dict[int, Fetches], iterator: Optional[int]) -> Optional[Fetches]:
    """What an iterator has given, if batches of it wait for their backward."""
    given = fetches.get(iterator) if iterator is not None else None
    return given if given is not None and given.samples else None


def _taken(waiting: Deque[int], count: int) -> List[int]:
    """The first batches that wait for their backward."""
    return [waiting.popleft() for _ in range(min(count, len(waiting)))]

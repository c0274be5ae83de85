# SPDX-License-Identifier: MIT
"""What is known of a script's step that goes on: the batches that wait for their backward, the times and losses so far, the pass that its
backwards belong to. lockstep.follower decides what it means."""
from __future__ import annotations

from collections import deque
from typing import Any, Deque, Dict, List, Optional, Tuple

MOST_AHEAD = 256  # batches that were fetched and wait for their backward


class Fetches:
    """What one iterator of a DataLoader has given, and no backward has followed yet."""

    def __init__(self) -> None:
        self.opening: Optional[List[int]] = None  # begin and end of its making
        self.spans: List[List[int]] = []  # begin and end
        self.samples: Deque[int] = deque(maxlen=MOST_AHEAD)  # of the batches that wait for their backward
        self.length: Optional[int] = None  # of the loader
        self.endless = False  # it goes on after so many
        self.data = 0  # its data set
        self.learns = False  # whether one was fetched while gradients are kept
        self.taken = 0  # samples of the newest batch that was trained on
        self.together = 0  # how many were fetched between the newest backward and the one before

    def leave_out(self, next_ns: int) -> Tuple[int, int]:
        """The newest batches are a validation's, which goes through the iterator that is trained on: they wait no longer. `next_ns`: when the
        next one is asked for. Returns from when to when that was: up to the end of the last fetch, if a batch waits that may be worked on
        after it."""
        spans, self.spans = self.spans, []
        for _ in range(min(len(spans), len(self.samples))):
            self.samples.pop()
        return spans[0][0], spans[-1][1] if self.samples else next_ns

    def came_after(self, other: Fetches) -> bool:
        """Whether a batch came after another iterator was made: one that came before may be what the script has looked at first."""
        return not other.opening or self.spans[-1][1] > other.opening[0]


class Step:
    """The times, samples and losses of a step that goes on."""

    def __init__(self) -> None:
        self.times: Dict[str, int] = {}
        self.samples = 0
        self.unsized = False  # whether it has a batch whose samples are unknown
        self.batches = 0
        self.beside = 0  # of these batches, those that came without one of the epoch's iterator
        self.backwards = 0
        self.losses: List[Any] = []

    def copy(self) -> Step:
        """The step as it is now."""
        out = Step()
        out.times, out.samples, out.unsized, out.batches = dict(self.times), self.samples, self.unsized, self.batches
        out.beside, out.backwards, out.losses = self.beside, self.backwards, [*self.losses]
        return out

    def has_gone_on_from(self, earlier: Step) -> bool:
        """Whether a backward has used a batch since an earlier state of it, in which the optimizers have stepped: the next step has begun, with
        a batch that was fetched before they did."""
        return self.batches > earlier.batches and self.backwards > earlier.backwards

    def since(self, earlier: Step) -> Step:
        """What has come since an earlier state of it. Without a batch of its own its forwards can't be told from the rest."""
        out = Step()
        out.batches = self.batches - earlier.batches
        for phase, time in self.times.items():
            name = "other" if phase == "forward" and not out.batches else phase
            out.times[name] = out.times.get(name, 0) + time - earlier.times.get(phase, 0)
        out.samples = self.samples - earlier.samples
        out.unsized = self.unsized and out.batches > 0
        out.beside = self.beside - earlier.beside
        out.backwards = self.backwards - earlier.backwards
        out.losses = self.losses[len(earlier.losses):]
        return out

    def take(self, samples: int) -> None:
        """A batch of so many samples (0: unknown) is trained on."""
        self.samples += samples
        self.unsized = self.unsized or not samples

    def take_more(self, samples: int, batches: int, unsized: bool) -> None:
        """It has so many more samples (below 0: less) and batches than showed before."""
        self.samples = max(0, self.samples + samples)
        self.batches += batches
        self.unsized = self.unsized or unsized

    def take_from(self, fetches: Fetches) -> None:
        """The first of the batches that an iterator gave and that wait is trained on."""
        fetches.taken = fetches.samples.popleft()
        self.take(fetches.taken)
        fetches.together = len(fetches.spans)
        fetches.opening, fetches.learns, fetches.spans = None, False, []

    def add(self, phase: str, duration_ns: int) -> None:
        """Adds to the time of a phase."""
        self.times[phase] = self.times.get(phase, 0) + duration_ns

    def loss(self) -> Any:
        """The sum of the losses; None when one is unknown."""
        total = self.losses[0] if self.losses else None
        if len(self.losses) > 1 and any(loss is None for loss in self.losses):
            return None
        for loss in self.losses[1:]:
            total = total + loss
        return total

    def duration_ns(self) -> int:
        """Of the whole step. `comm` lies inside other phases."""
        return sum(self.times.values()) - self.times.get("comm", 0)


class Pass:
    """What backwards have followed of one iterator, or of several in a row over the same data that no optimizer has followed yet."""

    def __init__(self, iterator: int, data: int, before: Optional[Step]) -> None:
        self.iterator, self.data = iterator, data
        self.before = before  # the step as it was when it began; None: there was none
        self.is_over = False  # without an optimizer's step

# SPDX-License-Identifier: MIT
"""Divides a training script that knows nothing of Lockstep into steps and phases, by what it calls in PyTorch.

lockstep.auto tells a Follower when a batch is fetched, when backward runs and when an optimizer steps. From these:

- A step is all work up to and including the optimizers' steps. With gradient accumulation it has several batches.
- `load` is the time in a DataLoader whose batch a backward follows, with the start of its workers. What a validation fetches is never
  counted.
- `forward` is the time from the end of the last fetch, backward or optimizer's step to the start of backward; copies to a
  device are in it. `backward` and `optimizer` are the time in these. `other` is the rest of a step. In a step without a
  DataLoader, what comes before backward is `other`, since a forward and the making of a batch can't be told apart.
- `exposed` and `comm` are what DistributedDataParallel has measured (lockstep.auto).
- The loss is what backward was called on, without a GradScaler's factor, summed over the backwards of a step.
- An epoch is one pass through the DataLoader that is trained on. Time between its steps, such as that of a validation, is
  not in the epoch's time. Where steps take turns between DataLoaders over different data, it is a pass through the first of them.
"""
from __future__ import annotations

from collections import deque
from time import monotonic_ns
from typing import Any, Callable, Deque, Dict, List, Optional, Set

from lockstep.phases import PhaseClock
from lockstep.steps import EpochLog

EVALUATES_AFTER = 3  # batches in a row that no backward follows
MOST_LOSSES = 4096  # of one step
MOST_SPANS = 10_000  # of fetches that no step has had yet, the newest
MOST_AHEAD = 256  # batches that were fetched and wait for their backward


class Reporter:
    """What a Follower reports to."""

    def begin_epoch(self, epoch: int, steps: Optional[int]) -> None:
        """The first step of an epoch has ended. `steps`: how many the epoch will have; None: unknown."""

    def begin_evaluation(self, epoch: int) -> None:
        """Batches are fetched that no backward follows."""

    def end_evaluation(self, epoch: int) -> None:
        """The script trains again."""

    def steps(self, log: EpochLog, force: bool) -> None:
        """A step has ended. `force`: it is the last one of its epoch."""

    def end_epoch(self, log: EpochLog, training_ns: int) -> None:
        """An epoch is over, whose steps took so long."""

    def rest(self) -> None:
        """Another epoch begins: what the script has measured since the last one ended belongs to that one."""


class Fetches:
    """What one iterator of a DataLoader has given, and no backward has followed yet."""

    def __init__(self) -> None:
        self.opening: Optional[List[int]] = None  # begin and end of its making
        self.spans: List[List[int]] = []  # begin and end
        self.samples: Deque[int] = deque(maxlen=MOST_AHEAD)  # of the batches that wait for their backward
        self.length: Optional[int] = None  # of the loader
        self.data = 0  # its data set


class Step:
    """The times, samples and losses of a step that goes on."""

    def __init__(self) -> None:
        self.times: Dict[str, int] = {}
        self.samples = 0
        self.batches = 0
        self.backwards = 0
        self.losses: List[Any] = []

    def copy(self) -> Step:
        """The step as it is now."""
        out = Step()
        out.times, out.samples, out.batches = dict(self.times), self.samples, self.batches
        out.backwards, out.losses = self.backwards, [*self.losses]
        return out

    def since(self, earlier: Step) -> Step:
        """What has come since an earlier state of it. No batch was fetched: its forwards can't be told from the rest."""
        out = Step()
        for phase, time in self.times.items():
            name = "other" if phase == "forward" else phase
            out.times[name] = out.times.get(name, 0) + time - earlier.times.get(phase, 0)
        out.samples = self.samples - earlier.samples
        out.batches = self.batches - earlier.batches
        out.backwards = self.backwards - earlier.backwards
        out.losses = self.losses[len(earlier.losses):]
        return out

    def add(self, phase: str, duration_ns: int) -> None:
        """Adds to the time of a phase."""
        self.times[phase] = self.times.get(phase, 0) + duration_ns

    def loss(self) -> Any:
        """The sum of the losses; None when one is unknown."""
        if not self.losses or any(loss is None for loss in self.losses):
            return None
        total = self.losses[0]
        for loss in self.losses[1:]:
            total = total + loss
        return total

    def duration_ns(self) -> int:
        """Of the whole step. `comm` lies inside other phases."""
        return sum(time for phase, time in self.times.items() if phase != "comm")


class Follower:
    """The state of one training process. All calls come from the thread that trains."""

    def __init__(self, reporter: Reporter, clock: Callable[[], int] = monotonic_ns) -> None:
        self._reporter = reporter
        self._now = clock
        self._fetches: Dict[int, Fetches] = {}  # by iterator
        self._beside: Set[int] = set()  # iterators that had batches at the last backward besides the newest one
        self._beside_data: Set[int] = set()  # data sets of those that had so twice in a row
        self._trained: Set[int] = set()  # iterators whose batches are trained on
        self._trained_data: Set[int] = set()  # their data sets
        self._main: Optional[int] = None  # the iterator whose end is the epoch's
        self._main_over = False  # it has no more batches; one may be left to train on
        self._main_over_ns = 0
        self._main_length: Optional[int] = None
        self._main_data = 0  # its data set
        self._held: Set[int] = set()  # iterators that the script may still take batches from
        self._step: Optional[Step] = None
        self._step_begin_ns = 0
        self._mark_ns = 0  # up to here the step's time is assigned
        self._stepped: Set[int] = set()  # optimizers that have stepped in it
        self._done = Step()  # the step as it was when the last of them had
        self._backwards = self._optimizers = 0  # how many are inside each other
        self._log: Optional[EpochLog] = None
        self._epoch = self._steps = self._training_ns = 0
        self._announced = self._evaluating = False
        self._first_samples: Optional[int] = None

    @property
    def steps(self) -> int:
        """How many steps have ended."""
        return self._steps

    @property
    def complete(self) -> int:
        """How many steps will have ended when the next batch is fetched now."""
        return self._steps + int(bool(self._stepped) and not self._backwards and not self._optimizers)

    @property
    def first_samples(self) -> int:
        """How many samples the first step had; 0: unknown, or it has not ended."""
        if self._first_samples is None:
            return self._step.samples if self._step else 0
        return self._first_samples

    def opened(self, iterator: int, begin_ns: int, end_ns: int) -> None:
        """An iterator over a loader was made, or begins again: workers were started."""
        self._end_step(begin_ns)
        if self._main_over or iterator == self._main:
            self._end_epoch()
        self._fetches[iterator] = fetches = Fetches()  # what it gave before is gone
        self._held.add(iterator)
        fetches.opening = [begin_ns, end_ns]

    def fetched(self, iterator: int, data: int, length: Optional[int], begin_ns: int, end_ns: int, samples: int) -> None:
        """An iterator over a loader of `length` batches (None: unknown) of a data set gave one of `samples` samples (0: unknown)."""
        self._optimizers = 0  # one that has begun has raised
        self._end_step(begin_ns)
        if self._main_over:
            self._end_epoch()
        fetches = self._fetches.setdefault(iterator, Fetches())
        self._held.add(iterator)
        fetches.spans.append([begin_ns, end_ns])
        fetches.samples.append(samples)
        if len(fetches.spans) > 2 * MOST_SPANS:  # of a loader whose batches no backward follows
            del fetches.spans[:-MOST_SPANS]
        fetches.length, fetches.data = length, data
        is_new = data not in self._trained_data  # else its batches are fetched ahead
        between = self._step is None or self._main is None  # of a step that the epoch has left unfinished, the rest comes later
        if is_new and len(fetches.spans) >= EVALUATES_AFTER and between and self._epoch and not self._evaluating:
            self._evaluating = True
            self._reporter.begin_evaluation(self._epoch)

    def exhausted(self, iterator: int, begin_ns: int, end_ns: int) -> None:
        """The iterator has no more batches."""
        self._held.discard(iterator)
        self._end_step(begin_ns)
        if iterator != self._main:
            self._fetches.pop(iterator, None)
            if iterator not in self._trained and not self._backwards:
                self._mark_ns = max(self._mark_ns, end_ns)  # a validation is no part of a step that goes on after it
            return
        self._main_over, self._main_over_ns = True, end_ns
        if iterator not in self._fetches:  # else the last batch was fetched ahead
            self._add_to_epoch("load", end_ns - begin_ns)
            self._end_epoch()

    def dropped(self, iterator: int) -> None:
        """The script holds the iterator no longer."""
        self._held.discard(iterator)

    def backward_begins(self, loss: Any, now: int) -> None:
        """backward() of a loss: a tensor that is detached, a number, or None for one that is unknown."""
        self._backwards += 1
        if self._backwards > 1:
            return
        fetched = self._begin_work()
        step = self._begin_step(now)
        self._lap("forward" if fetched or step.backwards or self._optimizers else "other", now)
        step.backwards += 1
        if len(step.losses) < MOST_LOSSES:
            step.losses.append(loss)
        else:  # nothing ends the step: no optimizer that is followed
            step.losses = [None]
        self._mark_ns = self._now()  # what following has cost is nobody's time

    def backward_ends(self, now: int, exposed_ns: int = 0, comm_ns: int = 0) -> None:
        """`exposed_ns` and `comm_ns`: of the gradients' sums, where they are known."""
        self._backwards -= 1
        if self._backwards or self._step is None:
            return
        exposed = max(0, min(exposed_ns, now - self._mark_ns))
        self._lap("backward", now - exposed)
        if comm_ns > 0:
            self._lap("exposed", now)
            self._step.add("comm", comm_ns)
        self._mark_ns = self._now()

    def optimizer_begins(self, optimizer: int) -> None:
        """step() of an optimizer. If it has stepped in this step, a new one has begun."""
        self._optimizers += 1
        if self._optimizers > 1:
            return
        now = self._now()
        if optimizer in self._stepped:
            self._end_step_where_it_was_done()
        if self._step is None:
            self._begin_work()
        self._begin_step(now)
        self._lap("other", now)

    def optimizer_ends(self, optimizer: int) -> None:
        """The optimizer has changed the parameters."""
        self._optimizers = max(0, self._optimizers - 1)  # the first may have begun before it was followed
        if self._optimizers or self._step is None:
            return
        self._lap("optimizer", self._now())
        self._stepped.add(optimizer)
        self._done = self._step.copy()

    def finish(self) -> None:
        """The script ends."""
        if self._stepped:
            self._end_step_where_it_was_done()
        self._end_epoch()

    def _begin_work(self) -> bool:
        """A backward or an optimizer uses the batches that were fetched. Returns whether there are any."""
        if self._evaluating:
            self._evaluating = False
            self._reporter.end_evaluation(self._epoch)
        fresh = {iterator for iterator, fetches in self._fetches.items() if fetches.spans}
        if not fresh:
            return self._take_batch_of_before()
        newest = max(fresh, key=lambda iterator: self._fetches[iterator].spans[-1][1])
        others = fresh - {newest}
        # One beside the newest counts from the second time on: a validation that has broken off looks like it once.
        known = {iterator for iterator in others if self._fetches[iterator].data in self._beside_data}
        again = others & self._beside
        self._trained |= {newest} | again | known
        self._trained_data.add(self._fetches[newest].data)
        self._beside_data |= {self._fetches[iterator].data for iterator in again}
        self._beside = others
        used = [self._fetches[iterator] for iterator in fresh & self._trained]
        spans = sorted(span for fetches in used for span in fetches.spans)
        begin_ns = spans[0][0]
        openings = [fetches.opening for fetches in used if fetches.opening]
        # What lies between these and the first fetch is not the step's.
        before = [opening for opening in openings if self._step is None and opening[1] <= begin_ns]
        before_ns = sum(end - begin for begin, end in before)
        if self._main not in fresh and not self._takes_turns(newest):
            self._begin_epoch(newest, begin_ns - before_ns)
            if self._step is not None:  # the epoch before has left it unfinished
                self._mark_ns = max(self._mark_ns, min([begin_ns, *(opening[0] for opening in openings)]))
        step = self._begin_step(begin_ns)
        if before:
            step.add("load", before_ns)
        spans = sorted(spans + [opening for opening in openings if opening not in before])
        if others - self._trained:
            self._mark_ns = max(self._mark_ns, begin_ns)  # a validation stood between
        for begin_ns, end_ns in spans:
            self._lap("other", max(begin_ns, self._mark_ns))
            self._lap("load", max(end_ns, self._mark_ns))
        step.batches += 1
        for fetches in used:
            step.samples += fetches.samples.popleft()
            fetches.opening = None
            fetches.spans.clear()
        self._fetches = {iterator: fetches for iterator, fetches in self._fetches.items()
                         if (iterator in self._trained and fetches.samples) or (fetches.opening and not fetches.spans)}
        return True

    def _takes_turns(self, iterator: int) -> bool:
        """Whether the epoch's iterator will go on after a step of this one, over other data."""
        return self._main in self._held and self._main_data != self._fetches[iterator].data

    def _take_batch_of_before(self) -> bool:
        """A batch that was fetched before the last one that was trained on. Returns whether there is one."""
        ahead = self._fetches.get(self._main) if self._main is not None else None
        if ahead is None or not ahead.samples:
            return False
        if self._main_over:
            self._begin_step(self._main_over_ns)
        if self._step is not None:
            self._step.batches += 1
            self._step.samples += ahead.samples.popleft()
            if not ahead.samples:
                del self._fetches[self._main or 0]
        return True

    def _begin_step(self, begin_ns: int) -> Step:
        """The step that goes on, or a new one."""
        if self._step is None:
            self._step = Step()
            self._step_begin_ns = self._mark_ns = begin_ns
        return self._step

    def _lap(self, phase: str, now_ns: int) -> None:
        if self._step is not None:
            self._step.add(phase, now_ns - self._mark_ns)
        self._mark_ns = now_ns

    def _end_step(self, end_ns: int) -> None:
        """Ends a step in which an optimizer has stepped."""
        if self._step is None or not self._stepped or self._backwards or self._optimizers:
            return
        self._lap("other", max(end_ns, self._mark_ns))
        step, self._step = self._step, None
        self._record(step)

    def _end_step_where_it_was_done(self) -> None:
        """Ends the step where its last optimizer has stepped: what came after is the next one's."""
        done, rest = self._done, self._step.since(self._done) if self._step else None
        self._step = rest
        self._record(done)

    def _record(self, step: Step) -> None:
        self._stepped = set()
        for fetches in self._fetches.values():
            if fetches.opening and fetches.opening[0] >= self._step_begin_ns:
                fetches.opening = None  # its time is in the step already
        if self._log is None:  # no DataLoader: all steps are one epoch
            self._begin_epoch(None, self._mark_ns - step.duration_ns())
        log = self._log
        if log is None:
            return
        clock = PhaseClock()
        clock.times = step.times
        clock.end_step(log.phases, log.window.phases)
        log.add(step.loss(), step.samples)
        self._steps += 1
        if self._first_samples is None:
            self._first_samples = step.samples
        self._training_ns += step.duration_ns()
        if not self._announced:
            self._announced = True
            length = self._main_length
            self._reporter.begin_epoch(self._epoch, -(-length // max(step.batches, 1)) if length else None)
        if log.due():
            self._reporter.steps(log, False)

    def _begin_epoch(self, iterator: Optional[int], begin_ns: int) -> None:
        self._end_epoch()  # if the script has left it early
        self._reporter.rest()
        self._main = iterator
        self._main_length = self._fetches[iterator].length if iterator is not None else None
        self._main_data = self._fetches[iterator].data if iterator is not None else 0
        self._epoch += 1
        self._log = EpochLog(self._epoch, self._steps, begin_ns)
        self._announced = False
        self._training_ns = 0

    def _end_epoch(self) -> None:
        log, self._log = self._log, None
        self._main, self._main_over = None, False
        if log and log.steps:
            self._reporter.steps(log, True)
            self._reporter.end_epoch(log, self._training_ns)

    def _add_to_epoch(self, phase: str, duration_ns: int) -> None:
        if self._log:
            entry = self._log.phases.setdefault(phase, {"sum_s": 0, "max_s": 0})
            entry["sum_s"] += duration_ns / 1e9
            self._training_ns += duration_ns

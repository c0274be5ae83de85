# SPDX-License-Identifier: MIT
"""Divides a training script that knows nothing of Lockstep into steps and phases, by what it calls in PyTorch.

lockstep.auto tells a Follower when a batch is fetched, when backward runs and when an optimizer steps. From these:

- A step is all work up to and including the optimizers' steps. With gradient accumulation it has several batches, each with its own
  backward, or several before one. Of two before the first backward, one may be fetched ahead: that shows at the second one.
- `load` is the time in a DataLoader whose batch a backward follows, with the start of its workers. What a validation fetches is never
  counted, nor is what is fetched without gradients beside what is fetched with them.
- `forward` is the time from the end of the last fetch, backward or optimizer's step to the start of backward; copies to a
  device are in it, and so is what lies between the batches of one backward. `backward` and `optimizer` are the time in these; what raises
  in backward is time, but neither loss nor batch. `other` is the rest of a step. In a step without a
  DataLoader, what comes before backward is `other`, since a forward and the making of a batch can't be told apart.
- `exposed` and `comm` are what DistributedDataParallel has measured (lockstep.auto).
- The loss is what backward was called on, without a GradScaler's factor, summed over the backwards of a step.
- An epoch is one pass through the DataLoader that is trained on. Time between its steps, such as that of a validation, is
  not in the epoch's time. Where steps take turns between DataLoaders over different data, it is a pass through the first of them. Where
  each step begins a pass for one batch, it is as many steps as a pass has batches.
"""
from __future__ import annotations

from collections import deque
from time import monotonic_ns
from typing import Any, Callable, Deque, Dict, List, Optional, Set, Tuple

from lockstep.phases import PhaseClock
from lockstep.steps import EpochLog

EVALUATES_AFTER = 3  # batches in a row that no backward follows
MOST_LOSSES = 4096  # of one step
MOST_SPANS = 10_000  # of fetches that no step has had yet, the newest
MOST_AHEAD = 256  # batches that were fetched and wait for their backward
MOST_TOGETHER = 64  # batches of one backward; of more, the script has skipped some


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
        self.learns = False  # whether one was fetched while gradients are kept
        self.together = 0  # how many were fetched between the newest backward and the one before


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
        self._main_batches = 0  # how many it has given
        self._main_again = False  # it begins again, after one batch
        self._passed = 0  # how many such iterators the epoch has had before it
        self._held: Set[int] = set()  # iterators that the script may still take batches from
        self._step: Optional[Step] = None
        self._step_begin_ns = 0
        self._mark_ns = 0  # up to here the step's time is assigned
        self._stepped: Set[int] = set()  # optimizers that have stepped in it
        self._done = Step()  # the step as it was when the last of them had
        self._backwards = 0  # how many are inside each other
        self._inside: List[Tuple[int, bool]] = []  # the optimizers' steps that are inside each other, and whether a scaler calls them
        self._before_backward = (0, 0, 0)  # samples, batches and losses of the step
        self._group: List[Tuple[int, Fetches]] = []  # the iterators that gave batches since the last fetch but one
        self._group_backwards = 0  # how many have followed
        self._group_failed = False  # one of them has raised
        self._begun: Set[int] = set()  # iterators whose batches a backward has followed
        self._ahead: Set[int] = set()  # those that fetch one batch ahead
        self._together: Set[int] = set()  # data sets of which two batches before the first backward belong to it
        self._log: Optional[EpochLog] = None
        self._epoch = self._steps = self._training_ns = 0
        self._announced = self._evaluating = False
        self._first_samples: Optional[int] = None

    @property
    def steps(self) -> int:
        """How many steps have ended."""
        return self._steps

    @property
    def uses_batches(self) -> bool:
        """Whether a backward has followed a batch."""
        return bool(self._trained_data)

    @property
    def complete(self) -> int:
        """How many steps will have ended when the next batch is fetched now."""
        return self._steps + int(bool(self._stepped) and not self._backwards and not self._inside)

    @property
    def first_samples(self) -> int:
        """How many samples the first step had; 0: unknown, or it has not ended."""
        if self._first_samples is None:
            return self._step.samples if self._step else 0
        return self._first_samples

    def opened(self, iterator: int, begin_ns: int, end_ns: int) -> None:
        """An iterator over a loader was made, or begins again: workers were started."""
        self.asked()
        self._end_step(begin_ns)
        self._leave(iterator)
        self._main_again = iterator == self._main and self._main_was_left()
        if self._main_over or (iterator == self._main and not self._main_again):
            self._end_epoch()
        self._fetches[iterator] = fetches = Fetches()  # what it gave before is gone
        self._held.add(iterator)
        fetches.opening = [begin_ns, end_ns]

    def asked(self) -> None:
        """A batch is asked for: no more backwards follow those that came before. If one did, it may have been of several batches."""
        group, self._group = self._group, []
        samples = batches = 0
        for iterator, fetches in group:
            taken = self._surplus(iterator, fetches) if self._group_backwards <= 1 else []
            if not self._group_failed:
                samples, batches = samples + sum(taken), max(batches, len(taken))
            if iterator in self._held:
                self._begun.add(iterator)
            if not fetches.samples and not fetches.opening and self._fetches.get(iterator) is fetches:
                del self._fetches[iterator]
        for step in [self._step, self._done if self._stepped else None]:
            if step is not None:
                step.samples += samples
                step.batches += batches

    def _surplus(self, iterator: int, fetches: Fetches) -> List[int]:
        """The samples of the batches that belong to the backward before besides its first one."""
        count, begun = fetches.together, iterator in self._begun
        if count == 1:
            if fetches.samples:
                self._ahead.add(iterator)
            return []
        if count == 2 and not begun and fetches.data not in self._together:
            return []  # unknown yet
        if count > MOST_TOGETHER:
            fetches.samples.clear()
            return []
        if iterator in self._ahead:
            count = min(count - 1, len(fetches.samples))
        else:
            count = len(fetches.samples)
            self._together.add(fetches.data)
        return [fetches.samples.popleft() for _ in range(count)]

    def fetched(self, iterator: int, data: int, length: Optional[int], begin_ns: int, end_ns: int, samples: int,
                learns: bool = True) -> None:
        """An iterator over a loader of `length` batches (None: unknown) of a data set gave one of `samples` samples (0: unknown). `learns`:
        whether gradients are kept of what is computed now."""
        self.asked()
        self._backwards = 0  # what has begun has raised
        self._inside.clear()
        self._end_step(begin_ns)
        if self._main_over:
            self._end_epoch()
        fetches = self._fetches.setdefault(iterator, Fetches())
        self._held.add(iterator)
        fetches.spans.append([begin_ns, end_ns])
        fetches.samples.append(samples)
        if len(fetches.spans) > 2 * MOST_SPANS:  # of a loader whose batches no backward follows
            del fetches.spans[:-MOST_SPANS]
        fetches.length, fetches.data, fetches.learns = length, data, fetches.learns or learns
        if iterator == self._main:
            self._main_batches += 1
        is_new = data not in self._trained_data  # else its batches are fetched ahead
        between = self._step is None or self._main is None  # of a step that the epoch has left unfinished, the rest comes later
        if is_new and len(fetches.spans) >= EVALUATES_AFTER and between and self._epoch and not self._evaluating:
            self._evaluating = True
            self._reporter.begin_evaluation(self._epoch)

    def exhausted(self, iterator: int, begin_ns: int, end_ns: int) -> None:
        """The iterator has no more batches."""
        self.asked()
        self._held.discard(iterator)
        self._begun.discard(iterator)
        self._ahead.discard(iterator)
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
        self._leave(iterator)
        self._trained.discard(iterator)
        self._beside.discard(iterator)

    def _leave(self, iterator: int) -> None:
        """The iterator gives no more of the batches that it has begun to give."""
        self._held.discard(iterator)
        self._begun.discard(iterator)
        self._ahead.discard(iterator)

    def backward_begins(self, loss: Any, now: int) -> None:
        """backward() of a loss: a tensor that is detached, a number, or None for one that is unknown."""
        self._backwards += 1
        if self._backwards > 1:
            return
        known = self._step or Step()
        self._before_backward = known.samples, known.batches, len(known.losses)
        fetched = self._begin_work()
        self._group_backwards += 1
        step = self._begin_step(now)
        self._lap("forward" if fetched or step.backwards or self._inside else "other", now)
        step.backwards += 1
        if len(step.losses) < MOST_LOSSES:
            step.losses.append(loss)
        else:  # nothing ends the step: no optimizer that is followed
            step.losses = [None]
        self._mark_ns = self._now()  # what following has cost is nobody's time

    def backward_ends(self, now: int, exposed_ns: int = 0, comm_ns: int = 0) -> None:
        """`exposed_ns` and `comm_ns`: of the gradients' sums, where they are known."""
        self._backwards = max(0, self._backwards - 1)
        if self._backwards or self._step is None:
            return
        exposed = max(0, min(exposed_ns, now - self._mark_ns))
        self._lap("backward", now - exposed)
        if comm_ns > 0:
            self._lap("exposed", now)
            self._step.add("comm", comm_ns)
        self._mark_ns = self._now()

    def backward_fails(self, now: int) -> None:
        """backward() has raised: what it was called on is no loss of the step, and its batches are none of it."""
        self.backward_ends(now)
        if self._backwards or self._step is None:
            return
        self._step.samples, self._step.batches, losses = self._before_backward
        del self._step.losses[losses:]
        self._group_failed = True

    def optimizer_begins(self, optimizer: int, by_scaler: bool = False) -> None:
        """step() of an optimizer, or of a scaler that calls it. If it has stepped in this step, a new one has begun. If it is inside a step
        of its own, that one has raised."""
        self._leave_optimizer(optimizer, by_scaler)
        self._inside.append((optimizer, by_scaler))
        if len(self._inside) > 1:
            return
        now = self._now()
        if optimizer in self._stepped:
            self._end_step_where_it_was_done()
        if self._step is None:
            self._begin_work()
        self._begin_step(now)
        self._lap("other", now)

    def optimizer_ends(self, optimizer: int, by_scaler: bool = False) -> None:
        """The optimizer has changed the parameters."""
        self._leave_optimizer(optimizer, by_scaler)  # it may have begun before it was followed
        if self._inside or self._step is None:
            return
        self._lap("optimizer", self._now())
        self._stepped.add(optimizer)
        self._done = self._step.copy()

    def optimizer_fails(self, optimizer: int, by_scaler: bool = False) -> None:
        """The optimizer's step has raised."""
        self._leave_optimizer(optimizer, by_scaler)

    def _leave_optimizer(self, optimizer: int, by_scaler: bool) -> None:
        """The step of an optimizer is over, with all inside it."""
        if (optimizer, by_scaler) in self._inside:
            del self._inside[self._inside.index((optimizer, by_scaler)):]

    def finish(self) -> None:
        """The script ends."""
        self.asked()
        if self._stepped:
            self._end_step_where_it_was_done()
        self._end_epoch()

    def _begin_work(self) -> bool:
        """A backward or an optimizer uses the batches that were fetched. Returns whether there are any."""
        if self._evaluating:
            self._evaluating = False
            self._reporter.end_evaluation(self._epoch)
        every = {iterator for iterator, fetches in self._fetches.items() if fetches.spans}
        if not every:
            return self._take_batch_of_before()
        fresh = {iterator for iterator in every if self._fetches[iterator].learns} or every
        newest = max(fresh, key=lambda iterator: self._fetches[iterator].spans[-1][1])
        others = fresh - {newest}
        # One beside the newest counts from the second time on: a validation that has broken off looks like it once.
        known = {iterator for iterator in others if self._fetches[iterator].data in self._beside_data}
        again = others & self._beside
        if not self._epoch:  # the first step of all: what the script holds over data of its own is no validation that has broken off
            data = [self._fetches[iterator].data for iterator in fresh]
            known |= {iterator for iterator in others & self._held
                      if self._fetches[iterator].learns and data.count(self._fetches[iterator].data) == 1}
        self._trained = {newest} | again | known | (self._trained & self._held)
        self._trained_data.add(self._fetches[newest].data)
        self._beside_data |= {self._fetches[iterator].data for iterator in again}
        self._beside = others & self._held
        self._group = [(iterator, self._fetches[iterator]) for iterator in fresh & self._trained]
        self._group_backwards, self._group_failed = 0, False
        between = "forward" if any(self._are_together(*each) for each in self._group) else "other"
        used = [fetches for _, fetches in self._group]
        spans = sorted(span for fetches in used for span in fetches.spans)
        begin_ns = spans[0][0]
        openings = [fetches.opening for fetches in used if fetches.opening]
        # What lies between these and the first fetch is not the step's.
        before = [opening for opening in openings if self._step is None and opening[1] <= begin_ns]
        before_ns = sum(end - begin for begin, end in before)
        if self._goes_on(newest):
            self._passed += 1
            self._main, self._main_again, self._main_batches = newest, False, len(self._fetches[newest].spans)
        elif self._main_again or (self._main not in fresh and not self._takes_turns(newest)):
            self._begin_epoch(newest, begin_ns - before_ns)
            if self._step is not None:  # the epoch before has left it unfinished
                self._mark_ns = max(self._mark_ns, min([begin_ns, *(opening[0] for opening in openings)]))
        step = self._begin_step(begin_ns)
        if before:
            step.add("load", before_ns)
        spans = sorted(spans + [opening for opening in openings if opening not in before])
        if every - self._trained:
            self._mark_ns = max(self._mark_ns, begin_ns)  # a validation stood between
        for number, (begin_ns, end_ns) in enumerate(spans):
            self._lap(between if number else "other", max(begin_ns, self._mark_ns))
            self._lap("load", max(end_ns, self._mark_ns))
        step.batches += 1
        for fetches in used:
            fetches.together = len(fetches.spans)
            step.samples += fetches.samples.popleft()
            fetches.opening, fetches.learns = None, False
            fetches.spans.clear()
        self._fetches = {iterator: fetches for iterator, fetches in self._fetches.items()
                         if not fetches.spans and ((iterator in self._trained and fetches.samples) or fetches.opening)}
        return True

    def _are_together(self, iterator: int, fetches: Fetches) -> bool:
        """Whether the batches that an iterator gave since the last backward belong to one, as far as is known yet."""
        few = 2 if iterator in self._begun or fetches.data in self._together else 3
        return few <= len(fetches.spans) <= MOST_TOGETHER

    def _main_was_left(self) -> bool:
        """Whether the script has left the epoch's iterator after one batch."""
        return self._main is not None and self._main not in self._held and self._main_batches == 1 and not self._main_over

    def _goes_on(self, iterator: int) -> bool:
        """Whether the epoch goes on with this iterator, since the one before was left after one batch of the same data."""
        return ((self._main_again or self._main_was_left()) and self._main_data == self._fetches[iterator].data
                and (self._main_length is None or self._passed + 1 < self._main_length))

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
        if self._step is None or not self._stepped or self._backwards or self._inside:
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
        self._main_batches = len(self._fetches[iterator].spans) if iterator is not None else 0
        self._main_again, self._passed = False, 0
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

# SPDX-License-Identifier: MIT
"""Divides a training script that knows nothing of Lockstep into steps and phases, by what it calls in PyTorch.

lockstep.auto tells a Follower when a batch is fetched, when backward runs and when an optimizer steps. From these:

- A step is all work up to and including the optimizers' steps. With gradient accumulation it has several batches, each with its own
  backward, or several before one. Of several before the first backward of an iterator, some may be fetched ahead, or skipped: that shows
  at the second one. They belong together where there are several before that one too; else a batch without a backward is skipped.
- `load` is the time in a DataLoader whose batch a backward follows, with the start of its workers. What a validation fetches is never
  counted, nor is what is fetched without gradients beside what is fetched with them; where nothing else is fetched, that may be trained on
  if it is one batch at a time, or came before the first step. A pass whose backwards no optimizer follows is a validation too, if it is
  over other data, such as one that makes adversarial samples, or has at least as many backwards as the longest step so far, such as one
  that finds out which weights matter, unless steps have been of several passes. That of workers that persist isn't told apart.
- A backward without a batch that no optimizer follows before one with a batch, such as a saliency map, is no part of a step.
- `forward` is the time from the end of the last fetch, backward or optimizer's step to the start of backward; copies to a
  device are in it, and so is what lies between the batches of one backward. `backward` and `optimizer` are the time in these; what raises
  in backward is time, but neither loss nor batch. `other` is the rest of a step, and what comes before backward in one without a DataLoader,
  since a forward and the making of a batch can't be told apart. So is a forward after which the next batch is fetched, before its backward.
- The time of a validation is left out wherever it stands, up to the last fetch of one that breaks off.
- `exposed` and `comm` are what DistributedDataParallel has measured (lockstep.auto).
- On a GPU these times are those of its stream (lockstep.stream_calls).
- How many samples the steps of an epoch have is unknown where some of them train without a new batch, or without one of a DataLoader that
  was over earlier, whose batches the script may have kept.
- The loss is what backward was called on, without a GradScaler's factor, summed over the backwards of a step. Of several passes of a batch,
  between which parameters were moved, as LBFGS and SAM do, it is the first one's, and so are the samples where an optimizer goes through a
  loader several times in a step.
- An epoch is one pass through the DataLoader that is trained on. It ends once an iterator is made or a batch is fetched after the loader's end,
  or with the script: work until then is still the epoch's. Time between its steps, such as that of a validation, is not in the epoch's time.
  A pass of a loader that repeats its sampler for ever has as many batches as that sampler gives. Where steps take turns between iterators that
  the script holds, or have batches of several, it is a pass through the first of them; over the same data that shows where all were made
  first, or when an earlier one comes again. Where each step begins a pass for one batch, it is as many steps as a pass has batches.
"""
from __future__ import annotations

from collections import deque
from typing import Any, Callable, Deque, Dict, List, Optional, Set, Tuple

from lockstep.clock import clock_ns
from lockstep.groups import Groups
from lockstep.lead import Lead
from lockstep.left_out import LeftOut
from lockstep.open_optimizers import OpenOptimizers
from lockstep.open_step import Fetches, Pass, Step
from lockstep.reporter import Reporter
from lockstep.steps import EpochLog
from lockstep.trained import Trained

EVALUATES_AFTER = 3  # batches in a row that no backward follows
MOST_LOSSES = 4096  # of one step
MOST_SPANS = 10_000  # of fetches that no step has had yet, the newest
NOTHING = (0, False, 0, 0)  # samples, whether they are unknown, batches and losses
MOST_DROPPED = 1024  # iterators that the script holds no longer and whose batches no step has had yet, the newest


class Follower:
    """The state of one training process. All calls come from the thread that trains."""

    def __init__(self, reporter: Reporter, clock: Callable[[], int] = clock_ns) -> None:
        self._reporter = reporter
        self._now = clock
        self._fetches: Dict[int, Fetches] = {}  # by iterator
        self._trained = Trained()
        self._lead = Lead()
        self._pair: Set[int] = set()  # the iterators of the newest step that has several
        self._pair_ended = False  # one of them besides the main one is over, and nothing has taken its place
        self._replays = False  # steps go on after that, perhaps with batches that the script has kept
        self._held: Set[int] = set()  # iterators that the script may still take batches from
        self._dropped: Deque[int] = deque()  # those that it holds no longer, the newest
        self._left: Set[int] = set()  # those that were trained on and held no longer, though they had more batches
        # Data sets of batches that were fetched without gradients before the first step: whether they are trained on shows when more are.
        self._unsure: Set[int] = set()
        self._step: Optional[Step] = None
        self._step_begin_ns = 0
        self._mark_ns = 0  # up to here the step's time is assigned
        self._left_out = LeftOut()
        self._stepped: Set[int] = set()  # optimizers that have stepped in it
        self._done = Step()  # the step as it was when the last of them had
        self._most_backwards = 0  # that a step has had
        self._over_passes = False  # an optimizer has stepped after a pass in which none had: a step may be of several passes
        self._backwards = 0  # how many are inside each other
        self._inside = OpenOptimizers()  # the optimizers' steps that go on
        self._before_backward = NOTHING  # of the step
        self._alike = False  # whether the newest batch was found to be of a step like the one before
        self._led_in = -2  # the newest step that began with a backward without a batch
        self._groups = Groups()
        self._pass: Optional[Pass] = None
        self._optimized: Set[int] = set()  # iterators for whose batches an optimizer has stepped
        self._step_kinds: Set[bool] = set()  # of the epoch: whether a batch was fetched for them
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
        return bool(self._trained.data)

    @property
    def complete(self) -> int:
        """How many steps will have ended when the next batch is fetched now."""
        return self._steps + int(bool(self._stepped) and not self._backwards and not self._inside)

    @property
    def alike(self) -> Optional[int]:
        """The iterator of a step that has been made like the one before it, so that the next one probably is; None: it was another, or goes
        on. Not of the first two, after which a run may end (lockstep.step_limit)."""
        made = self._alike and self._steps > 1 and self._stepped and not self._backwards and not self._inside
        return self._lead.iterator if made else None

    @property
    def first_samples(self) -> int:
        """How many samples the first step had, as far as is known: whether several batches belong to it shows at the second step; 0: unknown,
        or it has not ended."""
        if self._first_samples is None:
            return self._step.samples if self._step else 0
        return self._first_samples

    def opened(self, iterator: int, begin_ns: int, end_ns: int) -> None:
        """An iterator over a loader was made, or begins again: workers were started."""
        self.asked()
        self._inside.opened()
        self._end_step(begin_ns)
        self._leave(iterator)
        self._lead.again = iterator == self._lead.iterator and self._lead.was_left(self._held)
        self._end_epoch_if(iterator == self._lead.iterator and not self._lead.again)
        self._fetches[iterator] = fetches = Fetches()  # what it gave before is gone
        self._held.add(iterator)
        fetches.opening = [begin_ns, end_ns]

    def asked(self) -> None:
        """A batch is asked for: no more backwards follow those that came before. If one did, it may have been of several batches."""
        group = self._groups.newest
        if not group or self._groups.ends_alike():
            return
        more = self._groups.end(self._held)
        for iterator, fetches in group:
            if fetches.samples:
                self._fetches.setdefault(iterator, fetches)
            elif not fetches.opening and self._fetches.get(iterator) is fetches:
                del self._fetches[iterator]
        if more.aside and [iterator for iterator, _ in group] == [self._lead.iterator]:
            self._lead.aside = more.aside
        if more.shows:
            self._announced = False  # the epoch has another number of steps than was announced
            self._also_in_first(more.samples_before)
        if more.samples or more.batches:
            step = self._step
            for state in (step, self._done if self._stepped and not (step and step.has_gone_on_from(self._done)) else None):
                if state is not None:
                    state.take_more(more.samples, more.batches, more.unsized)

    def _also_in_first(self, samples: int) -> None:
        """The step before had so many more samples, which shows now: the first step's are told."""
        if self._steps == 1 and self._first_samples is not None:
            self._first_samples = max(0, self._first_samples + samples)

    def fetched(self, iterator: int, data: int, length: Optional[int], begin_ns: int, end_ns: int, samples: int,
                learns: bool = True, endless: bool = False) -> None:
        """An iterator over a loader of `length` batches (None: unknown) of a data set gave one of `samples` samples (0: unknown). `learns`:
        whether gradients are kept of what is computed now. `endless`: it goes on after a pass of that length."""
        self.asked()
        self._backwards = 0  # what has begun has raised
        self._inside.fetched()
        self._end_step(begin_ns)
        self._end_epoch_if(iterator == self._lead.iterator and self._lead.has_made_a_pass())
        while self._left:  # the batch at which a loop over it was left is not trained on
            self._fetches.pop(self._left.pop(), None)
        fetches = self._fetches.setdefault(iterator, Fetches())
        if learns and fetches.spans and not fetches.learns and self._groups.has_begun(iterator):
            self._left_out.add(*fetches.leave_out(begin_ns))
        self._held.add(iterator)
        fetches.spans.append([begin_ns, end_ns])
        fetches.samples.append(samples)
        if len(fetches.spans) > 2 * MOST_SPANS:  # of a loader whose batches no backward follows
            del fetches.spans[:-MOST_SPANS]
        fetches.length, fetches.endless, fetches.data, fetches.learns = length, endless, data, fetches.learns or learns
        if iterator == self._lead.iterator:
            self._lead.batches += 1
        is_new = data not in self._trained.data  # else its batches are fetched ahead
        between = self._step is None or self._lead.iterator is None  # of a step that the epoch has left unfinished, the rest comes later
        if is_new and len(fetches.spans) >= EVALUATES_AFTER and between and self._epoch and not self._evaluating:
            self._evaluating = True
            self._reporter.begin_evaluation(self._epoch)

    def exhausted(self, iterator: int, begin_ns: int, end_ns: int) -> None:
        """The iterator has no more batches."""
        self.asked()
        self._end_step(begin_ns)
        if self._pass is not None and self._pass.iterator == iterator and self._step is not None:
            self._pass.is_over = iterator not in self._optimized
        self._leave(iterator)
        if iterator != self._lead.iterator:
            self._pair_ended = self._pair_ended or iterator in self._pair
            # One of a pair that was fetched ahead may be trained on with the last one of the epoch's iterator.
            given = self._fetches.pop(iterator, None) if iterator not in self._pair else None
            if iterator not in self._trained.iterators and not self._backwards:
                self._end_validation(given, end_ns)
            return
        self._lead.over, self._lead.over_ns = True, end_ns
        if iterator in self._fetches:  # the last batch was fetched ahead
            return
        if self._step is not None:  # it may end now, or go on in the next epoch
            self._lap_fetch(begin_ns, end_ns)
            return
        if self._log:
            self._log.add_time("load", end_ns - begin_ns)
            self._training_ns += end_ns - begin_ns
            if self._log.steps:
                self._reporter.steps(self._log, True)

    def _end_validation(self, given: Optional[Fetches], end_ns: int) -> None:
        """A validation is no part of a step within which it lies. `given`: what its iterator gave that had no backward."""
        if given is not None and given.spans:
            self._leave_time_out(given, end_ns)
        if self._step is None or given is None or not given.spans:
            self._mark_ns = max(self._mark_ns, end_ns)

    def _leave_time_out(self, given: Fetches, end_ns: int) -> None:
        """The time of a validation, with the start of its workers, is no phase's."""
        if given.opening:
            self._left_out.add(*given.opening)
        self._left_out.add(given.spans[0][0], end_ns)

    def dropped(self, iterator: int) -> None:
        """The script holds the iterator no longer."""
        if iterator in self._held and iterator in self._trained.iterators:
            self._left.add(iterator)
        self._leave(iterator)
        self._trained.drop(iterator)
        self._dropped.append(iterator)
        if len(self._dropped) > MOST_DROPPED:  # such as of a validation that takes each of its batches from a new iterator
            self._fetches.pop(self._dropped.popleft(), None)

    def _leave(self, iterator: int) -> None:
        """The iterator gives no more of the batches that it has begun to give."""
        self._held.discard(iterator)
        self._optimized.discard(iterator)
        self._groups.leave(iterator)

    def backward_begins(self, loss: Any, now: int, again: bool = False) -> None:
        """backward() of a loss: a tensor that is detached, a number, or None for one that is unknown. `again`: in a further pass of its
        batch, whose loss counts nowhere."""
        self._backwards += 1
        if self._backwards > 1:
            return
        self._note_before_backward()
        has_batch = self._inside.backward()
        fetched = self._begin_work(not (has_batch or (again and self._inside)))
        self._groups.backward()
        step = self._begin_step(now)
        if again and self._inside.repeats:  # of samples that it has had
            step.samples, step.unsized, step.batches, _ = self._before_backward
        self._lap("forward" if fetched or step.backwards or self._inside else "other", now)
        step.backwards += 1
        if len(step.losses) < MOST_LOSSES:
            if not (again and step.losses):
                step.losses.append(loss)
        else:  # nothing ends the step: no optimizer that is followed
            step.losses = [None]
        self._mark_ns = self._now()  # what following has cost is nobody's time

    def _note_before_backward(self) -> None:
        """What the step has before a backward, which may raise."""
        step = self._step
        self._before_backward = NOTHING if step is None else (step.samples, step.unsized, step.batches, len(step.losses))

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
        self._step.samples, self._step.unsized, self._step.batches, losses = self._before_backward
        del self._step.losses[losses:]
        self._groups.fails()

    def optimizer_begins(self, optimizer: int, by_scaler: bool = False) -> None:
        """step() of an optimizer, or of a scaler that calls it. If it has stepped in this step, a new one has begun."""
        if not self._inside.begin(optimizer, by_scaler):
            return
        now = self._now()
        if optimizer in self._stepped:
            self._end_step_where_it_was_done()
        if self._step is None:
            self._inside.has_batch = self._begin_work()
        self._begin_step(now)
        self._lap_fetched_ahead()
        self._lap("backward" if self._backwards else "other", now)

    def optimizer_has_begun(self, optimizer: int, by_scaler: bool = False) -> None:
        """Its step, or a scaler's, went on when following began."""
        self._inside.begin(optimizer, by_scaler)

    def optimizer_ends(self, optimizer: int, by_scaler: bool = False) -> None:
        """The optimizer has changed the parameters."""
        if not self._inside.end(optimizer, by_scaler) or self._step is None:
            return
        self._lap("optimizer", self._now())
        self._stepped.add(optimizer)
        self._done = self._step.copy()
        if self._pass is not None:
            self._over_passes = self._over_passes or self._pass.is_over
            self._pass.is_over = False
            if self._pass.iterator in self._held:
                self._optimized.add(self._pass.iterator)

    def optimizer_fails(self, optimizer: int, by_scaler: bool = False) -> None:
        """The optimizer's step has raised."""
        self._inside.end(optimizer, by_scaler)

    def finish(self, failed: bool = False) -> None:
        """The script ends. Where it has `failed`, the epoch that it was in has steps, but no end."""
        self.asked()
        if self._stepped:
            self._end_step_where_it_was_done()
        if failed and self._log is not None and (self._lead.iterator in self._fetches or not self._lead.has_given_all()):
            self._reporter.steps(self._log, True)
            self._log = None
        self._end_epoch()

    def _begin_work(self, ahead: bool = True) -> bool:
        """A backward or an optimizer uses the batches that were fetched, or else, if `ahead`, one of before. Returns whether there are any."""
        if self._evaluating:
            self._evaluating = False
            self._reporter.end_evaluation(self._epoch)
        if not self._fetches:  # nothing was fetched since
            return ahead and self._lead.over and self._take_batch_of_before()
        self._alike = self._goes_on_alike()
        if self._alike:
            return True
        every = {iterator: fetches for iterator, fetches in self._fetches.items() if fetches.spans}
        if not every:
            return ahead and self._take_batch_of_before()
        fresh = {iterator: fetches for iterator, fetches in every.items() if fetches.learns}
        if not fresh:
            fresh = {iterator: fetches for iterator, fetches in every.items() if self._may_learn(iterator, fetches)}
            if not fresh:
                self._leave_out(every)
                return ahead and self._take_batch_of_before()
            if self._steps:
                self._unsure = set()
            elif not self._trained.data:
                self._unsure = {fetches.data for fetches in fresh.values()}
        elif self._unsure and self._steps:
            if self._unsure.isdisjoint(fetches.data for fetches in fresh.values()):
                self._forget_look()
            self._unsure = set()
        self._leave_out_what_had_no_batch()
        newest = self._trained.newest(fresh, self._held, not self._epoch) if len(fresh) > 1 else next(iter(fresh))
        self._passes(newest)
        missed = self._choose(newest, fresh)
        group = [each for each in fresh.items() if each[0] in self._trained.iterators]
        self._groups.begin(group)
        used = [fetches for _, fetches in group]
        spans = used[0].spans if len(used) == 1 else sorted(span for fetches in used for span in fetches.spans)
        begin_ns = spans[0][0]
        openings = [fetches.opening for fetches in used if fetches.opening]
        # What lies between these and the first fetch is not the step's.
        before = [opening for opening in openings if self._step is None and opening[1] <= begin_ns]
        before_ns = sum(end - begin for begin, end in before)
        self._begin_pass(fresh, begin_ns - before_ns, openings)
        if len(used) > 1:
            self._pair, self._pair_ended, self._replays = {iterator for iterator, _ in group}, False, False
        self._replays = self._replays or self._pair_ended
        step = self._begin_step(begin_ns)
        if before:
            step.add("load", before_ns)
        if openings:
            spans = sorted(spans + [opening for opening in openings if opening not in before])
        for iterator in every.keys() - self._trained.iterators:  # of a validation that has broken off, whose end is unknown
            self._mark_ns = max(self._mark_ns, begin_ns)
            self._leave_time_out(every[iterator], every[iterator].spans[-1][1])
        between = "forward" if len(spans) > 1 and any(self._groups.are_together(*each) for each in group) else "other"
        for number, (begin_ns, end_ns) in enumerate(spans):
            self._lap_fetch(begin_ns, end_ns, between if number else "other")
        step.batches += 1
        step.beside += self._lead.iterator not in fresh
        step.samples += missed
        self._also_in_first(missed)
        for fetches in used:
            step.take_from(fetches)
        self._fetches = {iterator: fetches for iterator, fetches in self._fetches.items()
                         if not fetches.spans and ((iterator in self._trained.iterators and fetches.samples) or fetches.opening)}
        return True

    def _may_learn(self, iterator: int, fetches: Fetches) -> bool:
        """Whether batches that were fetched without gradients may be trained on: any before the first step, one that came from where others
        were, or the only one of an iterator that is still held. More are a validation's."""
        return not self._steps or fetches.data in self._trained.data or (iterator in self._held and len(fetches.spans) == 1)

    def _leave_out(self, every: Dict[int, Fetches]) -> None:
        """These batches are a validation's, and nothing up to the last of them is the step's."""
        for iterator, fetches in every.items():
            self._mark_ns = max(self._mark_ns, fetches.spans[-1][1])
            del self._fetches[iterator]

    def _leave_out_what_had_no_batch(self) -> None:
        """What backwards without a batch no optimizer has followed before one with a batch is no part of a step, such as a saliency map,
        unless the step before began so too, as with a regulariser that goes backward by itself."""
        if self._step is not None and self._step.losses and not (self._step.batches or self._stepped or self._inside):
            always, self._led_in = self._led_in == self._steps - 1, self._steps
            if not always:
                self._step = None
                self._before_backward = NOTHING

    def _goes_on_alike(self) -> bool:
        """Takes the batch of a step like the one before: the next one of the epoch's iterator, which alone has given any. False: it is another
        step. Most steps are such ones, and what finds out about the others takes several times as long."""
        iterator = self._lead.iterator
        fetches = self._fetches.get(iterator) if iterator is not None and len(self._fetches) == 1 else None
        if (iterator is None or fetches is None or len(fetches.spans) != 1 or fetches.opening or self._lead.again
                or len(self._trained.iterators) != 1 or iterator not in self._trained.iterators or iterator not in self._held
                or self._pass is None or self._pass.iterator != iterator or self._pair_ended or self._trained.beside or self._unsure
                or (self._step is not None and not self._step.batches)):
            return False
        self._groups.begin([(iterator, fetches)])
        begin_ns, end_ns = fetches.spans[0]
        step = self._begin_step(begin_ns)
        self._lap_fetch(begin_ns, end_ns)
        step.batches += 1
        step.take_from(fetches)
        if not fetches.samples:
            self._fetches = {}
        return True

    def _choose(self, newest: int, fresh: Dict[int, Fetches]) -> int:
        """Chooses which iterators are trained on now. Returns how many samples the step before had of those for which that shows now."""
        missed, again = self._trained.choose(newest, fresh, self._held, not self._epoch)
        if again and self._steps <= 1 and self._lead.iterator is not None:  # they stood beside in the first step of all
            group = {newest} | again
            self._announced = False
            self._lead.alone = len({fresh[iterator].length for iterator in group}) == 1
            first = min(group, key=lambda iterator: fresh[iterator].spans[0][0])
            self._lead.take(first, fresh[first], 1)
        return missed

    def _begin_pass(self, fresh: Dict[int, Fetches], begin_ns: int, openings: List[List[int]]) -> None:
        """Begins an epoch if the step is of none yet, or lets the one that goes on take up another iterator. An epoch is a pass through the
        first iterator of its first step, of those that begin with it."""
        first = min(self._groups.newest, key=lambda each: (self._groups.has_begun(each[0]), each[1].spans[0][0]))[0]
        other = self._lead.iterator not in fresh
        repeats = self._inside.repeats and self._lead.data == fresh[first].data and (other or self._lead.over)
        if repeats or self._lead.goes_on_with(fresh[first], self._held):
            self._lead.pass_on(first, fresh[first])
        elif self._lead.again or (other and not self._lead.takes_turns_with(fresh[first], self._held, self._groups.has_begun(first))):
            self._begin_epoch(first, begin_ns)
            if self._step is not None:  # the epoch before has left it unfinished
                self._mark_ns = max(self._mark_ns, min([begin_ns, *(opening[0] for opening in openings)]))
        elif other and self._lead.alone and not (self._step and self._step.batches):
            self._announced = self._lead.alone = False  # it has more steps than were announced

    def _passes(self, iterator: int) -> None:
        """A backward follows a batch of this iterator. If the pass before was one that no optimizer has followed, over other data or with as
        many backwards as any step had, it was a validation or the like: nothing of it is the step's."""
        last, data = self._pass, self._fetches[iterator].data
        if last is not None and last.iterator == iterator:
            return
        before = self._step.copy() if self._step is not None else None
        if last is not None and last.is_over:
            before = last.before.copy() if last.before is not None else None
            backwards = self._step.backwards - (before.backwards if before is not None else 0) if self._step is not None else 0
            if last.data != data or (0 < self._most_backwards <= backwards and not self._over_passes):
                self._step = last.before
                self._mark_ns = max(self._mark_ns, self._fetches[iterator].spans[0][0])
                self._note_before_backward()
                if last.data != data:
                    self._trained.data.discard(last.data)
                    self._trained.beside.data.discard(last.data)
        self._pass = Pass(iterator, data, before)

    def _take_batch_of_before(self) -> bool:
        """Batches that were fetched before the last ones that were trained on. Returns whether there are any."""
        lead = self._lead
        if not self._groups.are_ahead(self._fetches, lead):
            return False
        if lead.over:
            self._begin_step(max(lead.over_ns, self._mark_ns))
        if self._step is None:
            return False
        self._groups.take_ahead(self._step, self._fetches, lead, self._pair)
        return True

    def _begin_step(self, begin_ns: int) -> Step:
        """The step that goes on, or a new one."""
        if self._step is None:
            self._step = Step()
            self._step_begin_ns = self._mark_ns = begin_ns
        return self._step

    def _lap_fetch(self, begin_ns: int, end_ns: int, before: str = "other") -> None:
        """The time up to a fetch is of the phase `before`."""
        self._lap(before, max(begin_ns, self._mark_ns))
        self._lap("load", max(end_ns, self._mark_ns))

    def _lap_fetched_ahead(self) -> None:
        """What the iterators that are trained on gave since the last backward is load of the step whose optimizer steps now."""
        for span in sorted(span for iterator in self._trained.iterators & self._fetches.keys() for span in self._fetches[iterator].spans):
            self._lap_fetch(span[0], span[1])
            span[0] = span[1]

    def _lap(self, phase: str, now_ns: int) -> None:
        if self._step is not None:
            left_out_ns = self._left_out.within(self._mark_ns, now_ns) if self._left_out.spans else 0
            self._step.add(phase, now_ns - self._mark_ns - left_out_ns)
        self._mark_ns = now_ns

    def _end_step(self, end_ns: int) -> None:
        """Ends a step in which an optimizer has stepped. What follows the last one of an epoch is none's."""
        if self._step is None or not self._stepped or self._backwards or self._inside:
            return
        if self._step.has_gone_on_from(self._done):
            self._end_step_where_it_was_done()
            return
        if not self._lead.over:
            self._lap("other", max(end_ns, self._mark_ns))
        step, self._step = self._done if self._lead.over else self._step, None
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
        log = self._log or self._begin_epoch(None, self._mark_ns - step.duration_ns())  # no DataLoader: all steps are one epoch
        if step.losses:
            self._step_kinds.add(step.batches > 0)
        if len(self._step_kinds) > 1 or self._replays or step.unsized:
            log.forget_samples()
        log.add(step.loss(), step.samples, step.times)
        self._steps += 1
        self._most_backwards = max(self._most_backwards, step.backwards)
        if self._unsure and not step.batches:
            self._forget_look()
        if self._first_samples is None:
            self._first_samples = step.samples
        self._training_ns += step.duration_ns()
        if not self._announced:
            self._announced = True
            length = self._lead.length if self._lead.alone else None
            self._reporter.begin_epoch(self._epoch, -(-length // max(step.batches - step.beside, 1)) if length else None)
        if log.due():
            self._reporter.steps(log, False)

    def _forget_look(self) -> None:
        """What the first step has used was a look at the validation: training is without a loader, or over other data."""
        self._trained.forget(self._unsure)
        self._lead.iterator = None
        self._unsure = set()

    def _begin_epoch(self, iterator: Optional[int], begin_ns: int) -> EpochLog:
        self._end_epoch()  # if the script has left it early
        self._reporter.rest()
        self._lead = Lead(self._lead.turns)
        if iterator is not None:
            self._lead.take(iterator, self._fetches[iterator])
        self._lead.alone = all(fetches.length == self._lead.length for _, fetches in self._groups.newest)
        self._pair_ended, self._step_kinds = False, set()
        self._epoch += 1
        self._log = log = EpochLog(self._epoch, self._steps, begin_ns)
        self._announced = False
        self._training_ns = 0
        return log

    def _end_epoch_if(self, is_over: bool) -> None:
        """Ends it if it, or its iterator, is over, unless an optimizer goes through its loader once more."""
        if (is_over or self._lead.over) and not self._inside.repeats:
            self._end_epoch()

    def _end_epoch(self) -> None:
        log, self._log = self._log, None
        self._lead.iterator, self._lead.over = None, False
        if log and log.steps:
            self._reporter.steps(log, True)
            self._reporter.end_epoch(log, self._training_ns)
        elif log:  # nobody has heard of it
            self._epoch -= 1

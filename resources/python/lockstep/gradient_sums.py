# SPDX-License-Identifier: MIT
"""How long gradients are summed, as the timers of DistributedDataParallel measure it."""
from __future__ import annotations

import importlib
import weakref
from typing import Any, Callable, List, Mapping, Optional, Sequence, Tuple

from lockstep.clock import leaves_pauses_out, paused_ns
from lockstep.stream_clock import Mark, StreamClock

Sums = Tuple[int, int]  # the nanoseconds that backwards waited for sums after the last gradient, and those that sums were under way
UNKNOWN: Sums = (0, 0)
Later = Callable[[], Sums]  # those of a backward that a GPU has not ended yet: to be asked once it has
EACH, SELDOM = 1, 100  # of how many iterations one is timed; the latter is PyTorch's default
ALWAYS_TIMED = 10  # iterations, the first ones, in which the timers run at any rate


def unknown() -> Sums:
    """Of a backward in which no gradients are summed."""
    return UNKNOWN


class _Model:
    """A model that DistributedDataParallel has wrapped, as long as the script holds it."""

    def __init__(self, model: Any) -> None:
        self.known = weakref.ref(model, self._leave)
        # A reader of the timers beside the model's own: that one has twice as much to say, and to copy it takes as long.
        self._logger: Any = None
        self._reducer: Any = None  # whose timers it reads
        self._began = self._forwards = 0  # when the newest sums that were read did, and how many forwards there were by then
        self._goes_on = False  # a backward that is timed
        # Whether each backward so far had one forward, as far as is known: else the mean may be of others' timers, and each is read.
        self._has_one_forward = True
        self._noted = 0  # how many backwards are to be read together
        self._left: Sums = UNKNOWN  # what was noted when the script let go of it

    def _leave(self, _: Any) -> None:
        self.fail()  # a backward that goes on: else its timers would be read at the next one's end
        self._left = self._read_noted()
        self._logger = self._reducer = None  # they hold buffers as large as the gradients

    def begin(self, model: Any) -> None:
        """A backward begins, which is timed if gradients are summed in it."""
        self._goes_on = bool(model.require_backward_grad_sync)
        if not self._goes_on:
            return
        self._follow(model.reducer)
        self._reducer._set_ddp_runtime_logging_sample_rate(EACH)

    @property
    def waits(self) -> bool:
        """Whether a backward goes on that ends once all ranks have come. On a GPU the host doesn't wait for them."""
        return self._goes_on

    def end(self, may_wait: bool) -> Sums:
        """What is known of the backward that has ended. If it `may_wait`, it is only noted."""
        if not self._goes_on:
            return UNKNOWN
        self._goes_on = False
        may_wait = may_wait and self._has_one_forward
        if may_wait and not self._noted:
            self._renew()
        self._logger.set_runtime_stats_and_log()
        self._reducer._set_ddp_runtime_logging_sample_rate(SELDOM)  # else the model would read all of them at its next forward, too
        if may_wait:
            self._noted += 1
            return UNKNOWN
        return self._read("", 1)

    def fail(self) -> None:
        """The backward that goes on, if any, has raised."""
        if self._goes_on:
            self._goes_on = False
            self._reducer._set_ddp_runtime_logging_sample_rate(SELDOM)

    def later(self, is_alone: bool) -> Later:
        """Gives what will be known of the newest backward on a GPU. `is_alone`: no other model was wrapped."""
        return unknown

    def noted(self) -> Sums:
        """What is known of all backwards that were noted, together."""
        left, self._left = self._left, UNKNOWN
        return self._read_noted() if self._noted else left

    def _follow(self, reducer: Any) -> None:
        """A model may get another one."""
        if self._reducer is not reducer:
            self._reducer = reducer
            self._began = self._forwards = 0
            self._renew()

    def _renew(self) -> None:
        """Its means begin anew."""
        self._logger = importlib.import_module("torch.distributed").Logger(self._reducer)

    def _read_noted(self) -> Sums:
        count, self._noted = self._noted, 0
        return self._read("avg_", count) if count else UNKNOWN

    def _read(self, kind: str, count: int) -> Sums:
        known: Mapping[str, int] = self._logger._get_ddp_logging_data().ints_map
        before, self._began = self._began, int(known.get("backward_comm_time_start") or 0)
        forwards_before, self._forwards = self._forwards, int(known.get("iteration") or 0)
        if self._began == before:
            return UNKNOWN  # it was another model's
        if (before or count > 1) and self._forwards - forwards_before != count:
            self._has_one_forward = False
            if count > 1:
                return UNKNOWN
        way = int(known.get(kind + "backward_comm_time") or 0)
        return count * max(0, way - int(known.get(kind + "backward_compute_comm_overlap_time") or 0)), count * way


class _Timed:
    """A backward on a GPU whose timers run."""

    def __init__(self, mark: Mark) -> None:
        self.mark = mark  # behind it
        self.sums: Optional[Sums] = None  # None: nobody has read them yet


class _StreamModel(_Model):
    """The same on a GPU. There the timers are events, of which PyTorch keeps those of one backward, and to read them waits for the device. So
    they are read once it has reached them, and no other backward is timed meanwhile: such a one is taken to be like the newest that was."""

    def __init__(self, model: Any, stream: Optional[StreamClock]) -> None:
        super().__init__(model)
        self.stream = stream  # None: not known yet, and nothing is timed
        self._sums = self._is_timed = False  # whether gradients are summed in the newest backward, and whether that is timed
        self._timed: Optional[_Timed] = None  # the backward that was timed last, if nobody has read its timers yet
        self._newest = UNKNOWN
        self._backwards = 0  # in which gradients were summed

    def begin(self, model: Any) -> None:
        """A backward begins, which is timed if gradients are summed in it and the device has ended the one that was timed last."""
        self._is_timed, self._sums = False, self.stream is not None and model.require_backward_grad_sync
        if not self._sums:
            return
        if self._reducer is not model.reducer:
            self._timed = None
        self._follow(model.reducer)
        self._backwards += 1
        if self._timed is not None and not StreamClock.reached(self._timed.mark):
            if self._backwards <= ALWAYS_TIMED:
                self._timed = None  # this backward sets its timers anew
            return
        self._read_timers()
        self._reducer._set_ddp_runtime_logging_sample_rate(EACH)
        self._is_timed = True

    def end(self, may_wait: bool) -> Sums:
        """Nothing yet: later() says what is known of the backward that has ended."""
        if self._is_timed and self.stream is not None:
            self._reducer._set_ddp_runtime_logging_sample_rate(SELDOM)
            self._timed = _Timed(self.stream.mark())
        return UNKNOWN

    def fail(self) -> None:
        """The newest backward, if any, has raised."""
        if self._is_timed:
            self._is_timed = False
            self._reducer._set_ddp_runtime_logging_sample_rate(SELDOM)
        self._sums = False

    def later(self, is_alone: bool) -> Later:
        """Of one that isn't timed, what the newest has, unless it may be another model's."""
        timed = self._timed
        if self._is_timed and timed is not None:
            return lambda: self._of(timed)
        return (lambda: self._newest) if self._sums and is_alone else unknown

    def _of(self, timed: _Timed) -> Sums:
        if timed is self._timed:
            self._read_timers()
        return self._newest if timed.sums is None else timed.sums

    def _read_timers(self) -> None:
        """Reads those of the backward that was timed last, which the device has ended."""
        timed, self._timed = self._timed, None
        if timed is None or self._logger is None or self.stream is None:
            return
        self._reducer._set_ddp_runtime_logging_sample_rate(EACH)  # else nothing is read
        self._logger.set_runtime_stats_and_log()
        self._reducer._set_ddp_runtime_logging_sample_rate(SELDOM)
        timed.sums = self._read("", 1)
        if timed.sums != UNKNOWN:
            self._newest = timed.sums
        self.stream.free(timed.mark)


class GradientSums:
    """The wrapped models of this process, as long as the script holds them. What it does raises what PyTorch does where it keeps its timers
    otherwise."""

    def __init__(self) -> None:
        self.wrapped: List[_Model] = []
        self.backwards = 0  # how many are inside each other, as those of checkpoints are: the outermost is timed
        self._may_wait = leaves_pauses_out() is None  # else each is read, since those with a pause are unknown
        self._paused_ns = 0  # as it was when the sums were read
        self._stream: Optional[StreamClock] = None

    def add(self, model: Any) -> None:
        """A model has been wrapped."""
        self.wrapped.append(_Model(model) if model.device_type == "cpu" else _StreamModel(model, self._stream))

    def use(self, stream: StreamClock) -> None:
        """Sums on GPUs are timed by its events from now on."""
        self._stream = stream
        for each in self.wrapped:
            if isinstance(each, _StreamModel):
                each.stream = stream

    def models(self) -> List[Any]:
        """Those that are left."""
        return [model for model in (each.known() for each in self.wrapped) if model is not None]

    def begin(self) -> None:
        """A backward begins."""
        self.backwards += 1
        if self.backwards > 1:
            return
        for each in self.wrapped:
            model = each.known()
            if model is not None:
                each.begin(model)

    def waits(self) -> bool:
        """Whether the outermost backward has just begun, and ends once all ranks have come."""
        return self.backwards == 1 and any(each.waits for each in self.wrapped)

    def end(self, may_wait: bool) -> Sums:
        """What is known of the backward that has just ended. If it `may_wait`, nothing: noted() gives it, where there is but one model."""
        self.backwards = max(0, self.backwards - 1)
        if self.backwards:
            return UNKNOWN
        if self._may_wait and len(self.wrapped) == 1:
            return self.wrapped[0].end(may_wait)
        paused, self._paused_ns = paused_ns() != self._paused_ns, paused_ns()  # the timers go on meanwhile
        sums = _total([each.end(False) for each in self.wrapped])
        return UNKNOWN if paused else sums

    def fail(self) -> None:
        """A backward has raised."""
        self.backwards = max(0, self.backwards - 1)
        for each in () if self.backwards else self.wrapped:
            each.fail()

    def later(self) -> Later:
        """Gives what will be known of the backward that has just ended, once GPUs have ended it."""
        every = [] if self.backwards else [each.later(len(self.wrapped) == 1) for each in self.wrapped]
        return lambda: _total([later() for later in every])

    def noted(self) -> Sums:
        """What is known of those that might wait, all together."""
        sums = _total([each.noted() for each in self.wrapped])
        self.wrapped = [each for each in self.wrapped if each.known() is not None]
        return sums


def _total(every: Sequence[Sums]) -> Sums:
    return sum(exposed for exposed, _ in every), sum(comm for _, comm in every)

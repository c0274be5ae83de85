# SPDX-License-Identifier: MIT
"""How long gradients are summed, as the timers of DistributedDataParallel measure it."""
from __future__ import annotations

import importlib
import weakref
from typing import Any, List, Mapping, Sequence, Tuple

from lockstep.clock import leaves_pauses_out, paused_ns

Sums = Tuple[int, int]  # the nanoseconds that backwards waited for sums after the last gradient, and those that sums were under way
UNKNOWN: Sums = (0, 0)
EACH, SELDOM = 1, 100  # of how many iterations one is timed; the latter is PyTorch's default


class _Model:
    """A model that DistributedDataParallel has wrapped, as long as the script holds it."""

    def __init__(self, model: Any) -> None:
        self.known = weakref.ref(model, self._leave)
        self._is_timed = model.device_type == "cpu"  # on CUDA the timers are events, and to read them would wait for the device
        # A reader of the timers beside the model's own: that one has twice as much to say, and to copy it takes as long.
        self._logger: Any = None
        self._reducer: Any = None  # whose timers it reads
        self._began = self._forwards = 0  # when the newest sums that were read did, and how many forwards there were by then
        self._goes_on = False  # a backward that is timed
        self._noted = 0  # how many backwards are to be read together
        self._left: Sums = UNKNOWN  # what was noted when the script let go of it

    def _leave(self, _: Any) -> None:
        self._left = self._read_noted()
        self._logger = self._reducer = None  # they hold buffers as large as the gradients

    def begin(self, model: Any) -> None:
        """A backward begins, which is timed if gradients are summed in it."""
        self._goes_on = self._is_timed and model.require_backward_grad_sync
        if not self._goes_on:
            return
        if self._reducer is not model.reducer:
            self._reducer = model.reducer
            self._renew()
        self._reducer._set_ddp_runtime_logging_sample_rate(EACH)

    def end(self, may_wait: bool) -> Sums:
        """What is known of the backward that has ended. If it `may_wait`, it is only noted."""
        if not self._goes_on:
            return UNKNOWN
        self._goes_on = False
        if may_wait and not self._noted:
            self._renew()
        self._logger.set_runtime_stats_and_log()
        self._reducer._set_ddp_runtime_logging_sample_rate(SELDOM)  # else the model would read all of them at its next forward, too
        if may_wait:
            self._noted += 1
            return UNKNOWN
        return self._read("", 1)

    def noted(self) -> Sums:
        """What is known of all backwards that were noted, together."""
        left, self._left = self._left, UNKNOWN
        return self._read_noted() if self._noted else left

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
        if self._began == before or (count > 1 and self._forwards - forwards_before != count):
            return UNKNOWN  # it was another model's
        way = int(known.get(kind + "backward_comm_time") or 0)
        return count * max(0, way - int(known.get(kind + "backward_compute_comm_overlap_time") or 0)), count * way


class GradientSums:
    """The wrapped models of this process, as long as the script holds them. What it does raises what PyTorch does where it keeps its timers
    otherwise."""

    def __init__(self) -> None:
        self.wrapped: List[_Model] = []
        self.backwards = 0  # how many are inside each other, as those of checkpoints are: the outermost is timed
        self._may_wait = leaves_pauses_out() is None  # else each is read, since those with a pause are unknown
        self._paused_ns = 0  # as it was when the sums were read

    def add(self, model: Any) -> None:
        """A model has been wrapped."""
        self.wrapped.append(_Model(model))

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

    def noted(self) -> Sums:
        """What is known of those that might wait, all together."""
        sums = _total([each.noted() for each in self.wrapped])
        self.wrapped = [each for each in self.wrapped if each.known() is not None]
        return sums


def _total(every: Sequence[Sums]) -> Sums:
    return sum(exposed for exposed, _ in every), sum(comm for _, comm in every)

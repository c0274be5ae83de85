# SPDX-License-Identifier: MIT
"""How long gradients are summed, as the timers of DistributedDataParallel measure it."""
from __future__ import annotations

import importlib
import weakref
from typing import Any, List, Mapping, Tuple

from lockstep.clock import paused_ns


class _Model:
    """A model that DistributedDataParallel has wrapped, as long as the script holds it."""

    def __init__(self, model: Any, is_timed: bool) -> None:
        self.known = weakref.ref(model, self._leave)
        self.is_timed = is_timed
        self.began = 0  # when its last sums that are counted did
        # A reader of the timers beside the model's own: that one has twice as much to say, and to copy it takes as long.
        self._logger: Any = None
        self._reducer: Any = None  # whose timers it reads

    def _leave(self, _: Any) -> None:
        self._logger = self._reducer = None  # they hold buffers as large as the gradients

    def times(self, model: Any) -> Mapping[str, int]:
        """What the timers say of the newest backward, nanoseconds by name."""
        if self._reducer is not model.reducer:
            self._reducer = model.reducer
            self._logger = importlib.import_module("torch.distributed").Logger(self._reducer)
        self._logger.set_runtime_stats_and_log()
        known: Mapping[str, int] = self._logger._get_ddp_logging_data().ints_map
        return known


class GradientSums:
    """The wrapped models of this process, as long as the script holds them."""

    def __init__(self) -> None:
        self._models: List[_Model] = []
        self._paused_ns = 0  # as it was when the sums were read

    def add(self, model: Any) -> None:
        """A model has been wrapped. On CUDA its timers are events, and to read them would wait for the device: there they are left alone."""
        is_timed = model.device_type == "cpu"
        if is_timed:
            model._set_ddp_runtime_logging_sample_rate(1)
        self._models.append(_Model(model, is_timed))

    def models(self) -> List[Any]:
        """Those that are left."""
        return [model for model in (each.known() for each in self._models) if model is not None]

    def read(self) -> Tuple[int, int]:
        """Of the backward that has just ended: the nanoseconds that it waited for sums after the last gradient, and those that sums were
        under way; 0: unknown. Raises what PyTorch does where it keeps its timers otherwise."""
        exposed = comm = 0
        if not self._models:
            return exposed, comm
        paused, self._paused_ns = paused_ns() != self._paused_ns, paused_ns()  # the timers go on meanwhile
        for each in self._models:
            model = each.known()
            if model is None:
                self._models = [every for every in self._models if every.known() is not None]
                continue
            if not each.is_timed or not model.require_backward_grad_sync:
                continue
            times = each.times(model)
            began = int(times.get("backward_comm_time_start") or 0)
            if began == each.began:
                continue  # this backward was another model's
            each.began = began
            if paused:
                continue
            way = int(times.get("backward_comm_time") or 0)
            comm += way
            exposed += max(0, way - int(times.get("backward_compute_comm_overlap_time") or 0))
        return exposed, comm

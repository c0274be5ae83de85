# SPDX-License-Identifier: MIT
"""The steps of an epoch: those not reported yet, and the sums over the epoch."""
from __future__ import annotations

import math
from typing import Any, Dict, List, Mapping, Optional, Tuple

from lockstep.clock import clock_ns, paused_ns
from lockstep.phases import PhaseSums, add_times
from lockstep.tensors import copied

WINDOW_NS = 10**8  # steps are reported in groups, ten times a second
NO_TIMES: Mapping[str, int] = {}


class Window:
    """The steps that one frame reports."""

    def __init__(self) -> None:
        self.count = 0
        self.samples = 0
        self.phases: PhaseSums = {}
        self._losses = 0  # how many are known
        self._sum = self._weighted_sum = 0.0
        self._weights = 0  # samples of the steps whose loss is known
        self._lowest = self._highest = self._last = 0.0

    def add(self, loss: Optional[float], samples: int) -> None:
        """Adds a step; the loss is the mean over its samples, or unknown."""
        self.count += 1
        self.samples += samples
        if loss is None:
            return
        self._lowest = min(self._lowest, loss) if self._losses else loss
        self._highest = max(self._highest, loss) if self._losses else loss
        self._last = loss
        self._losses += 1
        self._sum += loss
        self._weighted_sum += loss * samples
        self._weights += samples

    def forget_samples(self) -> None:
        """How many samples the steps have is unknown (0)."""
        self.samples = self._weights = 0
        self._weighted_sum = 0.0

    def loss(self) -> Optional[Dict[str, float]]:
        """Lowest, mean, highest and last loss. If the mean is NaN, so are the lowest and the highest.

        The mean is over the samples, or over the steps if there are no samples. None: every loss is unknown.
        """
        if not self._losses:
            return None
        mean = self._weighted_sum / self._weights if self._weights else self._sum / self._losses
        known = not math.isnan(mean)
        return {"min": self._lowest if known else mean, "mean": mean, "max": self._highest if known else mean,
                "last": self._last}


class EpochLog:
    """The steps of one epoch."""

    def __init__(self, epoch: int, first_step: int, start_ns: int) -> None:
        self.epoch = epoch
        self.first_step = first_step  # counted from 0 over the whole run
        self.start_ns = start_ns  # of clock_ns
        self._paused_ns = paused_ns()
        self.steps = 0
        self.samples = 0
        self.phases: PhaseSums = {}
        self.window = Window()
        self._counts_samples = True
        self._losses = 0  # how many are known
        self._sum = 0.0
        # Loss, samples and times as given: reading a loss may wait for a GPU, and adding up many steps at once is faster.
        self._unread: List[Tuple[Any, Any, Mapping[str, int]]] = []
        self._read_ns = 0  # so that the first step is reported at once
        self.newly_read: List[int] = []  # the samples of each step that was read last
        self.not_finite: Optional[Tuple[int, float]] = None  # the first step whose loss is NaN or infinite, and that loss

    def add(self, loss: Any, samples: Any, times: Mapping[str, int] = NO_TIMES) -> None:
        """Adds a step. Its loss (None: unknown) is copied, and read later. `times`: nanoseconds by phase, if they are to be added to the
        sums then; they are kept as they are."""
        self._unread.append((copied(loss), samples, times))
        self.steps += 1

    def add_time(self, phase: str, duration_ns: int) -> None:
        """Adds time that is no step's to the sums."""
        entry = self.phases.setdefault(phase, {"sum_s": 0, "max_s": 0})
        entry["sum_s"] += duration_ns / 1e9

    def forget_samples(self) -> None:
        """How many samples the steps of this epoch have is unknown (0): some have batches of their own, and some use one again."""
        self.samples, self._counts_samples = 0, False
        self.window.forget_samples()

    def due(self) -> bool:
        """Whether it is time to report."""
        return clock_ns() - self._read_ns > WINDOW_NS

    def read(self) -> None:
        """Reads the losses of the added steps, and adds their times. Raises what their conversion to numbers raises."""
        self._read_ns = clock_ns()
        unread, self._unread = self._unread, []
        self.newly_read = []
        for step, (given, samples, _) in enumerate(unread, self.first_step + self.steps - len(unread)):
            count = int(samples)
            if count < 0:
                raise ValueError(f"step() was given {count} samples; a step has 0 or more")
            loss = None if given is None else float(given)
            if loss is not None and self.not_finite is None and not math.isfinite(loss):
                self.not_finite = step, loss
            if loss is not None:
                self._losses += 1
                self._sum += loss
            count = count if self._counts_samples else 0
            self.window.add(loss, count)
            self.samples += count
            self.newly_read.append(count)
        add_times((times for _, _, times in unread), self.phases, self.window.phases)

    def report(self) -> Dict[str, Any]:
        """The body of a frame about the steps since the last report. Begins a new window.

        Without a step it is about what came after the last one: metrics of a validation.
        """
        window, self.window = self.window, Window()
        last = max(0, self.first_step + self.steps - 1)
        return {"epoch": self.epoch, "first_step": last - max(0, window.count - 1), "last_step": last, "count": window.count,
                "samples": window.samples, "phases": window.phases, "loss": window.loss()}

    def summary(self, end_ns: int) -> Dict[str, Any]:
        """The body of the frame that ends the epoch. Its loss is told where no samples weigh those of the windows."""
        loss = self._sum / self._losses if self._losses and not self.samples else None
        return {"loss": loss, "epoch": self.epoch, "start_mono_ns": self.start_ns + self._paused_ns, "duration_s": (end_ns - self.start_ns) / 1e9,
                "steps": self.steps, "samples": self.samples, "phases": self.phases}

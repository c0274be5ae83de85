# SPDX-License-Identifier: MIT
"""Divides the time of a step into phases."""
from __future__ import annotations

from time import monotonic_ns
from typing import Dict

# By phase: seconds of all steps ("sum_s"), and of the longest step ("max_s").
PhaseSums = Dict[str, Dict[str, float]]


class PhaseClock:
    """Assigns all time to phases: each lap assigns the time since the previous lap to one phase.

    `times` holds the nanoseconds of the current step by phase. Phases that lie inside others, such as `comm`, may be
    added to it.
    """

    def __init__(self) -> None:
        self.times: Dict[str, int] = {}
        self.last_ns = monotonic_ns()

    def restart(self) -> None:
        """Drops the current step and begins a new one now."""
        self.times = {}
        self.last_ns = monotonic_ns()

    def lap(self, phase: str) -> None:
        """Assigns the time since the last lap to this phase."""
        now = monotonic_ns()
        self.times[phase] = self.times.get(phase, 0) + now - self.last_ns
        self.last_ns = now

    def end_step(self, *sums: PhaseSums) -> None:
        """Adds the current step's times to these sums, and begins a new step."""
        for known in sums:
            for phase, duration_ns in self.times.items():
                seconds = duration_ns / 1e9
                entry = known.get(phase, {"sum_s": 0, "max_s": 0})
                known[phase] = {"sum_s": entry["sum_s"] + seconds, "max_s": max(entry["max_s"], seconds)}
        self.times = {}

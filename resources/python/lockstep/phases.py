# SPDX-License-Identifier: MIT
"""How the time of a step divides into phases."""
from __future__ import annotations

from time import monotonic_ns
from typing import Dict

# By phase: seconds over all steps ("sum_s"), and of the longest single step ("max_s").
PhaseSums = Dict[str, Dict[str, float]]


class PhaseClock:
    """Gives all time to phases: each lap takes what passed since the lap before.

    `times` holds the nanoseconds of the present step by phase. Phases such as `comm`, which lie inside others, may be added
    to it.
    """

    def __init__(self) -> None:
        self.times: Dict[str, int] = {}
        self.last_ns = monotonic_ns()

    def restart(self) -> None:
        """Forgets the present step and begins a new one now."""
        self.times = {}
        self.last_ns = monotonic_ns()

    def lap(self, phase: str) -> None:
        """Gives the time since the last lap to this phase."""
        now = monotonic_ns()
        self.times[phase] = self.times.get(phase, 0) + now - self.last_ns
        self.last_ns = now

    def end_step(self, *sums: PhaseSums) -> None:
        """Adds the present step's times to these sums, and begins a new step."""
        for known in sums:
            for phase, duration_ns in self.times.items():
                seconds = duration_ns / 1e9
                entry = known.get(phase, {"sum_s": 0, "max_s": 0})
                known[phase] = {"sum_s": entry["sum_s"] + seconds, "max_s": max(entry["max_s"], seconds)}
        self.times = {}

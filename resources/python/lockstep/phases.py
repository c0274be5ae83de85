# SPDX-License-Identifier: MIT
"""Divides the time of a step into phases."""
from __future__ import annotations

import json
from typing import Dict, Iterable, List, Mapping, Optional, Set, Tuple

from lockstep.clock import clock_ns

# By phase: seconds of all steps ("sum_s"), and of the longest step ("max_s").
PhaseSums = Dict[str, Dict[str, float]]
# The phases that add up to a step, as ipc/phases.h has them.
ADDITIVE = frozenset(("load", "h2d", "forward", "backward", "exposed", "optimizer", "other"))
NAMES_BYTES = 52 * 1024  # that phases of a script's own may take of a frame, which has 64 KiB
MOST_PHASES = 256  # of a run, as ipc/frames.h has it
ENTRY_BYTES = 80  # of one besides its name: two numbers of up to 24 characters, and their keys
LONGEST_NS = 10**18  # 31 years, as ipc/sound_values.h has it


class PhaseClock:
    """Assigns all time to phases: each lap assigns the time since the previous lap to one phase.

    A phase that Lockstep does not know counts as `other`, and its time is kept under its own name, too.

    `times` holds the nanoseconds of the current step by phase. Phases that lie inside others, such as `comm`, may be
    added to it.
    """

    def __init__(self) -> None:
        self.times: Dict[str, int] = {}
        self.left_out: Optional[str] = None  # the first phase that the run had no room for
        self._named: Set[str] = set()  # the others
        self._room = NAMES_BYTES
        self.refused: Dict[str, str] = {}  # by phase: the first time that was no duration, as text
        self.last_ns = clock_ns()

    def restart(self) -> None:
        """Drops the current step and begins a new one now."""
        self.times = {}
        self.last_ns = clock_ns()

    def lap(self, phase: str) -> None:
        """Assigns the time since the last lap to this phase."""
        now = clock_ns()
        for name in (phase,) if phase in ADDITIVE else (phase, "other"):
            self.times[name] = self.times.get(name, 0) + now - self.last_ns
        self.last_ns = now

    def end_step(self, *sums: PhaseSums) -> None:
        """Adds the current step's times to these sums, and begins a new step.

        A time that is no duration (NaN, infinite, negative) is left out, and noted in `refused`. So is a phase that the run has no room
        for, which is noted in `left_out`; its time is in `other`.
        """
        for phase, duration_ns in self.times.items():
            if phase not in self._named and not self._has_room(phase):
                continue
            if not add_time(phase, duration_ns, *sums):
                self.refused.setdefault(phase, str(duration_ns))
        self.times = {}

    def _has_room(self, phase: str) -> bool:
        """Takes in a phase that is new. False: there would be too many, or frames too long."""
        size = len(json.dumps(phase)) + ENTRY_BYTES
        if phase not in ADDITIVE:
            if size > self._room or len(self._named - ADDITIVE) >= MOST_PHASES - len(ADDITIVE):
                self.left_out = self.left_out or phase
                return False
            self._room -= size
        self._named.add(phase)
        return True


def add_time(phase: str, duration_ns: int, *sums: PhaseSums) -> bool:
    """Adds a step's time in a phase to these sums. False: it is no duration, and left out."""
    if not 0 <= duration_ns <= LONGEST_NS:  # false for NaN
        return False
    _add(phase, duration_ns, duration_ns, sums)
    return True


def add_times(steps: Iterable[Mapping[str, int]], *sums: PhaseSums) -> None:
    """The same for many steps, each with its nanoseconds by phase. What is no duration is left out."""
    totals: Dict[str, List[int]] = {}  # their sum, and the longest
    for times in steps:
        for phase, duration_ns in times.items():
            if not 0 <= duration_ns <= LONGEST_NS:
                continue
            total = totals.get(phase)
            if total is None:
                totals[phase] = [duration_ns, duration_ns]
                continue
            total[0] += duration_ns
            if duration_ns > total[1]:
                total[1] = duration_ns
    for phase, (sum_ns, longest_ns) in totals.items():
        _add(phase, sum_ns, longest_ns, sums)


def _add(phase: str, sum_ns: int, longest_ns: int, sums: Tuple[PhaseSums, ...]) -> None:
    for known in sums:
        entry = known.setdefault(phase, {"sum_s": 0.0, "max_s": 0.0})
        entry["sum_s"] += sum_ns / 1e9
        entry["max_s"] = max(entry["max_s"], longest_ns / 1e9)

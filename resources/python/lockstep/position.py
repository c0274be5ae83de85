# SPDX-License-Identifier: MIT
"""Where a rank is in its training, for its heartbeats: Lockstep finds ranks that wait for others by it."""
from __future__ import annotations

from typing import Any, Dict

from lockstep.clock import clock_ns

LONGEST_NAME = 200  # characters of a phase's


class Position:
    """The training thread notes steps and phases; collectives may begin and end on any thread.

    All ranks enter the same collectives in the same order, so their numbers say who has come how far.
    """

    def __init__(self) -> None:
        self.step = 0
        self._wait_ns = clock_ns()
        self.phase = ("", self._wait_ns)  # its name, empty where it is not known, and when it began
        self._entered = self._ended = 0

    def begin(self, phase: str) -> None:
        """A phase begins now; empty: it is not known which."""
        self.phase = (phase, clock_ns())

    def enter_collective(self) -> None:
        """A collective begins."""
        if self._entered == self._ended:
            self._wait_ns = clock_ns()
        self._entered += 1

    def leave_collective(self) -> None:
        """A collective has ended."""
        self._ended += 1
        self._wait_ns = clock_ns()

    def leave_all(self) -> None:
        """Whatever collectives have begun have ended, or won't."""
        self._ended = self._entered

    def report(self) -> Dict[str, Any]:
        """The body of a heartbeat."""
        now = clock_ns()
        phase, since_ns = self.phase
        where: Dict[str, Any] = {"step": self.step, "since_s": (now - since_ns) / 1e9}
        if phase:
            where["phase"] = str(phase)[:LONGEST_NAME]
        if self._entered:
            where.update(collectives=self._entered, collectives_ended=self._ended)
        if self._entered > self._ended:
            where["wait_s"] = (now - self._wait_ns) / 1e9
        return {"at": where}

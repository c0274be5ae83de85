# SPDX-License-Identifier: MIT
"""What a follower of a script reports to."""
from __future__ import annotations

from typing import Optional

from lockstep.steps import EpochLog


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

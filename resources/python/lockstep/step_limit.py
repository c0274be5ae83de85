# SPDX-License-Identifier: MIT
"""Ends a script after so many steps: LOCKSTEP_MAX_STEPS, or as many as LOCKSTEP_MAX_SAMPLES take over all ranks."""
from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Callable, Optional

MOST_CAUGHT = 10  # times that a script may catch its end and go on
MAX_STEPS, MAX_SAMPLES = "LOCKSTEP_MAX_STEPS", "LOCKSTEP_MAX_SAMPLES"


class StepLimit:
    """How many steps a script may make. It ends by SystemExit where it would begin the next one, which is the same in every rank. Where the
    script catches that and goes on, as a bare `except:` does, the process is ended."""

    def __init__(self, agree: Callable[[int, int], int], finish: Callable[[], None]) -> None:
        """`agree`: what rank 0 gives after so many steps, in every rank. `finish`: reports what has not been, before the process is ended."""
        self._agree, self._finish = agree, finish
        self._last_step: Optional[int] = None  # None: not known yet
        self._told_at = 0  # the step at which the samples were told last
        self._samples = 0  # of the first step in each process; 0: unknown
        self._asked = 0  # how often, after the last step
        self.due = 1  # a check after less steps does nothing

    def check(self, steps: int, first_samples: int, world: int) -> None:
        """Ends the script if it has made as many steps as it may.

        `first_samples`: how many its first step had in this process, as far as is known (0: unknown), which is certain after the second one;
        `world`: processes that train together. Raises ValueError if a limit is not a number, and what `agree` raises.
        """
        if steps > self._told_at and self._told_at < 2:  # after the first step and after the second: at the same ones in every rank
            self._told_at = steps
            self._samples = self._agree(steps, first_samples) if world > 1 and os.environ.get(MAX_SAMPLES) else first_samples
            self._last_step = last_step(self._samples * world)
            self.due = min(self._last_step, 2) if steps < 2 else self._last_step
        if self._last_step is not None and steps >= self._last_step:
            self._end(steps, world)

    def _end(self, steps: int, world: int) -> None:
        self._asked += 1
        if self._asked == 1:
            print(f"lockstep: the script ends after {steps} {'step' if steps == 1 else 'steps'}, as it was asked to; its first step had "
                  f"{self._samples or 'an unknown number of'} samples in each of {world} processes that train together", file=sys.stderr)
        if self._asked > MOST_CAUGHT:
            self._finish()
            for stream in (sys.stdout, sys.stderr):
                with suppress(Exception):  # it may be closed
                    stream.flush()
            os._exit(0)
        sys.exit(0)


def last_step(samples: int) -> int:
    """How many steps a script may make whose first step has so many samples over all ranks (0: unknown)."""
    most = [int(os.environ[MAX_STEPS])] if os.environ.get(MAX_STEPS) else [sys.maxsize]
    if os.environ.get(MAX_SAMPLES) and samples:
        most.append(max(1, -(-int(os.environ[MAX_SAMPLES]) // samples)))
    return min(most)

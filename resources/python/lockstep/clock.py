# SPDX-License-Identifier: MIT
"""The clock that durations of training are measured by.

It is CLOCK_MONOTONIC, without the time in which this run was paused because another run had its turn. Runs that take turns are paused by
their agents, which count that time in a small file, before the run goes on.
"""
from __future__ import annotations

import os
from time import monotonic_ns
from typing import Optional

PAUSED = "LOCKSTEP_PAUSED"  # names the file: nanoseconds, an unsigned number of 8 bytes


def _opened(path: Optional[str]) -> "Optional[memoryview]":
    """The file's number; None: this run takes no turns."""
    if not path:
        return None
    import mmap  # seldom needed
    try:
        with open(path, "rb") as file:
            return memoryview(mmap.mmap(file.fileno(), 8, access=mmap.ACCESS_READ)).cast("Q")
    except (OSError, ValueError):
        return None


_paused = _opened(os.environ.get(PAUSED))


def paused_ns() -> int:
    """For how long this run has been paused so far."""
    return 0 if _paused is None else _paused[0]


def _unpaused_ns() -> int:
    while True:
        before = paused_ns()
        now = monotonic_ns()
        if paused_ns() == before:  # else it was paused between the two
            return now - before


def leaves_pauses_out() -> Optional[bool]:
    """What a rank says of its durations with its state `init`; None: nothing, since this run takes no turns."""
    return None if _paused is None else True


clock_ns = monotonic_ns if _paused is None else _unpaused_ns

# SPDX-License-Identifier: MIT
"""The clock that durations of training are measured by.

It is CLOCK_MONOTONIC, without the time in which this run was paused because another run had its turn. Runs that take turns are paused by
their agents, which count that time in a small file, before the run goes on.
"""
from __future__ import annotations

import os
from sys import byteorder
from time import monotonic_ns
from typing import Optional, Tuple

PAUSED = "LOCKSTEP_PAUSED"  # names the file: nanoseconds, an unsigned number of 8 bytes
_LENGTH = 8


class _PausedTime:
    """The file's number. Where it can't be read, the one before holds. It is never mapped: who has mapped a file dies when another
    process cuts it short."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._open()
        self._file = self._opened()
        self._bytes = os.pread(self._descriptor, _LENGTH, 0)
        if len(self._bytes) != _LENGTH:
            raise OSError(f"{path} has no number")

    def _open(self) -> None:
        self._descriptor = os.open(self._path, os.O_RDONLY)

    def _opened(self) -> "Tuple[int, int]":
        status = os.fstat(self._descriptor)
        return status.st_dev, status.st_ino

    def _read(self) -> bytes:
        try:
            now = os.pread(self._descriptor, _LENGTH, 0)
            if now == self._bytes or self._opened() == self._file:
                return now
        except OSError:
            pass
        try:  # the script has closed the descriptor, which may be another file's now
            self._open()
            return os.pread(self._descriptor, _LENGTH, 0)
        except OSError:
            return b""

    def known_ns(self) -> int:
        """As it was read last."""
        return int.from_bytes(self._bytes, byteorder)

    def ns(self) -> int:
        """As it is now."""
        now = self._read()
        if len(now) == _LENGTH:
            self._bytes = now
        return self.known_ns()

    def unpaused_ns(self) -> int:
        """The machine's clock without this run's pauses."""
        while True:
            before = self.known_ns()
            now = monotonic_ns()
            if self.ns() == before:  # else it was paused since then; the number only grows
                return now - before


def _paused_time(path: Optional[str]) -> Optional[_PausedTime]:
    """None: this run takes no turns."""
    try:
        return _PausedTime(path) if path else None
    except OSError:
        return None


_paused = _paused_time(os.environ.get(PAUSED))


def paused_ns() -> int:
    """For how long this run has been paused so far."""
    return 0 if _paused is None else _paused.ns()


def leaves_pauses_out() -> Optional[bool]:
    """What a rank says of its durations with its state `init`; None: nothing, since this run takes no turns."""
    return None if _paused is None else True


clock_ns = monotonic_ns if _paused is None else _paused.unpaused_ns

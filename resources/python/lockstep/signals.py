# SPDX-License-Identifier: MIT
"""Signals belong to the script: what its handlers raise reaches it, and none is delivered to a thread of this package."""
from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import Any, Iterator, Set


def _codes() -> Set[Any]:
    """The code of the handlers that are set just now."""
    codes = set()
    for number in signal.valid_signals():
        handler: Any = signal.getsignal(number)
        while hasattr(handler, "func"):  # functools.partial
            handler = handler.func
        if not hasattr(handler, "__code__"):  # a method, or an object that can be called
            handler = getattr(handler, "__func__", getattr(type(handler), "__call__", None))
        codes.add(getattr(handler, "__code__", None))
    return codes - {None}


def pass_on(error: BaseException) -> None:
    """Raises the error again if a handler of the script's raised it: Python runs a handler wherever the main thread is just then, which
    may be within a function of this package."""
    frames, codes = error.__traceback__, _codes()
    while frames is not None:
        if frames.tb_frame.f_code in codes:
            raise error
        frames = frames.tb_next


@contextmanager
def blocked() -> Iterator[None]:
    """A thread that is started in this block is never chosen to take a signal that another thread has blocked to wait for it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

# SPDX-License-Identifier: MIT
"""Signals belong to the script: what its handlers raise reaches it, and none is delivered to a thread of this package. So does an exception
that another of its threads raises in this one."""
from __future__ import annotations

import os
import signal
import sys
from contextlib import contextmanager
from typing import Any, Iterator, List, Set

# Whose exceptions this package's own work may raise.
OWN_KINDS = {"builtins", "torch", "lockstep", "json", "socket", "struct", "numpy", *getattr(sys, "stdlib_module_names", ())}
INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")  # within the folder of Python's own modules


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
    """Raises the error again if a handler of the script's raised it, or another thread did: Python runs a handler, and raises what another
    thread has set, wherever the thread is just then, which may be within a function of this package."""
    files, codes, frames = [], _codes(), error.__traceback__
    while frames is not None:
        if frames.tb_frame.f_code in codes:
            raise error
        files.append(frames.tb_frame.f_code.co_filename)
        frames = frames.tb_next
    if type(error).__module__.partition(".")[0] not in OWN_KINDS and files and not _is_scripts(files[-1]):
        raise error  # a kind that nothing here raises, and no object of the script's that was asked for something has


def _folders() -> List[str]:
    """Where the modules of this package, of Python and of PyTorch lie."""
    modules = [sys.modules[__name__], os, *(sys.modules[name] for name in ("torch",) if name in sys.modules)]
    return [os.path.dirname(os.path.abspath(str(module.__file__))) + os.sep for module in modules]


def _is_scripts(file: str) -> bool:
    """Whether a file of code is the script's, or a library's that it brings."""
    ours, pythons, *torchs = _folders()
    if file.startswith((ours, *torchs, "<frozen ")):
        return False
    return not file.startswith(pythons) or any(part in file for part in INSTALLED)


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

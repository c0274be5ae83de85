# SPDX-License-Identifier: MIT
"""The optimizers' steps that go on, inside each other. PyTorch tells of their begins, and of their ends unless they raise."""
from __future__ import annotations

from typing import List

MOST_INSIDE = 8  # steps of one optimizer inside a step of its own: with more, that one has raised


class OpenStep:
    """A step that goes on."""

    def __init__(self, optimizer: int, by_scaler: bool) -> None:
        self.of = (optimizer, by_scaler)
        self.had_backward = False  # while no other step was inside it
        self.inside = 0  # how many steps of the same optimizer have ended inside it


class OpenOptimizers:
    """An optimizer's step may be inside another one, a scaler's, or one of its own: PyTorch tells of each class's `step`, so twice where a
    class calls that of its base class, which is used by itself elsewhere."""

    def __init__(self) -> None:
        self._open: List[OpenStep] = []

    def __bool__(self) -> bool:
        return bool(self._open)

    def clear(self) -> None:
        """Those that go on have raised."""
        self._open.clear()

    def backward(self) -> None:
        """A backward begins."""
        if self._open:
            self._open[-1].had_backward = True

    def begin(self, optimizer: int, by_scaler: bool) -> bool:
        """A step begins. Gives whether it is inside no other one. An earlier one of the same optimizer has raised if a backward came since:
        an optimizer that calls backward in its own step does so in the innermost one."""
        of = (optimizer, by_scaler)
        first = next((number for number, each in enumerate(self._open) if each.of == of), None)
        if first is not None and (self._open[first].inside >= MOST_INSIDE or any(each.had_backward for each in self._open[first:])):
            del self._open[first:]
        self._open.append(OpenStep(optimizer, by_scaler))
        return len(self._open) == 1

    def end(self, optimizer: int, by_scaler: bool) -> bool:
        """A step is over, with all inside it; it may have begun before it was followed. Gives whether those that go on, if any, are its own:
        if one of these has raised, nothing tells of its end."""
        of = (optimizer, by_scaler)
        if any(each.of == of for each in self._open):
            while self._open.pop().of != of:
                pass
        own = all(each.of == of for each in self._open)
        for each in self._open if own else ():
            each.inside += 1
        return own

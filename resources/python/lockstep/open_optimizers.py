# SPDX-License-Identifier: MIT
"""The optimizers' steps that go on, inside each other. PyTorch tells of their begins, and of their ends unless they raise."""
from __future__ import annotations

from typing import List

MOST_INSIDE = 8  # steps of one optimizer inside a step of its own: with more, that one has raised


class OpenStep:
    """A step that goes on."""

    def __init__(self, optimizer: int, by_scaler: bool) -> None:
        self.of = (optimizer, by_scaler)
        self.has_worked = False  # a backward or a batch has come while no other step was inside it
        self.inside = 0  # how many steps of the same optimizer have ended inside it


class OpenOptimizers:
    """An optimizer's step may be inside another one, a scaler's, or one of its own: PyTorch tells of each class's `step`, so twice where a
    class calls that of its base class, which is used by itself elsewhere."""

    def __init__(self) -> None:
        self._open: List[OpenStep] = []
        self._after_backward = False  # one has come since the last step ended, and not inside one
        self._computes_loss = False  # the outermost step: no backward came before it
        self._had_backward = False  # the outermost step
        self.has_batch = False  # it was begun with one, which no backward has followed yet
        self.repeats = False  # it goes through a loader once more

    def __bool__(self) -> bool:
        return bool(self._open)

    def opened(self) -> None:
        """An iterator over a loader is made."""
        self.repeats = bool(self._open) and self._had_backward

    def fetched(self) -> None:
        """A batch has come. Steps that go on have raised, unless they compute the loss: these fetch batches of their own, or have raised
        where they begin anew."""
        if not self._computes_loss:
            self._close()
        elif self._open:
            self._open[-1].has_worked = True

    def backward(self) -> bool:
        """A backward begins. Gives whether it is of the batch that a step was begun with."""
        if not self._open:
            self._after_backward = True
            return False
        self._open[-1].has_worked = self._had_backward = True
        had_batch, self.has_batch = self.has_batch, False
        return had_batch

    def begin(self, optimizer: int, by_scaler: bool) -> bool:
        """A step begins. Gives whether it is inside no other one. An earlier one of the same optimizer has raised if a backward or a batch
        came since: an optimizer that computes the loss in its own step does so in the innermost one."""
        of = (optimizer, by_scaler)
        first = next((number for number, each in enumerate(self._open) if each.of == of), None)
        if first is not None and (self._open[first].inside >= MOST_INSIDE or any(each.has_worked for each in self._open[first:])):
            del self._open[first:]
        if not self._open:
            self._close()
            self._computes_loss = not self._after_backward
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
        if not self._open:
            self._close()
            self._after_backward = False
        return own

    def _close(self) -> None:
        """No step goes on."""
        self._open.clear()
        self._computes_loss = self._had_backward = self.has_batch = self.repeats = False

# SPDX-License-Identifier: MIT
"""Whether a backward is another pass of its batch, as LBFGS and SAM make them: at parameters that no optimizer's step has left as they are."""
from __future__ import annotations

import sys
import weakref
from typing import Any, Callable, List, Optional

from lockstep import signals

MOST_NODES = 64  # of a loss's graph that are looked at for a parameter


class Parameters:
    """Several losses of one batch go backward at the same parameters; passes of it at others. One parameter is asked for all: PyTorch counts
    how often a tensor was changed in place, but not through its `data`."""

    def __init__(self) -> None:
        self._one: Optional[Callable[[], Any]] = None  # a weak reference to it
        self._optimizer = 0  # that has it
        self._looked = False  # for one in a graph
        self.version: Optional[int] = None  # at the first backward; None: none yet, or its batch or step is over
        self._computes_loss = False  # the optimizer whose step goes on: no backward came before it

    def take(self, optimizer: Any) -> None:
        """This optimizer begins a step, and knows what is trained."""
        self._computes_loss = self.version is None
        if id(optimizer) == self._optimizer and self._one is not None and self._one() is not None:
            return
        try:
            trained = (each for group in optimizer.param_groups for each in group["params"] if each.requires_grad)
            self._put(next(trained, None))
            self._optimizer = id(optimizer)
        except Exception as error:  # it may keep them otherwise
            signals.pass_on(error)

    def fetched(self) -> None:
        """A batch has come: the next backward is the first one of it, unless an optimizer makes its passes over many."""
        if not self._computes_loss:
            self.version = None

    def stepped(self) -> None:
        """An optimizer's step has ended."""
        self.version, self._computes_loss = None, False

    def have_moved(self, loss: Any) -> bool:
        """A backward of this loss begins: whether they are others than at the first one."""
        try:
            if self._one is None and not self._looked:
                self._put(_found(loss))
            one = self._one() if self._one is not None else None
            if one is None:
                return False
            version: int = one._version
            if self.version is None:
                self.version = version
            return version != self.version
        except Exception as error:  # such as for parameters that PyTorch keeps no version of
            signals.pass_on(error)
            return False

    def _put(self, one: Any) -> None:
        self._one = weakref.ref(one) if one is not None else None
        self._looked, self.version = True, None


def _found(loss: Any) -> Any:
    """The parameter that is nearest to a loss; None: there is none near it."""
    nodes: List[Any] = [getattr(loss, "grad_fn", None)]
    for node in nodes:  # which grows meanwhile
        variable = getattr(node, "variable", None)
        if isinstance(variable, sys.modules["torch"].nn.Parameter):
            return variable
        if len(nodes) < MOST_NODES:
            nodes += [following for following, _ in getattr(node, "next_functions", ()) if following is not None]
    return None

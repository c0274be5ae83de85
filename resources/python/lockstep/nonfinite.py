# SPDX-License-Identifier: MIT
"""A loss that is NaN or infinite: one alert that names the rank, the step and the first tensor that is not finite."""
from __future__ import annotations

import math
import sys
from typing import Any, Iterator, List, Optional, Set, Tuple

from lockstep import signals
from lockstep.script_facts import living
from lockstep.sender import Sender
from lockstep.steps import EpochLog

WRAPPERS = ("module.", "_orig_mod.")  # what DistributedDataParallel and torch.compile put before a parameter's name
STATISTICS = "running_"  # BatchNorm's buffers, in which a bad batch leaves its mark: no cause of a loss

Named = Tuple[str, Any, bool]  # a tensor with its name, and whether it is a buffer


class NonFiniteLoss:
    """Watches one rank's losses."""

    def __init__(self, sender: Sender) -> None:
        self._sender = sender
        self._cause: Optional[str] = None  # found before the backward of the first loss that was not finite
        self._told = False

    def look(self, loss: Any) -> None:
        """Call it before the backward of a loss, while the parameters are those it was computed with.

        Whatever is no number yet is passed over: to read a tensor on a GPU would wait for the device.
        """
        if self._cause is None and isinstance(loss, float) and not math.isfinite(loss):
            self._cause = _cause(before_backward=True)

    def tell(self, log: EpochLog) -> None:
        """Sends the alert if a loss that was read is not finite; the first time only."""
        if log.not_finite is None or self._told:
            return
        self._told = True
        step, loss = log.not_finite
        words = "NaN" if math.isnan(loss) else "infinite" if loss > 0 else "minus infinite"
        cause = _cause(before_backward=False) if self._cause is None else self._cause
        self._sender.send("alert", {"severity": "warning", "kind": "non_finite_loss", "step": step,
                                    "message": f"the loss of rank {self._sender.rank} is {words} since step {step}{cause}"})


def _cause(before_backward: bool) -> str:
    """What a sentence about the loss ends with; nothing where the models can't be looked through, such as one that is being made."""
    try:
        return _found(before_backward)
    except Exception as error:
        signals.pass_on(error)
        return ""


def _found(before_backward: bool) -> str:
    """The first tensor that is not finite. Parameters and buffers come in the order of their layers, then gradients in the opposite
    order, unless they are those of the step before."""
    torch = sys.modules.get("torch")
    if torch is None:
        return ""
    modules = living(torch.nn.Module)
    named = list(_named_tensors(modules))
    whole = not any(_is_sharded(module) for module in modules)  # else an optimizer may have parts of what was left out
    if whole:
        named += _named_by_optimizers({id(tensor) for _, tensor, _ in named})
    for name, tensor, is_buffer in named:
        if _is_spoiled(tensor, is_buffer):
            return f" (the first tensor that is not finite: {name})"
    for name, tensor, _ in [] if before_backward else reversed(named):
        if _is_spoiled(tensor.grad):
            return f" (the first tensor that is not finite: the gradient of {name})"
    if not named or not whole or any(_is_part(tensor) for _, tensor, _ in named):
        return ""  # unknown: other ranks have the rest
    return " (all parameters are finite: the batch, the forward or the loss function causes it)"


def _named_tensors(modules: List[Any]) -> Iterator[Named]:
    """Parameters and buffers of all models of this process, without statistics."""
    models = _models(modules)
    for model in models:
        before = f"{type(model).__name__}." if len(models) > 1 else ""
        for name, tensor, is_buffer in [*((*named, False) for named in model.named_parameters()),
                                        *((*named, True) for named in model.named_buffers())]:
            for wrapper in WRAPPERS:
                name = name[len(wrapper):] if name.startswith(wrapper) else name
            if not name.rpartition(".")[2].startswith(STATISTICS):
                yield before + name, tensor, is_buffer


def _named_by_optimizers(known: Set[int]) -> Iterator[Named]:
    """What is trained besides what is known: parameters that are in no model."""
    for optimizer in living(sys.modules["torch"].optim.Optimizer):
        for number, group in enumerate(optimizer.param_groups):
            for place, tensor in enumerate(group["params"]):
                if id(tensor) not in known:
                    known.add(id(tensor))
                    yield f"{type(optimizer).__name__}.param_groups[{number}]['params'][{place}], which is in no module", tensor, False


def _is_sharded(module: Any) -> bool:
    """Whether FullyShardedDataParallel has sharded it: its parameters come and go."""
    return isinstance(module, getattr(sys.modules.get("torch.distributed.fsdp"), "FullyShardedDataParallel", ()))


def _models(modules: List[Any]) -> List[Any]:
    """The modules that are part of no other, without those that have sharded parts."""
    inner = {id(child) for module in modules for child in module.children()}
    return [module for module in modules if id(module) not in inner and not any(_is_sharded(part) for part in module.modules())]


def _is_part(tensor: Any) -> bool:
    """Whether other ranks have the rest of it."""
    return hasattr(tensor, "_local_tensor")


def _is_spoiled(tensor: Any, is_buffer: bool = False) -> bool:
    """Whether a number that this rank has of it is not finite; in a buffer, whether one is NaN: masks are infinite on purpose. No tensor,
    and one of a kind that can't be asked, is not spoiled."""
    torch = sys.modules["torch"]
    try:
        with torch.no_grad():
            own = tensor._local_tensor if _is_part(tensor) else tensor
            if own is None or not own.is_floating_point():
                return False
            return bool(torch.isnan(own).any() if is_buffer else not torch.isfinite(own).all())
    except Exception as error:
        signals.pass_on(error)
        return False

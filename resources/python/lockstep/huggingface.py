# SPDX-License-Identifier: MIT
"""Training by Hugging Face's Trainer in Lockstep:

    trainer = transformers.Trainer(…, callbacks=[lockstep.huggingface.Callback()])

Steps, phases, losses and epochs are followed as `lockstep.auto` follows any script. The callback adds what only the Trainer knows: the model's
name, the number of epochs, what it logs, and how to end when the run is stopped. Without LOCKSTEP_FRAMES it does nothing.
"""
from __future__ import annotations

import importlib
import math
from typing import Any, Dict, Optional

from lockstep import auto
from lockstep.watch import Watch

_Base: Any = importlib.import_module("transformers").TrainerCallback
# Sums that the Trainer makes of the whole training, and its epoch as a fraction: no values of a step.
_NO_METRICS = ("epoch", "train_runtime", "train_samples_per_second", "train_steps_per_second", "total_flos", "train_loss")


def _epochs_to_come(args: Any, state: Any) -> Optional[int]:
    """How many epochs begin now, without those that the checkpoint that training goes on from has; None: unknown."""
    to_come = math.ceil(args.num_train_epochs) - math.floor(state.epoch or 0)
    return to_come if args.max_steps <= 0 and to_come > 0 else None


class Callback(_Base):  # type: ignore[misc]  # transformers has its classes at run time only
    """Reports a Trainer's train() to Lockstep. One for each Trainer."""

    def __init__(self) -> None:
        self._watch: Optional[Watch] = None

    def on_train_begin(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
        """Before the first step."""
        self._watch = auto.join(model=type(getattr(model, "module", model)).__name__ if model is not None else None,
                                epochs=_epochs_to_come(args, state))

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Ends the training when the run is stopped."""
        if self._watch is not None and self._watch.ends_here():
            control.should_training_stop = True

    def on_log(self, args: Any, state: Any, control: Any, logs: Optional[Dict[str, Any]] = None, **_: Any) -> None:
        """Loss, learning rate and norm of the gradients of the last steps; what an evaluation found."""
        if self._watch is not None:
            for name, value in (logs or {}).items():
                if name not in _NO_METRICS:
                    self._watch.metric(name, value)

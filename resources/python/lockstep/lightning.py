# SPDX-License-Identifier: MIT
"""Lightning's training in Lockstep:

    trainer = lightning.Trainer(callbacks=[lockstep.lightning.Callback()])

Steps, phases, losses and epochs are followed as `lockstep.auto` follows any script. The callback adds what only Lightning knows: the model's
name, the number of epochs, what the module logs, and how to end when the run is stopped. Without LOCKSTEP_FRAMES it does nothing.
"""
from __future__ import annotations

import importlib
import sys
from typing import Any, Dict, Optional, Set

from lockstep import auto
from lockstep.watch import Watch


def _library() -> Any:
    """Lightning under either of its names; the one that the script has imported comes first."""
    names = ("lightning.pytorch", "pytorch_lightning")
    for name in sorted(names, key=lambda name: name not in sys.modules):
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    raise ImportError("lockstep.lightning needs Lightning: pip install lightning")


_Base: Any = _library().Callback


class Callback(_Base):  # type: ignore[misc]  # Lightning has its classes at run time only
    """Reports a Trainer's fit() to Lockstep. One for each Trainer."""

    def __init__(self) -> None:
        super().__init__()
        self._watch: Optional[Watch] = None
        self._of_training: Set[str] = set()  # metrics; Lightning keeps those of a validation among them until the next one
        self._of_validation: Set[str] = set()

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Before the strategy wraps the model."""
        if stage == "fit":
            self._watch = auto.join(model=type(pl_module).__name__)

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Before the first step: how many epochs come, without those that the checkpoint that training goes on from has."""
        to_come = (trainer.max_epochs or 0) - trainer.current_epoch  # max_epochs is -1 where there is no limit
        if to_come > 0:
            auto.join(epochs=to_come)

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """What the module has logged in this step, as often as Lightning itself logs."""
        if self._watch is None:
            return
        if (batch_idx + 1) % trainer.log_every_n_steps == 0:
            self._report(self._watch, trainer.logged_metrics, self._of_training, self._of_validation)
        if self._watch.ends_here():
            trainer.should_stop = True

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """What a validation has found. The check before training has no step to belong to."""
        if self._watch is not None and not trainer.sanity_checking:
            self._report(self._watch, trainer.callback_metrics, self._of_validation, self._of_training)

    @staticmethod
    def _report(watch: Watch, metrics: Dict[str, Any], own: Set[str], others: Set[str]) -> None:
        for name, value in metrics.items():
            if name not in others:
                own.add(name)
                watch.metric(name, value)

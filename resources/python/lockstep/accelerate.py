# SPDX-License-Identifier: MIT
"""Training with Hugging Face's Accelerate in Lockstep:

    accelerator = accelerate.Accelerator(log_with=lockstep.accelerate.Tracker())
    accelerator.init_trackers("my project", config={"epochs": 3})
    accelerator.log({"accuracy": 0.9})

Steps, phases, losses and epochs are followed as `lockstep.auto` follows any script; what the script logs are metrics, and of its configuration
Lockstep takes the settings that it knows. Without LOCKSTEP_FRAMES it does nothing.
"""
from __future__ import annotations

import importlib
from typing import Any, Dict, Optional

from lockstep import auto
from lockstep.watch import Watch

# Of a script's configuration; it may hold anything else, a password too.
_KNOWN = ("method", "model", "epochs", "lr", "momentum", "weight_decay", "optimizer", "seed", "workers", "dropout", "dataset", "precision")

_Base: Any = importlib.import_module("accelerate.tracking").GeneralTracker


class Tracker(_Base):  # type: ignore[misc]  # accelerate has its classes at run time only
    """Reports this process to Lockstep: in every process, since each is a rank."""

    name = "lockstep"
    requires_logging_directory = False
    main_process_only = False

    def __init__(self) -> None:
        super().__init__()
        self._watch: Optional[Watch] = auto.join()

    @property
    def tracker(self) -> Optional[Watch]:
        """What follows this process."""
        return self._watch

    def store_init_configuration(self, values: Dict[str, Any]) -> None:
        """Of the script's configuration what Lockstep knows, but for the batch: what scripts call so is a process's, and the run's is
        seen."""
        auto.join(**{key: values[key] for key in _KNOWN if key in values})

    def log(self, values: Dict[str, Any], step: Optional[int] = None, **_: Any) -> None:
        """Metrics of the script's own; text is no metric."""
        if self._watch is not None:
            for name, value in values.items():
                if not isinstance(value, str):
                    self._watch.metric(name, value)

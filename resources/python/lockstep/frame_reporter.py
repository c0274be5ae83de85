# SPDX-License-Identifier: MIT
"""Sends as frames what a follower reports of a script."""
from __future__ import annotations

from typing import Any, Dict, Mapping, Optional

from lockstep.metrics import MetricLog
from lockstep.nonfinite import NonFiniteLoss
from lockstep.reporter import Reporter
from lockstep.sender import Sender
from lockstep.step_sizes import StepSizes
from lockstep.steps import EpochLog


class FrameReporter(Reporter):
    """Sends what a Follower reports, and the metrics that came meanwhile."""

    def __init__(self, sender: Sender) -> None:
        self._sender = sender
        self.metrics = MetricLog()
        self.losses = NonFiniteLoss(sender)
        self.step_sizes: Optional[StepSizes] = None  # None: nobody asks for them
        self.counts_samples = True  # False: how many the steps have is unknown
        self._log: Optional[EpochLog] = None  # of the newest step
        self._training: Dict[str, Any] = {"state": "training"}  # what was said when the newest epoch began

    def begin_epoch(self, epoch: int, steps: Optional[int]) -> None:
        """The state frame of an epoch."""
        self._training = {"state": "training", "epoch": epoch, "steps_per_epoch": steps}
        self._sender.send("state", self._training)

    def begin_evaluation(self, epoch: int) -> None:
        """The state frame of an evaluation."""
        self._sender.send("state", {"state": "evaluating", "epoch": epoch})

    def end_evaluation(self, epoch: int) -> None:
        """The state frame of training that goes on."""
        self._sender.send("state", {"state": "training", "epoch": epoch})

    def steps(self, log: EpochLog, force: bool) -> None:
        """A frame of steps. Without `force` they wait until the last frame was sent."""
        if not self.counts_samples:
            log.forget_samples()
        log.read()
        self.losses.tell(log)
        if self.step_sizes is not None:
            self.step_sizes.take(log.newly_read, force)
        if self._sender.pending and not force:
            return
        self._log = log
        self._send(log)

    def describe(self, about: Mapping[str, Any]) -> None:
        """A state frame of what is known of the run by now."""
        self._sender.send("state", {**self._training, "about": about})

    def finish(self) -> None:
        """The script ends."""
        if self.step_sizes is not None:
            self.step_sizes.finish()
        self.rest()

    def rest(self) -> None:
        """A frame of the metrics that came after the last step."""
        if self._log is not None:
            self._send(self._log)

    def _send(self, log: EpochLog) -> None:
        scalars = self.metrics.take()
        if log.window.count or scalars:
            self._sender.send("steps", {**log.report(), "scalars": scalars})
        for sentence in self.metrics.refused:
            self._sender.send("alert", {"severity": "warning", "kind": "refused_metric", "message": sentence})
        self.metrics.refused.clear()

    def end_epoch(self, log: EpochLog, training_ns: int) -> None:
        """The frame that ends an epoch."""
        self._sender.send("epoch", log.summary(log.start_ns + training_ns))

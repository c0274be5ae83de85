# SPDX-License-Identifier: MIT
"""Sends as frames what a follower reports of a script."""
from __future__ import annotations

from typing import Optional

from lockstep.metrics import MetricLog
from lockstep.nonfinite import NonFiniteLoss
from lockstep.reporter import Reporter
from lockstep.sender import Sender
from lockstep.steps import EpochLog


class FrameReporter(Reporter):
    """Sends what a Follower reports, and the metrics that came meanwhile."""

    def __init__(self, sender: Sender) -> None:
        self._sender = sender
        self.metrics = MetricLog()
        self.losses = NonFiniteLoss(sender)
        self._log: Optional[EpochLog] = None  # of the newest step

    def begin_epoch(self, epoch: int, steps: Optional[int]) -> None:
        """The state frame of an epoch."""
        self._sender.send("state", {"state": "training", "epoch": epoch, "steps_per_epoch": steps})

    def begin_evaluation(self, epoch: int) -> None:
        """The state frame of an evaluation."""
        self._sender.send("state", {"state": "evaluating", "epoch": epoch})

    def end_evaluation(self, epoch: int) -> None:
        """The state frame of training that goes on."""
        self._sender.send("state", {"state": "training", "epoch": epoch})

    def steps(self, log: EpochLog, force: bool) -> None:
        """A frame of steps. Without `force` they wait until the last frame was sent."""
        log.read()
        self.losses.tell(log)
        if self._sender.pending and not force:
            return
        self._log = log
        self._send(log)

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

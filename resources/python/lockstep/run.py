# SPDX-License-Identifier: MIT
"""Run: the class with which a training script reports to Lockstep."""
from __future__ import annotations

import contextlib
import os
import socket
import sys
from types import TracebackType
from typing import Any, Callable, Dict, Generator, Iterable, Iterator, List, Optional, Set, Type, TypeVar

from lockstep import script_files, signals, version
from lockstep.clock import leaves_pauses_out
from lockstep.frames import descriptive_values
from lockstep.metrics import MetricLog
from lockstep.nonfinite import NonFiniteLoss
from lockstep.phases import MOST_PHASES, NAMES_BYTES, PhaseClock, PhaseSums
from lockstep.position import LONGEST_NAME, Position
from lockstep.sender import FRAMES, TOKEN, Sender
from lockstep.steps import EpochLog

LONGEST_DETAIL = 500  # characters of an exception's text

reports = False  # whether a Run has been made: lockstep.auto then follows nothing

Batch = TypeVar("Batch")


def _no_sync() -> None:
    """Waits for nothing."""


class Run:
    """One rank of a training run, as Lockstep shows it.

    `about` describes the run: method, backend, model, workers, batch_size, epochs, lr and so on. What is left out or
    None is shown as unknown.

    On CUDA the host's clock sees when kernels are launched, not when they run. Their time counts in the phase that
    waits for them next: usually `other`, where the losses are read every 100 ms. `Run(sync=torch.cuda.synchronize)`
    waits at the end of each phase, which gives true times but forbids overlap.

    A lost connection, or a value that cannot be sent, never raises: one line on stderr says why the rank is no longer
    shown, and training goes on. Exceptions from the script's own code are not caught: from its loader, the body of a
    phase, `sync`.

    Use one Run per process, from one thread. In a `with` statement it closes itself, and an exception that leaves the block is
    reported as the run's failure; so is sys.exit() with a message, or a code other than 0, unless the run was stopped.
    """

    rest_of: Callable[[str], str]
    """The phase for the time at the end of a phase: normally the same one. `lockstep.ddp.watch` replaces this."""

    def __init__(self, sync: Callable[[], object] = _no_sync, **about: Any) -> None:
        global reports
        reports = True  # this process reports by itself
        if "lockstep.auto" in sys.modules:
            sys.modules["lockstep.auto"].leave()
        self.rest_of = str
        self.watched: List[Any] = []  # the models that lockstep.ddp.watch was given, as it times them
        self._stopped = False
        self._sync = sync
        self._clock = PhaseClock()
        self._metrics = MetricLog()
        self.position = Position()  # for heartbeats
        self._epoch: Optional[EpochLog] = None
        self._looped: Optional[EpochLog] = None  # that a loop goes through, or has left while something holds its iterator, such as tqdm
        self._stepped_ns = 0  # when its newest step ended, or else when it began
        self._steps = 0  # of all epochs
        self._shift = 0  # 1: the script counts its epochs from 0
        self._told_of_room = False  # that frames have none for more phases
        self._reported: Set[str] = set()  # phases of which a refused time was reported
        rank = _number("RANK", 0)
        self._sender = Sender(os.environ.get(FRAMES, ""), rank or 0, os.environ.get(TOKEN, ""))
        if rank is None:  # with another rank's number, the two would be shown as one rank
            self._sender.give_up(ValueError(f"RANK is {os.environ['RANK']!r}, which is not a number"))
        self._losses = NonFiniteLoss(self._sender)
        self._sender.connect()
        with self._harmless():
            self.send("state", state="init", pid=os.getpid(), host=socket.gethostname(), about=descriptive_values(about),
                      files=script_files.digests(), world_size=_number("WORLD_SIZE", 1), device=os.environ.get("LOCKSTEP_DEVICE"), cores=_cores(),
                      version=version.VERSION, leaves_pauses_out=leaves_pauses_out())
            if rank == 0:
                _compare_versions(os.environ.get("LOCKSTEP_VERSION", ""))
        self._sender.start_heartbeat(self.position.report)

    @property
    def on(self) -> bool:
        """Whether frames are sent. If not, nothing is measured."""
        return self._sender.on

    @property
    def stopped(self) -> bool:
        """Whether the run was asked to stop. The script should check it and then end; it may also set it."""
        return self._stopped or self._sender.stop_requested

    @stopped.setter
    def stopped(self, stopped: bool) -> None:
        self._stopped = stopped

    @property
    def rank(self) -> int:
        """This process's number in the run, from RANK."""
        return self._sender.rank

    @property
    def to(self) -> str:
        """The address for frames, from LOCKSTEP_FRAMES; empty: none. It stays the same when the connection is lost."""
        return self._sender.address

    @property
    def times(self) -> Dict[str, int]:
        """Nanoseconds of the current step by phase. Phases that lie inside others, such as `comm`, may be added."""
        return self._clock.times

    @times.setter
    def times(self, times: Dict[str, int]) -> None:
        self._clock.times = times

    def __enter__(self) -> Run:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        if kind is None or (isinstance(error, SystemExit) and (self.stopped or not is_failure(error.code))):
            self.close()
        else:
            self._looped = None
            self._report_rest()
            self._sender.send_last("state", {"state": "failed", "detail": f"{kind.__name__}: {error}"[:LONGEST_DETAIL]})

    def begin_epoch(self, epoch: int, steps: Optional[int] = None) -> None:
        """Begins an epoch of a loop that does not go through epoch(); `steps`: how many it will have. See epoch() for its number."""
        self._begin_epoch(self._counted(epoch), steps)

    def end_epoch(self) -> None:
        """Ends the epoch that begin_epoch() has begun."""
        if self._epoch:
            self._end_epoch(self._epoch)

    def epoch(self, epoch: int, loader: Iterable[Batch]) -> Generator[Batch, None, None]:
        """Yields the loader's batches. The time in the loader is the phase `load`.

        Epochs count from 1; a script that counts from 0 is shown as if it counted from 1. An epoch that the script leaves early
        ends with its last step, unless the run was asked to stop.
        """
        log = self._looped = self._begin_epoch(self._counted(epoch), _length(loader))
        self.position.begin("load")
        left = True
        try:
            for batch in loader:
                self.lap("load")
                yield batch
                self.lap("other")
                self.position.begin("load")
            left = False
            self.lap("load")
        finally:
            if self._looped is log:  # else it has ended already
                if left and sys.exc_info()[0] is GeneratorExit:
                    self._end_left_epoch()
                self._looped = None
                if not left:
                    self._end_epoch(log)

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Assigns the `with` block's time to a phase: h2d, forward, backward, optimizer. Time outside is `other`."""
        self.lap("other")
        self.position.begin(name)
        yield
        with self._harmless():
            name = self.rest_of(name)
        self.lap(name)

    def lap(self, name: str, *sums: PhaseSums) -> None:
        """Assigns the time since the last lap to a phase. With `sums` it ends a step, whose times are added to them."""
        if not self.on:
            return
        self._sync()
        self.position.begin("")
        with self._harmless():
            self._clock.lap(name)
            if sums:
                self._clock.end_step(*sums)

    def metric(self, **values: Any) -> None:
        """Values of metrics of your own: `run.metric(accuracy=0.9, lr=1e-3)`, numbers or tensors with one element.

        At most 32 names in a run. Within a step they belong to it; after an epoch, to that epoch.
        """
        if self.on:
            for name, value in values.items():
                with self._harmless():
                    self._metrics.add(name, value)

    def step(self, loss: Any, samples: int, **metrics: Any) -> None:
        """Call it after each batch. `loss` is the mean over the samples: a number, a tensor with one element, or None if it is
        unknown. `metrics`: see metric()."""
        if not self.on:
            return
        self._sync()
        self.metric(**metrics)
        with self._harmless():
            log = self._epoch
            if log is None:
                raise RuntimeError("step() was called before epoch(): loop over `run.epoch(number, loader)`")
            self._clock.lap("other")
            self._clock.end_step(log.phases, log.window.phases)
            self._stepped_ns = self._clock.last_ns
            self._report_refused()
            log.add(loss, samples)
            self._steps += 1
            self.position.step = self._steps
            if log.due():
                self._report_steps(log)

    def send(self, kind: str, **body: Any) -> None:
        """Sends a frame, e.g. `send("eval", epoch=1, accuracy=0.9, samples=10000)`. None values are left out."""
        if isinstance(body.get("epoch"), int):
            body["epoch"] += self._shift
        self._sender.send(kind, body)

    def close(self) -> int:
        """Call it at the end. Returns the script's exit code: 130 if the run was stopped, else 0."""
        self._end_left_epoch()
        self._report_rest()
        self._sender.send_last("state", {"state": "stopped" if self.stopped else "done"})
        return 130 if self.stopped else 0

    def _counted(self, epoch: int) -> int:
        """The number of an epoch, from 1."""
        if epoch == 0 and not self._epoch:
            self._shift = 1
        return epoch + self._shift

    def _begin_epoch(self, epoch: int, steps: Optional[int]) -> EpochLog:
        self._end_left_epoch()
        self._report_rest()
        self._sender.send("state", {"state": "training", "epoch": epoch, "steps_per_epoch": steps})
        self._clock.restart()
        self._stepped_ns = self._clock.last_ns
        log = self._epoch = EpochLog(epoch, self._steps, self._clock.last_ns)
        return log

    def _end_epoch(self, log: EpochLog) -> None:
        if not self.on:
            return
        with self._harmless():
            self._report_steps(log, force=True)
        self.lap("other", log.phases)
        self._sender.send("epoch", log.summary(self._clock.last_ns))

    def _end_left_epoch(self) -> None:
        """Ends the epoch whose loop the script has left, with its last step: what came after, such as a validation, is not in its time."""
        log, self._looped = self._looped, None
        if log is None or self.stopped or not self.on:
            return
        with self._harmless():
            self._report_steps(log, force=True)
            self._sender.send("epoch", log.summary(self._stepped_ns))

    def _report_refused(self) -> None:
        """Sends one alert for each phase of which a time was left out, and for each metric that was."""
        for sentence in self._metrics.refused:
            self._sender.send("alert", {"severity": "warning", "kind": "refused_metric", "step": self._steps,
                                        "message": f"rank {self.rank}: {sentence}"})
        self._metrics.refused.clear()
        if self._clock.left_out is not None and not self._told_of_room:
            self._told_of_room = True
            self._sender.send("alert", {
                "severity": "warning", "kind": "refused_phase", "step": self._steps,
                "message": f"rank {self.rank} names more phases than a run keeps ({MOST_PHASES}, or {NAMES_BYTES // 1024} KiB of names): "
                           f"from {self._clock.left_out[:LONGEST_NAME]!r} on, "
                           "the time of new ones is in other only; give phases of all steps the same names"})
        for phase in self._clock.refused.keys() - self._reported:
            self._reported.add(phase)
            self._sender.send("alert", {
                "severity": "warning", "kind": "refused_time", "step": self._steps,
                "message": f"rank {self.rank} gave the phase {phase[:LONGEST_NAME]} a time of {self._clock.refused[phase]} ns, "
                           "which is no duration; such times are left out"})

    def _report_rest(self) -> None:
        """Reports the last steps of an epoch that the script left early."""
        if self.on and self._epoch:
            with self._harmless():
                self._report_steps(self._epoch, force=True)

    def _report_steps(self, log: EpochLog, force: bool = False) -> None:
        """Reports steps. Without `force` they wait until the last frame was sent: the window grows, not the buffer."""
        log.read()
        self._losses.tell(log)
        if self._sender.pending and not force:
            return
        scalars = self._metrics.take()
        if log.window.count or scalars:
            self._sender.send("steps", {**log.report(), "scalars": scalars})
        self._report_refused()

    @contextlib.contextmanager
    def _harmless(self) -> Iterator[None]:
        """An exception in this block ends reporting, not training."""
        try:
            yield
        except Exception as error:
            signals.pass_on(error)
            self._sender.give_up(error)


def is_failure(code: object) -> bool:
    """Whether a process that ends by SystemExit with this code has failed."""
    return code is not None and not (isinstance(code, int) and code == 0)


def _number(variable: str, default: int) -> Optional[int]:
    """The number in an environment variable; the default if it is not set; None if it is not a number."""
    text = os.environ.get(variable, "")
    try:
        return int(text) if text else default
    except ValueError:
        return None


def _compare_versions(agents: str) -> None:
    """Says on stderr that the agent, which sets this text, has another version."""
    if agents and agents != version.VERSION:
        print(f"lockstep: this package has version {version.VERSION}, the agent {agents}; what one of them does not know is not shown",
              file=sys.stderr)


def _cores() -> Optional[str]:
    """The CPU cores that this process may use, "0,1"; None if the system does not say."""
    if not hasattr(os, "sched_getaffinity"):
        return None
    return ",".join(map(str, os.sched_getaffinity(0)))


def _length(loader: Any) -> Optional[int]:
    """The number of batches per epoch; None for a loader without a length."""
    try:
        return len(loader)
    except Exception as error:  # PyTorch's DataLoader has a length that raises, when its data set has none
        signals.pass_on(error)
        return None

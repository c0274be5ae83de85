# SPDX-License-Identifier: MIT
"""Follows an unchanged PyTorch script: its steps, phases, losses and epochs, as lockstep.follower defines them.

    python -m lockstep train.py --epochs 2        # a script that Lockstep's variables were set for
    lockstep-agent run --auto -- python train.py  # the same for whatever the command starts

Nothing is sent before the first backward. Then the process says hello with its rank in torch.distributed. Three places
of PyTorch are watched: the `__next__` of DataLoader's iterators, `torch.autograd.backward`, and the hooks that PyTorch
calls around every optimizer's step. DistributedDataParallel's own timers say how long gradients were summed. Scalars that a
SummaryWriter writes are metrics. Neither modules nor DataLoaders are replaced, and no random number is drawn.

A script can be ended after so many steps: LOCKSTEP_MAX_STEPS, or as many as LOCKSTEP_MAX_SAMPLES take over all ranks. It
ends by SystemExit where it would begin the next step, which is the same step in every rank.

If anything is not as expected, one line on stderr says so, following ends, and training goes on. A script that uses
lockstep.Run is left to it.
"""
from __future__ import annotations

import atexit
import functools
import importlib
import itertools
import os
import socket
import sys
import threading
import weakref
from time import monotonic_ns
from types import ModuleType
from typing import Any, Dict, List, Mapping, Optional, Tuple

from lockstep.follower import Follower, Reporter
from lockstep.frames import descriptive_values
from lockstep.imports import when_imported
from lockstep.metrics import MetricLog
from lockstep.position import Position
from lockstep.sender import Sender
from lockstep.steps import EpochLog

FRAMES, TOKEN = "LOCKSTEP_FRAMES", "LOCKSTEP_FRAMES_TOKEN"
MAX_STEPS, MAX_SAMPLES = "LOCKSTEP_MAX_STEPS", "LOCKSTEP_MAX_SAMPLES"
DEEPEST_BATCH = 4  # levels of lists and dictionaries in which a batch's size is looked for

_watch: Optional["Watch"] = None


def install() -> None:
    """Follows this process from now on, if frames are to be sent and nobody does yet."""
    global _watch
    if _watch or not os.environ.get(FRAMES):
        return
    _watch = Watch()
    when_imported("torch", _watch.attach)
    for writers in ("torch.utils.tensorboard.writer", "tensorboardX.writer"):
        when_imported(writers, _watch.attach_writer)


def join(**about: Any) -> Optional["Watch"]:
    """For the callback of a library that trains: follows this process from now on, if nobody does yet, and takes what the library knows
    of the run (method, model, epochs, …). None: no frames are wanted, or a script's own lockstep.Run reports this process."""
    install()
    if _watch is None or not _watch.on:
        return None
    _watch.about.update({key: value for key, value in about.items() if value is not None})
    _watch.hears_writers = False  # what the library logs, it also writes for TensorBoard
    return _watch


def leave() -> None:
    """Ends following without a word: somebody else reports this process."""
    if _watch:
        _watch.on = False


def python_path() -> List[str]:
    """PYTHONPATH for child processes that are to be followed: our sitecustomize, this package, and what was there."""
    package = os.path.dirname(os.path.abspath(__file__))
    ours = [os.path.join(package, "site"), os.path.dirname(package)]
    return ours + [folder for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if folder and folder not in ours]


class Frames(Reporter):
    """Sends what a Follower reports."""

    def __init__(self, sender: Sender) -> None:
        self._sender = sender
        self.metrics = MetricLog()
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


class Watch:
    """What is watched in this process."""

    def __init__(self) -> None:
        self.on = True
        self.about: Dict[str, Any] = {}  # what a library's callback knows of the run
        self.hears_writers = True  # False: that callback reports the metrics
        self._pid = os.getpid()  # a DataLoader's workers are forks, which don't train
        self._thread = 0  # the one that trains; 0: none yet
        self._torch: Any = None
        self._sender: Optional[Sender] = None
        self._position = Position()
        self._follower: Optional[Follower] = None
        self._frames: Optional[Frames] = None
        self._early: List[Tuple[Any, ...]] = []  # fetches before the first backward
        self._iterators = itertools.count(1)
        self._models: List[Any] = []  # weak references to DistributedDataParallel models
        self._scaled: Optional[Tuple[Any, Any]] = None  # what a GradScaler gave, and the loss it was given
        self._newest: Optional[Mapping[str, Any]] = None  # of the newest iterator: workers, batch size
        self._world = 1  # how many processes train together
        self._last_step: Optional[int] = None  # how many steps the script may make; None: not known yet

    def attach(self, torch: Any) -> None:
        """Watches torch, which has been imported."""
        if not self.on:
            return
        try:
            self._torch = torch
            self._watch_loaders(torch.utils.data.dataloader._BaseDataLoaderIter)
            self._watch_backward(torch.autograd)
            optimizers = importlib.import_module("torch.optim.optimizer")
            optimizers.register_optimizer_step_pre_hook(lambda optimizer, *_: self._optimizes("optimizer_begins", optimizer))
            optimizers.register_optimizer_step_post_hook(lambda optimizer, *_: self._optimizes("optimizer_ends", optimizer))
            self._watch_ddp(torch.nn.parallel.DistributedDataParallel)
            self._watch_scaler(torch.amp.GradScaler)
            atexit.register(self._finish)
        except Exception as error:
            self._step_aside(error)

    def attach_writer(self, module: Any) -> None:
        """Watches what the script writes for TensorBoard: its scalars are metrics."""
        try:
            original = module.SummaryWriter.add_scalar

            @functools.wraps(original)
            def add_scalar(writer: Any, tag: Any, scalar_value: Any, *arguments: Any, **named: Any) -> Any:
                """The scalar, written and shown."""
                if self.hears_writers:
                    self.metric(str(tag), scalar_value)
                return original(writer, tag, scalar_value, *arguments, **named)

            module.SummaryWriter.add_scalar = add_scalar
        except Exception as error:
            self._step_aside(error)

    def metric(self, tag: str, value: Any) -> None:
        """A value of a metric, once there has been a step."""
        if self._listens() and self._frames is not None:
            self._frames.metrics.add(tag, value)

    @property
    def stop_requested(self) -> bool:
        """Whether a person has asked the run to stop."""
        return self._sender is not None and self._sender.stop_requested

    def _optimizes(self, call: str, optimizer: Any) -> None:
        if not self._listens():
            return
        self._told(call, id(optimizer))
        self._position.begin("optimizer" if call == "optimizer_begins" else "")
        if self._follower is not None:
            self._position.step = self._follower.steps
            if call == "optimizer_begins":
                self._end_at(self._follower.steps)

    def _watch_loaders(self, iterator_class: Any) -> None:
        original = iterator_class.__next__

        @functools.wraps(original)
        def next_batch(iterator: Any) -> Any:
            """The next batch, timed."""
            if not self._listens():
                return original(iterator)
            if self._follower is not None:
                self._end_at(self._follower.complete)
            self._position.begin("load")
            begin_ns = monotonic_ns()
            try:
                batch = original(iterator)
            except StopIteration:
                self._told("exhausted", self._number(iterator), begin_ns, monotonic_ns())
                raise
            finally:
                self._position.begin("")
            end_ns = monotonic_ns()
            self._fetched(iterator, batch, begin_ns, end_ns)
            return batch

        iterator_class.__next__ = next_batch

    def _watch_backward(self, autograd: Any) -> None:
        original = autograd.backward

        @functools.wraps(original)
        def backward(tensors: Any, *arguments: Any, **named: Any) -> Any:
            """The gradients, timed."""
            begin_ns = monotonic_ns()
            if not self._trains():
                return original(tensors, *arguments, **named)
            self._told("backward_begins", self._loss(tensors), begin_ns)
            self._position.begin("backward")
            try:
                return original(tensors, *arguments, **named)
            finally:
                end_ns = monotonic_ns()
                self._position.begin("")
                self._told("backward_ends", end_ns, *self._sums())

        autograd.backward = backward

    def _watch_ddp(self, ddp: Any) -> None:
        original = ddp.__init__

        @functools.wraps(original)
        def initialize(model: Any, *arguments: Any, **named: Any) -> None:
            """A model whose own timers run in every step."""
            original(model, *arguments, **named)
            if self._listens():
                try:
                    model._set_ddp_runtime_logging_sample_rate(1)
                    self._models.append(weakref.ref(model))
                except Exception as error:
                    self._step_aside(error)

        ddp.__init__ = initialize

    def _watch_scaler(self, scaler: Any) -> None:
        original = scaler.scale

        @functools.wraps(original)
        def scale(this: Any, outputs: Any) -> Any:
            """The scaled loss; remembers the loss itself."""
            scaled = original(this, outputs)
            if self._listens():
                self._scaled = (scaled, outputs)
            return scaled

        scaler.scale = scale

    def _listens(self) -> bool:
        """Whether this process, and this thread of it, is followed."""
        return self.on and os.getpid() == self._pid and self._thread in (0, threading.get_ident())

    def _trains(self) -> bool:
        """The same at a backward: the first one says hello."""
        if not self._listens():
            return False
        if self._follower is None:
            try:
                self._hello()
            except Exception as error:
                self._step_aside(error)
        return self.on

    def _hello(self) -> None:
        self._thread = threading.get_ident()
        rank, world, backend = self._place()
        alone = world > 1 and backend is None
        self._world = 1 if alone else world
        about: Dict[str, Any] = {"method": "ddp" if self._models else "baseline" if world == 1 else None, "backend": backend}
        models = [model for model in (each() for each in self._models) if model is not None]
        if models:
            about["model"] = type(models[0].module).__name__
        if self._newest:
            about["workers"] = self._newest["workers"]
            if self._newest["batch_size"]:
                about["batch_size"] = self._newest["batch_size"] * world
        about.update(self.about)
        sender = Sender(os.environ.get(FRAMES, ""), rank, os.environ.get(TOKEN, ""))
        sender.connect()
        sender.send("state", {"state": "init", "pid": os.getpid(), "host": socket.gethostname(), "world_size": world,
                              "about": descriptive_values({key: value for key, value in about.items() if value is not None}),
                              "device": os.environ.get("LOCKSTEP_DEVICE"),
                              "cores": ",".join(map(str, os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else None})
        if alone:
            sender.send("alert", {"severity": "warning", "kind": "trains_alone", "message":
                                  f"rank {rank} is one of {world} processes, but the script has set up no process group: "
                                  "each of them trains alone"})
        sender.start_heartbeat(self._position.report)
        self._sender = sender
        self._frames = Frames(sender)
        self._follower = Follower(self._frames)
        for call, *arguments in self._early:
            getattr(self._follower, call)(*arguments)
        self._early.clear()

    def _end_at(self, steps: int) -> None:
        """Ends the script if it has made as many steps as it may."""
        if self._last_step is None and steps and self._follower is not None:
            try:
                self._last_step = last_step(self._follower.first_samples * self._world)
            except ValueError as error:
                self._step_aside(error)
        if self._last_step is not None and steps >= self._last_step:
            samples = self._follower.first_samples if self._follower is not None else 0
            print(f"lockstep: the script ends after {steps} {'step' if steps == 1 else 'steps'}, as it was asked to; its first step had "
                  f"{samples or 'an unknown number of'} samples in each of {self._world} processes that train together", file=sys.stderr)
            sys.exit(0)

    def _place(self) -> Tuple[int, int, Optional[str]]:
        """Rank, number of ranks, backend."""
        distributed = self._torch.distributed
        if distributed.is_available() and distributed.is_initialized():
            return distributed.get_rank(), distributed.get_world_size(), distributed.get_backend()
        return int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1")), None

    def _told(self, call: str, *arguments: Any) -> None:
        """Passes a call on to the follower. Before the first backward only fetches are kept."""
        if not self._listens():
            return
        try:
            if self._follower is not None:
                getattr(self._follower, call)(*arguments)
                if self._sender is not None and not self._sender.on:
                    self.on = False
            elif call in ("fetched", "exhausted"):
                self._early.append((call, *arguments))
                del self._early[:-1000]
        except Exception as error:
            self._step_aside(error)

    def _fetched(self, iterator: Any, batch: Any, begin_ns: int, end_ns: int) -> None:
        try:
            samples = batch_size(batch)
            if self._follower is None:
                self._newest = {"workers": getattr(iterator, "_num_workers", None), "batch_size": samples}
            self._told("fetched", self._number(iterator), id(getattr(iterator, "_dataset", None)), _length(iterator), begin_ns, end_ns,
                       samples)
        except Exception as error:
            self._step_aside(error)

    def _number(self, iterator: Any) -> int:
        """A number that no other iterator gets, also when this one is gone."""
        number = getattr(iterator, "_lockstep_number", None)
        if number is None:
            number = iterator._lockstep_number = next(self._iterators)
        return int(number)

    def _loss(self, tensors: Any) -> Any:
        """The detached loss that backward is called on, without a GradScaler's factor; None if it is not one number."""
        scaled, self._scaled = self._scaled, None
        try:
            if isinstance(tensors, (list, tuple)):
                if len(tensors) != 1:
                    return None
                tensors = tensors[0]
            if scaled is not None and scaled[0] is tensors:
                tensors = scaled[1]
            return tensors.detach() if tensors.numel() == 1 else None
        except Exception as error:
            self._step_aside(error)
            return None

    def _sums(self) -> Tuple[int, int]:
        """How long backward has waited for gradients' sums after the last gradient, and how long sums were under way.

        On CUDA these timers are events, and to read them would wait for the device: there both are unknown (0).
        """
        exposed = comm = 0
        try:
            for reference in self._models:
                model = reference()
                if model is None or model.device_type != "cpu" or not model.require_backward_grad_sync:
                    continue
                model.logger.set_runtime_stats_and_log()
                times = model._get_ddp_logging_data()
                way = int(times.get("backward_comm_time") or 0)
                comm += way
                exposed += max(0, way - int(times.get("backward_compute_comm_overlap_time") or 0))
        except Exception as error:
            self._step_aside(error)
        return exposed, comm

    def _finish(self) -> None:
        """The process ends."""
        if not self.on or self._follower is None or self._sender is None or os.getpid() != self._pid:
            return
        try:
            self._follower.finish()
            if self._frames is not None:
                self._frames.rest()
            failed = getattr(sys, "last_value", None) is not None
            stopped = self._sender.stop_requested
            self._sender.send_last("state", {"state": "failed" if failed else "stopped" if stopped else "done"})
        except Exception as error:
            self._step_aside(error)

    def _step_aside(self, error: BaseException) -> None:
        if self.on:
            self.on = False
            if self._sender is not None:
                self._sender.give_up(error)
            else:
                print(f"lockstep: this process can't be followed ({error}); training goes on", file=sys.stderr)


def last_step(samples: int) -> int:
    """How many steps a script may make whose first step has so many samples over all ranks (0: unknown)."""
    most = [int(os.environ[MAX_STEPS])] if os.environ.get(MAX_STEPS) else [sys.maxsize]
    if os.environ.get(MAX_SAMPLES) and samples:
        most.append(max(1, -(-int(os.environ[MAX_SAMPLES]) // samples)))
    return min(most)


def batch_size(batch: Any, level: int = 0) -> int:
    """The number of samples in a batch: the length of the first tensor in it; 0 if there is none."""
    shape = getattr(batch, "shape", None)
    if shape is not None:
        return int(shape[0]) if len(shape) else 0
    if level >= DEEPEST_BATCH or isinstance(batch, (str, bytes)):
        return 0
    parts = batch.values() if hasattr(batch, "values") and callable(batch.values) else batch if isinstance(batch, (list, tuple)) else ()
    for part in parts:
        size = batch_size(part, level + 1)
        if size:
            return size
    return 0


def _length(iterator: Any) -> Optional[int]:
    try:
        return len(iterator)
    except Exception:  # a data set without a length
        return None

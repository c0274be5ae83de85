# SPDX-License-Identifier: MIT
"""One process of an unchanged script, watched: what lockstep.torch_hooks calls, and what is made of it."""
from __future__ import annotations

import atexit
import itertools
import os
import socket
import sys
import threading
import weakref
from collections import deque
from contextlib import contextmanager, suppress
from functools import partial
from math import isfinite
from threading import get_ident
from types import SimpleNamespace
from typing import Any, Callable, Deque, Dict, Iterator, List, Mapping, Optional, Set, Tuple, Union

from lockstep import agreement, script_files, signals, torch_hooks
from lockstep.calls import Calls
from lockstep.clock import clock_ns, leaves_pauses_out
from lockstep.frame_reporter import FrameReporter
from lockstep.frames import descriptive_values
from lockstep.gradient_sums import UNKNOWN, GradientSums
from lockstep.metrics import WriterTags
from lockstep.parameters import Parameters
from lockstep.position import Position
from lockstep.script_facts import Loader, place, sharded_model, splits_parameters
from lockstep.sender import FRAMES, TOKEN, Sender
from lockstep.step_limit import StepLimit
from lockstep.step_sizes import ALIKE, ALIKE_BY_SAMPLER, StepSizes
from lockstep.stream_calls import StreamCalls
from lockstep.stream_clock import StreamClock
from lockstep.tensors import copied, copied_number

MOST_SCALED = 8  # losses that were scaled and wait for their backward, the newest; and for how many ends of optimizers' steps they do


class Watch:
    """What is watched in this process. Nothing it does raises into the script: when anything is unexpected it steps aside."""

    def __init__(self) -> None:
        self.on = True
        self.about: Dict[str, Any] = {}  # what a library's callback knows of the run
        self.hears_writers = True  # False: that callback reports the metrics
        self.failed = False  # the script has ended with a code that says so
        self.loading: Set[int] = set()  # threads that are in a loader: of loaders inside each other the outermost counts
        self._trains_in_fork: Optional[bool] = None  # whether that was said; None: this process is no fork, or one of a followed process
        self._trainer: Optional[threading.Thread] = None  # the thread that trains; None: none yet
        # Its identifier, compared before listens() is asked, since a call costs in every step; None: there is none yet, or nothing is followed.
        self.trainer: Optional[int] = None
        self._torch: Any = None
        self._cuda: Any = SimpleNamespace(_initialized=True)  # or torch.cuda, which says False in every step on a CPU
        self._sender: Optional[Sender] = None
        self._position = Position()
        self._calls: Union[Calls, StreamCalls, None] = None
        self._number: Callable[[Any], Any] = copied_number  # what is kept of a loss
        self._tell: Callable[..., None] = self._keep  # passes a call on to the follower, once there is one
        self._frames: Optional[FrameReporter] = None
        self._early: List[Tuple[Any, ...]] = []  # what was called before the first backward, each with its thread
        self._loads_in_thread = False  # whether that was said
        self._iterators = itertools.count(1)
        self._dropped: Deque[int] = deque()  # iterators that the script holds no longer, in whatever thread that was found
        self._gradient_sums = GradientSums()
        # What GradScalers gave that no backward was called on yet, the losses they were given, and how many steps of optimizers came before.
        self._scaled: List[Tuple[Callable[[], Any], Any, int]] = []
        self._optimizer_steps = 0
        self._writer_tags = WriterTags()
        self._parameters = Parameters()
        self._newest: Optional[Mapping[str, Any]] = None  # of the newest iterator: workers, whether its sampler fills its batches
        self._init: Dict[str, Any] = {}  # what was said with the hello, for whoever has to be told again
        self._world = 1  # how many processes train together
        self._shares_batches = False  # with others of them: samples would be counted several times
        self._limit = StepLimit(lambda steps, samples: agreement.of_rank_0(self._torch, steps, samples), self._finish)
        self._last_step: Optional[agreement.LastStep] = None  # once a person has asked the run to stop
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._leave_fork)

    def attach(self, torch: Any) -> None:
        """Watches torch, which has been imported."""
        if not self.on:
            return
        try:
            self._torch = torch
            self._cuda = torch.cuda if hasattr(torch.cuda, "_initialized") else self._cuda
            torch_hooks.watch_torch(torch, self)
            atexit.register(self._finish)
        except Exception as error:
            self.step_aside(error)

    def attach_writer(self, module: Any) -> None:
        """Watches a module with a SummaryWriter."""
        with self._harmless():
            torch_hooks.watch_writer(module, self)

    def attach_sharded_scaler(self, module: Any) -> None:
        """Watches FSDP's GradScaler, whose module has been imported."""
        with self._harmless():
            torch_hooks.watch_scaling(module.ShardedGradScaler, self)

    def attach_compiler(self, rules: Any) -> None:
        """Keeps torch.compile, which has been imported, from compiling what belongs to this package."""
        with self._harmless():
            torch_hooks.stay_out_of_graphs(rules)

    @contextmanager
    def _harmless(self) -> Iterator[None]:
        """An exception in this block ends following, not the script."""
        try:
            yield
        except Exception as error:
            self.step_aside(error)

    def metric(self, tag: str, value: Any, folder: str = "") -> None:
        """A value of a metric, once there has been a step. `folder`: of the writer, if one was given it."""
        try:
            if not self.listens() or self._frames is None or self._calls is None:
                return
            given = self._frames.metrics.read(self._writer_tags.name(str(tag), folder), value)
            if given is not None:  # with the step in which it was given, of which the follower may not know yet
                self._calls.then(partial(self._frames.metrics.put, given))
        except Exception as error:
            self.step_aside(error)

    def ends_here(self) -> bool:
        """Whether training ends with the step that has just ended, since a person has asked the run to stop: the same step in every rank."""
        if self._sender is None or not self._sender.stop_requested:
            return False
        try:
            if self._last_step is None:
                self._last_step = agreement.LastStep(self._torch)
            return self._calls is None or self._last_step.reached(self._calls.complete)
        except Exception as error:
            self.step_aside(error)
            return True

    def listens(self) -> bool:
        """Whether this process, and this thread of it, is followed: the one that trains, or one that goes on after that has ended."""
        if not self.on:
            return False
        if self.trainer == get_ident() or self._trainer is None:
            return True
        if self._trainer.is_alive():
            return False
        self._trains_here()
        return True

    def fetches_elsewhere(self) -> None:
        """A batch is asked for where nothing is followed. In another thread of this process, it is probably for the one that trains."""
        if not self.on or self._calls is None or self._calls.follower.uses_batches:
            return
        try:
            self._tell_of_thread()
        except Exception as error:
            self.step_aside(error)

    def _tell_of_thread(self) -> None:
        if self._sender is None or self._loads_in_thread:
            return
        self._loads_in_thread = True
        self._sender.send("alert", {"severity": "warning", "kind": "loads_in_thread", "message":
                                    f"the batches of rank {self._sender.rank} are fetched in another thread than the one that trains: its "
                                    "samples, its epochs and its time for data are unknown"})

    def trains(self, tensors: Any) -> bool:
        """The same at a backward of these losses: the first one says hello. What is captured into a CUDA graph is left alone, since a loss
        that is read would break the capture."""
        if (self.trainer != get_ident() and not self.listens()) or (self._cuda._initialized and self._captures()):
            if self._trains_in_fork is False:
                self._tell_of_fork()
            return False
        if self._calls is None:
            try:
                self._hello(tensors)
            except Exception as error:
                self.step_aside(error)
        return self.on

    def _tell_of_fork(self) -> None:
        """One line on stderr, unless it is a DataLoader's worker that needs gradients."""
        self._trains_in_fork = True
        with suppress(Exception):  # stderr may be closed
            if self._torch.utils.data.get_worker_info() is None:
                print(f"lockstep: process {os.getpid()} trains and is not followed, since it was forked from another one; started by spawn "
                      "(multiprocessing.get_context(\"spawn\")) it would be", file=sys.stderr)

    def _captures(self) -> bool:
        try:
            cuda = self._torch.cuda
            return bool(cuda.is_initialized() and cuda.is_current_stream_capturing())
        except Exception as error:
            self.step_aside(error)
            return True

    @contextmanager
    def opening(self, iterator: Any) -> Iterator[None]:
        """An iterator over a DataLoader is made, or begins again."""
        thread = get_ident()
        listens = self.listens() and thread not in self.loading
        if listens:
            self._begins_opening()
        begin_ns = clock_ns()
        try:
            if listens:
                self.loading.add(thread)
            yield
        finally:
            end_ns = clock_ns()
            if listens:
                self.loading.discard(thread)
            listens = listens and self.listens()  # another thread may have become the one that trains
            if listens:
                self._position.begin("")
        if listens:
            self._told_of("opened", iterator, begin_ns, end_ns)

    def _begins_opening(self) -> None:
        self._position.begin("load")
        try:
            if self._calls is not None:
                self._calls.opening()
        except Exception as error:
            self.step_aside(error)

    def begins_fetch(self, now_ns: int) -> None:
        """A batch is asked for."""
        self._position.phase = ("load", now_ns)
        calls = self._calls
        if calls is None:
            return
        try:
            steps = calls.asked()
            if steps >= self._limit.due:
                self._end_at(steps)
        except Exception as error:
            self.step_aside(error)

    def fetched(self, iterator: Any, batch: Any, begin_ns: int, end_ns: int) -> None:
        """A batch has come."""
        if not self._goes_on(end_ns):
            return
        try:
            loader = getattr(iterator, "_lockstep", None) or self._loader(iterator)
            size = loader.samples(batch, iterator)
            if self._scaled:
                self._forget_scaled()
            self._parameters.fetched()
            self._gradient_sums.backwards = 0  # one that raised may not have ended
            self._position.leave_all()
            if self._calls is None:
                self._newest = {"workers": getattr(iterator, "_num_workers", None), "fills": loader.gives_full_batches}
            self._tell("fetched", loader.number, loader.data, loader.length, begin_ns, end_ns, size, self._torch.is_grad_enabled(),
                       loader.endless)
        except Exception as error:
            self.step_aside(error)

    def fetch_fails(self, error: BaseException, iterator: Any, begin_ns: int, end_ns: int) -> None:
        """There was no batch left, or to fetch it has raised."""
        if self._goes_on(end_ns) and isinstance(error, StopIteration):
            self._told_of("exhausted", iterator, begin_ns, end_ns)

    def _goes_on(self, now_ns: int) -> bool:
        """A fetch has ended. Gives whether that is followed: meanwhile another thread may have become the one that trains."""
        if self.trainer != get_ident() and not self.listens():
            self.fetches_elsewhere()
            return False
        self._position.phase = ("", now_ns)
        return True

    def backward_begins(self, tensors: Any, begin_ns: int) -> None:
        """A backward of these losses begins."""
        self._position.phase = ("backward", begin_ns)
        try:
            loss = self._loss(tensors)
            if isinstance(loss, float) and not isfinite(loss) and self._frames is not None:
                self._frames.losses.look(loss)
            if self._gradient_sums.wrapped:
                self._gradient_sums.begin()
                if self._world > 1 and self._gradient_sums.waits():
                    self._position.enter_collective()
            self._tell("backward_begins", loss, begin_ns, self._parameters.have_moved(tensors))
        except Exception as error:
            self.step_aside(error)

    def backward_ends(self, end_ns: int) -> None:
        """It has ended."""
        if not self.on:
            return
        self._position.phase = ("", end_ns)
        try:
            sums = UNKNOWN
            if self._gradient_sums.wrapped:
                sums = self._gradient_sums.end(self._calls is not None and self._calls.wait)
                if not self._gradient_sums.backwards:
                    self._position.leave_all()
            self._tell("backward_ends", end_ns, *sums)
        except Exception as error:
            self.step_aside(error)

    def backward_fails(self, end_ns: int) -> None:
        """It has raised."""
        self._position.phase = ("", end_ns)
        self._parameters.version = None
        with self._harmless():
            self._gradient_sums.fail()
            if not self._gradient_sums.backwards:
                self._position.leave_all()
        self._told("backward_fails", end_ns)

    def optimizer_begins(self, optimizer: Any, *_: Any, by_scaler: bool = False) -> None:
        """An optimizer's step begins, or that of a scaler that calls it."""
        if (self.trainer != get_ident() and not self.listens()) or (self._cuda._initialized and self._captures()):
            return
        try:
            if self._sender is not None and not self._sender.on:
                self._turn_off()
                return
            self._tell("optimizer_begins", id(optimizer), by_scaler)
            self._parameters.take(optimizer)
            self._position.phase = ("optimizer", clock_ns())
            if self._calls is not None:
                self._position.step = steps = self._calls.steps
                if steps >= self._limit.due:
                    self._end_at(steps)
        except Exception as error:
            self.step_aside(error)

    def optimizer_ends(self, optimizer: Any, *_: Any, by_scaler: bool = False) -> None:
        """It has ended."""
        if (self.trainer != get_ident() and not self.listens()) or (self._cuda._initialized and self._captures()):
            return
        try:
            self._tell("optimizer_ends", id(optimizer), by_scaler)
            self._optimizer_steps += 1
            self._parameters.stepped()
            self._position.phase = ("", clock_ns())
        except Exception as error:
            self.step_aside(error)

    def optimizer_fails(self, optimizer: Any) -> None:
        """A scaler's step has raised."""
        if self.listens() and not (self._cuda._initialized and self._captures()):
            self._told("optimizer_fails", id(optimizer), True)
            self._parameters.stepped()
            self._position.begin("")

    def wraps_model(self, model: Any) -> None:
        """A model has been wrapped by DistributedDataParallel."""
        if not self.listens():
            return
        try:
            self._gradient_sums.add(model)
        except Exception as error:
            self.step_aside(error)

    def scaled(self, scaled: Any, loss: Any) -> None:
        """A GradScaler has made the one of the other."""
        try:
            if self.listens() and scaled is not loss and hasattr(loss, "detach"):
                self._scaled.append((weakref.ref(scaled), copied(loss) if loss.numel() == 1 else None, self._optimizer_steps))
                del self._scaled[:-MOST_SCALED]
        except Exception as error:
            signals.pass_on(error)
            self._scaled.append((lambda: None, None, self._optimizer_steps))

    def _forget_scaled(self) -> None:
        """A batch has come. Scaled losses may still wait for their backward: those of a step that goes on, of which the script may hold a
        sum, and those that it has made a while ago and holds."""
        def _waits(scaled: Callable[[], Any], _: Any, made: int) -> bool:
            steps = self._optimizer_steps - made
            return steps == 0 or (steps <= MOST_SCALED and scaled() is not None)
        self._scaled = [each for each in self._scaled if _waits(*each)]

    def step_aside(self, error: BaseException) -> None:
        """Ends following with a line on stderr; training goes on. What a signal's handler of the script raised goes on to the script."""
        signals.pass_on(error)
        if self.on:
            self._turn_off()
            if self._sender is not None:
                self._sender.give_up(error)
                return
            with suppress(Exception):  # stderr may be closed
                print(f"lockstep: this process can't be followed ({error}); training goes on", file=sys.stderr)

    def leave(self) -> None:
        """Ends following without a word."""
        self._turn_off()
        if self._sender is not None:
            self._sender.leave()

    def _leave_fork(self) -> None:
        """This process is a fork, such as a DataLoader's worker: it isn't followed."""
        self._trains_in_fork = False if self.on and self._calls is None else None
        self._turn_off()

    def _turn_off(self) -> None:
        self.on, self.trainer = False, None

    def _trains_here(self) -> None:
        self._trainer = threading.current_thread()
        self.trainer = get_ident()

    def _hello(self, tensors: Any) -> None:
        self._trains_here()
        rank, world, backend = place(self._torch)
        alone = world > 1 and backend is None
        self._world = 1 if alone else world
        sender = Sender(os.environ.get(FRAMES, ""), rank, os.environ.get(TOKEN, ""))
        sender.connect()
        about = {key: value for key, value in self._facts(world, backend).items() if value is not None}
        self._init = {"state": "init", "pid": os.getpid(), "host": socket.gethostname(), "world_size": world,
                      "about": descriptive_values(about), "files": script_files.digests(),
                      "counts_anew": True, "leaves_pauses_out": leaves_pauses_out(), "device": os.environ.get("LOCKSTEP_DEVICE"),
                      "cores": ",".join(map(str, os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else None}
        sender.send("state", self._init)
        if alone:
            sender.send("alert", {"severity": "warning", "kind": "trains_alone", "message":
                                  f"rank {rank} is one of {world} processes, but the script has set up no process group: "
                                  "each of them trains alone"})
        sender.start_heartbeat(self._position.report)
        self._sender = sender
        self._frames = FrameReporter(sender)
        self._frames.counts_samples = not self._shares_batches
        if "batch_size" not in about and not self._shares_batches:
            fills = self._newest is not None and self._newest["fills"]
            self._frames.step_sizes = StepSizes(ALIKE_BY_SAMPLER if fills else ALIKE, self._tell_batch_size)
        self._calls = self._calls_of(self._frames, tensors)
        self._tell = self._calls.tell
        own = [known[1:] for known in self._early if known[0] == self.trainer]
        for call, *arguments in own:
            self._calls.tell(call, *arguments)
        self._calls.dropped = self._dropped
        if len(own) < len(self._early) and not any(call == "fetched" for call, *_ in own):
            self._tell_of_thread()
        self._early.clear()

    def _calls_of(self, frames: FrameReporter, tensors: Any) -> Union[Calls, StreamCalls]:
        """How calls are passed on to a follower: where the losses are on a GPU, with its times. They are the host's for a run that is paused
        now and then, since a GPU's clock goes on meanwhile."""
        loss = tensors[0] if isinstance(tensors, (list, tuple)) and tensors else tensors
        if not getattr(loss, "is_cuda", False) or leaves_pauses_out():
            return Calls(frames, self._gradient_sums.noted)
        stream = StreamClock(self._torch.cuda, loss.device)
        self._gradient_sums.use(stream)
        self._number = lambda loss: loss  # which is copied on the device
        return StreamCalls(frames, stream, self._gradient_sums.later)

    def _facts(self, world: int, backend: Optional[str]) -> Dict[str, Any]:
        """Method, model, backend and workers, as far as they can be seen; a library's callback knows better."""
        models = self._gradient_sums.models()
        every = models and all(model.process_group.size() == world for model in models)  # else it is a part of another method
        about: Dict[str, Any] = {"method": "ddp" if every else "baseline" if world == 1 else None, "backend": backend}
        if models:
            about["model"] = type(models[0].module).__name__
        elif world > 1 and backend is not None:
            about["model"] = sharded_model()
            about["method"] = "fsdp" if about["model"] else None
            self._shares_batches = about["model"] is None and splits_parameters()
        if self._newest:
            about["workers"] = self._newest["workers"]
        return {**about, **self.about}

    def _tell_batch_size(self, samples: int) -> None:
        """A full step has so many samples in this process. The last process to know that tells what a step of all has."""
        every = agreement.sum_of_all(self._torch, samples) if self._world > 1 else samples
        if every is not None and self._frames is not None:
            self._init["about"] = {**self._init["about"], "batch_size": every}
            self._frames.describe({"batch_size": every})

    def _end_at(self, steps: int) -> None:
        """Ends the script if it has made as many steps as it may."""
        self._limit.check(steps, self._calls.follower.first_samples if self._calls is not None else 0, self._world)

    def _keep(self, call: str, *arguments: Any) -> None:
        """Before the first backward only what loaders did is kept, and which optimizers' steps go on."""
        if call == "optimizer_ends":
            self._early = [known for known in self._early if known[1] != "optimizer_has_begun"]
        if call == "optimizer_begins":
            call = "optimizer_has_begun"
        if call in ("opened", "fetched", "exhausted", "optimizer_has_begun"):
            self._early.append((get_ident(), call, *arguments))
            del self._early[:-1000]

    def _told(self, call: str, *arguments: Any) -> None:
        """Passes a call on to the follower."""
        try:
            if self.on:
                self._tell(call, *arguments)
        except Exception as error:
            self.step_aside(error)

    def _told_of(self, call: str, iterator: Any, begin_ns: int, end_ns: int) -> None:
        """The same of an iterator."""
        try:
            self._told(call, self._loader(iterator).number, begin_ns, end_ns)
        except Exception as error:
            self.step_aside(error)

    def _loader(self, iterator: Any) -> Loader:
        """What is known of an iterator; its number is no other one's, also when this one is gone."""
        known: Optional[Loader] = getattr(iterator, "_lockstep", None)
        if known is None:
            known = iterator._lockstep = Loader(iterator, next(self._iterators))
            weakref.finalize(iterator, self._dropped.append, known.number).atexit = False
        return known

    def _loss(self, tensors: Any) -> Any:
        """The detached loss that backward is called on, without a GradScaler's factor; None if it is not one number, or was made of a
        scaled one, or can't be read."""
        try:
            if isinstance(tensors, (list, tuple)):
                if len(tensors) != 1:
                    return None
                tensors = tensors[0]
            for number, (scaled, loss, _) in enumerate(self._scaled):
                if scaled() is tensors:
                    del self._scaled[number]
                    return loss
            return self._number(tensors) if not self._scaled and tensors.numel() == 1 else None
        except Exception as error:  # such as for the edges of a graph, or a dictionary's values
            signals.pass_on(error)
            return None

    def _finish(self) -> None:
        """The process ends."""
        if not self.on or self._calls is None or self._sender is None:
            return
        try:
            stopped = self._sender.stop_requested
            uncaught = getattr(sys, "last_value", None) is not None and not hasattr(sys, "ps1")  # at a prompt the process goes on after one
            failed = uncaught or (self.failed and not stopped)
            self._calls.tell("finish", failed)
            if self._frames is not None:
                self._frames.finish()
            self._sender.send_last("state", {"state": "failed" if failed else "stopped" if stopped else "done"})
        except Exception as error:
            self.step_aside(error)

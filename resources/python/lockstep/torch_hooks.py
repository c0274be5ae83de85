# SPDX-License-Identifier: MIT
"""The places of PyTorch that are watched in an unchanged script, each by a function that puts a call to a Watch there.

Neither modules nor DataLoaders are replaced, no random number is drawn, and what is wrapped gives and raises what it did before.
"""
from __future__ import annotations

import functools
import importlib
import sys
from threading import get_ident
from typing import TYPE_CHECKING, Any

from lockstep.clock import clock_ns

if TYPE_CHECKING:
    from lockstep.watch import Watch


def watch_torch(torch: Any, watch: "Watch") -> None:
    """Loaders, backward, optimizers, DistributedDataParallel and GradScaler."""
    loaders = torch.utils.data.dataloader
    watch_loaders(loaders._BaseDataLoaderIter, watch)
    for iterator_class in (loaders._SingleProcessDataLoaderIter, loaders._MultiProcessingDataLoaderIter):
        watch_openings(iterator_class, watch)
    watch_resets(loaders._MultiProcessingDataLoaderIter, watch)
    watch_backward(torch.autograd, watch)
    watch_optimizers(importlib.import_module("torch.optim.optimizer"), watch)
    watch_ddp(torch.nn.parallel.DistributedDataParallel, watch)
    watch_scaler(getattr(torch.amp, "GradScaler", None) or torch.cuda.amp.GradScaler, watch)  # the latter before PyTorch 2.3


def watch_loaders(iterator_class: Any, watch: "Watch") -> None:
    """`__next__` of DataLoader's iterators: a batch and its time."""
    original = iterator_class.__next__

    @functools.wraps(original)
    def next_batch(iterator: Any) -> Any:
        """The next batch, timed."""
        thread = get_ident()
        if watch.trainer != thread and not watch.listens():
            watch.fetches_elsewhere()
            return original(iterator)
        if thread in watch.loading:  # the data set of another loader asks one of its own
            return original(iterator)
        watch.begins_fetch(clock_ns())
        begin_ns = clock_ns()
        try:
            watch.loading.add(thread)
            batch = original(iterator)
        except BaseException as error:
            watch.loading.discard(thread)
            watch.fetch_fails(error, iterator, begin_ns, clock_ns())
            raise
        watch.loading.discard(thread)
        watch.fetched(iterator, batch, begin_ns, clock_ns())
        return batch

    iterator_class.__next__ = next_batch


def watch_openings(iterator_class: Any, watch: "Watch") -> None:
    """`__init__` of DataLoader's iterators: the time in which workers are started."""
    original = iterator_class.__init__

    @functools.wraps(original)
    def initialize(iterator: Any, *arguments: Any, **named: Any) -> None:
        """An iterator, made and timed."""
        with watch.opening(iterator):
            original(iterator, *arguments, **named)

    iterator_class.__init__ = initialize


def watch_resets(iterator_class: Any, watch: "Watch") -> None:
    """`_reset` of an iterator whose workers persist: the next epoch begins."""
    original = iterator_class._reset

    @functools.wraps(original)
    def reset(iterator: Any, loader: Any, first_iter: bool = False) -> None:
        """An iterator that begins again, timed."""
        if first_iter:  # it is being made
            original(iterator, loader, first_iter)
            return
        with watch.opening(iterator):
            original(iterator, loader, first_iter)

    iterator_class._reset = reset


def watch_backward(autograd: Any, watch: "Watch") -> None:
    """`torch.autograd.backward`: the loss, and the time of the gradients."""
    original = autograd.backward

    @functools.wraps(original)
    def backward(tensors: Any, *arguments: Any, **named: Any) -> Any:
        """The gradients, timed."""
        begin_ns = clock_ns()
        if not watch.trains(tensors):
            return original(tensors, *arguments, **named)
        try:
            watch.backward_begins(tensors, begin_ns)
            given = original(tensors, *arguments, **named)
        except BaseException:
            watch.backward_fails(clock_ns())
            raise
        watch.backward_ends(clock_ns())
        return given

    autograd.backward = backward
    register = getattr(sys.modules.get("torch.jit._builtins"), "_register_builtin", None)
    if register is not None:  # TorchScript knows the function that it compiles by its identity
        register(backward, "aten::backward")


def watch_optimizers(module: Any, watch: "Watch") -> None:
    """The hooks that PyTorch calls around every optimizer's step."""
    module.register_optimizer_step_pre_hook(watch.optimizer_begins)
    module.register_optimizer_step_post_hook(watch.optimizer_ends)


def watch_ddp(ddp: Any, watch: "Watch") -> None:
    """DistributedDataParallel: its own timers run in every step."""
    original = ddp.__init__

    @functools.wraps(original)
    def initialize(model: Any, *arguments: Any, **named: Any) -> None:
        """A model whose own timers run in every step."""
        original(model, *arguments, **named)
        watch.wraps_model(model)

    ddp.__init__ = initialize


def watch_scaler(scaler: Any, watch: "Watch") -> None:
    """`GradScaler.scale`, as watch_scaling does. `GradScaler.step`: a step of the script, also where it leaves the optimizer's out because
    gradients are infinite."""
    watch_scaling(scaler, watch)
    original_step = scaler.step

    @functools.wraps(original_step)
    def step(this: Any, optimizer: Any, *arguments: Any, **named: Any) -> Any:
        """The optimizer's step, or none."""
        watch.optimizer_begins(optimizer, by_scaler=True)
        try:
            given = original_step(this, optimizer, *arguments, **named)
        except BaseException:
            watch.optimizer_fails(optimizer)
            raise
        watch.optimizer_ends(optimizer, by_scaler=True)
        return given

    scaler.step = step


def watch_scaling(scaler: Any, watch: "Watch") -> None:
    """`scale` of a GradScaler, or of a class derived from it that has its own: which loss a scaled one was made of."""
    original = scaler.scale

    @functools.wraps(original)
    def scale(this: Any, outputs: Any) -> Any:
        """The scaled loss."""
        scaled = original(this, outputs)
        watch.scaled(scaled, outputs)
        return scaled

    scaler.scale = scale


def watch_writer(module: Any, watch: "Watch") -> None:
    """What the script writes for TensorBoard: its scalars are metrics."""
    original = module.SummaryWriter.add_scalar

    @functools.wraps(original)
    def add_scalar(writer: Any, tag: Any, scalar_value: Any, *arguments: Any, **named: Any) -> Any:
        """The scalar, written and shown."""
        if watch.hears_writers:
            watch.metric(str(tag), scalar_value, _folder(writer))
        return original(writer, tag, scalar_value, *arguments, **named)

    module.SummaryWriter.add_scalar = add_scalar


def _folder(writer: Any) -> str:
    """Where a SummaryWriter of PyTorch's, or of tensorboardX's, writes."""
    return str(getattr(writer, "log_dir", None) or getattr(writer, "logdir", None) or "")


def stay_out_of_graphs(rules: Any) -> None:
    """Has torch.compile pass over this package's functions, so that it compiles of a script what it would compile without them.

    `rules`: torch._dynamo.trace_rules. A function that is compiled together with its optimizer's step is still cut where PyTorch calls
    the optimizer's hooks.
    """
    rules.add("lockstep")

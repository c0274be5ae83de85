# SPDX-License-Identifier: MIT
"""Trainings in which something is unlike in most scripts; the argument says what."""
import itertools
import json
import multiprocessing
import queue
import sys
import threading
import time

import torch
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

STEPS, BATCH = 20, 8


class Unmade(torch.nn.Module):
    """A module whose constructor has not called the one of its class."""

    def __init__(self):
        pass


class Fails(torch.autograd.Function):
    @staticmethod
    def forward(context, values):
        return values.clone()

    @staticmethod
    def backward(context, gradients):
        raise RuntimeError("out of memory")


torch.manual_seed(0)
torch.set_num_threads(1)
model = torch.nn.Linear(5, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
loader = DataLoader(TensorDataset(torch.randn(STEPS * BATCH, 5), torch.randn(STEPS * BATCH, 1)), BATCH)


def loss_of(batch):
    return ((model(batch[0]) - batch[1]) ** 2).mean()


def train(*losses):
    optimizer.zero_grad()
    sum(losses).backward()
    optimizer.step()


def losses_in_a_dictionary():
    for x, y in loader:
        losses = {"first": model(x).mean(), "second": ((model(x) - y) ** 2).mean()}
        optimizer.zero_grad()
        torch.autograd.backward(losses.values())
        optimizer.step()


def unmade_module():
    kept = Unmade()
    for step, batch in enumerate(loader):
        train(loss_of(batch) * (float("nan") if step == 5 else 1))
    return kept


def time_first():
    layer = torch.nn.RNN(5, 1)
    first = DataLoader(loader.dataset, BATCH, collate_fn=lambda parts: (torch.stack([x.expand(13, 5) for x, _ in parts], 1), len(parts)))
    for x, _ in first:
        train(layer(x)[0].mean(), model(x[0]).mean())


def one_backward_for_four_batches():
    losses = []
    for batch in loader:
        losses.append(loss_of(batch))
        if len(losses) == 4:
            train(*losses)
            losses.clear()


def an_iterator_for_each_step():
    for _ in range(2 * STEPS):
        train(loss_of(next(iter(loader))))


def a_validation_in_each_step():
    validation = iter(DataLoader(TensorDataset(torch.randn(320, 5), torch.randn(320, 1)), BATCH))
    for batch in loader:
        with torch.no_grad():
            loss_of(next(validation))
        train(loss_of(batch))


def two_loaders():
    second = DataLoader(TensorDataset(torch.randn(160, 5), torch.randn(160, 1)), BATCH)
    for batches in zip(loader, second):
        train(*(loss_of(batch) for batch in batches))


def every_second_backward_fails():
    for step, batch in enumerate(loader):
        try:
            train(Fails.apply(loss_of(batch)) if step % 2 else loss_of(batch))
        except RuntimeError:
            pass


def an_optimizer_that_raises():
    class Raises(torch.optim.SGD):
        def step(self, closure=None):
            if step == 5:
                raise RuntimeError("an odd gradient")
            return super().step(closure)

    own = Raises(model.parameters(), lr=0.01)
    for step in range(STEPS):
        model(torch.randn(BATCH, 5)).mean().backward()
        try:
            own.step()
        except RuntimeError:
            pass


def batches_from_a_thread():
    def fetch():
        for batch in loader:
            batches.put(batch)
        batches.put(None)

    batches = queue.Queue(2)
    threading.Thread(target=fetch, daemon=True).start()
    for batch in iter(batches.get, None):
        train(loss_of(batch))


def a_bare_except():
    batches = iter(loader)
    while True:
        try:
            batch = next(batches)
        except:  # noqa: E722  (it means the end of the epoch, and catches that of the script too)
            batches = iter(loader)
        else:
            train(loss_of(batch))


def steps_after_the_loop():
    for _ in range(3):
        for number, batch in enumerate(loader):
            loss_of(batch).backward()
            if number % 3 == 2:
                optimizer.step()
        optimizer.step()


def a_validation_with_a_backward():
    validation = DataLoader(TensorDataset(torch.randn(320, 5), torch.randn(320, 1)), BATCH)
    for _ in range(3):
        for batch in loader:
            train(loss_of(batch))
        for x, y in validation:
            x.requires_grad_(True)
            loss_of((x, y)).backward()


def skipped_batches():
    for epoch in range(3):
        for number, batch in enumerate(loader):
            if number % 5 < 4 and (epoch or number >= 12):
                train(loss_of(batch))


def a_loader_without_end():
    class Repeats:
        def __init__(self, sampler):
            self.sampler = sampler

        def __iter__(self):
            while True:
                yield from self.sampler

    class Endless(DataLoader):
        def __init__(self, *words):
            super().__init__(*words)
            object.__setattr__(self, "batch_sampler", Repeats(self.batch_sampler))
            self.iterator = super().__iter__()

        def __iter__(self):
            for _ in range(STEPS):
                yield next(self.iterator)

    endless = Endless(loader.dataset, BATCH)
    for _ in range(3):
        for batch in endless:
            train(loss_of(batch))


def a_thread_for_each_epoch():
    def epoch():
        for batch in loader:
            train(loss_of(batch))

    over, others = threading.Event(), []
    for _ in range(3):
        for kept, work in (False, epoch), (True, over.wait):  # the other one may get the number of the first, which has ended
            thread = threading.Thread(target=work)
            thread.start()
            others.append(thread) if kept else thread.join()
            time.sleep(0.05)  # until its number is free
    over.set()


def loaders_within_loaders():
    class Whole(IterableDataset):
        def __iter__(self):
            yield from loader

    class Single(IterableDataset):
        def __iter__(self):
            self.inner = iter(loader)  # made, and asked, before the outer one gives anything
            self.first = next(self.inner)
            return self.samples()

        def samples(self):
            for batch in (self.first, *self.inner):
                yield from zip(*batch)

    for outer in DataLoader(Whole(), batch_size=None), DataLoader(Single(), batch_size=BATCH):
        for batch in outer:
            train(loss_of(batch))


def several_passes_of_a_batch():
    """Prints the mean loss of each epoch: of the first pass, or the sum of both losses."""
    def by_hand(batch):
        first = loss_of(batch)
        first.backward()
        with torch.no_grad():
            moves = [(each, 0.05 * each.grad) for each in model.parameters()]
            for each, by in moves:
                each.add_(by)
        optimizer.zero_grad()
        loss_of(batch).backward()
        with torch.no_grad():
            for each, by in moves:
                each.sub_(by)
        optimizer.step()
        return first

    def by_optimizer(batch):
        def closure():
            several.zero_grad()
            loss = loss_of(batch)
            loss.backward()
            return loss

        return several.step(closure)

    def two_losses(batch):
        optimizer.zero_grad()
        losses = loss_of(batch), sum((each ** 2).sum() for each in model.parameters())
        for loss in losses:
            loss.backward()
        optimizer.step()
        return sum(losses)

    several = torch.optim.LBFGS(model.parameters(), max_iter=5)
    print(json.dumps({"means": [sum(work(batch).item() for batch in loader) / STEPS for work in (by_hand, by_optimizer, two_losses)]}))


def an_optimizer_that_goes_through_the_loader():
    several = torch.optim.LBFGS(model.parameters(), max_iter=3)

    def closure():
        several.zero_grad()
        losses = []
        for batch in loader:
            losses.append(loss_of(batch) / STEPS)
            losses[-1].backward()
        return sum(losses)

    for _ in range(3):
        several.step(closure)


def two_batches_a_step_and_two_ahead():
    for _ in range(3):
        batches = iter(loader)
        ahead = [*itertools.islice(batches, 2)]
        while ahead:
            now, ahead = ahead, [*itertools.islice(batches, 2)]
            train(*(loss_of(batch) for batch in now))


def training_in_a_fork():
    child = multiprocessing.get_context("fork").Process(target=two_loaders)
    child.start()
    child.join()


MODES = {work.__name__: work for work in (
    losses_in_a_dictionary, unmade_module, time_first, one_backward_for_four_batches, an_iterator_for_each_step, a_validation_in_each_step,
    two_loaders, every_second_backward_fails, an_optimizer_that_raises, batches_from_a_thread, a_thread_for_each_epoch,
    a_bare_except, steps_after_the_loop, a_validation_with_a_backward, skipped_batches, a_loader_without_end,
    loaders_within_loaders, several_passes_of_a_batch, an_optimizer_that_goes_through_the_loader, two_batches_a_step_and_two_ahead,
    training_in_a_fork)}

if __name__ == "__main__":
    MODES[sys.argv[1]]()

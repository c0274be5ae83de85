# SPDX-License-Identifier: MIT
"""A training script that knows nothing of Lockstep: a validation after each epoch, timers of its own. Prints them and its losses.

With the argument "accumulate" it trains on an IterableDataset with autocast, a GradScaler and four batches a step; with "workers",
processes load for training and validation, whose loaders take 0.1 s to start; with "persist" they live on. With "two" each layer has an
optimizer of its own, with "compiled" torch.compile makes the model, with "accelerate" that library prepares everything, and with "ddp" several
processes train together, of which the first one prints. With "cuda" it trains on a GPU, which the timers wait for; with "ahead" on one, too, and
nobody waits: the timers are events; "dp" makes two replicas there.
"""
import json
import os
import sys
import time

import torch
from torch.utils.data import BatchSampler, DataLoader, Dataset, IterableDataset, RandomSampler, SequentialSampler

accumulate = "accumulate" in sys.argv
persist = "persist" in sys.argv
ahead = "ahead" in sys.argv
device = "cuda" if ahead or "cuda" in sys.argv else "cpu"
workers = 2 if persist or "workers" in sys.argv else 0
BATCH, EVERY = 32, 4 if accumulate else 1


class Slow(Dataset):
    def __init__(self, count, seconds):
        made = torch.Generator().manual_seed(1)
        self.x, self.y = torch.randn(count, 20, generator=made), torch.randint(0, 3, (count,), generator=made)
        self.seconds = seconds

    def __len__(self):
        return len(self.x)

    def __getitem__(self, at):
        time.sleep(self.seconds)
        return self.x[at], self.y[at]


class SlowStart(BatchSampler):
    def __iter__(self):  # which a loader's start calls
        time.sleep(0.1)
        return super().__iter__()


def loader(data, order):
    if not workers:
        return DataLoader(data, BATCH, shuffle=order is RandomSampler)
    return DataLoader(data, batch_sampler=SlowStart(order(data), BATCH, False), num_workers=workers, persistent_workers=persist)


class Stream(IterableDataset):
    def __init__(self, source):
        self.source = source

    def __iter__(self):
        return (self.source[at] for at in range(len(self.source)))


class Busy(torch.autograd.Function):
    """Keeps a GPU busy for some ms, twice as long in backward."""

    @staticmethod
    def forward(context, x):
        torch.cuda._sleep(4_000_000)
        return x.clone()

    @staticmethod
    def backward(context, gradient):
        torch.cuda._sleep(8_000_000)
        return gradient.clone()


class Busily(torch.nn.Module):
    def forward(self, x):
        return Busy.apply(x) if x.device.type == "cuda" else x


def stamp():
    """A moment: of the device, if there is one."""
    if ahead:
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event
    if device == "cuda":
        torch.cuda.synchronize()
    return time.monotonic()


def lasted(begin, end):
    return begin.elapsed_time(end) / 1000 if ahead else end - begin


torch.manual_seed(0)
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(20, 512), torch.nn.ReLU(), torch.nn.Linear(512, 3), Busily()).to(device)
parts = [model[0], model[2]] if "two" in sys.argv else [model]
optimizers = [torch.optim.SGD(part.parameters(), lr=0.1) for part in parts]
criterion = torch.nn.CrossEntropyLoss()
scaler = torch.amp.GradScaler(device, init_scale=1024.0, enabled=accumulate)
train, test = Slow(640, 0.0002), Slow(160, 0.001)
train = DataLoader(Stream(train), BATCH) if accumulate else loader(train, RandomSampler)
backward = torch.Tensor.backward
if "ddp" in sys.argv:
    torch.distributed.init_process_group("gloo")
    model = torch.nn.parallel.DistributedDataParallel(model)
if "dp" in sys.argv:
    model = torch.nn.DataParallel(model, device_ids=[0, 0])
if "compiled" in sys.argv:
    model = torch.compile(model, backend="eager")
if "accelerate" in sys.argv:
    import accelerate

    library = accelerate.Accelerator(cpu=device == "cpu")
    model, optimizers[0], train = library.prepare(model, optimizers[0], train)
    backward = library.backward
losses, epochs, waited = [], [], 0.0
for epoch in range(5):
    hand = {"load": [], "forward": [], "backward": [], "optimizer": []}
    epochs.append(hand)
    before = stamp()
    for i, (x, y) in enumerate(train):
        now = stamp()
        hand["load"].append((before, now))
        before = now
        x, y = x.to(device), y.to(device)
        with torch.autocast(device, dtype=torch.bfloat16, enabled=accumulate):
            loss = criterion(model(x), y) / EVERY
        scaled = scaler.scale(loss)
        now = stamp()
        hand["forward"].append((before, now))
        before = now
        backward(scaled)
        hand["backward"].append((before, stamp()))
        if i % EVERY == EVERY - 1:
            before = stamp()
            for optimizer in optimizers:
                scaler.step(optimizer)
            hand["optimizer"].append((before, stamp()))
            scaler.update()
            model.zero_grad()
        losses.append(loss.detach() if ahead else loss.item())
        before = stamp()
    hand["load"].append((before, stamp()))  # workers are stopped
    with torch.no_grad():
        before = time.monotonic()
        for x, y in loader(test, SequentialSampler):
            model(x.to(device))
        waited += time.monotonic() - before
if os.environ.get("RANK", "0") == "0":
    if ahead:
        torch.cuda.synchronize()
    epochs = [{phase: sum(lasted(*each) for each in spans) for phase, spans in hand.items()} for hand in epochs]
    print(json.dumps({"hand": epochs, "losses": [float(loss) for loss in losses], "validation": waited}))
if "ddp" in sys.argv:
    torch.distributed.destroy_process_group()

# SPDX-License-Identifier: MIT
"""A training script that knows nothing of Lockstep: a validation after each epoch, timers of its own. Prints them and its losses.

With the argument "accumulate" it trains on an IterableDataset with autocast, a GradScaler and four batches a step; with "workers",
processes load for training and validation, whose loaders take 0.1 s to start; with "persist" they live on. With "two" each layer has an
optimizer of its own, with "compiled" torch.compile makes the model, with "accelerate" that library prepares everything, and with "ddp" several
processes train together, of which the first one prints.
"""
import json
import os
import sys
import time

import torch
from torch.utils.data import BatchSampler, DataLoader, Dataset, IterableDataset, RandomSampler, SequentialSampler

accumulate = "accumulate" in sys.argv
persist = "persist" in sys.argv
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


torch.manual_seed(0)
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(20, 512), torch.nn.ReLU(), torch.nn.Linear(512, 3))
parts = [model[0], model[2]] if "two" in sys.argv else [model]
optimizers = [torch.optim.SGD(part.parameters(), lr=0.1) for part in parts]
criterion = torch.nn.CrossEntropyLoss()
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, enabled=accumulate)
train, test = Slow(640, 0.0002), Slow(160, 0.001)
train = DataLoader(Stream(train), BATCH) if accumulate else loader(train, RandomSampler)
backward = torch.Tensor.backward
if "ddp" in sys.argv:
    torch.distributed.init_process_group("gloo")
    model = torch.nn.parallel.DistributedDataParallel(model)
if "compiled" in sys.argv:
    model = torch.compile(model, backend="eager")
if "accelerate" in sys.argv:
    import accelerate

    library = accelerate.Accelerator(cpu=True)
    model, optimizers[0], train = library.prepare(model, optimizers[0], train)
    backward = library.backward
losses, epochs, waited = [], [], 0.0
for epoch in range(5):
    hand = {"load": 0.0, "forward": 0.0, "backward": 0.0, "optimizer": 0.0}
    epochs.append(hand)
    before = time.monotonic()
    for i, (x, y) in enumerate(train):
        hand["load"] += time.monotonic() - before
        before = time.monotonic()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=accumulate):
            loss = criterion(model(x), y) / EVERY
        scaled = scaler.scale(loss)
        hand["forward"] += time.monotonic() - before
        before = time.monotonic()
        backward(scaled)
        hand["backward"] += time.monotonic() - before
        if i % EVERY == EVERY - 1:
            before = time.monotonic()
            for optimizer in optimizers:
                scaler.step(optimizer)
            hand["optimizer"] += time.monotonic() - before
            scaler.update()
            model.zero_grad()
        losses.append(loss.item())
        before = time.monotonic()
    hand["load"] += time.monotonic() - before  # workers are stopped
    with torch.no_grad():
        before = time.monotonic()
        for x, y in loader(test, SequentialSampler):
            model(x)
        waited += time.monotonic() - before
if os.environ.get("RANK", "0") == "0":
    print(json.dumps({"hand": epochs, "losses": losses, "validation": waited}))
if "ddp" in sys.argv:
    torch.distributed.destroy_process_group()

# SPDX-License-Identifier: MIT
"""A training loop of plain PyTorch that knows of no tool, with timers set by hand. Each rank prints one line, "TRUTH" and JSON.

It trains alone, or as one rank of DDP where torchrun's variables are set. Faults that it is asked for are in its data set and its model.
"""
import argparse
import json
import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler

parser = argparse.ArgumentParser()
parser.add_argument("--model", choices=("small", "lenet"), default="small")
parser.add_argument("--batch", type=int, default=8)
parser.add_argument("--steps", type=int, default=100, help="of an epoch")
parser.add_argument("--epochs", type=int, default=1)
parser.add_argument("--workers", type=int, default=0)
parser.add_argument("--item-ms", type=float, default=0, help="that a sample takes to load")
parser.add_argument("--validation-ms", type=float, default=0, help="that a sample of the validation takes to load")
parser.add_argument("--slow", default="", help="RANK:load, RANK:forward or RANK:backward: that rank waits 30 ms there in each step")
arguments = parser.parse_args()
DISTRIBUTED = "WORLD_SIZE" in os.environ and int(os.environ["WORLD_SIZE"]) > 1
RANK = int(os.environ["RANK"]) if DISTRIBUTED else 0
WORLD = int(os.environ["WORLD_SIZE"]) if DISTRIBUTED else 1
SLOW = arguments.slow.split(":")[1] if arguments.slow.startswith(f"{RANK}:") else ""


class Samples(Dataset):
    def __init__(self, count, wait_ms):
        shape = (1, 28, 28) if arguments.model == "lenet" else (64,)
        self.x, self.y = torch.randn(count, *shape), torch.randint(0, 10, (count,))
        self.wait_s = wait_ms / 1000

    def __len__(self):
        return len(self.x)

    def __getitem__(self, at):
        if self.wait_s:
            time.sleep(self.wait_s)
        return self.x[at], self.y[at]


class SlowBackward(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return x.view_as(x)

    @staticmethod
    def backward(context, gradient):
        time.sleep(0.03)
        return gradient


class Net(nn.Sequential):
    def forward(self, x):
        if SLOW == "forward":
            time.sleep(0.03)
        x = super().forward(x)
        return SlowBackward.apply(x) if SLOW == "backward" else x


def net():
    if arguments.model == "small":
        return Net(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    return Net(nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
               nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))


class Timers:
    """Seconds by phase. Each phase ends where the next one begins."""

    def __init__(self):
        self.seconds, self.mark = {}, time.perf_counter()

    def lap(self, phase):
        now = time.perf_counter()
        self.seconds[phase] = self.seconds.get(phase, 0.0) + now - self.mark
        self.mark = now


def step(x, y):
    hand.lap("rest")
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    hand.lap("forward")
    loss.backward()
    hand.lap("backward")
    optimizer.step()
    hand.lap("optimizer")


if DISTRIBUTED:
    dist.init_process_group("gloo")
torch.manual_seed(0)
torch.set_num_threads(1)
model = net()
if DISTRIBUTED:
    model = DistributedDataParallel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
train = Samples(arguments.steps * arguments.batch * WORLD, 30 / arguments.batch if SLOW == "load" else arguments.item_ms)
sampler = DistributedSampler(train) if DISTRIBUTED else None
loader = DataLoader(train, arguments.batch, sampler=sampler, num_workers=arguments.workers)
validation = DataLoader(Samples(160, arguments.validation_ms), 32)
ended, epochs = [], []
for epoch in range(arguments.epochs):
    hand = Timers()
    batches = iter(loader)  # as `for x, y in loader` does
    hand.lap("start of workers")
    for x, y in batches:
        hand.lap("load")
        step(x, y)
        ended.append(time.time())
        hand.lap("rest")
    hand.lap("load")
    if arguments.validation_ms:
        with torch.no_grad():
            for x, y in validation:
                hand.lap("validation's load")
                model(x)
                hand.lap("validation's forward")
    epochs.append(hand.seconds)
skipped = len(ended) // 10
seconds = {phase: sum(each.get(phase, 0) for each in epochs) for phase in epochs[0]}
truth = {"rank": RANK, "steps": len(ended), "hand": seconds, "first": ended[0],
         "step_s": (ended[-1] - ended[skipped]) / max(1, len(ended) - 1 - skipped)}
sys.stdout.write(f"TRUTH {json.dumps(truth)}\n")  # at once: ranks share it
sys.stdout.flush()
if DISTRIBUTED:
    dist.destroy_process_group()

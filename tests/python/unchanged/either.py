# SPDX-License-Identifier: MIT
"""A script that trains by itself, or as one rank of DDP where torchrun's variables are set. It knows nothing of Lockstep."""
import argparse
import os
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=1)
parser.add_argument("--num-workers", type=int, default=0)
parser.add_argument("--wait-ms", type=float, default=0, help="that an item takes to load")
parser.add_argument("--twice", action="store_true", help="computes everything twice")
arguments = parser.parse_args()


class Items(Dataset):
    def __len__(self):
        return 6400

    def __getitem__(self, at):
        time.sleep(arguments.wait_ms / 1000)
        made = torch.Generator().manual_seed(at)
        return torch.randn(64, generator=made), at % 10


distributed = "WORLD_SIZE" in os.environ
if distributed:
    dist.init_process_group("gloo")
torch.manual_seed(0)
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(64, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10))
if distributed:
    model = DistributedDataParallel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = Items()
sampler = DistributedSampler(data) if distributed else None
loader = DataLoader(data, 32, sampler=sampler, shuffle=sampler is None, num_workers=arguments.num_workers)
for epoch in range(arguments.epochs):
    for x, y in loader:
        for again in range(2 if arguments.twice else 1):
            loss = torch.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
if distributed:
    dist.destroy_process_group()

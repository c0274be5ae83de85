# SPDX-License-Identifier: MIT
"""A training whose loss is NaN from step 5 on: by a batch (argument "batch"), by a layer's parameter ("parameter"), or by a parameter of the
optimizer that is in no module ("outside"). As rank 1 of two it is so; rank 0 has a good batch in that step. A mask is infinite throughout."""
import os
import sys
from collections import OrderedDict

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, TensorDataset

rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
torch.manual_seed(0)
torch.set_num_threads(1)
net = torch.nn.Sequential(OrderedDict(first=torch.nn.Linear(20, 50), norm=torch.nn.BatchNorm1d(50), last=torch.nn.Linear(50, 3)))
net.register_buffer("mask", torch.full((3, 3), float("-inf")).triu(1))
scale = torch.nn.Parameter(torch.ones(()))
model = net
if world > 1:
    dist.init_process_group("gloo")
    model = torch.nn.parallel.DistributedDataParallel(net)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
if "outside" in sys.argv:
    optimizer.add_param_group({"params": [scale], "lr": 1e-6})
data = TensorDataset(torch.randn(320, 20), torch.randint(0, 3, (320,)))
for step, (x, y) in enumerate(DataLoader(data, 32)):
    if step == 5 and rank == world - 1:
        if "batch" in sys.argv:
            x[3, 4] = float("nan")
        else:
            with torch.no_grad():
                (scale if "outside" in sys.argv else net.last.bias[1]).fill_(float("inf"))
    loss = torch.nn.functional.cross_entropy(model(x) * scale, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
if world > 1:
    dist.destroy_process_group()

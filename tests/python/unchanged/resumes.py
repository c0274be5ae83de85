# SPDX-License-Identifier: MIT
"""A script that saves a checkpoint of its own after each of its 4 epochs, at the path that it is given, and goes on from it. In its first
attempt its last rank is killed in epoch 3. With the variable RANK it is one rank of torchrun's."""
import os
import signal
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
checkpoint = sys.argv[1]
rank, world = 0, 1
torch.manual_seed(0)
model = torch.nn.Linear(20, 3)
first = 0
if os.path.exists(checkpoint):
    saved = torch.load(checkpoint)
    model.load_state_dict(saved["model"])
    first = saved["epochs"]
module = model
if "RANK" in os.environ:
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    # Not torchrun's store, in which ranks that are started again may find the addresses of those before.
    store = f"file://{checkpoint}-ranks-{os.environ['TORCHELASTIC_RESTART_COUNT']}"
    dist.init_process_group("gloo", init_method=store, rank=rank, world_size=world)
    model = DistributedDataParallel(module)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = TensorDataset(torch.randn(64, 20), torch.randint(0, 3, (64,)))
for epoch in range(first, 4):
    for step, (x, y) in enumerate(DataLoader(data, 8)):
        if first == 0 and epoch == 2 and step == 4 and rank == world - 1:
            os.kill(os.getpid(), signal.SIGKILL)
        loss = torch.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if rank == 0:
        torch.save({"model": module.state_dict(), "epochs": epoch + 1}, checkpoint)
    if world > 1:
        dist.barrier()
if world > 1:
    dist.destroy_process_group()

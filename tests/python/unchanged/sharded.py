# SPDX-License-Identifier: MIT
"""Two ranks of FSDP, by the class or, with the argument "function", by fully_shard(); with "tensors" two of tensor parallelism, both with all
samples. Prints its losses; with "diverges" that of rank 1 is NaN from step 5 on."""
import json
import sys

import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Net(torch.nn.Sequential):
    def __init__(self):
        super().__init__(torch.nn.Linear(20, 50), torch.nn.ReLU(), torch.nn.Linear(50, 3))


dist.init_process_group("gloo")
torch.manual_seed(0)
torch.set_num_threads(1)
data = TensorDataset(torch.randn(640, 20), torch.randint(0, 3, (640,)))
sampler = DistributedSampler(data)
model = Net()
mesh = torch.distributed.device_mesh.init_device_mesh("cpu", (dist.get_world_size(),))
if "function" in sys.argv:
    for layer in (model[0], model[2], model):
        fully_shard(layer, mesh=mesh)
elif "tensors" in sys.argv:
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    model = parallelize_module(model, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    sampler = None
else:
    model = FullyShardedDataParallel(model, device_id=torch.device("cpu"))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
losses = []
for epoch in range(2):
    for x, y in DataLoader(data, 32, sampler=sampler):
        if "diverges" in sys.argv and dist.get_rank() == 1 and len(losses) == 5:
            x[0, 0] = float("nan")
        loss = torch.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
print(json.dumps({"losses": losses}))
dist.destroy_process_group()

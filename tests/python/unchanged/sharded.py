# SPDX-License-Identifier: MIT
"""Two ranks of FSDP, by the class or, with the argument "function", by fully_shard(). Prints its losses; with
"diverges" that of rank 1 is NaN from step 5 on."""
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
model = Net()
if "function" in sys.argv:
    mesh = torch.distributed.device_mesh.init_device_mesh("cpu", (dist.get_world_size(),))
    for layer in (model[0], model[2], model):
        fully_shard(layer, mesh=mesh)
else:
    model = FullyShardedDataParallel(model, device_id=torch.device("cpu"))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
losses = []
for epoch in range(2):
    for x, y in DataLoader(data, 32, sampler=DistributedSampler(data)):
        if "diverges" in sys.argv and dist.get_rank() == 1 and len(losses) == 5:
            x[0, 0] = float("nan")
        loss = torch.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
print(json.dumps({"losses": losses}))
dist.destroy_process_group()

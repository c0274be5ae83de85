# SPDX-License-Identifier: MIT
"""Three steps with a GradScaler, all of which it leaves out because their gradients are infinite. The second has two scaled losses, and the
third divides a scaled one. Prints the losses. With "sharded" it is the GradScaler of FSDP; with "ahead" each next batch is fetched between
a scaled loss and its backward, of which each step has one."""
import json
import sys

import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
if "sharded" in sys.argv:
    from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler

    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    scaler = ShardedGradScaler("cpu", init_scale=2.0**127, process_group=torch.distributed.group.WORLD)
else:
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**127)
losses = []
batches = iter(DataLoader(TensorDataset(torch.randn(12, 4), torch.ones(12, 1)), batch_size=4))
fetched = None
for number in range(3):
    inputs, targets = fetched or next(batches)
    optimizer.zero_grad()
    loss = 1000 * (model(inputs) - targets).square().mean()
    losses.append(loss.item())
    if number == 1 and "ahead" not in sys.argv:
        scaler.scale(loss / 4).backward(retain_graph=True)
        scaler.scale(3 * loss / 4).backward()
    else:
        scaled = scaler.scale(loss)
        fetched = next(batches, None) if "ahead" in sys.argv else None
        (scaled / 2 if number == 2 else scaled).backward()
    scaler.step(optimizer)
    scaler.update()
print(json.dumps({"losses": losses}))

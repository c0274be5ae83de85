# SPDX-License-Identifier: MIT
"""Writes its loss at each step and a figure after each epoch for TensorBoard, into the folder that it is given; into a folder in that one,
another figure of the same name."""
import json
import sys

import torch
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.tensorboard import SummaryWriter

writer, of_test = SummaryWriter(sys.argv[1]), SummaryWriter(sys.argv[1] + "/test")
torch.manual_seed(0)
model = torch.nn.Linear(8, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = DataLoader(TensorDataset(torch.randn(80, 8), torch.randint(0, 2, (80,))), 8)
step = 0
for epoch in range(2):
    losses = []
    for x, y in loader:
        loss = torch.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        writer.add_scalar("Loss/train", loss, step)
        losses.append(loss.item())
        step += 1
    with torch.no_grad():
        for x, y in loader:
            model(x)
    writer.add_scalar("accuracy", (6 + epoch) / 10, epoch)
    of_test.add_scalar("accuracy", 0.25, epoch)
writer.close()
of_test.close()
print(json.dumps({"mean_of_last_epoch": sum(losses) / len(losses)}))

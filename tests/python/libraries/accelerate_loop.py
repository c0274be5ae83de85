# SPDX-License-Identifier: MIT
"""A loop with Accelerate, and our tracker."""
import json

import accelerate
import torch
from batches import loaders

import lockstep.accelerate

torch.manual_seed(0)
accelerator = accelerate.Accelerator(cpu=True, log_with=lockstep.accelerate.Tracker())
accelerator.init_trackers("a project", config={"epochs": 2, "lr": 0.1, "batch_size": 4})
model = torch.nn.Linear(20, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model, optimizer, train, test = accelerator.prepare(model, optimizer, *loaders())
losses, accuracies = [], []
for epoch in range(2):
    for x, y in train:
        loss = torch.nn.functional.cross_entropy(model(x), y)
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    with torch.no_grad():
        right = [(model(x).argmax(1) == y).float().mean().item() for x, y in test]
    accuracies.append(sum(right) / len(right))
    accelerator.log({"accuracy": accuracies[-1], "note": "text is no metric"}, step=epoch)
accelerator.end_training()
print(json.dumps({"losses": losses, "accuracies": accuracies}))

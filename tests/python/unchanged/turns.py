# SPDX-License-Identifier: MIT
"""Two tasks that take turns, each with a loader of its own; the second one begins again whenever it is over. Then a third task alone."""
import itertools

import torch
from torch.utils.data import DataLoader, TensorDataset


def loader(batches):
    return DataLoader(TensorDataset(torch.randn(8 * batches, 5), torch.randint(0, 2, (8 * batches,))), 8)


def endless(batches):
    task = loader(batches)
    return itertools.chain.from_iterable(task for _ in itertools.count())


model = torch.nn.Linear(5, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def train(x, y):
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()


first, second = loader(4), endless(3)
for _ in range(2):
    for batch in first:
        train(*batch)
        train(*next(second))
for batch in loader(4):
    train(*batch)

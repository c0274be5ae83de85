#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The training of lockstep-trainer in plain PyTorch, to compare with (torch alone: no numpy, no torchvision).

    reference.py --method baseline|ddp --model lenet|convnet|mlp|NET --epochs 1 --batch-size 64 --train-samples 640 --lr 0.01
                 --momentum 0.9 --optimizer sgd --seed 1 --precision fp64 --init I.safetensors
                 --save-final F.safetensors --out OUT.json [--world-size 2] [--gradients G.safetensors]
    reference.py --cases FILE    one such command line a line of FILE: torch is imported once for all

NET is a Python file with a class Net. Batches, their order, normalisation and loss are those of lockstep-trainer: DistributedSampler(shuffle=True, seed) with
set_epoch(epoch), global batch size, cross-entropy averaged over the batch. --loader item loads one image at a time
through torch's DataLoader, as published studies do; batch makes whole batches.

OUT.json: {"method", "world_size", "steps", "losses": [one a step: the mean over the global batch], "rank_losses":
[[one a step] of each rank], "rank_samples": the same with the samples they are means of, "test_accuracy",
"epochs": [{"epoch", "duration_s", "loss"}], "parameters": {name: [sum, sum of magnitudes]}}. The sampler's padded
duplicates train, but count in no reported loss.
"""

import argparse
import ctypes
import gzip
import importlib.util
import json
import os
import shlex
import struct
import sys
import tempfile
import time
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed.algorithms.ddp_comm_hooks.default_hooks
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler

DTYPES = {"F64": torch.float64, "F32": torch.float32, "I64": torch.int64, "I32": torch.int32, "U8": torch.uint8}
NORM = {"fashion-mnist": (0.2860, 0.3530), "mnist": (0.1307, 0.3081)}


def read_safetensors(path):
    blob = bytearray(Path(path).read_bytes())
    (length,) = struct.unpack("<Q", blob[:8])
    header = json.loads(blob[8:8 + length])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        data = blob[8 + length + begin:8 + length + end]
        tensors[name] = torch.frombuffer(data, dtype=DTYPES[entry["dtype"]]).reshape(entry["shape"])
    return tensors


def write_safetensors(path, tensors):
    header, parts, at = {}, [], 0
    names = {dtype: name for name, dtype in DTYPES.items()}
    for name, tensor in tensors.items():
        flat = tensor.detach().cpu().contiguous().flatten()
        data = ctypes.string_at(flat.data_ptr(), flat.numel() * flat.element_size())  # bytes(storage) takes a µs a byte
        header[name] = {"dtype": names[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [at, at + len(data)]}
        parts.append(data)
        at += len(data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    Path(path).write_bytes(struct.pack("<Q", len(text)) + text + b"".join(parts))


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, padding=2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(400, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = F.relu(self.fc1(torch.flatten(x, 1)))
        return self.fc3(F.relu(self.fc2(x)))


class ConvNet(nn.Module):
    def __init__(self, rates):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, 3)
        self.conv2 = nn.Conv2d(32, 64, 3)
        self.dropout1 = nn.Dropout(rates[0])
        self.dropout2 = nn.Dropout(rates[1])
        self.fc1 = nn.Linear(9216, 128)
        self.fc2 = nn.Linear(128, 10)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = torch.flatten(self.dropout1(x), 1)
        return self.fc2(self.dropout2(F.relu(self.fc1(x))))


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(784, 128)
        self.fc2 = nn.Linear(128, 10)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(torch.flatten(x, 1))))


def make_model(name, dropout=None):
    if name.endswith(".py"):
        spec = importlib.util.spec_from_file_location("net", name)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.Net()
    if name in ("lenet", "mlp"):
        return LeNet() if name == "lenet" else Mlp()
    return ConvNet((0.25, 0.5) if dropout is None else (dropout, dropout))


def read_idx(folder, name, limit=0):
    path = Path(folder) / name
    blob = path.read_bytes() if path.exists() else gzip.decompress(Path(f"{path}.gz").read_bytes())
    dimensions = blob[3]
    sizes = struct.unpack(f">{dimensions}I", blob[4:4 + 4 * dimensions])
    data = torch.frombuffer(bytearray(blob[4 + 4 * dimensions:]), dtype=torch.uint8).reshape(sizes)
    return data[:limit] if limit else data


class Images(Dataset):
    """An image at a time, as torchvision's data sets work."""

    def __init__(self, images, labels, norm, dtype):
        self.images, self.labels, self.norm, self.dtype = images, labels, norm, dtype

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        return normalize(self.images[index], self.norm, self.dtype), self.labels[index]


def normalize(images, norm, dtype):
    """u8 [..., 28, 28] to normalised [..., 1, 28, 28], computed in dtype."""
    return images.unsqueeze(-3).to(dtype).div(255).sub(norm[0]).div(norm[1])


def batches_of(args, data, sampler, per_rank):
    """Yields (images, labels) of one epoch in the sampler's order."""
    images, labels, norm, dtype = data
    if args.loader == "item":
        yield from DataLoader(Images(*data), batch_size=per_rank, sampler=sampler, num_workers=args.workers)
        return
    order = torch.tensor(list(sampler))
    for chosen in order.split(per_rank):
        yield normalize(images[chosen], norm, dtype), labels[chosen]


def make_optimizer(args, parameters):
    if args.optimizer == "sgd":
        return torch.optim.SGD(parameters, lr=args.lr, momentum=args.momentum, weight_decay=args.weight_decay)
    cls = torch.optim.Adam if args.optimizer == "adam" else torch.optim.AdamW
    return cls(parameters, lr=args.lr, weight_decay=args.weight_decay)


def load(args, split, limit=0):
    labels = read_idx(args.data_dir, f"{split}-labels-idx1-ubyte", limit).long()
    return read_idx(args.data_dir, f"{split}-images-idx3-ubyte", limit), labels


@torch.no_grad()
def accuracy(model, data):
    images, labels, norm, dtype = data
    model.eval()
    right = sum((model(normalize(x, norm, dtype)).argmax(1) == y).sum().item()
                for x, y in zip(images.split(1000), labels.split(1000)))
    model.train()
    return right / len(labels)


def of_all_ranks(values, world):
    """Each rank's list of numbers."""
    if world == 1:
        return [values]
    own = torch.tensor(values, dtype=torch.float64)
    rows = [torch.empty_like(own) for _ in range(world)]
    dist.all_gather(rows, own)
    return [row.tolist() for row in rows]


def real_samples(samples, world, rank, first, size):
    """How many of `size` samples from the rank's `first` on are not the sampler's padded duplicates."""
    return min(max((samples - rank + world - 1) // world - first, 0), size)


def told_loss(loss, logits, labels, real):
    if real in (0, len(labels)):
        return loss.item()
    return F.cross_entropy(logits[:real].detach(), labels[:real]).item()


def passes(net, images, labels, parts):
    """Forward and backward of a batch, in parts whose gradients add up; the logits and the mean loss of all."""
    logits, losses = [], []
    for x, y in zip(images.tensor_split(parts), labels.tensor_split(parts)):
        logits.append(net(x))
        losses.append(F.cross_entropy(logits[-1], y) * (len(y) / len(labels)) if parts > 1 else F.cross_entropy(logits[-1], y))
        losses[-1].backward()
    return torch.cat(logits), sum(losses)


def train(rank, args):
    torch.set_num_threads(args.threads)
    world = args.world_size
    dtype = torch.float64 if args.precision == "fp64" else torch.float32
    torch.manual_seed(args.seed)
    model = make_model(args.model, args.dropout).to(dtype)
    if args.init:
        model.load_state_dict({name: value.to(dtype) for name, value in read_safetensors(args.init).items()})
    net = nn.parallel.DistributedDataParallel(model) if args.method == "ddp" else model
    if args.compress_gradients != "none":
        hooks = torch.distributed.algorithms.ddp_comm_hooks.default_hooks
        net.register_comm_hook(None, getattr(hooks, f"{args.compress_gradients}_compress_hook"))
    optimizer = make_optimizer(args, net.parameters())
    norm = NORM[args.dataset]
    data = (*load(args, "train", args.train_samples), norm, dtype)
    sampler = DistributedSampler(data[0], world, rank, shuffle=True, seed=args.seed)
    losses, samples, epochs = [], [], []
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        started, seen = time.perf_counter(), 0
        for images, labels in batches_of(args, data, sampler, args.batch_size // world):
            optimizer.zero_grad()
            logits, loss = passes(net, images, labels, args.accumulate)
            if args.gradients and not losses and rank == 0:
                write_safetensors(args.gradients, {name: p.grad for name, p in model.named_parameters()})
            optimizer.step()
            samples.append(real_samples(len(data[0]), world, rank, seen, len(labels)))
            losses.append(told_loss(loss, logits, labels, samples[-1]))
            seen += len(labels)
        epochs.append({"epoch": epoch + 1, "duration_s": time.perf_counter() - started})
    losses, samples = of_all_ranks(losses, world), of_all_ranks(samples, world)
    if rank == 0:
        report(args, model, losses, samples, epochs, (*load(args, "t10k"), norm, dtype))


def report(args, model, rank_losses, rank_samples, epochs, test):
    state = model.state_dict()
    sums = [sum(x * n for x, n in zip(*step)) for step in zip(zip(*rank_losses), zip(*rank_samples))]
    counts = [sum(step) for step in zip(*rank_samples)]
    each = len(sums) // len(epochs)
    for i, epoch in enumerate(epochs):
        part = slice(i * each, (i + 1) * each)
        epoch["loss"] = sum(sums[part]) / sum(counts[part])
    if args.save_final:
        write_safetensors(args.save_final, state)
    result = {
        "method": args.method, "world_size": args.world_size, "steps": len(sums),
        "losses": [loss / count for loss, count in zip(sums, counts)],
        "rank_losses": rank_losses, "rank_samples": rank_samples, "epochs": epochs,
        "total_training_time_s": sum(epoch["duration_s"] for epoch in epochs),
        "test_accuracy": accuracy(model, test) if args.evaluate else None,
        "parameters": {k: [v.sum().item(), v.abs().sum().item()] for k, v in state.items()},
    }
    text = json.dumps(result)
    if args.out == "-":
        print(text)
    else:
        Path(args.out).write_text(text + "\n")


def ddp_rank(rank, world, cases, store):
    """One of `world` ranks on this machine over gloo, with rendezvous in a file: no port that may be taken."""
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world)
    for args in cases:
        train(rank, args)
    dist.destroy_process_group()


def arguments(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--method", choices=["baseline", "ddp"], default="baseline")
    parser.add_argument("--model", default="lenet", help="lenet, convnet, mlp, or a Python file with a class Net")
    parser.add_argument("--dataset", choices=sorted(NORM), default="fashion-mnist")
    parser.add_argument("--data-dir", default="/usr/share/datasets/fashion-mnist")
    parser.add_argument("--optimizer", choices=["sgd", "adam", "adamw"], default="sgd")
    parser.add_argument("--precision", choices=["fp32", "fp64"], default="fp32")
    parser.add_argument("--compress-gradients", choices=["none", "fp16", "bf16"], default="none")
    parser.add_argument("--loader", choices=["item", "batch"], default="batch")
    for flag, kind, default in [("--epochs", int, 1), ("--batch-size", int, 64), ("--train-samples", int, 0),
                                ("--lr", float, 0.01), ("--momentum", float, 0.9), ("--weight-decay", float, 0.0),
                                ("--dropout", float, None), ("--seed", int, 1), ("--world-size", int, 1),
                                ("--threads", int, 1), ("--workers", int, 0), ("--accumulate", int, 1)]:
        parser.add_argument(flag, type=kind, default=default)
    parser.add_argument("--init", help="safetensors file with the first parameters")
    parser.add_argument("--save-final", help="safetensors file for the last parameters")
    parser.add_argument("--gradients", help="safetensors file for the gradients of the first step")
    parser.add_argument("--out", default="-", help="JSON file, or - for standard output")
    parser.add_argument("--evaluate", action="store_true", help="also the accuracy on the test set")
    args = parser.parse_args(words)
    if args.method == "baseline" and args.world_size != 1:
        parser.error("--world-size needs --method ddp")
    if args.batch_size % args.world_size:
        parser.error(f"batch size {args.batch_size} can't be divided among {args.world_size} ranks")
    return args


def main():
    words = sys.argv[1:]
    lines = Path(words[1]).read_text().splitlines() if words[:1] == ["--cases"] else [shlex.join(words)]
    cases = [arguments(shlex.split(line)) for line in lines]
    ddp = [args for args in cases if args.method == "ddp"]
    # Forked ranks need not import torch again, but must come before anything here has started torch's threads.
    for world in sorted({args.world_size for args in ddp}):
        own = [args for args in ddp if args.world_size == world]
        with tempfile.TemporaryDirectory() as folder:
            torch.multiprocessing.start_processes(ddp_rank, (world, own, f"{folder}/store"), nprocs=world,
                                                  start_method="fork")
    for args in cases:
        if args.method == "baseline":
            train(0, args)
    return 0


if __name__ == "__main__":
    sys.exit(main())

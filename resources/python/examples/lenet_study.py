#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The published LeNet study, written with PyTorch's own tools: DistributedDataParallel, DataLoader, torchvision's
transforms of PIL images. Only the lines that mention `run` are for Lockstep; without it they do nothing.

    lockstep-agent run --nproc-per-node 2 -- python3 lenet_study.py --mode DDP      shown in Lockstep
    python3 lenet_study.py --num-workers 4                                          without Lockstep
    torchrun --nproc-per-node 2 lenet_study.py --mode DDP --no-affine               without Lockstep

Data: the four IDX files (plain or .gz) of Fashion-MNIST or MNIST in --data-dir.
"""
import argparse
import gzip
import os
import pathlib
import sys
import time

import torch
import torch.distributed as dist
import torch.nn as nn
from PIL import Image
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, Subset
from torch.utils.data.distributed import DistributedSampler
from torchvision import transforms

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import lockstep  # noqa: E402
import lockstep_ddp  # noqa: E402

NORMALISATION = {"fashion-mnist": (0.2860, 0.3530), "mnist": (0.1307, 0.3081)}


def arguments():
    parser = argparse.ArgumentParser(description="LeNet, with and without DistributedDataParallel")
    parser.add_argument("--mode", choices=["base", "DDP"], default="base")
    parser.add_argument("--num-workers", type=int, default=0, help="loading processes of each rank")
    parser.add_argument("--affine", action=argparse.BooleanOptionalAction, default=True, help="random affine")
    parser.add_argument("--dataset", choices=sorted(NORMALISATION), default="fashion-mnist")
    parser.add_argument("--data-dir", default="", help="folder of the IDX files; empty: /usr/share/datasets")
    parser.add_argument("--train-samples", type=int, default=0, help="the first N images; 0: all")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch-size", type=int, default=64, help="of all ranks together")
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--momentum", type=float, default=0.9)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--backend", choices=["auto", "gloo", "nccl"], default="auto")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    args = parser.parse_args()
    args.data_dir = args.data_dir or f"/usr/share/datasets/{args.dataset}"
    if args.backend == "auto":
        args.backend = "nccl" if args.device == "cuda" else "gloo"
    return args


def read_idx(folder, name):
    path = pathlib.Path(folder, name)
    if path.exists():
        blob = path.read_bytes()
    elif (packed := pathlib.Path(f"{path}.gz")).exists():
        blob = gzip.decompress(packed.read_bytes())
    else:
        sys.exit(f"there is neither {path} nor {packed}: give --data-dir the folder of the four IDX files")
    sizes = [int.from_bytes(blob[4 + 4 * i:8 + 4 * i], "big") for i in range(blob[3])]
    return torch.frombuffer(bytearray(blob[4 + 4 * blob[3]:]), dtype=torch.uint8).reshape(sizes)


class Images(Dataset):
    """Loads images one at a time through PIL, as torchvision's own data sets do."""

    def __init__(self, folder, split, transform, samples=0):
        limit = samples or None
        self.images = read_idx(folder, f"{split}-images-idx3-ubyte")[:limit]
        self.labels = read_idx(folder, f"{split}-labels-idx1-ubyte")[:limit]
        self.transform = transform

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        image, label = self.images[index], int(self.labels[index])
        return self.transform(Image.fromarray(image.numpy(), mode="L")), label


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, padding=2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(400, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)

    def forward(self, x):
        x = nn.functional.max_pool2d(torch.relu(self.conv1(x)), 2)
        x = nn.functional.max_pool2d(torch.relu(self.conv2(x)), 2)
        x = torch.relu(self.fc1(torch.flatten(x, 1)))
        return self.fc3(torch.relu(self.fc2(x)))


def loaders(args, rank, world):
    plain = [transforms.ToTensor(), transforms.Normalize(*[(value,) for value in NORMALISATION[args.dataset]])]
    affine = [transforms.RandomAffine(degrees=15, translate=(0.1, 0.1), scale=(0.9, 1.1))] if args.affine else []
    train = Images(args.data_dir, "train", transforms.Compose(affine + plain), args.train_samples)
    test = Images(args.data_dir, "t10k", transforms.Compose(plain))
    sampler = DistributedSampler(train, world, rank, shuffle=True, seed=args.seed)
    return (
        DataLoader(train, args.batch_size // world, sampler=sampler, num_workers=args.num_workers),
        DataLoader(Subset(test, range(rank, len(test), world)), 500, num_workers=args.num_workers),
    )


@torch.no_grad()
def evaluate(model, loader, device):
    """Correct and all predictions by class, over all ranks. Each test image counts once."""
    model.eval()
    counts = torch.zeros(2, 10, device=device)
    for images, labels in loader:
        images, labels = images.to(device), labels.to(device)
        right = labels[model(images).argmax(1) == labels]
        counts += torch.stack([torch.bincount(right, minlength=10), torch.bincount(labels, minlength=10)])
    model.train()
    if dist.is_initialized():
        dist.all_reduce(counts)
    return counts.cpu()


def all_stop(run, device):
    """Whether any rank was asked to stop. All leave the loop at the same step, so that none waits for another."""
    flag = torch.tensor([float(run.stopped)], device=device)
    if dist.is_initialized():
        dist.all_reduce(flag)
    run.stopped = bool(flag.item())
    return run.stopped


def train(args, run, rank, world):
    device = torch.device(f"cuda:{os.environ.get('LOCAL_RANK', 0)}" if args.device == "cuda" else "cpu")
    torch.manual_seed(args.seed)
    model = LeNet().to(device)
    if args.mode == "DDP":
        model = DistributedDataParallel(model)
        lockstep_ddp.watch(run, model)
    loader, test_loader = loaders(args, rank, world)
    followed = "LOCKSTEP_FRAMES" in os.environ  # the same on every rank, even if one of them is no longer shown
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=args.momentum)
    for epoch in range(1, args.epochs + 1):
        loader.sampler.set_epoch(epoch - 1)
        begun = time.perf_counter()
        for step, (images, labels) in enumerate(run.epoch(epoch, loader)):
            with run.phase("h2d"):
                images, labels = images.to(device), labels.to(device)
            with run.phase("forward"):
                optimizer.zero_grad()
                loss = criterion(model(images), labels)
            with run.phase("backward"):
                loss.backward()
            with run.phase("optimizer"):
                optimizer.step()
            run.step(loss, len(labels))
            if followed and step % 20 == 19 and all_stop(run, device):
                return
        seconds = time.perf_counter() - begun
        run.send("state", state="evaluating", epoch=epoch)
        begun = time.perf_counter()
        right, seen = evaluate(model, test_loader, device)
        accuracy = float(right.sum() / seen.sum())
        if rank == 0:
            run.send("eval", epoch=epoch, accuracy=accuracy, samples=int(seen.sum()),
                     per_class_accuracy=(right / seen).tolist(), duration_s=time.perf_counter() - begun)
            print(f"epoch {epoch}: {seconds:.2f} s, last loss {loss.item():.4f}, accuracy {accuracy:.2%}", flush=True)


def main():
    args = arguments()
    rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    ddp = args.mode == "DDP"
    if ddp and "RANK" not in os.environ:  # plain python: one process
        os.environ.update(RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT="0")
    if world > 1 and not ddp:
        sys.exit("--mode base trains in one process: start one, or use --mode DDP")
    if args.batch_size % world:
        sys.exit(f"a batch of {args.batch_size} can't be shared evenly among {world} ranks: take a multiple of {world}")
    if args.device == "cuda":
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)))
    run = lockstep.Run(method="ddp" if ddp else "baseline", backend=args.backend if ddp else None, model="lenet",
                       dataset=args.dataset, loader="item", workers=args.num_workers, batch_size=args.batch_size,
                       augment="affine" if args.affine else "none", epochs=args.epochs, optimizer="sgd", lr=args.lr,
                       momentum=args.momentum, seed=args.seed, precision="fp32", threads=torch.get_num_threads(),
                       train_samples=args.train_samples, torch=torch.__version__)
    if ddp:
        dist.init_process_group(args.backend)
    train(args, run, rank, world)
    if ddp:
        dist.destroy_process_group()
    return run.close()


if __name__ == "__main__":
    sys.exit(main())

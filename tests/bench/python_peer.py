#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The peer of lockstep-trainer in trainer_vs_python.py: the same training as people write it with PyTorch and torchvision.

    python_peer.py loader --data pil|tuned [--affine] [--workers N] …      only loads
    python_peer.py train  --data pil|tuned [--affine] [--workers N] …      trains; DDP when RANK is set (torchrun)
    python_peer.py train  --data pil|graph --device cuda [--affine] …      trains on a GPU

pil:    torchvision.datasets.FashionMNIST, transforms on PIL images, DataLoader: the usual way.
tuned:  what a careful person writes in Python: whole batches indexed from resident tensors, one batched affine_grid and
        grid_sample, torch.optim's fused step.
graph:  the same person with a GPU: data and affine on it, a whole step as one torch.cuda.graph (gpu_peer.py).

Writes to --out (with the rank behind it under torchrun): {"epochs_s", "images", "steps", "first_step_unix_s",
"peak_rss_bytes", "accuracy", "policy"}. Epochs are the training loop's wall time; evaluation is left out.
"""
import argparse
import json
import os
import time
from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.utils.data import DataLoader, Subset
from torch.utils.data.distributed import DistributedSampler

from reference import NORM, accuracy, make_model, read_idx

MEAN, STD = NORM["fashion-mnist"]


def raw_images(options, part):
    folder = Path(options.root) / "FashionMNIST/raw"
    return read_idx(folder, f"{part}-images-idx3-ubyte"), read_idx(folder, f"{part}-labels-idx1-ubyte").long()


def pil_batches(options, sampler, per_rank):
    from torchvision import datasets, transforms  # a tuned program starts without it
    steps = [transforms.ToTensor(), transforms.Normalize((MEAN,), (STD,))]
    if options.affine:
        steps.insert(0, transforms.RandomAffine(degrees=15, translate=(0.1, 0.1), scale=(0.9, 1.1)))
    images = datasets.FashionMNIST(options.root, train=True, transform=transforms.Compose(steps))
    return DataLoader(Subset(images, range(options.samples)), batch_size=per_rank, sampler=sampler,
                      num_workers=options.workers, persistent_workers=options.workers > 0,
                      pin_memory=options.device == "cuda")


class TunedBatches:
    """Whole batches; one affine a batch, drawn and applied for all its images at once."""

    def __init__(self, options, sampler, per_rank):
        images, labels = raw_images(options, "train")
        self.images, self.labels = images[:options.samples].unsqueeze(1), labels[:options.samples]
        self.affine, self.sampler, self.per_rank = options.affine, sampler, per_rank

    def __iter__(self):
        for chosen in torch.tensor(list(self.sampler)).split(self.per_rank):
            pixels = self.images[chosen].float().div_(255)
            if self.affine:
                pixels = batched_affine(pixels)
            yield pixels.sub_(MEAN).div_(STD), self.labels[chosen]


def batched_affine(pixels):
    n, side = len(pixels), pixels.shape[-1]
    angle = torch.empty(n).uniform_(-15, 15).deg2rad_()
    scale = torch.empty(n).uniform_(0.9, 1.1)
    shift = torch.empty(n, 2).uniform_(-0.1 * side, 0.1 * side).round_() * 2 / side
    cos, sin = angle.cos() / scale, angle.sin() / scale
    theta = torch.stack([torch.stack([cos, sin, -(cos * shift[:, 0] + sin * shift[:, 1])], 1),
                         torch.stack([-sin, cos, -(-sin * shift[:, 0] + cos * shift[:, 1])], 1)], 1)
    grid = F.affine_grid(theta, pixels.shape, align_corners=False)
    return F.grid_sample(pixels, grid, mode="nearest", padding_mode="zeros", align_corners=False)


def make_batches(options, sampler, per_rank):
    return (pil_batches if options.data == "pil" else TunedBatches)(options, sampler, per_rank)


def peak_rss_bytes():
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024
    return 0  # some containers' kernels don't report it


def with_children(own):
    """Loading workers are processes of their own here: their peaks count."""
    total = own
    for task in Path("/proc/self/task").iterdir():
        children = task / "children"
        for child in children.read_text().split() if children.exists() else []:
            status = Path(f"/proc/{child}/status").read_text()
            total += next((int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM")), 0)
    return total


def load_only(options):
    sampler = DistributedSampler(range(options.samples), 1, 0, shuffle=True, seed=options.seed)
    batches, epochs = make_batches(options, sampler, options.batch_size), []
    for epoch in range(options.epochs):
        sampler.set_epoch(epoch)
        started = time.perf_counter()
        images = sum(len(labels) for _, labels in batches)
        epochs.append(time.perf_counter() - started)
    return {"epochs_s": epochs, "images": images}


def train(options):
    rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    if "RANK" in os.environ:
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
        dist.init_process_group("gloo")
    torch.manual_seed(options.seed)
    device = torch.device(options.device)
    model = make_model(options.model, 0.0 if options.model == "convnet" else None).to(device)
    net = torch.nn.parallel.DistributedDataParallel(model) if "RANK" in os.environ else model
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9, fused=options.data == "tuned")
    sampler = DistributedSampler(range(options.samples), world, rank, shuffle=True, seed=options.seed)
    batches = make_batches(options, sampler, options.batch_size // world)
    epochs, first_step, steps = [], None, 0
    for epoch in range(options.epochs):
        sampler.set_epoch(epoch)
        running = 0.0
        started = time.perf_counter()
        for images, labels in batches:
            if options.device == "cuda":
                images, labels = images.to(device, non_blocking=True), labels.to(device, non_blocking=True)
            optimizer.zero_grad()
            loss = F.cross_entropy(net(images), labels)
            loss.backward()
            optimizer.step()
            running += loss.item()
            steps += 1
            first_step = first_step or time.time()
        epochs.append(time.perf_counter() - started)
    found = {"epochs_s": epochs, "images": options.samples, "steps": steps, "first_step_unix_s": first_step,
             "peak_rss_bytes": with_children(peak_rss_bytes())}
    if rank == 0 and options.evaluate:
        found["accuracy"] = test_accuracy(options, model)
    if dist.is_initialized():
        dist.destroy_process_group()
    return found


def test_accuracy(options, model):
    return accuracy(model.to("cpu"), (*raw_images(options, "t10k"), (MEAN, STD), torch.float32))


def train_graph(options):
    import gpu_peer
    model, found = gpu_peer.train(options)
    found["peak_rss_bytes"] = with_children(peak_rss_bytes())
    if options.evaluate:
        found["accuracy"] = test_accuracy(options, model)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", choices=["loader", "train"])
    parser.add_argument("--root", required=True, help="folder with FashionMNIST/raw")
    parser.add_argument("--data", choices=["pil", "tuned", "graph"], default="pil")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--affine", action="store_true")
    parser.add_argument("--model", default="lenet")
    parser.add_argument("--cores", help="pin to these; under torchrun the one of the local rank")
    parser.add_argument("--batch-policy", action="store_true", help="run under SCHED_BATCH")
    parser.add_argument("--evaluate", action="store_true")
    parser.add_argument("--out", required=True)
    for flag, default in [("--workers", 0), ("--samples", 12800), ("--epochs", 2), ("--batch-size", 64), ("--seed", 1), ("--threads", 1)]:
        parser.add_argument(flag, type=int, default=default)
    options = parser.parse_args()
    if (options.data == "graph") != (options.data == "graph" and options.device == "cuda" and options.work == "train"):
        parser.error("--data graph trains on --device cuda")
    if options.cores:
        cores = [int(core) for core in options.cores.split(",")]
        local = os.environ.get("LOCAL_RANK")
        os.sched_setaffinity(0, cores if local is None else {cores[int(local)]})
    if options.batch_policy:
        try:
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
        except OSError:
            pass  # not in every container; `policy` shows the result
    torch.set_num_threads(options.threads)
    found = load_only(options) if options.work == "loader" else (train_graph if options.data == "graph" else train)(options)
    found["policy"] = "batch" if os.sched_getscheduler(0) == os.SCHED_BATCH else "other"
    Path(options.out + os.environ.get("RANK", "")).write_text(json.dumps(found))


if __name__ == "__main__":
    main()

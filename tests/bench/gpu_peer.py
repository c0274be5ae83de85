# SPDX-License-Identifier: MIT
"""The careful person's training on a GPU, for python_peer.py --data graph: all images resident on the GPU, a whole step
(gather, affine, forward, backward, fused SGD) as one torch.cuda.graph, nothing read back before an epoch ends."""
import time

import torch
import torch.nn.functional as F
from torchvision import datasets

from reference import NORM, make_model

MEAN, STD = NORM["fashion-mnist"]
WARM_UP = 3  # steps on a side stream before the capture, as torch's documentation asks for


def affine_on(pixels):
    """RandomAffine(15°, translate 0.1, scale 0.9-1.1) for a batch, drawn where the pixels are."""
    n, side, device = len(pixels), pixels.shape[-1], pixels.device
    angle = torch.empty(n, device=device).uniform_(-15, 15).deg2rad_()
    scale = torch.empty(n, device=device).uniform_(0.9, 1.1)
    shift = torch.empty(n, 2, device=device).uniform_(-0.1 * side, 0.1 * side).round_() * 2 / side
    cos, sin = angle.cos() / scale, angle.sin() / scale
    theta = torch.stack([torch.stack([cos, sin, -(cos * shift[:, 0] + sin * shift[:, 1])], 1),
                         torch.stack([-sin, cos, -(-sin * shift[:, 0] + cos * shift[:, 1])], 1)], 1)
    grid = F.affine_grid(theta, pixels.shape, align_corners=False)
    return F.grid_sample(pixels, grid, mode="nearest", padding_mode="zeros", align_corners=False)


class Step:
    """One step on the batch whose samples stand in `chosen`."""

    def __init__(self, options, device):
        torch.manual_seed(options.seed)
        raw = datasets.FashionMNIST(options.root, train=True)
        self.images = raw.data[:options.samples].unsqueeze(1).to(device)
        self.labels = raw.targets[:options.samples].to(device)
        self.affine = options.affine
        self.model = make_model(options.model, 0.0 if options.model == "convnet" else None).to(device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01, momentum=0.9, fused=True)
        self.chosen = torch.zeros(options.batch_size, dtype=torch.int64, device=device)
        self.running = torch.zeros((), device=device)
        self.graph = None

    def run(self, chosen):
        pixels = self.images[chosen].float().div_(255)
        if self.affine:
            pixels = affine_on(pixels)
        loss = F.cross_entropy(self.model(pixels.sub_(MEAN).div_(STD)), self.labels[chosen])
        loss.backward()
        self.optimizer.step()
        self.running += loss.detach()

    def eager(self, chosen):
        self.optimizer.zero_grad(set_to_none=True)
        self.run(chosen)

    def capture(self, order):
        """Warms up with real steps, then captures; gives how many samples those steps took."""
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        size = len(self.chosen)
        with torch.cuda.stream(side):
            for step in range(WARM_UP):
                self.eager(order[step * size:(step + 1) * size])
        torch.cuda.current_stream().wait_stream(side)
        self.optimizer.zero_grad(set_to_none=True)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.run(self.chosen)
        self.graph = graph
        # Of the capture: the graph writes these anew at each replay. An eager step must not add to them.
        self.gradients = [parameter.grad for parameter in self.model.parameters()]
        return WARM_UP * size

    def replay(self, chosen):
        self.chosen.copy_(chosen)
        self.graph.replay()


def train(options):
    device = torch.device("cuda")
    step = Step(options, device)
    epochs, first_step, steps, size = [], None, 0, options.batch_size
    for epoch in range(options.epochs):
        step.running.zero_()
        torch.cuda.synchronize()
        started = time.perf_counter()
        order = torch.randperm(options.samples, generator=torch.Generator().manual_seed(options.seed + epoch))
        order = order.pin_memory().to(device, non_blocking=True)  # DistributedSampler's for one rank
        done = 0
        if step.graph is None:
            done = step.capture(order)
            first_step = time.time()
        for first in range(done, options.samples, size):
            chosen = order[first:first + size]
            (step.replay if len(chosen) == size else step.eager)(chosen)
        step.running.item()  # waits for the epoch's last step
        epochs.append(time.perf_counter() - started)
        steps += -(-options.samples // size)
    return step.model, {"epochs_s": epochs, "images": options.samples, "steps": steps, "first_step_unix_s": first_step}

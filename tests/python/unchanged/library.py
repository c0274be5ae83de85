# SPDX-License-Identifier: MIT
"""A script of Lightning or of Hugging Face's Trainer that knows nothing of Lockstep, with timers of its own and a validation after each epoch.
Prints them and its losses.

    library.py lightning|huggingface
"""
import json
import logging
import sys
import tempfile
import time
import warnings

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, default_collate

BATCH, STEPS, EPOCHS = 32, 20, 5


class Hand:
    """Assigns the time since the mark before to a phase."""

    def __init__(self):
        self.epochs, self.batches, self.last = [], 0, 0.0

    def mark(self, phase):
        now = time.monotonic()
        if self.epochs:
            self.epochs[-1][phase] = self.epochs[-1].get(phase, 0.0) + now - self.last
        self.last = now

    def batch_begins(self):
        if self.batches % STEPS == 0:
            self.epochs.append({})
        self.batches += 1
        self.mark("other")


hand, losses = Hand(), []


class Samples(Dataset):
    def __init__(self, count, is_timed):
        made = torch.Generator().manual_seed(1)
        self.x, self.y = torch.randn(count, 20, generator=made), torch.randint(0, 3, (count,), generator=made)
        self.is_timed, self.asked = is_timed, 0

    def __len__(self):
        return len(self.x)

    def __getitem__(self, at):
        if self.is_timed and self.asked % BATCH == 0:
            hand.batch_begins()
        self.asked += 1
        time.sleep(0.0002)
        return {"x": self.x[at], "labels": self.y[at], "timed": self.is_timed}


def collate(samples):
    batch = default_collate([{"x": one["x"], "labels": one["labels"]} for one in samples])
    if samples[0]["timed"]:
        hand.mark("load")
    return batch


class Timed(torch.optim.SGD):
    def step(self, closure=None):
        hand.mark("other")
        given = super().step(closure)
        hand.mark("optimizer")
        return given


def backward(loss):
    hand.mark("forward")
    loss.backward()
    hand.mark("backward")
    losses.append(loss.item())


def net():
    return nn.Sequential(nn.Linear(20, 512), nn.ReLU(), nn.Linear(512, 3))


warnings.filterwarnings("ignore")
torch.manual_seed(0)
torch.set_num_threads(1)
train, validation = Samples(STEPS * BATCH, True), Samples(160, False)
with tempfile.TemporaryDirectory() as folder:
    if sys.argv[1] == "lightning":
        import pytorch_lightning as lightning

        logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)

        class Module(lightning.LightningModule):
            def __init__(self):
                super().__init__()
                self.net = net()

            def training_step(self, batch, number):
                return nn.functional.cross_entropy(self.net(batch["x"]), batch["labels"])

            def validation_step(self, batch, number):
                self.net(batch["x"])

            def backward(self, loss):
                backward(loss)

            def configure_optimizers(self):
                return Timed(self.parameters(), lr=0.01)

        lightning.Trainer(max_epochs=EPOCHS, accelerator="cpu", devices=1, logger=False, enable_checkpointing=False, enable_progress_bar=False,
                          enable_model_summary=False, num_sanity_val_steps=0).fit(
            Module(), DataLoader(train, BATCH, collate_fn=collate), DataLoader(validation, BATCH, collate_fn=collate))
    else:
        from transformers import Trainer, TrainingArguments

        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = net()

            def forward(self, x, labels):
                scores = self.net(x)
                return {"loss": nn.functional.cross_entropy(scores, labels), "scores": scores}

        model = Model()
        trainer = Trainer(model=model, args=TrainingArguments(
            folder, num_train_epochs=EPOCHS, per_device_train_batch_size=BATCH, eval_strategy="epoch", save_strategy="no", report_to=[], use_cpu=True,
            disable_tqdm=True, remove_unused_columns=False, logging_strategy="no"), train_dataset=train, eval_dataset=validation,
            data_collator=collate, optimizers=(Timed(model.parameters(), lr=0.01), None))
        trainer.accelerator.backward = lambda loss, **_: backward(loss)
        trainer.train()
print(json.dumps({"hand": hand.epochs, "losses": losses}))

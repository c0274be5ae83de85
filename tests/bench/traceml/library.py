# SPDX-License-Identifier: MIT
"""A script of Lightning or of Hugging Face's Trainer that knows of no tool; a validation follows each of two epochs. Prints a line, "TRUTH"
and JSON: the steps, the seconds that its data sets took, timed inside them, and the seconds a step: from one batch's first sample to the
next one's, from the 16th batch of each epoch on.

    library.py lightning|huggingface STEPS ITEM_MS VALIDATION_MS     steps of an epoch; milliseconds that a sample takes to load
"""
import json
import sys
import tempfile
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

LIBRARY, STEPS, ITEM_MS, VALIDATION_MS = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4])
BATCH = 32
UNUSUAL = 15  # steps at the beginning of an epoch that are not among those whose time is told


class Samples(Dataset):
    def __init__(self, count, wait_ms):
        self.x, self.y = torch.randn(count, 1, 28, 28), torch.randint(0, 10, (count,))
        self.wait_s, self.seconds = wait_ms / 1000, 0.0
        self.batches_begun, self.asked = [], 0

    def __len__(self):
        return len(self.x)

    def __getitem__(self, at):
        begun = time.perf_counter()
        if self.asked % BATCH == 0:
            self.batches_begun.append(begun)
        self.asked += 1
        if self.wait_s:
            time.sleep(self.wait_s)
        self.seconds += time.perf_counter() - begun
        return {"x": self.x[at], "labels": self.y[at]}

    def step_s(self):
        """Seconds a step."""
        epochs = [self.batches_begun[at + UNUSUAL:at + STEPS] for at in range(0, len(self.batches_begun), STEPS)]
        return sum(epoch[-1] - epoch[0] for epoch in epochs) / sum(len(epoch) - 1 for epoch in epochs)


def net():
    return nn.Sequential(nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))


torch.manual_seed(0)
torch.set_num_threads(1)
train, validation = Samples(STEPS * BATCH, ITEM_MS), Samples(160, VALIDATION_MS)
with tempfile.TemporaryDirectory() as folder:
    if LIBRARY == "lightning":
        import pytorch_lightning as lightning

        class Module(lightning.LightningModule):
            def __init__(self):
                super().__init__()
                self.net = net()

            def training_step(self, batch, number):
                return nn.functional.cross_entropy(self.net(batch["x"]), batch["labels"])

            def validation_step(self, batch, number):
                self.net(batch["x"])

            def configure_optimizers(self):
                return torch.optim.SGD(self.parameters(), lr=0.01)

        trainer = lightning.Trainer(max_epochs=2, accelerator="cpu", devices=1, logger=False, enable_checkpointing=False,
                                    enable_progress_bar=False)
        trainer.fit(Module(), DataLoader(train, BATCH), DataLoader(validation, BATCH))
        steps = trainer.global_step
    else:
        from transformers import Trainer, TrainingArguments

        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = net()

            def forward(self, x, labels):
                logits = self.net(x)
                return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}

        wanted = TrainingArguments(folder, num_train_epochs=2, per_device_train_batch_size=BATCH, per_device_eval_batch_size=BATCH,
                                   eval_strategy="epoch", save_strategy="no", report_to="none", use_cpu=True, disable_tqdm=True)
        trainer = Trainer(Model(), wanted, train_dataset=train, eval_dataset=validation)
        trainer.train()
        steps = trainer.state.global_step
hand = {"load": train.seconds, "validation's load": validation.seconds}
print("TRUTH", json.dumps({"rank": 0, "steps": steps, "hand": hand, "step_s": train.step_s()}), flush=True)

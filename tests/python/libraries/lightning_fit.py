# SPDX-License-Identifier: MIT
"""Lightning, with our callback and a TensorBoard logger. Arguments: the logger's folder, and how many epochs if not two."""
import json
import os
import sys

import pytorch_lightning as lightning
import torch
from pytorch_lightning.loggers import TensorBoardLogger
from batches import loaders

import lockstep.lightning


class Small(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(20, 3)
        self.losses, self.accuracies = [], []

    def training_step(self, batch, number):
        loss = torch.nn.functional.cross_entropy(self.net(batch[0]), batch[1])
        self.losses.append(loss.item())
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, number):
        accuracy = (self.net(batch[0]).argmax(1) == batch[1]).float().mean()
        self.log("val_accuracy", accuracy)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


torch.manual_seed(0)
model = Small()
train, test = loaders()
trainer = lightning.Trainer(max_epochs=int((sys.argv[2:] or [2])[0]), accelerator="cpu", devices=int(os.environ.get("WORLD_SIZE", "1")), logger=TensorBoardLogger(sys.argv[1]), enable_checkpointing=False,
                            enable_progress_bar=False, enable_model_summary=False, log_every_n_steps=5, num_sanity_val_steps=1,
                            callbacks=[lockstep.lightning.Callback()])
trainer.fit(model, train, test)
print(json.dumps({"losses": model.losses, "accuracy": float(trainer.callback_metrics["val_accuracy"])}))

# SPDX-License-Identifier: MIT
"""Hugging Face's Trainer, with our callback and TensorBoard's. Arguments: its folder, and how many epochs if not two."""
import json
import sys

import torch
from batches import loaders
from transformers import Trainer, TrainingArguments

import lockstep.huggingface


class Small(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(20, 3)

    def forward(self, x, labels):
        logits = self.net(x)
        return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}


def rows(loader):
    return [{"x": x, "labels": y} for x, y in loader.dataset]


torch.manual_seed(0)
train, test = loaders()
arguments = TrainingArguments(output_dir=sys.argv[1], num_train_epochs=int((sys.argv[2:] or [2])[0]), per_device_train_batch_size=16, per_device_eval_batch_size=16,
                              logging_steps=5, eval_strategy="epoch", save_strategy="no", report_to="tensorboard", use_cpu=True,
                              disable_tqdm=True, learning_rate=0.1, optim="sgd", seed=0)
trainer = Trainer(model=Small(), args=arguments, train_dataset=rows(train), eval_dataset=rows(test),
                  callbacks=[lockstep.huggingface.Callback()])
trainer.train()
logged = trainer.state.log_history
print(json.dumps({"losses": [float(each["loss"]) for each in logged if "loss" in each],
                  "eval_loss": [float(each["eval_loss"]) for each in logged if "eval_loss" in each]}))

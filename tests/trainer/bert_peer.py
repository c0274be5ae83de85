#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Hugging Face's transformers as the measure of our BERT: one word says what to do.

    bert_peer.py folder DIR OLD_NAMES     makes a small BERT, in the folder of a vocab.txt: config.json and model.safetensors; with
                                          OLD_NAMES 1 as older folders have it: gamma and beta, no head, no "bert." before the names
    bert_peer.py passes DIR IN OUT        logits, loss and gradients of tokens and targets in a safetensors file
    bert_peer.py train DIR TEXTS.csv OUT fp32|fp64
                                          20 steps of fine-tuning; prints each loss, saves the parameters
    bert_peer.py test DIR TEXTS.csv       prints how many test texts a fine-tuned folder gets right, and how many there are
    bert_peer.py serve ASKED ANSWERS      does so for each line of words that comes out of the named pipe ASKED; what is printed goes
                                          into ANSWERS, then the line "done"
"""

import contextlib
import csv
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from tokenizers import BertWordPieceTokenizer
from torch.utils.data.distributed import DistributedSampler
from transformers import BertConfig, BertForSequenceClassification, get_linear_schedule_with_warmup

BATCH, STEPS, SEED = 8, 20, 1
LABELS = ["negative", "neutral", "positive"]


def folder(path, old_names):
    words = Path(path, "vocab.txt").read_text().splitlines()
    torch.manual_seed(3)
    config = BertConfig(vocab_size=len(words), hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
                        max_position_embeddings=40, num_labels=3)
    model = BertForSequenceClassification(config)
    with torch.no_grad():  # as trained weights: not zero, not one
        for parameter in model.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    model.save_pretrained(path)
    if int(old_names):
        tensors = load_file(Path(path, "model.safetensors"))
        renamed = {}
        for name, tensor in tensors.items():
            if not name.startswith("classifier."):
                name = name.removeprefix("bert.").replace("LayerNorm.weight", "LayerNorm.gamma")
                renamed[name.replace("LayerNorm.bias", "LayerNorm.beta")] = tensor
        save_file(renamed, Path(path, "model.safetensors"), {"format": "pt"})


def load(path, dtype):
    model = BertForSequenceClassification.from_pretrained(path, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    return model.to(dtype).train()


def passes(path, given, out):
    given = load_file(given)
    saved = {}
    for dtype in (torch.float32, torch.float64):
        model = load(path, dtype)
        tokens = given["tokens"]
        logits = model(input_ids=tokens, attention_mask=(tokens != 0).long()).logits
        loss = torch.nn.functional.cross_entropy(logits, given["targets"])
        loss.backward()
        name = str(dtype).removeprefix("torch.")
        saved[f"{name}.logits"], saved[f"{name}.loss"] = logits.detach(), loss.detach().reshape(1)
        for key, parameter in model.named_parameters():
            saved[f"{name}.grad.{key}"] = parameter.grad.contiguous()
    save_file(saved, out)


def texts_of(path, test):
    with open(path, newline="", encoding="utf-8", errors="replace") as file:
        rows = list(csv.DictReader(file))
    order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(0)).tolist()
    chosen = [rows[record] for i, record in enumerate(order) if (i % 10 == 9) == test]
    return [row["text"] for row in chosen], torch.tensor([LABELS.index(row["label"]) for row in chosen])


def encoded(path, texts):
    tokenizer = BertWordPieceTokenizer(str(Path(path, "vocab.txt")), lowercase=True)
    tokenizer.enable_truncation(24)
    tokenizer.enable_padding()
    return torch.tensor([encoding.ids for encoding in tokenizer.encode_batch(texts)])


def train(path, file, out, precision):
    texts, targets = texts_of(file, test=False)
    model = load(path, torch.float64 if precision == "fp64" else torch.float32)
    decaying = [p for p in model.parameters() if p.dim() > 1]
    steady = [p for p in model.parameters() if p.dim() < 2]
    optimizer = torch.optim.AdamW([{"params": decaying, "weight_decay": 0.01}, {"params": steady, "weight_decay": 0.0}], lr=1e-3)
    schedule = get_linear_schedule_with_warmup(optimizer, 4, STEPS)
    sampler = DistributedSampler(texts[: BATCH * STEPS], 1, 0, shuffle=True, seed=SEED)
    order = list(sampler)
    for step in range(STEPS):
        chosen = order[BATCH * step : BATCH * (step + 1)]
        tokens = encoded(path, [texts[i] for i in chosen])
        loss = torch.nn.functional.cross_entropy(
            model(input_ids=tokens, attention_mask=(tokens != 0).long()).logits, targets[chosen])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        print(repr(loss.item()))
    save_file({key: parameter.detach().contiguous() for key, parameter in model.named_parameters()}, out)


def test(path, file):
    texts, targets = texts_of(file, test=True)
    model = BertForSequenceClassification.from_pretrained(path).eval()
    assert [model.config.id2label[i] for i in range(3)] == LABELS, model.config.id2label
    tokens = encoded(path, texts)
    with torch.no_grad():
        logits = model(input_ids=tokens, attention_mask=(tokens != 0).long()).logits
    print(int((logits.argmax(1) == targets).sum()), len(texts))


if __name__ == "__main__":
    torch.set_num_threads(1)
    WHAT = {"folder": folder, "passes": passes, "train": train, "test": test}
    if sys.argv[1] == "serve":
        with open(sys.argv[2], encoding="utf-8") as asked, open(sys.argv[3], "w", encoding="utf-8") as answers:
            for line in asked:
                what, *words = line.split()
                with contextlib.redirect_stdout(answers):
                    WHAT[what](*words)
                    print("done", flush=True)
    else:
        WHAT[sys.argv[1]](*sys.argv[2:])

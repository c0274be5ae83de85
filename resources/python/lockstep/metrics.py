# SPDX-License-Identifier: MIT
"""Metrics of a script's own, by name: accuracy, learning rate, whatever it measures."""
from __future__ import annotations

import math
import re
import zlib
from collections import deque
from pathlib import PurePath
from typing import Any, Deque, Dict, List, Optional, Set, Tuple

from lockstep import signals
from lockstep.tensors import copied

MOST_METRICS = 32  # of one run, as ipc/scalars.h has it
LONGEST_NAME = 48
MOST_UNREAD = 10_000  # values that wait, the newest
MOST_TAGS = 1000  # of TensorBoard writers, each with its folder
Value = Tuple[str, Any]  # of a metric: its name, and a number or a copied tensor
_MADE_BY_HPARAMS = re.compile(r"\d{9,}\.\d+")  # the folder, named by the time, into which add_hparams() writes results once more


def metric_name(tag: str) -> str:
    """The name under which Lockstep shows a tag: "Loss/train" is Loss_train. Letters, digits and _, no digit first."""
    name = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in tag)
    return ("_" + name if name[:1].isdigit() else name)[:LONGEST_NAME]


class WriterTags:
    """Names for the tags of several TensorBoard writers. Of one that another writer has given, too, the end of the writer's folder is a part:
    val/accuracy beside accuracy."""

    def __init__(self) -> None:
        self._names: Dict[Tuple[str, str], str] = {}  # by tag and folder

    def name(self, tag: str, folder: str) -> str:
        """The name for a tag of the writer of a folder."""
        name = self._names.get((tag, folder))
        if name is None:
            if len(self._names) >= MOST_TAGS:  # no run has so many metrics
                return f"{folder}/{tag}"
            self._names[tag, folder] = name = self._new(tag, PurePath(folder).parts)
        return name

    def _new(self, tag: str, parts: Tuple[str, ...]) -> str:
        if parts and _MADE_BY_HPARAMS.fullmatch(parts[-1]):
            return tag
        taken = self._names.values()
        names = ("/".join((*parts[start:], tag)) for start in range(len(parts), -1, -1))
        return next((name for name in names if name not in taken), tag)


class Metric:
    """The values of one metric since the last report. They may be NaN or infinite."""

    def __init__(self, first: float) -> None:
        self._sum = self._lowest = self._highest = self._last = first
        self._count = 1

    def add(self, value: float) -> None:
        """Adds a value."""
        self._sum += value
        self._lowest = min(self._lowest, value)
        self._highest = max(self._highest, value)
        self._last = value
        self._count += 1

    def body(self) -> Dict[str, float]:
        """As frames carry it. If the sum is NaN, so are the lowest and the highest."""
        known = not math.isnan(self._sum)
        return {"sum": self._sum, "weight": self._count, "min": self._lowest if known else self._sum,
                "max": self._highest if known else self._sum, "last": self._last}


class MetricLog:
    """The values that wait to be reported. Reading one may wait for a GPU, so they are read when a report is due.

    A value that is no number, and a metric after the 32nd, are left out; `refused` says so, once each.
    """

    def __init__(self) -> None:
        self.refused: List[str] = []  # sentences that nobody has reported yet
        self._names: Dict[str, str] = {}  # by tag
        self._bad: Set[str] = set()
        self._unread: Deque[Value] = deque(maxlen=MOST_UNREAD)

    def add(self, tag: str, value: Any) -> None:
        """Adds a value of a metric."""
        given = self.read(tag, value)
        if given is not None:
            self.put(given)

    def read(self, tag: str, value: Any) -> Optional[Value]:
        """A value as it is now, for put(); None: it is left out."""
        name = self._name(tag)
        return (name, copied(value)) if name is not None else None

    def put(self, given: Value) -> None:
        """Adds a value that read() gave."""
        self._unread.append(given)

    def take(self) -> Optional[Dict[str, Dict[str, float]]]:
        """What was added since it was last taken; None: nothing."""
        unread, self._unread = self._unread, deque(maxlen=MOST_UNREAD)
        metrics: Dict[str, Metric] = {}
        for name, value in unread:
            try:
                number = float(value)
            except Exception as error:
                signals.pass_on(error)
                self._refuse(name, f"the metric {name} was given a {type(value).__name__}, which is no number; such values are "
                                   "left out")
                continue
            if name in metrics:
                metrics[name].add(number)
            else:
                metrics[name] = Metric(number)
        return {name: metric.body() for name, metric in metrics.items()} or None

    def _name(self, tag: str) -> Optional[str]:
        name = self._names.get(tag)
        if name is not None:
            return name
        if not tag or len(self._names) >= MOST_METRICS:
            self._refuse(tag, f"the metric {tag[:LONGEST_NAME]!r} is left out: " +
                         (f"a run has at most {MOST_METRICS}" if tag else "it has no name"))
            return None
        name = metric_name(tag)
        if name in self._names.values():  # another tag's, whose characters became the same
            name = f"{name[:LONGEST_NAME - 9]}_{zlib.crc32(tag.encode()):08x}"
        self._names[tag] = name
        return name

    def _refuse(self, key: str, sentence: str) -> None:
        if key not in self._bad and len(self._bad) < MOST_METRICS:
            self._bad.add(key)
            self.refused.append(sentence)

# SPDX-License-Identifier: MIT
"""The lines that a rank sends: JSON objects in UTF-8. ipc/frames.h in Lockstep's source describes them."""
from __future__ import annotations

import json
import math
import operator
from typing import Any, Dict, Mapping

from lockstep import signals

PROTOCOL = "1.0"
LONGEST_TEXT = 200  # characters of a value that is described by its text
MOST_BYTES = 64 * 1024  # of a line with its end, as ipc/frames.h has it


def hello(rank: int, pid: int, host: str, token: str) -> bytes:
    """The first line of a connection."""
    return _line({"type": "hello", "protocol": PROTOCOL, "role": "rank", "rank": rank, "pid": pid, "name": host,
                  "token": token})


def frame(kind: str, stamp: Mapping[str, int], body: Mapping[str, Any]) -> bytes:
    """One frame. Keys of the body whose value is None are unknown and left out.

    For a value that JSON cannot hold it raises TypeError, ValueError, or what the value's own conversion to a number
    raises.
    """
    known = {key: json_value(value) for key, value in body.items() if value is not None}
    return _line({"type": kind, **stamp, **known})


def json_value(value: Any) -> Any:
    """A value that JSON can hold: scalars of NumPy and PyTorch become numbers; NaN and infinities become text."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else _not_finite(value)
    if isinstance(value, Mapping):
        return {key: json_value(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_value(entry) for entry in value]
    try:
        return operator.index(value)
    except TypeError:
        return json_value(float(value))


def descriptive_values(about: Mapping[str, Any]) -> Dict[str, Any]:
    """What a script reports about itself. A value that is no number, e.g. a path or a list, becomes text."""
    return {key: _descriptive(value) for key, value in about.items()}


def _descriptive(value: Any) -> Any:
    try:
        value = json_value(value)
    except Exception as error:  # whatever the value's own conversion to a number raises
        signals.pass_on(error)
        return str(value)[:LONGEST_TEXT]
    return value if value is None or isinstance(value, (bool, int, float)) else str(value)[:LONGEST_TEXT]


def _not_finite(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Inf" if value > 0 else "-Inf"


def _line(values: Mapping[str, Any]) -> bytes:
    # A path whose name is not UTF-8 is text in Python that UTF-8 can't hold: "?" stands for such characters, or nobody could read the line.
    return json.dumps(values, ensure_ascii=False).encode("utf-8", "replace") + b"\n"

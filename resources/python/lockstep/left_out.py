# SPDX-License-Identifier: MIT
"""Times that are no part of a step though they lie within it, such as that of a validation between a batch and its backward."""
from __future__ import annotations

from collections import deque
from typing import Deque, Tuple

MOST = 1024  # such times that no phase has come to yet, the newest


class LeftOut:
    """Times that are left out of the phases in which they lie."""

    def __init__(self) -> None:
        self.spans: Deque[Tuple[int, int]] = deque(maxlen=MOST)  # begin and end

    def add(self, begin_ns: int, end_ns: int) -> None:
        """Leaves out what lies between. It may overlap with others, as where a validation goes through two loaders at once."""
        self.spans.append((begin_ns, end_ns))

    def within(self, begin_ns: int, end_ns: int) -> int:
        """How long they are within these times, the next ones of a step: what ends before that is forgotten."""
        out = 0
        for begin, end in sorted(self.spans):
            begin, end = max(begin, begin_ns), min(end, end_ns)
            if begin < end:
                out += end - begin
                begin_ns = end
        self.spans = deque((span for span in self.spans if span[1] > end_ns), MOST)
        return out

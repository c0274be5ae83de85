# SPDX-License-Identifier: MIT
"""Where the threads of this process are."""
from __future__ import annotations

import sys
import threading
import traceback
from typing import List

MOST_LINES = 200  # of a thread: its innermost calls
LONGEST_LINE = 1000  # characters: a line of source may be longer than a frame


def stacks() -> List[str]:
    """The lines of all Python threads but the one that asks, the main one first: "MainThread (1 of 3, 8 lines)", then its calls, the
    innermost last."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    main = threading.main_thread().ident
    found = sorted(((ident, frame) for ident, frame in sys._current_frames().items() if ident != threading.get_ident()),
                   key=lambda each: (each[0] != main, each[0]))
    lines: List[str] = []
    for number, (ident, frame) in enumerate(found, 1):
        calls = "".join(traceback.format_stack(frame)).splitlines()[-MOST_LINES:]
        lines += [f"{names.get(ident, 'a thread')} ({number} of {len(found)}, {len(calls)} lines)", *calls]
    return [line if len(line) <= LONGEST_LINE else line[:LONGEST_LINE - 1] + "…" for line in lines]

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints how often the rooms of app/core and of trainer/agent include each other, and fails on an include that goes upwards.

The rooms of each house stand here in their order: a room may include itself and the rooms before it. ARCHITECTURE.md says what
each room is for."""
import os
import re
import sys

from source_files import ROOT, included_file, source_files

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)

ORDER = {
    "app/core": ("base", "data", "experiment", "store", "nodes", "follow", "launch", "queue", "analysis", "lab", "export", "models"),
    "trainer/agent": ("net", "devices", "log", "ranks", "nodes", "session", "listen", "commands"),
}


def room_of(house, name):
    """The room of a file; empty for a file that lies in the house itself, which may include every room."""
    parts = name[len(house) + 1:].split("/")
    return parts[0] if len(parts) > 1 else ""


def includes(house, names):
    """(file, room, included file, included room) of each include inside the house."""
    for name in names:
        if not name.startswith(house + "/"):
            continue
        for target in INCLUDE.findall((ROOT / name).read_text(errors="replace")):
            ours = included_file(name, target)
            if ours and ours.startswith(house + "/"):
                yield name, room_of(house, name), ours, room_of(house, ours)


def faults(house, names):
    order = ORDER[house]
    for name in names:
        if name.startswith(house + "/") and room_of(house, name) not in (*order, ""):
            yield f"{name} lies in a room that tests/setup/include_matrix.py does not list: add {os.path.dirname(name)} to its order"
    for name, room, ours, included in includes(house, names):
        if room in order and included in order and order.index(included) > order.index(room):
            yield f"{name} includes {ours}: {included} stands after {room} in {house} ({' → '.join(order)})"


def matrix(house, names):
    order = ORDER[house]
    count = {}
    for _name, room, _ours, included in includes(house, names):
        count[room, included] = count.get((room, included), 0) + 1
    width = max(len(room) for room in order)
    lines = [f"{house}: a row includes a column; 0 above the diagonal", " " * width + "".join(f"{room:>{len(room) + 2}}" for room in order)]
    for room in order:
        cells = (f"{count.get((room, other), '·'):>{len(other) + 2}}" for other in order)
        lines.append(f"{room:<{width}}" + "".join(cells))
    return "\n".join(lines)


def main():
    names = source_files(".cpp", ".h")
    upward = []
    for house in ORDER:
        print(matrix(house, names), end="\n\n")
        upward += faults(house, names)
    print("\n".join(upward) if upward else "0 upward includes")
    return 1 if upward else 0


if __name__ == "__main__":
    sys.exit(main())

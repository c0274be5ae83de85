# SPDX-License-Identifier: MIT
"""The wait that all tests of living programs share, and the figures that they print."""
import pathlib
import re
import time


ROOM = 4  # a machine this many times slower, or this busy, still comes in time


def wait_for(condition, seconds, what, more=None):
    """What the condition gives once it is true. `seconds`: what an idle machine takes at most; only a test that hangs waits ROOM
    times as long. `more`: a function that says what else to report when the condition never becomes true."""
    end = time.monotonic() + ROOM * seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"waited {ROOM * seconds} s for {what}" + (more() if more else ""))


def processes_of(home):
    """pid → name of the processes whose LOCKSTEP_HOME is that folder."""
    found = {}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if f"LOCKSTEP_HOME={home}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                found[int(folder.name)] = (folder / "comm").read_text().strip()
        except OSError:
            pass  # it has ended
    return found


# A line of print_figure() or of tests/figure.h.
FIGURE = re.compile(r"figure: (?P<what>.+): (?P<took>[\d.]+) (?P<unit>s|%), promised (?P<promised>[\d.]+) (?P=unit)")


def print_share(what, share, promised):
    """Prints a share beside the one promised, both as fractions of 1: tests/figure.h."""
    print(f"figure: {what}: {100 * share:.3f} %, promised {100 * promised:g} %", flush=True)


def print_figure(what, since, promised):
    """Prints how long something took, from time.monotonic() `since`, beside the seconds promised for it: tests/figure.h."""
    print(f"figure: {what}: {time.monotonic() - since:.3f} s, promised {promised:g} s", flush=True)

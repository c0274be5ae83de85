# SPDX-License-Identifier: MIT
"""Which of a script's own Python files its process has loaded, so that an edit between two runs is seen."""
from __future__ import annotations

import os
import stat
import sys
from typing import Dict, Iterator, Optional, Tuple

MOST_FILES = 64  # this and the bytes of a file as ipc/frames.h has them
LONGEST_FILE = 4 << 20
LIBRARY = os.path.join(os.path.dirname(os.__file__), "")  # Python's own: a script may lie in a folder above it


def digests() -> Dict[str, str]:
    """By name, from the script's folder on: the SHA-256 of the script and of the modules beside or below it that are loaded by now.
    Empty where there is no script, such as in a notebook. Installed packages aren't its own."""
    import hashlib  # late: it takes milliseconds, and torch has loaded it by now

    found: Dict[str, str] = {}
    for name, path in _own_files():
        if len(found) == MOST_FILES:
            break
        try:
            info = os.stat(path)
            if stat.S_ISREG(info.st_mode) and info.st_size <= LONGEST_FILE:
                with open(path, "rb") as file:
                    found[name] = hashlib.sha256(file.read()).hexdigest()
        except OSError:  # it is gone, or was loaded from an archive
            continue
    return found


def _own_files() -> Iterator[Tuple[str, str]]:
    script = _file_of("__main__")
    if not script:
        return
    folder = os.path.join(os.path.dirname(os.path.abspath(script)), "")
    yield _shown(os.path.basename(script)), script
    for module in sorted(sys.modules):
        path = _file_of(module)
        if not path or not path.startswith(folder) or path == script or path.startswith(LIBRARY) or "-packages" + os.sep in path:
            continue
        name = path[len(folder):]
        if name.endswith(".py") and not name.startswith("lockstep" + os.sep):
            yield _shown(name), path


def _file_of(module: str) -> Optional[str]:
    try:  # past a lazy module's own way to attributes, which would load it
        path = object.__getattribute__(sys.modules[module], "__dict__").get("__file__")
    except (AttributeError, KeyError):
        return None
    return path if isinstance(path, str) else None


def _shown(name: str) -> str:
    return os.fsencode(name).decode("utf-8", "replace")

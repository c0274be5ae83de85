# SPDX-License-Identifier: MIT
"""The project's own files, as git sees them: tracked, and new ones that are not ignored."""
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED_ROOTS = (".git", ".venv", ".cache", "build")


def listed_by_git():
    command = ["git", "-c", f"safe.directory={ROOT}", "-C", str(ROOT), "ls-files", "-z", "-co", "--exclude-standard"]
    try:
        found = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None  # an unpacked archive
    return [name for name in found.split("\0") if name]


def listed_by_walking():
    names = []
    for path in ROOT.rglob("*"):
        name = path.relative_to(ROOT)
        top = name.parts[0]
        if path.is_file() and top not in SKIPPED_ROOTS and not top.startswith("build-"):
            names.append(str(name))
    return names


def source_files(*suffixes):
    names = listed_by_git()
    if names is None:
        names = listed_by_walking()
    return sorted(name for name in names if name.endswith(suffixes) and (ROOT / name).is_file())


INCLUDE_FOLDERS = ("", "app/core", "app/ui", "tests")  # what the rooms' include paths are


def included_file(name, target):
    """Which file of ours `#include "target"` in the file `name` means; None where it is no file of ours."""
    for folder in (os.path.dirname(name), *INCLUDE_FOLDERS):
        candidate = os.path.normpath(os.path.join(folder, target))
        if (ROOT / candidate).is_file():
            return candidate
    return None

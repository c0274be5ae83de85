#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every relative link and picture in the project's Markdown leads to a file, and every anchor to a heading; the user guide
has a picture of every page of the window; and no document or comment names a file that does not exist (named_files.py).

Addresses on the web are not asked: a test must not depend on them.
"""
import pathlib
import re
import subprocess
import sys

import named_files

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)")
HEADING = re.compile(r"^#+\s+(.*?)\s*#*$", re.MULTILINE)
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def anchor(heading):
    """As the forges make it: lower case, punctuation dropped, blanks to hyphens."""
    plain = re.sub(r"[`*_]|\[([^\]]*)\]\([^)]*\)", lambda m: m[1] or "", heading)
    return re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")


def documents():
    """Those under version control; all of them where there is no git."""
    listed = subprocess.run(["git", "-c", f"safe.directory={ROOT}", "-C", str(ROOT), "ls-files", "*.md"], capture_output=True,
                            text=True)
    if listed.returncode == 0 and listed.stdout:
        return [ROOT / name for name in listed.stdout.split()]
    return [path for path in ROOT.rglob("*.md") if not any(part.startswith((".", "build")) for part in path.relative_to(ROOT).parts)]


def mistakes_in(document):
    text = FENCE.sub("", document.read_text())
    for target in LINK.findall(text):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, fragment = target.partition("#")
        path = (document.parent / name).resolve() if name else document
        if not path.exists():
            yield f"{target} leads to no file"
        elif fragment and path.suffix == ".md" and fragment not in map(anchor, HEADING.findall(path.read_text())):
            yield f"{target} leads to no heading"


def pages_without_a_picture():
    pages = re.findall(r'PageSpec\{Page::\w+, "(\w+)"', (ROOT / "app/ui/shell/page.h").read_text())
    guide = (ROOT / "docs/guide.md").read_text()
    return [page for page in pages if not re.search(rf"!\[[^\]]+\]\(pictures/{page}\.png\)", guide)]


def main():
    found = [f"{document.relative_to(ROOT)}: {mistake}" for document in documents() for mistake in mistakes_in(document)]
    found += [f"docs/guide.md: no picture of the page {page}" for page in pages_without_a_picture()]
    found += named_files.mistakes()
    print("\n".join(found) if found else f"{len(documents())} documents, every link leads somewhere, every file that is named exists")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

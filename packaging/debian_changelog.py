#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Converts CHANGELOG.md to Debian's own form: debian_changelog.py CHANGELOG.md VERSION-REVISION OUT.gz

An entry a release, its headings left out. One that is not out yet has no date: it gets SOURCE_DATE_EPOCH's, or that of the last change of CHANGELOG.md."""
import datetime
import email.utils
import gzip
import os
import pathlib
import re
import sys
import textwrap

AUTHORS = "The Lockstep authors <>"  # there is no address to give


def entry(release, date, notes, revision, changed):
    out = date == "unreleased"
    when = changed if out else datetime.datetime.fromisoformat(date).replace(tzinfo=datetime.timezone.utc).timestamp()
    lines = [f"lockstep ({release}-{revision}) {'UNRELEASED' if out else 'unstable'}; urgency=medium", ""]
    for note in notes:
        lines += textwrap.wrap(note.replace("`", ""), 78, initial_indent="  * ", subsequent_indent="    ",
                               break_on_hyphens=False)
    return "\n".join([*lines, "", f" -- {AUTHORS}  {email.utils.formatdate(when)}", ""])


def notes_in(body):
    listed = re.sub(r"(?m)^### .*$", "", body)
    return [" ".join(note.split()) for note in re.split(r"(?m)^- ", listed) if note.strip()]


def main(source, version, target):
    text = pathlib.Path(source).read_text()
    changed = int(os.environ.get("SOURCE_DATE_EPOCH") or pathlib.Path(source).stat().st_mtime)
    releases = re.findall(r"(?ms)^## (\S+) - (\S+)\n(.*?)(?=^## |\Z)", text)
    upstream, _, revision = version.rpartition("-")
    if not releases or releases[0][0] != upstream:
        sys.exit(f"{source}: its newest entry is not {upstream}: add one")
    entries = [entry(release, date, notes_in(body), revision, changed) for release, date, body in releases]
    with open(target, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as packed:
        packed.write("\n".join(entries).encode())


if __name__ == "__main__":
    main(*sys.argv[1:])

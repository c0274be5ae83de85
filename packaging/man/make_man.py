#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes one man page: the prose of packaging/man/PROGRAM.1.in, with every option from the program's own --help, so that
the two can't differ. Usage: make_man.py PROGRAM TEMPLATE VERSION OUT.1.gz"""
import argparse
import gzip
import os
import pathlib
import re
import socket
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ENTRY = re.compile(r"^  (\S.*?)(?:\s{2,}(\S.*))?$")
MORE = re.compile(r"^\s{8,}(\S.*)$")
HEADING = re.compile(r"^(\S.*):$")


def roff(text):
    """Text as roff reads it: hyphens that may be copied, no accidental requests."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = "".join(c if c.isascii() else f"\\[u{ord(c):04X}]" for c in text)
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.MULTILINE)


def help_of(program, *words):
    environment = dict(os.environ, QT_QPA_PLATFORM="offscreen", LC_ALL="C.UTF-8", ASAN_OPTIONS="detect_leaks=0")
    ran = subprocess.run([program, *words, "--help"], capture_output=True, text=True, env=environment)
    if ran.returncode != 0:
        sys.exit(f"make_man.py: {program} {' '.join(words)} --help failed: {ran.stderr.strip()}")
    return ran.stdout


def tidied(name):
    """CLI11's words for an option, without what the meaning says anyway and without the name of this machine."""
    name = re.sub(r"\s+(Excludes|Needs): .*|\s+REQUIRED|\s*\(Env:\w+\)", "", name)
    name = re.sub(r"\b([A-Z]+):[A-Z]+ in \[(\S+) - (\S+)\]", r"\1 (\2 to \3)", name)
    return name.replace(socket.gethostname(), "HOST")


def parsed(text):
    """The usage line without the program's folder, the words around, and (heading, [(name, meaning)])."""
    usage, words, sections, entry = "", [], [], None
    for line in text.splitlines():
        if line.startswith("Usage: "):
            usage = re.sub(r"^Usage: \S*?([^/\s]+)(?=\s|$)", r"\1", line)
        elif HEADING.match(line) and not line.startswith("Exit codes"):
            sections.append((HEADING.match(line)[1], []))
            entry = None
        elif sections and MORE.match(line) and entry is not None:
            entry[1] = f"{entry[1]} {MORE.match(line)[1]}".strip()
        elif sections and ENTRY.match(line):
            name, meaning = ENTRY.match(line).groups()
            entry = [tidied(name), meaning or ""]
            sections[-1][1].append(entry)
        elif line.strip():
            entry = None
            words.append(line.strip())
    return usage, words, sections


def option_lines(sections):
    for heading, entries in sections:
        if heading in ("Subcommands", "SUBCOMMANDS"):
            continue
        if heading not in ("Options", "Positionals", "OPTIONS", "POSITIONALS"):
            yield f".SS {roff(heading)}"
        for name, meaning in entries:
            yield ".TP"
            yield f".B {roff(name)}"
            yield roff(meaning) or "\\&"


def subcommand_lines(program, sections, before=()):
    """Each subcommand, and after it those that it has itself."""
    for heading, entries in sections:
        if heading not in ("Subcommands", "SUBCOMMANDS"):
            continue
        if not before:
            yield ".SH COMMANDS"
        for name, _ in entries:
            path = (*before, name.split()[0])
            usage, words, own = parsed(help_of(program, *path))
            yield f".SS {roff(usage)}"
            yield roff(" ".join(words))
            yield from option_lines(own)
            yield from subcommand_lines(program, own, path)


def command_lines(program):
    _, _, sections = parsed(help_of(program))
    yield from option_lines(sections)
    yield from subcommand_lines(program, sections)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("template", type=pathlib.Path)
    parser.add_argument("version")
    parser.add_argument("out", type=pathlib.Path)
    arguments = parser.parse_args()
    page = arguments.template.read_text().replace("@VERSION@", arguments.version)
    page = page.replace("@OPTIONS@", "\n".join(command_lines(arguments.program)))
    page = page.replace("@FILES@", (HERE / "files.1.in").read_text().rstrip("\n"))
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    with open(arguments.out, "wb") as file, gzip.GzipFile("", "wb", 9, file, 0) as packed:
        packed.write(page.encode())


if __name__ == "__main__":
    main()

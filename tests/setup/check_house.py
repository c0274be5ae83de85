#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The project's rules that text alone shows: which room may include what, where moc's code is compiled, how long a file may be, and
its licence line."""
import re
import sys

import include_matrix
from source_files import ROOT, included_file, source_files

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
TORCH = r"(torch|ATen|c10|caffe2|nccl|cuda)"
QT = r"Q[A-Z]|Qt[A-Z]\w*/"
GUI = (r"Qt(Gui|Widgets|Charts|Svg|OpenGL)|Q(Application|GuiApplication|Widget|MainWindow|Dialog|Color|Image|Pixmap|Icon|"
       r"Painter|Font|Brush|Pen|Window|Screen|Action|Palette|Style|Clipboard|Cursor|Desktop|Shortcut|KeySequence|Undo|"
       r"StandardItem|TextDocument|Chart|Svg|Label|Menu|ToolBar|Layout|\w*View$|\w*Widget$|\w*Button$|\w*Layout$)")
THROWING = re.compile(r"filesystem::(exists|is_directory|is_regular_file|is_symlink|file_size|remove|remove_all|rename|equivalent)"
                      r"\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)")
LONGEST = 600  # lines; a longer file is named, with its reason, in long_files.txt

# (folder, exception below it or None, folders of ours it may include, system headers it may not)
ROOMS = [
    ("ipc/", None, ("ipc/",), rf"{TORCH}|{QT}"),
    ("trainer/agent/", None, ("trainer/agent/", "ipc/"), rf"{TORCH}|{QT}|spdlog/"),
    ("trainer/", "trainer/agent/", ("trainer/", "ipc/"), rf"{QT}|spdlog/"),
    ("app/core/", None, ("app/core/", "ipc/"), rf"{TORCH}|{GUI}|spdlog/"),
    ("app/cli/", None, ("app/cli/", "app/core/", "ipc/"), rf"{TORCH}|{GUI}|spdlog/"),
    ("app/ui/", None, ("app/ui/", "app/core/", "ipc/"), rf"{TORCH}|spdlog/"),
]


def included_wrongly(name, text):
    for folder, exception, allowed, forbidden in ROOMS:
        if not name.startswith(folder) or (exception and name.startswith(exception)):
            continue
        for bracket, target in INCLUDE.findall(text):
            ours = included_file(name, target) if bracket == '"' else None
            if bracket == "<" and re.match(forbidden, target):
                yield f"{name} includes <{target}>, which {folder} may not"
            elif ours and not ours.startswith(allowed):
                yield f"{name} includes {ours}, which {folder} may not (its own: {', '.join(allowed)})"
            elif ours and exception and ours.startswith(exception):
                yield f"{name} includes {ours}: nothing else in {folder} may reach {exception}"


def throwing(name, text):
    """What std::filesystem throws for a folder that somebody else made, a link in circles for example, ends a program."""
    if name.startswith(("app/", "ipc/", "trainer/")):
        for call, arguments in THROWING.findall(text):
            own = re.sub(r"\([^()]*\)", "", re.sub(r"\([^()]*\)", "", arguments))  # without those of calls in it
            if own.count(",") < (2 if call in ("rename", "equivalent") else 1):
                yield f"{name} calls std::filesystem::{call}() without an error_code, so that it may throw: give it one, or ask isThere()"


def allowed_lengths():
    allowed = {}
    for line in (ROOT / "tests/setup/long_files.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            name, lines, _reason = line.split(maxsplit=2)
            allowed[name] = int(lines)
    return allowed


def too_long(names):
    allowed = allowed_lengths()
    for name in names:
        lines = (ROOT / name).read_text(errors="replace").count("\n")
        if lines > allowed.get(name, LONGEST):
            yield (f"{name} has {lines} lines, more than {allowed.get(name, LONGEST)}: give it a second room, or a line in "
                   "tests/setup/long_files.txt that says why not")
    for name in sorted(set(allowed) - set(names)):
        yield f"tests/setup/long_files.txt names {name}, which does not exist"


def without_licence(names):
    for name in names:
        head = (ROOT / name).read_text(errors="replace")[:200]
        if not re.search(r"^(//|#) SPDX-License-Identifier: MIT$", head, re.MULTILINE):
            yield f"{name} has no line '// SPDX-License-Identifier: MIT' ('#' in scripts) at its top"


def compiled_apart(names):
    for name in names:
        source = ROOT / name.replace(".h", ".cpp")
        if not name.startswith("app/") or "Q_OBJECT" not in (ROOT / name).read_text() or not source.is_file():
            continue
        if f'#include "moc_{source.name}"' not in source.read_text():
            yield f'{source.relative_to(ROOT)} does not end with #include "moc_{source.name}": moc\'s code would be a unit of its own'


def main():
    sources = source_files(".cpp", ".h")
    wrong = []
    for name in sources:
        text = (ROOT / name).read_text(errors="replace")
        wrong += [*included_wrongly(name, text), *throwing(name, text)]
    for house in include_matrix.ORDER: # a row a room
        wrong += include_matrix.faults(house, sources)
    wrong += compiled_apart(source_files(".h"))
    wrong += without_licence(source_files(".cpp", ".h", ".proto", ".py", ".sh", "CMakeLists.txt", ".cmake", ".toml"))
    wrong += too_long(source_files(".cpp", ".h", ".py", ".sh", "CMakeLists.txt", ".cmake"))
    print("\n".join(wrong) if wrong else f"{len(sources)} files keep the rules")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

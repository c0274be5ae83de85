# SPDX-License-Identifier: MIT
"""Finds files that a document or a comment names although they do not exist.

Three kinds of names are looked up:
- a path that begins with one of the repository's top folders, everywhere in a document and in a comment;
- a name that ends like one of our files (`frames.h`, `core/store/run_store.h`), in comments and in a document's code spans;
- in ARCHITECTURE.md and docs/design, also every identifier in a code span (`node_hub`, `RunStore::takeBody`): each is a file,
  a folder or a word that the sources use.

A path may leave out the extension and the folder app/, app/core/ or trainer/. Names of files that do not lie in the repository are
listed in FOREIGN, with the reason.
"""
import ast
import fnmatch
import functools
import io
import os
import re
import tokenize

from source_files import ROOT, source_files

TOP_FOLDERS = ("app", "trainer", "ipc", "tests", "docs", "resources", "packaging", "cmake")
ROOTS = ("", "app", "app/core", "trainer", "resources", "tests")  # what a short path is relative to
EXTENSIONS = "h|hpp|cpp|cc|py|sh|md|json|qrc|cmake|proto|qss"

PATH = re.compile(rf"(?<![\w/.~$}}-])(?:{'|'.join(TOP_FOLDERS)})/[\w./*-]*[\w*/]")
NAMED = re.compile(rf"(?<![\w/.~$}}*<-])[\w-][\w./*-]*\.(?:{EXTENSIONS})\b(?!\.\w|[\w(])")
SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
LINK_TARGET = re.compile(r"\]\([^)\s]+\)")
IDENTIFIER = re.compile(r"[A-Za-z_]\w*(?:(?:::|\.|->)[A-Za-z_]\w*)*(?:\(\))?")

# Pattern of a whole name or of its last part: why it is not in the repository.
FOREIGN = {
    # written while Lockstep runs
    "config.json": "a run's folder: what was asked for (ipc/run_folder.h)",
    "result.json": "a run's folder: how it ended",
    "summary.json": "a run's folder: what the trainer's --summary wrote",
    "join.json": "a run's folder: where agent 0 listens",
    "origin.json": "a run's or an experiment's folder: where it really lives",
    "notes.json": "a run's folder: name, tags, note and star",
    "trace.json": "a run's folder: the merged trace",
    "rank-R.json": "a run's folder: one rank's trace",
    "meeting-RUN.json": "LOCKSTEP_HOME: addresses that agents try",
    "experiment.json": "an experiment's folder: its plan and queue (app/core/experiment/experiment.h)",
    "control.json": "an experiment's folder: which viewer has control",
    "slurm.json": "an experiment's folder: its Slurm jobs",
    "nodes.json": "LOCKSTEP_HOME: the list of nodes",
    "known_places.json": "LOCKSTEP_HOME: programs on other machines that may be started (app/core/nodes/known_places.h)",
    "labs/*": "LOCKSTEP_HOME: measurements of the lab",
    "forecasts/*": "LOCKSTEP_HOME: forecasts",
    # made by a build, an installation or ./run
    ".cache/*": "what ./run and the tests install",
    "libexec/lockstep/*": "the installed trainer",
    # stand for a name that the reader chooses
    "[A-Z]*.json": "a placeholder",
    "docs/recipes/NAME.md": "a placeholder",
    "packaging/man/PROGRAM.1.in": "a placeholder",
    "my-recipe.json": "the reader's own recipe",
    "net.py": "the example of docs/own-model.md",
    "net.json": "the example of docs/own-model.md",
    "net-study.json": "the example of docs/own-model.md",
    # other people's
    "torch/*": "PyTorch",
    "TorchConfig.cmake": "PyTorch",
    "docs/stable/distributed.html": "PyTorch's documentation",
    "cuda_runtime.h": "CUDA",
    "nccl.h": "NCCL",
    "doc/PERFORMANCE.md": "nccl-tests",
    "omp.h": "OpenMP",
}
used_patterns = set()


@functools.cache
def repository():
    """(files, folders) of the repository, relative to its root."""
    files = set(source_files(""))
    folders = {parent for name in files for parent in parents(name)}
    return files, folders


def parents(name):
    while name := os.path.dirname(name):
        yield name


@functools.cache
def base_names():
    files, _folders = repository()
    names = {os.path.basename(name) for name in files}
    return names, {name.split(".")[0] for name in names}


@functools.cache
def words_of_the_sources():
    words = set()
    for name in source_files(".cpp", ".h", ".py", ".sh", ".txt", ".cmake", ".json", ".proto", ".in"):
        words.update(re.findall(r"[A-Za-z_]\w*", (ROOT / name).read_text(errors="replace")))
    return words


def exists(path, folder):
    """Whether a path, read in a file of the folder, names a file or folder of ours. It may end in * or lack its extension."""
    files, folders = repository()
    for root in (folder, *ROOTS):
        whole = os.path.normpath(os.path.join(root, path))
        if whole in files or whole in folders:
            return True
        if "*" in whole and any(fnmatch.fnmatch(name, whole) or fnmatch.fnmatch(name, whole + ".*") for name in files):
            return True
        if any(f"{whole}.{extension}" in files for extension in EXTENSIONS.split("|")):
            return True
    return False


def is_foreign(name):
    matching = {pattern for pattern in FOREIGN for one in (name, os.path.basename(name)) if fnmatch.fnmatchcase(one, pattern)}
    used_patterns.update(matching)
    return bool(matching)


def named_wrongly(text, folder):
    """Names in the text that no file has."""
    for path in PATH.findall(text):
        if not exists(path.rstrip("/."), folder) and not is_foreign(path):
            yield path
    for name in NAMED.findall(text):
        known = exists(name, folder) if "/" in name or "*" in name else name in base_names()[0]
        if not known and not is_foreign(name) and not name.startswith(tuple(f"{top}/" for top in TOP_FOLDERS)):
            yield name


def unknown_identifiers(span, folder):
    """What a code span of the design documents names although no file and no source knows it."""
    if "/" in span and re.fullmatch(r"[\w./*-]+", span):
        if not span.startswith("/") and not exists(span.rstrip("/"), folder) and not is_foreign(span):
            yield span
    elif IDENTIFIER.fullmatch(span):
        for word in re.findall(r"\w+", span):
            if word not in words_of_the_sources() and word not in base_names()[1]:
                yield span


def wrong_in_document(name):
    text = LINK_TARGET.sub("]", (ROOT / name).read_text())  # check_docs.py follows links
    folder = os.path.dirname(name)
    prose = FENCE.sub("", text)
    spans = SPAN.findall(prose)
    yield from (path for path in PATH.findall(text) if not exists(path.rstrip("/."), folder) and not is_foreign(path))
    for span in spans:
        yield from (found for found in named_wrongly(span, folder) if not PATH.match(found))
    if name == "ARCHITECTURE.md" or name.startswith("docs/design/"):
        for span in spans:
            yield from unknown_identifiers(span, folder)


CPP_COMMENT = re.compile(r"""(?P<text>//[^\n]*|/\*.*?\*/)|R"(?P<d>[^(\s]*)\(.*?\)(?P=d)"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.DOTALL)
HASH_COMMENT = re.compile(r"(?:^|(?<=\s))#(?!!)[^\n]*", re.MULTILINE)


def comments(name, text):
    if name.endswith((".cpp", ".h")):
        return [match["text"] for match in CPP_COMMENT.finditer(text) if match["text"]]
    if not name.endswith(".py"):
        return HASH_COMMENT.findall(text)
    found = [token.string for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.type == tokenize.COMMENT]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            found.append(ast.get_docstring(node) or "")
    return found


def mistakes():
    """A line for each name of a file that is not there."""
    for name in source_files(".md"):
        if name != "CHANGELOG.md":  # it speaks of files that were
            yield from (f"{name} names {found}, which does not exist" for found in dict.fromkeys(wrong_in_document(name)))
    scripts = [name for name in source_files("") if name in (".ci/run", "run", "test", "packaging/package")]
    for name in source_files(".cpp", ".h", ".py", ".sh", "CMakeLists.txt", ".cmake") + scripts:
        text = "\n".join(comments(name, (ROOT / name).read_text(errors="replace")))
        found = dict.fromkeys(named_wrongly(text, os.path.dirname(name)))
        yield from (f"{name}: a comment names {one}, which does not exist" for one in found)
    yield from (f"tests/setup/named_files.py lists {pattern}, which nothing names" for pattern in FOREIGN if pattern not in used_patterns)

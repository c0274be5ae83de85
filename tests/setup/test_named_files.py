#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""named_files.py reports what does not exist, and nothing else."""
import sys

import named_files


def expect(what, found, wanted):
    if list(found) != wanted:
        sys.exit(f"{what}: found {list(found)}, expected {wanted}")


def main():
    text = "See ipc/frames.h, `store/run_store.h`, docs/design, trainer/comm/cuda/*.cpp, torch/torch.h and result.json."
    expect("names that are right", named_files.named_wrongly(text, "app/core"), [])
    text = "See ipc/gone.h, app/core/gone, bar_gone.cpp and store/gone.h."
    expect("names that are wrong", named_files.named_wrongly(text, "app/core"),
           ["ipc/gone.h", "app/core/gone", "bar_gone.cpp", "store/gone.h"])
    expect("a path without extension", named_files.unknown_identifiers("core/lab/lab_job", ""), [])
    expect("a path that is gone", named_files.unknown_identifiers("core/lab/lab_gone", ""), ["core/lab/lab_gone"])
    expect("a class", named_files.unknown_identifiers("RunStore::takeBody", ""), [])
    expect("a class that is gone", named_files.unknown_identifiers("RunStore::takeNo" + "body", ""), ["RunStore::takeNo" + "body"])
    code = 'int a; // ipc/gone.h\nconst char *b = "// ipc/gone_too.h"; /* gone.cpp */'
    expect("comments of C++", named_files.comments("a.cpp", code), ["// ipc/gone.h", "/* gone.cpp */"])
    code = '"""gone.py"""\nx = "# gone.sh"  # gone.md\n'
    expect("comments of Python", named_files.comments("a.py", code), ["# gone.md", "gone.py"])
    print("wrong names are found, right ones are not")


if __name__ == "__main__":
    main()

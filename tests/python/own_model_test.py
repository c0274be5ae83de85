#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""docs/own-model.md as it stands: its script is run, its commands are given to a shell, and its C++ is that of the sources."""
import json
import pathlib
import re
import subprocess
import sys
import unittest

import support
from support import HERE, Case

ROOT = HERE.parents[1]
PAGE = (ROOT / "docs/own-model.md").read_text()
DATA = pathlib.Path("/usr/share/datasets/fashion-mnist")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


class OwnModel(Case):
    def test_the_class_its_row_and_its_line_are_those_of_the_sources(self):
        found = blocks("cpp")
        self.assertEqual(len(found), 3)
        for block, source in zip(found, ("trainer/models/mlp.h", "ipc/models.h", "trainer/models/model.cpp")):
            self.assertIn(block, (ROOT / source).read_text())
        self.assertEqual(found[0], (ROOT / "trainer/models/mlp.h").read_text())

    @unittest.skipUnless(DATA.exists(), f"skipped: no {DATA}")
    def test_every_command_does_what_the_page_says(self):
        folder, programs = self.home / "work", self.home / "bin"
        folder.mkdir()
        programs.mkdir()
        (programs / "python3").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        (programs / "python3").chmod(0o755)
        for name in ("lockstep-trainer", "lockstep-agent", "lockstepctl"):
            (programs / name).symlink_to(support.BIN / name)
        [script], [recipe] = blocks("python"), blocks("json")
        (folder / "net.py").write_text(script)
        (folder / "net-study.json").write_text(recipe)
        environment = dict(self.environment, PATH=f"{programs}:{self.environment['PATH']}")
        said = []
        for line in "".join(blocks("sh")).splitlines():
            # Tests share their cores, which a person's devices don't.
            line = line.replace("--epochs 1", "--epochs 1 --oversubscribe")
            line = line.replace("lockstepctl run net-study.json", "lockstepctl run net-study.json --set oversubscribe=true --json")
            done = subprocess.run(["bash", "-c", line], cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                                  text=True, timeout=300)
            self.assertEqual(done.returncode, 0, f"{line}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
            said.append((line, done.stdout))
        self.assertTrue((folder / "trained.safetensors").exists())
        [(_, study)] = [(line, out) for line, out in said if line.startswith("lockstepctl")]
        rows = json.loads(study)["results"]["rows"]
        self.assertEqual([(row["run"], row["state"], row["model"]) for row in rows],
                         [(run, "done", "net.pt") for run in ("baseline", "DP on 2 devices", "DDP on 2 devices",
                                                              "pipeline on 2 devices")])
        trainings = [line for line, _ in said if "lockstep-trainer" in line]
        for model in ("net.pt", "mlp"):
            self.assertEqual(len([line for line in trainings if f"--model {model} " in line]), 4)


if __name__ == "__main__":
    support.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Where the installed trainer finds PyTorch, and lockstepctl setup-torch. Python, its venv and pip are real; the torch is a wheel made
here, and a script stands in for the trainer behind the launcher. venv takes three seconds, so where it isn't killed, setup-torch is
given a copy of an environment that it made once."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import zipfile

from environments import PYTHON_WITH_COPIES, made_environment
from source_files import ROOT

BIN = pathlib.Path(sys.argv.pop(1))
PIN = next(line for line in (ROOT / "packaging/setup/requirements-torch.txt").read_text().splitlines()
           if line.startswith("torch==")).split(" --hash=")[0]
VERSION = PIN.split("==")[1]
SECOND = "2.7.1"


class Torch(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="lockstep-torch-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.home, self.wheels, self.empty = (self.folder / name for name in ("home", "wheels", "empty"))
        for folder in (self.home, self.wheels, self.empty):
            folder.mkdir()
        tree = self.folder / "usr"
        (tree / "bin").mkdir(parents=True)
        (tree / "libexec/lockstep").mkdir(parents=True)
        shutil.copy2(BIN.parent / "launcher/lockstep-trainer", tree / "bin/lockstep-trainer")
        behind = tree / "libexec/lockstep/lockstep-trainer"
        behind.write_text('#!/bin/sh\necho "$LD_LIBRARY_PATH"; echo "$$ $*"\n')
        behind.chmod(0o755)
        self.trainer = tree / "bin/lockstep-trainer"
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": str(self.folder), "LOCKSTEP_HOME": str(self.home),
                            "LC_ALL": "C.UTF-8", "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.wheels),
                            "PYTHONNOUSERSITE": "1"}

    def make_torch(self, site, version=VERSION, cuda=True):
        torch = site / "torch"
        (torch / "lib").mkdir(parents=True)
        (torch / "__init__.py").write_text("")
        (torch / "version.py").write_text(f"__version__ = '{version}+cu130'\n")
        for library in ("libtorch_cpu.so", "libtorch_cuda.so") if cuda else ("libtorch_cpu.so",):
            (torch / "lib" / library).write_text("")
        (site / "nvidia/cu13/lib").mkdir(parents=True)
        return torch

    def make_wheel(self, version=VERSION):
        name = f"torch-{version}"
        with zipfile.ZipFile(self.wheels / f"{name}-py3-none-any.whl", "w") as wheel:
            wheel.writestr("torch/__init__.py", "")
            wheel.writestr("torch/version.py", f"__version__ = '{version}'\n")
            wheel.writestr("torch/lib/libtorch_cpu.so", "")
            wheel.writestr("torch/lib/libtorch_cuda.so", "")
            wheel.writestr(f"{name}.dist-info/METADATA", f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n")
            wheel.writestr(f"{name}.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr(f"{name}.dist-info/RECORD", "")

    def start(self, *arguments, **environment):
        return subprocess.run([self.trainer, *arguments], capture_output=True, text=True, cwd=self.folder,
                              env={**self.environment, **environment})

    def set_up(self, *words, **environment):
        python = self.folder / "fakes/python3"
        python.parent.mkdir(exist_ok=True)
        python.write_text("#!/bin/bash\n" + PYTHON_WITH_COPIES.format(made=made_environment()))
        python.chmod(0o755)
        environment.setdefault("PATH", f"{python.parent}:{self.environment['PATH']}")
        return subprocess.run([BIN / "lockstepctl", "setup-torch", *words], capture_output=True, text=True,
                              env={**self.environment, **environment})

    def test_a_named_one_by_either_folder_comes_first(self):
        site = self.folder / "site"
        torch = self.make_torch(site)
        self.make_torch(self.home / "torch/lib/python3/site-packages")
        for named in (torch, site):
            ran = self.start("--epochs", "1", LOCKSTEP_TORCH=str(named), LD_LIBRARY_PATH="/else")
            self.assertEqual(ran.returncode, 0, ran.stderr)
            path, words = ran.stdout.splitlines()
            self.assertEqual(path, f"{torch}/lib:{site}/nvidia/cu13/lib:/else")
            self.assertTrue(words.endswith(" --epochs 1"))

    def test_then_the_one_that_python3_imports_then_the_one_set_up(self):
        own = self.make_torch(self.home / "torch/lib/python3/site-packages")
        site = self.folder / "site"
        imported = self.make_torch(site)
        self.assertTrue(self.start(PYTHONPATH=str(site)).stdout.startswith(f"{imported}/lib:"))
        self.assertTrue(self.start().stdout.startswith(f"{own}/lib:"))
        (imported / "version.py").write_text("__version__ = '2.5.1'\n")  # not supported
        self.assertTrue(self.start(PYTHONPATH=str(site)).stdout.startswith(f"{own}/lib:"))
        self.make_torch(self.folder)  # the folder it is started in is no place to import from
        self.assertTrue(self.start().stdout.startswith(f"{own}/lib:"))

    def test_none_is_one_sentence_with_the_way_out(self):
        old = self.folder / "site"
        self.make_torch(old, "2.5.1")
        for environment, says in (({}, f"python3 imports none, and {self.home}/torch has none"),
                                  ({"PYTHONPATH": str(old)}, f"PyTorch 2.5.1+cu130 in {old}/torch is not 2.11"),
                                  ({"LOCKSTEP_TORCH": str(self.empty)}, f"{self.empty} holds no torch"),
                                  ({"LOCKSTEP_TORCH": str(old)}, "is not 2.11")):
            ran = self.start(**environment)
            self.assertEqual((ran.returncode, ran.stdout, ran.stderr.count("\n")), (2, "", 1), ran.stderr)
            self.assertIn(says, ran.stderr)
            self.assertIn("lockstepctl setup-torch", ran.stderr)

    def test_help_and_version_need_no_torch(self):
        for argument in ("--help", "--version"):
            ran = self.start(argument)
            self.assertEqual((ran.returncode, ran.stderr), (0, ""))
            self.assertIn("lockstep-trainer", ran.stdout)

    def test_it_becomes_the_trainer_under_its_own_pid(self):
        self.make_torch(self.home / "torch/lib/python3/site-packages")
        process = subprocess.Popen([self.trainer], stdout=subprocess.PIPE, text=True, env=self.environment)
        out, _ = process.communicate()
        self.assertEqual(out.splitlines()[1].split()[0], str(process.pid))

    def test_set_up_installs_once_and_the_trainer_finds_it(self):
        self.make_wheel()
        ran = self.set_up()
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("1 of 2: a Python environment", ran.stdout)
        self.assertIn(f"2 of 2: {PIN}", ran.stdout)
        self.assertIn(str(self.home / "torch"), self.start().stdout)
        again = self.set_up(PIP_FIND_LINKS=str(self.empty))
        self.assertEqual((again.returncode, again.stdout), (0, f"{PIN} is in {self.home}/torch already\n"))

    def test_another_line_is_set_up_beside_it(self):
        self.make_wheel(SECOND)
        for word in (SECOND, "2.7"):
            ran = self.set_up("--line", word)
            self.assertEqual((ran.returncode, ran.stdout.splitlines()[-1].split(" is in ")[0]), (0, f"torch=={SECOND}"), ran.stderr)
        self.assertTrue((self.home / "torch-2.7/bin/python").exists())
        self.assertFalse((self.home / "torch").exists())
        self.assertEqual(self.start().returncode, 2)  # this trainer is of the first line
        ran = self.set_up("--line", "1.13")
        self.assertEqual((ran.returncode, ran.stderr),
                         (2, f"lockstepctl: --line: lockstep-trainer is not built for PyTorch 1.13; choose {VERSION} or {SECOND}\n"))

    def test_which_line_it_is_built_for_is_reported_without_one(self):
        ran = self.start("--facts", LOCKSTEP_FACTS="line")
        self.assertEqual((ran.returncode, json.loads(ran.stdout)["line"]), (0, "2.11"), ran.stderr)
        self.assertEqual(self.start("--facts").returncode, 2)

    def test_without_network_it_says_so_and_goes_on_later(self):
        ran = self.set_up()
        self.assertEqual(ran.returncode, 1)
        last = ran.stderr.splitlines()[-1]
        self.assertTrue(last.startswith(f"lockstepctl: {PIN} could not be installed: "), last)
        self.assertIn("check the network or pip's settings and start this again", last)
        self.make_wheel()
        ran = self.set_up()
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertNotIn("1 of 2", ran.stdout)  # the environment was there

    def test_killed_half_way_it_is_finished_later_and_never_taken_for_whole(self):
        self.make_wheel()
        process = subprocess.Popen([BIN / "lockstepctl", "setup-torch"], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, env=self.environment, start_new_session=True)
        until = time.monotonic() + 30
        while time.monotonic() < until and not (self.home / "torch/bin/python").exists():
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        self.assertEqual(self.start().returncode, 2)
        ran = self.set_up(PATH=self.environment["PATH"])  # by venv itself, like the one that was killed
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(self.start().returncode, 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)

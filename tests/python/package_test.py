#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The Python package lockstep: what pip installs, its interface, its types. Downloads nothing."""
import ast
import importlib.metadata
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest
import venv

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESOURCES = ROOT / "resources/python"
TRAIN = pathlib.Path(__file__).resolve().parent / "train.py"
SOURCES = sorted(RESOURCES.glob("lockstep/**/*.py")) + [RESOURCES / "lockstep_ddp.py"]
OLDEST = (3, 8)  # as requires-python in pyproject.toml


def environment(**more):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LOCKSTEP_", "PYTHON", "PIP_"))}
    return {**kept, "PYTHONDONTWRITEBYTECODE": "1", **more}


def run(*words, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=100, **options)
    assert done.returncode == 0, f"{words}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done


def missing_build_tool():
    """What this Python lacks for building a package; nothing when it can."""
    try:
        import ensurepip  # noqa: F401
        version = importlib.metadata.version("setuptools")
    except ImportError as error:  # PackageNotFoundError is one
        return f"{sys.executable} has no {error.name}"
    if tuple(map(int, version.split(".")[:2])) >= (70, 1):
        return ""  # it builds wheels by itself
    try:
        importlib.metadata.version("wheel")
    except ImportError:
        return f"{sys.executable} has setuptools {version}, which needs wheel"
    return ""


def lend_build_tools(folder):
    """Links this Python's setuptools and wheel into a folder, from which another Python imports them and nothing else."""
    folder.mkdir()
    for name in ("setuptools", "wheel"):
        try:
            distribution = importlib.metadata.distribution(name)
        except ImportError:
            continue
        for top in {file.parts[0] for file in distribution.files if file.parts[0] not in ("..", "__pycache__")}:
            (folder / top).symlink_to(distribution.locate_file(top))


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if missing := missing_build_tool():
            print(f"skipped: {missing}", file=sys.stderr)
            raise unittest.SkipTest(missing)
        cls.holder = tempfile.TemporaryDirectory(prefix="lockstep-package-")
        cls.addClassCleanup(cls.holder.cleanup)
        cls.folder = pathlib.Path(cls.holder.name)
        tree = cls.folder / "tree"  # setuptools writes beside what it builds
        shutil.copytree(RESOURCES, tree, ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
        venv.create(cls.folder / "venv", with_pip=True)
        cls.python = cls.folder / "venv/bin/python"
        lend_build_tools(cls.folder / "tools")
        run(cls.python, "-m", "pip", "install", "--no-index", "--no-build-isolation", "--disable-pip-version-check", tree,
            env=environment(PYTHONPATH=str(cls.folder / "tools")))

    def python_says(self, code):
        """What this code prints, as JSON, under the Python that the package was installed into."""
        code = f"import importlib.metadata, json, os, lockstep\nprint(json.dumps({code}))"
        return json.loads(run(self.python, "-c", code, cwd=self.folder, env=environment()).stdout)

    def test_what_pip_installs_is_imported_from_there(self):
        file = self.python_says("lockstep.__file__")
        self.assertTrue(file.startswith(str(self.folder / "venv/lib")), file)

    def test_it_needs_no_other_package(self):
        self.assertIsNone(self.python_says("importlib.metadata.requires('lockstep')"))

    def test_it_is_whole_and_brings_its_types_and_nothing_else(self):
        installed = self.python_says("[str(f) for f in importlib.metadata.files('lockstep')]")
        wanted = {str(path.relative_to(RESOURCES)) for path in SOURCES} | {"lockstep/py.typed"}
        self.assertEqual({name for name in installed if ".dist-info/" not in name and "__pycache__" not in name}, wanted)

    def test_it_says_the_version_of_lockstep(self):
        self.assertEqual(self.python_says("importlib.metadata.version('lockstep')"), project_version())

    def test_a_process_that_a_followed_script_starts_finds_it_and_no_package_beside_it(self):
        code = ("import os, subprocess, sys\n"
                "child = 'import json, os, sys; print(json.dumps([sys.modules[\"lockstep\"].__file__, sys.path]))'\n"
                "subprocess.run([sys.argv[1], '-c', child], check=True)\n")
        script = self.folder / "starts.py"
        script.write_text(code)
        found, path = json.loads(run(self.python, "-m", "lockstep", script, sys.executable, cwd=self.folder,
                                     env=environment(LOCKSTEP_FRAMES=f"unix:{self.folder / 'nobody'}")).stdout)
        self.assertTrue(found.startswith(str(self.folder / "venv/lib")), found)
        self.assertEqual([folder for folder in path if folder.startswith(str(self.folder / "venv"))], [])

    def test_a_script_reports_with_it(self):
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(self.folder / "socket"))
            server.listen()
            server.settimeout(30)
            script = subprocess.Popen([self.python, TRAIN, "epochs=1", "steps=3"], cwd=self.folder,
                                      env=environment(LOCKSTEP_FRAMES=f"unix:{self.folder / 'socket'}"))
            self.addCleanup(script.kill)
            peer, _ = server.accept()
            with peer, peer.makefile() as lines:
                types = [json.loads(line)["type"] for line in lines]
            self.assertEqual(script.wait(30), 0)
        self.assertEqual((types[:3], types[-1]), (["hello", "state", "state"], "state"))
        self.assertIn("epoch", types)


def project_version():
    return re.search(r"project\(lockstep VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]


class Interface(unittest.TestCase):
    def test_its_version_is_lockstep_s(self):
        text = (RESOURCES / "lockstep/version.py").read_text()
        self.assertEqual(re.search(r'^VERSION = "([^"]+)"', text, re.MULTILINE)[1], project_version())

    def test_scripts_written_for_the_single_file_find_all_that_it_had(self):
        code = ("import inspect, lockstep, lockstep.ddp, lockstep_ddp\n"
                "run = lockstep.Run(lambda: None, method='ddp', epochs=3)\n"
                "assert (run.on, run.rank, run.to, run.stopped, run.times, run.rest_of('forward')) == (False, 0, '', False, {}, 'forward')\n"
                "run.stopped, run.times, run.rest_of = True, {'load': 1}, str.upper\n"
                "run.send('heartbeat')\n"
                "run.lap('load')\n"
                "run.lap('other', {}, {})\n"
                "for batch in run.epoch(1, [[1, 2]]):\n"
                "    with run.phase('forward'): pass\n"
                "    run.step(0.5, samples=len(batch))\n"
                "assert run.close() == 130\n"
                "assert lockstep_ddp.watch is lockstep.ddp.watch\n"
                "assert list(inspect.signature(lockstep_ddp.watch).parameters) == ['run', 'ddp', 'wait']\n")
        self.assertEqual(run(sys.executable, "-S", "-c", code, env=environment(PYTHONPATH=str(RESOURCES))).stderr, "")

    def test_everything_is_written_for_the_oldest_python_that_it_names(self):
        self.assertIn('requires-python = ">={}.{}"'.format(*OLDEST), (RESOURCES / "pyproject.toml").read_text())
        for path in SOURCES:
            ast.parse(path.read_text(), str(path), feature_version=OLDEST)

    def test_every_function_has_types_and_every_public_one_a_description(self):
        for path in SOURCES:
            tree = ast.parse(path.read_text())
            self.assertTrue(ast.get_docstring(tree), path.name)
            for node in ast.walk(tree):
                if not isinstance(node, ast.FunctionDef):
                    continue
                where = f"{path.name}:{node.lineno} {node.name}"
                every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs,
                         *filter(None, (node.args.vararg, node.args.kwarg))]
                self.assertEqual([one.arg for one in every if not one.annotation and one.arg != "self"], [], where)
                self.assertTrue(node.returns, where)
                setter = any(isinstance(one, ast.Attribute) and one.attr == "setter" for one in node.decorator_list)
                nested = node.name == "done"  # a callback inside DDP's hook
                if not node.name.startswith("_") and not setter and not nested:
                    self.assertTrue(ast.get_docstring(node), where)


if __name__ == "__main__":
    unittest.main(verbosity=2)

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Two nodes, each with a real sshd, and the line of PyTorch that both can use: chosen by drivers, GPUs and what is there already,
brought, reported, and used by a run. nvidia-smi and NVML are stand-ins that report a Volta card; the second line is one of a few
bytes, and with --soak the real one of ./run --lines, which then trains over both nodes."""

import argparse
import json
import os
import pathlib
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from lab_hosts import Lab, only_in_a_soak, run_tests  # noqa: E402

arguments = None
NEW, OLD = "2.11.0", "2.7.1"


def script(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return path


class Lines(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="lockstep-lines-")
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)
        self.lab = Lab(self.root, arguments.bin)
        self.addCleanup(self.lab.stop)
        self.volta = self.root / "volta-tools"
        script(self.volta / "nvidia-smi", 'case "$1" in *compute_cap*) echo "580.65.06, 7.0, Tesla V100-SXM2-16GB";; *) exit 1;; esac\n')

    def torch(self, name, version):
        folder = self.root / name / "torch"
        (folder / "lib").mkdir(parents=True)
        (folder / "lib/libtorch_cpu.so").write_text("a library of " + version)
        (folder / "version.py").write_text(f"__version__ = '{version}'\n")
        return folder

    def facts(self, version, torch):
        return json.dumps({"version": "0.1.0", "torch": version, "torch_folder": str(torch), "nccl": "",
                           "libraries": [str(torch / "lib/libtorch_cpu.so")]})

    def second_line(self):
        """As ./run --lines leaves it, with a trainer that only prints its facts."""
        torch = self.torch("built", OLD + "+cu126")
        home = self.root / "lines" / OLD
        (home / "bin").mkdir(parents=True)
        (home / "launcher").mkdir()
        shutil.copy2(pathlib.Path(arguments.bin) / "lockstep-agent", home / "bin")
        shutil.copy2(arguments.fake_rank, home / "launcher/lockstep-trainer")
        script(home / "bin/lockstep-trainer", f"echo '{self.facts(OLD + '+cu126', torch)}'\n")
        self.lab.environment["LOCKSTEP_LINES"] = str(self.root / "lines")

    def installed_line(self):
        """As a package brings it, on a machine without its PyTorch: the launcher that travels is a program, the one that
        answers here a script."""
        home = self.root / "lines" / OLD
        (home / "bin").mkdir(parents=True)
        (home / "libexec/lockstep").mkdir(parents=True)
        shutil.copy2(pathlib.Path(arguments.bin) / "lockstep-agent", home / "bin")
        (home / "launcher").mkdir()
        for place in ("libexec/lockstep", "launcher"):
            shutil.copy2(arguments.fake_rank, home / place / "lockstep-trainer")
        answer = json.dumps({"version": "0.1.0", "line": "2.7"})
        script(home / "bin/lockstep-trainer", f'[ "$LOCKSTEP_FACTS" = line ] && echo \'{answer}\'\n')
        self.lab.environment["LOCKSTEP_LINES"] = str(self.root / "lines")

    def only_first_line(self):
        torch = self.torch("first", NEW + "+cu130")
        self.lab.environment["LOCKSTEP_TRAINER"] = str(script(self.root / "first-trainer", f"echo '{self.facts(NEW + '+cu130', torch)}'\n"))

    def host(self, name, volta=False, **environment):
        path = "/usr/local/bin:/usr/bin:/bin"
        self.lab.add(name, dict({"PATH": f"{self.volta}:{path}" if volta else path, "FAKE_TORCH": OLD + "+cu126"}, **environment))
        said = self.lab.ctl("nodes", "add", name, "--untried")
        self.assertEqual(said.returncode, 0, said.stderr)

    def sync(self, *words, code=0):
        said = self.lab.ctl("nodes", "sync", "--json", "--tar", *words, timeout=400)
        self.assertEqual(said.returncode, code, said.stdout + said.stderr)
        return {(one["node"], one["bundle"]): one for one in json.loads(said.stdout)} if code == 0 else {}, said.stderr

    def book(self):
        return {node["name"]: node for node in json.loads((self.lab.here / "nodes.json").read_text())["nodes"]}

    def test_a_volta_card_on_one_node_takes_both_to_the_older_line_and_the_reason_is_reported(self):
        self.only_first_line()
        self.second_line()
        self.host("old", volta=True, LOCKSTEP_TORCH=str(self.torch("own", OLD)), LD_LIBRARY_PATH=arguments.fake_nvml)
        self.host("new", LOCKSTEP_TORCH="", PYTHONPATH="")
        came, said = self.sync("old", "new")
        self.assertIn("PyTorch 2.7.1 (CUDA 12.6): since 2.11.0 does not run on old, whose Tesla V100-SXM2-16GB has compute capability 7.0", said)
        self.assertEqual(sorted(came), [("new", "programs-2.7"), ("new", "torch-2.7"), ("old", "programs-2.7")], "old has that PyTorch itself")
        self.assertEqual({one["line"] for one in came.values()}, {OLD})
        self.assertEqual((self.lab.hosts["new"].home / "sync/torch-2.7/current/torch/lib/libtorch_cpu.so").read_text(), f"a library of {OLD}+cu126")
        for name, node in self.book().items():
            self.assertEqual(node["agent"], f"{self.lab.hosts[name].home}/sync/programs-2.7/current/bin/lockstep-agent")
            self.assertTrue(node["torch"].startswith(OLD), node)
            self.assertIn("does not run on old", node["line_reason"])
        doctor = self.lab.ctl("doctor", "--json", "--seconds", "0.1")
        report = json.loads(doctor.stdout)
        self.assertEqual(report["torch_line"]["version"], OLD, report)
        codes = {one["code"]: one for one in report["findings"]}
        self.assertIn("compute capability 7.0", codes["torch_line"]["what"])
        self.assertNotIn("line_unfit", codes)
        self.assertNotIn("torch_differs", codes)

        # By itself the other node goes back to the newer line; what it had of the older one stays beside it.
        came, said = self.sync("new")
        self.assertIn("PyTorch 2.11.0 (CUDA 13.0): the newest, and every node can use it", said)
        self.assertEqual(sorted(came), [("new", "programs"), ("new", "torch")])
        again, _ = self.sync("old", "new")
        self.assertEqual(sum(one["moved_bytes"] for one in again.values()), 0)

    def test_a_line_that_is_not_built_here_is_reported_before_anything_is_copied(self):
        self.only_first_line()
        self.lab.environment["LOCKSTEP_LINES"] = str(self.root / "none")
        self.host("old", volta=True, LOCKSTEP_TORCH="")
        _, said = self.sync("old", code=2)
        self.assertIn("PyTorch 2.7.1 would work, but the trainer is not built for it here", said)
        self.assertIn("./run --lines", said)
        self.assertFalse((self.lab.hosts["old"].home / "sync").exists(), "something was copied")

    def test_an_installed_trainer_without_its_pytorch_serves_nodes_that_have_it(self):
        self.only_first_line()
        self.installed_line()
        self.host("old", volta=True, LOCKSTEP_TORCH=str(self.torch("own", OLD)))
        self.host("bare", volta=True, LOCKSTEP_TORCH="", PYTHONPATH="")
        came, said = self.sync("old")
        self.assertIn("PyTorch 2.7.1 (CUDA 12.6): since 2.11.0 does not run on old", said)
        self.assertEqual(sorted(came), [("old", "programs-2.7")])
        brought = self.lab.hosts["old"].home / "sync/programs-2.7/current"
        self.assertEqual((brought / "libexec/lockstep/lockstep-trainer").read_bytes(), pathlib.Path(arguments.fake_rank).read_bytes())
        _, said = self.sync("bare", code=2)
        self.assertIn("PyTorch 2.7.1 is neither on the node nor on this machine; install it on one of them; here: "
                      "lockstepctl setup-torch --line 2.7", said)
        self.assertFalse((self.lab.hosts["bare"].home / "sync").exists(), "something was copied")

    def test_a_persons_choice_holds_unless_it_can_not_run(self):
        self.only_first_line()
        self.second_line()
        self.host("plain", LOCKSTEP_TORCH="")
        self.host("old", volta=True, LOCKSTEP_TORCH="")
        came, said = self.sync("plain", "--line", "2.7.1")
        self.assertIn("chosen by --line", said)
        self.assertIn(("plain", "programs-2.7"), came)
        _, said = self.sync("old", "--line", "2.11.0", code=2)
        self.assertIn("does not run on old", said)
        _, said = self.sync("old", "--line", "1.13", code=2)
        self.assertIn("choose 2.11.0 or 2.7.1", said)

    @only_in_a_soak("half a gigabyte")
    def test_the_real_older_line_is_brought_and_a_run_trains_over_both_nodes_with_it(self):
        if not (pathlib.Path(arguments.bin).parent / "lines" / OLD / "launcher/lockstep-trainer").exists():
            self.skipTest(f"no trainer for PyTorch {OLD} is built here: ./run --lines builds it")
        self.host("old", volta=True, LOCKSTEP_TORCH="", FAKE_TORCH="")
        self.host("new", LOCKSTEP_TORCH="", FAKE_TORCH="")
        came, _ = self.sync("old", "new")
        self.assertEqual({one["line"] for one in came.values()}, {OLD})
        book = self.book()
        nodes = ";".join(f"{name}%lo:{number} agent={book[name]['agent']}" for number, name in enumerate(("old", "new")))
        recipe = self.root / "recipe.json"
        recipe.write_text(json.dumps({"name": "lines", "title": "Lines", "summary": "DDP.", "question": "Which line?", "repeats": 1,
                                      "base": {"model": "lenet", "dataset": "fashion-mnist", "device": "cpu", "epochs": 1, "batch_size": 64,
                                               "train_samples": 640, "oversubscribe": True, "nodes": nodes},
                                      "runs": [{"method": "ddp", "devices": [0, 1]}]}))
        ran = self.lab.ctl("run", str(recipe), timeout=200)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        run = next((self.lab.hosts["old"].home / "runs").iterdir())
        record = json.loads((run / "config.json").read_text())
        self.assertEqual([machine["torch_version"].split("+")[0] for machine in record["machines"]], [OLD, OLD])
        self.assertEqual(json.loads((run / "result.json").read_text())["summary"]["world_size"], 2)
        shown = self.lab.ctl("show", run.name)
        self.assertIn(f"PyTorch {OLD}", shown.stdout)
        print(f"{sum(one['moved_bytes'] for one in came.values()) / 1e6:.0f} MB to two nodes; " +
              next(line.strip() for line in shown.stdout.splitlines() if "PyTorch" in line))


def main():
    global arguments
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=os.path.abspath)
    parser.add_argument("--fake-rank", required=True)
    parser.add_argument("--fake-nvml", required=True, help="the folder of libnvidia-ml.so.1's stand-in")
    parser.add_argument("--soak", action="store_true")
    arguments, rest = parser.parse_known_args()
    return run_tests(rest, "tar")


if __name__ == "__main__":
    sys.exit(main())

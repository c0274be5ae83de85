#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What is found out about the places of a run before it: the check of all pairs before the first run over them, the lab between
nodes, and the forecast that rests on it. Real trainers, real Gloo, three hosts in network namespaces."""

import argparse
import json
import pathlib
import re
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from netns_lab import Lab, run_tests, wait_for  # noqa: E402
from small_data import write_small_data  # noqa: E402

arguments = None


class Places(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="lockstep-lab-")
        environment = {"LOCKSTEP_TRAINER": arguments.trainer} if arguments.trainer else {}
        cls.lab = Lab(cls.folder.name, {"hostA": "bond0", "hostB": "eno1", "hostC": "eth0"}, environment)
        cls.lab.__enter__()
        cls.data = write_small_data(pathlib.Path(cls.folder.name) / "data")

    @classmethod
    def tearDownClass(cls):
        cls.lab.close()
        cls.folder.cleanup()

    def setUp(self):
        for remembered in ("checked_places.json", "nodes.json"):
            (self.lab.laptop_home / remembered).unlink(missing_ok=True)

    def nodes(self, hosts="ABC"):
        agent = pathlib.Path(arguments.bin) / "lockstep-agent"
        return ";".join(
            f"host{letter}%{self.lab.hosts['host' + letter].interface}:{i % 2} agent={agent}"
            for i, letter in enumerate(hosts)
        )

    def ctl(self, *words):
        ran = self.lab.run(
            [pathlib.Path(arguments.bin) / "lockstepctl", *words],
            env=self.lab.laptop_environment(LOCKSTEP_AGENT=str(pathlib.Path(arguments.bin) / "lockstep-agent")),
            timeout=280,
        )
        return ran.returncode, ran.stdout, ran.stderr

    def recipe(self, devices, **base):
        path = pathlib.Path(self.folder.name) / f"places-{devices}.json"
        config = {"model": "lenet", "dataset": "fashion-mnist", "data_dir": self.data, "device": "cpu", "epochs": 2,
                  "batch_size": 12 * devices}
        recipe = {
            "name": "places",
            "title": "Places",
            "summary": "DDP over nodes.",
            "question": "Do they talk?",
            "base": {**config, "train_samples": 1200 * devices, "oversubscribe": True, **base},
            "runs": [{"method": "ddp", "devices": list(range(devices))}],
            "repeats": 1,
        }
        path.write_text(json.dumps(recipe))
        return path

    def lab_under_way(self):
        process = self.lab.start(
            [pathlib.Path(arguments.bin) / "lockstepctl", "lab", "--nodes", self.nodes()],
            env=self.lab.laptop_environment(),
        )
        wait_for(lambda: len(self.lab.processes("hostC")) >= 2, 60, "an agent and a rank on hostC")
        return process

    def assert_nothing_left(self):
        for name, host in self.lab.hosts.items():
            wait_for(lambda name=name: not self.lab.processes(name), 15, f"{name} to be empty: {self.lab.processes(name)}")
            runs = host.home / "runs"
            kept = [run.name for run in runs.iterdir() if not (run / "result.json").exists()] if runs.is_dir() else []
            self.assertEqual(kept, [], f"folders of checks and labs on {name}")

    def test_a_pair_that_is_cut_is_named_before_anything_trains(self):
        recipe = self.recipe(3, epochs=1, train_samples=360)
        self.lab.cut_pair("hostB", "hostC")
        try:
            begun = time.monotonic()
            code, out, err = self.ctl("run", recipe, "--set", f"nodes={self.nodes()}")
            took = time.monotonic() - begun
        finally:
            self.lab.join_pair("hostB", "hostC")
        self.assertEqual(code, 2, out + err)
        self.assertIn("rank 1 on hostB and rank 2 on hostC", err)
        self.assertNotIn("rank 0 on hostA and", err)
        self.assertIn("--no-check", err)
        self.assertLess(took, 20, "the check itself takes ten seconds at most, ssh and start-up come to it")
        print(f"cut pair named after {took:.1f} s: {err.strip().splitlines()[-1]}", file=sys.stderr)
        self.assertFalse((self.lab.laptop_home / "checked_places.json").exists())
        self.assert_nothing_left()

        # The cut mended, the same places are checked, found good, and not checked again until the book of nodes changes.
        notice = "checked before the first run"
        for book, expected in (("", True), ("", False), ('{"nodes":[]}\n', True)):
            if book:
                (self.lab.laptop_home / "nodes.json").write_text(book)
            code, out, err = self.ctl("run", recipe, "--set", f"nodes={self.nodes()}")
            self.assertEqual(code, 0, out + err)
            self.assertEqual(notice in out + err, expected, out + err)
        (self.lab.laptop_home / "nodes.json").unlink()
        (self.lab.laptop_home / "checked_places.json").unlink()
        code, out, err = self.ctl("run", recipe, "--no-check", "--set", f"nodes={self.nodes()}")
        self.assertEqual(code, 0, out + err)
        self.assertNotIn(notice, out + err)
        self.assert_nothing_left()

    def test_a_lab_between_nodes_is_what_a_forecast_of_those_nodes_rests_on_and_no_other(self):
        code, out, err = self.ctl("lab", "--quick", "--nodes", self.nodes("AB"), "--json")
        self.assertEqual(code, 0, out + err)
        lab = json.loads(out)
        self.assertIn("hostA%bond0:0", lab["nodes"])
        self.assertIn("hostB%eno1:1", lab["nodes"])
        self.assertEqual({row["ranks"] for row in lab["rows"]}, {2})
        self.assertTrue(all(row["cpu_s"] > 0 for row in lab["rows"]), "every operation has cost its ranks something")
        self.assert_nothing_left()

        recipe = self.recipe(2)
        code, out, err = self.ctl("forecast", recipe, "--nodes", self.nodes("AC"))
        self.assertEqual(code, 2, out + err)
        self.assertIn("no lab was measured between hostA%bond0:0 and hostC%eth0:1", err)
        self.assertIn("hostB%eno1:1", err)  # which one there is
        self.assertIn("lockstepctl lab --nodes", err)
        code, out, err = self.ctl("forecast", recipe)
        self.assertEqual(code, 2, "a lab between nodes shows nothing of this machine: " + out + err)

        code, out, err = self.ctl("forecast", recipe, "--nodes", self.nodes("AB"), "--json")
        self.assertEqual(code, 0, out + err)
        made = json.loads(out)
        row = next(row for row in made["rows"] if row["method"] == "ddp" and row["devices"] == 2)
        self.assertGreater(row["step_s"]["value"], 0)
        self.assertIn(made["best_devices"].get("ddp"), (None, 1, 2), "none where intervals overlap")
        self.assertEqual({probe["copies"] for probe in made["probes"]}, {1, 2})
        self.assert_nothing_left()

        code, out, err = self.ctl("run", recipe, "--set", f"nodes={self.nodes('AB')}")
        self.assertEqual(code, 0, out + err)
        code, out, err = self.ctl("forecast", "--show", "--json")
        graded = next(r for r in json.loads(out)["rows"] if r["method"] == "ddp" and r["devices"] == 2)["outcome"]
        self.assertEqual(graded["runs"], 1, graded)
        self.assertGreater(graded["measured_step_s"], 0)
        print("forecast off by", graded["error"], file=sys.stderr)

    def test_a_lab_at_100_mbit_leaves_sizes_out_says_which_and_ends(self):
        for name in ("hostA", "hostB"):
            self.lab.throttle(name, "100mbit")
        try:
            begun = time.monotonic()
            code, out, err = self.ctl("lab", "--nodes", self.nodes("AB"))
            took = time.monotonic() - begun
        finally:
            for name in ("hostA", "hostB"):
                self.lab.throttle(name, None)
        self.assertEqual(code, 0, out + err)
        self.assertLess(took, 150, out)
        self.assertRegex(out, re.compile(r"^Left out: all-reduce, 2 ranks: from .* on", re.MULTILINE))
        print(f"lab at 100 Mbit/s took {took:.0f} s", file=sys.stderr)
        self.assert_nothing_left()

    def test_a_lab_that_is_stopped_leaves_nothing_on_any_host(self):
        process = self.lab_under_way()
        process.terminate()
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, out + err)
        self.assertIn("the lab was stopped", err)
        self.assert_nothing_left()

    def test_a_lab_whose_owner_is_killed_leaves_nothing_on_any_host(self):
        process = self.lab_under_way()
        process.kill()
        process.communicate(timeout=60)
        self.assert_nothing_left()


def main():
    global arguments
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--trainer", default="")
    arguments, rest = parser.parse_known_args()
    arguments.bin = str(pathlib.Path(arguments.bin).resolve())
    arguments.trainer = str(pathlib.Path(arguments.trainer).resolve()) if arguments.trainer else ""
    run_tests(rest)


if __name__ == "__main__":
    main()

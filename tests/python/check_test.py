#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""lockstepctl check: two revisions of somebody's own script, run in turns, on real PyTorch and real git."""
import json
import subprocess
import sys
import xml.etree.ElementTree

import support
from support import HERE, Case

EITHER = HERE / "unchanged" / "either.py"


class Check(Case):
    def setUp(self):
        super().setUp()
        self.tree = self.home / "tree"
        self.tree.mkdir()
        (self.tree / "train.py").write_text(EITHER.read_text())
        self.git("init", "--quiet", "--initial-branch=main")
        self.git("add", "train.py")
        self.git("-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "--quiet", "-m", "base")

    def git(self, *words):
        return subprocess.run(["git", "-C", self.tree, *words], check=True, capture_output=True, text=True).stdout

    def check(self, *words, codes):
        words = ("check", "--against", "git:main", "--repeats", "3", "--max-steps", "30", *words, "--", sys.executable, "train.py",
                 "--wait-ms", "0.5")
        done = subprocess.run([support.BIN.resolve() / "lockstepctl", *words], env=self.environment, cwd=self.tree,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=1000)
        self.assertIn(done.returncode, codes, f"{done.stdout}\n{done.stderr}")
        return done

    def test_a_change_that_slows_training_down_fails_with_a_report(self):
        """On a machine that is busy with other work, it is undecided and says so: gate_test.cpp decides without a machine."""
        text = (self.tree / "train.py").read_text()
        (self.tree / "train.py").write_text(text.replace("arguments.wait_ms / 1000)", "arguments.wait_ms / 400)"))
        junit = self.home / "check.xml"
        done = self.check("--json", "--junit", junit, "--max-slower", "20%", codes=(1, 4))
        (case,) = json.loads(done.stdout)["runs"]
        self.assertEqual((case["base_repeats"], case["new_repeats"]), (3, 3))
        slower = done.returncode == 1
        self.assertEqual(case["outcome"], "slower" if slower else "undecided")
        if slower:
            self.assertGreater(case["slower_low"], 0.2)
        else:
            self.assertRegex(case["reason"], "other programs were busy|which says nothing: Other programs|too wide to say")
        suite = xml.etree.ElementTree.parse(junit).getroot()
        self.assertEqual((suite.get("tests"), suite.get("failures"), suite.get("errors")), ("1", str(int(slower)), str(int(not slower))))
        self.assertEqual(self.git("worktree", "list").count("\n"), 1)  # the checkout of the base is gone
        # The same runs again, by their ids, the other way round: faster than before is no failure.
        runs = {"main": [], "here": []}
        for run in self.runs():
            runs[json.loads((run / "config.json").read_text())["name"]].append(run.name)
        if slower:
            self.assertIn("less time", self.ctl("check", ",".join(runs["here"]), ",".join(runs["main"])).stdout)

    def test_what_git_does_not_know_is_said_before_anything_runs(self):
        done = subprocess.run([support.BIN.resolve() / "lockstepctl", "check", "--against", "nowhere", "--", "true"],
                              env=self.environment, cwd=self.tree, capture_output=True, text=True)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("nowhere", done.stderr)
        self.assertEqual(self.runs(), [])


if __name__ == "__main__":
    support.main()

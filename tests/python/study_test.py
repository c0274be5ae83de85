#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""lockstepctl study: somebody's own script, unchanged, on real PyTorch, from the command line to the verdict."""
import json
import sys

import support
from support import HERE, Case

EITHER = HERE / "unchanged" / "either.py"


class Study(Case):
    def study(self, *words, code=0):
        return self.ctl("study", *words[:1], "--python", sys.executable, *words[1:], code=code, timeout=1000)

    def test_a_study_of_processes_and_flags_ends_in_a_verdict(self):
        done = self.study(EITHER, "--nproc", "1,2", "--vary", "twice=off,on", "--max-steps", "40", "--repeats", "1", "--json",
                          "--", "--wait-ms", "0.2")
        results = json.loads(done.stdout)["results"]
        rows = {row["run"]: row for row in results["rows"]}
        self.assertEqual(list(rows), ["baseline, twice off", "baseline, twice on",
                                      "DDP on 2 devices, twice off", "DDP on 2 devices, twice on"])
        for row in rows.values():
            self.assertEqual(row["state"], "done", row)
            # What is not known of the script is not shown, rather than our trainer's defaults.
            self.assertFalse(row.get("dataset") or row.get("loader"), row)
            self.assertEqual(row["workers"], 0)
        for run in self.runs():
            summary = self.result(run)["summary"]
            self.assertFalse(summary.get("dataset") or summary.get("optimizer") or summary.get("model") == "lenet", summary)
            self.assertEqual(sum(epoch["samples"] for epoch in self.result(run)["summary"]["epochs"]), 40 * 32, run)
            config = json.loads((run / "config.json").read_text())["config"]
            self.assertEqual([key for key in ("model", "dataset", "batch_size", "optimizer") if key in config], [], run)
        notes = " ".join(results["notes"])
        self.assertIn("Each run ends after 1,280 samples, 40 steps of the first one.", notes)
        self.assertIn("Weak scaling: each of 2 processes takes 32 samples a step", notes)
        self.assertNotIn("Fashion-MNIST", done.stdout)
        pairs = {pair["run"]: pair for pair in results["judgement"]["pairs"]}
        self.assertEqual([finding["key"] for finding in pairs["baseline, twice on"]["fairness"]
                          if finding["weight"] == "decisive" and finding["key"] not in ("load", "stolen")], [])
        self.assertIn("--twice", [finding["key"] for finding in pairs["DDP on 2 devices, twice on"]["fairness"]
                                  if finding["weight"] == "decisive"])

    def test_a_flag_that_the_script_does_not_know_is_found_before_anything_runs(self):
        done = self.study(EITHER, "--nproc", "1", "--vary", "num-worker=0,2,4", "--vary", "precision=16,32", code=2)
        self.assertIn("either.py fails in its first step (baseline", done.stderr)
        self.assertEqual(done.stderr.count("unrecognized arguments: --precision 16"), 1, done.stderr)
        self.assertEqual(done.stderr.count("trying one step"), 1, done.stderr)  # a rank would not help
        self.assertEqual(self.runs(), [])

    def test_a_python_without_a_module_of_the_script_is_told_with_the_way_to_name_another(self):
        script = self.home / "needs.py"
        script.write_text("import no_such_module\n")
        done = self.study(script, "--nproc", "1", code=2)
        self.assertIn("needs.py fails in its first step (baseline", done.stderr)
        self.assertIn("name a Python that has no_such_module in LOCKSTEP_PYTHON (lockstepctl study: --python), or install it", done.stderr)

    def test_a_trial_without_a_step_ends_after_its_limit(self):
        script = self.home / "waits.py"
        script.write_text("import time\nprint('downloading', flush=True)\ntime.sleep(1000)\n")
        done = self.study(script, "--nproc", "1", "--trial-limit", "10", code=2)
        self.assertIn("waits.py has ended no training step that can be seen within 10 s", done.stderr)
        self.assertIn("downloading", done.stderr)

    def test_a_script_that_goes_on_after_its_first_step_is_told_apart_from_one_that_makes_none(self):
        script = self.trial("goes_on.py")
        script.write_text(script.read_text() + "\nsys.stdout.flush()\ntime.sleep(1000)\n")
        done = self.study(script, "--nproc", "1", "--trial-limit", "10", code=2)
        self.assertIn("goes_on.py goes on after its first step and has not ended within 10 s", done.stderr)

    def trial(self, name, *lines):
        """A script that says of its first step what lockstep.auto says of a real one."""
        script = self.home / name
        script.write_text("\n".join(["import os, sys, time", "world = 1", *lines,
                                     "print(f'lockstep: the script ends after 1 step, as it was asked to; its first step had 8 samples '",
                                     "      f'in each of {world} processes that train together')"]))
        return script

    def test_a_script_that_always_sets_up_its_group_is_told_that_it_is_alone(self):
        script = self.trial("always.py", "world = int(os.environ['WORLD_SIZE'])")
        done = self.study(script, "--nproc", "1,2", "--save", self.home / "study.json")
        recipe = json.loads((self.home / "study.json").read_text())
        self.assertEqual([(run["method"], run["devices"]) for run in recipe["runs"]], [("ddp", 1), ("ddp", 2)], done.stderr)

    def test_a_script_whose_processes_would_each_train_alone_is_refused(self):
        done = self.study(self.trial("alone.py"), "--nproc", "1,2", code=2)
        self.assertIn("alone.py was started as 2 processes, and each trained alone", done.stderr)

    def test_a_script_that_starts_its_own_processes_is_refused(self):
        done = self.study(HERE / "unchanged" / "ranks.py", "--nproc", "1", code=2)
        self.assertIn("ranks.py was started as 1 process, and 2 trained together: it starts processes by itself", done.stderr)

    def test_a_script_without_a_step_is_refused(self):
        script = self.home / "no_step.py"
        script.write_text("print('nothing to learn')\n")
        done = self.study(script, "--nproc", "1", code=2)
        self.assertIn("no_step.py ended without a training step that can be seen", done.stderr)
        self.assertIn("nothing to learn", done.stderr)

    def test_mistakes_are_told_in_one_sentence(self):
        for words, sentence in (((EITHER, "--nproc", "1,1"), "are not numbers of processes"),
                                ((EITHER, "--vary", "amp"), "a value is missing"),
                                (("nowhere.py",), "there is no script nowhere.py")):
            self.assertIn(sentence, self.study(*words, code=2).stderr)


if __name__ == "__main__":
    support.main()

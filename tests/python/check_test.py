#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""lockstepctl check: two revisions of somebody's own script, run in turns, on real PyTorch and real git."""
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree

import support
from support import HERE, Case

BASE_RUN, NEW_RUN = "base git:main", "working tree"
WAITS = (HERE / "unchanged" / "either.py").read_text()
COMPUTES = WAITS.replace("        time.sleep(arguments.wait_ms / 1000)\n", "")  # 0 ms would be some 50 us


class Check(Case):
    def setUp(self):
        super().setUp()
        self.tree = self.home / "tree"
        self.tree.mkdir()
        (self.tree / "train.py").write_text(COMPUTES)
        self.git("init", "--quiet", "--initial-branch=main")
        self.commit("train.py")

    def commit(self, *files):
        self.git("add", *files)
        self.git("-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "--quiet", "-m", "base")

    def git(self, *words):
        return subprocess.run(["git", "-C", self.tree, *words], check=True, capture_output=True, text=True).stdout

    def check(self, *words, codes, steps=30, flags=(), through=()):
        words = ("check", "--against", "git:main", "--repeats", "3", "--max-steps", steps, *words, "--", *through, sys.executable, "train.py", *flags)
        done = subprocess.run([support.BIN.resolve() / "lockstepctl", *map(str, words)], env=self.environment, cwd=self.tree,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=1000)
        self.assertIn(done.returncode, codes, f"{done.stdout}\n{done.stderr}")
        return done

    def test_a_change_that_slows_training_down_fails_with_a_report(self):
        """Beside much other work it may be too wide to say: gate_test.cpp decides without a machine."""
        text = (self.tree / "train.py").read_text()
        (self.tree / "train.py").write_text(text.replace("range(2 if arguments.twice else 1)", "range(9)"))
        junit = self.home / "check.xml"
        done = self.check("--json", "--junit", junit, "--max-slower", "10%", codes=(1, 4), steps=800)
        (case,) = json.loads(done.stdout)["runs"]
        slower = done.returncode == 1
        self.assertEqual((case["base_repeats"], case["new_repeats"], case["outcome"]), (3, 3, "slower" if slower else "undecided"))
        if slower:
            self.assertGreater(case["slower_low"], 0.1)
        else:
            self.assertIn("too wide to say", case["reason"])
        suite = xml.etree.ElementTree.parse(junit).getroot()
        self.assertEqual((suite.get("tests"), suite.get("failures"), suite.get("errors")), ("1", str(int(slower)), str(int(not slower))))
        self.assertEqual(self.git("worktree", "list").count("\n"), 1)  # the checkout of the base is gone
        # The same runs again, by their ids, the other way round: faster than before is no failure.
        runs = {BASE_RUN: [], NEW_RUN: []}
        for run in self.runs():
            runs[json.loads((run / "config.json").read_text())["name"]].append(run.name)
        if slower:
            self.assertIn("less time", self.ctl("check", ",".join(runs[NEW_RUN]), ",".join(runs[BASE_RUN])).stdout)

    def in_turns(self):
        """Whether each run took turns, oldest first."""
        return [json.loads((run / "config.json").read_text()).get("in_turns", False) for run in self.runs()]

    def test_the_two_take_turns_and_their_times_are_without_each_other_s(self):
        self.check(codes=(0, 1, 4), steps=200)
        self.assertEqual(self.in_turns(), [True] * 6)
        rounds = {}
        for run in self.runs():
            record, result = (json.loads((run / name).read_text()) for name in ("config.json", "result.json"))
            self.assertLessEqual(result["summary"]["total_training_time_s"], result["run_time_s"])
            self.assertGreater(result["turns"]["paused_s"], 0)
            rounds.setdefault(record["repeat"], []).append((result["start_wall_us"] / 1e6, result["end_wall_us"] / 1e6, result["run_time_s"]))
        for (from_a, to_a, a_s), (from_b, to_b, b_s) in rounds.values():
            self.assertLess(max(from_a, from_b), min(to_a, to_b))  # both were there at once
            self.assertLess(a_s + b_s, max(to_a, to_b) - min(from_a, from_b) + 0.3)  # and never ran at once
        for number in 1, 2:
            self.assertLess(max(to for _, to, _ in rounds[number]), min(begun for begun, _, _ in rounds[number + 1]) + 0.5)

    def test_two_that_cannot_be_there_at_once_run_one_after_another(self):
        port = support.free_port()
        (self.tree / "train.py").write_text(f"import socket\nalone = socket.create_server(('127.0.0.1', {port}))\n" + COMPUTES)
        self.commit("train.py")
        done = self.check(codes=(0, 1, 4))
        self.assertRegex(done.stderr, "failed, and runs that take turns are there at once: .* They run one after another now")
        self.assertEqual(self.in_turns()[-6:], [False] * 6)
        self.assertLessEqual(self.in_turns().count(True), 2)  # the first round

    def test_what_waits_for_something_outside_runs_one_after_another_since_a_pause_would_hide_half_of_it(self):
        (self.tree / "train.py").write_text(WAITS)
        self.commit("train.py")
        done = self.check(codes=(0, 1, 4), steps=200, flags=("--wait-ms", "0.2"))
        self.assertRegex(done.stderr, r"waited for something outside when \d+ % of its pauses began, and that goes on in a pause")
        self.assertEqual(self.in_turns(), [True] * 2 + [False] * 6)

    def test_what_does_not_say_that_it_leaves_pauses_out_runs_one_after_another(self):
        (self.tree / "run.sh").write_text('exec env -u LOCKSTEP_PAUSED "$@"\n')
        self.commit("run.sh")
        done = self.check(codes=(0, 1, 4), through=("sh", "run.sh"))
        self.assertRegex(done.stderr, "may count its pauses as time of training: .* They run one after another now")
        self.assertEqual(self.in_turns(), [True] * 2 + [False] * 6)

    def measured(self, *command, **environment):
        """One repeat of the command against main; gives what check says of it, and what the runs of each side have read."""
        words = ("check", "--against", "git:main", "--repeats", "1", "--max-steps", "5", "--json", "--", *command)
        done = subprocess.run([support.BIN.resolve() / "lockstepctl", *words], env={**self.environment, **environment}, cwd=self.tree,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=1000)
        self.assertEqual(done.returncode, 4, f"{done.stdout}\n{done.stderr}")  # one repeat has no interval
        read = {}
        for run in self.runs():
            name = json.loads((run / "config.json").read_text())["name"]
            read[name] = {file: digest for frame in self.frames(run) for file, digest in frame.get("files", {}).items()}
        (case,) = json.loads(done.stdout)["runs"]
        return case, read

    def edit(self, file):
        """Gives the digests of the file in main and in the working tree."""
        path = self.tree / file
        before = path.read_bytes()
        path.write_bytes(before + b"# edited\n")
        return [hashlib.sha256(text).hexdigest() for text in (before, path.read_bytes())]

    def test_absolute_paths_into_the_working_tree_lead_the_base_to_its_own_files(self):
        (self.tree / "parts").mkdir()
        (self.tree / "parts" / "knob.py").write_text("TURNED = 1\n")
        (self.tree / "train.py").write_text("import knob\n" + COMPUTES)
        self.commit("train.py", "parts/knob.py")
        (self.tree / "parts" / "unknown_to_git.txt").write_text("")  # it stays where it is, as data does
        edited = {file: self.edit(file) for file in ("train.py", "parts/knob.py")}
        case, read = self.measured(sys.executable, self.tree / "train.py", PYTHONPATH=f"{self.tree}/parts:{support.RESOURCES}")
        for at, name in enumerate((BASE_RUN, NEW_RUN)):
            self.assertEqual({file: read[name].get(file) for file in edited}, {file: both[at] for file, both in edited.items()}, name)
        self.assertNotIn("both ran the working tree's", case["reason"])

    def test_a_base_that_ran_the_working_trees_files_says_nothing(self):
        (before, after) = self.edit("train.py")
        case, read = self.measured("sh", "-c", f"exec {sys.executable} {self.tree}/train.py")
        self.assertEqual({name: files["train.py"] for name, files in read.items()}, {BASE_RUN: after, NEW_RUN: after})
        self.assertRegex(case["reason"], "which says nothing: both ran the working tree's train.py, of which the base has another version")
        self.assertNotEqual(before, after)

    def test_a_file_that_bears_the_scripts_name_is_read_only_if_it_can_be_a_script(self):
        paths = {size: self.tree / str(size) / "train.py" for size in (100, (4 << 20) + 1)}
        for size, path in paths.items():
            path.parent.mkdir()
            path.write_bytes(b"#" * size)
            os.utime(path, (0, time.time()))  # read last before it was written, so that reading it shows
        _, read = self.measured(sys.executable, "train.py")
        self.assertIn("train.py", read[NEW_RUN])
        small, large = (path.stat().st_atime for path in paths.values())
        if not small:
            self.skipTest("this file system keeps no times of reading")
        self.assertEqual(large, 0)

    def test_a_base_that_ran_the_working_trees_submodule_or_its_link_says_nothing(self):
        library = self.home / "library"
        library.mkdir()
        (library / "knob.py").write_text("TURNED = 1\n")
        for words in (["init", "--quiet"], ["add", "knob.py"],
                      ["-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "--quiet", "-m", "library"]):
            self.git("-C", library, *words)
        self.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", library, "library")
        (self.tree / "part.py").write_text("TURNED = 1\n")
        (self.tree / "train.py").write_text("import library.knob, part\n" + COMPUTES)
        self.commit(".")
        run = ("sh", "-c", f"exec {sys.executable} {self.tree}/train.py")
        self.assertNotIn("both ran", self.measured(*run)[0]["reason"])
        self.edit("library/knob.py")
        self.git("-C", self.tree / "library", "-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "--quiet", "--all", "-m", "next")
        self.assertIn("both ran the working tree's library/knob.py,", self.measured(*run)[0]["reason"])
        self.git("submodule", "--quiet", "update", "--force")
        outside = self.home / "outside.py"
        outside.write_text("TURNED = 2\n")
        (self.tree / "part.py").unlink()
        (self.tree / "part.py").symlink_to(outside)
        self.assertIn("both ran the working tree's part.py,", self.measured(*run)[0]["reason"])

    def test_an_edit_between_two_runs_of_a_script_is_named_and_they_are_no_repeats_of_one_another(self):
        text = (self.tree / "train.py").read_text()
        for edit in "0.1", "0.2":
            (self.tree / "train.py").write_text(text.replace("lr=0.1", f"lr={edit}"))
            self.agent("run", "--auto", "--", sys.executable, self.tree / "train.py")
        results = json.loads(self.ctl("compare", *(run.name for run in self.runs()), "--json").stdout)
        self.assertEqual([row["repeats"] for row in results["rows"]], [1, 1])
        (pair,) = results["judgement"]["pairs"]
        (found,) = [finding for finding in pair["fairness"] if finding["key"] == "script"]
        self.assertEqual(found["weight"], "decisive")
        self.assertRegex(found["sentence"], r"^Script train\.py [0-9a-f]{12} instead of train\.py [0-9a-f]{12}: their code differs")

    def test_a_hook_of_git_may_call_it_and_what_was_staged_is_committed(self):
        edited = (self.tree / "train.py").read_text() + "# edited\n"
        seen = self.home / "seen"
        hook = self.tree / ".git/hooks/pre-commit"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\n{support.BIN.resolve()}/lockstepctl check --against git:HEAD --repeats 1 -- sh -c 'env >> {seen}'\nexit 0\n")
        hook.chmod(0o755)
        for words in (["commit", "--all"], ["commit"]):  # git makes an index of its own for the first
            (self.tree / "train.py").write_text(edited)
            if "--all" not in words:
                self.git("add", "train.py")
            self.call("git", "-C", self.tree, "-c", "user.name=t", "-c", "user.email=t@localhost", *words, "--quiet", "-m", "edited")
            self.assertEqual(self.git("show", "HEAD:train.py"), edited)
            edited += "# again\n"
        given = {line.split("=")[0] for line in seen.read_text().splitlines()}
        self.assertIn("LOCKSTEP_HOME", given)
        self.assertEqual(given & set(self.git("rev-parse", "--local-env-vars").split()), set())

    def test_the_two_sides_have_names_of_their_own_whatever_the_revision_is_called(self):
        self.git("branch", "here")
        subprocess.run([support.BIN.resolve() / "lockstepctl", "check", "--against", "here", "--repeats", "1", "--", "true"],
                       env=self.environment, cwd=self.tree, stdin=subprocess.DEVNULL, capture_output=True, timeout=100)
        names = {json.loads((run / "config.json").read_text())["name"] for run in self.runs()}
        self.assertEqual(names, {"base git:here", NEW_RUN})

    def code_after(self, *numbers, ignored=signal.SIG_DFL):
        """Sends these signals to a check during its first run; gives its exit code. `ignored`: how it was started to take SIGHUP."""
        begun, released = self.home / "begun", self.home / "released"
        for file in begun, released:
            file.unlink(missing_ok=True)
        script = f"touch {begun}; until [ -e {released} ]; do sleep 0.05; done"
        words = ("check", "--against", "main", "--repeats", "1", "--", "sh", "-c", script)
        taken = {signal.SIGINT: signal.SIG_DFL, signal.SIGHUP: ignored}  # a job in the background ignores SIGINT
        check = subprocess.Popen([support.BIN.resolve() / "lockstepctl", *words], env=self.environment, cwd=self.tree, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                 preexec_fn=lambda: [signal.signal(*one) for one in taken.items()])
        try:
            support.wait_for(begun.exists, 10, "the first run")
            for number in numbers:
                check.send_signal(number)
                time.sleep(0.1)
            if ignored == signal.SIG_IGN:
                released.touch()
            return check.wait(60)
        finally:
            released.touch()
            check.kill()
            check.wait()

    def test_a_check_that_is_stopped_or_whose_terminal_closes_leaves_no_checkout(self):
        for numbers in ([signal.SIGINT], [signal.SIGTERM], [signal.SIGHUP, signal.SIGHUP]):  # a shell's, then its terminal's
            with self.subTest(numbers):
                self.assertEqual(self.code_after(*numbers), 130)
                self.assertEqual(self.git("worktree", "list").count("\n"), 1)

    def test_a_check_that_was_started_to_ignore_the_end_of_its_terminal_goes_on(self):
        self.assertEqual(self.code_after(signal.SIGHUP, ignored=signal.SIG_IGN), 4)  # one repeat has no interval

    def test_what_git_does_not_know_is_said_before_anything_runs(self):
        done = subprocess.run([support.BIN.resolve() / "lockstepctl", "check", "--against", "nowhere", "--", "true"],
                              env=self.environment, cwd=self.tree, capture_output=True, text=True)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("nowhere", done.stderr)
        self.assertEqual(self.runs(), [])

    def test_an_option_of_gits_is_no_revision(self):
        for word in ("-f", "--lock", "git:--force"):
            with self.subTest(word):
                done = subprocess.run([support.BIN.resolve() / "lockstepctl", "check", f"--against={word}", "--", "true"],
                                      env=self.environment, cwd=self.tree, capture_output=True, text=True)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn("is an option of git's and no revision", done.stderr)
                self.assertEqual(self.git("worktree", "list").count("\n"), 1)
                self.assertEqual(self.runs(), [])


if __name__ == "__main__":
    support.main()

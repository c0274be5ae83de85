#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every large allocation of the programs fails in turn, and all after it. The program goes on without that memory or ends with one
sentence and exit code 1; nothing that it had written is lost, and what it started ends or can be resumed. failing_memory.cpp,
preloaded, does it. LOCKSTEP_SOAK=1 tries every allocation, else some of them.

    failing_memory_test.py PRELOADED BIN [unittest's arguments]"""
import json
import subprocess
import unittest

import failing_files_test as files
from failing_files_test import EVER, STOP, Files
from given import BIN
from small_data import write_small_data

OUT = "the memory ran out, and the program ends; what it had written stays"


class Memory(Files):
    """A home whose programs find no memory. `from_bytes`: what counts as a large allocation."""

    from_bytes = 1 << 20

    def start(self, program, words, at=0, how=EVER, error=0, path=""):
        return self.preloaded(words, {
            "FAILING_MEMORY_PROGRAM": program, "FAILING_MEMORY_FROM": self.from_bytes, "FAILING_MEMORY_COUNT": self.count,
            "FAILING_MEMORY_LOG": self.log, "FAILING_MEMORY_AT": at})

    def told(self, outcome):
        self.assertEqual(outcome.code, 1, outcome.errors)
        if OUT not in outcome.errors:  # a library that gives up in its own words, or the window without a picture
            self.assertRegex(outcome.errors, "(?i)out of memory|cannot allocate memory|the memory ran out: a picture of")

    def failing(self, program, words, seed, some, prepare=lambda: None):
        """The allocation from which on all fail, and the outcome, each with a home of its own."""
        for (at, _, _), outcome in self.cases(program, words, seed, some, (EVER,), prepare):
            if outcome.code != 0:
                with self.subTest(f"allocation {at}"):
                    self.told(outcome)
            yield at, outcome


class Agent(Memory):
    """lockstep-agent with two ranks: the log stays whole, and no rank is left."""

    from_bytes = 64 << 10
    words, check, sent = files.Run.words, files.Run.check, files.Run.sent

    def test_a_run_whose_agent_runs_out_of_memory_ends_and_what_it_wrote_can_be_read(self):
        for at, outcome in self.failing("lockstep-agent", self.words, 1, 5):
            with self.subTest(f"allocation {at}"):
                self.check((at, STOP, 0), outcome)  # as if it had been killed there


class Owner(Memory):
    """lockstepctl with an experiment of two runs."""

    from_bytes = 64 << 10
    words, check, states = files.Queue.words, files.Queue.check, files.Queue.states

    def test_an_experiment_whose_owner_runs_out_of_memory_can_be_resumed(self):
        self.data = write_small_data(self.root / "data")
        for at, outcome in self.failing("lockstepctl", self.words, 2, 4):
            with self.subTest(f"allocation {at}"):
                self.check((at, STOP, 0), outcome)


class Reader(Memory):
    """What reads a run with many lines."""

    steps = 60_000

    def prepare(self):
        environment = dict(self.environment, FAKE_RANK=f"epochs=1;steps={self.steps};step_ms=0")
        done = subprocess.run([BIN / "lockstep-agent", "run", "--", BIN / "fake_rank"], env=environment, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.run_id = next((self.home / "runs").iterdir()).name
        self.table = self.home / "table.json"
        self.table.write_text("the one before")


class Viewer(Reader):
    """lockstepctl."""

    def test_an_export_without_memory_leaves_the_file_as_it_was(self):
        words = lambda: [BIN / "lockstepctl", "export", self.run_id, "--format", "json", "--out", self.table]  # noqa: E731
        for at, outcome in self.failing("lockstepctl", words, 3, 5, self.prepare):
            with self.subTest(f"allocation {at}"):
                text = self.table.read_text()
                if outcome.code == 0:
                    self.assertIn("rows", json.loads(text))
                else:
                    self.assertEqual(text, "the one before")
                self.ctl("show", self.run_id, "--json")


@unittest.skipUnless((BIN / "lockstep").exists(), "the window is not built")
class Window(Reader):
    """The window, which draws into a file."""

    def picture(self):
        return self.home / "picture.png"

    def test_a_picture_without_memory_is_not_made_and_the_run_stays(self):
        words = lambda: [BIN / "lockstep", "--screenshot", self.picture(), "--page", "live", "--experiment", self.run_id]  # noqa: E731
        for at, outcome in self.failing("lockstep", words, 4, 5, self.prepare):
            with self.subTest(f"allocation {at}"):
                self.assertEqual(self.picture().exists(), outcome.code == 0)
                self.ctl("show", self.run_id, "--json")


if __name__ == "__main__":
    unittest.main(verbosity=2)

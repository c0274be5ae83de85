#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A run on one other host, through a real sshd: it starts there, is followed here, survives a cut link and leaves a
byte-identical log on both sides. Hosts that must be refused are refused before anything starts."""

import argparse
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.path[:0] = [str(pathlib.Path(__file__).parent), str(pathlib.Path(__file__).resolve().parents[1])]
from local_sshd import LocalSshd  # noqa: E402
from waiting import wait_for  # noqa: E402

arguments = None
SOAK = os.environ.get("LOCKSTEP_SOAK") == "1"
CUTS, STEPS = (100, 4000) if SOAK else (3, 60)  # of a link; of an epoch, 10 ms each


def run_folders(home):
    runs = pathlib.Path(home) / "runs"
    return sorted(runs.iterdir()) if runs.is_dir() else []


class OneOtherHost(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="lockstep-ssh-")
        root = pathlib.Path(self.folder.name)
        self.here, self.there = root / "here", root / "there"
        self.here.mkdir()
        self.there.mkdir()
        self.sshd = LocalSshd(
            root / "sshd",
            {
                "LOCKSTEP_HOME": str(self.there),
                "LOCKSTEP_TRAINER": arguments.fake_rank,
                "FAKE_RANK": f"steps={STEPS};step_ms=10",
            },
        )
        self.sshd.start()
        self.environment = dict(
            os.environ, LOCKSTEP_HOME=str(self.here), LOCKSTEP_SSH_OPTIONS=self.sshd.client_options
        )
        for name in ("LOCKSTEP_TRAINER", "LOCKSTEP_AGENT"):
            self.environment.pop(name, None)

    def tearDown(self):
        self.sshd.stop()
        self.folder.cleanup()

    def ctl(self, *words):
        return [
            str(pathlib.Path(arguments.bin) / "lockstepctl"),
            "run",
            "lenet-dp-vs-ddp",
            "--quick",
            "--repeats",
            "1",
            *words,
            "--remote-agent",
            str(pathlib.Path(arguments.bin) / "lockstep-agent"),
        ]

    def start(self, *words):
        return subprocess.Popen(
            self.ctl(*words), env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def assert_copies_match(self):
        there = run_folders(self.there)
        self.assertTrue(there, "no run on the other host")
        for run in there:
            copy = self.here / "runs" / run.name
            self.assertEqual(
                (run / "node-0.ndjson").read_bytes(), (copy / "node-0.ndjson").read_bytes(), f"copy of {run.name} differs"
            )
            self.assertTrue((copy / "origin.json").exists(), "the copy does not say where it came from")
            result = json.loads((run / "result.json").read_text())
            self.assertEqual(result["state"], "done", result)

    def test_a_run_there_is_followed_here_and_the_log_is_the_same_byte_for_byte(self):
        process = self.start("--host", "labbox")
        out, err = process.communicate(timeout=150)
        self.assertEqual(process.returncode, 0, out + err)
        self.assertIn("DDP", out)
        self.assert_copies_match()

    def test_a_cut_link_loses_nothing_and_does_not_touch_the_run(self):
        process = self.start("--host", "labbox")
        wait_for(lambda: any((run / "node-0.ndjson").exists() for run in run_folders(self.here)), 30, "a copy here")
        cuts = 0
        for _ in range(CUTS):  # each as soon as a link has been there for a moment, however long a slow machine takes to connect
            wait_for(lambda: self.sshd.connections() or process.poll() is not None, 60, "the link again")
            time.sleep(0.7)
            if process.poll() is None:
                cuts += bool(self.sshd.cut_links())
        out, err = process.communicate(timeout=400)
        self.assertGreater(cuts, 0.9 * CUTS if SOAK else 0, "too few links were cut: the runs were over")
        self.assertEqual(process.returncode, 0, out + err)
        self.assert_copies_match()

    def test_a_viewer_of_a_queue_holds_no_more_files_after_its_last_run_than_after_its_first(self):
        recipe = pathlib.Path(self.folder.name) / "short.json"
        recipe.write_text(json.dumps({"name": "short", "title": "Short runs", "summary": "Nine of them.", "question": "What is held?",
                                      "base": {"model": "lenet", "dataset": "fashion-mnist", "device": "cpu", "epochs": 1,
                                               "batch_size": 64, "train_samples": 640},
                                      "runs": [{"method": "baseline", "devices": [0]}], "repeats": 9}))
        agent, ctl = (str(pathlib.Path(arguments.bin) / name) for name in ("lockstep-agent", "lockstepctl"))
        started = subprocess.run([ctl, "run", str(recipe), "--host", "labbox", "--remote-agent", agent, "--detach", "--json"],
                                 env=self.environment, capture_output=True, text=True, timeout=100)
        self.assertEqual(started.returncode, 0, started.stderr)
        viewer = subprocess.Popen([ctl, "attach", json.loads(started.stdout)["experiment"]], env=self.environment,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(viewer.kill)
        held = {}  # by how many runs have a copy here: the fewest descriptors that were seen

        def look():
            if viewer.poll() is not None:
                return True
            runs = len(run_folders(self.here))
            with contextlib.suppress(OSError):
                held[runs] = min(held.get(runs, 1 << 20), len(os.listdir(f"/proc/{viewer.pid}/fd")))
            return False

        wait_for(look, 150, "the queue's end")
        self.assertEqual(max(held), 9)
        # What is kept open of each run would be more with every one, so of the last three at least as many more as lie between them and the
        # first three. A look that meets a copy in the making sees a few more, one that meets none a few less.
        early, late = ([held[runs] for runs in numbers if runs in held] for numbers in ((1, 2, 3), (6, 7, 8)))
        self.assertLess(min(late), max(early) + 4, held)

    def test_a_changed_host_key_is_refused_and_nothing_starts(self):
        self.sshd.replace_host_key()
        process = self.start("--host", "labbox")
        out, err = process.communicate(timeout=60)
        self.assertNotEqual(process.returncode, 0)
        self.assertIn("key", (out + err).lower())
        self.assertEqual(run_folders(self.there), [])

    def test_a_host_name_that_could_reach_a_shell_is_refused(self):
        for host in ("-oProxyCommand=touch pwned", "box;touch pwned", "box$(touch pwned)", "box\ntouch pwned", "'box'"):
            with self.subTest(host=host):
                process = self.start(f"--host={host}")
                out, err = process.communicate(timeout=30)
                self.assertEqual(process.returncode, 2, out + err)
                self.assertEqual(run_folders(self.there), [])
        self.assertFalse(pathlib.Path("pwned").exists())


def main():
    global arguments
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--fake-rank", required=True)
    arguments, rest = parser.parse_known_args()
    search = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    for program in ("sshd", "ssh", "ssh-keygen"):
        if not shutil.which(program, path=search):
            print(f"skipped: no {program} here; install openssh-server and openssh-client")
            return 77
    result = unittest.main(argv=[sys.argv[0], *rest], exit=False, verbosity=2).result
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())

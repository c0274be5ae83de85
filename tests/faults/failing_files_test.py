#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every write, sync, rename, truncation, open and new folder of the programs fails in turn: once, from there on, after half of the bytes, or
with the program killed before it. Afterwards everything opens, nothing is half there, no run that was kept is lost, and whoever started
it was told. failing_files.cpp, preloaded, does it; its head lists the variables. LOCKSTEP_SOAK=1 tries every operation, else some of them.

    failing_files_test.py PRELOADED BIN [unittest's arguments]"""
import errno
import json
import os
import pathlib
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1]), str(pathlib.Path(__file__).resolve().parents[1] / "ssh")]
from given import BIN, PRELOADED  # noqa: E402
from local_sshd import LocalSshd  # noqa: E402
from small_data import write_small_data  # noqa: E402
from waiting import processes_of, wait_for  # noqa: E402

SOAK = os.environ.get("LOCKSTEP_SOAK") == "1"
ONCE, EVER, SHORT, STOP = "once", "ever", "short", "stop"
HEALED = "ever, until it is healed"
HEALED_AFTER_S = 2
ALL = sys.maxsize
NEVER = struct.pack("=q", -(1 << 40))  # as the number of operations so far
RANK = "epochs=1;steps=6;step_ms=3;say=hello"
FRAMES = [12, 11]  # that fake_rank sends with these orders, as rank 0 and as rank 1 of 2


class Program:
    """A started command; what it prints goes to a file beside its home."""

    def __init__(self, words, environment, folder):
        self._errors = folder / "errors"
        with open(self._errors, "w") as errors:
            self._process = subprocess.Popen([str(word) for word in words], env=environment, stdin=subprocess.DEVNULL,
                                             stdout=subprocess.DEVNULL, stderr=errors,
                                             preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))  # a job in the background ignores it

    @property
    def errors(self):
        return self._errors.read_text()

    def end(self, given_up_after=None, heal=None):
        """With its exit code. `given_up_after`: words on stderr after which a person would press Ctrl-C; `heal` is called after a while."""
        begun = time.monotonic()
        while self._process.poll() is None and time.monotonic() < begun + 100:
            if heal and time.monotonic() > begun + HEALED_AFTER_S:
                heal()
                heal = None
            if given_up_after and given_up_after in self.errors:
                self._process.send_signal(signal.SIGINT)
                given_up_after = None
            time.sleep(0.02)
        if self._process.poll() is None:
            self._process.kill()
        self.code = self._process.wait()
        return self


class Files(unittest.TestCase):
    """A home whose files fail one program."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="lockstep-files-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)

    def begin(self):
        """An empty home."""
        self.home = pathlib.Path(tempfile.mkdtemp(dir=self.root)) / "home"
        self.count, self.log = self.home.parent / "count", self.home.parent / "operations"
        clean = {name: value for name, value in os.environ.items() if not name.startswith("LOCKSTEP_")}
        self.environment = dict(clean, LOCKSTEP_HOME=str(self.home), LOCKSTEP_TRAINER=str(BIN / "fake_rank"), FAKE_RANK=RANK)

    def start(self, program, words, at=0, how=ONCE, error=errno.ENOSPC, path=""):
        """Starts a command in which the operation `at`, of those on paths with `path` in them, fails `program`; 0: none does."""
        return self.preloaded(words, {
            "FAILING_FILES_BELOW": self.home, "FAILING_FILES_WITH": path, "FAILING_FILES_PROGRAM": program,
            "FAILING_FILES_HOW": EVER if how == HEALED else how,
            "FAILING_FILES_COUNT": self.count, "FAILING_FILES_LOG": self.log, "FAILING_FILES_AT": at, "FAILING_FILES_ERROR": error})

    def heal(self):
        with self.count.open("r+b") as count: # programs have it in their memory: it must not become shorter
            count.write(NEVER)

    def preloaded(self, words, variables):
        """Starts a command with the library and its variables; it counts from 0."""
        self.count.write_bytes(bytes(8))
        self.log.unlink(missing_ok=True)
        orders = {name: str(value) for name, value in variables.items()}
        return Program(words, dict(self.environment, LD_PRELOAD=str(PRELOADED), **orders), self.home.parent)

    def operations(self):
        return self.log.read_text().splitlines() if self.log.exists() else []

    def cases(self, program, words, seed, some, hows, prepare=lambda: None, path=""):
        """Which operation fails, how, with what, and the program that has ended: all cases or, without LOCKSTEP_SOAK=1, `some` of them.
        Each has a home of its own. `path`: only operations on paths with this text count."""
        self.begin()
        prepare()
        undisturbed = self.start(program, words(), path=path).end()
        self.assertEqual(undisturbed.code, 0, undisturbed.errors)
        count = len(self.operations())
        self.assertGreater(count, 0)
        errors = {ONCE: (errno.ENOSPC, errno.EIO), EVER: (errno.ENOSPC,), HEALED: (errno.ENOSPC,), SHORT: (errno.ENOSPC,), STOP: (0,)}
        every = [(at, how, error) for at in range(1, count + 1) for how in hows for error in errors[how]]
        if not SOAK:
            every = sorted(random.Random(seed).sample(every, min(some, len(every))))
        reached = 0
        for at, how, error in every:
            for _ in range(2):
                self.begin()
                prepare()
                outcome = self.failed(program, words(), at, how, error, path)
                made = len(self.operations())
                if made >= at or made == 0:
                    break
                # What is written ten times a second is written less often in a run that is over sooner than the undisturbed one.
                self.nothing_runs_on()
                shutil.rmtree(self.home.parent)
                at = (at - 1) % made + 1
            reached += made >= at
            yield (at, how, error), outcome
            self.nothing_runs_on()
            shutil.rmtree(self.home.parent)
        self.assertGreater(reached, 0.8 * len(every), "most operations were never made")

    def failed(self, program, words, at, how, error, path=""):
        ended = self.start(program, words, at, how, error, path).end(given_up_after="Ctrl-C gives it up",
                                                                     heal=self.heal if how == HEALED else None)
        with self.subTest(self.case((at, how, error))):
            self.assertIn(ended.code, (0, -signal.SIGKILL) if how == STOP else (0, 1, 2, 130), ended.errors)
        return ended

    def nothing_runs_on(self):
        try:
            wait_for(lambda: not processes_of(self.home), 30, "the end of all processes")
        except AssertionError:
            for pid in processes_of(self.home):
                os.kill(pid, signal.SIGKILL)
            raise

    def case(self, which):
        """What failed, for messages."""
        at, how, error = which
        done = self.operations()
        what = re.sub(r"\d{8}T\w+-\w+", "RUN", done[at - 1]) if at <= len(done) else f"{at} of {len(done)}"
        return f"{what}: {how} {errno.errorcode.get(error, '')}"

    def ctl(self, *words):
        """What lockstepctl prints, on files that don't fail."""
        done = subprocess.run([BIN / "lockstepctl", *words], env=self.environment, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=100)
        self.assertEqual(done.returncode, 0, f"{words}: {done.stdout}{done.stderr}")
        return done.stdout

    def leftovers(self):
        """Temporary files of ours, of Qt and of exports."""
        return [str(path.relative_to(self.home)) for path in self.home.rglob("*")
                if re.search(r"\.tmp-|\.json\.\w{6}$|\.lockstep-export", path.name)]

    def told(self, outcome):
        self.assertRegex(outcome.errors, "No space left on device|Input/output error")


class Run(Files):
    """lockstep-agent with two ranks: folder, log, consoles, result."""

    def words(self):
        return [BIN / "lockstep-agent", "run", "--nproc-per-node", "2", "--", BIN / "fake_rank"]

    def test_a_run_whose_files_fail_is_whole_or_says_what_is_missing(self):
        for which, outcome in self.cases("lockstep-agent", self.words, 1, 40, (ONCE, EVER, SHORT, STOP)):
            with self.subTest(self.case(which)):
                self.check(which, outcome)

    def test_a_result_that_no_room_is_made_for_is_waited_for_and_given_up_with_1(self):
        self.begin()
        outcome = self.failed("lockstep-agent", self.words(), 1, EVER, errno.ENOSPC, "result.json")
        self.assertEqual(outcome.code, 1, outcome.errors)
        self.assertRegex(outcome.errors, r"the result can't be written yet: .*No space left on device; it is tried again each second for ten "
                                         r"minutes; Ctrl-C gives it up\n(.*\n)*the result could not be written: .*No space left on device\n")
        self.nothing_runs_on()

    def test_a_log_that_grows_is_synced_every_second(self):
        self.begin()
        self.environment["FAKE_RANK"] = "epochs=1;steps=250;step_ms=20"
        self.assertEqual(self.start("lockstep-agent", self.words()).end().code, 0)
        syncs = [line for line in self.operations() if line.split()[1] == "sync" and line.endswith("node-0.ndjson")]
        self.assertGreaterEqual(len(syncs), 4, "in five seconds")

    def check(self, which, outcome):
        self.nothing_runs_on()
        runs = [entry["run"] for entry in json.loads(self.ctl("list", "--json"))["runs"]]
        folders = sorted(path.name for path in (self.home / "runs").iterdir()) if (self.home / "runs").is_dir() else []
        if which[1] != STOP:
            self.assertEqual(self.leftovers(), [])
            self.assertEqual(folders, runs)  # no folder of a run that never was
            if outcome.code != 0:
                self.told(outcome)
        for run in runs:
            self.ctl("show", run, "--json")
            sent = self.sent(run, outcome)
            if outcome.code == 0:
                self.assertEqual(sent, [list(range(count)) for count in FRAMES], outcome.errors)
                self.assertEqual(json.loads((self.home / "runs" / run / "result.json").read_text())["state"], "done")
                for rank in (0, 1):
                    console = (self.home / "runs" / run / "console" / f"rank-{rank}.log").read_text()
                    self.assertEqual(console, f"hello\ninfo: fake rank {rank} is ready\n")
            for rank in (0, 1):
                self.assertEqual(sent[rank], list(range(len(sent[rank]))))  # the end may lack, never the middle
        if outcome.code == 0:
            self.assertEqual(len(runs), 1)

    def sent(self, run, outcome):
        """The numbers of the frames in the log, by rank. Half a line may stand at the end of a log that could not be finished."""
        log = self.home / "runs" / run / "node-0.ndjson"
        lines = log.read_bytes().split(b"\n") if log.exists() else [b""]
        if outcome.code == 0:
            self.assertEqual(lines[-1], b"")
        frames = [json.loads(line) for line in lines[:-1]]
        return [[frame["rseq"] for frame in frames if frame.get("rank") == rank and "rseq" in frame] for rank in (0, 1)]


class Queue(Files):
    """lockstepctl with an experiment of two runs: the queue, its lock, the index."""

    def words(self):
        recipe = self.home.parent / "recipe.json"
        base = {"model": "lenet", "dataset": "fashion-mnist", "device": "cpu", "batch_size": 24, "train_samples": 96, "epochs": 1,
                "oversubscribe": True, "data_dir": str(self.data)}
        recipe.write_text(json.dumps({"name": "files", "title": "Files", "summary": "Two runs.", "question": "What becomes of them?",
                                      "base": base, "repeats": 1,
                                      "runs": [{"method": "baseline", "devices": [0]}, {"method": "ddp", "devices": [0, 1]}]}))
        return [BIN / "lockstepctl", "run", recipe]

    def test_an_experiment_whose_files_fail_ends_or_was_never_there_and_can_be_resumed_after_a_kill(self):
        self.data = write_small_data(self.root / "data")
        for which, outcome in self.cases("lockstepctl", self.words, 2, 24, (ONCE, HEALED, STOP)):
            with self.subTest(self.case(which)):
                self.check(which, outcome)

    def states(self, experiment):
        kept = json.loads((self.home / "experiments" / experiment / "experiment.json").read_text())
        return [entry["state"] for entry in kept["entries"]]

    def check(self, which, outcome):
        listed = [entry["experiment"] for entry in json.loads(self.ctl("list", "--json"))["experiments"]]
        folders = sorted(path.name for path in (self.home / "experiments").iterdir()) if (self.home / "experiments").is_dir() else []
        if which[1] != STOP:
            self.assertEqual(self.leftovers(), [])
            self.assertEqual(folders, listed)
            if outcome.code != 0:
                self.told(outcome)
        for experiment in listed:
            self.ctl("show", experiment, "--json")
            if outcome.code == 0:
                self.assertEqual(self.states(experiment), ["done", "done"])
            elif self.states(experiment) != ["done", "done"]:
                self.ctl("resume", experiment)
                wait_for(lambda: self.states(experiment) == ["done", "done"], 60, "the rest of the queue")
        if listed:
            done = list((self.home / "runs").glob("*/result.json"))
            self.assertEqual(len(done), 2)  # none is made twice


class Copies(Files):
    """lockstepctl with a run on another host: the copy of its folder here."""

    def setUp(self):
        super().setUp()
        if not shutil.which("sshd", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin"):
            self.skipTest("there is no sshd here")
        self.there = self.root / "there"
        self.there.mkdir()
        self.sshd = LocalSshd(self.root / "sshd", {"LOCKSTEP_HOME": str(self.there), "LOCKSTEP_TRAINER": str(BIN / "fake_rank"), "FAKE_RANK": RANK})
        self.sshd.start()
        self.addCleanup(self.sshd.stop)

    def words(self):
        self.environment["LOCKSTEP_SSH_OPTIONS"] = self.sshd.client_options
        recipe = self.home.parent / "recipe.json"
        base = {"model": "lenet", "dataset": "fashion-mnist", "device": "cpu", "batch_size": 24, "train_samples": 96, "epochs": 1}
        recipe.write_text(json.dumps({"name": "copies", "title": "Copies", "summary": "One run.", "question": "What becomes of its copy?",
                                      "base": base, "repeats": 1, "runs": [{"method": "baseline", "devices": [0]}]}))
        return [BIN / "lockstepctl", "run", recipe, "--host", "labbox", "--remote-agent", BIN / "lockstep-agent"]

    def test_a_copy_whose_files_fail_is_the_beginning_of_the_original_and_attached_again_all_of_it(self):
        for which, outcome in self.cases("lockstepctl", self.words, 8, 6, (ONCE, SHORT, STOP), path="/runs/"):
            with self.subTest(self.case(which)):
                self.check(which, outcome)

    def check(self, which, outcome):
        for path in (self.home / "experiments").glob("*/experiment.json"):
            (entry,) = json.loads(path.read_text())["entries"]
            original, copy = self.there / "runs" / entry["run"], self.home / "runs" / entry["run"]
            if not entry["run"] or not original.exists():
                continue
            wait_for((original / "result.json").exists, 60, "the run's end over there")
            log = (original / "node-0.ndjson").read_bytes()
            if (copy / "node-0.ndjson").exists():
                self.assertTrue(log.startswith((copy / "node-0.ndjson").read_bytes()), outcome.errors)
            if which[1] == STOP:  # the queue has no owner
                self.ctl("resume", path.parent.name)
                wait_for(lambda path=path: json.loads(path.read_text())["entries"][0]["state"] == "done", 60, "the queue's end")
            else:
                self.assertEqual(self.leftovers(), [])
            self.ctl("attach", path.parent.name)
            self.assertEqual((copy / "node-0.ndjson").read_bytes(), log, outcome.errors)
            result, same = (json.loads((folder / "result.json").read_text()) for folder in (copy, original))
            self.assertEqual(result, same, outcome.errors)


class Notes(Files):
    """What people write about a run, and what they export of it."""

    def prepare(self):
        subprocess.run([BIN / "lockstep-agent", "run", "--", BIN / "fake_rank"], env=self.environment, check=True, capture_output=True)
        self.run_id = next((self.home / "runs").iterdir()).name
        self.ctl("note", self.run_id, "the first")
        self.table = self.home / "table.json"
        self.table.write_text("the one before")

    def test_a_note_is_the_old_one_or_the_new_one_and_a_failure_is_told(self):
        words = lambda: [BIN / "lockstepctl", "note", self.run_id, "the second"]  # noqa: E731
        for which, outcome in self.cases("lockstepctl", words, 3, ALL, (ONCE, EVER, SHORT, STOP), self.prepare):
            with self.subTest(self.case(which)):
                note = self.ctl("note", self.run_id).strip()
                self.assertIn(note, ("the first", "the second"))
                if outcome.code == 0:
                    self.assertEqual(note, "the second")
                elif which[1] != STOP:
                    self.told(outcome)
                if which[1] != STOP:
                    self.assertEqual(self.leftovers(), [])

    def test_a_file_that_is_exported_is_whole_or_the_one_before(self):
        words = lambda: [BIN / "lockstepctl", "export", self.run_id, "--format", "json", "--out", self.table]  # noqa: E731
        for which, outcome in self.cases("lockstepctl", words, 4, ALL, (ONCE, EVER, SHORT, STOP), self.prepare):
            with self.subTest(self.case(which)):
                text = self.table.read_text()
                if outcome.code == 0 or text != "the one before":
                    self.assertIn("rows", json.loads(text))
                if outcome.code > 0:
                    self.told(outcome)
                if which[1] != STOP:
                    self.assertEqual(self.leftovers(), [])

    def test_a_run_that_is_deleted_or_restored_is_in_the_list_or_in_the_trash(self):
        def deleted():
            self.prepare()
            self.ctl("delete", self.run_id)

        for verb, prepare in (("delete", self.prepare), ("restore", deleted)):
            words = lambda verb=verb: [BIN / "lockstepctl", verb, self.run_id]  # noqa: E731
            for which, outcome in self.cases("lockstepctl", words, 6, ALL, (ONCE, EVER, SHORT, STOP), prepare):
                with self.subTest(f"{verb}: {self.case(which)}"):
                    listed = [entry["run"] for entry in json.loads(self.ctl("list", "--json"))["runs"]]
                    trashed = self.run_id in self.ctl("trash", "--json")
                    self.assertNotEqual(self.run_id in listed, trashed)
                    if outcome.code == 0:
                        self.assertEqual(trashed, verb == "delete")
                    elif which[1] != STOP:
                        self.told(outcome)

    def test_event_files_for_tensorboard_are_complete_or_their_failure_is_told(self):
        folder = lambda: self.home / "events"  # noqa: E731
        words = lambda: [BIN / "lockstepctl", "export", self.run_id, "--format", "tensorboard", "--out", folder()]  # noqa: E731
        for which, outcome in self.cases("lockstepctl", words, 5, 15, (ONCE, EVER, SHORT, STOP), self.prepare):
            with self.subTest(self.case(which)):
                if outcome.code > 0:
                    self.told(outcome)
                self.ctl("export", self.run_id, "--format", "tensorboard", "--out", str(self.home / "again"))
                whole, made = ({path.relative_to(root): path.read_bytes() for path in root.rglob("*tfevents*")}
                               for root in (self.home / "again", folder()))
                for name, content in made.items():
                    self.assertTrue(whole[name].startswith(content), name)  # what is there is right
                if outcome.code == 0:
                    self.assertEqual(made, whole)


class Checkpoints(Files):
    """lockstep-trainer's checkpoints and summary."""

    def words(self):
        self.home.mkdir(exist_ok=True)
        return [BIN / "lockstep-trainer", f"--data-dir={self.data}", "--train-samples=480", "--batch-size=48", "--epochs=2", "--device=cpu",
                f"--checkpoint-dir={self.home}/checkpoints", f"--summary={self.home}/summary.json"]

    def parameters(self, errors):
        return re.search(r"parameters sha256 (\w+)", errors).group(1)

    def test_a_training_whose_checkpoints_fail_goes_on_from_a_whole_one_to_the_same_bits(self):
        self.data = write_small_data(self.root / "data", train=480)
        self.begin()
        undisturbed = self.parameters(self.start("-", self.words()).end().errors)
        for which, outcome in self.cases("lockstep-trainer", self.words, 5, 8, (ONCE, EVER, SHORT, STOP)):
            with self.subTest(self.case(which)):
                if outcome.code > 0:
                    self.told(outcome)
                if which[1] != STOP:
                    self.assertEqual(self.leftovers(), [])
                again = self.start("-", [*self.words(), "--resume"]).end()
                self.assertEqual(again.code, 0, again.errors)
                self.assertEqual(self.parameters(again.errors), undisturbed)


if __name__ == "__main__":
    unittest.main(verbosity=2)

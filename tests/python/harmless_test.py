#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whatever becomes of the connection or of the values that a script reports with the Python package lockstep: training goes on."""
import json
import re
import socket
import subprocess
import sys
import unittest

from support import HERE, Case

TRAIN = HERE / "train.py"


def all_from_a_rank(server):
    """What the first process that connects sends until its end."""
    peer, _ = server.accept()
    with peer:
        received = bytearray()
        while part := peer.recv(1 << 20):
            received.extend(part)
    return received


class Follower:
    """Listens where a script reports, and keeps what it received. Reads only on request."""

    def __init__(self, path):
        self.server = socket.socket(socket.AF_UNIX)
        self.server.bind(str(path))
        self.server.listen()
        self.address, self.received = f"unix:{path}", bytearray()

    def accept(self):
        self.server.settimeout(30)
        self.peer, _ = self.server.accept()

    def read(self):
        """Until the script ends."""
        while part := self.peer.recv(1 << 20):
            self.received.extend(part)

    def close(self):
        self.peer.close()
        self.server.close()

    def frames(self):
        """All frames but the hello."""
        return [json.loads(line) for line in self.received.splitlines()[1:]]


# Prints what of its module is left in a thread and at exit, and has a process of multiprocessing unpickle a class of its own.
LATE = """import atexit, multiprocessing, pickle, sys, threading, time

class Pair:
    def __init__(self, value): self.value = value

def double(pair): return Pair(2 * pair.value)

def check(when):
    print(when, pickle.loads(pickle.dumps(Pair(7))).value, flush=True)

def late():
    threading.main_thread().join()
    check("thread")

if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print([pair.value for pair in pool.map(double, [Pair(1), Pair(2)])], flush=True)
    atexit.register(check, "exit")
    threading.Thread(target=late).start()
    print(sorted((name, str(value)) for name, value in globals().items() if name.startswith("__") and name not in HIDDEN))
    raise ValueError("at the end")
""".replace("HIDDEN", "('__annotations__', '__builtins__', '__conditional_annotations__')")


class Harmless(Case):
    def follow(self, code, exit_code=0, **environment):
        """Runs this code to its end while a follower reads. Gives the frames and what stands on stderr."""
        follower = Follower(self.home / "socket")
        self.addCleanup(follower.server.close)
        said = self.home / "stderr"  # no pipe: nobody reads it before the script has ended
        with open(said, "w") as file:
            script = subprocess.Popen([sys.executable, "-c", "import lockstep, sys\n" + code], stderr=file,
                                      env={**self.environment, "LOCKSTEP_FRAMES": follower.address, **environment})
        follower.accept()
        follower.read()
        script.wait(30)
        follower.close()
        stderr = said.read_text()
        self.assertEqual(script.returncode, exit_code, stderr[-3000:])
        return follower.frames(), stderr

    def test_a_module_that_is_only_asked_for_is_watched_until_it_is_imported(self):
        code = ("import importlib.util, sys\nfrom lockstep.imports import when_imported\ncalled = []\n"
                "when_imported('colorsys', lambda module: called.append(module.__name__))\n"
                "assert importlib.util.find_spec('colorsys') and importlib.util.find_spec('colorsys')\nassert called == []\n"
                "import colorsys\nassert called == ['colorsys'] and colorsys.rgb_to_hsv, called\n"
                "assert not any(type(finder).__name__ == 'ImportWatch' for finder in sys.meta_path)\n")
        self.call(sys.executable, "-c", code)

    def test_a_batch_that_comes_when_another_thread_has_begun_to_train_is_fetched_elsewhere(self):
        code = ("import threading\nfrom lockstep import torch_hooks\nfrom lockstep.watch import Watch\n"
                "class Batches:\n"
                "    left = 3\n"
                "    def __next__(self):\n"
                "        self.left -= 1\n"
                "        if self.left == trains_at:\n"
                "            thread.start()\n"
                "            begun.wait()\n"
                "        if not self.left: raise StopIteration\n"
                "        return [1]\n"
                "class Torch: is_grad_enabled = staticmethod(lambda: True)\n"
                "def train():\n"
                "    watch._trains_here()\n"
                "    begun.set()\n"
                "    over.wait()\n"
                "original = Batches.__next__\n"
                "for trains_at in (1, 0):\n"
                "    watch, begun, over, thread = Watch(), threading.Event(), threading.Event(), threading.Thread(target=train)\n"
                "    watch._torch, Batches.__next__ = Torch, original\n"
                "    torch_hooks.watch_loaders(Batches, watch)\n"
                "    batches = Batches()\n"
                "    try:\n"
                "        while next(batches): pass\n"
                "    except StopIteration: print(*(call for _, call, *_ in watch._early))\n"
                "    over.set()\n")
        self.assertEqual(self.call(sys.executable, "-c", code).stdout, "fetched\nfetched fetched\n")

    def test_an_exception_at_a_prompt_is_no_failure_of_the_process(self):
        code = ("import sys\nfrom types import SimpleNamespace as Fake\nfrom lockstep.watch import Watch\n"
                "watch = Watch()\nwatch._calls = Fake(tell=lambda call, failed: None)\n"
                "watch._sender = Fake(stop_requested=False, send_last=lambda kind, body: print(body['state']))\n"
                "sys.last_value = ValueError()\nwatch._finish()\n"
                "sys.ps1 = 'In : '\nwatch._finish()\n")
        self.assertEqual(self.call(sys.executable, "-c", code).stdout, "failed\ndone\n")

    def test_frames_in_a_folder_stay_where_the_process_began(self):
        code = ("import os, sys\nos.chdir(sys.argv[1])\nimport lockstep\nos.mkdir('outputs')\nos.chdir('outputs')\n"
                "lockstep.Run().close()\nprint(os.environ['LOCKSTEP_FRAMES'])\n")
        done = self.call(sys.executable, "-c", code, self.home, LOCKSTEP_FRAMES="file:frames")
        self.assertEqual(done.stdout, f"file:{self.home.resolve() / 'frames'}\n")
        self.assertTrue((self.home / "frames/rank-0.ndjson").is_file())

    def test_a_value_of_a_wrong_type_is_reported_once_and_never_raises(self):
        epoch = "run = lockstep.Run()\nfor i in run.epoch(1, range(3)):\n    {}\n"
        for line, why in (
            ("run.step('high', 1)", "could not convert string to float: 'high'"),
            ("run.step(object(), 1)", "object"),
            ("run.step(1.0, None)", "NoneType"),
            ("run.step(1.0, 'many')", "invalid literal for int() with base 10: 'many'"),
            ("run.send('eval', accuracy=object())", "object"),
            ("run.send('eval', accuracy={(1, 2): 3})", "keys must be str"),
            ("a = []; a.append(a); run.send('eval', accuracy=a)", "recursion"),
            ("run.lap(['forward'])", "unhashable type: 'list'"),
            ("run.rest_of = lambda phase: 1 / 0\n    with run.phase('forward'): pass", "division by zero"),
        ):
            with self.subTest(line=line):
                (self.home / "socket").unlink(missing_ok=True)
                frames, stderr = self.follow(epoch.format(line) + "print('trained', file=sys.stderr)\nsys.exit(run.close())")
                self.assertRegex(stderr, r"^lockstep: rank 0 is no longer shown \([^\n]*\); training goes on\ntrained\n$")
                self.assertIn(why, stderr)
                self.assertEqual([frame["state"] for frame in frames if frame["type"] == "state"], ["init", "training"])

    def test_a_step_whose_loss_is_unknown_counts_and_has_none(self):
        frames, stderr = self.follow("run = lockstep.Run()\nfor i in run.epoch(1, range(3)):\n    run.step(None if i else 2.0, 5)\n"
                                     "sys.exit(run.close())")
        self.assertEqual(stderr, "")
        windows = [frame for frame in frames if frame["type"] == "steps"]
        self.assertEqual((sum(frame["count"] for frame in windows), sum(frame["samples"] for frame in windows)), (3, 15))
        self.assertEqual([frame["loss"]["mean"] for frame in windows if "loss" in frame], [2.0])

    def test_a_step_outside_an_epoch_is_reported_and_never_raises(self):
        _, stderr = self.follow("run = lockstep.Run()\nrun.step(1.0, 1)\nsys.exit(run.close())")
        self.assertIn("step() was called before epoch()", stderr)

    def test_exceptions_of_the_script_itself_are_its_own(self):
        for line in ("for _ in run.epoch(1, (1 / 0 for _ in range(2))): pass", "with run.phase('forward'): 1 / 0"):
            with self.subTest(line=line):
                (self.home / "socket").unlink(missing_ok=True)
                _, stderr = self.follow(f"run = lockstep.Run()\ntry:\n    {line}\nexcept ZeroDivisionError:\n    sys.exit(7)", 7)
                self.assertEqual(stderr, "")

    def test_a_script_that_ends_itself_has_failed_if_its_code_says_so(self):
        for words, code, state, said in (("", 0, "done", ""), ("0", 0, "done", ""), ("3", 3, "failed", ""),
                                         ("'the loss diverged'", 1, "failed", "the loss diverged\n"), ("run.close()", 0, "done", "")):
            with self.subTest(words):
                (self.home / "socket").unlink(missing_ok=True)
                frames, stderr = self.follow(f"with lockstep.Run() as run:\n    sys.exit({words})\n", code)
                self.assertEqual((frames[-1]["state"], stderr), (state, said))
        (self.home / "socket").unlink(missing_ok=True)
        frames, _ = self.follow("with lockstep.Run() as run:\n    run.stopped = True\n    sys.exit(130)\n", 130)
        self.assertEqual(frames[-1]["state"], "stopped")

    def test_a_script_that_python_m_lockstep_runs_keeps_its_module_as_python_alone_does(self):
        (self.home / "late.py").write_text(LATE)
        (self.home / "package").mkdir()
        for name, text in (("__init__", ""), ("__main__", re.sub("    with .*\n.*\n", "", LATE))):  # no process can import that
            (self.home / "package" / f"{name}.py").write_text(text)
        for words in ["late.py"], ["-m", "late"], ["-m", "package"]:
            with self.subTest(words):
                alone, followed = (subprocess.run([sys.executable, *more, *words], cwd=self.home, env=self.environment, text=True,
                                                  capture_output=True, timeout=60) for more in ((), ("-m", "lockstep")))
                self.assertEqual("[2, 4]" in followed.stdout, words[-1] != "package")
                self.assertIn("thread 7\nexit 7", followed.stdout)
                hide = lambda text: re.sub("0x[0-9a-f]+", "", text)  # noqa: E731
                self.assertEqual((followed.returncode, hide(followed.stdout)), (alone.returncode, hide(alone.stdout)))
                self.assertEqual(followed.stderr.splitlines()[-3:], alone.stderr.splitlines()[-3:])  # the script's own line is there

    def test_python_m_lockstep_leaves_the_path_as_python_makes_it(self):
        (self.home / "scripts").mkdir()
        (self.home / "scripts/shows.py").write_text("import os, subprocess, sys\nprint(sys.path, flush=True)\n"
                                                    "if sys.argv[1:]: sys.exit(subprocess.call([sys.executable, *sys.argv[1:]]))\n")
        (self.home / "below.py").write_text("import here\nimport sys\nprint(sys.path)\n")
        (self.home / "here.py").write_text("")
        own = self.environment["PYTHONPATH"]
        for more in {}, {"PYTHONSAFEPATH": "1"}:
            with self.subTest(more):
                # The child's own folder is another one, so that only an empty folder finds what it imports.
                words = ["scripts/shows.py", "-c", "import below"] if not more else ["scripts/shows.py"]
                alone, followed = (subprocess.run([sys.executable, *with_us, *words], cwd=self.home, text=True, capture_output=True, timeout=60,
                                                  env={**self.environment, **more, "PYTHONPATH": f"/first:{own}:"})
                                   for with_us in ((), ("-m", "lockstep")))
                self.assertEqual((followed.stdout, followed.returncode), (alone.stdout, 0), followed.stderr)

    def test_an_environment_that_makes_no_sense_harms_nothing(self):
        for said, environment in (("RANK is 'first', which is not a number", {"RANK": "first", "LOCKSTEP_FRAMES": "unix:/x"}),
                                  ("neither unix:PATH nor tcp://HOST:PORT", {"LOCKSTEP_FRAMES": "/shared/run7"}),
                                  ("invalid literal", {"LOCKSTEP_FRAMES": "tcp://box:port"}),
                                  ("no longer shown", {"LOCKSTEP_FRAMES": "tcp://box"}),
                                  ("no longer shown", {"LOCKSTEP_FRAMES": "unix:" + "x" * 500})):
            with self.subTest(**environment):
                stderr = self.call(sys.executable, TRAIN, "epochs=1", "steps=2", **environment).stderr
                self.assertIn(said, stderr)
                self.assertEqual(stderr.count("\n"), 1)
        frames, stderr = self.follow("sys.exit(lockstep.Run().close())", WORLD_SIZE="many", RANK="")
        self.assertEqual((stderr, frames[0]["rank"]), ("", 0))
        self.assertNotIn("world_size", frames[0])  # unknown

    def test_a_closed_stderr_harms_nothing(self):
        self.call(sys.executable, "-c", "import sys; sys.stderr.close(); import lockstep; lockstep.Run().close()",
                  LOCKSTEP_FRAMES="unix:/nowhere/socket")

    def test_a_loader_whose_length_raises_is_followed_without_a_length(self):
        frames, stderr = self.follow(
            "class Loader:\n"
            "    def __len__(self): raise TypeError('an iterable data set has no length')\n"
            "    def __iter__(self): return iter(range(3))\n"
            "run = lockstep.Run()\n"
            "for _ in run.epoch(1, Loader()): run.step(1.0, 2)\n"
            "sys.exit(run.close())\n")
        self.assertEqual(stderr, "")
        self.assertNotIn("steps_per_epoch", frames[1])
        self.assertEqual([frame["steps"] for frame in frames if frame["type"] == "epoch"], [3])

    def test_steps_of_an_epoch_that_was_left_early_are_not_lost(self):
        frames, _ = self.follow(
            "run = lockstep.Run()\n"
            "for epoch in (1, 2):\n"
            "    for i in run.epoch(epoch, range(100)):\n"
            "        run.step(1.0, 2)\n"
            "        if i == 4: break\n"
            "sys.exit(run.close())\n")
        windows = [frame for frame in frames if frame["type"] == "steps"]
        for epoch in (1, 2):
            self.assertEqual(sum(w["count"] for w in windows if w["epoch"] == epoch), 5)
        for before, after in zip(windows, windows[1:]):
            self.assertEqual(after["first_step"], before["last_step"] + 1)
        self.assertEqual([frame["rseq"] for frame in frames], list(range(len(frames))))
        self.assertEqual(frames[-1]["state"], "done")

    def test_numbers_that_json_lacks_travel_as_text_and_text_as_it_is(self):
        frames, stderr = self.follow(
            "import fractions, pathlib\n"
            "class Scalar:\n"  # as NumPy's and PyTorch's
            "    def __init__(self, value): self.value = value\n"
            "    def __float__(self): return self.value\n"
            "class Whole(Scalar):\n"
            "    def __index__(self): return self.value\n"
            "run = lockstep.Run(lr=float('inf'), dataset=pathlib.Path('/data'), model=Scalar)\n"
            "run.send('log', level='info', message='NaN and -Infinity are \"numbers\"')\n"
            "run.send('eval', accuracy=Scalar(0.5), samples=Whole(7), per_class_accuracy=(float('-inf'), Scalar(float('nan'))), loss=None)\n"
            "sys.exit(run.close())\n")
        self.assertEqual(stderr, "")
        init, log, evaluated, _ = frames
        self.assertEqual(init["about"], {"lr": "Inf", "dataset": "/data", "model": "<class '__main__.Scalar'>"})
        self.assertEqual(log["message"], 'NaN and -Infinity are "numbers"')
        self.assertEqual({key: evaluated.get(key, "absent") for key in ("accuracy", "samples", "per_class_accuracy", "loss")},
                         {"accuracy": 0.5, "samples": 7, "per_class_accuracy": ["-Inf", "NaN"], "loss": "absent"})
        self.assertIsInstance(evaluated["samples"], int)

    def test_without_a_follower_nothing_is_measured_and_the_gpu_is_not_waited_for(self):
        code = ("import lockstep\n"
                "run = lockstep.Run(sync=lambda: 1 / 0)\n"  # such as torch.cuda.synchronize, which costs time
                "for _ in run.epoch(1, range(3)):\n"
                "    with run.phase('forward'): pass\n"
                "    run.step(1.0, 1)\n"
                "assert (run.on, run.times, run.close()) == (False, {}, 0)\n")
        self.assertEqual(self.call(sys.executable, "-c", code).stderr, "")

    def test_the_reason_of_a_refused_connection_is_shown(self):
        follower = Follower(self.home / "socket")
        code = ("import lockstep, sys\n"
                "run = lockstep.Run()\n"
                "sys.stdin.read()\n"  # until the connection was refused
                "for _ in run.epoch(1, range(3)): run.step(1.0, 1)\n"
                "sys.exit(run.close())\n")
        script = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                  env={**self.environment, "LOCKSTEP_FRAMES": follower.address})
        follower.accept()
        follower.peer.recv(1 << 20)
        follower.peer.sendall(b'{"type":"hello"}\n{"type":"error","message":"upgrade the script"}\n')
        follower.close()
        self.assertEqual(script.communicate(timeout=30)[1],
                         "lockstep: rank 0 is no longer shown (upgrade the script); training goes on\n")
        self.assertEqual(script.returncode, 0)

    def test_a_script_that_leaves_sigpipe_at_its_default_outlives_its_listener(self):
        code = ("import lockstep, signal, sys\nsignal.signal(signal.SIGPIPE, signal.SIG_DFL)\n"
                "run = lockstep.Run()\n"
                "print('begun', flush=True)\nsys.stdin.read()\n"  # until the listener has gone
                "for _ in run.epoch(1, range(3)): run.step(1.0, 1)\n"
                "code = run.close()\nprint('trained')\nsys.exit(code)\n")
        for family, address in (socket.AF_UNIX, str(self.home / "socket")), (socket.AF_INET, ("127.0.0.1", 0)):
            with self.subTest(family.name), socket.socket(family) as server:
                server.bind(address)
                server.listen()
                server.settimeout(30)
                frames = f"unix:{address}" if family == socket.AF_UNIX else "tcp://127.0.0.1:%d" % server.getsockname()[1]
                script = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                          text=True, env={**self.environment, "LOCKSTEP_FRAMES": frames})
                peer, _ = server.accept()
                self.assertEqual(script.stdout.readline(), "begun\n")
                peer.close()
                server.close()
                out, stderr = script.communicate(timeout=30)
                self.assertEqual((script.returncode, out), (0, "trained\n"), stderr)
                self.assertIn("training goes on", stderr)

    def test_a_file_whose_disk_is_full_for_a_while_has_whole_lines_a_gap_and_the_end(self):
        folder = self.home / "frames"
        path = folder / "rank-0.ndjson"
        code = ("import os, lockstep, lockstep.sender, resource, sys, time\n"
                "path, wait = sys.argv[1], float(sys.argv[2])\n"
                "lockstep.sender.RETRY_NS = int(wait * 1e9)\n"
                "run, hard = lockstep.Run(), resource.getrlimit(resource.RLIMIT_FSIZE)[1]\n"
                "def say(count):\n"
                "    for _ in range(count): run.send('log', level='info', source='script', message='x' * 500)\n"
                "say(2)\n"
                "resource.setrlimit(resource.RLIMIT_FSIZE, (os.path.getsize(path) + 1000, hard))\n"  # no room for two
                "say(4)\n"
                "assert open(path).read().endswith('\\n')\n"
                "resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))\n"
                "if wait < 1:\n    time.sleep(2 * wait)\n    say(2)\n"
                "sys.exit(run.close())\n")
        for wait, later in (0.2, 2), (100, 0):  # the end is written although it is not yet time
            with self.subTest(wait=wait):
                stderr = self.call(sys.executable, "-c", code, path, wait, RANK="0", WORLD_SIZE="1", LOCKSTEP_FRAMES=f"file:{folder}").stderr
                self.assertRegex(stderr, r"^lockstep: rank 0 is no longer shown \([^\n]*File too large\); training goes on\n$")
                frames = [json.loads(line) for line in path.read_text().splitlines()]
                numbers = [frame["rseq"] for frame in frames]
                self.assertEqual(numbers[:4], [0, 1, 2, 3])  # init, what was said before, and the one that there was room for
                self.assertEqual(numbers, sorted(set(numbers)))
                self.assertGreater(numbers[4], 4)
                self.assertEqual(sum(frame["type"] == "log" for frame in frames), 3 + later)
                self.assertEqual(frames[-1]["state"], "done")
                path.unlink()

    def test_text_that_is_not_utf_8_costs_no_frame(self):
        frames, stderr = self.follow("import os\nrun = lockstep.Run(data=os.fsdecode(b'/data/caf\\xe9'), model='\u00e9\U0001f600')\n"
                                     "run.send('log', level='info', source='script', message=os.fsdecode(b'\\xff'))\nsys.exit(run.close())")
        self.assertEqual(stderr, "")
        self.assertEqual([frame["rseq"] for frame in frames], list(range(len(frames))))
        self.assertEqual((frames[0]["about"]["data"], frames[0]["about"]["model"]), ("/data/caf?", "\u00e9\U0001f600"))
        self.assertEqual([frame["message"] for frame in frames if frame["type"] == "log"], ["?"])

    def test_the_end_waits_for_a_slow_reader(self):
        follower = Follower(self.home / "socket")
        code = ("import lockstep, sys\n"
                "run = lockstep.Run()\n"
                "for _ in range(100): run.send('log', level='info', message='x' * 20000)\n"
                "assert run._sender.pending > 1000000\n"
                "print('full', flush=True)\n"
                "sys.exit(run.close())\n")
        script = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                  env={**self.environment, "LOCKSTEP_FRAMES": follower.address})
        follower.accept()
        self.assertEqual(script.stdout.readline(), "full\n")
        follower.read()
        self.assertEqual((script.communicate(timeout=30)[1], script.returncode), ("", 0))
        follower.close()
        frames = follower.frames()
        self.assertEqual([frame["rseq"] for frame in frames], list(range(len(frames))))
        self.assertEqual(frames[-1]["state"], "done")

    def test_heartbeats_end_with_the_run(self):
        frames, stderr = self.follow(
            "import threading, time, lockstep.sender\n"
            "lockstep.sender.HEARTBEAT_S, lockstep.sender.CONNECT_S = 0.001, 30\n"
            "run = lockstep.Run()\n"
            "while max(lockstep.sender._next_numbers.values()) < 5: time.sleep(0.001)\n"
            "run.close()\n"
            "assert [thread.name for thread in threading.enumerate()] == ['MainThread']\n")
        self.assertEqual(stderr, "")
        self.assertEqual(frames[-1]["state"], "done")
        self.assertEqual({frame["type"] for frame in frames[1:-1]}, {"heartbeat"})

    def test_what_a_signals_handler_raises_reaches_the_script_wherever_it_came(self):
        code = ("import signal\nfrom lockstep import sender\n"
                "class Limit(Exception): pass\n"
                "class Job:\n"
                "    def over(self, *_): raise Limit\n"
                "def over(*_): raise Limit\n"
                "run, caught, queue = lockstep.Run(), 0, sender.Sender._queue\n"
                "def interrupted(*words):\n"  # a signal that comes while a frame is made
                "    signal.raise_signal(signal.SIGALRM)\n"
                "    return queue(*words)\n"
                "for handler in (over, Job().over):\n"
                "    signal.signal(signal.SIGALRM, handler)\n"
                "    sender.Sender._queue = interrupted\n"
                "    try: run.send('log', level='info', message='x')\n"
                "    except Limit: caught += 1\n"
                "    sender.Sender._queue = queue\n"
                "signal.signal(signal.SIGALRM, signal.SIG_DFL)\n"
                "print(caught, file=sys.stderr)\n"
                "run.send('log', level='info', message='still followed')\n"
                "sys.exit(run.close())\n")
        frames, stderr = self.follow(code)
        self.assertEqual(stderr, "2\n")
        self.assertIn("still followed", [frame.get("message") for frame in frames])

    def test_what_another_thread_raises_in_this_one_reaches_the_script_and_what_its_objects_raise_does_not(self):
        code = ("import ctypes, threading\nfrom lockstep import sender\n"
                "class Limit(Exception): pass\n"
                "class Value:\n"
                "    def __float__(self): raise Limit('of its own')\n"
                "run, caught, queue = lockstep.Run(), 0, sender.Sender._queue\n"
                "def interrupted(*words):\n"  # what another thread has set comes while a frame is made
                "    sender.Sender._queue = queue\n"
                "    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(threading.get_ident()), ctypes.py_object(Limit))\n"
                "    return queue(*words)\n"
                "interrupted.__code__ = interrupted.__code__.replace(co_filename=sender.__file__)\n"  # as one of the package
                "sender.Sender._queue = interrupted\n"
                "try: run.send('log', level='info', message='x')\n"
                "except Limit: caught += 1\n"
                "run.send('log', level='info', message='still followed')\n"
                "run.metric(value=Value())\n"
                "print(caught, file=sys.stderr)\n"
                "sys.exit(run.close())\n")
        frames, stderr = self.follow(code)
        self.assertEqual(stderr.splitlines()[-1], "1")
        self.assertNotIn("Traceback", stderr)
        self.assertIn("still followed", [frame.get("message") for frame in frames])

    def test_a_signal_that_a_script_blocks_and_waits_for_goes_to_nobody_else(self):
        code = ("import os, signal, time\nrun = lockstep.Run()\n"
                "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})\n"
                "os.kill(os.getpid(), signal.SIGUSR1)\ntime.sleep(0.05)\n"
                "assert signal.sigwait({signal.SIGUSR1}) == signal.SIGUSR1\nsys.exit(run.close())\n")
        frames, stderr = self.follow(code)
        self.assertEqual((stderr, frames[-1]["state"]), ("", "done"))

    def test_a_descriptor_that_the_script_has_closed_and_opened_again_is_its_own(self):
        code = ("import lockstep, os, socket, sys\nrun = lockstep.Run()\n"
                "for _ in run.epoch(1, range(2)): run.step(1.0, 1)\n"
                "number = run._sender._socket.fileno()\n"
                "os.closerange(3, 256)\n"  # as what makes a daemon of itself does
                "ours, theirs = socket.socketpair()\n"
                "os.dup2(ours.fileno(), number)\n"
                "for epoch in (2, 3):\n    for _ in run.epoch(epoch, range(2)): run.step(1.0, 1)\n"
                "run.close()\nos.write(number, b'the script')\nassert theirs.recv(1000) == b'the script'\n")
        folder = self.home / "frames"
        for address in self.home / "socket", folder:
            with self.subTest(address.name):
                if address == folder:
                    stderr = self.call(sys.executable, "-c", code, LOCKSTEP_FRAMES=f"file:{folder}").stderr
                else:
                    stderr = self.follow(code)[1]
                self.assertEqual(stderr, "lockstep: rank 0 is no longer shown (the script has closed the connection); training goes on\n")

    def test_a_script_that_catches_its_end_at_the_limit_of_its_steps_is_ended_and_told_so_once(self):
        code = ("import sys\nfrom lockstep.step_limit import StepLimit\n"
                "limit, steps = StepLimit(lambda steps, samples: samples, lambda: print('reported')), 0\n"
                "while True:\n    try: limit.check(steps, 8, 1)\n    except: continue\n    steps += 1\n")
        done = self.call(sys.executable, "-c", code, LOCKSTEP_MAX_STEPS="5")
        self.assertEqual((done.stdout, done.stderr.count("\n")), ("reported\n", 1))
        self.assertIn("the script ends after 5 steps", done.stderr)

    def test_a_limit_of_samples_goes_by_what_is_known_of_the_first_step_after_the_second(self):
        code = ("from lockstep.step_limit import StepLimit\n"
                "asked = []\nlimit = StepLimit(lambda steps, samples: asked.append((steps, samples)) or samples, exit)\n"
                "for step, samples in enumerate((0, 8, 32, 32, 32)):\n"  # four batches belong to each step: it shows at the second one
                "    for _ in range(2): limit.check(step, samples, 2)\n"
                "    print(step, asked, flush=True)\n")
        done = self.call(sys.executable, "-c", code, LOCKSTEP_MAX_SAMPLES="192")
        self.assertEqual(done.stdout.splitlines(), ["0 []", "1 [(1, 8)]", "2 [(1, 8), (2, 32)]"])
        self.assertIn("ends after 3 steps, as it was asked to; its first step had 32 samples in each of 2 processes", done.stderr)

    def test_a_rank_that_asks_before_rank_0_does_not_take_what_rank_0_said_of_an_earlier_step(self):
        code = ("import types\nfrom lockstep import agreement\n"
                "class Store(dict):\n"
                "    set = dict.__setitem__\n"
                "    def wait(self, keys, limit):\n"
                "        if keys[0] not in self: raise TimeoutError(keys[0])\n"
                "store, rank = Store(), [0]\n"
                "distributed = types.SimpleNamespace(is_available=lambda: True, is_initialized=lambda: True, get_world_size=lambda: 2,\n"
                "    get_rank=lambda: rank[0], distributed_c10d=types.SimpleNamespace(_get_default_store=lambda: store))\n"
                "torch = types.SimpleNamespace(distributed=distributed)\n"
                "agreement.of_rank_0(torch, 1, 8)\nrank[0] = 1\nprint(agreement.of_rank_0(torch, 1, 7))\n"
                "try: print(agreement.of_rank_0(torch, 2, 7))\nexcept TimeoutError: print('waits')\n")
        self.assertEqual(self.call(sys.executable, "-c", code).stdout, "8\nwaits\n")

    def test_training_never_waits_for_a_listener_that_is_away_and_is_shown_when_it_comes_back(self):
        """Only the heartbeat's thread tries again, and stderr names the reason once."""
        code = ("import lockstep, lockstep.sender, sys, threading, time\n"
                "lockstep.sender.RETRY_NS, lockstep.sender.HEARTBEAT_S = 0, 0.001\n"
                "tried, connect = [], lockstep.sender._connected\n"
                "def counted(*words):\n"
                "    tried.append(threading.current_thread().name)\n"
                "    return connect(*words)\n"
                "lockstep.sender._connected = counted\n"
                "run = lockstep.Run()\n"
                "while len(tried) < 5:\n"
                "    run.send('log', level='info', message='lost')\n"
                "    time.sleep(0.001)\n"
                "print(*tried[:5], flush=True)\n"
                "while not run._sender._socket: time.sleep(0.001)\n"
                "sys.exit(run.close())\n")
        with socket.socket() as server:
            server.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
            script = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                      env={**self.environment, "LOCKSTEP_FRAMES": "tcp://127.0.0.1:%d" % server.getsockname()[1]})
            self.assertEqual(script.stdout.readline().split(), ["MainThread"] + ["lockstep-heartbeat"] * 4)
            server.settimeout(30)
            server.listen()
            received = all_from_a_rank(server)
        stderr = script.communicate(timeout=30)[1]
        self.assertEqual((script.returncode, stderr.count("\n")), (0, 1), stderr)
        hello, *frames = [json.loads(line) for line in received.splitlines()]
        self.assertEqual((hello["type"], frames[-1]["state"]), ("hello", "done"))
        self.assertGreater(frames[0]["rseq"], 1)  # the gap says that frames are missing

    def test_a_script_trains_and_ends_while_no_name_server_answers(self):
        code = ("import lockstep, socket, sys, threading\n"
                "known, over, ask = threading.Event(), [], socket.getaddrinfo\n"
                "def asked(host, *more):\n"
                "    if host == 'listener.test' and len(more) < 4:\n"  # with flags: only an address in figures is wanted
                "        known.wait(60)\n"
                "        over.append(host)\n"
                "        host = '127.0.0.1'\n"
                "    return ask(host, *more)\n"
                "socket.getaddrinfo = asked\n"
                "run = lockstep.Run()\n"
                "for _ in run.epoch(1, range(10)): run.step(1.0, 1)\n"
                "code = run.close()\n"
                "print('trained', over, flush=True)\n"
                "sys.exit(code)\n")
        done = self.call(sys.executable, "-c", code, LOCKSTEP_FRAMES="tcp://listener.test:4799")
        self.assertEqual(done.stdout, "trained []\n")
        self.assertEqual(done.stderr, "lockstep: rank 0 is no longer shown (no name server has told the address of 'listener.test' yet); "
                         "training goes on\n")

    def test_a_rank_is_shown_as_soon_as_its_listeners_name_is_known_and_each_address_is_tried(self):
        code = ("import lockstep, lockstep.sender, socket, sys, threading, time\n"
                "lockstep.sender.CONNECT_S, lockstep.sender.HEARTBEAT_S, lockstep.sender.RETRY_NS = 0.001, 0.001, 10**15\n"
                "known, ask, nobodys = threading.Event(), socket.getaddrinfo, int(sys.argv[1])\n"
                "def asked(host, port, *more):\n"
                "    if host != 'listener.test' or len(more) > 2:\n"
                "        return ask(host, port, *more)\n"
                "    known.wait(60)\n"
                "    lockstep.sender.CONNECT_S = 30\n"
                "    return ask('127.0.0.1', nobodys, *more) + ask('127.0.0.1', port, *more)\n"
                "socket.getaddrinfo = asked\n"
                "run = lockstep.Run()\n"
                "assert run._sender._retry_at_ns > 10**14\n"
                "known.set()\n"
                "while not run._sender._socket: time.sleep(0.001)\n"
                "sys.exit(run.close())\n")
        with socket.socket() as server, socket.socket() as nobody:
            server.bind(("127.0.0.1", 0))
            server.settimeout(30)
            server.listen()
            nobody.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
            script = subprocess.Popen([sys.executable, "-c", code, str(nobody.getsockname()[1])], stderr=subprocess.PIPE, text=True,
                                      env={**self.environment, "LOCKSTEP_FRAMES": "tcp://listener.test:%d" % server.getsockname()[1]})
            received = all_from_a_rank(server)
        stderr = script.communicate(timeout=30)[1]
        self.assertEqual((script.returncode, stderr.count("\n")), (0, 1), stderr)
        hello, init, *_, last = [json.loads(line) for line in received.splitlines()]
        self.assertEqual((hello["type"], init["state"], last["state"]), ("hello", "init", "done"))


if __name__ == "__main__":
    unittest.main(verbosity=2)

# SPDX-License-Identifier: MIT
"""Where run_bench.py's measures of the living programs happen: a data home, a screen and the programs, ended together."""
import contextlib
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from waiting import wait_for  # noqa: E402, F401  (for the measures of living programs)

# Long enough to watch for half a minute, whatever the machine; stopped when the watching is over.
WATCHED = {
    "name": "bench-two-ranks", "title": "Two ranks to watch", "summary": "DDP on 2 devices for tests/bench.",
    "question": "What does watching cost?",
    "base": {"model": "lenet", "dataset": "fashion-mnist", "device": "cpu", "batch_size": 64, "optimizer": "sgd",
             "lr": 0.01, "momentum": 0.9, "augment": "affine", "loader": "batch", "workers": 0, "epochs": 500},
    "runs": [{"method": "ddp", "devices": 2}], "repeats": 1,
}


class Place:
    """A data home, a screen and the programs: everything a measurement starts ends with it."""

    def __init__(self, bin_folder):
        self.bin = bin_folder
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="lockstep-bench-"))
        self.environment = {**os.environ, "LOCKSTEP_HOME": str(self.home / "home")}
        self.processes = []
        self.start_screen()

    def start_screen(self):
        for name in ("WAYLAND_DISPLAY", "DISPLAY"):
            self.environment.pop(name, None)
        if shutil.which("Xvfb") is None:
            self.environment["QT_QPA_PLATFORM"] = "offscreen"
            self.screen = "Qt's offscreen platform"
            return
        read, write = os.pipe()
        self.processes.append(subprocess.Popen(
            ["Xvfb", "-displayfd", str(write), "-screen", "0", "1600x1000x24", "-nolisten", "tcp"],
            pass_fds=[write], stderr=subprocess.DEVNULL))
        os.close(write)
        with os.fdopen(read) as number:
            self.environment["DISPLAY"] = ":" + number.readline().strip()
        self.environment["QT_QPA_PLATFORM"] = "xcb"
        self.screen = "Xvfb, 1600 × 1000"

    def start(self, program, *arguments):
        with open(self.home / f"{program}.log", "ab") as log:
            process = subprocess.Popen([self.bin / program, *arguments], env=self.environment, stdout=log, stderr=log,
                                       stdin=subprocess.DEVNULL)
        self.processes.append(process)
        return process

    def control(self, *arguments):
        ran = subprocess.run([self.bin / "lockstepctl", *arguments], env=self.environment, capture_output=True, text=True,
                             timeout=60)
        if ran.returncode != 0:
            raise SystemExit(f"run_bench: lockstepctl {' '.join(arguments)} ended {ran.returncode}: {ran.stderr.strip()}")
        return ran.stdout

    def run_detached(self, recipe, *arguments):
        return self.control("run", str(recipe), "--detach", *arguments)

    def watched_recipe(self):
        path = self.home / "two-ranks.json"
        path.write_text(json.dumps(WATCHED))
        return path

    def log_frames(self):
        """Steps frames in the logs so far, by rank."""
        counts = {}
        for path in (self.home / "home/runs").glob("*/node-*.ndjson"):
            for line in path.read_text(errors="replace").splitlines():
                if '"type":"steps"' in line and line.endswith("}"):
                    rank = json.loads(line).get("rank")
                    counts[rank] = counts.get(rank, 0) + 1
        return counts

    def watch(self, points):
        """bench_window's findings, and when it was started."""
        begun = time.time()
        ran = subprocess.run([self.bin / "bench_window", "lenet-dp-vs-ddp", str(points)], env=self.environment,
                             capture_output=True, text=True, timeout=600)
        if ran.returncode != 0:
            raise SystemExit(f"run_bench: bench_window ended {ran.returncode}: {ran.stderr.strip()}")
        return json.loads(ran.stdout), begun

    def close(self):
        with contextlib.suppress(SystemExit, subprocess.TimeoutExpired, OSError, ValueError):
            for each in json.loads(self.control("list", "--json"))["experiments"]:
                if each["state"] == "running":
                    self.control("stop", each["experiment"])
            end = time.monotonic() + 20  # an agent writes its result before it goes
            while time.monotonic() < end and '"state": "running"' in self.control("list", "--json"):
                time.sleep(0.2)
        for process in reversed(self.processes):
            process.terminate()
        for process in reversed(self.processes):
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self.home, ignore_errors=True)


@contextlib.contextmanager
def place(options):
    here = Place(options.bin)
    try:
        yield here
    finally:
        here.close()


def spread(values, unit, digits=1, scale=1):
    values = sorted(value * scale for value in values)
    text = f"{statistics.median(values):.{digits}f} {unit} ({values[0]:.{digits}f} to {values[-1]:.{digits}f}"
    if len(values) >= 20:
        text += f", 90 % ≤ {values[int(0.9 * len(values))]:.{digits}f}"
    return text + f"; n = {len(values)})"

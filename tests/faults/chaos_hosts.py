# SPDX-License-Identifier: MIT
"""The hosts of the chaos soak: three in network namespaces, each with a home on a small disk of its own, a wall clock that can be set,
and files that fail when asked; ranks that keep a tally of what they sent."""
import json
import os
import pathlib
import struct
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from netns_lab import Lab  # noqa: E402

INTERFACES = {"hostA": "bond0", "hostB": "eno1", "hostC": "eth0"}
DISK_MB = 400
FAILS_AT = 40  # the operation after which a host's files fail once, counted from when they are told to
NEVER = -(1 << 40)
OWN_MOUNTS = "LOCKSTEP_OWN_MOUNTS"


def in_own_mounts():
    """Starts this program again where the disks that it mounts are nobody else's, and go with it."""
    if os.environ.get(OWN_MOUNTS) != "1":
        os.execvpe("unshare", ["unshare", "--mount", sys.executable, "-B", *sys.argv], dict(os.environ, **{OWN_MOUNTS: "1"}))


class Hosts:
    """`build`: the folder with the programs and the preloaded libraries."""

    def __init__(self, root, build):
        self.root, self.bin = pathlib.Path(root), pathlib.Path(build).resolve() / "bin"
        self.tallies = self.root / "tallies"
        self.tallies.mkdir()
        libraries = [next(pathlib.Path(build).resolve().rglob(f"lib{name}.so")) for name in ("jumping_clock", "failing_files")]
        environment = {"LOCKSTEP_TRAINER": str(self.bin / "fake_rank"),
                       "FAKE_RANK": f"epochs=3;steps=200;step_ms=20;tally={self.tallies}",
                       "LOCKSTEP_SSH_OPTIONS": f"-F {self.root}/lab/ssh_config",
                       "XDG_RUNTIME_DIR": f"{self.root}/sockets-{{name}}",
                       "LD_PRELOAD": ":".join(map(str, libraries)),
                       "JUMPING_CLOCK": f"{self.root}/clock-{{name}}",
                       "FAILING_FILES_BELOW": "{home}", "FAILING_FILES_PROGRAM": "lockstep-agent", "FAILING_FILES_HOW": "once",
                       "FAILING_FILES_AT": str(FAILS_AT), "FAILING_FILES_ERROR": "5",
                       "FAILING_FILES_COUNT": f"{self.root}/count-{{name}}", "FAILING_FILES_LOG": "/dev/null"}
        self.lab = Lab(self.root / "lab", INTERFACES, environment)
        for name in INTERFACES:
            self.set_clock(name, 0)
            self._count(name, NEVER)
            (self.root / f"sockets-{name}").mkdir(mode=0o700)
            self.home(name).mkdir(parents=True)
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m", "tmpfs", self.home(name)], check=True)
        (self.root / "sockets-laptop").mkdir(mode=0o700)
        self.lab.__enter__()
        self.environment = self.lab.laptop_environment(XDG_RUNTIME_DIR=str(self.root / "sockets-laptop"))

    def close(self):
        self.lab.close()
        for name in INTERFACES:
            subprocess.run(["umount", self.home(name)], check=False)

    def home(self, name):
        return self.lab.hosts[name].home if name != "laptop" else self.lab.laptop_home

    def write_recipe(self, name, repeats, further=()):
        """A run of DDP with a rank on each host, and `further` ones; its path."""
        agent = self.bin / "lockstep-agent"
        nodes = ";".join(f"{host}%{interface}:0 agent={agent}" for host, interface in INTERFACES.items())
        base = {"model": "lenet", "dataset": "fashion-mnist", "device": "cpu", "epochs": 3, "batch_size": 63, "train_samples": 6300,
                "oversubscribe": True, "nodes": nodes}
        path = self.root / "recipe.json"
        path.write_text(json.dumps({"name": name, "title": name.capitalize(), "summary": "Three hosts.", "question": "What is left?",
                                    "base": base, "runs": [{"method": "ddp", "devices": [0, 1, 2]}, *further], "repeats": repeats}))
        return path

    def set_clock(self, name, seconds):
        (self.root / f"clock-{name}").open("r+b" if (self.root / f"clock-{name}").exists() else "wb").write(
            struct.pack("=q", int(seconds * 1e9)))

    def _count(self, name, number):
        path = self.root / f"count-{name}"
        path.open("r+b" if path.exists() else "wb").write(struct.pack("=q", number))

    def fail_a_file_soon(self, name):
        """One of the next operations of that host's agents on its disk fails with EIO."""
        self._count(name, 0)

    def fail_no_file(self, name):
        self._count(name, NEVER)

    def fill_disk(self, name):
        with open(self.home(name) / "balloon", "wb", buffering=0) as balloon:
            try:
                while balloon.write(bytes(1 << 20)):
                    pass
            except OSError:
                pass

    def empty_disk(self, name):
        (self.home(name) / "balloon").unlink(missing_ok=True)

    def ctl(self, *words, code=0, timeout=120):
        done = self.lab.run([self.bin / "lockstepctl", *words], env=self.environment, timeout=timeout, stdin=subprocess.DEVNULL)
        if code is not None and done.returncode != code:
            raise AssertionError(f"lockstepctl {' '.join(map(str, words))}: {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
        return done

    def processes(self, name):
        """pid → name."""
        if name != "laptop":
            return self.lab.processes(name)
        found = {}
        for pid in self.lab._pids(self.lab.laptop):
            try:
                found[pid] = pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
            except OSError:
                pass
        return found

    def pids(self, name, program):
        return sorted(pid for pid, comm in self.processes(name).items() if comm == program[:15])

    def runs_command(self, name, word):
        """Whether a lockstepctl runs there whose command has this word."""
        for pid in self.pids(name, "lockstepctl"):
            try:
                if word in pathlib.Path(f"/proc/{pid}/cmdline").read_text().split("\0"):
                    return True
            except OSError:
                pass
        return False

    def tally(self, pid, first_ns):
        """mono_ns of each frame that has arrived in the socket of that rank, whose first one has this mono_ns."""
        path = self.tallies / f"{pid}-{first_ns}"
        data = path.read_bytes() if path.exists() else b""
        return [each[0] for each in struct.iter_unpack("=q", data[:len(data) // 8 * 8])]


def open_descriptors(pid):
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return 0


def memory_mb(pid):
    try:
        return int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    except OSError:
        return 0.0

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Launches and stops over two hosts, each with a real sshd, one after another: nothing of them is left on either host or here, be
it a process, a socket, a file descriptor or a temporary file. Fake ranks, since what is launched is not what is asked about."""

import argparse
import collections
import contextlib
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from netns_lab import Lab, run_tests, runs_in, tool, wait_for  # noqa: E402

arguments = None


class Launches(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="lk-")
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)
        self.places = {name: self.root / f"t{name}" for name in ("hostA", "hostB", "laptop")}
        for place in self.places.values():
            for part in ("run", "tmp"):
                (place / part).mkdir(parents=True, mode=0o700)
        environment = {"LOCKSTEP_TRAINER": arguments.fake_rank, "FAKE_RANK": "epochs=1000;steps=20;step_ms=5",
                       "XDG_RUNTIME_DIR": f"{self.root}/t{{name}}/run", "TMPDIR": f"{self.root}/t{{name}}/tmp"}
        self.lab = Lab(self.root / "lab", {"hostA": "bond0", "hostB": "eno1"}, environment)
        self.lab.__enter__()
        self.addCleanup(self.lab.close)
        self.environment = self.lab.laptop_environment(XDG_RUNTIME_DIR=str(self.places["laptop"] / "run"),
                                                       TMPDIR=str(self.places["laptop"] / "tmp"))
        self.agent = pathlib.Path(arguments.bin) / "lockstep-agent"
        self.ctl = pathlib.Path(arguments.bin) / "lockstepctl"

    def recipe(self, repeats=1, **config):
        base = {"model": "lenet", "dataset": "fashion-mnist", "device": "cpu", "epochs": 1000, "batch_size": 64,
                "train_samples": 640, "oversubscribe": True,
                "nodes": f"hostA%bond0:0 agent={self.agent};hostB%eno1:0 agent={self.agent}"}
        path = self.root / "recipe.json"
        path.write_text(json.dumps({"name": "launches", "title": "Launches", "summary": "Launches.", "question": "Is all gone?",
                                    "base": {**base, **config}, "runs": [{"method": "ddp", "devices": [0, 1]}], "repeats": repeats}))
        return path

    def sockets(self, namespace):
        """Unix sockets with a path or an abstract name, and TCP in any state but those of sshd and of closed connections."""
        run = [tool("ip"), "netns", "exec", namespace, "cat"]
        unix = subprocess.run([*run, "/proc/net/unix"], capture_output=True, text=True, check=True).stdout.splitlines()[1:]
        tcp = subprocess.run([*run, "/proc/net/tcp", "/proc/net/tcp6"], capture_output=True, text=True, check=True).stdout
        time_wait, ssh = "06", 22
        found = [line.split()[7] for line in unix if len(line.split()) > 7]
        for line in tcp.splitlines():
            words = line.split()
            if re.match(r"\d+:", words[0]):
                ports = {int(words[1].rsplit(":", 1)[1], 16), int(words[2].rsplit(":", 1)[1], 16)}
                if ssh not in ports and words[3] != time_wait:
                    found.append("tcp " + words[1])
        return found

    def files(self, place):
        """What lies in the folders for sockets and temporary files; a folder that is kept for all runs is none."""
        return sorted(str(path.relative_to(place)) for path in place.rglob("*") if not path.is_dir())

    def folders(self, place):
        return sum(path.is_dir() for path in place.rglob("*"))

    def socket_folders(self, place):
        """Each home's folder for sockets, which goes with the last of them."""
        return [str(path) for path in place.glob("*/lockstep*") if path.is_dir()]

    def unfinished(self, home):
        """What a run writes beside its final files while it goes on."""
        return [str(path) for path in pathlib.Path(home).rglob("*")
                if path.name == "join.json" or path.suffix in (".tmp", ".new", ".part") or path.is_socket()]

    def left(self):
        found = {}
        spaces = {name: host.namespace for name, host in self.lab.hosts.items()} | {"laptop": self.lab.laptop}
        homes = {name: host.home for name, host in self.lab.hosts.items()} | {"laptop": self.lab.laptop_home}
        for name, space in spaces.items():
            processes = self.lab.processes(name) if name in self.lab.hosts else self.lab._pids(space)
            for what, there in (("processes", list(processes)), ("sockets", self.sockets(space)), ("files", self.files(self.places[name])),
                                ("unfinished", self.unfinished(homes[name])), ("empty folders", self.socket_folders(self.places[name]))):
                if there:
                    found[f"{what} on {name}"] = there
        return found

    def assert_nothing_is_left(self, after):
        end = time.monotonic() + 20
        while (found := self.left()) and time.monotonic() < end:
            time.sleep(0.1)
        self.assertEqual(found, {}, f"left after {after} launches")

    def launch_and_stop(self, how):
        known = set(runs_in(self.lab.hosts["hostB"].home))
        process = self.lab.start([self.ctl, "run", self.recipe(), "--remote-agent", self.agent], env=self.environment)

        def steps():
            self.assertIsNone(process.poll(), "it ended by itself")
            new = [run for run in runs_in(self.lab.hosts["hostB"].home) if run not in known]
            return new and (new[0] / "node-1.ndjson").exists() and b'"type":"steps"' in (new[0] / "node-1.ndjson").read_bytes() and new[0]

        began = time.monotonic()
        run = wait_for(steps, 30, "steps of the second host")
        launched = time.monotonic() - began
        if how == "signal":
            process.terminate()
        elif how == "stop":
            said = self.lab.run([self.ctl, "stop", run.name], env=self.environment, timeout=60)
            self.assertEqual(said.returncode, 0, said.stdout + said.stderr)
        else:  # the launcher is killed; the run goes on and is stopped at the second host
            process.kill()
            said = self.lab.run(["ssh", *self.lab.ssh_options(), "hostB", str(self.agent), "stop", run.name, "--by", "test"], timeout=60)
            self.assertEqual(said.returncode, 0, said.stdout + said.stderr)
        process.communicate(timeout=60)
        for host in self.lab.hosts.values():
            result = wait_for(lambda host=host: self.result(host.home, run.name), 20, f"the result on {host.name}")
            self.assertEqual(result["state"], "stopped", result)
        return launched

    @staticmethod
    def result(home, run):
        path = home / "runs" / run / "result.json"
        return json.loads(path.read_text()) if path.exists() else None

    def test_launches_and_stops_in_a_row_leave_nothing(self):
        times, hows = [], collections.Counter()
        sshd = {name: len(os.listdir(f"/proc/{host.sshd.pid}/fd")) for name, host in self.lab.hosts.items()}
        folders = None
        for number in range(arguments.launches):
            how = ("signal", "stop", "killed")[number % 3]
            times.append(self.launch_and_stop(how))
            hows[how] += 1
            self.assert_nothing_is_left(number + 1)
            if number == 2:  # each way once: what is kept for all runs is there now
                folders = {name: self.folders(place) for name, place in self.places.items()}
        if folders:
            self.assertEqual({name: self.folders(place) for name, place in self.places.items()}, folders, "folders grew")
        self.assertEqual({name: len(os.listdir(f"/proc/{host.sshd.pid}/fd")) for name, host in self.lab.hosts.items()}, sshd)
        self.assertEqual(len(runs_in(self.lab.hosts["hostA"].home)), arguments.launches)
        times.sort()
        print(f"{arguments.launches} launches ({dict(hows)}), to steps of both hosts {times[len(times) // 2]:.2f} s, slowest {times[-1]:.2f} s; left: "
              f"no process, socket or file; open files of sshd {sshd}", file=sys.stderr)

    def test_a_queues_owner_holds_no_more_files_after_its_last_run_than_after_its_first(self):
        repeats = max(30, arguments.launches)
        recipe = self.recipe(repeats=repeats, epochs=1, train_samples=64)
        quick = dict(self.environment)
        for host in self.lab.hosts.values():  # these runs end by themselves
            config = host.folder / "sshd_config"
            config.write_text(config.read_text().replace("epochs=1000;steps=20", "epochs=1;steps=4"))
            host.sshd.send_signal(1)  # reads it anew
        process = self.lab.start([self.ctl, "run", recipe, "--remote-agent", self.agent], env=quick)
        held = {}

        def look():
            if process.poll() is not None:
                return True
            pid = next((pid for pid in self.lab._pids(self.lab.laptop) if self.name(pid) == "lockstepctl"), None)
            runs = len(runs_in(self.lab.hosts["hostA"].home))
            if pid and runs:
                with contextlib.suppress(OSError):
                    held.setdefault(runs, []).append(self.holdings(pid))
            return False

        wait_for(look, 60 + 10 * repeats, "the queue's end")
        out, err = process.communicate()
        self.assertEqual(process.returncode, 0, out[-2000:] + err[-2000:])
        self.assertEqual(len(runs_in(self.lab.hosts["hostA"].home)), repeats)
        self.assert_nothing_is_left(repeats)
        # The least of what was seen during a run, since ssh comes and goes; the last run ends with the owner itself.
        self.assertGreater(len(held), 0.6 * repeats, f"seen in these runs only: {sorted(held)}")
        usual = {run: {what: min(one[what] for one in seen) for what in seen[0]} for run, seen in sorted(held.items())}
        early, late = list(usual.values())[1:6], list(usual.values())[-6:-1]
        self.assertGreater(late[-1]["open files"], 3, "nothing was seen of the owner's files")
        for what in late[-1]:
            # A run may be seen with an ssh under way only: the least of the late ones beside the most of the early ones.
            self.assertLessEqual(min(one[what] for one in late), max(one[what] for one in early),
                                 f"{what} by run: { {run: one[what] for run, one in usual.items()} }")
        print(f"{repeats} runs of one owner, seen in {len(usual)}: early {early[-1]}, late {late[-1]}", file=sys.stderr)

    def holdings(self, pid):
        """What a process holds that must not grow with its runs; and what lies in its folders for sockets and temporary files."""
        links = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
        children = [other for other in self.lab._pids(self.lab.laptop) if self.parent(other) == pid]
        return {"open files": len(links), "sockets": sum(link.startswith("socket:") for link in links),
                "pipes": sum(link.startswith("pipe:") for link in links), "deleted files": sum(link.endswith("(deleted)") for link in links),
                "temporary files": len(self.files(self.places["laptop"])), "folders": self.folders(self.places["laptop"]),
                "children": len(children), "threads": len(os.listdir(f"/proc/{pid}/task"))}

    @staticmethod
    def parent(pid):
        with contextlib.suppress(OSError):
            return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
        return 0

    @staticmethod
    def name(pid):
        try:
            return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
        except OSError:
            return ""


def main():
    global arguments
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("--fake-rank", required=True)
    parser.add_argument("--launches", type=int, default=3)
    arguments, rest = parser.parse_known_args()
    run_tests(rest)


if __name__ == "__main__":
    main()

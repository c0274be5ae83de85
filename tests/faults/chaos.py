#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random faults for an hour on three hosts, one after another and several at once: killed ranks, agents, keepers, queue owners and
viewers, stops, stalls, cut links, full and failing disks, clocks that jump. Afterwards every log holds what its ranks sent, except
where a fault may take some and says so, every run has ended, and nothing is left over: no process, socket, temporary file, control
group, descriptor or megabyte. Prints each fault with its time; the seed
decides which come, and not quite what they meet. Exits with 1 when something is
left or lost.

    chaos.py BUILD [--seed 1] [--minutes 60] [--keep FOLDER]"""
import argparse
import contextlib
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from chaos_hosts import INTERFACES, Hosts, in_own_mounts, memory_mb, open_descriptors
from netns_lab import Lab

HEALED_S = 3  # how long after a fault its effects last: links are made again, held lines are written
PATIENCE_S = 180


def control_groups():
    found = subprocess.run(["find", "/sys/fs/cgroup", "-type", "d", "-name", "lockstep-*"], capture_output=True, text=True)
    return set(found.stdout.split())


class Chaos:
    """An experiment over the three hosts, whose queue lives on the first, a viewer, and the faults."""

    def __init__(self, hosts, seed):
        self.hosts, self.random = hosts, random.Random(seed)
        self.began = time.monotonic()
        self.healings = []  # (when, what to call, what it heals)
        self.agent_killed = []  # (host, when): CLOCK_MONOTONIC
        self.impaired = {name: [] for name in INTERFACES}  # host → [begin, end] of stalls, full and failing disks
        self.counts, self.problems, self.samples = {}, [], {}
        self.killed = set()
        self.control_groups = control_groups()
        self.viewer, self.tended = None, 0
        recipe = hosts.write_recipe("chaos", 500, [{"method": "ddp", "devices": [0, 1, 2], "max_restarts": 2, "name": "restarted"}])
        said = hosts.ctl("run", recipe, "--queue-on", "hostA", "--remote-agent", hosts.bin / "lockstep-agent", "--detach", "--json")
        self.experiment = json.loads(said.stdout)["experiment"]

    def say(self, text):
        print(f"{time.monotonic() - self.began:7.1f} s  {text}", flush=True)

    # --- what a person does meanwhile

    def tend(self):
        """Watches, resumes a queue whose owner is gone, and queues again what it has given up since a node could not be reached, as a person
        would."""
        if time.monotonic() < self.tended + 2:
            return
        self.tended = time.monotonic()
        if self.viewer is None or self.viewer.poll() is not None:
            attach = self.hosts.lab.command([self.hosts.bin / "lockstepctl", "attach", self.experiment])
            self.viewer = subprocess.Popen(attach, env=self.hosts.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                           stderr=subprocess.DEVNULL)
        for name in (*INTERFACES, "laptop"):
            for pid in self.hosts.pids(name, "lockstepctl"):
                self.samples.setdefault((name, pid), []).append((time.monotonic(), open_descriptors(pid), memory_mb(pid)))
        if any(self.disturbed(name) for name in ("hostA", "laptop")):
            return
        with contextlib.suppress(subprocess.TimeoutExpired):  # what it does not bring about is missed at the end
            if not self.states("queued", "launching", "running"):
                given_up = [number for number, entry in enumerate(self.entries(), 1) if entry["state"] in ("not run", "failed", "stopped")]
                self.hosts.ctl("retry", self.experiment, *map(str, given_up[-6:]), code=None)
            elif not self.hosts.runs_command("hostA", "own"):
                self.hosts.ctl("resume", self.experiment, code=None)

    def disturbed(self, name):
        """What is not healed yet on that host; None: nothing."""
        return next((what for _, _, what in self.healings if what.endswith(name)), None)

    # --- the faults: each returns what it did, or None where it can't be done just now

    def one_of(self, names, *programs):
        found = [(name, pid) for name in names for program in programs for pid in self.hosts.pids(name, program)]
        return self.random.choice(found) if found else (None, None)

    def kill(self, names, program):
        name, pid = self.one_of(names, program)
        if pid is None:
            return None
        try:
            if program == "lockstep-agent" and "serve" in pathlib.Path(f"/proc/{pid}/cmdline").read_text().split("\0"):
                self.agent_killed.append((name, time.monotonic()))
            self.killed.add(pid)
            os.kill(pid, signal.SIGKILL)
        except (ProcessLookupError, FileNotFoundError):
            return None
        return f"kill -9 of {program} {pid} on {name}"

    def kill_rank(self):
        return self.kill(INTERFACES, "fake_rank")

    def kill_agent(self):
        return self.kill(INTERFACES, "lockstep-agent")

    def kill_keeper(self):
        return self.kill(INTERFACES, "lockstep-keeper")

    def kill_owner(self):
        return self.kill(["hostA"], "lockstepctl")

    def kill_viewer(self):
        return self.kill(["laptop"], "lockstepctl")

    def stop(self):
        running = [number for number, entry in enumerate(self.entries(), 1) if entry["state"] == "running"]
        if not running or self.disturbed("laptop"):
            return None
        done = self.hosts.ctl("skip", self.experiment, str(running[0]), code=None)
        return f"skip of run {running[0]}: {done.returncode}"

    def stall(self):
        name, pid = self.one_of(INTERFACES, "fake_rank", "lockstep-agent")
        if pid is None:
            return None

        def send(number):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        send(signal.SIGSTOP)
        return self.heal_later(name, f"stall of {pid}", lambda: send(signal.SIGCONT), 8)

    def heal_later(self, name, what, heal, most_s):
        seconds = self.random.uniform(0.5, most_s)
        span = [time.monotonic(), float("inf")]
        self.impaired.setdefault(name, []).append(span)

        def heal_and_note():
            heal()
            span[1] = time.monotonic() + HEALED_S
        self.healings.append((time.monotonic() + seconds, heal_and_note, f"{what} on {name}"))
        return f"{what} on {name} for {seconds:.1f} s"

    def disturb(self, what, most_s, begin, end):
        """A fault of a host that has none; `begin` and `end` are given its name."""
        free = [name for name in INTERFACES if not self.disturbed(name)]
        if not free:
            return None
        name = self.random.choice(free)
        begin(name)
        return self.heal_later(name, what, lambda: end(name), most_s)

    def cut_data(self):
        return self.disturb("cut data network", 15, self.hosts.lab.cut, self.hosts.lab.restore)

    def cut_ssh(self):
        return self.disturb("cut ssh", 15, self.hosts.lab.cut_ssh, self.hosts.lab.restore_ssh)

    def cut_laptop(self):
        if self.disturbed("laptop"):
            return None
        self.hosts.lab.cut_laptop()
        return self.heal_later("laptop", "cut link", self.hosts.lab.restore_laptop, 15)

    def full_disk(self):
        return self.disturb("full disk", 10, self.hosts.fill_disk, self.hosts.empty_disk)

    def failing_disk(self):
        return self.disturb("failing file", 10, self.hosts.fail_a_file_soon, self.hosts.fail_no_file)

    def clock(self):
        by = self.random.choice([-86400, -3600, -5, 5, 3600, 86400])
        return self.disturb(f"clock off by {by:+} s", 20, lambda name: self.hosts.set_clock(name, by), lambda name: self.hosts.set_clock(name, 0))

    def heal(self, everything=False):
        due = [each for each in self.healings if everything or each[0] <= time.monotonic()]
        self.healings = [each for each in self.healings if each not in due]
        for _, heal, what in due:
            heal()
            self.say(f"healed: {what}")

    def run(self, minutes):
        faults = [self.kill_rank, self.kill_rank, self.kill_agent, self.kill_keeper, self.kill_owner, self.kill_viewer, self.stop, self.stall,
                  self.stall, self.cut_data, self.cut_data, self.cut_ssh, self.cut_laptop, self.full_disk, self.failing_disk, self.clock]
        end = time.monotonic() + 60 * minutes
        while time.monotonic() < end:
            next_fault = time.monotonic() + self.random.expovariate(1 / 4)
            while time.monotonic() < next_fault:
                self.heal()
                self.tend()
                time.sleep(0.2)
            fault = self.random.choice(faults)
            try:
                done = fault()
            except subprocess.TimeoutExpired as hung:
                self.problems.append(f"{fault.__name__}: {hung}")
                continue
            if done:
                self.counts[fault.__name__] = self.counts.get(fault.__name__, 0) + 1
                self.say(done)
        self.heal(everything=True)
        time.sleep(HEALED_S)

    # --- afterwards

    def end(self):
        """Everything is well again: one more run ends as it should, then the experiment is stopped."""
        before = len(self.states("done"))
        self.until(lambda: len(self.states("done")) > before, "a run that ends well after the faults", watched=True)
        stopped = self.hosts.ctl("stop", self.experiment, code=None)
        if stopped.returncode != 0 and "is over already" not in stopped.stderr:
            self.problems.append(f"lockstepctl stop: {stopped.stderr.strip()[-300:]}")
        self.until(lambda: not self.states("running", "queued"), "the experiment's end")
        if self.viewer:
            self.viewer.send_signal(signal.SIGTERM)
            self.viewer.wait(timeout=60)
        self.hosts.ctl("attach", self.experiment, code=None, timeout=900)  # the laptop's copies are complete now
        for name in (*INTERFACES, "laptop"):
            self.until(lambda name=name: not self.hosts.processes(name), f"the end of all processes on {name}",
                       lambda name=name: self.hosts.processes(name))

    def until(self, condition, what, more=lambda: "", watched=False):
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            if condition():
                return
            if watched:
                self.tend()
            time.sleep(0.2)
        self.problems.append(f"waited {PATIENCE_S} s for {what} {more()}")

    def entries(self):
        text = (self.hosts.home("hostA") / "experiments" / self.experiment / "experiment.json").read_text()
        return json.loads(text)["entries"]

    def states(self, *wanted):
        return [entry for entry in self.entries() if entry["state"] in wanted]


class Findings:
    """What the logs and folders say afterwards."""

    def __init__(self, chaos):
        self.chaos, self.hosts, self.problems = chaos, chaos.hosts, chaos.problems
        self.frames, self.lost_with_reason = 0, 0

    def check(self):
        runs = sorted({path.name for name in INTERFACES for path in (self.hosts.home(name) / "runs").glob("*")})
        for run in runs:
            for node, name in enumerate(INTERFACES):
                self.check_log(run, node, name)
        self.check_states()
        self.check_left_over()
        self.check_samples()
        return len(runs)

    def problem(self, text):
        self.problems.append(text)

    def lines(self, path):
        """Whole lines; half a line may stand at the end of a log whose agent was killed."""
        raw = path.read_bytes() if path.exists() else b""
        whole = []
        for number, line in enumerate(raw.split(b"\n")[:-1]):
            try:
                whole.append(json.loads(line))
            except ValueError:
                self.problem(f"{path}: line {number + 1} is not JSON: {line[:80]!r}")
        return raw, whole

    def check_log(self, run, node, name):
        path = self.hosts.home(name) / "runs" / run / f"node-{node}.ndjson"
        if not path.exists():
            return
        raw, frames = self.lines(path)
        alerts = {frame["kind"] for frame in frames if frame["type"] == "alert"}
        numbers = [frame["seq"] for frame in frames]
        if numbers != list(range(len(numbers))) and "log_lost" not in alerts:
            self.problem(f"{path}: numbers lack or come twice, and no alert says so")
        for start in self.starts(frames):
            self.check_rank(path, start, alerts, name)
        killed = {host for host, _ in self.chaos.agent_killed}
        for home, where in ((self.hosts.home("hostA"), "hostA"), (self.hosts.home("laptop"), "laptop")):
            copy = home / "runs" / run / path.name
            copied = copy.read_bytes() if copy != path and copy.exists() else b""
            # An agent that was killed while its disk took nothing has sent more than it could write.
            if not raw.startswith(copied) and not (copied.startswith(raw) and name in killed):
                self.problem(f"{where}'s copy of {run}/{path.name} is not the beginning of the original")

    @staticmethod
    def starts(frames):
        """The frames of a rank's processes, process by process."""
        current, all_starts = {}, []
        for frame in frames:
            if "rseq" not in frame:
                continue
            if frame["type"] == "state" and "pid" in frame:
                current[frame["rank"]] = [frame]
                all_starts.append(current[frame["rank"]])
            elif frame["rank"] in current:
                current[frame["rank"]].append(frame)
        return all_starts

    def check_rank(self, path, frames, alerts, name):
        numbers = [frame["rseq"] for frame in frames]
        sent = self.hosts.tally(frames[0]["pid"], frames[0]["mono_ns"])
        self.frames += len(numbers)
        if numbers != sorted(set(numbers)):
            self.problem(f"{path}: rank {frames[0]['rank']}'s frames come twice or out of order")
        if numbers != list(range(len(numbers))) and not alerts & {"frames_lost", "log_lost"}:
            self.problem(f"{path}: frames of rank {frames[0]['rank']} lack in the middle, and no alert says so")
        missing = sent[numbers[-1] + 1:]
        if not missing:
            return
        allowed = self.may_lack_from(name, missing[-1])
        if allowed is None or missing[0] < allowed:
            self.problem(f"{path}: the last {len(missing)} of {len(sent)} frames of rank {frames[0]['rank']} lack, "
                         f"sent until {missing[-1] / 1e9 - self.chaos.began:.1f} s")
        else:
            self.lost_with_reason += len(missing)

    def may_lack_from(self, name, last_ns):
        """From when on frames may lack whose last was sent then: their agent was killed at most 1 s later, or with what a fault held up."""
        for host, when in self.chaos.agent_killed:
            if host != name or when * 1e9 < last_ns - 3e9:
                continue
            begin = when - 1
            for first, last in self.chaos.impaired[name]:
                if last >= begin and first <= when:
                    begin = min(begin, first)
            if begin * 1e9 <= last_ns:
                return begin * 1e9
        return None

    def check_states(self):
        for entry in self.chaos.states("done", "failed", "stopped"):
            if entry["state"] != "done" and not entry["reason"]:
                self.problem(f"run {entry['run']} is {entry['state']}, and no reason is said")
            if entry["run"]:
                shown = self.hosts.ctl("show", entry["run"], "--json", code=None)
                if shown.returncode != 0:
                    self.problem(f"lockstepctl show {entry['run']}: {shown.stderr.strip()[-300:]}")

    def check_left_over(self):
        for name in (*INTERFACES, "laptop"):
            temporary = [str(path) for path in self.hosts.home(name).rglob("*.tmp-*")
                         if int(path.name.split(".tmp-")[1].split("-")[0]) not in self.chaos.killed]
            sockets = [str(path) for path in (self.hosts.root / f"sockets-{name}").rglob("*") if path.is_socket()]
            for what in temporary + sockets:
                self.problem(f"left over: {what}")
        for group in control_groups() - self.chaos.control_groups:
            self.problem(f"left over: control group {group}")

    def check_samples(self):
        """A program that lives for minutes needs no more descriptors and memory at its end than after its first minute."""
        for (name, pid), samples in self.chaos.samples.items():
            late = [each for each in samples if each[0] > samples[0][0] + 60]
            if len(late) < 100:
                continue
            tenth = len(late) // 10
            first, last = late[:tenth], late[-tenth:]
            descriptors = min(each[1] for each in last) - min(each[1] for each in first)
            megabytes = min(each[2] for each in last) - min(each[2] for each in first)
            minutes = (late[-1][0] - late[0][0]) / 60
            self.chaos.say(f"lockstepctl {pid} on {name} over {minutes:.0f} minutes: {descriptors:+} descriptors, {megabytes:+.1f} MB")
            if descriptors > 8 or megabytes > 8 + minutes / 2:
                self.problem(f"lockstepctl {pid} on {name} grew by {descriptors} descriptors and {megabytes:.1f} MB")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--keep", type=pathlib.Path, help="copies the homes there afterwards")
    options = parser.parse_args()
    if reason := Lab.missing():
        print("skipped: " + reason)
        return 77
    in_own_mounts()
    with tempfile.TemporaryDirectory(prefix="lockstep-chaos-") as root:
        hosts = Hosts(root, options.build)
        try:
            chaos = Chaos(hosts, options.seed)
            chaos.run(options.minutes)
            chaos.end()
            findings = Findings(chaos)
            runs = findings.check()
            if options.keep:
                for name in (*INTERFACES, "laptop"):
                    shutil.copytree(hosts.home(name), options.keep / name, symlinks=True, dirs_exist_ok=True)
        finally:
            hosts.close()
    print(f"seed {options.seed}, {options.minutes:g} minutes: " + ", ".join(f"{count} {name}" for name, count in sorted(chaos.counts.items())))
    print(f"{runs} runs, {findings.frames} frames of ranks in their logs, {findings.lost_with_reason} lost with a killed agent")
    for problem in chaos.problems:
        print("PROBLEM: " + problem)
    return 1 if chaos.problems else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A queue that lives on the first host, so that the laptop that began it may leave: over two hosts in network namespaces, each with
a real sshd. The laptop's link is cut and all its processes are killed while the first run goes on; the second begins and ends
without it; back again, it finds both, 0 lines lost, 0 doubled, and nothing is left on any host. Fake ranks, since what is asked
about is the queue."""

import argparse
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from netns_lab import Lab, holds, run_tests, runs_in, wait_for  # noqa: E402
from waiting import print_figure  # noqa: E402

arguments = None


class Away(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="lockstep-away-")
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)
        self.agent = pathlib.Path(arguments.bin) / "lockstep-agent"
        self.ctl = pathlib.Path(arguments.bin) / "lockstepctl"

    def lab_with(self, epochs=2, hosts_reach_each_other=True):
        environment = {"LOCKSTEP_TRAINER": arguments.fake_rank, "FAKE_RANK": f"epochs={epochs};steps=100;step_ms=10"}
        if hosts_reach_each_other:
            environment["LOCKSTEP_SSH_OPTIONS"] = f"-F {self.root}/lab/ssh_config"
        self.lab = Lab(self.root / "lab", {"hostA": "bond0", "hostB": "eno1"}, environment)
        self.lab.__enter__()
        self.addCleanup(self.lab.close)
        self.environment = self.lab.laptop_environment()

    def recipe(self, repeats=2, first="hostA", second="hostB"):
        base = {"model": "lenet", "dataset": "fashion-mnist", "device": "cpu", "epochs": 2, "batch_size": 64,
                "train_samples": 6400, "oversubscribe": True,
                "nodes": f"{first}%bond0:0 agent={self.agent};{second}%eno1:0 agent={self.agent}"}
        path = self.root / "recipe.json"
        path.write_text(json.dumps({"name": "away", "title": "Away", "summary": "Away.", "question": "Does it go on?",
                                    "base": base, "runs": [{"method": "ddp", "devices": [0, 1]}], "repeats": repeats}))
        return path

    def lab_that_trains(self):
        """Nothing of ours on the hosts but what the laptop brings; PyTorch is the machine's own."""
        facts = json.loads(subprocess.run([arguments.trainer, "--facts"], capture_output=True, text=True, check=True).stdout)
        environment = {"LOCKSTEP_TORCH": facts["torch_folder"], "LOCKSTEP_SSH_OPTIONS": f"-F {self.root}/lab/ssh_config"}
        self.lab = Lab(self.root / "lab", {"hostA": "bond0", "hostB": "eno1"}, environment)
        self.lab.__enter__()
        self.addCleanup(self.lab.close)
        self.environment = self.lab.laptop_environment()
        for host in self.lab.hosts:
            self.laptop("nodes", "add", host)
        self.laptop("nodes", "sync", *self.lab.hosts, timeout=200)
        book = json.loads((self.lab.laptop_home / "nodes.json").read_text())["nodes"]
        return {node["name"]: node["agent"] for node in book}

    def laptop(self, *words, code=0, timeout=60):
        said = self.lab.run([self.ctl, *words], env=self.environment, timeout=timeout)
        self.assertEqual(said.returncode, code, said.stdout + said.stderr)
        return said

    def begin(self, **recipe):
        said = self.laptop("run", self.recipe(**recipe), "--queue-on", "hostA", "--remote-agent", self.agent, "--detach", "--json")
        answer = json.loads(said.stdout)
        self.assertEqual(answer["queue_on"], "hostA")
        return answer["experiment"]

    def queue_on_a(self, experiment):
        """As it lies on the host that keeps it."""
        return json.loads((self.lab.hosts["hostA"].home / "experiments" / experiment / "experiment.json").read_text())

    def states(self, experiment):
        return [entry["state"] for entry in self.queue_on_a(experiment)["entries"]]

    def trains(self, number):
        """The folder of the run of that number (from 0) on the first host, once its second host steps."""

        def steps():
            for run in runs_in(self.lab.hosts["hostA"].home)[number:]:
                log = run / "node-1.ndjson"
                if holds(log, b'"type":"steps"'):
                    return run

        return wait_for(steps, 40, f"steps of run {number}")

    def laptop_processes(self):
        found = {}
        for pid in self.lab._pids(self.lab.laptop):
            with contextlib.suppress(OSError):
                found[pid] = pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
        return found

    def kill_the_laptop(self):
        for pid in self.laptop_processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 9)

    def assert_whole(self, run):
        """Both logs, here and there, byte for byte; no number lacks, none comes twice."""
        homes = {"hostA": self.lab.hosts["hostA"].home, "hostB": self.lab.hosts["hostB"].home, "laptop": self.lab.laptop_home}
        for node, own in ((0, "hostA"), (1, "hostB")):
            log = (homes[own] / "runs" / run / f"node-{node}.ndjson").read_bytes()
            seqs = [json.loads(line)["seq"] for line in log.splitlines()]
            self.assertEqual(seqs, list(range(len(seqs))), f"node {node} of {run}")
            self.assertGreater(len(seqs), 10)
            self.assertEqual((homes["laptop"] / "runs" / run / f"node-{node}.ndjson").read_bytes(), log, f"the laptop's copy, node {node} of {run}")
        here = json.loads((homes["laptop"] / "runs" / run / "result.json").read_text())
        self.assertEqual(here, json.loads((homes["hostA"] / "runs" / run / "result.json").read_text()))
        self.assertEqual(here["state"], "done", here)

    def assert_nobody_left(self):
        for host in self.lab.hosts:
            wait_for(lambda host=host: not self.lab.processes(host), 40, f"{host} to be empty: {self.lab.processes(host)}")
        wait_for(lambda: not self.laptop_processes(), 10, f"the laptop to be empty: {self.laptop_processes()}")

    def test_the_second_run_begins_and_ends_without_the_laptop(self):
        self.lab_with(epochs=4)
        experiment = self.begin()
        attached = self.lab.start([self.ctl, "attach", experiment], env=self.environment)
        first = self.trains(0)
        self.assertEqual(self.states(experiment), ["running", "queued"])
        self.lab.cut_laptop()
        cut = time.monotonic()
        # A command asked of a queue that can't be reached says so, and what is not known is called unknown.
        refused = self.laptop("pause", experiment, code=1)
        self.assertIn("hostA can't be reached", refused.stderr)
        self.assertNotIn("is paused", refused.stdout)
        shown = self.laptop("queue", experiment)
        self.assertIn("its state is unknown", shown.stdout)
        self.assertIn("the queue is on hostA", shown.stdout)
        self.kill_the_laptop()
        attached.communicate(timeout=20)
        away = time.monotonic() - cut
        second = wait_for(lambda: (runs := runs_in(self.lab.hosts["hostA"].home)) and len(runs) == 2 and runs[1], 60, "the second run")
        wait_for(lambda: self.states(experiment) == ["done", "done"], 60, "the queue's end without the laptop")
        self.assertFalse((self.lab.laptop_home / "runs" / second.name).exists(), "the laptop saw it begin")
        self.assertFalse(self.laptop_processes())
        for host in self.lab.hosts:
            wait_for(lambda host=host: not self.lab.processes(host), 40, f"{host} to be empty: {self.lab.processes(host)}")

        self.lab.restore_laptop()
        back = time.monotonic()
        said = self.laptop("attach", experiment, timeout=60)
        print(f"killed {away:.1f} s after the cut; attached again and at the end after {time.monotonic() - back:.1f} s", file=sys.stderr)
        self.assertIn("DDP", said.stdout)
        for run in (first.name, second.name):
            self.assert_whole(run)
        entries = json.loads(self.laptop("queue", experiment, "--json").stdout)
        self.assertEqual([entry["state"] for entry in entries["entries"]], ["done", "done"])
        self.assertEqual((entries["owned"], entries["queue_on"]), (False, "hostA"))
        # Somebody else's machine, which never heard of it.
        self.lab.laptop_home = self.root / "another"
        self.environment["LOCKSTEP_HOME"] = str(self.lab.laptop_home)
        self.assertIn("there is no run and no experiment", self.laptop("stop", experiment, code=2).stderr)
        self.environment["LOCKSTEP_REMOTE_AGENT"] = str(self.agent)
        self.assertIn("on hostA: there is no experiment", self.laptop("attach", "20200101T000000Z-00000000", "--queue-on", "hostA", code=2).stderr)
        self.laptop("attach", experiment, "--queue-on", "hostA")
        for run in (first.name, second.name):
            self.assert_whole(run)
        self.assert_nobody_left()

    def test_programs_that_a_sync_brought_keep_the_queue_and_train(self):
        if not arguments.trainer:
            self.skipTest("there is no trainer")
        agents = self.lab_that_trains()
        for host, agent in agents.items():
            self.assertTrue(agent.startswith(f"{self.lab.hosts[host].home}/sync/programs/current/"), agent)
        path = self.recipe()
        recipe = json.loads(path.read_text())
        recipe["base"]["nodes"] = f"hostA%bond0:0 agent={agents['hostA']};hostB%eno1:1 agent={agents['hostB']}"
        recipe["base"]["train_samples"] = 1280
        path.write_text(json.dumps(recipe))
        answer = json.loads(self.laptop("run", path, "--queue-on", "hostA", "--detach", "--json", timeout=100).stdout)
        owner = wait_for(lambda: [pid for pid, name in self.lab.processes("hostA").items() if "lockstepctl" in str(name)], 20, "the queue's owner")
        self.assertIn("/sync/programs/versions/", os.readlink(f"/proc/{owner[0]}/exe"))
        self.laptop("attach", answer["experiment"], timeout=150)
        runs = [run.name for run in runs_in(self.lab.hosts["hostA"].home)]
        self.assertEqual(len(runs), 2)
        hashes = set()
        for run in runs:
            self.assert_whole(run)
            result = json.loads((self.lab.laptop_home / "runs" / run / "result.json").read_text())
            self.assertEqual([rank["host"] for rank in result["ranks"]], ["hostA", "hostB"])
            hashes.add(result["summary"]["parameters_sha256"])
        self.assertEqual(len(hashes), 1, "the same seed gave other parameters")
        self.assert_nobody_left()

    def test_an_attached_viewer_outlives_a_cut_and_misses_nothing(self):
        self.lab_with(epochs=4)
        experiment = self.begin()
        printed = self.root / "printed"
        with open(printed, "w") as output:
            attached = subprocess.Popen(self.lab.command([self.ctl, "attach", experiment]), env=self.environment, stdin=subprocess.DEVNULL,
                                        stdout=output, stderr=output)
        first = self.trains(0)
        wait_for(lambda: list(self.lab.processes("hostA").values()).count("lockstepctl") == 2, 10, "the viewer's bridge beside the queue's owner")
        time.sleep(1)  # it has sent the queue's state to the viewer
        self.lab.cut_laptop()
        cut = time.monotonic()
        wait_for(lambda: "the link to hostA is lost, the queue's state is unknown" in printed.read_text(), 20, "the viewer to call its link lost")
        print_figure("a viewer's own cut link called lost", cut, 7)
        wait_for(lambda: self.states(experiment)[0] == "done", 60, "the first run's end")
        second = self.trains(1)
        time.sleep(7)  # longer than ssh takes to call the link lost
        self.lab.restore_laptop()
        self.assertEqual(attached.wait(timeout=90), 0, printed.read_text())
        self.assertIn("the link to hostA is back", printed.read_text())
        for run in (first.name, second.name):
            self.assert_whole(run)
        self.assert_nobody_left()

    def test_what_is_asked_here_reaches_the_owner_there(self):
        self.lab_with()
        experiment = self.begin(repeats=4)
        self.trains(0)
        self.laptop("pause", experiment)
        wait_for(lambda: self.queue_on_a(experiment).get("paused_by"), 10, "the pause to arrive")
        self.assertIn("lockstepctl on ", self.queue_on_a(experiment)["paused_by"])
        wait_for(lambda: self.states(experiment)[0] == "done", 30, "the first run's end")
        time.sleep(1)
        self.assertEqual(self.states(experiment), ["done", "queued", "queued", "queued"], "a paused queue went on")
        self.laptop("skip", experiment, "3")
        self.laptop("move", experiment, "4", "1")
        wrong = self.laptop("move", experiment, "1", "2", code=2)
        self.assertIn("on hostA: DDP", wrong.stderr)
        self.laptop("resume", experiment)
        wait_for(lambda: self.states(experiment) == ["done", "queued", "not run", "running"], 30, "the moved run")
        self.laptop("stop", experiment)
        wait_for(lambda: self.states(experiment) == ["done", "stopped", "not run", "stopped"], 30, "the stop")
        self.assert_nobody_left()
        # Its owner is gone now: what is queued again gets another one there.
        self.laptop("retry", experiment, "2")
        wait_for(lambda: self.states(experiment)[1] == "done", 40, "the run that was queued again")
        self.laptop("add", experiment, "seed=7", "--repeats", "1", "--name", "another seed")
        wait_for(lambda: self.states(experiment)[4:] == ["done"], 40, "the run that was added")
        self.assertEqual(self.queue_on_a(experiment)["entries"][4]["config"]["seed"], 7)
        self.assert_nobody_left()

    def test_what_can_not_be_is_refused_before_anything_starts(self):
        self.lab_with(hosts_reach_each_other=False)
        start = ("--queue-on", "hostA", "--detach", "--remote-agent", self.agent)
        for second, words, sentence in (
            (".", start, "this machine is one of the run's nodes, so it can't be switched off while hostA runs the queue"),
            ("hostB", (*start[:3], "--remote-agent", f"{self.root}/nothing/lockstep-agent"), "copy it there: lockstepctl nodes sync hostA"),
            ("hostB", start, "on hostA: node hostB can't be reached"),
            ("hostB", ("--queue-on", "hostX", "--detach"), "hostX can't be reached"),
            ("hostB", (*start, "--host", "hostB"), "--queue-on and --host are both given"),
        ):
            with self.subTest(sentence):
                said = self.lab.run([self.ctl, "run", self.recipe(second=second), *words],
                                    env=self.environment, timeout=60)
                self.assertIn(said.returncode, (1, 2), said.stdout + said.stderr)
                self.assertIn(sentence, said.stderr)
                self.assertEqual(len(said.stderr.strip().splitlines()), 1, said.stderr)
        for home in (self.lab.laptop_home, *(host.home for host in self.lab.hosts.values())):
            self.assertEqual(runs_in(home), [])
            self.assertFalse((home / "experiments").exists() and list((home / "experiments").iterdir()), home)
        self.assert_nobody_left()

    def test_a_recipe_without_nodes_runs_on_the_devices_of_that_machine(self):
        self.lab_with()
        path = self.recipe(repeats=1)
        recipe = json.loads(path.read_text())
        del recipe["base"]["nodes"]
        path.write_text(json.dumps(recipe))
        said = self.laptop("run", path, "--queue-on", "hostA", "--remote-agent", self.agent, timeout=60)
        self.assertIn("this machine may be switched off", said.stdout)
        (run,) = runs_in(self.lab.hosts["hostA"].home)
        result = json.loads((run / "result.json").read_text())
        self.assertEqual([rank["host"] for rank in result["ranks"]], ["hostA", "hostA"])
        self.assertEqual((self.lab.laptop_home / "runs" / run.name / "node-0.ndjson").read_bytes(), (run / "node-0.ndjson").read_bytes())
        self.assertEqual(runs_in(self.lab.hosts["hostB"].home), [])
        self.assert_nobody_left()


def main():
    global arguments
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("--fake-rank", required=True, type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("--trainer", default="")
    arguments, rest = parser.parse_known_args()
    run_tests(rest)


if __name__ == "__main__":
    main()

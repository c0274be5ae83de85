#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One run over three hosts in network namespaces, each with its own sshd, launched from a fourth as a person does it: DDP over
Gloo on the interfaces that are named, with the real trainer. Its parameters are those of one host's run with as many ranks;
a link that is cut and restored loses and doubles no line; a stop leaves no process on any host."""

import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from netns_lab import Lab, holds, run_tests, runs_in, wait_for  # noqa: E402
from small_data import write_small_data  # noqa: E402
from waiting import print_figure, print_share  # noqa: E402

arguments = None


def lines_of(log):
    """node → seqs as they stand in a log."""
    seqs = {}
    for line in log.read_bytes().splitlines():
        frame = json.loads(line)
        seqs.setdefault(frame["node"], []).append(frame["seq"])
    return seqs


class ThreeHosts(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="lockstep-lab-")
        environment = {"LOCKSTEP_TRAINER": arguments.trainer} if arguments.trainer else {}
        self.lab = Lab(self.folder.name, {"hostA": "bond0", "hostB": "eno1", "hostC": "eth0"}, environment)
        self.lab.__enter__()
        self.data = write_small_data(pathlib.Path(self.folder.name) / "data")

    def tearDown(self):
        self.lab.close()
        self.folder.cleanup()

    def recipe(self, **config):
        base = {
            "model": "lenet",
            "dataset": "fashion-mnist",
            "data_dir": self.data,
            "device": "cpu",
            "epochs": 2,
            "batch_size": 63,
            "train_samples": 3780,
            "oversubscribe": True,
        }
        path = pathlib.Path(self.folder.name) / "recipe.json"
        recipe = {
            "name": "nodes",
            "title": "Nodes",
            "summary": "DDP over nodes.",
            "question": "Is it one run?",
            "base": {**base, **config},
            "runs": [{"method": "ddp", "devices": [0, 1, 2]}],
            "repeats": 1,
        }
        path.write_text(json.dumps(recipe))
        return path

    def start(self, recipe, *words):
        ctl = pathlib.Path(arguments.bin) / "lockstepctl"
        agent = pathlib.Path(arguments.bin) / "lockstep-agent"
        return self.lab.start(
            [ctl, "run", recipe, "--remote-agent", agent, *words], env=self.lab.laptop_environment()
        )

    def slowed(self, slow, fast):
        """A recipe that trains for some seconds: `slow` epochs over a link so slow that the ranks wait for each other, and leave the cores
        to other tests. Where the kernel has no such links they compute, for `fast` epochs."""
        try:
            self.lab.throttle("hostB", "50mbit")
        except subprocess.CalledProcessError:
            return self.recipe(epochs=fast)
        return self.recipe(epochs=slow)

    def nodes(self, a="0,1", b="0", **more):
        agent = pathlib.Path(arguments.bin) / "lockstep-agent"
        return f"hostA%bond0:{a} agent={agent};hostB%eno1:{b} agent={agent}"

    def finish(self, process, seconds=240):
        out, err = process.communicate(timeout=seconds)
        self.assertEqual(process.returncode, 0, out + err)
        return out

    def result_on(self, host):
        runs = runs_in(self.lab.hosts[host].home)
        self.assertTrue(runs, f"no run on {host}")
        return runs[-1], json.loads((runs[-1] / "result.json").read_text())

    def training_run(self):
        """The run's folder on the first host, once the second trains. The check before it has a folder for a moment too."""

        def training():
            for run in runs_in(self.lab.hosts["hostA"].home):
                log = run / "node-1.ndjson"
                if holds(log, b'"type":"steps"'):
                    return run

        return wait_for(training, 60, "steps of the second host")

    def assert_nobody_left(self):
        for host in self.lab.hosts:
            wait_for(lambda host=host: not self.lab.processes(host), 15, f"{host} to be empty: {self.lab.processes(host)}")

    def assert_copies_are_whole(self, run):
        """The first host's copy of the second's log, and the laptop's copies of both: byte for byte, 0 lost, 0 doubled."""
        second = self.lab.hosts["hostB"].home / "runs" / run.name
        here = self.lab.laptop_home / "runs" / run.name
        for node, original in ((0, run / "node-0.ndjson"), (1, second / "node-1.ndjson")):
            log = original.read_bytes()
            self.assertEqual(lines_of(original), {node: list(range(log.count(b"\n")))})
            self.assertEqual(log, (run / original.name).read_bytes(), f"agent 0's copy of node {node}")
            self.assertEqual(log, (here / original.name).read_bytes(), f"the laptop's copy of node {node}")

    def test_two_plus_one_over_gloo_gives_one_hosts_parameters(self):
        self.finish(self.start(self.recipe(), "--set", f"nodes={self.nodes()}"))
        run, over = self.result_on("hostA")
        self.assertEqual(over["state"], "done", over)
        self.assertEqual([rank["host"] for rank in over["ranks"]], ["hostA", "hostA", "hostB"])
        self.assertEqual(over["summary"]["world_size"], 3)
        self.assert_copies_are_whole(run)
        record = json.loads((run / "config.json").read_text())
        self.assertEqual([machine["host"] for machine in record["machines"]], ["hostA", "hostB"])

        self.finish(self.start(self.recipe(), "--host", "hostC"))
        _, alone = self.result_on("hostC")
        self.assertEqual(alone["summary"]["world_size"], 3)
        self.assertTrue(alone["summary"]["parameters_sha256"])
        self.assertEqual(over["summary"]["parameters_sha256"], alone["summary"]["parameters_sha256"])
        print("sha256 of both", alone["summary"]["parameters_sha256"][:16], file=sys.stderr)
        self.assert_nobody_left()

    def by_hand(self, run, *trainer, of_node_0=()):
        """`lockstep-agent run` on hostA (2 ranks) and hostB (1), each with a home and a folder of its own: nothing is shared.
        `of_node_0`: options that hostA's agent alone is given."""
        processes = []
        for rank, (name, devices) in enumerate((("hostA", 2), ("hostB", 1))):
            host = self.lab.hosts[name]
            folder = host.folder / run
            folder.mkdir()
            command = [pathlib.Path(arguments.bin) / "lockstep-agent", "run", "--run-id", run, "--nnodes", "2", "--node-rank", rank,
                       "--nproc-per-node", devices, "--interface", host.interface, "--join", f"{self.lab.hosts['hostA'].data_address}:4711",
                       *(of_node_0 if rank == 0 else ()), "--", "lockstep-trainer", "--method=ddp", "--train-samples=6300", "--batch-size=63", "--oversubscribe",
                       "--nodes=hostA%bond0:0,1;hostB%eno1:0", f"--data-dir={self.data}", *trainer]
            environment = {**os.environ, "LOCKSTEP_HOME": str(host.home), "LOCKSTEP_JOIN_TOKEN": "0123456789abcdef",
                           "PATH": f"{arguments.bin}:{os.environ['PATH']}"}
            if arguments.trainer:
                environment["LOCKSTEP_TRAINER"] = arguments.trainer
            processes.append(self.lab.start(command, name, cwd=folder, env=environment))
        return processes

    def test_ranks_of_all_nodes_start_again_from_the_first_nodes_checkpoint_and_end_as_an_unbroken_run(self):
        sums = []
        for run, broken in (("20260102T030405Z-00000001", False), ("20260102T030405Z-00000002", True)):
            processes = self.by_hand(run, "--epochs=6", of_node_0=("--max-restarts", "1"))
            folder, further = (self.lab.hosts[name].home / "runs" / run for name in ("hostA", "hostB"))
            if broken:
                wait_for(lambda: list((folder / "checkpoints").glob("*.safetensors")), 90, "a checkpoint")
                self.assertFalse(list((further / "checkpoints").glob("*")), "nothing is shared")
                [rank] = [pid for pid, name in self.lab.processes("hostB").items() if name.startswith("lockstep-train")]
                os.kill(rank, 9)
            for process in processes:
                self.finish(process)
            result = json.loads((folder / "result.json").read_text())
            self.assertEqual(result["state"], "done", result)
            sums.append(result["summary"]["parameters_sha256"])
            log = [json.loads(line) for line in (folder / "node-0.ndjson").read_text().splitlines()]
            restarts = [line["message"] for line in log if line["type"] == "alert" and line["kind"] == "restart"]
            self.assertEqual(len(restarts), int(broken), restarts)
            if broken:
                self.assertRegex(restarts[0], "1 of 1 times, since rank 2 on [^ ]+ was killed by SIGKILL")
                self.assertIn(f"got {further}/checkpoints/", (further / "node-1.ndjson").read_text())
                second = [line for line in log if line["type"] == "epoch" and line["rank"] == 0]
                self.assertLess(len(second), 2 * 6, "the second start began where the first had come to")
        self.assertEqual(sums[0], sums[1])
        self.assert_nobody_left()

    def test_the_traffic_stays_on_the_named_interfaces(self):
        process = self.start(self.recipe(epochs=50), "--set", f"nodes={self.nodes()}")
        sockets = wait_for(
            lambda: [line for line in self.trainer_sockets("hostA") if "10.77.1.12" in line], 60, "ranks that talk"
        )
        own = [line.split()[0] for line in self.trainer_sockets("hostA")]
        foreign = [address for address in own if not address.startswith("10.77.1.11:")]
        self.assertFalse(foreign, foreign)
        self.assertTrue(sockets)
        process.terminate()
        process.communicate(timeout=60)
        self.assert_nobody_left()

    def trainer_sockets(self, host):
        """Listening and connected TCP sockets of the host's agent and ranks: local and remote address. An IPv6 socket writes an
        IPv4 address as [::ffff:10.77.1.11]:4711."""
        listed = self.lab.run(["ss", "-Htanp"], host).stdout.splitlines()
        addresses = [" ".join(line.split()[3:5]) for line in listed if "lockstep" in line]
        return [re.sub(r"\[::ffff:([0-9.]+)\]", r"\1", line) for line in addresses]

    def cut_and_restore(self, process, run, while_cut=lambda: None):
        started = time.monotonic()
        self.lab.cut("hostB")
        first = run / "node-0.ndjson"
        wait_for(lambda: b'"link":"lost"' in first.read_bytes(), 15, "the link to be called lost")
        print_figure("a cut link called lost", started, 7)
        # No connection was closed: packets just vanish, as when the power goes. What goes unacknowledged decides.
        wait_for(lambda: b'"kind":"node_gone"' in first.read_bytes(), 15, "the node to be called gone")
        print_figure("a node without power called gone", started, 10)
        self.assertIn(b"hostB is down or cut off: ", first.read_bytes())
        self.assertIn(b"its training state unknown", first.read_bytes())
        self.assertNotIn(b'"state":"failed"', first.read_bytes())
        while_cut()
        self.lab.restore("hostB")
        wait_for(lambda: first.read_bytes().count(b'"link":"up"') >= 2, 30, "the link to come back")
        self.finish(process)
        run, result = self.result_on("hostA")
        self.assertEqual(result["state"], "done", result)
        self.assert_copies_are_whole(run)
        self.assert_nobody_left()

    def test_a_link_cut_and_restored_in_the_run_loses_and_doubles_nothing(self):
        process = self.start(self.slowed(3, 15), "--set", f"nodes={self.nodes()}")
        self.cut_and_restore(process, self.training_run())

    def test_a_node_cut_off_while_the_ranks_here_only_wait_for_its_rank_is_called_gone(self):
        process = self.start(self.slowed(3, 15), "--set", f"nodes={self.nodes()}")
        run = self.training_run()
        [rank] = [pid for pid, name in self.lab.processes("hostB").items() if name.startswith("lockstep-train")]
        os.kill(rank, signal.SIGSTOP)
        # Everything sent to hostB is acknowledged by its kernel: nothing on the ranks' connections shows the cut.
        wait_for(lambda: self.nothing_unacknowledged("hostA"), 15, "the ranks here to wait")
        self.cut_and_restore(process, run, while_cut=lambda: os.kill(rank, signal.SIGCONT))

    def nothing_unacknowledged(self, host):
        """Of its ranks' connections for a second: they wait."""

        def idle():
            listed = self.lab.run(["ss", "-Htinp", "state", "established"], host).stdout.replace("\n\t", " ")
            return not any("unacked:" in line for line in listed.splitlines() if "lockstep-train" in line)

        return all(time.sleep(0.1) is None and idle() for _ in range(10))

    def test_an_agent_that_is_silent_on_a_living_node_is_told_apart_from_a_node_that_is_gone(self):
        process = self.start(self.slowed(200, 200), "--set", f"nodes={self.nodes()}")
        run = self.training_run()
        [agent] = [pid for pid, name in self.lab.processes("hostB").items() if name == "lockstep-agent"]
        os.kill(agent, signal.SIGSTOP)
        first = run / "node-0.ndjson"
        try:
            wait_for(lambda: b'"kind":"node_alive"' in first.read_bytes(), 15, "the node to be seen alive")
            self.assertIn(b"hostB still answers the ranks here", first.read_bytes())
            self.assertNotIn(b'"kind":"node_gone"', first.read_bytes())
        finally:
            os.kill(agent, signal.SIGCONT)
        # Stopped in this moment: the agent there hears of it when it has found back.
        process.terminate()
        process.communicate(timeout=60)
        self.assert_nobody_left()
        self.print_ten_minutes_of(first)

    def print_ten_minutes_of(self, log):
        """What ten minutes take in memory where the disk takes nothing. What stands at a log's beginning is not written again."""
        lines = log.read_bytes().splitlines(keepends=True)
        frames = [json.loads(line) for line in lines]
        steps = [number for number, frame in enumerate(frames) if frame["type"] == "steps"]
        first, last = steps[0], steps[-1]
        seconds = (frames[last]["mono_ns"] - frames[first]["mono_ns"]) / 1e9
        held = 64 << 20  # bytes of lines that a full disk does not take (ipc/log.h)
        print_share("ten minutes of a log of 8 ranks, as 2 ranks wrote theirs, of the memory that holds it",
                    4 * 600 * sum(map(len, lines[first + 1:last + 1])) / seconds / held, 1)

    def test_a_stop_leaves_no_process_on_any_host(self):
        process = self.start(self.recipe(epochs=1000), "--set", f"nodes={self.nodes()}")
        run = self.training_run()
        for host, ranks in (("hostA", 2), ("hostB", 1)):
            names = list(self.lab.processes(host).values())
            self.assertEqual(sum(name.startswith("lockstep-train") for name in names), ranks, names)
        started = time.monotonic()
        process.terminate()
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, out + err)
        self.assert_nobody_left()
        print_figure("a stop of three ranks on two hosts", started, 10)
        _, result = self.result_on("hostA")
        self.assertEqual(result["state"], "stopped", result)

    def test_a_host_without_an_agent_is_named_and_nothing_is_left_of_the_others(self):
        nodes = self.nodes().replace("hostB%eno1:0 agent=", "hostB%eno1:0 agent=/no/such")
        process = self.start(self.recipe(), "--set", f"nodes={nodes}")
        out, err = process.communicate(timeout=60)
        self.assertNotEqual(process.returncode, 0)
        self.assertIn("node 1 (hostB)", out + err)
        self.assertIn("lockstep-agent", out + err)
        self.assert_nobody_left()

    def test_an_interface_that_is_not_there_is_named(self):
        process = self.start(self.recipe(), "--set", f"nodes={self.nodes().replace('%eno1', '%eth7')}")
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 2, out + err)
        self.assertIn("node 1 (hostB)", out + err)
        self.assertIn("eth7", out + err)
        self.assertIn("eno1", out + err)  # what there is
        self.assert_nobody_left()


def main():
    global arguments
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--trainer", default="")
    arguments, rest = parser.parse_known_args()
    arguments.bin = str(pathlib.Path(arguments.bin).resolve())
    run_tests(rest)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Recipes through a real Slurm of two nodes (slurm_lab.py): submitted, followed live, cancelled, requeued from the checkpoint, as
an array; and why a job waits. The ranks are real lockstep-trainers where they were built.

    slurm_test.py BIN [--long] [unittest's own arguments]"""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path[:0] = [str(pathlib.Path(__file__).parent), str(pathlib.Path(__file__).resolve().parents[1])]
from slurm_lab import SlurmLab, why_not  # noqa: E402
from small_data import write_small_data  # noqa: E402
from waiting import wait_for  # noqa: E402

BIN, LONG = None, False


def long_test(test):
    return unittest.skipUnless(LONG or "--long" in sys.argv, "a long one: --long")(test)


class SlurmTest(unittest.TestCase):
    """What the tests below do with a Slurm: `lab_options` are those of SlurmLab."""

    lab_options = {}

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="lockstep-slurm-", dir="/var/tmp"))  # each node has a /tmp of its own
        cls.data = write_small_data(cls.folder / "data")
        cls.lab = SlurmLab(cls.folder / "lab", **cls.lab_options).start()

    @classmethod
    def tearDownClass(cls):
        cls.lab.stop()
        shutil.rmtree(cls.folder, ignore_errors=True)

    def setUp(self):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="home-", dir=self.folder))
        clean = [name for name in os.environ if name.startswith(("LOCKSTEP_", "SLURM_", "XDG_"))]
        self.environment = self.lab.environment(LOCKSTEP_HOME=str(self.home), LOCKSTEP_SQUEUE_S="0.3")
        for name in clean:
            if name not in ("LOCKSTEP_HOME", "LOCKSTEP_SQUEUE_S"):
                self.environment.pop(name, None)
        self.environment["SLURM_CONF"] = str(self.lab.folder / "slurm.conf")
        self.children = []

    def tearDown(self):
        with_jobs = subprocess.run(["scancel", "--user", str(os.getuid())], env=self.environment, capture_output=True)
        self.assertEqual(with_jobs.returncode, 0)
        wait_for(lambda: not self.lab.call("squeue", "-h").strip(), 60, "an empty queue", self.lab.logs)
        for child in self.children:
            if child.poll() is None:
                child.kill()
            child.wait()
        wait_for(lambda: not self.lab.processes_inside(), 20, f"no process on any node: {self.lab.processes_inside()}")

    def ctl(self, *words, code=0, input=None, timeout=100):
        done = subprocess.run([str(BIN / "lockstepctl"), *map(str, words)], env=self.environment, input=input, capture_output=True,
                              text=True, timeout=timeout)
        self.assertEqual(done.returncode, code, f"{words}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}\n{self.logs_of_agents()}")
        return done.stdout if code == 0 else done.stderr

    def logs_of_agents(self):
        """What jobs and agents wrote, for a failure's sake."""
        texts = [f"--- {path}\n{path.read_text(errors='replace')[-2500:]}" for path in self.home.glob("experiments/*/*.log")]
        texts += [f"--- {path}\n{path.read_text(errors='replace')[-1500:]}" for path in self.home.glob("runs/*/console/*")]
        return "\n".join(texts)

    def recipe(self, *runs, **base):
        return json.dumps({"name": "slurm-test", "title": "through Slurm", "base": {"device": "cpu", "model": "lenet", "train_samples": 1280,
                                                                                   "data_dir": self.data, "epochs": 2, "batch_size": 64, **base},
                           "runs": list(runs)})

    DDP = {"method": "ddp", "devices": 2, "name": "DDP on 2 devices"}

    def submit(self, text, *words):
        time = () if "--time" in words else ("--time", "10")
        answer = json.loads(self.ctl("slurm", "submit", "-", *time, "--json", *words, input=text))
        return answer["experiment"], answer["job"]

    def two_nodes(self, **base):
        return self.submit(self.recipe(self.DDP, **base), "--nodes", "2", "--interface", "eth0")

    def experiment(self, name):
        return json.loads((self.home / "experiments" / name / "experiment.json").read_text())

    def over(self, name, seconds=100):
        def look():
            now = self.experiment(name)
            return now if all(e["state"] in ("done", "failed", "stopped", "not run") for e in now["entries"]) else None
        try:
            return wait_for(look, seconds, "the experiment's end")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.lab.logs()}\n{self.logs_of_agents()}") from None

    def run_folder(self, name):
        return self.home / "runs" / name

    def result(self, run):
        return json.loads((self.run_folder(run) / "result.json").read_text())

    def frames(self, run, kind, node=0):
        path = self.run_folder(run) / f"node-{node}.ndjson"
        return [frame for line in path.read_text().splitlines() if (frame := json.loads(line))["type"] == kind] if path.exists() else []

    @contextlib.contextmanager
    def held_still(self, run):
        """The run's trainers are stopped meanwhile, so that it cannot end."""
        ranks = [pid for pid, text in self.lab.processes_inside().items() if "--method=" in text and "lockstep-agent" not in text]
        self.assertTrue(ranks, f"{run} trains: {self.lab.processes_inside()}")
        for pid in ranks:
            os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in ranks:
                os.kill(pid, signal.SIGCONT)

    def begun(self, name):
        """The run of a job that trains now."""
        def look():
            for entry in self.experiment(name)["entries"]:
                if entry["run"] and self.frames(entry["run"], "steps"):
                    return entry["run"]
        try:
            return wait_for(look, 60, "training")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.lab.logs()}\n{self.logs_of_agents()}") from None


class Slurm(SlurmTest):
    def test_a_ddp_run_over_two_nodes_is_submitted_and_followed_live_to_its_result(self):
        experiment, job = self.two_nodes(epochs=4, train_samples=6400)
        follower = subprocess.Popen([str(BIN / "lockstepctl"), "slurm", "follow", experiment], env=self.environment,
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.children.append(follower)
        run = self.begun(experiment)
        # This machine is none of the nodes: its viewers reach agent 0 through srun --overlap.
        origin = json.loads((self.run_folder(run) / "origin.json").read_text())
        self.assertEqual((origin["host"], origin["shared"]), (f"slurm:{job}/n1", True))
        with self.held_still(run):  # a run of some seconds may be over before srun has started the follower
            wait_for(lambda: [text for text in self.lab.processes_inside().values() if "attach" in text and run in text], 30,
                     "a follower inside of the job")
            self.assertFalse((self.run_folder(run) / "result.json").exists(), "it is followed while it goes on")
        out, _ = follower.communicate(timeout=100)
        self.assertEqual(follower.returncode, 0, out + self.logs_of_agents())
        self.assertIn("DDP", out)
        self.assertIn("epoch", out)
        result = self.result(run)
        self.assertEqual((result["state"], result["summary"]["world_size"]), ("done", 2))
        record = json.loads((self.run_folder(run) / "config.json").read_text())
        self.assertEqual((record["experiment"], record["name"]), (experiment, "DDP on 2 devices"))
        for node in (0, 1):
            seqs = [json.loads(line)["seq"] for line in (self.run_folder(run) / f"node-{node}.ndjson").read_text().splitlines()]
            self.assertEqual(seqs, list(range(len(seqs))))
        hosts = {frame["host"] for node in (0, 1) for frame in self.frames(run, "state", node) if frame.get("host")}
        self.assertEqual(hosts, {"n1", "n2"})
        self.assertFalse(list(self.home.glob("checkpoints/*")), "the checkpoint goes when the run is done")
        table = self.ctl("show", experiment)  # after the job, from the shared folder
        self.assertIn("DDP on 2 devices", table)

    def test_cancelling_reaches_every_rank_with_a_checkpoint(self):
        experiment, job = self.two_nodes(epochs=500)
        run = self.begun(experiment)
        self.ctl("slurm", "cancel", experiment)
        after = self.over(experiment)
        self.assertEqual(after["entries"][0]["state"], "stopped", after["entries"][0]["reason"])
        self.assertEqual(self.result(run)["exit_code"], 130)
        self.assertTrue(list(self.home.glob("checkpoints/*/*.safetensors")), "a checkpoint is left")
        wait_for(lambda: not self.lab.processes_inside(), 20, "no process on any node")

    def test_a_command_of_the_persons_own_hears_of_alerts_while_nobody_follows(self):
        heard = self.home / "heard"
        experiment, _ = self.submit(self.recipe(self.DDP, lr=1e30), "--nodes", "2", "--interface", "eth0",
                                    "--on-alert", f'echo "$LOCKSTEP_ALERT_KIND $LOCKSTEP_ALERT_TITLE" >> {heard}')
        self.assertEqual(self.over(experiment)["entries"][0]["state"], "failed")
        wait_for(lambda: heard.exists() and " DDP on 2 devices\n" in heard.read_text(), 40, "the command", self.logs_of_agents)
        self.assertIn("loss", heard.read_text())

    def test_a_requeued_job_goes_on_from_its_checkpoint_and_ends_as_an_unbroken_one(self):
        whole, _ = self.two_nodes(epochs=6, train_samples=6400)
        whole_result = self.result(self.over(whole)["entries"][0]["run"])
        self.assertEqual(whole_result["state"], "done")
        broken, job = self.two_nodes(epochs=6, train_samples=6400)
        first = self.begun(broken)
        wait_for(lambda: self.frames(first, "epoch"), 60, "an epoch's end")
        self.lab.call("scontrol", "requeue", job)
        wait_for(lambda: "PENDING" in self.lab.call("squeue", "-h", "-o", "%T"), 40, "the requeued job", self.lab.logs)
        self.assertEqual(self.result(first)["state"], "stopped")
        wait_for(lambda: self.experiment(broken)["entries"][0]["state"] == "queued", 20, "the entry to wait again")
        listed = json.loads(self.ctl("slurm", "list", "--json"))
        [mine] = [one for one in listed if one["experiment"] == broken]
        self.assertEqual(mine["runs"][0]["slurm"]["state"], "PENDING")
        self.assertEqual(mine["runs"][0]["slurm"]["reason"], "BeginTime")
        self.lab.call("scontrol", "update", f"JobId={job}", "StartTime=now")  # Slurm would wait for two minutes
        entry = self.over(broken)["entries"][0]
        self.assertEqual((entry["state"], entry["earlier_runs"]), ("done", [first]))
        self.assertEqual(entry["run"].rsplit("-")[-1], first.rsplit("-")[-1])
        second = self.result(entry["run"])
        origins = [json.loads((self.home / "runs" / run / "origin.json").read_text()) for run in (first, entry["run"])]
        self.assertEqual([origin["restarts"] for origin in origins], [0, 1])
        self.assertLess(len(self.frames(entry["run"], "epoch")), 2 * 6, "the second began where the first had stopped")
        self.assertEqual(second["summary"]["parameters_sha256"], whole_result["summary"]["parameters_sha256"])

    def test_a_recipe_is_an_array_with_a_task_a_run(self):
        text = self.recipe({"method": "baseline", "devices": 1, "name": "one"}, {"method": "baseline", "devices": 1, "seed": 2, "name": "two"},
                           self.DDP, epochs=1)
        experiment, job = self.submit(text, "--nodes", "2", "--interface", "eth0")
        after = self.over(experiment)
        self.assertEqual([entry["state"] for entry in after["entries"]], ["done"] * 3, self.logs_of_agents())
        self.assertEqual(len({entry["run"] for entry in after["entries"]}), 3)
        self.assertEqual([self.result(entry["run"])["summary"]["world_size"] for entry in after["entries"]], [1, 1, 2])
        self.assertIn("array=0-2", (self.home / "experiments" / experiment / "job.sbatch").read_text())
        self.assertIn("DDP on 2 devices", self.ctl("show", experiment))

    def test_why_a_job_waits_is_reported_with_its_place(self):
        text = self.recipe({"method": "ddp", "devices": 3, "name": "DDP on 3 devices", "batch_size": 60})
        experiment, job = self.submit(text, "--nodes", "3", "--interface", "eth0")
        listed = self.ctl("slurm", "list")
        self.assertRegex(listed, rf"{job} +PENDING +1 .*PartitionConfig")
        follower = subprocess.Popen([str(BIN / "lockstepctl"), "slurm", "follow", experiment], env=self.environment,
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.children.append(follower)
        line = follower.stdout.readline()
        self.assertIn(f"DDP on 3 devices: job {job} waits, place 1, PartitionConfig: the partition never has that many nodes", line)
        self.ctl("stop", experiment)  # as any experiment is stopped
        out, _ = follower.communicate(timeout=60)
        self.assertEqual(follower.returncode, 130, out)
        self.assertEqual(self.over(experiment)["entries"][0]["reason"], "cancelled before it ran")

    def test_srun_starts_trainers_as_they_are(self):
        summary = self.home / "summary.json"
        # Neither agent nor torchrun: numbers, rendezvous and this node's share come from Slurm's own variables.
        out = subprocess.run(["srun", "-N2", "-n2", str(BIN / "lockstep-trainer"), "--method", "ddp", "--train-samples", "640", "--epochs",
                              "1", f"--summary={summary}"], env=self.environment, capture_output=True, text=True, timeout=100)
        self.assertEqual(out.returncode, 0, out.stdout + out.stderr)
        summed = json.loads(summary.read_text())
        self.assertEqual((summed["world_size"], summed["devices"]), (2, ["n1/cpu:0", "n2/cpu:0"]))

    def programs(self, **texts):
        """Shell scripts that stand before Slurm's programs of those names."""
        folder = self.home / "programs"
        folder.mkdir(exist_ok=True)
        for name, text in texts.items():
            (folder / name).write_text(f"#!/bin/sh\n{text}\n")
            (folder / name).chmod(0o755)
        before = self.environment["PATH"]
        self.environment["PATH"] = f"{folder}:{before}"
        return lambda: self.environment.update(PATH=before)

    def test_a_job_that_slurm_took_without_an_answer_is_found_and_never_submitted_twice(self):
        took = 'echo "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation" >&2; exit 1'
        sbatch = f'{shutil.which("sbatch")} "$@" >/dev/null\n{took}'
        text = self.recipe({"method": "baseline", "devices": 1}, epochs=1)
        after = self.programs(sbatch=sbatch)
        experiment, job = self.submit(text)
        self.assertEqual(self.over(experiment)["entries"][0]["state"], "done")
        after()
        after = self.programs(sbatch=sbatch, squeue='echo "squeue: error: slurm_load_jobs: Socket timed out" >&2; exit 1')
        said = self.ctl("slurm", "submit", "-", "--time", "10", "--sbatch=--hold", code=1, input=text)
        self.assertIn("may be in Slurm's queue nevertheless", said)
        again = said.split("slurm submit ")[1].split()[0]
        self.assertIn("Socket timed out", self.ctl("slurm", "submit", again, code=1))
        after()
        self.assertEqual(json.loads(self.ctl("slurm", "submit", again, "--json"))["job"], str(int(job) + 1))
        self.lab.call("scontrol", "release", str(int(job) + 1))
        self.assertEqual(self.over(again)["entries"][0]["state"], "done")
        self.assertEqual(len(list((self.home / "runs").iterdir())), 2)

    def test_of_two_submissions_at_once_one_makes_the_job(self):
        path = self.ctl("slurm", "script", "-", "--save", "--time", "5", input=self.recipe({"method": "baseline", "devices": 1}, epochs=1))
        experiment = pathlib.Path(path.strip()).parent.name
        after = self.programs(sbatch=f'sleep 0.5\nexec {shutil.which("sbatch")} "$@"')
        both = [subprocess.Popen([str(BIN / "lockstepctl"), "slurm", "submit", experiment], env=self.environment, text=True,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for _ in range(2)]
        self.children += both
        said = [child.communicate(timeout=60)[1] for child in both]
        after()
        self.assertEqual(sorted(child.returncode for child in both)[0], 0, said)
        self.assertNotEqual(both[0].returncode, both[1].returncode, said)
        self.assertEqual(self.over(experiment)["entries"][0]["state"], "done")
        self.assertEqual(len(list((self.home / "runs").iterdir())), 1)

    @long_test
    def test_a_saved_script_may_be_edited_before_it_is_submitted(self):
        path = pathlib.Path(self.ctl("slurm", "script", "-", "--save", "--time", "5", input=self.recipe({"method": "baseline", "devices": 1},
                                                                                                      epochs=1)).strip())
        path.write_text(path.read_text().replace("set -u\n", "set -u\necho edited by hand\n", 1))
        experiment = path.parent.name
        self.ctl("slurm", "submit", experiment)
        self.assertEqual(self.over(experiment)["entries"][0]["state"], "done")
        self.assertIn("edited by hand", "".join(log.read_text() for log in path.parent.glob("slurm-*.log")))
        self.assertIn("already", self.ctl("slurm", "submit", experiment, code=2))

    @long_test
    def test_the_end_of_the_time_asks_for_a_checkpoint_first(self):
        experiment, job = self.submit(self.recipe(self.DDP, epochs=5000), "--nodes", "2", "--interface", "eth0", "--time", "1")
        run = self.begun(experiment)
        after = self.over(experiment, 150)
        self.assertEqual(after["entries"][0]["state"], "stopped")
        self.assertEqual(self.result(run)["exit_code"], 130)
        self.assertTrue(list(self.home.glob("checkpoints/*/*.safetensors")))


class UnlikeNodes(SlurmTest):
    """Two cores and eno1 here, three and ens5 there; and on both an interface whose address is the other's too, as docker0's is."""

    lab_options = {"cpus": [2, 3], "interfaces": ["eno1", "ens5"]}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for node in cls.lab.nodes:
            for words in (("link", "add", "br-a", "type", "veth", "peer", "name", "br-b"), ("address", "add", "172.17.0.1/16", "dev", "br-a"),
                          ("link", "set", "br-a", "up"), ("link", "set", "br-b", "up")):
                cls.lab.inside(node, "ip", *words)

    def shared_out(self, ranks, *words, **base):
        text = self.recipe({"method": "ddp", "devices": ranks, "name": f"DDP on {ranks} devices", "batch_size": 60, "oversubscribe": True}, epochs=1,
                           train_samples=600, **base)
        experiment, _ = self.submit(text, *words)
        entry = self.over(experiment)["entries"][0]
        self.assertEqual(entry["state"], "done", f"{entry}\n{self.logs_of_agents()}")
        return experiment, entry["run"]

    def test_the_network_between_the_nodes_is_found_by_trying_and_named(self):
        _, run = self.shared_out(2, "--nodes", "2")
        said = [frame["message"] for frame in self.frames(run, "log") if "found by trying" in frame["message"]]
        self.assertEqual(len(said), 1, self.logs_of_agents())
        self.assertIn(f"n1 is reached by all at {self.lab.address('n1')} (eno1), n2 uses ens5", said[0])
        nodes = json.loads((self.run_folder(run) / "config.json").read_text())["config"]["nodes"]
        self.assertIn("n1%eno1:0", nodes)
        self.assertIn("n2%ens5:0", nodes)
        self.assertFalse(list(self.home.glob("meeting-*")))

    def test_ranks_that_nodes_cannot_share_evenly_lie_as_slurm_lays_them_out(self):
        experiment, run = self.shared_out(5, "--nodes", "2")
        self.assertEqual([rank["host"] for rank in self.result(run)["ranks"]], ["n1", "n1", "n2", "n2", "n2"])
        self.assertEqual(self.result(run)["summary"]["world_size"], 5)
        self.assertIn("#SBATCH --ntasks=5\n", (self.home / "experiments" / experiment / "job.sbatch").read_text())

    def test_the_shares_of_nodes_may_be_given(self):
        _, run = self.shared_out(3, "--tasks-per-node", "2,1")
        self.assertEqual([rank["host"] for rank in self.result(run)["ranks"]], ["n1", "n1", "n2"])
        error = self.ctl("slurm", "script", "-", "--tasks-per-node", "2,2", input=self.recipe({"method": "ddp", "devices": 3, "batch_size": 60}), code=2)
        self.assertIn("has 3 ranks, but the nodes are given 4", error)

    def test_nodes_without_a_common_network_are_shown_which_addresses_were_tried(self):
        self.lab.inside("n2", "ip", "link", "set", "ens5", "down")
        run = "20260102T030405Z-89abcdef"
        def agent(node, rank):
            return subprocess.Popen(["nsenter", "-t", str(self.lab.holders[node].pid), "--net", "--uts", "--mount", "--", str(BIN / "lockstep-agent"),
                                     "run", "--run-id", run, "--nnodes", "2", "--node-rank", str(rank), "--join-limit", "4", "--", "true"],
                                    env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            first, second = agent("n1", 0), agent("n2", 1)
            said = [process.communicate(timeout=60)[1] for process in (first, second)]
        finally:
            self.lab.inside("n2", "ip", "link", "set", "ens5", "up")
            wait_for(lambda: self.lab.call("sinfo", "-h", "-N", "-o", "%T").split() == ["idle"] * 2, 60, "both nodes", self.lab)
        self.assertIn("node 0 is reached from n2 at none of its addresses: ", said[1])
        self.assertIn(f"{self.lab.address('n1')} (eno1): Network is unreachable", said[1])
        self.assertIn("172.17.0.1 (br-a): Connection refused", said[1])
        self.assertIn("node 1 did not find n1, which is node 0, within 4 s", said[0])
        self.assertEqual((first.returncode, second.returncode), (1, 1))
        self.assertFalse((self.home / "runs" / run).exists())


def main():
    global BIN, LONG
    words = sys.argv[1:]
    BIN = pathlib.Path(words.pop(0)).resolve()
    LONG = "--long" in words
    missing = why_not()
    if not missing and not (BIN / "lockstep-trainer").exists():
        missing = "no lockstep-trainer was built"
    if missing:
        print(f"skipped: {missing}")
        return 77
    result = unittest.main(argv=[sys.argv[0], *(word for word in words if word != "--long")], exit=False, verbosity=2).result
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())

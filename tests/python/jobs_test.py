#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""export-job: what comes out runs under torchrun, keeps to the published schemas, and no name in it injects anything."""
import importlib.util
import json
import os
import pathlib
import random
import shutil
import socket
import subprocess
import sys
import unittest

import support
from small_data import write_small_data
from support import Case

HOSTILE = ["it's", 'say "no"', "a b", ";touch pwned;", "$(touch pwned)", "`touch pwned`", "new\nline", "\ntouch pwned\n", "tab\there",
           "'; touch pwned; '", "$HOME", "${IFS}", "&& touch pwned", "| touch pwned", "> pwned", "#", "# pwned", "\\", "\\'", "*", "~",
           "-n", "--nodes=9", "%s", "é×ß", "\U0001f600", "\u0085", "\u2028", "\x7f", "\x1b[31m", "{}", "[]", "- x", "key: value", "null",
           "yes", "0x1f", "---", "...", "&a", "*a", "!!python/object", "$(JOB_COMPLETION_INDEX)", "$$", "EOF", "''", '""', "\r", "\r\n"]


def on_one_line(name):
    """As a run's name is read, wherever it comes from."""
    return name.translate(dict.fromkeys(b"\n\r\t", " "))


def recipe(*runs, **base):
    """Devices of their own on any machine, and quick."""
    return json.dumps({"name": "jobs", "title": "jobs", "base": {"device": "cpu", "epochs": 1, "train_samples": 640, "oversubscribe": True,
                                                             **base}, "runs": list(runs)})


class Jobs(Case):
    def export(self, to, text, *words, code=0):
        done = subprocess.run([support.BIN / "lockstepctl", "export-job", "-", "--to", to, *words], input=text.encode(),
                              capture_output=True, env=self.environment, timeout=60)  # bytes: a name may hold carriage returns
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return (done.stdout if code == 0 else done.stderr).decode()

    def fakes(self):
        """A folder of programs that write down what they were called with."""
        folder = self.home / "fakes"
        folder.mkdir(exist_ok=True)
        for name in ("torchrun", "lockstep-trainer"):
            (folder / name).write_text('#!/bin/bash\nprintf "%s\\0" "${0##*/}" "$@" "<end>" >>"$CALLS"\n')
            (folder / name).chmod(0o755)
        return folder

    def called(self, script):
        """The commands that the script runs, word by word; it touches nothing."""
        place = self.home / "place"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        (place / "script").write_bytes(script.encode())
        checked = subprocess.run(["bash", "-n", "script"], cwd=place, capture_output=True, text=True)
        self.assertEqual((checked.returncode, checked.stderr), (0, ""), script)
        environment = dict(self.environment, PATH=f"{self.fakes()}:/usr/bin:/bin", CALLS=str(self.home / "calls"),
                           SLURM_JOB_NODELIST="n1")
        (self.home / "calls").unlink(missing_ok=True)
        ran = subprocess.run(["bash", "script"], cwd=place, env=environment, capture_output=True, text=True)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""), script)
        self.assertEqual([path.name for path in place.iterdir()], ["script"], script)
        calls = (self.home / "calls").read_bytes().decode().split("\0<end>\0")[:-1]
        return [call.split("\0") for call in calls]

    def test_a_line_a_node_with_its_number_its_ranks_and_where_to_meet(self):
        text = self.export("torchrun", recipe({"method": "ddp", "devices": 5, "batch_size": 60, "name": "DDP"}), "--nodes", "2",
                           "--master-addr", "box 1", "--master-port", "4711")
        first, second = self.called(text)
        self.assertEqual(first[:11], ["torchrun", "--no-python", "--nnodes", "2", "--node-rank", "0", "--nproc-per-node", "3",
                                      "--master-addr", "box 1", "--master-port"])
        self.assertEqual(second[second.index("--node-rank") + 1], "1")
        self.assertEqual(second[second.index("--nproc-per-node") + 1], "2")
        self.assertIn("--devices=0,1,2", first)
        self.assertIn("--devices=0,1", second)
        self.assertEqual(text.count("lockstep-trainer"), 1, text)

    def test_a_scripts_words_are_the_same_on_every_node(self):
        words = ["[1]=x", "a=b", "*", "", "(", ")", "$command", *(word for word in HOSTILE if "{" not in word)]
        for program in "python3", "train":
            run = {"method": "ddp", "devices": 2, "name": "script", "command": [program, "train.py", *words]}
            calls = self.called(self.export("torchrun", recipe(run), "--nodes", "2", "--master-addr=h"))
            self.assertEqual(len(calls), 2)
            for call in calls:
                self.assertEqual(call[call.index("29500") + 1:], ([] if program == "python3" else [program]) + ["train.py", *words])

    def test_a_text_that_quotes_blow_up_is_refused_for_each_launcher(self):
        runs = [{"method": "ddp", "devices": 2, "name": f"run {i}", "seed": i} for i in range(15)]
        text = recipe(*runs, command=["train", *["'\"" * 50_000] * 16])
        for to, words in (("torchrun", []), ("slurm", []), ("pytorchjob", ["--nodes=2", "--image=i"])):
            self.assertIn("bytes; it may have 67,108,864", self.export(to, text, *words, code=2))

    def test_what_can_not_be_is_said_in_a_sentence(self):
        ddp = recipe({"method": "ddp", "devices": 2})
        self.assertIn("--master-addr", self.export("torchrun", ddp, "--nodes", "2", code=2))
        self.assertIn("3 nodes are more than the run's 2 processes", self.export("torchrun", ddp, "--nodes", "3", code=2))
        self.assertIn("dp is one process", self.export("kubernetes", recipe({"method": "dp", "devices": 2}), "--nodes", "2", "--image", "i",
                                                       code=2))
        self.assertIn("choose a run by ddp with --run N", self.export("torchrun", recipe({"method": "baseline", "devices": 1}), "--nodes", "2",
                                                                     "--master-addr", "h", code=2))
        self.assertIn("--image", self.export("kubernetes", ddp, code=2))
        self.assertIn("evenly among 2 pods", self.export("pytorchjob", recipe({"method": "ddp", "devices": 3, "batch_size": 60}),
                                                         "--nodes", "2", "--image", "i", code=2))
        self.assertIn("has 2 ranks, but the nodes are given 3", self.export("slurm", ddp, "--tasks-per-node", "3", code=2))
        for word in HOSTILE[:8]:
            self.assertIn("is refused", self.export("slurm", ddp, f"--partition={word}x;", code=2))
            self.assertRegex(self.export("slurm", ddp, f"--interface={word}x;", "--nodes=2", code=2), "refused|network interface")

    def test_no_name_injects_anything_into_a_shell(self):
        rng = random.Random(7)
        for i in range(30):
            words = [rng.choice(HOSTILE) for _ in range(3)]
            name, data, host = "".join(words), words[0] + "/d", words[1] + "h"
            data = "".join(c for c in data if ord(c) >= 32 and c != "\x7f" and c != "\u0085")  # a path may hold no controls
            text = self.export("torchrun", recipe({"method": "ddp", "devices": 2, "name": name, "data_dir": data}), "--nodes", "2",
                               f"--master-addr={host}", f"--frames={host}")
            for call in self.called(text):
                with self.subTest(seed=i, name=name):
                    self.assertEqual(call[call.index("--master-addr") + 1], host)
                    self.assertIn(f"--data-dir={data}", call)

    def test_no_name_injects_anything_into_a_batch_script(self):
        rng = random.Random(8)
        folder = self.fakes()
        for name, body in (("srun", 'while [ "$1" != bash ]; do shift; done\nSLURM_NODEID=0 exec "$@"\n'),
                           ("agent", 'printf "%s\\0" "${0##*/}" "$@" "<end>" >>"$CALLS"\n'), ("scontrol", "echo n1\n")):
            (folder / name).write_text("#!/bin/bash\n" + body)
            (folder / name).chmod(0o755)
        for i in range(30):
            name = "".join(rng.choice(HOSTILE) for _ in range(3))
            text = self.export("slurm", recipe({"method": "ddp", "devices": 2, "name": name}), "--nodes", "2", "--time", "5",
                               "--interface", "eth0", "--remote-agent", str(folder / "agent"))
            [call] = self.called(text)
            with self.subTest(seed=i, name=name):
                self.assertEqual(call[call.index("--name") + 1], on_one_line(name))
                options = [line for line in text.splitlines() if line.startswith("#SBATCH")]
                self.assertIn("#SBATCH --nodes=2", options)
                self.assertEqual(len(options), len({line.split("=")[0] for line in options}), "an option came twice")
                body = text[text.index("set -u"):]
                self.assertNotIn("\n#SBATCH", body)

    @unittest.skipUnless(importlib.util.find_spec("kubernetes_validate") and importlib.util.find_spec("kubeflow"),
                         "skipped: this Python has no kubernetes-validate and kubeflow-training")
    def test_manifests_keep_to_the_published_schemas_whatever_the_names(self):
        import manifests

        with self.assertRaises(Exception):  # the check can fail
            manifests.check({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "x"}, "spec": {"template": {}, "nonsense": 1}})
        with self.assertRaises(AssertionError):
            manifests.check({"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "x"}, "spec": {"nprocPerNode": 2}})
        rng = random.Random(9)
        for i in range(12):
            name, data = ("".join(rng.choice(HOSTILE) for _ in range(3)) for _ in range(2))
            data = "/" + "".join(c for c in data if ord(c) >= 32 and c != "\x7f" and c != "\u0085")
            for to, nodes, kinds in (("kubernetes", 2, ["Service", "Job"]), ("kubernetes", 1, ["Job"]), ("pytorchjob", 2, ["PyTorchJob"])):
                with self.subTest(seed=i, name=name, to=to):
                    text = self.export(to, recipe({"method": "ddp", "devices": 2, "name": name, "data_dir": data}), "--nodes", str(nodes),
                                       "--image=img:1", "--namespace=lab", "--claim=data", "--frames=tcp://h:1", "--frames-secret=tok")
                    found = manifests.documents(text)
                    self.assertEqual([document["kind"] for document in found], kinds)
                    for document in found:
                        manifests.check(document)
                    job = found[-1]
                    self.assertEqual(job["metadata"]["annotations"]["lockstep/run"], on_one_line(name))
                    self.assertRegex(job["metadata"]["name"], r"^[a-z]([a-z0-9-]{0,48}[a-z0-9])?$")
                    pod = (job["spec"]["template"] if to == "kubernetes" else job["spec"]["pytorchReplicaSpecs"]["Master"]["template"])["spec"]
                    words = pod["containers"][0]["command"]
                    self.assertEqual(words[0], "torchrun")
                    self.assertIn("--data-dir=" + data.replace("$", "$$"), words)
                    if kinds[0] == "Service":
                        self.assertIn(f"--master-addr={job['metadata']['name']}-0.{found[0]['metadata']['name']}", words)
                        self.assertEqual(found[0]["spec"]["selector"], job["spec"]["template"]["metadata"]["labels"])

    @unittest.skipUnless(importlib.util.find_spec("torch") and (pathlib.Path(sys.argv[-1]) / "lockstep-trainer").exists(),
                         "skipped: no torch, or no lockstep-trainer")
    def test_torchrun_runs_the_lines_and_two_nodes_train_as_one(self):
        folder, port, frames = self.real_torchrun(), self.free_port(), self.home / "frames"
        text = self.export("torchrun", recipe({"method": "ddp", "devices": 3, "name": "DDP 2+1", "batch_size": 48, "model": "lenet"},
                                               data_dir=write_small_data(self.home / "data", train=640)),
                           "--nodes", "2", "--master-addr", "127.0.0.1", "--master-port", str(port), f"--frames={frames}/")
        lines = text.splitlines()
        before = "\n".join(line for line in lines if line.startswith(("export", "command=")))
        environment = dict(self.environment, PATH=f"{folder}:{self.environment['PATH']}")
        nodes = [subprocess.Popen(["bash", "-c", before + "\n" + line], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True) for line in lines if line.startswith("torchrun")]
        self.assertEqual(len(nodes), 2)
        for node in nodes:
            out, _ = node.communicate(timeout=200)
            self.assertEqual(node.returncode, 0, out[-3000:])
        self.assertEqual(sorted(path.name for path in frames.iterdir()), [f"rank-{rank}.ndjson" for rank in range(3)])
        done = self.ctl("follow", frames, "--import")  # what they wrote is a run like ours
        [run] = self.runs()
        summary = self.result(run)["summary"]
        self.assertEqual((self.result(run)["state"], summary["world_size"], summary["method"], summary["batch_size"]),
                         ("done", 3, "ddp", 48), done.stdout)
        self.check_frames(run, 3)


    @unittest.skipUnless(importlib.util.find_spec("torch") and (pathlib.Path(sys.argv[-1]) / "lockstep-trainer").exists(),
                         "skipped: no torch, or no lockstep-trainer")
    def test_a_pod_whose_rank_was_killed_starts_all_ranks_again_from_their_checkpoint(self):
        import manifests

        folder, frames = self.real_torchrun(), self.home / "frames"
        text = self.export("kubernetes", recipe({"method": "ddp", "devices": 2, "name": "DDP", "epochs": 6, "train_samples": 6400, "max_restarts": 2},
                                                data_dir=write_small_data(self.home / "data", train=6400)),
                           "--image", "img:1", f"--frames={frames}/", "--claim", "data", "--mount", str(self.home / "shared"))
        job = manifests.documents(text)[-1]
        name = job["metadata"]["name"]
        container = job["spec"]["template"]["spec"]["containers"][0]
        environment = dict(self.environment, PATH=f"{folder}:{self.environment['PATH']}",
                           **{one["name"]: one["value"] for one in container["env"]})
        pod = subprocess.Popen(container["command"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        log = frames / "rank-1.ndjson"
        support.wait_for(lambda: log.exists() and '"epoch":3' in log.read_text(), 60, "the third epoch")
        trainers = subprocess.run(["pgrep", "-P", str(pod.pid), "lockstep"], capture_output=True, text=True, check=True).stdout.split()
        os.kill(int(trainers[0]), 9)
        said, _ = pod.communicate(timeout=200)
        self.assertEqual(pod.returncode, 0, said[-3000:])
        self.assertIn(f"goes on from {self.home}/shared/{name}-checkpoints/", said)
        self.ctl("follow", frames, "--import")
        [run] = self.runs()
        self.assertEqual((self.result(run)["state"], len(self.result(run)["summary"]["epochs"])), ("done", 6))

    def test_jobs_of_one_node_and_several_processes_restart_and_keep_checkpoints_for_it(self):
        for method, nodes, restarts in (("ddp", 1, 2), ("ddp", 2, 2), ("ddp", 1, 0), ("baseline", 1, 2)):
            run = recipe({"method": method, "devices": 2 if method == "ddp" else 1, "name": "run", "max_restarts": restarts})
            for to in "torchrun", "kubernetes", "pytorchjob":
                with self.subTest(method=method, to=to, nodes=nodes, restarts=restarts):
                    text = self.export(to, run, "--nodes", str(nodes), *(["--master-addr=h"] if to == "torchrun" else ["--image=i"]))
                    expected = method == "ddp" and nodes == 1 and restarts > 0
                    self.assertEqual("checkpoint-dir=" in text, expected, text)
                    self.assertEqual("--standalone" in text, expected, text)

    def real_torchrun(self):
        """A folder with torchrun and lockstep-trainer."""
        folder = self.home / "real"
        folder.mkdir()
        (folder / "torchrun").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m torch.distributed.run "$@"\n')
        (folder / "torchrun").chmod(0o755)
        (folder / "lockstep-trainer").symlink_to(support.BIN / "lockstep-trainer")
        return folder

    def free_port(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            return probe.getsockname()[1]


if __name__ == "__main__":
    support.main()

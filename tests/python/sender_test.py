#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The Python package lockstep against a real lockstep-agent, and recipes that name a script. Needs no torch."""
import json
import os
import re
import socket
import subprocess
import sys
import threading

import support
from support import HERE, Case, wait_for

TRAIN = HERE / "train.py"


class Sender(Case):
    def test_it_needs_nothing_but_python(self):
        self.call(sys.executable, "-S", "-W", "error", "-c",
                  "import lockstep, lockstep.ddp, lockstep_ddp; lockstep.Run(method='x').close()")

    def test_its_frames_are_whole_and_good(self):
        self.agent("run", "--nproc-per-node", 2, "--", sys.executable, TRAIN, "epoch_sleep=1.2")
        (run,) = self.runs()
        by_rank = self.check_frames(run, 2)
        for rank, sent in by_rank.items():
            init = sent[0]
            self.assertEqual((init["state"], init["world_size"], init["about"]["method"]), ("init", 2, "ddp"))
            self.assertNotIn("model", {k: v for k, v in init["about"].items() if v is not None})
            states = [frame["state"] for frame in sent if frame["type"] == "state"]
            self.assertEqual(states, ["init", "training", "training", "done"])
            beats = [f for f in sent if f["type"] == "heartbeat"]
            self.assertTrue(beats, "a heartbeat while it does something long")
            self.assertTrue(all("step" in beat["at"] and beat["at"]["since_s"] >= 0 for beat in beats))
            windows = [f for f in sent if f["type"] == "steps"]
            trained = sum(f["duration_s"] for f in sent if f["type"] == "epoch")
            self.assertLessEqual(len(windows), trained / 0.1 + 4)  # bounded by time, not by steps
            self.assertEqual(windows[0]["count"], 1)  # the first step is shown at once
            phases = windows[1]["phases"]
            self.assertGreaterEqual(phases["forward"]["sum_s"], 0.004 * windows[1]["count"])
            self.assertGreaterEqual(phases["optimizer"]["sum_s"], 0.001 * windows[1]["count"])
            self.assertLessEqual(windows[1]["loss"]["min"], windows[1]["loss"]["mean"])
        self.assertEqual([f["accuracy"] for f in by_rank[0] if f["type"] == "eval"], [0.6, 0.7])
        summary = self.result(run)["summary"]
        self.assertEqual((summary["method"], summary["workers"], summary["batch_size"]), ("ddp", 0, 64))
        self.assertEqual((summary["test_accuracy"], len(summary["epochs"]), summary["steps"]), (0.7, 2, 60))
        self.assertNotIn("seed", summary)

    def test_a_package_of_another_version_than_the_agent_s_is_reported_on_both_sides(self):
        code = "import lockstep, lockstep.version as v; v.VERSION = '9.8.7'; lockstep.Run(method='x').close()"
        done = self.agent("run", "--nproc-per-node", 2, "--", sys.executable, "-c", code)
        (run,) = self.runs()
        (alert,) = [frame for frame in self.frames(run) if frame["type"] == "alert"]
        self.assertEqual(alert["kind"], "version_differs")
        self.assertRegex(alert["message"], r"^rank [01] reports with version 9\.8\.7 of Lockstep, its agent has \d")
        said = re.findall(r"lockstep: this package has version 9\.8\.7, the agent \d+\.\d+\.\d+; ", done.stdout + done.stderr)
        self.assertEqual(len(said), 1)

    def test_ranks_that_the_command_starts_by_itself_are_taken_in(self):
        both = " & ".join(f"RANK={rank} WORLD_SIZE=2 {sys.executable} {TRAIN} epochs=1" for rank in (1, 0))
        self.agent("run", "--", "/bin/sh", "-c", both + "; wait")
        (run,) = self.runs()
        by_rank = self.check_frames(run, 2)
        self.assertEqual([sent[0]["world_size"] for sent in by_rank.values()], [2, 2])
        self.assertEqual(json.loads((run / "config.json").read_text())["processes"], 2)
        self.assertEqual(self.result(run)["summary"]["world_size"], 2)
        # Where the number of ranks is given, another one is refused.
        alone = f"RANK=1 {sys.executable} {TRAIN} epochs=1"
        refused = self.agent("run", "--nproc-per-node", 1, "--", "/bin/sh", "-c", alone)
        self.assertIn("rank 1 is not one of this run's ranks", refused.stdout + refused.stderr)

    def test_epochs_that_the_script_counts_from_0_are_all_there(self):
        script = ("import lockstep\nrun = lockstep.Run(method='baseline')\nfor epoch in range(2):\n    for batch in run.epoch(epoch, range(5)):\n"
                  "        run.step(1.0, 8)\n    run.send('eval', epoch=epoch, accuracy=0.5, samples=8)\nrun.close()\n")
        self.agent("run", "--", sys.executable, "-c", script)
        (run,) = self.runs()
        sent = self.check_frames(run, 1)[0]
        self.assertEqual([frame["epoch"] for frame in sent if frame["type"] in ("epoch", "eval")], [1, 1, 2, 2])
        self.assertEqual([epoch["epoch"] for epoch in self.result(run)["summary"]["epochs"]], [1, 2])

    def test_an_epoch_that_the_script_leaves_early_has_its_time(self):
        script = ("import lockstep\nrun = lockstep.Run(method='baseline')\nfor epoch in (1, 2):\n    for batch in run.epoch(epoch, range(50)):\n"
                  "        run.step(1.0, 8)\n        if batch == 9:\n            break\nrun.close()\n")
        self.agent("run", "--", sys.executable, "-c", script)
        (run,) = self.runs()
        epochs = [frame for frame in self.check_frames(run, 1)[0] if frame["type"] == "epoch"]
        self.assertEqual([(epoch["epoch"], epoch["steps"], epoch["samples"]) for epoch in epochs], [(1, 10, 80), (2, 10, 80)])
        self.assertEqual(self.result(run)["summary"]["steps"], 20)

    def test_a_phase_of_the_scripts_own_counts_as_other_and_the_shares_stay_true(self):
        script = ("import lockstep, time\nrun = lockstep.Run(method='baseline')\nfor batch in run.epoch(1, range(5)):\n"
                  "    with run.phase('forward'):\n        time.sleep(0.002)\n    with run.phase('validate'):\n        time.sleep(0.01)\n"
                  "    run.step(1.0, 8)\nrun.close()\n")
        self.agent("run", "--", sys.executable, "-c", script)
        (epoch,) = [frame for frame in self.check_frames(self.runs()[0], 1)[0] if frame["type"] == "epoch"]
        phases = {name: entry["sum_s"] for name, entry in epoch["phases"].items()}
        self.assertGreaterEqual(phases["validate"], 0.05)
        self.assertGreaterEqual(phases["other"], phases["validate"])

    def test_a_loss_that_is_no_number_is_reported_as_such(self):
        self.agent("run", "--", sys.executable, TRAIN, "nan_at=3", "epochs=1")
        run = self.runs()[0]
        sent = self.check_frames(run, 1, ["non_finite_loss"])[0]
        (alert,) = [frame for frame in self.frames(run) if frame["type"] == "alert"]
        self.assertEqual((alert["rank"], alert["severity"], alert["step"]), (0, "warning", 3))
        self.assertEqual(alert["message"], "the loss of rank 0 is NaN since step 3")
        means = [frame["loss"]["mean"] for frame in sent if frame["type"] == "steps"]
        self.assertIn("NaN", means)
        self.assertTrue([mean for mean in means if isinstance(mean, float)])

    def test_a_forked_child_reports_nothing_of_its_own_and_its_end_is_not_the_ranks(self):
        script = ("import lockstep, os, sys, time\nwith lockstep.Run(method='baseline') as run:\n    for batch in run.epoch(1, range(20)):\n"
                  "        time.sleep(0.005)\n        if batch == 5:\n            child = os.fork()\n            if child == 0:\n"
                  "                run.step(99.0, 8)\n                sys.exit(0)\n            os.waitpid(child, 0)\n"
                  "        run.step(1.0, 8)\n")
        self.agent("run", "--", sys.executable, "-c", script)
        (run,) = self.runs()
        sent = self.check_frames(run, 1)[0]
        (epoch,) = [frame for frame in sent if frame["type"] == "epoch"]
        self.assertEqual((epoch["steps"], epoch["samples"]), (20, 160))
        self.assertEqual({frame["loss"]["max"] for frame in sent if frame["type"] == "steps"}, {1.0})
        self.assertEqual([frame["state"] for frame in sent if frame["type"] == "state"], ["init", "training", "done"])

    def test_what_a_script_says_of_itself_never_makes_its_result_unreadable(self):
        script = ("import lockstep\nrun = lockstep.Run(method='baseline', workers=-2**31, threads=-2**31, batch_size=-2**63)\n"
                  "for batch in run.epoch(1, range(3)):\n    run.step(1.0, 8)\nrun.close()\n")
        self.agent("run", "--", sys.executable, "-c", script)
        (run,) = self.runs()
        self.assertIn("done", self.ctl("list").stdout)
        self.assertNotIn("workers", self.result(run)["summary"])

    def test_a_phase_that_took_no_duration_is_left_out_and_reported_once(self):
        script = ("import lockstep\nrun = lockstep.Run(method='baseline')\n"
                  "for batch in run.epoch(1, range(4)):\n"
                  "    run.times['comm'] = float('nan') if batch < 2 else 10**6\n"
                  "    run.step(0.5, 8)\n"
                  "run.close()\n")
        self.agent("run", "--", sys.executable, "-c", script)
        run = self.runs()[0]
        sent = self.check_frames(run, 1, ["refused_time"])[0]
        (alert,) = [frame for frame in sent if frame["type"] == "alert"]
        self.assertIn("gave the phase comm a time of nan ns", alert["message"])
        (epoch,) = [frame for frame in sent if frame["type"] == "epoch"]
        self.assertAlmostEqual(epoch["phases"]["comm"]["sum_s"], 0.002)

    def test_more_phases_than_a_run_keeps_and_frames_that_are_longer_cost_no_other(self):
        script = ("import lockstep\nrun = lockstep.Run(method='baseline')\n"
                  "for epoch in (1, 2):\n"
                  "    for batch in run.epoch(epoch, range(1500)):\n"
                  "        with run.phase('forward' if batch == 7 else f'layer_{epoch}_{batch}' if batch != 3 else 'x' * 70_000):\n"
                  "            pass\n"
                  "        run.step(1.0, 1)\n"
                  "for _ in range(3):\n    run.send('log', level='info', source='script', message='x' * 70_000)\n"
                  "run.send('log', level='info', source='script', message='x' * 60_000)\n"
                  "run.close()\n")
        self.agent("run", "--", sys.executable, "-c", script)
        (run,) = self.runs()
        sent = self.check_frames(run, 1, ["refused_phase", "refused_frame"])[0]
        self.assertEqual(self.result(run)["summary"]["steps"], 3000)
        first, second = [frame for frame in sent if frame["type"] == "epoch"]
        self.assertEqual(sum(name.startswith("layer_") for name in first["phases"]), 249)  # and the seven that add up to a step
        self.assertIn("forward", second["phases"])
        said, refused = [frame["message"] for frame in sent if frame["type"] == "alert"]
        self.assertIn("rank 0 names more phases than a run keeps (256, or 52 KiB of names): from 'xxx", said)
        self.assertRegex(refused, "rank 0: a frame 'log' of 70[0-9]{3} bytes is left out")
        self.assertEqual([len(frame["message"]) for frame in sent if frame["type"] == "log"], [60_000])

    def test_metrics_of_a_scripts_own_are_shown_with_their_epoch(self):
        script = ("import lockstep\nrun = lockstep.Run(method='baseline')\nfor epoch in (1, 2):\n    for batch in run.epoch(epoch, range(5)):\n"
                  "        run.metric(lr=0.1 / epoch)\n        run.step(1.0, 8, margin=batch)\n"
                  "    run.metric(accuracy=0.5 + epoch / 10, **{'Loss/test': 2.0 / epoch})\nrun.close()\n")
        self.agent("run", "--", sys.executable, "-c", script)
        (run,) = self.runs()
        metrics = self.result(run)["summary"]["metrics"]
        self.assertEqual((metrics["accuracy"], metrics["Loss_test"], metrics["lr"]), (0.7, 1.0, 0.05))
        self.assertEqual(metrics["margin"], 2.0)  # the mean over the steps of the last epoch
        first = [frame for frame in self.frames(run) if frame["type"] == "steps" and "accuracy" in frame.get("scalars", {})][0]
        self.assertEqual((first["epoch"], first["count"], first["last_step"]), (1, 0, 4))

    def test_a_metric_that_is_no_number_is_left_out_and_reported_once(self):
        script = ("import lockstep\nrun = lockstep.Run(method='baseline')\nfor batch in run.epoch(1, range(4)):\n"
                  "    run.step(1.0, 8, name='text', **{f'm{number}': 1 for number in range(33)})\nrun.close()\n")
        self.agent("run", "--", sys.executable, "-c", script)
        run = self.runs()[0]
        sent = self.check_frames(run, 1, ["refused_metric", "refused_metric", "refused_metric"])[0]
        said = " ".join(frame["message"] for frame in sent if frame["type"] == "alert")
        self.assertIn("the metric name was given a str, which is no number", said)
        self.assertIn("the metric 'm32' is left out: a run has at most 32", said)
        self.assertEqual(self.result(run)["summary"]["metrics"]["m0"], 1.0)

    def test_epochs_can_be_begun_and_ended_by_hand(self):
        script = ("import lockstep\nwith lockstep.Run(method='baseline') as run:\n    for epoch in range(2):\n        run.begin_epoch(epoch, steps=3)\n"
                  "        for batch in range(3):\n            run.step(1.0, 8)\n        run.end_epoch()\n")
        self.agent("run", "--", sys.executable, "-c", script)
        (run,) = self.runs()
        sent = self.check_frames(run, 1)[0]
        self.assertEqual([(frame["epoch"], frame["steps"]) for frame in sent if frame["type"] == "epoch"], [(1, 3), (2, 3)])
        states = [frame for frame in sent if frame["type"] == "state"]
        self.assertEqual([frame["state"] for frame in states], ["init", "training", "training", "done"])
        self.assertEqual(states[1]["steps_per_epoch"], 3)

    def test_an_epoch_that_is_left_ends_with_its_last_step_though_the_loops_iterator_is_held(self):
        script = ("import lockstep\nclass Bar:\n    def __init__(self, batches):\n        self.batches = batches\n"
                  "    def __iter__(self):\n        for batch in self.batches:\n            yield batch\n"
                  "run = lockstep.Run(method='baseline')\nfor epoch in (1, 2):\n    bar = Bar(run.epoch(epoch, range(5)))\n"
                  "    for batch in bar:\n        run.step(1.0, 8)\n        if batch == 2:\n            break\n"
                  "    with run.phase('forward'):\n        sum(range(10**5))  # a validation\n    run.metric(accuracy=epoch)\nrun.close()\n")
        self.agent("run", "--", sys.executable, "-c", script)
        sent = self.check_frames(self.runs()[0], 1)[0]
        epochs = [frame for frame in sent if frame["type"] == "epoch"]
        self.assertEqual([(frame["epoch"], frame["steps"]) for frame in epochs], [(1, 3), (2, 3)])
        self.assertEqual([frame["state"] for frame in sent if frame["type"] == "state"], ["init", "training", "training", "done"])
        self.assertEqual(sent[-1].get("state"), "done")
        for epoch in epochs:
            windows = [frame for frame in sent if frame["type"] == "steps" and frame["epoch"] == epoch["epoch"]]
            self.assertEqual(sum(frame["scalars"]["accuracy"]["sum"] for frame in windows if "scalars" in frame), epoch["epoch"])
            of_steps = sum(phase["sum_s"] for frame in windows for phase in frame["phases"].values())
            self.assertAlmostEqual(epoch["duration_s"], of_steps, delta=1e-6)

    def test_an_exception_that_leaves_the_run_is_its_failure(self):
        script = ("import lockstep\nwith lockstep.Run(method='baseline') as run:\n    for batch in run.epoch(1, range(3)):\n"
                  "        run.step(1.0, 8)\n    raise ValueError('the data is wrong')\n")
        self.agent("run", "--", sys.executable, "-c", script, code=1)
        states = [frame for frame in self.frames(self.runs()[0]) if frame["type"] == "state" and "rseq" in frame]
        self.assertEqual((states[-1]["state"], states[-1]["detail"]), ("failed", "ValueError: the data is wrong"))

    def test_frames_can_be_written_into_a_folder_and_followed_later(self):
        folder = self.home / "frames"
        for rank in (0, 1):
            self.call(sys.executable, TRAIN, RANK=str(rank), WORLD_SIZE="2", LOCKSTEP_FRAMES=f"file:{folder}")
        self.ctl("follow", folder, "--import")
        (run,) = self.runs()
        self.check_frames(run, 2)
        self.assertEqual(self.result(run)["summary"]["steps"], 60)
        # A folder that can't be made harms nothing.
        (self.home / "a_file").write_text("")
        done = self.call(sys.executable, TRAIN, "epochs=1", LOCKSTEP_FRAMES=f"file:{self.home / 'a_file'}/frames")
        self.assertIn("rank 0 is no longer shown", done.stderr)

    def test_a_pipe_or_a_link_where_frames_are_to_be_written_holds_nothing_up_and_leads_nowhere(self):
        folder, elsewhere = self.home / "frames", self.home / "another's"
        path = folder / "rank-0.ndjson"
        folder.mkdir()
        elsewhere.write_text("kept")
        readers = []

        def pipe_with_a_reader():
            os.mkfifo(path)
            readers.append(os.open(path, os.O_RDONLY | os.O_NONBLOCK))  # it reads nothing
            self.addCleanup(os.close, readers[-1])

        for put in (lambda: os.mkfifo(path), pipe_with_a_reader, lambda: path.symlink_to(elsewhere), lambda: path.symlink_to(self.home / "none")):
            put()
            done = self.call(sys.executable, TRAIN, "epochs=1", timeout=30, RANK="0", WORLD_SIZE="1", LOCKSTEP_FRAMES=f"file:{folder}")
            self.assertEqual(done.stderr.splitlines(),
                             [f"lockstep: rank 0 is no longer shown ({path} is not a regular file); training goes on"])
            path.unlink()
        self.assertEqual(elsewhere.read_text(), "kept")
        self.assertFalse((self.home / "none").exists())
        whole = self.home / "whole"
        whole.mkdir()
        folder.rmdir()
        folder.symlink_to(whole)  # the folder itself may be one
        self.call(sys.executable, TRAIN, "epochs=1", RANK="0", WORLD_SIZE="1", LOCKSTEP_FRAMES=f"file:{folder}")
        self.assertIn('"done"', (whole / path.name).read_text())

    def test_a_torn_line_in_a_file_costs_no_frame_of_the_process_that_goes_on(self):
        folder = self.home / "frames"
        path = folder / "rank-0.ndjson"
        train = lambda: self.call(sys.executable, TRAIN, "epochs=1", RANK="0", WORLD_SIZE="1", LOCKSTEP_FRAMES=f"file:{folder}")
        train()
        whole = path.read_text().splitlines(keepends=True)
        path.write_text("".join(whole)[:-30])
        train()
        train()  # the last line is whole now, and nothing is put between
        lines = path.read_text().splitlines()
        self.assertEqual(lines[len(whole) - 1], whole[-1][:-30])
        self.assertEqual([json.loads(line)["rseq"] for line in lines[len(whole):]].count(0), 2)
        self.ctl("follow", folder, "--import")
        (run,) = self.runs()
        frames = [frame for frame in self.frames(run) if "rseq" in frame]
        self.assertEqual([frame["rseq"] for frame in frames], [json.loads(line)["rseq"] for line in lines[:len(whole) - 1] + lines[len(whole):]])

    def test_every_rank_says_where_it_is_when_it_is_asked(self):
        script = ("import lockstep, time\nrun = lockstep.Run(method='ddp')\ndef waits_for_the_others(text):\n    time.sleep(60)\n"
                  "for batch in run.epoch(1, range(3)):\n    run.step(1.0, 8)\n    if run.rank == 1:\n"
                  f"        waits_for_the_others(\"{'x' * 70_000}\")\ntime.sleep(60)\n")
        (self.home / "hangs.py").write_text(script)
        agent = subprocess.Popen([support.BIN / "lockstep-agent", "run", "--nproc-per-node", "2", "--", sys.executable, self.home / "hangs.py"],
                                 env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(agent.wait)
        self.addCleanup(agent.terminate)
        run = wait_for(self.runs, 20, "the run")[0]
        log = run / "node-0.ndjson"
        wait_for(lambda: log.exists() and log.read_text().count('"heartbeat"') >= 2, 20, "heartbeats of the ranks")
        said = self.ctl("stacks", run.name).stdout
        first, second = said.split("rank 1")
        self.assertIn('waits_for_the_others("' + "x" * 900, second)  # cut: it is longer than a frame
        self.assertIn("rank 0", first)
        self.assertIn("hangs.py", first)
        self.assertNotIn("waits_for_the_others", first)
        self.assertIn("in waits_for_the_others", second)
        self.assertNotIn("lockstep-heartbeat", said)

    def test_what_a_start_left_ends_before_the_next_one_whose_times_are_not_the_whole_runs(self):
        """As torchrun leaves its workers, which have sessions of their own, when it is killed."""
        script = self.home / "twice.py"
        script.write_text("import lockstep, os, subprocess, sys, time\n"
                          "orphan, pid = len(sys.argv) > 1, os.path.join(os.path.dirname(__file__), 'pid')\n"
                          "if os.environ['TORCHELASTIC_RESTART_COUNT'] == '0' and not orphan:\n"
                          "    subprocess.Popen([sys.executable, __file__, 'orphan'], start_new_session=True)\n"
                          "    while not os.path.exists(pid): time.sleep(0.01)\n"
                          "    sys.exit(1)\n"
                          "run = lockstep.Run()\n"
                          "for epoch in range(1, 1000) if orphan else (6, 7):\n"
                          "    for _ in run.epoch(epoch, range(20)):\n"
                          "        run.step(100 if orphan else 1, 1)\n"
                          "        time.sleep(0.02)\n"
                          "    if orphan: open(pid, 'w').write(str(os.getpid()))\n"
                          "run.close()\n")
        self.agent("run", "--max-restarts", 1, "--", sys.executable, script)
        (run,) = self.runs()
        frames = self.frames(run)
        again = next(i for i, frame in enumerate(frames) if frame["type"] == "alert" and frame["kind"] == "restart")
        after = [frame for frame in frames[again:] if frame["type"] == "epoch"]
        self.assertEqual([frame["epoch"] for frame in after], [6, 7])
        self.assertEqual({frame["loss"]["mean"] for frame in frames[again:] if frame["type"] == "steps" and "loss" in frame}, {1.0})
        with self.assertRaises(ProcessLookupError):
            os.kill(int((self.home / "pid").read_text()), 0)
        self.assertNotIn("summary", self.result(run))

    def test_without_a_control_group_too_a_run_leaves_no_process_however_it_was_started(self):
        if subprocess.run(["unshare", "--mount", "true"]).returncode != 0:
            self.skipTest("this user may not hide the file system of control groups")
        chain = self.home / "chain.sh"
        chain.write_text('echo $$ >> "$2"; if [ "$1" -gt 0 ]; then env -i setsid /bin/sh "$0" $(($1 - 1)) "$2" & fi; exec sleep 1000\n')
        pids = self.home / "pids"
        pids.touch()
        self.call("unshare", "--mount", "/bin/sh", "-c", 'umount -l -a -t cgroup2; exec "$0" "$@"', support.BIN / "lockstep-agent", "run", "--",
                  "/bin/sh", "-c", f"/bin/sh {chain} 6 {pids} & while [ $(wc -l < {pids}) -lt 7 ]; do sleep 0.1; done", code=0)
        (run,) = self.runs()
        self.assertEqual(self.result(run)["state"], "done")
        self.assertEqual([pid for pid in pids.read_text().split() if os.path.exists(f"/proc/{pid}")], [])

    def test_a_stop_reaches_the_script(self):
        agent = subprocess.Popen([support.BIN / "lockstep-agent", "run", "--", sys.executable, TRAIN, "steps=100000"],
                                 env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(agent.kill)
        run = wait_for(self.runs, 20, "the run")[0]
        log = run / "node-0.ndjson"
        wait_for(lambda: log.exists() and '"steps"' in log.read_text(), 20, "its first steps")
        self.agent("stop", run.name, code=0)
        self.assertEqual(agent.wait(20), 130)
        agent.stderr.close()
        result = self.result(run)
        self.assertEqual((result["state"], result["ranks"][0]["code"]), ("stopped", 130))
        self.assertEqual(self.frames(run)[-1]["state"], "stopped")

    def test_nobody_listening_harms_nothing(self):
        self.assertEqual(self.call(sys.executable, TRAIN).stderr, "")
        alone = self.call(sys.executable, TRAIN, LOCKSTEP_FRAMES="unix:/nowhere/socket").stderr
        self.assertIn("rank 0 is no longer shown", alone)
        self.assertEqual(alone.count("\n"), 1)

    def test_all_addresses_of_a_listener_share_the_time_for_a_connection(self):
        code = ("import lockstep.sender as sender\n"
                "now, waits = [0.0], []\n"
                "class Silent:\n"
                "    def __init__(self, *kind): pass\n"
                "    def settimeout(self, seconds): self.limit = seconds\n"
                "    def connect(self, place):\n"
                "        waits.append(self.limit)\n"
                "        now[0] += self.limit\n"
                "        raise TimeoutError('timed out')\n"
                "    def close(self): pass\n"
                "sender.socket.socket, sender.monotonic_ns = Silent, lambda: int(now[0] * 1e9)\n"
                "try: sender._connected([(2, 1, 6, '', ('10.0.0.%d' % host, 4799)) for host in range(60)])\n"
                "except TimeoutError: print(len(waits), min(waits) > 0.005, now[0] < sender.CONNECT_S + 0.001)\n")
        self.assertEqual(self.call(sys.executable, "-c", code).stdout, "60 True True\n")

    def test_an_agent_that_goes_away_harms_nothing(self):
        path = str(self.home / "socket")
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path)
            server.listen()
            script = subprocess.Popen([sys.executable, TRAIN, "steps=60"], stderr=subprocess.PIPE, text=True,
                                      env={**self.environment, "LOCKSTEP_FRAMES": "unix:" + path})
            peer, _ = server.accept()
            peer.recv(4096)
            peer.close()
        self.assertIn("training goes on", script.communicate(timeout=30)[1])
        self.assertEqual(script.returncode, 0)

    def test_a_full_socket_makes_longer_windows_and_training_never_waits(self):
        path = str(self.home / "socket")
        code = ("import lockstep, time, sys\n"
                "run = lockstep.Run()\n"
                "while not run._sender.pending: run.send('log', level='info', message='x' * 20000)\n"
                "for _ in run.epoch(1, range(100)):\n"
                "    with run.phase('forward'): time.sleep(0.005)\n"
                "    run.step(1.0, 1)\n"
                "print('trained', flush=True)\n"
                "sys.stdin.read()\n"
                "for _ in range(50): run.send('heartbeat'); time.sleep(0.02)\n"
                "sys.exit(run.close())\n")
        received = bytearray()
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path)
            server.listen()
            script = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      text=True, env={**self.environment, "LOCKSTEP_FRAMES": "unix:" + path})
            peer, _ = server.accept()
            self.assertEqual(script.stdout.readline(), "trained\n")  # although nobody has read a byte

            def read():
                while part := peer.recv(1 << 20):
                    received.extend(part)

            reader = threading.Thread(target=read)
            reader.start()
            script.stdin.close()
            self.assertEqual(script.wait(30), 0)
            script.stdout.close()
            reader.join(10)
            peer.close()
        frames = [json.loads(line) for line in received.splitlines()[1:]]
        self.assertEqual([frame["rseq"] for frame in frames], list(range(len(frames))))
        windows = [frame for frame in frames if frame["type"] == "steps"]
        self.assertEqual([(w["first_step"], w["last_step"], w["count"]) for w in windows], [(0, 99, 100)])
        self.assertGreaterEqual(windows[0]["phases"]["forward"]["sum_s"], 0.5)


class Recipe(Case):
    """A recipe that names a script, from lockstepctl to the exports. The trainer beside it is a fake rank."""

    def setUp(self):
        super().setUp()
        self.environment.update(LOCKSTEP_AGENT=str(support.BIN / "lockstep-agent"), FAKE_RANK="epochs=2;steps=30",
                                LOCKSTEP_TRAINER=os.environ["FAKE_RANK_PROGRAM"])

    def recipe(self, *command):
        path = self.home / "mine.json"
        (self.home / "train.py").write_text(TRAIN.read_text())
        path.write_text(json.dumps({"name": "mine", "base": {"epochs": 2, "devices": 1}, "runs": [
            {"name": "ours", "method": "baseline"},
            {"name": "script", "method": "baseline", "loader": "item", "command": list(command)}]}))
        return path

    def test_runs_shows_contrasts_and_exports_like_ours(self):
        path = self.recipe(sys.executable, "{recipe_folder}/train.py", "epochs={epochs}", "method=baseline")
        said = json.loads(self.ctl("run", path, "--json", "--out", self.home / "out").stdout)
        ours, script = said["results"]["rows"]
        self.assertEqual((script["run"], script["state"], script["method"]), ("script", "done", "baseline"))
        self.assertEqual((script["test_accuracy"], len(script["epochs"])), (0.7, 2))
        self.assertGreater(script["speed_up_training"], 0)
        self.assertAlmostEqual(sum(script["phases_s"].values()), script["total_training_time_s"], delta=1e-3)
        self.assertIn("\nscript,measured here,baseline,1,cpu", (self.home / "out/results.csv").read_text())
        run = script["runs"][0]
        self.check_frames(self.home / "runs" / run, 1)
        record = json.loads((self.home / "runs" / run / "config.json").read_text())
        self.assertEqual(record["command"][1:3], [str(self.home / "train.py"), "epochs=2"])
        self.assertEqual(record["device_names"], ["cpu:0"])
        shown = self.ctl("show", run).stdout
        self.assertIn("train.py epochs=2 method=baseline", shown)
        self.assertIn("it reports batch_size=64", shown)
        self.assertIn("rank 0  cpu:0  cores 0 ", shown)
        self.assertIn("time in", shown)
        listed = next(row for row in json.loads(self.ctl("list", "--json").stdout)["runs"] if row["run"] == run)
        self.assertEqual((listed["method"], listed["test_accuracy"]), ("baseline", 0.7))
        self.assertIn("script", self.ctl("compare", run, ours["runs"][0]).stdout)

    def test_a_script_run_by_hand_is_contrasted_by_what_it_says(self):
        for method in ("ddp", "baseline"):
            self.agent("run", "--", sys.executable, TRAIN, "epochs=1", "steps=10", f"method={method}")
        table = json.loads(self.ctl("compare", *[run.name for run in self.runs()], "--json").stdout)
        self.assertEqual({row["run"] for row in table["rows"]}, {"train.py, method ddp", "train.py, method baseline"})
        self.assertEqual(table["reference"], "train.py, method baseline")

    def test_what_cannot_run_is_refused_before_anything_starts(self):
        for command, sentence in (
            ((sys.executable, "/nowhere/train.py"), "there is no script /nowhere/train.py"),
            (("{python:no_such_module}", "{recipe_folder}/train.py"), "no Python with no_such_module was found"),
            ((sys.executable, "{recipe_folder}/train.py", "{wokers}"), "did you mean {workers}?"),
        ):
            refused = self.ctl("run", self.recipe(*command), code=2)
            self.assertIn(sentence, refused.stderr)
            self.assertEqual(refused.stderr.strip().count("\n"), 0, refused.stderr)
            self.assertEqual(self.runs(), [])
            experiments = self.home / "experiments"
            self.assertEqual(list(experiments.iterdir()) if experiments.is_dir() else [], [])


if __name__ == "__main__":
    support.main()

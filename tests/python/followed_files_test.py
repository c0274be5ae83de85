#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs that somebody else started, whose ranks' frames are in files (lockstepctl follow)."""
import fcntl
import json
import os
import time

import support
from support import wait_for
from reports import Reports


def later(line, seconds):
    """The line as it would have been written so much later."""
    frame = json.loads(line)
    times = {"mono_ns": frame["mono_ns"] + seconds * 10**9, "wall_us": frame["wall_us"] + seconds * 10**6}
    return json.dumps(frame | times, separators=(",", ":")) + "\n"


class FollowedFiles(Reports):
    def start(self, rank, world, at_s, epochs, about=None):
        """The lines of one start of a rank, which does all that: two steps an epoch, whose loss is 10 / epoch."""
        first, forward = 1_700_000_000_000_000 + int(at_s * 1e6), {"forward": {"sum_s": 0.1, "max_s": 0.1}}
        bodies = [{"type": "state", "state": "init", "world_size": world, "host": "box", "pid": 7, "about": about or {"method": "ddp"}}]
        for epoch in epochs:
            bodies.append({"type": "steps", "epoch": epoch, "first_step": 2 * epoch - 2, "last_step": 2 * epoch - 1, "count": 2,
                           "samples": 64, "loss": dict.fromkeys(("min", "mean", "max", "last"), 10 / epoch), "phases": forward})
            bodies.append({"type": "epoch", "epoch": epoch, "duration_s": 0.1, "samples": 64, "steps": 2, "start_mono_ns": 1,
                           "phases": forward})
        bodies.append({"type": "state", "state": "done"})
        return [self.frame(rank, i, **body, wall_us=first + 100_000 * i) for i, body in enumerate(bodies)]

    def frame_files(self, *ranks):
        """A folder of frames, a file a rank of these lines."""
        folder = self.home / "shared"
        folder.mkdir(exist_ok=True)
        for rank, lines in enumerate(ranks):
            (folder / f"rank-{rank}.ndjson").write_text("".join(lines))
        return folder

    def row(self, run):
        [row] = json.loads(self.ctl("export", run.name, "--format", "json").stdout)["rows"]
        return row

    def test_a_pipe_among_the_files_holds_nothing_up(self):
        folder = self.home / "frames"
        folder.mkdir()
        os.mkfifo(folder / "rank-0.ndjson")
        for files in (folder, folder / "rank-0.ndjson"):
            done = self.agent("listen", "--files", files, "--import", code=1)
            self.assertIn(f"there is no frame in {files}", done.stdout + done.stderr)
            self.assertEqual((done.stdout + done.stderr).count(f"{folder / 'rank-0.ndjson'} is not a regular file: its frames are not read"), 1)

    def test_files_are_followed_as_they_grow(self):
        folder = self.home / "shared"
        folder.mkdir()
        (folder / "notes.txt").write_text("nobody's frame\n")
        follower = self.spawn(support.BIN / "lockstepctl", "follow", folder)
        self.assertEqual(follower.stderr.readline(), f"waiting for the ranks' first frame in {folder}\n")
        stories = [list(self.story(rank, 2)) for rank in range(2)]
        files = [open(folder / f"rank-{rank}.ndjson", "w") for rank in range(2)]
        for i, (a, b) in enumerate(zip(*stories)):
            for file, line in zip(files, (a, b)):
                file.write(line[:20])  # a torn line is waited for
                file.flush()
            if i == 3:
                [run] = wait_for(self.runs, 20, "a run")  # it is shown while it goes on
                log = run / "node-0.ndjson"
                wait_for(lambda: log.exists() and '"steps"' in log.read_text(), 20, "its steps")
                self.assertFalse((run / "result.json").exists())
            for file, line in zip(files, (a, b)):
                file.write(line[20:])
                file.flush()
        for file in files:
            file.close()
        self.ended(follower)
        self.check_frames(run, 2)
        result = self.result(run)
        self.assertEqual((result["state"], result["summary"]["world_size"]), ("done", 2))
        self.assertAlmostEqual(result["run_time_s"], 0.8, places=3)  # from the frames, not as long as we waited
        self.assertEqual({rank["host"] for rank in result["ranks"]}, {"box0", "box1"})

    def test_files_that_end_early_are_reported_and_a_run_that_was_started_again_is_one(self):
        folder = self.home / "shared"
        folder.mkdir()
        for rank in range(2):
            torn = list(self.story(rank, 2))[:4]
            (folder / f"rank-{rank}.ndjson").write_text("".join(torn))
        self.ctl("follow", folder, "--import", code=1)
        [first] = self.runs()
        self.assertIn("the files end before the ranks do", self.result(first)["reason"])
        for rank in range(2):  # a resumed rank appends, and counts from 0 again
            with open(folder / f"rank-{rank}.ndjson", "a") as file:
                file.write("".join(later(line, 60) for line in self.story(rank, 2)))
        self.ctl("follow", folder, "--import")
        [second] = set(self.runs()) - {first}  # of one second: their names are in no order
        self.assertEqual(self.result(second)["state"], "done")
        self.assertEqual([line["kind"] for line in self.frames(second) if line["type"] == "alert"], ["restart"])
        self.assertIn(f"run {first.name} has an earlier part", (second / "node-0.ndjson").read_text())
        self.assertIn("there is no file", self.ctl("follow", self.home / "none", code=2).stderr)
        self.assertIn("an agent keeps", self.ctl("follow", second, code=2).stderr)

    def test_a_process_whose_first_frame_is_lost_in_a_torn_line_has_all_its_other_frames(self):
        folder = self.home / "shared"
        folder.mkdir()
        *first, torn = list(self.story(0, 1))[:7]
        second = [line.replace('"mono_ns":', '"mono_ns":9') for line in self.story(0, 1)]
        (folder / "rank-0.ndjson").write_text("".join([*first, torn[:30], *second]))
        self.ctl("follow", folder, "--import")
        [run] = self.runs()
        numbers = [frame["rseq"] for frame in self.frames(run) if "rseq" in frame]
        self.assertEqual(numbers, [*range(len(first)), *range(1, len(second))])
        self.assertEqual(self.result(run)["state"], "done")
        self.assertEqual([line["kind"] for line in self.frames(run) if line["type"] == "alert"], ["restart", "frames_lost"])

    def test_lines_that_are_there_twice_begin_no_other_process(self):
        whole = self.start(0, 1, 0, (1, 2))
        again = [later(line, 60) for line in whole]
        for name, lines in (("the first one after the last one", [*whole, whole[0]]),
                            ("the first ones before the last one", [*whole[:-1], *whole[:3], whole[-1]]),
                            ("all of them", whole * 2), ("the first of the first start", [*whole[:-1], *again, whole[0]])):
            with self.subTest(name):
                before = set(self.runs())
                times = [later(line, 1000 * (1 + len(before))) for line in lines]  # no subtest's files are another's
                self.ctl("follow", self.frame_files(times), "--import")
                [run] = set(self.runs()) - before
                self.assertEqual(self.result(run)["state"], "done")
                self.assertEqual([epoch["epoch"] for epoch in self.row(run)["epochs"]], [1, 2])
                kept = [frame for frame in self.frames(run) if "rseq" in frame]
                alerts = [frame["kind"] for frame in self.frames(run) if frame["type"] == "alert"]
                if "start" in name:
                    self.assertEqual((len(kept), alerts), (2 * len(whole) - 1, ["restart"]))
                else:
                    self.assertEqual((len(kept), alerts), (len(whole), []))

    def test_files_of_ranks_that_were_started_again_are_read_in_the_order_in_which_they_were_written(self):
        files = [self.start(rank, 2, 0, (1, 2, 3))[:-2] + self.start(rank, 2, 10, (3, 4, 5)) for rank in range(2)]
        files[1] = [json.dumps(json.loads(line)) + "\n" for line in files[1]]  # with spaces, as a script writes them
        self.ctl("follow", self.frame_files(*files), "--import")
        [run] = self.runs()
        times = [frame["wall_us"] for frame in self.frames(run) if "rseq" in frame]
        self.assertEqual(times, sorted(times))
        self.assertEqual(len(times), len(files[0]) + len(files[1]))
        row = self.row(run)
        self.assertEqual([epoch["epoch"] for epoch in row["epochs"]], [1, 2, 3, 4, 5])
        self.assertAlmostEqual(row["final_loss"], 2)

    def test_the_epochs_of_a_script_that_went_on_from_a_checkpoint_are_shown_wherever_epochs_are(self):
        self.ctl("follow", self.frame_files(*[self.start(rank, 2, 0, (3, 4)) for rank in range(2)]), "--import")
        [run] = self.runs()
        self.assertEqual([epoch["epoch"] for epoch in self.row(run)["epochs"]], [3, 4])
        self.assertRegex(self.ctl("attach", run.name).stdout, r"epoch 3  loss 3\.33 .*\n.*epoch 4  loss 2\.50 ")
        table = self.ctl("compare", run.name, "--target-loss", "2.6").stdout
        self.assertRegex(table, r"\n +3 +3\.33 .*\n +4 +2\.50 ")
        self.assertIn("the time of an epoch until then is unknown", table)

    def test_ranks_that_are_not_started_again_are_no_part_of_the_training_that_follows(self):
        both = [self.start(rank, 2, 0, (1, 2)) for rank in range(2)]
        late = self.frame(1, len(both[1]), type="state", state="failed", detail="lost rank 0", wall_us=1_700_000_011_000_000)  # of the first start
        self.ctl("follow", self.frame_files(both[0] + self.start(0, 1, 10, (1, 2, 3)), both[1] + [late]), "--import")
        [run] = self.runs()
        record, result, row = json.loads((run / "config.json").read_text()), self.result(run), self.row(run)
        self.assertEqual((record["processes"], [rank["rank"] for rank in result["ranks"]]), (1, [0]))
        self.assertEqual((result["state"], result["summary"]["world_size"]), ("done", 1))
        self.assertEqual([epoch["epoch"] for epoch in row["epochs"]], [1, 2, 3])
        [alert] = [frame for frame in self.frames(run) if frame["type"] == "alert"]
        self.assertEqual(alert["kind"], "ranks_fewer")
        self.assertIn("rank 0 is now one of 1 rank: what rank 1 ", alert["message"])

    def test_files_that_are_a_run_already_make_no_second_one(self):
        files = [self.start(rank, 2, 0, (1, 2)) for rank in range(2)]
        folder = self.frame_files(*files)
        self.ctl("follow", folder, "--import")
        [first] = self.runs()
        moved = folder.rename(self.home / "moved")  # wherever they lie
        for words in ((moved, "--import"), (moved,)):
            again = self.ctl("follow", *words)
            self.assertIn(f"is run {first.name} already", again.stderr)
            self.assertIn(first.name, again.stdout)
            self.assertEqual(self.runs(), [first])
        for rank in range(2):
            with open(moved / f"rank-{rank}.ndjson", "a") as file:
                file.write("".join(self.start(rank, 2, 10, (1, 2))))
        self.assertIn(f"run {first.name} has an earlier part", self.ctl("follow", moved, "--import").stderr)
        [second] = set(self.runs()) - {first}
        self.assertIn(f"is run {second.name} already", self.ctl("follow", moved, "--import").stderr)
        self.assertEqual(len(self.runs()), 2)

    def test_files_that_several_begin_to_follow_at_once_are_one_run(self):
        folder = self.home / "shared"
        for words in ((), ("--import",)):
            with self.subTest(words):
                folder.mkdir()
                lines = [self.start(rank, 2, len(self.runs()), (1, 2)) for rank in range(2)]
                with open(self.home / "follow.lock", "w") as lock:
                    fcntl.lockf(lock, fcntl.LOCK_EX)  # so that all come while one of them looks
                    if words:
                        self.frame_files(*lines)
                    before = self.runs()
                    followers = [self.spawn(support.BIN / "lockstepctl", "follow", folder, *words) for _ in range(3)]
                    if not words:
                        time.sleep(1)  # they wait for the training to start
                        self.frame_files(*lines)
                    time.sleep(2)
                    self.assertEqual(self.runs(), before)
                said = [self.ended(follower) for follower in followers]
                [run] = set(self.runs()) - set(before)
                self.assertTrue(all(run.name in out for out, _ in said), said)
                self.assertEqual(sum("there is no second run" in err for _, err in said), 2, said)
                folder.rename(self.home / f"done{len(before)}")

    def test_files_of_which_an_earlier_frame_is_found_later_are_the_same_run(self):
        lines = [self.start(rank, 2, 1 - rank, (1, 2)) for rank in range(2)]  # rank 1 was first
        folder = self.frame_files(lines[0][:3])
        follower = self.spawn(support.BIN / "lockstepctl", "follow", folder)
        [run] = wait_for(self.runs, 20, "a run")
        self.frame_files(lines[0][:3], lines[1])
        again = self.spawn(support.BIN / "lockstepctl", "follow", folder)
        self.assertIn(run.name, again.stdout.readline())
        self.frame_files(*lines)
        for one in (follower, again):
            self.ended(one)
        self.assertEqual(self.runs(), [run])

    def test_runs_of_one_name_are_repeats_only_if_they_report_the_same(self):
        for at_s, hidden in ((0, 8), (10, 8), (20, 16)):
            lines = [self.start(rank, 2, at_s, (1, 2), {"method": "ddp", "hidden": hidden}) for rank in range(2)]
            self.ctl("follow", self.frame_files(*lines), "--import", "--name", "train")
        groups = json.loads(self.ctl("list", "--group", "--json").stdout)["groups"]
        self.assertEqual(sorted((len(group["runs"]), group["devices"]) for group in groups), [(1, 2), (2, 2)])

    def test_a_run_whose_first_frame_is_a_line_that_a_rank_logs_is_described_as_any(self):
        lines = self.start(0, 1, 0, (1, 2), {"method": "ddp", "model": "mlp", "batch_size": 64})
        logged = self.frame(0, 0, type="log", level="info", message="it goes on from epoch 1", source="trainer", wall_us=1_700_000_000_000_000)
        after = [json.dumps(frame | {"rseq": frame["rseq"] + 1}) + "\n" for frame in map(json.loads, lines)]
        records = []
        for frames in (lines, [logged, *after]):
            known = set(self.runs())
            self.ctl("follow", self.frame_files(frames), "--import")
            [run] = set(self.runs()) - known
            records.append(json.loads((run / "config.json").read_text()))
        for key in ("name", "known", "config", "processes"):
            self.assertEqual(records[1][key], records[0][key], key)
        self.assertEqual(records[1]["name"], "DDP on 1 device")

    def test_a_run_that_went_on_from_a_checkpoint_has_no_training_time_and_says_why(self):
        for first, known in ((1, True), (4, False)):
            before = set(self.runs())
            self.ctl("follow", self.frame_files(self.start(0, 1, 100 * first, (first, first + 1))), "--import")
            [run] = set(self.runs()) - before
            result = self.result(run)
            self.assertEqual("total_training_time_s" in result["summary"], known)
            self.assertEqual([line[:48] for line in result.get("warnings", [])], [] if known else ["the first epoch that was reported is number 4, a"])
            self.assertEqual(self.row(run)["total_training_time_s"] is not None, known)

    def test_of_a_script_that_was_started_elsewhere_only_what_it_says_is_shown(self):
        about = {"method": "ddp", "model": "mlp", "batch_size": 64}
        self.ctl("follow", self.frame_files(*(self.start(rank, 2, 0, (1, 2), about) for rank in range(2))), "--import")
        [run] = self.runs()
        record, row = json.loads((run / "config.json").read_text()), self.row(run)
        self.assertEqual(set(record["known"]), set(about))
        self.assertLessEqual(set(record["config"]), {*about, "devices"})
        self.assertEqual([row[key] for key in ("dataset", "loader", "augment", "workers", "device_kind", "backend")], [None] * 6)
        shown = self.ctl("list").stdout + self.ctl("show", run.name).stdout + json.dumps(row)
        for invented in ("fashion-mnist", "Fashion-MNIST", "lockstep-trainer"):
            self.assertNotIn(invented, shown)
        refused = self.ctl("export-job", run.name, "--to", "torchrun", code=2)
        self.assertIn("was started elsewhere", refused.stderr)


if __name__ == "__main__":
    support.main()

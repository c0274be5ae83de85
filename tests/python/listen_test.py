#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs that somebody else started: their ranks' frames over TCP (lockstepctl listen)."""
import contextlib
import itertools
import json
import os
import pathlib
import signal
import socket
import sys
import threading
import time

import support
from support import HERE, wait_for
from reports import Reports
from waiting import processes_of

TRAIN = HERE / "train.py"


class Relay:
    """Passes one TCP port on to another, until it is cut."""

    def __init__(self, target):
        self.target, self.pairs, self.refuse = target, [], False
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            if self.refuse:
                near.close()
                continue
            far = socket.create_connection(("127.0.0.1", self.target))
            self.pairs.append((near, far))
            for a, b in ((near, far), (far, near)):
                threading.Thread(target=self._pass, args=(a, b), daemon=True).start()

    def _pass(self, a, b):
        try:
            while data := a.recv(65536):
                b.sendall(data)
        except OSError:
            pass
        for one in (a, b):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def cut(self):
        for near, far in self.pairs:
            for one in (near, far):
                with contextlib.suppress(OSError):  # the other side was quicker
                    one.shutdown(socket.SHUT_RDWR)
        self.pairs = []

    def close(self):
        self.cut()
        self.listener.close()


class Listen(Reports):
    def rank(self, rank, world, address, token, *words):
        return self.spawn(sys.executable, TRAIN, *words, RANK=str(rank), WORLD_SIZE=str(world), LOCKSTEP_FRAMES=address,
                          LOCKSTEP_FRAMES_TOKEN=token)

    def heard(self, run, ranks):
        """Waits until these ranks are in the run's log."""
        log = self.home / "runs" / run / "node-0.ndjson"
        lines = lambda: log.read_text().splitlines()[:-1]  # the last one may be torn
        wait_for(lambda: ranks <= {json.loads(line).get("rank") for line in lines()}, 20, f"ranks {ranks}")

    def test_ranks_that_report_over_the_network_are_a_run_like_ours(self):
        agent, address, token = self.listen("--name", "far away")
        self.assertTrue(address.startswith("tcp://127.0.0.1:"), "loopback alone, unless another interface is named")
        first = self.rank(0, 2, address, token)
        ready = json.loads(agent.stdout.readline())
        late = self.rank(1, 2, address, token)
        follower = self.spawn(support.BIN / "lockstepctl", "attach", ready["run"])  # live, while it goes on
        self.ended(first)
        self.ended(late)
        self.ended(agent)
        self.ended(follower)
        [run] = self.runs()
        self.assertEqual(run.name, ready["run"])
        self.check_frames(run, 2)
        result = self.result(run)
        self.assertEqual((result["state"], result["exit_code"], len(result["ranks"])), ("done", 0, 2))
        self.assertEqual((result["summary"]["world_size"], result["summary"]["method"]), (2, "ddp"))
        record = json.loads((run / "config.json").read_text())
        self.assertEqual((record["name"], record["processes"]), ("far away", 2))
        lines = self.frames(run)
        self.assertEqual([line["seq"] for line in lines], list(range(len(lines))))
        self.assertEqual(result["log_lines"], len(lines))
        self.assertIn("far away", self.ctl("list").stdout)
        exported = json.loads(self.ctl("export", run.name, "--format", "json").stdout)
        self.assertIn("far away", json.dumps(exported))

    def test_nobody_gets_in_without_the_token_and_no_other_interface_listens(self):
        secret = self.home / "token"
        secret.write_text("0123456789abcdef0123\n")
        agent, address, shown = self.listen("--token-file", secret, "--port", str(support.free_port()))
        self.assertEqual(shown, "", "a token from a file is not printed")
        for token, why in (("", "no token was given"), ("wrong", "the token is wrong"), ("0123456789abcdef012", "the token is wrong")):
            with socket.create_connection(("127.0.0.1", int(address.rsplit(":", 1)[1])), 5) as link:
                hello = {"type": "hello", "protocol": "1.0", "role": "rank", "rank": 0}
                link.sendall(json.dumps(hello | ({"token": token} if token else {})).encode() + b"\n")
                answer = link.makefile().readline()
                self.assertIn(why, json.loads(answer)["message"])
                self.assertNotIn("0123456789", answer)
        port = f"{int(address.rsplit(':', 1)[1]):04X}"
        listening = [line.split()[1] for name in ("tcp", "tcp6") for line in pathlib.Path(f"/proc/net/{name}").read_text().splitlines()[1:]
                     if line.split()[3] == "0A" and line.split()[1].endswith(":" + port)]
        self.assertEqual(listening, [f"0100007F:{port}"])
        self.assertEqual(self.runs(), [], "an unauthenticated connection makes no run")
        agent.terminate()
        _, err = self.ended(agent, 130)
        self.assertEqual(err.count("was refused"), 3)
        agent, address, _ = self.listen("--token-file", secret, "--port", str(support.free_port()))
        for _ in range(70):
            with socket.create_connection(("127.0.0.1", int(address.rsplit(":", 1)[1])), 5) as link:
                link.sendall(json.dumps({"type": "error", "message": "a\n" + "b" * 60000}).encode() + b"\n")
                link.makefile().readline()
        agent.terminate()
        _, err = self.ended(agent, 130)
        self.assertEqual(err.count("was refused"), 50, "a stranger's words fill no file")
        self.assertEqual(err.count("further ones are not reported"), 1)
        self.assertLess(len(err), 50 * 800)
        self.assertNotIn("\nbbb", err)
        for words, said in ((("--interface", "nosuch0"), "nosuch0"), (("--token-file", self.home / "none"), "token"),
                            (("--socket", "/x", "--token-file", secret), "--")):
            self.assertIn(said, self.agent("listen", *words, code=2).stderr)

    def test_lines_that_are_no_frames_of_their_rank_are_told_a_few_times_before_the_first_frame(self):
        agent, address, token = self.listen()
        with socket.create_connection(("127.0.0.1", int(address.rsplit(":", 1)[1])), 5) as link:
            hello = {"type": "hello", "protocol": "1.0", "role": "rank", "rank": 0, "token": token}
            link.sendall(json.dumps(hello).encode() + b"\n" + b"x\n" * 10_000 + "".join(self.story(0, 1)).encode())
            self.assertEqual(json.loads(agent.stdout.readline())["type"], "ready")
            _, err = self.ended(agent)
        self.assertEqual(err.count("not one of its own frames"), 50)
        self.assertEqual(err.count("further ones are not reported"), 1)

    def test_a_rank_that_leaves_without_a_word_fails_the_run_when_patience_ends_and_may_come_again_before(self):
        agent, address, token = self.listen("--patience", "2")
        one = self.rank(0, 2, address, token, "epoch_sleep=30")
        two = self.rank(1, 2, address, token)
        ready = json.loads(agent.stdout.readline())
        self.heard(ready["run"], {0, 1})
        one.kill()
        again = self.rank(0, 2, address, token)  # another process: its numbers begin at 0, and count
        self.ended(again)
        self.ended(two)
        self.ended(agent)
        [run] = self.runs()
        self.assertEqual(self.result(run)["state"], "done")
        kinds = [line["kind"] for line in self.frames(run) if line["type"] == "alert"]
        self.assertEqual(kinds, ["rank_gone", "restart"])

        agent, address, token = self.listen("--patience", "1")
        gone = self.rank(0, 1, address, token, "epoch_sleep=30")
        json.loads(agent.stdout.readline())
        gone.kill()
        _, err = self.ended(agent, 1)
        self.assertIn("nothing came for 1 s", err)

    def test_a_listener_that_is_started_again_is_told_what_the_ranks_are(self):
        port = str(support.free_port())
        secret = self.home / "token"
        secret.write_text("0123456789abcdef0123456789abcdef")
        secret.chmod(0o600)
        words = ("--port", port, "--token-file", secret)
        first, address, _ = self.listen(*words)
        ranks = [self.rank(rank, 2, address, secret.read_text(), "epochs=40") for rank in (0, 1)]
        self.heard(json.loads(first.stdout.readline())["run"], {0, 1})
        first.kill()
        first.wait()
        second, *_ = self.listen(*words)
        run = json.loads(second.stdout.readline())["run"]
        for rank in ranks:
            self.ended(rank)
        self.ended(second)
        folder = self.home / "runs" / run
        for rank in (0, 1):
            states = [frame for frame in self.frames(folder) if frame["type"] == "state" and frame.get("rank") == rank]
            self.assertEqual([frame["state"] for frame in states][:2], ["init", "training"])
            self.assertEqual((states[0]["world_size"], states[0]["about"]["method"]), (2, "ddp"))
            self.assertGreater(states[1]["epoch"], 0)
        self.assertEqual(self.result(folder)["state"], "done")

    def test_a_stop_reaches_every_rank(self):
        agent, address, token = self.listen()
        ranks = [self.rank(rank, 2, address, token, "epochs=200") for rank in range(2)]
        run = json.loads(agent.stdout.readline())["run"]
        self.heard(run, {0, 1})
        self.ctl("stop", run)
        for rank in ranks:
            self.ended(rank, 130)
        self.ended(agent, 130)
        self.assertEqual(self.result(self.runs()[0])["state"], "stopped")

    def test_a_trainer_whose_link_is_cut_sends_what_was_missed(self):
        trainer = support.BIN / "lockstep-trainer"
        if not trainer.exists():
            self.skipTest("no lockstep-trainer")
        agent, address, token = self.listen()
        relay = Relay(int(address.rsplit(":", 1)[1]))
        self.addCleanup(relay.close)
        rank = self.spawn(trainer, "--train-samples=6400", "--epochs=6", "--oversubscribe", f"--frames=tcp://127.0.0.1:{relay.port}",
                          LOCKSTEP_FRAMES_TOKEN=token, LOCKSTEP_STEP_WINDOW_MS="10")
        run = json.loads(agent.stdout.readline())["run"]
        log = self.home / "runs" / run / "node-0.ndjson"
        cuts = 0
        for _ in range(2):
            seen = log.read_text().count('"type":"steps"')
            wait_for(lambda: log.read_text().count('"type":"steps"') > seen + 3 or rank.poll() is not None, 60, "steps")
            if rank.poll() is None:
                relay.refuse = True
                relay.cut()
                time.sleep(0.3)
                relay.refuse = False
                cuts += 1
        self.assertGreater(cuts, 0, "the run was over too soon")
        _, err = self.ended(rank, 0, 120)
        self.assertIn("sent again", err)
        self.ended(agent)
        [folder] = self.runs()
        self.check_frames(folder, 1, alerts=["rank_gone"] * cuts)  # gapless and not doubled
        self.assertEqual(self.result(folder)["summary"]["batch_size"], 64)
        self.assertNotIn("known", json.loads((folder / "config.json").read_text()))  # it has said all its settings
        refused = self.call(trainer, "--train-samples=64", "--oversubscribe", "--frames=tcp://127.0.0.1:1", code=2)
        self.assertIn("lockstepctl listen", refused.stderr)

    def test_a_container_that_is_started_again_is_another_process_though_it_has_the_same_number(self):
        agent, address, token = self.listen("--ranks", "1")
        hello = json.dumps({"type": "hello", "protocol": "1.0", "role": "rank", "rank": 0, "token": token, "name": "pod-0", "pid": 1}) + "\n"
        first, second = list(self.story(0, 1, 40))[:30], [line.replace('"mono_ns":', '"mono_ns":9') for line in self.story(0, 1)]
        links = []
        for lines in (first, second):
            links.append(socket.create_connection(("127.0.0.1", int(address.rsplit(":", 1)[1])), 5))
            self.addCleanup(links[-1].close)
            links[-1].sendall((hello + "".join(lines)).encode())
            if lines is first:
                log = self.home / "runs" / json.loads(agent.stdout.readline())["run"] / "node-0.ndjson"
                wait_for(lambda: '"rseq":29' in log.read_text(), 20, "the first one's frames")
        self.ended(agent)
        [run] = self.runs()
        states = [frame["state"] for frame in self.frames(run) if frame["type"] == "state" and frame.get("rank") == 0]
        self.assertEqual(states, ["init", "training", "init", "training", "done"])
        self.assertEqual(self.result(run)["state"], "done")

    def test_a_rank_that_changes_the_number_of_ranks_with_each_frame_holds_nobody_up(self):
        agent, address, token = self.listen()
        greeting = lambda rank: json.dumps({"type": "hello", "protocol": "1.0", "role": "rank", "rank": rank, "token": token}) + "\n"
        changes = [self.frame(0, i, type="state", state="init", world_size=65536 - i % 2) for i in range(4000)]
        links = [socket.create_connection(("127.0.0.1", int(address.rsplit(":", 1)[1])), 5) for _ in range(2)]
        for link in links:
            self.addCleanup(link.close)
        links[0].sendall((greeting(0) + "".join(changes)).encode())
        agent.stdout.readline()
        begun = time.monotonic()
        links[1].settimeout(60)
        links[1].sendall(greeting(1).encode())
        self.assertIn(b"hello", links[1].recv(4096))
        self.assertLess(time.monotonic() - begun, 5)
        agent.terminate()
        self.ended(agent, 130)

    def test_a_slow_rank_and_a_hang_are_named_while_the_ranks_report_over_the_network(self):
        agent, address, token = self.listen()
        links = [socket.create_connection(("127.0.0.1", int(address.rsplit(":", 1)[1])), 5) for _ in range(2)]
        for rank, link in enumerate(links):
            self.addCleanup(link.close)
            hello = {"type": "hello", "protocol": "1.0", "role": "rank", "rank": rank, "token": token}
            link.sendall((json.dumps(hello) + "\n" + "".join(list(self.story(rank, 2, 0))[:2])).encode())
        run = json.loads(agent.stdout.readline())["run"]
        log = self.home / "runs" / run / "node-0.ndjson"
        alerts = lambda: {frame["kind"]: frame["message"] for frame in map(json.loads, log.read_text().splitlines()[:-1]) if frame["type"] == "alert"}
        numbers = itertools.count(2)

        def named():
            """Both ranks report four steps more, until the slow one is named."""
            number = next(numbers)
            for rank, link in enumerate(links):
                seconds = {"load": 0.01, "forward": 0.03, "backward": 0.06 if rank else 0.03, "exposed": 0.03 if rank else 0.06}
                phases = {name: {"sum_s": value, "max_s": value} for name, value in seconds.items()}
                link.sendall(self.frame(rank, number, type="steps", epoch=1, first_step=4 * number, last_step=4 * number + 3, count=4,
                                        samples=128, loss={"min": 1, "mean": 1, "max": 1, "last": 1}, phases=phases).encode())
            return "straggler" in alerts()

        wait_for(named, 20, "the slow rank")
        self.assertIn("rank 1 on box1 is slower than the others in backward", alerts()["straggler"])
        where = {"step": 240, "phase": "exposed", "since_s": 12, "collectives": 7, "collectives_ended": 6, "wait_s": 12}
        elsewhere = {"step": 240, "phase": "load", "since_s": 12, "collectives": 6, "collectives_ended": 6}

        def first_hang():
            number = next(numbers)
            for rank, link in enumerate(links):
                link.sendall(self.frame(rank, number, type="heartbeat", at=elsewhere if rank else where).encode())
            time.sleep(0.3)
            return "hang" in alerts()

        wait_for(first_hang, 30, "the hang")  # a rank that has ended a step a moment ago may come yet
        self.assertRegex(alerts()["hang"], "^rank 0 has waited for 1[2-9] s in collective 7 .*; rank 1 has not come: it is in .*load")
        for link in links:  # all are asked where they are
            self.assertTrue(any("stacks" in line for line in link.makefile()))
            link.close()
        again = [socket.create_connection(("127.0.0.1", int(address.rsplit(":", 1)[1])), 5) for _ in range(2)]
        for rank, link in enumerate(again):  # started again, they hang in the same collective: that is another hang
            self.addCleanup(link.close)
            hello = {"type": "hello", "protocol": "1.0", "role": "rank", "rank": rank, "token": token, "pid": 77 + rank}
            link.sendall((json.dumps(hello) + "\n" + "".join(list(self.story(rank, 2, 2))[:4])).encode())
        numbers = itertools.count(4)

        def second_hang():
            number = next(numbers)
            for rank, link in enumerate(again):
                link.sendall(self.frame(rank, number, type="heartbeat", at=elsewhere if rank else where).encode())
            time.sleep(0.3)
            return sum('"kind":"hang"' in line for line in log.read_text().splitlines()) >= 2  # one more where rank 0 had come before rank 1

        wait_for(second_hang, 20, "the second hang", lambda: "\n".join(log.read_text().splitlines()[-20:]))
        agent.terminate()
        self.ended(agent, 130)

    def test_a_listener_ends_with_the_command_that_started_it(self):
        for number in (signal.SIGTERM, signal.SIGKILL):
            with self.subTest(number):
                command = self.spawn(support.BIN / "lockstepctl", "listen")
                self.assertIn("listening on", command.stdout.readline())
                self.assertIn("lockstep-agent", processes_of(self.home).values())
                command.send_signal(number)
                command.wait(20)
                wait_for(lambda: not processes_of(self.home), 5, "the listener's end", lambda: str(processes_of(self.home)))

    def test_a_port_that_is_taken_is_named_with_who_holds_it(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            done = self.agent("listen", "--port", port, code=2)
        self.assertIn(f"--port: can't listen on 127.0.0.1 port {port}", done.stderr)
        self.assertIn(f"by pid {os.getpid()} ", done.stderr)
        self.assertEqual(self.runs(), [])

    def test_a_listened_run_lasts_from_its_first_frame_to_its_last_one_though_the_listener_came_late(self):
        agent, address, token = self.listen("--ranks", "2")
        links = [socket.create_connection(("127.0.0.1", int(address.rsplit(":", 1)[1])), 5) for _ in range(2)]
        for rank, link in enumerate(links):
            self.addCleanup(link.close)
            hello = json.dumps({"type": "hello", "protocol": "1.0", "role": "rank", "rank": rank, "token": token}) + "\n"
            shift = rank * 10**15  # of the clock of another machine
            lines = [json.dumps(frame | {"mono_ns": frame["mono_ns"] + shift}) + "\n" for frame in map(json.loads, self.story(rank, 2, 50))]
            link.sendall((hello + "".join(lines)).encode())  # what took 5.3 s is sent at once
        self.ended(agent)
        [run] = self.runs()
        result, record = self.result(run), json.loads((run / "config.json").read_text())
        self.assertGreaterEqual(result["run_time_s"], 5.3)
        self.assertLess(result["run_time_s"], 60)
        self.assertGreaterEqual(result["run_time_s"], result["summary"]["total_training_time_s"])
        self.assertAlmostEqual((result["end_wall_us"] - result["start_wall_us"]) / 1e6, result["run_time_s"], places=3)
        self.assertEqual(record["start_wall_us"], result["start_wall_us"])


if __name__ == "__main__":
    support.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Nodes through a real sshd: added, looked at, doctored. Every trouble that a machine can have is named with its fix."""

import argparse
import json
import os
import pathlib
import pty
import random
import select
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.path[:0] = [str(pathlib.Path(__file__).parent), str(pathlib.Path(__file__).parents[1])]
from lab_hosts import Lab, run_tests  # noqa: E402
from waiting import processes_of, wait_for  # noqa: E402

arguments = None
FACTS = '{{"version":"{version}","torch":"{torch}","nccl":"","libraries":[]}}'


def script(path, text):
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return str(path)


class NodesCase(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="lockstep-nodes-")
        self.root = pathlib.Path(self.folder.name)
        self.lab = Lab(self.root, arguments.bin)
        self.agent = str(pathlib.Path(arguments.bin) / "lockstep-agent")
        version = subprocess.run([self.agent, "version"], capture_output=True, text=True, check=True).stdout.split()[-1]
        self.version = version
        self.trainer = script(self.root / "trainer", f"echo '{FACTS.format(version=version, torch='2.11.0')}'\n")

    def tearDown(self):
        self.lab.stop()
        self.folder.cleanup()

    def host(self, name, **environment):
        return self.lab.add(name, dict({"LOCKSTEP_TRAINER": self.trainer}, **environment))

    def added(self, name, agent=None):
        said = self.lab.ctl("nodes", "add", name, "--agent", agent or self.agent, "--untried")
        self.assertEqual(said.returncode, 0, said.stderr)

    def doctor(self, *words, code=1):
        said = self.lab.ctl("doctor", "--json", "--seconds", "0.1", *words)
        self.assertEqual(said.returncode, code, said.stdout + said.stderr)
        return json.loads(said.stdout)

    def finding(self, report, code):
        found = [one for one in report["findings"] if one["code"] == code]
        self.assertTrue(found, f"no {code} in " + json.dumps(report["findings"], indent=1))
        self.assertTrue(found[0]["fix"], "no way out is said")
        return found[0]


class Adding(NodesCase):
    def test_a_node_is_added_by_the_name_that_ssh_knows_and_shown_with_all_its_figures(self):
        self.host("box")
        said = self.lab.ctl("nodes", "add", "box", "--agent", self.agent)
        self.assertEqual(said.returncode, 0, said.stdout + said.stderr)
        for figure in ("processor", "memory used", "disk free", "clock", "PyTorch 2.11.0", "agent " + self.version):
            self.assertIn(figure, said.stdout)
        self.assertIn("box", self.lab.ctl("nodes").stdout)
        again = self.lab.ctl("nodes", "add", "box", "--agent", self.agent)
        self.assertEqual(again.returncode, 2, "a name is taken once")
        self.assertEqual(self.lab.ctl("nodes", "remove", "box").returncode, 0)
        self.assertIn("no node", self.lab.ctl("nodes").stdout)

    def test_a_node_is_watched_over_one_connection_which_leaves_nothing_behind(self):
        box = self.host("box")
        self.added("box")
        process = subprocess.Popen(self.lab.command("nodes", "watch", "box", "--json", "--times", "4"), env=self.lab.environment,
                                   stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, start_new_session=True)
        lines = [json.loads(process.stdout.readline()) for _ in range(3)]
        self.assertTrue(all(line["usable"] for line in lines), lines)
        accepted = (box.folder / "sshd.log").read_text().count("Accepted publickey")
        self.assertEqual(accepted, 1, "each line made a connection of its own")
        process.communicate(timeout=20)
        wait_for(lambda: box.connections() == 0, 10, "the connection to end")
        wait_for(lambda: not processes_of(box.home), 10, "the node's processes to end",
                 lambda: f": {processes_of(box.home)} live")

    def test_names_that_could_reach_a_shell_are_refused_and_inject_nothing(self):
        box = self.host("box")
        mark = self.root / "pwned"
        touch = f"touch {mark}"
        fixed = [f"-oProxyCommand={touch}", f"box;{touch}", f"$({touch})", f"`{touch}`", f"box\n{touch}", f"'box' {touch}", f'"; {touch}; "',
                 f"box&&{touch}", f"box|{touch}", "box ", "", "bo x", "box\0x"[:3] + "\t", "../box", "~", "*"]
        draw = random.Random(7)
        letters = "abX01 ;$`'\"\\\n|&<>(){}*?~!#-=%"
        drawn = ["".join(draw.choice(letters) for _ in range(draw.randint(1, 24))) for _ in range(25)]
        refused = 0
        for name in fixed + drawn:
            if any(character not in "abX01-%" for character in name) or not name or name.startswith("-"):
                for words in ((f"--host={name}", "node1"), ("--untried", "--", name)):
                    said = self.lab.ctl("nodes", "add", *words)
                    self.assertNotEqual(said.returncode, 0, repr(words))
                    refused += 1
        self.assertGreater(refused, 60)
        # What may hold anything is a path: it stays one word, here and there.
        for agent in (f"/x y;{touch}", f"/$({touch})", f"/'\"{touch}`{touch}`", "/-rf $HOME"):
            name = f"n{refused}"
            refused += 1
            self.lab.ctl("nodes", "add", name, "--host", "box", "--agent", agent, "--untried")
            self.assertNotEqual(self.lab.ctl("nodes", "show", name).returncode, 0)
        odd = self.root / "a 'very' \"odd\" $HOME;`id` folder"
        odd.mkdir()
        shutil.copy(script(self.root / "wrapper", f'exec {self.agent} "$@"\n'), odd / "agent;$(id)")
        self.lab.ctl("nodes", "add", "odd", "--host", "box", "--agent", str(odd / "agent;$(id)"), "--untried")
        said = self.lab.ctl("nodes", "show", "odd")
        self.assertEqual(said.returncode, 0, said.stdout + said.stderr)
        self.assertFalse(mark.exists(), "a name was run")
        self.assertFalse((box.home / "pwned").exists())


class Questions(NodesCase):
    """ssh asks on the terminal through lockstepctl; host-key checking is never switched off."""

    def converse(self, *words, answers, timeout=60):
        """Runs lockstepctl with a terminal of its own; answers = [(what is waited for, what is typed)]."""
        pid, terminal = pty.fork()
        if pid == 0:
            os.execvpe(str(self.lab.bin / "lockstepctl"), self.lab.command(*words), self.lab.environment)
        text, waiting, end = "", list(answers), time.monotonic() + timeout
        while time.monotonic() < end:
            ready, _, _ = select.select([terminal], [], [], 0.2)
            if ready:
                try:
                    data = os.read(terminal, 4096)
                except OSError:
                    break
                if not data:
                    break
                text += data.decode(errors="replace")
            if waiting and waiting[0][0] in text:
                os.write(terminal, waiting.pop(0)[1].encode() + b"\n")
        _, status = os.waitpid(pid, 0)
        os.close(terminal)
        self.assertFalse(waiting, f"never asked for {waiting}: {text}")
        return os.waitstatus_to_exitcode(status), text

    def fingerprint(self, host):
        return subprocess.run(["ssh-keygen", "-lf", str(host.folder / "host_key.pub")], capture_output=True, text=True, check=True).stdout.split()[1]

    def test_an_unknown_host_key_is_shown_and_confirmed_by_a_person(self):
        box = self.host("box")
        self.lab.write_config(check="ask", known=[])
        code, text = self.converse("nodes", "add", "box", "--agent", self.agent, answers=[("continue connecting", "yes")])
        self.assertEqual(code, 0, text)
        self.assertIn(self.fingerprint(box), text)
        self.assertIn("box", self.lab.ctl("nodes").stdout)
        self.assertIn(box.known_host_line().split()[2], self.lab.known_hosts.read_text())

    def test_an_unknown_host_key_without_anybody_to_ask_is_refused(self):
        self.host("box")
        self.lab.write_config(check="ask", known=[])
        said = self.lab.ctl("nodes", "add", "box", "--agent", self.agent)
        self.assertEqual(said.returncode, 2)
        self.assertIn("not known", said.stderr)
        self.assertIn("fingerprint", said.stderr)

    def test_a_declined_host_key_adds_nothing(self):
        self.host("box")
        self.lab.write_config(check="ask", known=[])
        code, text = self.converse("nodes", "add", "box", "--agent", self.agent, answers=[("continue connecting", "no")])
        self.assertEqual(code, 2, text)
        self.assertIn("no node", self.lab.ctl("nodes").stdout)

    def test_a_passphrase_is_asked_for_once_and_not_shown(self):
        box = self.host("box")
        secret = "correct horse $HOME;`id`"
        subprocess.run(["ssh-keygen", "-q", "-p", "-P", "", "-N", secret, "-f", str(box.folder / "user_key")], check=True)
        code, text = self.converse("nodes", "add", "box", "--agent", self.agent, answers=[("passphrase for", secret)])
        self.assertEqual(code, 0, text)
        self.assertEqual(text.count("passphrase for"), 1)
        self.assertNotIn("horse", text)

    def test_a_changed_host_key_is_refused_with_both_fingerprints(self):
        box = self.host("box")
        self.added("box")
        before = self.fingerprint(box)
        known = self.lab.known_hosts.read_text()
        box.replace_host_key()
        report = self.doctor("box")
        said = self.finding(report, "host_key_changed")["what"]
        self.assertIn(before, said)
        self.assertIn(self.fingerprint(box), said)
        self.assertNotEqual(before, self.fingerprint(box))
        self.assertEqual(self.lab.known_hosts.read_text(), known, "the known key was replaced")
        # With a person at a terminal it is refused just the same.
        code, text = self.converse("nodes", "show", "box", answers=[])
        self.assertNotEqual(code, 0)
        self.assertIn(before, text.replace("\r\n", "").replace("\n", ""))


class Doctoring(NodesCase):
    def test_two_good_nodes_give_no_error_and_a_missing_host_is_named(self):
        self.host("one")
        self.added("one")
        self.doctor(code=0)
        self.lab.ctl("nodes", "add", "ghost", "--host", "no-such-host.invalid", "--untried")
        self.finding(self.doctor(), "name_unknown")

    def test_a_host_that_does_not_listen_is_unreachable(self):
        box = self.host("box")
        self.added("box")
        box.stop()
        self.assertIn("box", self.finding(self.doctor(), "unreachable")["what"])

    def test_a_wrong_key_is_named(self):
        self.host("box")
        self.added("box")
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.root / "other")], check=True)
        self.lab.write_config(identity=self.root / "other")
        self.assertIn("ssh-copy-id", self.finding(self.doctor(), "key_refused")["fix"])

    def test_a_node_without_an_agent_is_advised_to_be_synced(self):
        self.host("box")
        self.added("box", agent="/nowhere/lockstep-agent")
        self.assertIn("nodes sync box", self.finding(self.doctor(), "no_agent")["fix"])

    def test_an_old_agent_is_named_with_its_version(self):
        self.host("box")
        old = script(self.root / "old-agent", 'if [ "$1" = version ]; then echo lockstep-agent 0.0.3; exit 0; fi\n'
                     'echo "The following argument was not expected: $1" >&2; exit 2\n')
        self.added("box", agent=old)
        said = self.finding(self.doctor(), "old_agent")
        self.assertIn("0.0.3", said["what"])
        self.assertIn("nodes sync box", said["fix"])

    def test_unlike_versions_of_torch_are_named(self):
        other = script(self.root / "other-trainer", f"echo '{FACTS.format(version=self.version, torch='2.7.1')}'\n")
        self.host("new")
        self.host("old", LOCKSTEP_TRAINER=other)
        self.added("new")
        self.added("old")
        said = self.finding(self.doctor(), "torch_differs")
        self.assertIn("2.11.0 on new", said["what"])
        self.assertIn("2.7.1 on old", said["what"])

    def test_a_trainer_that_does_not_start_is_named(self):
        self.host("box", LOCKSTEP_TRAINER=script(self.root / "broken", "echo 'libtorch_cpu.so: cannot open shared object' >&2; exit 127\n"))
        self.added("box")
        self.assertIn("libtorch_cpu.so", self.finding(self.doctor(), "no_trainer")["what"])

    def test_missing_and_damaged_data_are_named(self):
        good, bad, none = self.host("good"), self.host("bad"), self.host("none")
        for host, text in ((good, b"one"), (bad, b"two")):
            folder = host.home / "data/mine"
            folder.mkdir(parents=True)
            (folder / "train.bin").write_bytes(text)
        for name in ("good", "bad", "none"):
            self.added(name)
        report = self.doctor("--dataset", "mine")
        self.assertEqual(self.finding(report, "data_missing")["where"], "none")
        self.assertIn("train.bin", self.finding(report, "data_differs")["what"])
        self.assertIn("--data mine", self.finding(report, "data_differs")["fix"])
        self.assertFalse((none.home / "data").exists(), "the doctor wrote something")

    def test_a_clock_that_is_off_is_named_with_how_far(self):
        self.host("box", LOCKSTEP_TEST_CLOCK_OFFSET_S="-7.25")
        self.host("right")
        self.added("box")
        self.added("right")
        report = self.doctor(code=0)
        said = self.finding(report, "clock")
        self.assertEqual(said["where"], "box")
        self.assertIn("7.25 s behind", said["what"])
        self.assertEqual([one["where"] for one in report["findings"] if one["code"] == "clock"], ["box"])

    @unittest.skipUnless(os.geteuid() == 0, "needs root for a small file system")
    def test_a_full_disk_is_named_with_what_is_left(self):
        torch = self.root / "torch"
        (torch / "lib").mkdir(parents=True)
        (torch / "lib/libtorch_cpu.so").touch()
        (torch / "version.py").write_text("__version__ = '2.11.0'\n")
        box = self.host("box", LOCKSTEP_TORCH=str(torch))
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(box.home)])
        if mounted.returncode != 0:
            self.skipTest("no tmpfs may be mounted here")
        try:
            self.added("box")
            said = self.finding(self.doctor(), "disk_full")
            self.assertIn("1.05 MB left", said["what"])
            synced = self.lab.ctl("nodes", "sync", "box", environment={"LOCKSTEP_TRAINER": self.trainer})
            self.assertNotEqual(synced.returncode, 0)
            self.assertIn("are needed", synced.stderr)
        finally:
            subprocess.run(["umount", str(box.home)], check=True)

    def test_pasted_commands_that_contradict_each_other_are_named(self):
        one = "NCCL_SOCKET_IFNAME=bond0 torchrun --nproc_per_node=2 --nnodes=2 --node_rank=0 --master_addr=node1 --master_port=1234 train.py"
        two = "NCCL_SOCKET_IFNAME=eno1 torchrun --nproc_per_node=3 --nnodes=2 --node_rank=1 --master_addr=node2 --master_port=12345 train.py"
        report = self.doctor("--command", one, "--command", two)
        self.assertIn("--master-addr=node1", self.finding(report, "master_differs")["fix"])
        self.assertIn("--master-port=1234", self.finding(report, "port_differs")["fix"])
        self.assertEqual(len(report["findings"]), 2, report["findings"])
        self.host("box")
        self.added("box")
        wrong = self.finding(self.doctor("box", "--command", one), "wrong_interface")
        self.assertIn("bond0", wrong["what"])


def main():
    global arguments
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=os.path.abspath)
    arguments, rest = parser.parse_known_args()
    return run_tests(rest)


if __name__ == "__main__":
    sys.exit(main())

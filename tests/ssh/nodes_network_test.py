#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Three hosts in network namespaces, each with its own sshd, two networks between them: what is wrong with the way between
nodes is found by trying. Needs root; nothing outside the namespaces is changed."""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from lab_hosts import SEARCH, Lab, missing_programs  # noqa: E402

arguments = None
FACTS = '{"version":"%s","torch":"2.11.0","nccl":"","libraries":[]}'


def ip(*words, check=True):
    return subprocess.run([shutil.which("ip", path=SEARCH), *map(str, words)], check=check, capture_output=True, text=True)


class Namespaces:
    """A switch namespace with two bridges; each host has `fast` on one and `slow` on the other, named by the host."""

    def __init__(self, interfaces):
        self.tag = f"lsn{os.getpid()}"
        self.names = [f"{self.tag}s"] + [f"{self.tag}h{i}" for i in range(len(interfaces) + 1)]
        self.switch, self.viewer, *self.hosts = self.names
        self.clean()
        for name in self.names:
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        for net in (0, 1):
            ip("-n", self.switch, "link", "add", f"br{net}", "type", "bridge")
            ip("-n", self.switch, "link", "set", f"br{net}", "up")
        self.join(self.viewer, "eth0", 0, 100)
        for index, (first, second) in enumerate(interfaces):
            self.join(self.hosts[index], first, 0, index + 1)
            self.join(self.hosts[index], second, 1, index + 1)

    def join(self, host, interface, net, number):
        peer = f"p{net}{number}"
        ip("link", "add", interface, "netns", host, "type", "veth", "peer", "name", peer, "netns", self.switch)
        ip("-n", self.switch, "link", "set", peer, "master", f"br{net}", "up")
        ip("-n", host, "addr", "add", f"10.7.{net}.{number}/24", "dev", interface)
        ip("-n", host, "link", "set", interface, "up")

    def inside(self, name):
        return [shutil.which("ip", path=SEARCH), "netns", "exec", name]

    def clean(self):
        for name in self.names:
            ip("netns", "del", name, check=False)


class BetweenNodes(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="lockstep-netns-")
        root = pathlib.Path(self.folder.name)
        self.net = Namespaces([("bond0", "ext0"), ("eno1", "ext0"), ("eth1", "ext0")])
        self.addCleanup(self.folder.cleanup)
        self.addCleanup(self.net.clean)
        self.lab = Lab(root, arguments.bin)
        self.addCleanup(self.lab.stop)
        self.lab.runner = self.net.inside(self.net.viewer)
        agent = str(pathlib.Path(arguments.bin) / "lockstep-agent")
        version = subprocess.run([agent, "version"], capture_output=True, text=True, check=True).stdout.split()[-1]
        trainer = root / "trainer"
        trainer.write_text(f"#!/bin/sh\necho '{FACTS % version}'\n")
        trainer.chmod(0o755)
        for index in range(3):
            name = f"node{index + 1}"
            self.lab.add(name, {"LOCKSTEP_TRAINER": str(trainer)}, address=f"10.7.0.{index + 1}", runner=self.net.inside(self.net.hosts[index]))
            said = self.lab.ctl("nodes", "add", name, "--agent", agent, "--untried")
            self.assertEqual(said.returncode, 0, said.stderr)

    def doctor(self, *words, seconds="0.2", code=None):
        said = self.lab.ctl("doctor", "--json", "--seconds", seconds, *words, timeout=150)
        if code is not None:
            self.assertEqual(said.returncode, code, said.stdout + said.stderr)
        return json.loads(said.stdout)

    def finding(self, report, code):
        found = [one for one in report["findings"] if one["code"] == code]
        self.assertTrue(found, f"no {code} in " + json.dumps(report["findings"], indent=1))
        return found[0]

    def block(self, host, *what):
        ip("-n", self.net.hosts[host], "rule", "add", *what, "blackhole")

    def separate_second_network(self, host):
        ip("-n", self.net.switch, "link", "set", f"p1{host + 1}", "nomaster")

    def test_the_interface_that_all_reach_is_found_for_each_node_and_kept(self):
        for host in range(3):
            self.separate_second_network(host)
        report = self.doctor(code=0)
        self.assertEqual([one["interface"] for one in report["interfaces"]], ["bond0", "eno1", "eth1"])
        self.assertEqual(len(report["links"]), 6)
        for link in report["links"]:
            self.assertTrue(link["ok"], link)
            self.assertGreater(link["bandwidth_bytes_s"], 1e6)
            self.assertLess(link["round_trip_s"], 5)
        kept = json.loads((self.lab.here / "nodes.json").read_text())["nodes"]
        self.assertEqual([node["interface"] for node in kept], ["bond0", "eno1", "eth1"])

    def test_a_wrong_interface_is_named_with_the_right_one(self):
        self.separate_second_network(1)
        self.assertEqual(self.lab.ctl("nodes", "set", "node2", "--interface", "ext0").returncode, 0)
        said = self.finding(self.doctor(code=1), "wrong_interface")
        self.assertEqual(said["where"], "node2")
        self.assertIn("10.7.1.2", said["what"])
        self.assertIn("--interface eno1", said["fix"])
        self.assertEqual(self.lab.ctl("nodes", "set", "node2", "--interface", "eno1").returncode, 0)
        self.doctor(code=0)

    def test_a_closed_port_is_named_while_others_are_open(self):
        self.block(0, "ipproto", "tcp", "sport", "29511")
        report = self.doctor("--port", "29511", code=1)
        said = self.finding(report, "closed_port")
        self.assertIn("29511", said["what"])
        self.assertIn("node1", said["where"].split(" → ")[1])
        self.assertNotIn("no_interface", [one["code"] for one in report["findings"]])
        self.doctor("--port", "29512", code=0)

    def test_a_port_in_use_is_named_with_who_holds_it(self):
        holder = subprocess.Popen([*self.net.inside(self.net.hosts[0]), sys.executable, "-c",
                                   "import socket,time; s=socket.socket(); s.bind(('0.0.0.0',29513)); s.listen(); print('up',flush=True); time.sleep(120)"],
                                  stdout=subprocess.PIPE, text=True)
        self.addCleanup(holder.stdout.close)
        self.addCleanup(holder.wait)
        self.addCleanup(holder.kill)
        self.assertEqual(holder.stdout.readline().strip(), "up")
        said = self.finding(self.doctor("--port", "29513", code=1), "port_in_use")
        self.assertEqual(said["where"], "node1")
        self.assertIn("pid ", said["what"])

    def test_nodes_that_share_no_network_are_named(self):
        for net in (0, 1):
            self.block(2, "to", f"10.7.{net}.1")
        report = self.doctor(code=1)
        said = self.finding(report, "no_interface")
        self.assertIn(said["where"], ("node1", "node3"))
        self.assertIn("nothing comes back", said["what"] + json.dumps(report["findings"]))

    def test_unlike_mtus_are_named(self):
        for host in range(3):
            self.separate_second_network(host)
        ip("-n", self.net.hosts[1], "link", "set", "eno1", "mtu", "1400")
        said = self.finding(self.doctor(code=0), "mtu_differs")
        self.assertIn("1400 on node2 (eno1)", said["what"])

    def test_large_packets_that_vanish_are_told_from_a_dead_link(self):
        for host in range(3):
            self.separate_second_network(host)
        # Hosts believe in jumbo frames; the ports of the switch carry 1500 bytes and drop the rest in silence.
        for host, interface in enumerate(("bond0", "eno1", "eth1")):
            ip("-n", self.net.hosts[host], "link", "set", interface, "mtu", "9000", "gso_max_segs", "1")  # bundled segments pass a veth whatever its MTU
        report = self.doctor(seconds="0.2", code=1)
        self.finding(report, "large_packets")

    def test_a_slow_link_is_measured_as_slow_as_it_is(self):
        for host in range(3):
            self.separate_second_network(host)
        throttled = subprocess.run([*self.net.inside(self.net.hosts[1]), shutil.which("tc", path=SEARCH) or "tc", "qdisc", "add", "dev", "eno1", "root", "tbf",
                                    "rate", "100mbit", "burst", "64k", "latency", "100ms"], capture_output=True, text=True)
        if throttled.returncode != 0:
            self.skipTest("tc can't throttle here: " + throttled.stderr.strip())
        report = self.doctor(seconds="1", code=0)
        rates = {(one["from"], one["to"]): one["bandwidth_bytes_s"] * 8 / 1e6 for one in report["links"]}
        for to in ("node1", "node3"):
            self.assertGreater(rates["node2", to], 70)
            self.assertLess(rates["node2", to], 115)
            self.assertGreater(rates[to, "node2"], 300)
        self.assertIn("node2 → ", self.finding(report, "unlike_ways")["where"])
        print("Mbit/s " + ", ".join(f"{a} → {b}: {rate:.0f}" for (a, b), rate in rates.items()))


def main():
    global arguments
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=os.path.abspath)
    arguments, rest = parser.parse_known_args()
    if os.geteuid() != 0:
        print("skipped: network namespaces need root")
        return 77
    if missing := missing_programs("sshd", "ssh", "ssh-keygen", "ip"):
        print(f"skipped: no {missing[0]} here; install openssh-server, openssh-client and iproute2")
        return 77
    if ip("netns", "add", f"lsnprobe{os.getpid()}", check=False).returncode != 0:
        print("skipped: network namespaces can't be made here")
        return 77
    ip("netns", "del", f"lsnprobe{os.getpid()}", check=False)
    result = unittest.main(argv=[sys.argv[0], *rest], exit=False, verbosity=2).result
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())

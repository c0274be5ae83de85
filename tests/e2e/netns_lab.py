# SPDX-License-Identifier: MIT
"""Hosts on one machine: network namespaces, each with its own sshd, host name, home and two networks.

    with Lab(folder, hosts={"hostA": "bond0", "hostB": "eno1"}) as lab:
        lab.run(["ssh", *lab.ssh_options(), "hostA", "hostname"])      # from the laptop
        lab.cut("hostB"); lab.restore("hostB")                         # the data network; ssh keeps working
        lab.processes("hostA")                                         # seen from outside

Every host has the interface `mgmt0` (10.77.2.x), over which the laptop's ssh comes, and a data interface of the given name
(10.77.1.x), which only the hosts have and which the laptop is not on. A switch namespace with two bridges joins them; nothing
of it is in the machine's own network. The data network can be cut (ip link down), throttled (tc tbf) and given another MTU.
Needs root, ip, sshd and ssh: `Lab.missing()` says what lacks, for a skip."""

import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import time
import unittest

sys.path[:0] = [str(pathlib.Path(__file__).parents[1] / "ssh"), str(pathlib.Path(__file__).resolve().parents[1])]
from local_sshd import server_config  # noqa: E402
from waiting import wait_for  # noqa: E402, F401  (for the tests over these hosts)

SBIN = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
_labs = 0


def tool(name):
    return shutil.which(name, path=SBIN)


def ip(*words):
    subprocess.run([tool("ip"), *words], check=True, capture_output=True, text=True)


def runs_in(home):
    """The run folders of a data home, oldest first."""
    runs = pathlib.Path(home) / "runs"
    return sorted(runs.iterdir()) if runs.is_dir() else []


def holds(path, words):
    """Whether a log holds these bytes. The folder of a check before the first run goes again when the check is over."""
    try:
        return words in path.read_bytes()
    except FileNotFoundError:
        return False


def run_tests(words):
    """The tests of the calling program; 77 where the hosts can't be made."""
    if reason := Lab.missing():
        print("skipped: " + reason)
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *words], verbosity=2)


class Host:
    def __init__(self, name, namespace, number, interface, folder):
        self.name, self.namespace, self.number, self.interface = name, namespace, number, interface
        self.folder = pathlib.Path(folder)
        self.home = self.folder / "home"  # its LOCKSTEP_HOME
        self.data_address = f"10.77.1.{number}"
        self.address = f"10.77.2.{number}"
        self.sshd = None


class Lab:
    def __init__(self, folder, hosts, environment=None):
        """`hosts`: name → name of its data interface. `environment`: what a login on a host sees; {home}, {name} are its own."""
        global _labs
        _labs += 1
        self.folder = pathlib.Path(folder)
        self.prefix = f"ls{os.getpid()}x{_labs}"
        self.environment = dict(environment or {})
        self.laptop = f"{self.prefix}-laptop"
        self.switch = f"{self.prefix}-switch"
        self.laptop_home = self.folder / "laptop"
        self.hosts = {
            name: Host(name, f"{self.prefix}-{name}", 11 + i, interface, self.folder / name)
            for i, (name, interface) in enumerate(hosts.items())
        }
        self._namespaces = []

    @staticmethod
    def missing():
        """Why there can be no lab here; empty when there can."""
        if os.geteuid() != 0:
            return "network namespaces need root"
        for name in ("ip", "sshd", "ssh", "ssh-keygen", "unshare"):
            if not tool(name):
                return f"there is no {name} here (packages iproute2, openssh-server, openssh-client, util-linux)"
        probe = f"ls{os.getpid()}probe"
        made = subprocess.run([tool("ip"), "netns", "add", probe], capture_output=True, text=True)
        if made.returncode != 0:
            return "a network namespace can't be made here: " + made.stderr.strip()
        try:
            bridge = subprocess.run(
                [tool("ip"), "-n", probe, "link", "add", "br0", "type", "bridge"], capture_output=True, text=True
            )
            return "" if bridge.returncode == 0 else "a bridge can't be made here: " + bridge.stderr.strip()
        finally:
            ip("netns", "delete", probe)

    # --- building and taking down

    def __enter__(self):
        try:
            self._build()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    def _namespace(self, name):
        ip("netns", "add", name)
        self._namespaces.append(name)
        ip("-n", name, "link", "set", "lo", "up")

    def _plug(self, namespace, interface, bridge, address, number):
        port = f"{'d' if bridge == 'data' else 'm'}{number}"
        ip("link", "add", port, "netns", self.switch, "type", "veth", "peer", "name", interface, "netns", namespace)
        ip("-n", self.switch, "link", "set", port, "master", bridge, "up")
        ip("-n", namespace, "address", "add", f"{address}/24", "dev", interface)
        ip("-n", namespace, "link", "set", interface, "up")

    def _build(self):
        self.laptop_home.mkdir(parents=True, exist_ok=True)
        self._namespace(self.switch)
        for bridge in ("data", "mgmt"):
            ip("-n", self.switch, "link", "add", bridge, "type", "bridge")
            ip("-n", self.switch, "link", "set", bridge, "up")
        self._namespace(self.laptop)
        self._plug(self.laptop, "mgmt0", "mgmt", "10.77.2.100", 100)
        keys = self.folder / "keys"
        keys.mkdir(parents=True, exist_ok=True)
        self._key(keys / "user_key")
        for host in self.hosts.values():
            self._namespace(host.namespace)
            self._plug(host.namespace, host.interface, "data", host.data_address, host.number)
            self._plug(host.namespace, "mgmt0", "mgmt", host.address, host.number)
            self._start_sshd(host)
        self._write_client()
        for host in self.hosts.values():
            self._await(host)

    @staticmethod
    def _key(path):
        subprocess.run([tool("ssh-keygen"), "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)

    def _start_sshd(self, host):
        host.home.mkdir(parents=True, exist_ok=True)
        if not (host.folder / "host_key").exists():
            self._key(host.folder / "host_key")
        login = {"LOCKSTEP_HOME": "{home}", **self.environment}
        words = {key: value.format(home=host.home, name=host.name) for key, value in login.items()}
        (host.folder / "sshd_config").write_text(
            server_config(host.folder, host.address, 22, self.folder / "keys/user_key.pub", words)
        )
        os.makedirs("/run/sshd", mode=0o755, exist_ok=True)
        script = 'hostname "$1"; exec "$2" -D -e -f "$3"'
        with open(host.folder / "sshd.log", "ab") as log:
            host.sshd = subprocess.Popen(
                [tool("ip"), "netns", "exec", host.namespace, tool("unshare"), "--uts", "sh", "-c", script, "sh"]
                + [host.name, tool("sshd"), str(host.folder / "sshd_config")],
                stderr=log,
                stdin=subprocess.DEVNULL,
            )

    def _write_client(self):
        known, config = "", ""
        for host in self.hosts.values():
            key = " ".join((host.folder / "host_key.pub").read_text().split()[:2])
            known += f"{host.address} {key}\n"
            config += f"Host {host.name}\n  HostName {host.address}\n"
        config += f"""Host *
  User root
  IdentityFile {self.folder}/keys/user_key
  IdentitiesOnly yes
  UserKnownHostsFile {self.folder}/known_hosts
  GlobalKnownHostsFile /dev/null
  StrictHostKeyChecking yes
"""
        (self.folder / "known_hosts").write_text(known)
        (self.folder / "ssh_config").write_text(config)

    def _await(self, host):
        for _ in range(100):
            probe = self.run(["ssh", *self.ssh_options(), "-oBatchMode=yes", host.name, "true"])
            if probe.returncode == 0:
                return
            time.sleep(0.1)
        raise RuntimeError(f"{host.name} can't be reached: {probe.stderr} {(host.folder / 'sshd.log').read_text()}")

    def close(self):
        for name in reversed(self._namespaces):
            for pid in self._pids(name):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, 9)
        for host in self.hosts.values():
            if host.sshd:
                host.sshd.wait()
        for name in reversed(self._namespaces):
            subprocess.run([tool("ip"), "netns", "delete", name], capture_output=True)
        self._namespaces = []

    # --- using it

    def ssh_options(self):
        return ["-F", str(self.folder / "ssh_config")]

    def laptop_environment(self, **more):
        """For programs that are to run on the laptop."""
        return dict(
            os.environ,
            LOCKSTEP_HOME=str(self.laptop_home),
            LOCKSTEP_SSH_OPTIONS=" ".join(self.ssh_options()),
            **more,
        )

    def command(self, command, where=None):
        """The command as it runs on the laptop, or on a host without ssh."""
        return [tool("ip"), "netns", "exec", self.hosts[where].namespace if where else self.laptop, *map(str, command)]

    def run(self, command, where=None, **options):
        return subprocess.run(self.command(command, where), capture_output=True, text=True, **options)

    def start(self, command, where=None, **options):
        return subprocess.Popen(
            self.command(command, where), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
        )

    def cut(self, name):
        """The host's data network only: its ssh keeps working."""
        ip("-n", self.switch, "link", "set", f"d{self.hosts[name].number}", "down")

    def restore(self, name):
        ip("-n", self.switch, "link", "set", f"d{self.hosts[name].number}", "up")

    def cut_ssh(self, name):
        ip("-n", self.switch, "link", "set", f"m{self.hosts[name].number}", "down")

    def restore_ssh(self, name):
        ip("-n", self.switch, "link", "set", f"m{self.hosts[name].number}", "up")

    def cut_laptop(self):
        """The laptop's only way: packets vanish, no connection is closed. The hosts keep reaching each other."""
        ip("-n", self.switch, "link", "set", "m100", "down")

    def restore_laptop(self):
        ip("-n", self.switch, "link", "set", "m100", "up")

    def cut_pair(self, one, other):
        """Nothing that `one` sends on its data network reaches `other` any more, as behind a firewall that drops: no answer, no
        refusal. All other ways stay."""
        host = self.hosts[one]
        ip("-n", host.namespace, "neigh", "replace", self.hosts[other].data_address, "lladdr", "02:00:00:00:00:99",
           "dev", host.interface, "nud", "permanent")

    def join_pair(self, one, other):
        host = self.hosts[one]
        ip("-n", host.namespace, "neigh", "del", self.hosts[other].data_address, "dev", host.interface)

    def throttle(self, name, rate):
        """What the host sends on its data network, e.g. "100mbit"; None lifts it."""
        tc = [tool("tc"), "-n", self.hosts[name].namespace, "qdisc"]
        device = ["dev", self.hosts[name].interface, "root"]
        subprocess.run([*tc, "del", *device], capture_output=True)
        if rate:
            subprocess.run([*tc, "add", *device, "tbf", "rate", rate, "burst", "128kb", "latency", "50ms"], check=True)

    def set_mtu(self, name, mtu):
        ip("-n", self.hosts[name].namespace, "link", "set", self.hosts[name].interface, "mtu", str(mtu))

    @staticmethod
    def _pids(namespace):
        listed = subprocess.run([tool("ip"), "netns", "pids", namespace], capture_output=True, text=True)
        return [int(pid) for pid in listed.stdout.split()]

    def processes(self, name):
        """Name by pid of what runs on the host, its listening sshd and its connections left out; seen from outside."""
        found = {}
        for pid in self._pids(self.hosts[name].namespace):
            with contextlib.suppress(OSError):
                word = pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
                if not word.startswith("sshd"):
                    found[pid] = word
        return found

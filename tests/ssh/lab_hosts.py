# SPDX-License-Identifier: MIT
"""Several "hosts", each a real sshd of its own: on loopback, or (root) each in a network namespace of its own."""

import os
import pathlib
import pwd
import shutil
import socket
import subprocess
import sys
import time
import unittest

from local_sshd import LocalSshd

SEARCH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"


def missing_programs(*names):
    return [name for name in names if not shutil.which(name, path=SEARCH)]


SOAK_ONLY = "with --soak only: "


def only_in_a_soak(why):
    return unittest.skipUnless("--soak" in sys.argv, SOAK_ONLY + why)


def run_tests(words, *programs):
    """unittest's own main() over real sshds, with these programs besides: the exit status, 77 (with the reason) where one lacks
    or a test was skipped for what this machine lacks: ctest must not count that as passed."""
    if missing := missing_programs("sshd", "ssh", "ssh-keygen", *programs):
        print(f"skipped: no {missing[0]} here; install {', '.join(('openssh-server', 'openssh-client', *programs))}")
        return 77
    result = unittest.main(argv=[sys.argv[0], *words], exit=False, verbosity=2).result
    if not result.wasSuccessful():
        return 1
    return 77 if any(not reason.startswith(SOAK_ONLY) for _, reason in result.skipped) else 0


class Host(LocalSshd):
    """A host of its own home; `runner` stands before sshd, and `address` is where it listens."""

    def __init__(self, folder, name, environment=None, address="127.0.0.1", runner=()):
        self.name, self.address, self.runner = name, address, list(runner)
        self.home = pathlib.Path(folder) / name / "home"
        self.home.mkdir(parents=True)
        super().__init__(pathlib.Path(folder) / name, dict({"LOCKSTEP_HOME": str(self.home)}, **(environment or {})))
        text = (self.folder / "sshd_config").read_text().replace("ListenAddress 127.0.0.1", f"ListenAddress {address}")
        (self.folder / "sshd_config").write_text(text)

    def known_host_line(self):
        return f"[{self.address}]:{self.port} " + " ".join((self.folder / "host_key.pub").read_text().split()[:2])

    def config(self, known_hosts, check="yes", identity=None):
        return f"""Host {self.name}
  HostName {self.address}
  Port {self.port}
  User {pwd.getpwuid(os.getuid()).pw_name}
  IdentityFile {identity or self.folder / "user_key"}
  IdentitiesOnly yes
  IdentityAgent none
  UserKnownHostsFile {known_hosts}
  GlobalKnownHostsFile /dev/null
  StrictHostKeyChecking {check}
"""

    def start(self):
        if os.geteuid() == 0:
            os.makedirs("/run/sshd", mode=0o755, exist_ok=True)
        with open(self.folder / "sshd.log", "ab") as log:
            self.process = subprocess.Popen(
                [*self.runner, shutil.which("sshd", path=SEARCH), "-D", "-e", "-f", str(self.folder / "sshd_config")],
                stderr=log,
                stdin=subprocess.DEVNULL,
            )
        for _ in range(200):
            if "Server listening" in (self.folder / "sshd.log").read_text():
                return
            time.sleep(0.02)
        raise RuntimeError("sshd did not listen: " + (self.folder / "sshd.log").read_text())


class Lab:
    """Hosts and a home here; `ctl` runs lockstepctl as somebody whose ssh configuration knows the hosts."""

    def __init__(self, folder, binaries):
        self.folder = pathlib.Path(folder)
        self.bin = pathlib.Path(binaries)
        self.here = self.folder / "here"
        self.here.mkdir()
        self.hosts = {}
        self.runner = []
        self.known_hosts = self.folder / "known_hosts"
        self.environment = dict(
            os.environ,
            LOCKSTEP_HOME=str(self.here),
            LOCKSTEP_SSH_OPTIONS=f"-F {self.folder}/ssh_config",
            PATH=SEARCH,
        )
        for name in ("LOCKSTEP_TRAINER", "LOCKSTEP_AGENT", "LOCKSTEP_TORCH", "SSH_AUTH_SOCK", "SSH_ASKPASS"):
            self.environment.pop(name, None)

    def add(self, name, environment=None, **more):
        host = Host(self.folder, name, environment, **more)
        self.hosts[name] = host
        host.start()
        self.write_config()
        return host

    def write_config(self, check="yes", known=None, identity=None):
        known = self.hosts.values() if known is None else known
        self.known_hosts.write_text("".join(host.known_host_line() + "\n" for host in known))
        (self.folder / "ssh_config").write_text(
            "".join(host.config(self.known_hosts, check, identity) for host in self.hosts.values())
        )

    def command(self, *words):
        return [*self.runner, str(self.bin / "lockstepctl"), *words]

    def ctl(self, *words, timeout=120, environment=None):
        """Without a terminal: setsid leaves none to ask on."""
        return subprocess.run(
            self.command(*words),
            env=dict(self.environment, **(environment or {})),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            start_new_session=True,
        )

    def stop(self):
        for host in self.hosts.values():
            host.stop()


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]

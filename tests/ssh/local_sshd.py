# SPDX-License-Identifier: MIT
"""A private sshd on loopback with its own keys, port and environment, and the client's side of it."""

import os
import pathlib
import pwd
import shutil
import socket
import subprocess
import time


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def server_config(folder, address, port, authorized_keys, environment):
    """The text of an sshd_config; `environment` is what every login sees. HOME is the test's own folder unless it is given: the start-up
    files of whoever runs the tests are no part of the host."""
    set_env = " ".join(f'"{key}={value}"' for key, value in {"HOME": str(folder), **environment}.items())
    return f"""Port {port}
ListenAddress {address}
HostKey {folder}/host_key
PidFile {folder}/sshd.pid
AuthorizedKeysFile {authorized_keys}
PasswordAuthentication no
KbdInteractiveAuthentication no
PubkeyAuthentication yes
PermitRootLogin prohibit-password
StrictModes no
UsePAM no
SetEnv {set_env}
"""


class LocalSshd:
    """`environment` is what a login on that "host" sees; `folder` holds keys and configuration."""

    def __init__(self, folder, environment):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        self.environment = environment
        self.process = None
        for name in ("host_key", "user_key"):
            self._make_key(name)
        shutil.copy(self.folder / "user_key.pub", self.folder / "authorized_keys")
        self._write_server_config()
        self.write_client_config()

    def _make_key(self, name):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.folder / name)], check=True)

    def _write_server_config(self):
        (self.folder / "sshd_config").write_text(
            server_config(self.folder, "127.0.0.1", self.port, self.folder / "authorized_keys", self.environment)
        )

    def write_client_config(self):
        host_key = " ".join((self.folder / "host_key.pub").read_text().split()[:2])
        (self.folder / "known_hosts").write_text(f"[127.0.0.1]:{self.port} {host_key}\n")
        (self.folder / "ssh_config").write_text(
            f"""Host labbox
  HostName 127.0.0.1
  Port {self.port}
  User {pwd.getpwuid(os.getuid()).pw_name}
  IdentityFile {self.folder}/user_key
  IdentitiesOnly yes
  UserKnownHostsFile {self.folder}/known_hosts
  GlobalKnownHostsFile /dev/null
  StrictHostKeyChecking yes
"""
        )

    @property
    def client_options(self):
        return f"-F {self.folder}/ssh_config"

    def start(self):
        if os.geteuid() == 0:
            os.makedirs("/run/sshd", mode=0o755, exist_ok=True)
        sshd = shutil.which("sshd", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
        with open(self.folder / "sshd.log", "ab") as log:
            self.process = subprocess.Popen(
                [sshd, "-D", "-e", "-f", str(self.folder / "sshd_config")], stderr=log, stdin=subprocess.DEVNULL
            )
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        raise RuntimeError("sshd did not listen: " + (self.folder / "sshd.log").read_text())

    def _descendants(self):
        """Processes of the connections: children of the listening sshd, and theirs that are sshd too."""
        parents = {}
        for entry in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                text = entry.read_text()
            except OSError:
                continue
            name = text[text.index("(") + 1 : text.rindex(")")]
            parents[int(entry.parent.name)] = (int(text[text.rindex(")") + 2 :].split()[1]), name)
        found, todo = [], [self.process.pid]
        while todo:
            parent = todo.pop()
            for pid, (ppid, name) in parents.items():
                if ppid == parent and name.startswith("sshd"):
                    found.append(pid)
                    todo.append(pid)
        return found

    def cut_links(self):
        """Ends every connection as a broken link does, without a word to what ran behind it."""
        links = self._descendants()
        for pid in links:
            try:
                os.kill(pid, 9)
            except ProcessLookupError:
                pass
        return len(links)

    def connections(self):
        return len(self._descendants())

    def replace_host_key(self):
        self.stop()
        for name in ("host_key", "host_key.pub"):
            (self.folder / name).unlink()
        self._make_key("host_key")
        self.start()

    def stop(self):
        if self.process:
            self.cut_links()
            self.process.kill()
            self.process.wait()
            self.process = None

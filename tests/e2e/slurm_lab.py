# SPDX-License-Identifier: MIT
"""A real Slurm of two nodes on this machine. Each node is a network and mount namespace of its own, with its own name, address,
loopback, /tmp and cores, so that nothing meets over 127.0.0.1 or a local socket by chance; the controller is outside, on the
bridge between them. Everything lies in one folder and goes away with stop(). Needs root, Slurm's and munge's programs, ip."""

import contextlib
import os
import pathlib
import random
import shutil
import signal
import subprocess
import time

PROGRAMS = ("slurmctld", "slurmd", "munged", "munge", "srun", "sbatch", "squeue", "scancel", "scontrol", "ip", "unshare", "nsenter")
ROOT = pathlib.Path(__file__).resolve().parents[2]  # the nodes see it, though it may lie below /tmp
SEARCH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"


def why_not():
    """The sentence that says what is missing here, or nothing."""
    missing = [name for name in PROGRAMS if not shutil.which(name, path=SEARCH)]
    if missing:
        return f"no {', '.join(missing)} here: install slurmctld slurmd slurm-client munge iproute2"
    if os.geteuid() != 0:
        return "two nodes in namespaces of their own need root"
    probe = subprocess.run(["unshare", "--net", "--uts", "--mount", "true"], capture_output=True, text=True)
    return "" if probe.returncode == 0 else f"namespaces can't be made here: {probe.stderr.strip()}"


def run(*words, **more):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **more)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, words))}: {done.stderr.strip()}")
    return done.stdout


class SlurmLab:
    """`environment()` is what Slurm's programs, and ours that call them, need."""

    def __init__(self, folder, nodes=2, cpus=None, interfaces=None):
        """`cpus`: how many Slurm assumes for each node (1); `interfaces`: name of each node's interface (eth0)."""
        self.cpus, self.interfaces = cpus or [1] * nodes, interfaces or ["eth0"] * nodes
        self.folder = pathlib.Path(folder)  # not below /tmp: each node has one of its own
        self.nodes = [f"n{i + 1}" for i in range(nodes)]
        self.tag = f"{random.SystemRandom().randrange(1 << 24):06x}"
        number = random.SystemRandom().randrange(256)
        self.net = f"10.{200 + number % 50}.{number}"
        self.port = random.SystemRandom().randrange(20000, 29000)
        self.processes, self.holders = [], {}

    def environment(self, **more):
        return {**os.environ, "PATH": SEARCH, "SLURM_CONF": str(self.folder / "slurm.conf"), **more}

    # -- building ---------------------------------------------------------------------------------------------------

    def start(self):
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            for name in ("state", "log", "munge", *self.nodes):
                (self.folder / name).mkdir(exist_ok=True)
            self._network()
            self._munge()
            self._configure()
            self._daemons()
        except BaseException:
            self.stop()
            raise
        return self

    def address(self, node):
        return f"{self.net}.{self.nodes.index(node) + 1}"

    def _network(self):
        bridge = f"lsb{self.tag}"
        run("ip", "link", "add", bridge, "type", "bridge")
        run("ip", "address", "add", f"{self.net}.254/24", "dev", bridge)
        run("ip", "link", "set", bridge, "up")
        hosts = "127.0.0.1 localhost\n" + "".join(f"{self.address(n)} {n}\n" for n in self.nodes)
        (self.folder / "hosts").write_text(hosts + f"{self.net}.254 {os.uname().nodename}\n")
        for i, node in enumerate(self.nodes):
            # A process that does nothing holds the node's namespaces; what runs there enters them.
            script = (f"hostname {node}; mount --make-rprivate /; mount --bind {self.folder}/hosts /etc/hosts; "
                      f"mkdir -p {self.folder}/checkout; mount --bind '{ROOT}' {self.folder}/checkout; "
                      f"mount -t tmpfs -o mode=1777 none /tmp; "
                      f"[ -d '{ROOT}' ] || {{ mkdir -p '{ROOT}'; mount --bind {self.folder}/checkout '{ROOT}'; }}; "
                      f"echo ready; exec sleep infinity")
            holder = subprocess.Popen(["unshare", "--net", "--uts", "--mount", "--", "sh", "-c", script],
                                      stdout=subprocess.PIPE, text=True, start_new_session=True)
            self.holders[node] = holder
            if holder.stdout.readline() != "ready\n":
                raise RuntimeError(f"the namespaces of {node} could not be set up")
            here, there = f"lsv{self.tag}{i}", self.interfaces[i]
            run("ip", "link", "add", here, "type", "veth", "peer", "name", there, "netns", str(holder.pid))
            run("ip", "link", "set", here, "master", bridge, "up")
            self.inside(node, "ip", "address", "add", f"{self.address(node)}/24", "dev", there)
            self.inside(node, "ip", "link", "set", there, "up")
            self.inside(node, "ip", "link", "set", "lo", "up")

    def inside(self, node, *words):
        """Runs a command on a node and gives its output."""
        return run("nsenter", "-t", self.holders[node].pid, "--net", "--uts", "--mount", "--", *words)

    def _munge(self):
        folder = self.folder / "munge"
        (folder / "key").write_bytes(os.urandom(1024))
        (folder / "key").chmod(0o400)
        folder.chmod(0o711)
        # One for all: its socket is a file that every node sees.
        self._spawn("munged", [shutil.which("munged", path=SEARCH), "--foreground", "--force", f"--key-file={folder}/key",
                               f"--socket={folder}/socket", f"--pid-file={folder}/pid", f"--log-file={folder}/log",
                               f"--seed-file={folder}/seed"])
        self._wait(lambda: (folder / "socket").exists(), 10, "munged's socket")

    def _configure(self):
        f, host = self.folder, os.uname().nodename.split(".")[0]
        # Each node has a core of its own where there are enough, so that ranks on two nodes don't share one.
        allowed = sorted(os.sched_getaffinity(0))
        self.cores = {node: [allowed[(i + k) % len(allowed)] for k in range(cpus)]
                      for i, (node, cpus) in enumerate(zip(self.nodes, self.cpus))}
        lines = [f"NodeName={node} NodeHostname={node} NodeAddr={self.address(node)} Port=6818 CPUs={cpus} RealMemory=512 State=UNKNOWN"
                 for node, cpus in zip(self.nodes, self.cpus)]
        (f / "slurm.conf").write_text(f"""ClusterName=lockstep
SlurmctldHost={host}({self.net}.254)
SlurmctldPort={self.port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={f}/munge/socket
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
PlugStackConfig=/dev/null
StateSaveLocation={f}/state
SlurmdSpoolDir={f}/%n
SlurmctldPidFile={f}/slurmctld.pid
SlurmdPidFile={f}/%n.pid
SlurmdParameters=config_overrides
SlurmctldLogFile={f}/log/slurmctld.log
SlurmdLogFile={f}/log/%n.log
ReturnToService=2
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,sched_interval=2,sched_min_interval=0,batch_sched_delay=0
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobRequeue=1
MinJobAge=60
KillWait=20
CompleteWait=0
{chr(10).join(lines)}
PartitionName=main Nodes={','.join(self.nodes)} Default=YES MaxTime=60 State=UP
""")

    def _daemons(self):
        self._spawn("slurmctld", [shutil.which("slurmctld", path=SEARCH), "-D"])
        for node in self.nodes:
            cores = ",".join(map(str, self.cores[node]))
            self._spawn(node, ["nsenter", "-t", str(self.holders[node].pid), "--net", "--uts", "--mount", "--", "taskset", "-c",
                               cores, shutil.which("slurmd", path=SEARCH), "-D", "-N", node])
        self._wait(self._idle, 40, "both nodes to be idle")

    def _idle(self):
        with contextlib.suppress(RuntimeError):
            states = run("sinfo", "-h", "-N", "-o", "%T", env=self.environment()).split()
            return len(states) == len(self.nodes) and all(state == "idle" for state in states)

    def _spawn(self, name, words):
        log = open(self.folder / "log" / f"{name}.out", "ab")
        self.processes.append(subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.environment(),
                                               start_new_session=True))
        log.close()

    # -- using ------------------------------------------------------------------------------------------------------

    def call(self, *words, **more):
        return run(*words, env=self.environment(**more))

    def _wait(self, condition, seconds, what):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            value = condition()
            if value:
                return value
            dead = [p.args[0] for p in self.processes if p.poll() is not None]
            if dead:
                raise RuntimeError(f"{dead[0]} ended: {self.logs()}")
            time.sleep(0.05)
        raise RuntimeError(f"waited {seconds} s for {what}: {self.logs()}")

    def logs(self):
        texts = []
        for path in sorted((self.folder / "log").glob("*")):
            texts.append(f"--- {path.name}\n" + path.read_text(errors="replace")[-1500:])
        return "\n".join(texts)

    def processes_inside(self):
        """Pids in the nodes' namespaces, the daemons and holders left out."""
        own = {os.readlink(f"/proc/{holder.pid}/ns/net") for holder in self.holders.values()}
        found = {}
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if os.readlink(entry / "ns/net") in own:
                    command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
                    if command and not command.startswith(("sleep infinity", "sh -c hostname")) and "slurmd" not in command:
                        found[int(entry.name)] = command
        return found

    # -- taking down ------------------------------------------------------------------------------------------------

    def stop(self):
        with contextlib.suppress(RuntimeError, OSError):
            self.call("scancel", "--user", str(os.getuid()))
        for process in reversed(self.processes):
            process.send_signal(signal.SIGTERM)
        end = time.monotonic() + 2
        for process in reversed(self.processes):
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0.1, end - time.monotonic()))
            if process.poll() is None:
                process.kill()
                process.wait()
        for pid in self.processes_inside():  # steps whose daemons have gone
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for holder in self.holders.values():
            holder.kill()
            holder.wait()
            holder.stdout.close()
        for i in range(len(self.nodes)):
            subprocess.run(["ip", "link", "delete", f"lsv{self.tag}{i}"], capture_output=True)
        subprocess.run(["ip", "link", "delete", f"lsb{self.tag}"], capture_output=True)
        self.processes, self.holders = [], {}
        shutil.rmtree(self.folder, ignore_errors=True)

"""Shows any training script in Lockstep: copy it beside yours (examples/few_lines.py). Without LOCKSTEP_FRAMES, from
lockstep-agent or lockstepctl listen, it does nothing; when nobody reads, training goes on. What is in no phase is other.
On CUDA the host's clock sees kernels launched, not run: their time falls to what waits for them next (other, where the
losses are read each 100 ms). Run(sync=torch.cuda.synchronize) waits in each phase: true times, but no overlap."""
import contextlib, json, os, socket, sys, threading  # noqa: E401
from time import monotonic_ns as now, sleep, time_ns


class Run:
    def __init__(self, sync=lambda: None, **about):  # about: method, backend, workers, batch_size, ... as far as known
        self.to, self.stopped, self._again = os.environ.get("LOCKSTEP_FRAMES", ""), False, 0
        self.on, self.tcp = self.to.startswith(("unix:", "tcp:")), self.to.startswith("tcp:")
        self.rank, self._sync, self._lock, self._link = int(os.environ.get("RANK", 0)), sync, threading.Lock(), None
        self._rseq, self._steps, self._last, self.times, self._heard, self.rest_of = 0, 0, now(), {}, b"", str
        self.send("state", state="init", pid=os.getpid(), host=socket.gethostname(), about=about,
                  world_size=int(os.environ.get("WORLD_SIZE", 1)), device=os.environ.get("LOCKSTEP_DEVICE"),
                  cores=",".join(map(str, os.sched_getaffinity(0))))
        threading.Thread(target=self._beat, daemon=True).start()

    def _beat(self):  # sees a stop, too, while the script is long about something
        while self.on and not sleep(1):
            self.send("heartbeat")

    def send(self, kind, **body):  # never waits, never raises; what is None is unknown and left out
        try:
            with self._lock:
                self.on and self._exchange(kind, {key: value for key, value in body.items() if value is not None})
        except (OSError, TypeError, ValueError) as error:  # a listener elsewhere is tried again; missing numbers tell
            self.on, self._link, self._again = self.tcp and isinstance(error, OSError), None, now() + 5 * 10**9
            said = self._heard.decode(errors="replace")[-300:] or error  # why it was refused
            print(f"lockstep: rank {self.rank} is no longer shown ({said}); training goes on", file=sys.stderr)

    def _exchange(self, kind, body):
        stamp = {"rank": self.rank, "rseq": self._rseq, "mono_ns": now(), "wall_us": time_ns() // 1000}
        self._rseq += 1
        if not self._link and now() < self._again:
            return
        if not self._link:
            host, _, port = self.to[6:].rpartition(":")
            self._link = socket.create_connection((host, port), 0.5) if self.tcp else socket.socket(socket.AF_UNIX)
            self.tcp or self._link.connect(self.to[5:])
            who = {"rank": self.rank, "pid": os.getpid(), "name": socket.gethostname(), "token": os.getenv("LOCKSTEP_FRAMES_TOKEN", "")}
            self._out, self._heard = json.dumps({"type": "hello", "protocol": "1.0", "role": "rank"} | who).encode() + b"\n", b""
        line = json.dumps({"type": kind} | stamp | body, default=float)
        if kind != "state":  # JSON has no such numbers
            line = line.replace("NaN", '"NaN"').replace("-Infinity", '"-Inf"').replace("Infinity", '"Inf"')
        self._out += line.encode() + b"\n"
        self._link.settimeout(2 if body.get("state") in ("done", "stopped") else 0)  # the last one may wait
        with contextlib.suppress(BlockingIOError):
            self._out = self._out[self._link.send(self._out):]
            self._link.setblocking(False)
            self._heard += self._link.recv(4096)
        self.stopped |= b'"command":"stop"' in self._heard

    def epoch(self, epoch, loader):  # gives the loader's batches; the time in the loader is the phase load
        self.send("state", state="training", epoch=epoch, steps_per_epoch=getattr(loader, "__len__", lambda: None)())
        self._epoch, self._samples, self._sums, self._window, self._taken, self._sent = epoch, 0, {}, {}, [], 0
        self.times, steps, start = {}, self._steps, now()
        self._last = start
        for batch in loader:
            self.lap("load")
            yield batch
            self.lap("other")
        self.lap("load")
        self._flush(force=True)
        self.lap("other", self._sums)
        self.send("epoch", epoch=epoch, start_mono_ns=start, duration_s=(self._last - start) / 1e9,
                  steps=self._steps - steps, samples=self._samples, phases=self._sums)

    @contextlib.contextmanager
    def phase(self, name):
        self.lap("other")
        yield
        self.lap(self.rest_of(name))  # with lockstep_ddp the rest of backward is exposed

    def lap(self, name, *sums):  # all time since the last lap; with sums it is a step's last one
        self._sync()
        self._last, last = now(), self._last
        self.times[name] = self.times.get(name, 0) + self._last - last
        for known in sums:
            for phase, ns in self.times.items():
                entry = known.get(phase, {"sum_s": 0, "max_s": 0})
                known[phase] = {"sum_s": entry["sum_s"] + ns / 1e9, "max_s": max(entry["max_s"], ns / 1e9)}
        self.times = {} if sums else self.times

    def step(self, loss, samples):  # after each batch; the loss is the mean over its samples
        if self.on:
            self.lap("other", self._sums, self._window)
            self._steps, self._samples = self._steps + 1, self._samples + samples
            self._taken.append((loss.detach() if hasattr(loss, "detach") else loss, samples))
            if now() - self._sent > 1e8:
                self._flush()

    def _flush(self, force=False):
        self._sent, self._taken = now(), [(float(loss), samples) for loss, samples in self._taken]
        if self._taken and (force or not self._out):  # else the last frame has not left yet: the window grows
            losses, samples = [loss for loss, _ in self._taken], sum(samples for _, samples in self._taken)
            mean = sum(loss * samples for loss, samples in self._taken) / max(samples, 1)
            low, high = (min(losses), max(losses)) if mean == mean else (mean, mean)
            self.send("steps", epoch=self._epoch, first_step=self._steps - len(losses), last_step=self._steps - 1,
                      count=len(losses), samples=samples, phases=self._window,
                      loss={"min": low, "mean": mean, "max": high, "last": losses[-1]})
            self._taken, self._window = [], {}

    def close(self):  # at the end; gives the script's exit code: 130 after a stop, else 0
        self.send("state", state="stopped" if self.stopped else "done")
        return 130 if self.stopped else 0

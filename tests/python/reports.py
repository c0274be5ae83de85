# SPDX-License-Identifier: MIT
"""Ranks that somebody else has started: the frames that they report, and the programs that take them."""
import json
import subprocess

import support
from support import Case


class Reports(Case):
    def setUp(self):
        super().setUp()
        self.children = []

    def tearDown(self):
        for child in self.children:
            if child.poll() is None:
                child.kill()
            child.wait()
            for pipe in (child.stdout, child.stderr):
                pipe and pipe.close()
        super().tearDown()

    def spawn(self, *words, **environment):
        child = subprocess.Popen([str(word) for word in words], env={**self.environment, **environment}, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.children.append(child)
        return child

    def listen(self, *words):
        """A listening agent, its address and its token."""
        agent = self.spawn(support.BIN / "lockstep-agent", "listen", *words)
        line = json.loads(agent.stdout.readline())
        self.assertEqual(line["type"], "listening")
        return agent, line["address"], line.get("token", "")

    def ended(self, child, code=0, seconds=60):
        out, err = child.communicate(timeout=seconds)
        self.assertEqual(child.returncode, code, out + err)
        return out, err

    def frame(self, rank, rseq, **body):
        stamp = {"rank": rank, "rseq": rseq, "mono_ns": 1 + rseq * 10**8, "wall_us": 1_700_000_000_000_000 + rseq * 100_000}
        return json.dumps({"type": body.pop("type")} | stamp | body, separators=(",", ":")) + "\n"

    def story(self, rank, world, windows=5):
        zero = {"sum_s": 0.1, "max_s": 0.1}
        yield self.frame(rank, 0, type="state", state="init", world_size=world, host=f"box{rank}", device="cpu:0", about={"method": "ddp"})
        yield self.frame(rank, 1, type="state", state="training", epoch=1)
        for i in range(windows):
            yield self.frame(rank, 2 + i, type="steps", epoch=1, first_step=i, last_step=i, count=1, samples=32,
                             loss={"min": 1, "mean": 1, "max": 1, "last": 1}, phases={"forward": zero})
        yield self.frame(rank, 2 + windows, type="epoch", epoch=1, duration_s=0.1 * windows, samples=32 * windows, steps=windows,
                         start_mono_ns=1, phases={"forward": {"sum_s": 0.1 * windows, "max_s": 0.1}})
        yield self.frame(rank, 3 + windows, type="state", state="done")

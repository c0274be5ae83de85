#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The clock of a run that takes turns stands still while another run has its turn."""
import json
import mmap
import os
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import support

CODE = """
import sys, time
from lockstep.clock import clock_ns, paused_ns
for line in sys.stdin:
    before = time.monotonic_ns()
    now = clock_ns()
    print(now - before + paused_ns(), time.monotonic_ns() - before, paused_ns(), flush=True)
"""


CLOSING = CODE.replace("for line", """import os
os.closerange(3, 256)
others = [open(sys.executable, "rb") for _ in range(8)]
for line""")


class Clock(unittest.TestCase):
    def asked(self, path, changes, code=CODE):
        """By how much the clock is behind, and between which bounds that may lie, after each change."""
        environment = {**os.environ, "PYTHONPATH": str(support.RESOURCES), "LOCKSTEP_PAUSED": path}
        process = subprocess.Popen([sys.executable, "-c", code], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        with process:
            for change in changes:
                change()
                process.stdin.write("\n")
                process.stdin.flush()
                yield [int(word) for word in process.stdout.readline().split()]
            process.stdin.close()

    def test_pauses_are_left_out_as_soon_as_they_are_counted(self):
        with tempfile.NamedTemporaryFile() as file:
            file.write(struct.pack("@Q", 0))
            file.flush()
            with mmap.mmap(file.fileno(), 8) as paused:
                totals = [0, 250_000_000, 3_600_000_000_000]
                changes = [lambda total=total: paused.__setitem__(slice(0, 8), struct.pack("@Q", total)) for total in totals]
                for (behind, took, known), total in zip(self.asked(file.name, changes), totals):
                    self.assertEqual(known, total)
                    self.assertTrue(0 <= behind <= took, (behind, took))

    def test_of_a_file_that_is_cut_short_the_last_sum_holds_until_the_next_one(self):
        with tempfile.NamedTemporaryFile() as file:
            changes = [lambda bytes=bytes: Path(file.name).write_bytes(bytes) for bytes in
                       (struct.pack("@Q", 250_000_000), b"", b"\1\2\3", struct.pack("@Q", 500_000_000))]
            Path(file.name).write_bytes(struct.pack("@Q", 0))
            sums = [known for _, _, known in self.asked(file.name, changes)]
            self.assertEqual(sums, [250_000_000, 250_000_000, 250_000_000, 500_000_000])

    def test_pauses_are_left_out_after_a_script_has_closed_what_it_did_not_open(self):
        with tempfile.NamedTemporaryFile() as file:
            changes = [lambda total=total: Path(file.name).write_bytes(struct.pack("@Q", total)) for total in (5, 250_000_000)]
            Path(file.name).write_bytes(struct.pack("@Q", 0))
            self.assertEqual([known for _, _, known in self.asked(file.name, changes, CLOSING)], [5, 250_000_000])

    def test_without_such_a_file_it_is_the_machine_s(self):
        for path in ("", "/nowhere/paused"):
            ((behind, took, known),) = self.asked(path, [lambda: None])
            self.assertEqual(known, 0)
            self.assertTrue(0 <= behind <= took)

    def test_a_rank_says_that_it_leaves_pauses_out_where_it_does(self):
        for path, says in (self.id(), None), ("", None), (None, True):
            with self.subTest(path), tempfile.TemporaryDirectory() as folder, tempfile.NamedTemporaryFile() as file:
                file.write(struct.pack("@Q", 0))
                file.flush()
                environment = {**os.environ, "PYTHONPATH": str(support.RESOURCES), "LOCKSTEP_FRAMES": f"file:{folder}",
                               "LOCKSTEP_PAUSED": file.name if path is None else path}
                subprocess.run([sys.executable, "-c", "import lockstep; lockstep.Run().close()"], env=environment, check=True)
                init = json.loads((Path(folder) / "rank-0.ndjson").read_text().splitlines()[0])
                self.assertEqual((init["state"], init.get("leaves_pauses_out")), ("init", says))


if __name__ == "__main__":
    unittest.main()

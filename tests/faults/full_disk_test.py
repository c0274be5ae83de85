#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A disk that is full under a checkpoint: a small tmpfs in a mount namespace of its own, with the real trainer. Argument: its program."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from small_data import write_small_data  # noqa: E402

TRAINER = None
IN_NAMESPACE = """disk="$1" copy="$2"; shift 2
mount -t tmpfs -o size=800k tmpfs "$disk" || exit 9
"$@"; code=$?
cp -r "$disk/checkpoints" "$copy"; exit $code"""  # one checkpoint of LeNet takes 492 KiB


class FullDisk(unittest.TestCase):
    def test_a_checkpoint_that_does_not_fit_leaves_the_one_before_whole(self):
        with tempfile.TemporaryDirectory(prefix="lockstep-faults-") as name:
            folder = pathlib.Path(name)
            (folder / "disk").mkdir()
            trainer = [TRAINER, f"--data-dir={write_small_data(folder / 'data', train=960, test=301)}", "--train-samples=960", "--batch-size=48"]
            full = subprocess.run(["unshare", "-m", "sh", "-c", IN_NAMESPACE, "sh", folder / "disk", folder / "copy", *trainer, "--epochs=3",
                                   f"--checkpoint-dir={folder}/disk/checkpoints"], capture_output=True, text=True)
            self.assertEqual(full.returncode, 1, full.stderr)
            self.assertIn("checkpoint-000000000040.safetensors: No space left on device", full.stderr)
            self.assertEqual([path.name for path in (folder / "copy").iterdir()], ["checkpoint-000000000020.safetensors"])
            resumed = subprocess.run([*trainer, "--epochs=3", f"--checkpoint-dir={folder}/copy", "--resume"], capture_output=True, text=True)
            self.assertEqual(resumed.returncode, 0, resumed.stderr)
            self.assertIn("goes on from", resumed.stderr)
            self.assertIn("checkpoint-000000000020.safetensors", resumed.stderr)


def main():
    global TRAINER
    TRAINER = sys.argv.pop(1)
    if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True).returncode != 0:
        print("skipped: a small disk takes root and a mount namespace")
        return 77
    unittest.main(verbosity=2)


if __name__ == "__main__":
    sys.exit(main())

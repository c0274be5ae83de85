#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""convnet over two hosts throttled to 1 Gbit/s and to 100 Mbit/s: the verdict says that communication ate the gain, and the
forecast that was made before is within 20 % of the measured step. Long."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "bench"))
import slow_link  # noqa: E402
from netns_lab import Lab  # noqa: E402

BINARIES = ""
NEAR = 0.20


class SlowLink(unittest.TestCase):
    def assert_communication_ate_the_gain(self, rate):
        result = slow_link.measure(BINARIES, rate)
        print(f"== {rate}\n{result.table()}", file=sys.stderr)
        self.assertRegex(result.runs, r"The loss of DDP on 2 devices is communication")
        self.assertLess(abs(result.forecast["outcome"]["error"]), NEAR, result.table() + "\n" + result.lab)
        return result

    def test_at_100_mbit_per_second(self):
        result = self.assert_communication_ate_the_gain("100mbit")
        self.assertLess(result.forecast["speed_up"]["high"], 1, "the forecast, too, says that it does not pay")

    def test_at_1_gbit_per_second(self):
        self.assert_communication_ate_the_gain("1gbit")


if __name__ == "__main__":
    BINARIES = pathlib.Path(sys.argv[1]).resolve()
    if reason := Lab.missing():
        print("skipped: " + reason)
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Two real ranks over Gloo, one of which is stopped: the run itself names it, lockstepctl shows it, and the run goes on with it."""
import os
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
from one_machine import OneMachine, main  # noqa: E402
from waiting import wait_for  # noqa: E402


class Hang(OneMachine):
    def alert(self, run, kind):
        return next((frame["message"] for frame in self.frames(run, "alert") if frame["kind"] == kind), None)

    def test_a_rank_that_is_stopped_is_named_and_the_run_goes_on_with_it(self):
        experiment = self.begin(epochs=400)
        self.addCleanup(self.ctl, "stop", experiment)
        run = wait_for(lambda: self.only_run(experiment), 60, "the run's id")
        ranks = lambda: [frame["rank"] for frame in self.frames(run, "steps")]
        wait_for(lambda: min(ranks().count(0), ranks().count(1)) >= 3, 60, "steps of both ranks, by which those are timed")
        pid = next(frame["pid"] for frame in self.frames(run, "state") if frame.get("rank") == 1 and "pid" in frame)
        os.kill(pid, signal.SIGSTOP)
        self.addCleanup(os.kill, pid, signal.SIGCONT)
        message = wait_for(lambda: self.alert(run, "hang"), 60, "the alert")
        self.assertRegex(message, r"^rank 0 has waited for \d+ s in collective \d+ \(step \d+, phase (exposed|load|backward)\); "
                                  r"rank 1 has not come: ")
        self.assertIn("its process is stopped (by SIGSTOP or a debugger)", message)
        places = wait_for(lambda: [frame["message"] for frame in self.frames(run, "log") if frame.get("source") == "stack"][1:], 20,
                          "where rank 0 is, unasked")
        self.assertRegex(places[0], r"^  step \d+, phase (exposed|load|backward) for \d+ s, in collective \d+ for \d+ s$")
        self.assertIn("! " + message, self.ctl("show", run))
        os.kill(pid, signal.SIGCONT)
        wait_for(lambda: self.alert(run, "hang_over"), 60, "that the ranks go on")


if __name__ == "__main__":
    main()

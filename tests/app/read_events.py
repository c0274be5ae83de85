#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads event files with TensorBoard itself. For each line on stdin it reloads the folder as TensorBoard's server does, and prints one
line of JSON: {run: {tag: [[wall time, step, value], ...]}}."""
import json
import logging
import math
import sys

from tensorboard.backend.event_processing import event_multiplexer

logging.disable(logging.WARNING)
events = event_multiplexer.EventMultiplexer(size_guidance={"scalars": 0})
for _ in sys.stdin:
    events.AddRunsFromDirectory(sys.argv[1])
    events.Reload()
    out = {}
    for run, kinds in events.Runs().items():
        out[run] = {tag: [[one.wall_time, one.step, one.value if math.isfinite(one.value) else str(one.value)]
                          for one in events.Scalars(run, tag)] for tag in kinds["scalars"]}
    print(json.dumps(out), flush=True)

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How fast TensorBoard's EventAccumulator reads scalars: the same 22 values a step that bench_points' frames carry.

    tensorboard_points.py POINTS REPEATS each|together      prints points a second, by the clock and by processor time, one reading a line

each: an event a value, as SummaryWriter.add_scalar writes them; together: an event a step with all its values.
Needs a Python with tensorboard (.cache/peers). The file is written by TensorBoard's own record writer, once.
"""
import math
import pathlib
import sys
import tempfile
import time

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.record_writer import RecordWriter

PHASES = ("load", "h2d", "forward", "backward", "exposed", "optimizer", "other", "comm", "wait")
TAGS = [f"loss/{part}" for part in ("min", "mean", "max", "last")] + [
    f"{phase}/{part}" for phase in PHASES for part in ("sum_s", "max_s")]


def write(folder, points, together):
    with open(pathlib.Path(folder) / "events.out.tfevents.1767323045.bench", "wb") as file:
        writer = RecordWriter(file)
        writer.write(Event(wall_time=1767323045.0, file_version="brain.Event:2").SerializeToString())
        for step in range(points // len(TAGS)):
            loss = 0.2 + 2 * math.exp(-step / 5e4)
            values = [Summary.Value(tag=tag, simple_value=loss) for tag in TAGS]
            for part in [values] if together else [[value] for value in values]:
                event = Event(wall_time=1767323045.0 + step / 10, step=25 * step, summary=Summary(value=part))
                writer.write(event.SerializeToString())
        writer.flush()


def main():
    points, repeats = int(sys.argv[1]), int(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        write(folder, points, sys.argv[3] == "together")
        for _ in range(repeats):
            begun, spent = time.monotonic(), time.process_time()
            accumulator = EventAccumulator(folder, size_guidance={"scalars": 0})
            accumulator.Reload()
            took, spent = time.monotonic() - begun, time.process_time() - spent
            read = sum(len(accumulator.Scalars(tag)) for tag in accumulator.Tags()["scalars"])
            if read != points // len(TAGS) * len(TAGS):
                raise SystemExit(f"tensorboard_points: {read} of {points} points were read")
            print(read / took, read / spent, flush=True)


if __name__ == "__main__":
    main()

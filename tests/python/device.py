# SPDX-License-Identifier: MIT
"""A GPU for the tests of lockstep.stream_calls, by a clock that is set by hand: it does what it is given one after another, each in the time
that a test says. It stands for the module torch.cuda, too."""

MS = 1_000_000


class Event:
    def __init__(self, device):
        self.device, self.reached_ns = device, None

    def record(self, stream):
        self.reached_ns = max(stream.free_ns, self.device.clock())

    def query(self):
        return self.device.answers and self.device.clock() >= self.reached_ns

    def elapsed_time(self, later):
        assert self.query() and later.query(), "PyTorch raises where an event has not been reached"
        return (later.reached_ns - self.reached_ns) / MS


class Device:
    def __init__(self, clock):
        self.clock, self.free_ns, self.answers, self.events = clock, 0, True, 0

    def give(self, ms):
        self.free_ns = max(self.free_ns, self.clock()) + ms * MS

    def current_stream(self, _):
        return self

    def Event(self, enable_timing):
        assert enable_timing
        self.events += 1
        return Event(self)

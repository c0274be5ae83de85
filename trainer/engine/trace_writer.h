// SPDX-License-Identifier: MIT
#pragma once
#include <thread>

#include "trainer/report/trace.h"

namespace lockstep::trainer {

/// Writes recorded traces to disk on a thread of its own, so that training doesn't wait for the disk. Traces go
/// where LOCKSTEP_TRACES says (the agent sets it), else into the folder `traces` where the rank was started.
class TraceWriter {
public:
    /// `trace` must outlive this. Waits for the previous trace first. Logs a failure.
    void write(Trace &trace, int rank);
    /// Waits for what is being written.
    void finish() { m_thread = {}; }

private:
    std::jthread m_thread;
};

} // namespace lockstep::trainer

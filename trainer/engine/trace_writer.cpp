// SPDX-License-Identifier: MIT
#include "trainer/engine/trace_writer.h"

#include <pthread.h>

#include <cstdlib>
#include <string>

#include "ipc/logging.h"

namespace lockstep::trainer {
namespace {

std::string traceFolder() {
    const char *folder = std::getenv("LOCKSTEP_TRACES");
    return folder && *folder ? folder : "traces";
}

} // namespace

void TraceWriter::write(Trace &trace, int rank) {
    finish();
    m_thread = std::jthread([recorded = trace.take(), &trace, folder = traceFolder(), rank] {
        pthread_setname_np(pthread_self(), "trace");
        if (auto written = trace.write(recorded, folder); !written)
            return logWarning("the trace is lost: " + written.error().message());
        logInfo("a trace of " + std::to_string(recorded.steps) + " steps is in " + folder + "/rank-" +
                std::to_string(rank) + ".json");
        if (recorded.lost > 0)
            logWarning("the trace lacks " + std::to_string(recorded.lost) + " spans for which there was no room");
    });
}

} // namespace lockstep::trainer

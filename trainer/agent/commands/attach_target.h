// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "ipc/run_folder.h"
#include "ipc/unix_socket.h"

namespace lockstep::agent {

/// A run found by its id, with a connection to its agent if that is alive.
struct AttachTarget {
    RunFolder folder;
    Fd socket; ///< invalid: the run has ended or its agent has died

    /// Waits a moment for an agent that is just starting or ending. An unknown id is a BadArgument error.
    static Result<AttachTarget> find(const std::string &runId);
};

} // namespace lockstep::agent

// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "ipc/run_folder.h"
#include "ipc/unix_socket.h"

namespace lockstep::agent {

/// A run by its id, and its agent's socket when it lives.
struct AttachTarget {
    RunFolder folder;
    Fd socket; ///< invalid: the run has ended, or its agent has died

    /// Waits a moment for an agent that is just starting or ending. Unknown ids are a BadArgument error.
    static Result<AttachTarget> find(const std::string &runId);
};

} // namespace lockstep::agent

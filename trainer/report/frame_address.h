// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstdint>
#include <string>

#include "ipc/error.h"
#include "ipc/unix_socket.h"

namespace lockstep::trainer {

/// Whether frames go to a listener elsewhere: tcp://HOST:PORT.
[[nodiscard]] bool isListener(const std::string &address);

struct ListenerLink {
    Fd fd;                      ///< greeted, non-blocking
    std::uint64_t nextRseq = 0; ///< the first frame of this process that the listener lacks
};
/// Connects and says hello with the token of LOCKSTEP_FRAMES_TOKEN. Blocks for `limit` at most. BadArgument: an invalid
/// address, nobody listening, or the listener's reason for refusing.
[[nodiscard]] Result<ListenerLink> connectToListener(const std::string &address, int rank,
                                                     std::chrono::milliseconds limit);

/// The file for a rank's frames: the address itself, or rank-R.ndjson when that is a folder (one that ends in '/' is made).
[[nodiscard]] Result<std::string> frameFile(const std::string &address, int rank);

} // namespace lockstep::trainer

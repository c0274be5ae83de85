// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstdint>
#include <string>

#include "ipc/error.h"
#include "ipc/resolve.h"
#include "ipc/unix_socket.h"

namespace lockstep::trainer {

/// Whether frames go to a listener over the network: tcp://HOST:PORT.
[[nodiscard]] bool isListener(const std::string &address);

/// HOST:PORT of tcp://HOST:PORT. BadArgument: it names no listener.
[[nodiscard]] Result<std::string> listenerPlace(const std::string &address);

struct ListenerLink {
    Fd fd;                      ///< non-blocking; the hello was exchanged
    std::uint64_t nextRseq = 0; ///< the first frame of this process that the listener lacks
};
/// Connects to the first of its host's addresses that answers, each of which gets a share of the time, and sends a hello with the token of
/// LOCKSTEP_FRAMES_TOKEN. Blocks for at most `limit`. BadArgument: no addresses, no listener there, or the reason why
/// the listener refuses.
[[nodiscard]] Result<ListenerLink> connectToListener(const std::string &address, const NetAddresses &at, int rank,
                                                     std::chrono::milliseconds limit);

/// The file for a rank's frames: the address itself, or rank-R.ndjson in it if it is a folder. A folder that ends in
/// '/' is created.
[[nodiscard]] Result<std::string> frameFile(const std::string &address, int rank);

} // namespace lockstep::trainer

// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <functional>
#include <future>
#include <optional>
#include <string>

#include "ipc/resolve.h"

namespace lockstep {

/// Looks a host's name up on a thread of its own, since the system's look-up knows no limit. An address in figures needs no thread.
/// Not thread-safe. The destructor doesn't wait: a look-up that is under way ends by itself, and its result is dropped.
class NameLookup {
public:
    using Resolve = std::function<NetAddresses(const std::string &address)>; ///< called on the look-up's thread

    explicit NameLookup(std::string address, Resolve how = resolve); ///< of "HOST:PORT"

    /// The addresses, or why there are none. Absent: not known by `until`; the next call waits for the same look-up. Each
    /// call after an answer begins another one, since a host may have moved.
    [[nodiscard]] std::optional<NetAddresses> take(std::chrono::steady_clock::time_point until);

private:
    void begin();

    std::string m_address;
    Resolve m_how;
    std::future<NetAddresses> m_answer; ///< valid: a look-up is under way, or its answer is not taken yet
};

} // namespace lockstep

// SPDX-License-Identifier: MIT
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>

namespace lockstep {

/// The process that listens on a TCP port.
struct PortHolder {
    pid_t pid = 0;
    std::string name; ///< its command name; empty if the process has just ended

    [[nodiscard]] std::string words() const; ///< "4711 (python3)"
    friend bool operator==(const PortHolder &, const PortHolder &) = default;
};

/// The process that listens on this port of this machine, as far as this user may see. The calling process is named
/// only if no other one holds the socket, since it may merely have inherited it.
[[nodiscard]] std::optional<PortHolder> holderOfPort(int port);

} // namespace lockstep

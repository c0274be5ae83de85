// SPDX-License-Identifier: MIT
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>

namespace lockstep {

/// The process that listens on a TCP port.
struct PortHolder {
    pid_t pid = 0;
    std::string name; ///< its command; empty when the process ended meanwhile

    [[nodiscard]] std::string words() const; ///< "4711 (python3)"
    friend bool operator==(const PortHolder &, const PortHolder &) = default;
};

/// Who listens on that port of this machine, as far as this user may see. Names the asking process only if no other
/// process holds the socket: the asker may merely have inherited it from the process that opened it.
[[nodiscard]] std::optional<PortHolder> holderOfPort(int port);

} // namespace lockstep

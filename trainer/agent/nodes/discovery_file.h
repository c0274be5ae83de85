// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "ipc/error.h"

namespace lockstep::agent {

// What both sides of interface discovery (interface_discovery.h) use: its file and its messages.

/// An address of node 0 where it listens for the others.
struct InterfaceOffer {
    std::string interface, address;
    /// The others send `knock` there, and node 0 answers `proof`; without the knock it answers nobody. Another machine that
    /// has the same address knows neither, and learns by the knock nothing that serves it elsewhere.
    std::string knock, proof;
    int port = 0;
    [[nodiscard]] std::string title() const { return address + " (" + interface + ")"; }
};

/// Content of a run's discovery file. Node 0 writes it, the others read it.
struct Invitation {
    std::string token;
    std::vector<InterfaceOffer> offers;
};
[[nodiscard]] std::string discoveryFile(const std::string &run);
[[nodiscard]] Result<void> writeInvitation(const std::string &run, const Invitation &invitation);
[[nodiscard]] std::optional<Invitation> readInvitation(const std::string &run); ///< absent: no file, or an invalid one

using DiscoveryJson = nlohmann::ordered_json;
[[nodiscard]] std::string encodeDiscoveryLine(const DiscoveryJson &json); ///< with its newline
[[nodiscard]] DiscoveryJson decodeDiscoveryLine(std::string_view line);   ///< an empty object if the line is not one
[[nodiscard]] std::string textOf(const DiscoveryJson &json, const char *key); ///< empty: absent or not a string
[[nodiscard]] int numberOf(const DiscoveryJson &json, const char *key);       ///< 0: absent or not an integer

/// The error for a wait that a signal ended.
[[nodiscard]] Error discoveryInterrupted();

} // namespace lockstep::agent

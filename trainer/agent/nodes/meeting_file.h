// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "ipc/error.h"

namespace lockstep::agent {

// What both sides of an interface meeting (interface_meeting.h) use: its file and its messages.

/// An address of node 0 where it listens for the meeting.
struct InterfaceOffer {
    std::string interface, address;
    /// The others send `knock` there, and node 0 answers `proof`; without the knock it answers nobody. Another machine that
    /// has the same address knows neither, and learns by the knock nothing that serves it elsewhere.
    std::string knock, proof;
    int port = 0;
    [[nodiscard]] std::string title() const { return address + " (" + interface + ")"; }
};

/// Content of a run's meeting file. Node 0 writes it, the others read it.
struct Invitation {
    std::string token;
    std::vector<InterfaceOffer> offers;
};
[[nodiscard]] std::string meetingFile(const std::string &run);
[[nodiscard]] Result<void> writeInvitation(const std::string &run, const Invitation &invitation);
[[nodiscard]] std::optional<Invitation> readInvitation(const std::string &run); ///< absent: no file, or an invalid one

using MeetingJson = nlohmann::ordered_json;
[[nodiscard]] std::string encodeMeetingLine(const MeetingJson &json);       ///< with its newline
[[nodiscard]] MeetingJson decodeMeetingLine(std::string_view line);         ///< an empty object if the line is not one
[[nodiscard]] std::string textOf(const MeetingJson &json, const char *key); ///< empty: absent or not a string
[[nodiscard]] int numberOf(const MeetingJson &json, const char *key);       ///< 0: absent or not an integer

/// The error for a wait that a signal ended.
[[nodiscard]] Error meetingInterrupted();

} // namespace lockstep::agent

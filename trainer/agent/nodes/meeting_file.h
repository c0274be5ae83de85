// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "ipc/error.h"

namespace lockstep::agent {

// What both sides of an interface meeting (interface_meeting.h) have in common: its file and its lines.

/// An address of node 0 at which it listens for the meeting.
struct InterfaceOffer {
    std::string interface, address;
    std::string proof; ///< node 0 says it at this address: a stranger at an equal address does not know it
    int port = 0;
    [[nodiscard]] std::string title() const { return address + " (" + interface + ")"; }
};

/// Content of a run's meeting file, which node 0 writes and the others read.
struct Invitation {
    std::string token;
    std::vector<InterfaceOffer> offers;
};
[[nodiscard]] std::string meetingFile(const std::string &run);
[[nodiscard]] Result<void> writeInvitation(const std::string &run, const Invitation &invitation);
[[nodiscard]] std::optional<Invitation>
readInvitation(const std::string &run); ///< nothing: there is none, or no valid one

using MeetingJson = nlohmann::ordered_json;
[[nodiscard]] std::string encodeMeetingLine(const MeetingJson &json);       ///< with its newline
[[nodiscard]] MeetingJson decodeMeetingLine(std::string_view line);         ///< an empty object when it is none
[[nodiscard]] std::string textOf(const MeetingJson &json, const char *key); ///< empty: absent or no text
[[nodiscard]] int numberOf(const MeetingJson &json, const char *key);       ///< 0: absent or no whole number

/// A signal has ended the process's wait.
[[nodiscard]] Error meetingInterrupted();

} // namespace lockstep::agent

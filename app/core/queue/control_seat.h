// SPDX-License-Identifier: MIT
#pragma once
// Which viewer may change an experiment's queue. Any number of viewers follow; one holds control. Control is a file in
// the experiment's folder, experiments/EXP_ID/control.json, rewritten under a lock, with a generation that grows with
// each change of holder. A request names the generation it was made under; one of an older generation is refused.
// Nothing here waits for the lock.
#include <cstdint>
#include <optional>
#include <string>

#include "base/request.h"

namespace lockstep::core {

struct ControlHolder {
    std::uint64_t generation = 0;
    std::string by;   ///< "lockstep on box"
    std::string host; ///< where it runs
    int pid = 0;
    std::string started; ///< the process's start time from the kernel, which detects a reused pid

    /// "lockstep on box (pid 123)"
    [[nodiscard]] std::string title() const;
    /// A holder on another host can't be checked and counts as alive.
    [[nodiscard]] bool alive() const;
    [[nodiscard]] bool isMe() const; ///< whether it is this process
    bool operator==(const ControlHolder &) const = default;
};

/// The holder according to the file; nothing if nobody ever took control.
[[nodiscard]] std::optional<ControlHolder> controlHolder(std::string_view experimentId);
/// Takes control if nobody holds it or its holder has ended; returns the holder afterwards. Fails while another process
/// changes the file.
[[nodiscard]] Result<ControlHolder> claimControl(std::string_view experimentId, const std::string &by);
/// Takes control from any holder. Pending while another process changes the file, for at most half a second.
[[nodiscard]] Asked takeOverControl(std::string_view experimentId, const std::string &by);
/// Gives up control if this process holds it. Does nothing while another process changes the file: that one takes
/// control, or finds this process dead.
void releaseControl(std::string_view experimentId);

} // namespace lockstep::core

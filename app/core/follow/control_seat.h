#pragma once
// Who may change an experiment's queue. Any number of viewers follow; one holds control. The seat is a file in the
// experiment's folder, experiments/EXP_ID/control.json, rewritten under a lock, with a generation that grows with each
// change of holder: a request names the generation it was made under, and one of an older generation is refused.
#include <cstdint>
#include <optional>
#include <string>

#include "ipc/error.h"

namespace lockstep::core {

struct ControlHolder {
    std::uint64_t generation = 0;
    std::string by;   ///< "lockstep on box"
    std::string host; ///< where it runs
    int pid = 0;
    std::string started; ///< when that process began, as the kernel counts, so that a reused pid is not taken for it

    /// "lockstep on box (pid 123)"
    [[nodiscard]] std::string title() const;
    /// A holder on another host can't be asked and counts as alive.
    [[nodiscard]] bool alive() const;
    [[nodiscard]] bool isMe() const; ///< this process
    bool operator==(const ControlHolder &) const = default;
};

/// The holder as the file has it; nothing when nobody ever took the seat.
[[nodiscard]] std::optional<ControlHolder> controlHolder(std::string_view experimentId);
/// Sits down if the seat is free or its holder is gone; returns who holds it then.
[[nodiscard]] Result<ControlHolder> claimControl(std::string_view experimentId, const std::string &by);
/// Sits down whoever holds it.
[[nodiscard]] Result<ControlHolder> takeOverControl(std::string_view experimentId, const std::string &by);
/// Gets up, if it is this process that sits.
void releaseControl(std::string_view experimentId);

} // namespace lockstep::core

// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>

namespace lockstep::core {

/// Measures how much other programs use this process's allowed cores, from construction on. Construct it before
/// children start and read it after they have ended: running children would count as others.
class OtherLoad {
public:
    OtherLoad();
    /// Others' processor time ÷ elapsed time: 1.5 is one and a half cores. Interrupts are not counted. Absent: unknown.
    [[nodiscard]] std::optional<double> cores() const;

private:
    struct Reading {
        double atS = 0, ownS = 0;
        std::optional<double> busyS;
    };
    [[nodiscard]] static Reading reading();
    Reading m_begun;
};

/// "While …, other programs used 1.3 cores of this machine: …", of the machine of that name; empty if unknown or at most a tenth of a
/// core.
[[nodiscard]] std::string otherLoadSentence(std::optional<double> cores, const std::string &what,
                                            const std::string &machine = "this machine");

} // namespace lockstep::core

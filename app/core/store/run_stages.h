// SPDX-License-Identifier: MIT
#pragma once
#include <map>
#include <vector>

#include "ipc/frames.h"

namespace lockstep::core {

/// When the stages of a pipeline compute within a step. Empty for other methods, and for stages on several nodes, whose clocks differ.
class RunStages {
public:
    void take(int rank, const CommFrame &body);

    /// Of each rank that has reported it: its work in a step in order, means over all steps so far.
    [[nodiscard]] const std::map<int, std::vector<StageWork>> &ofRanks() const { return m_work; }

private:
    std::map<int, std::vector<StageWork>> m_work;
    std::map<int, double> m_steps; ///< that the means are over
};

} // namespace lockstep::core

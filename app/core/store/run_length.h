// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>

#include "ipc/frames.h"

namespace lockstep::core {

/// How long a run will be, as far as its ranks have reported.
class RunLength {
public:
    void take(const StateFrame &body);
    /// A script's own report. Its total of steps outweighs what follows from the length of one epoch.
    void take(const About &about);

    [[nodiscard]] std::optional<int> epochs() const { return m_epochs; }
    [[nodiscard]] std::optional<std::int64_t> steps() const { return m_steps; }
    /// Epochs done after `step`, counted from 0: a fraction where the steps of an epoch are known, else `epoch` itself.
    [[nodiscard]] double epochsAt(std::int64_t step, int epoch) const;

private:
    std::optional<int> m_epochs;
    std::optional<std::int64_t> m_steps, m_stepsPerEpoch;
    bool m_scriptSaidSteps = false;
};

} // namespace lockstep::core

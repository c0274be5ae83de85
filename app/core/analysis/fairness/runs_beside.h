// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/compare/repeat_group.h"

namespace lockstep::core {

/// How many other runs of some groups went on a run's machines meanwhile. A run that several groups name is one. Refers to the
/// groups.
class RunsBeside {
public:
    explicit RunsBeside(const std::vector<RepeatGroup> &groups);
    explicit RunsBeside(const std::vector<const RepeatGroup *> &groups);
    /// Mean over its time; absent: its time or place is unknown, or it is in no group.
    [[nodiscard]] std::optional<double> of(const RunOutcome &run) const;

private:
    using Key = std::pair<std::string_view, std::int64_t>; ///< id and start
    static Key keyOf(const RunOutcome &run) { return {run.run, run.startWallUs}; }

    std::map<Key, std::optional<double>> m_figures;
};

} // namespace lockstep::core

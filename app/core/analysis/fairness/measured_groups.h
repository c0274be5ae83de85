// SPDX-License-Identifier: MIT
#pragma once
// Groups by what they were measured with, so that a control is found among a thousand without a look at each.
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/compare/repeat_group.h"

namespace lockstep::core {

/// Works out the setting of each run once. Only refers to the groups: they must outlive it.
class MeasuredGroups {
public:
    MeasuredGroups(const std::vector<RepeatGroup> &groups) : MeasuredGroups(std::span(groups)) {}
    MeasuredGroups(std::initializer_list<RepeatGroup> groups)
        : MeasuredGroups(std::span(groups.begin(), groups.size())) {}

    [[nodiscard]] std::span<const RepeatGroup> all() const { return m_groups; }
    /// In their order, the groups with a repeat of this setting (isSameSetting()). Whether a group is the one that is looked for, its
    /// program included, hasSetting() says: of all its repeats, or of those that count.
    [[nodiscard]] std::vector<const RepeatGroup *> withRepeatOf(const RunConfig &config) const;

private:
    explicit MeasuredGroups(std::span<const RepeatGroup> groups);

    std::span<const RepeatGroup> m_groups;
    std::unordered_map<std::string, std::vector<std::size_t>> m_places; ///< by settingKey(), ascending
};

} // namespace lockstep::core

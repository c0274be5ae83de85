// SPDX-License-Identifier: MIT
#include "analysis/fairness/measured_groups.h"

#include "analysis/fairness/setting_factors.h"

namespace lockstep::core {

MeasuredGroups::MeasuredGroups(std::span<const RepeatGroup> groups) : m_groups(groups) {
    for (std::size_t place = 0; place < groups.size(); ++place) {
        const RunConfig *before = nullptr; // mostly all repeats have one config
        for (const RunOutcome &run : groups[place].runs) {
            if (!run.config || (before && *before == *run.config))
                continue;
            before = &*run.config;
            std::vector<std::size_t> &places = m_places[settingKey(*before)];
            if (places.empty() || places.back() != place)
                places.push_back(place);
        }
    }
}

std::vector<const RepeatGroup *> MeasuredGroups::withRepeatOf(const RunConfig &config) const {
    std::vector<const RepeatGroup *> out;
    if (const auto found = m_places.find(settingKey(config)); found != m_places.end())
        for (const std::size_t place : found->second)
            out.push_back(&m_groups[place]);
    return out;
}

} // namespace lockstep::core

// SPDX-License-Identifier: MIT
#include "experiment/run_finder.h"

#include <algorithm>
#include <string_view>

namespace lockstep::core {
namespace {

std::size_t hashOfRun(const RunConfig &config, const std::vector<std::string> &command, const ScriptClaims &claims) {
    std::string text;
    const auto add = [&](std::string_view part) { text.append(part).push_back('\0'); };
    for (const FieldSpec &field : runConfigFields())
        add(field.get(config));
    for (const std::string &word : command)
        add(word);
    for (const auto &[name, value] : claims.flags) {
        add(name);
        add(value);
    }
    if (claims.known)
        for (const std::string &key : *claims.known)
            add(key);
    return std::hash<std::string>()(text);
}

} // namespace

bool RunFinder::add(const RunConfig &config, const std::vector<std::string> &command, const ScriptClaims &claims,
                    const std::function<bool(std::size_t earlier)> &same) {
    const std::size_t hash = hashOfRun(config, command, claims);
    const auto [from, to] = m_runs.equal_range(hash);
    if (std::any_of(from, to, [&](const auto &earlier) { return same(earlier.second); }))
        return false;
    m_runs.emplace(hash, m_runs.size());
    return true;
}

} // namespace lockstep::core

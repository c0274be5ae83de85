// SPDX-License-Identifier: MIT
#include "trainer/agent/listen/earlier_run.h"

#include <algorithm>
#include <filesystem>
#include <utility>

namespace lockstep::agent {

std::optional<EarlierRun> earlierRunOf(const std::set<std::string> &begins, std::uint64_t bytes) {
    namespace fs = std::filesystem;
    std::pair<bool, std::string> best; // has all, id
    std::error_code error;
    if (!begins.empty())
        for (fs::directory_iterator entry(runsFolder(), error), end; !error && entry != end; entry.increment(error)) {
            const auto record = readRunRecord({entry->path().string()});
            if (record && record->files && begins.contains(record->files->begin))
                best = std::max(best, {record->files->bytes == bytes, entry->path().filename().string()});
        }
    if (best.second.empty())
        return std::nullopt;
    return EarlierRun{best.second, readRunStatus(runFolder(best.second)), best.first};
}

} // namespace lockstep::agent

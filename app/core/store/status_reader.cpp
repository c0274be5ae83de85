// SPDX-License-Identifier: MIT
#include "store/status_reader.h"

#include <filesystem>
#include <utility>

#include "experiment/experiment.h"
#include "ipc/file_system.h"
#include "ipc/unix_socket.h"

namespace lockstep::core {

RunStatus StatusReader::read(const RunFolder &folder, const RunRecord &record) {
    using Kind = RunStatus::Kind;
    RunStatus status = readRunStatus(folder);
    const bool open = status.kind == Kind::Unknown || status.kind == Kind::Running;
    if (!open || !isThere(folder.origin()) || isThere(folder.result()) || !isRunId(record.experiment) ||
        FileLock::isHeld(folder.lock(ownNode(folder))))
        return status;
    const Reasons &failures = failuresIn(record.experiment);
    const auto found = failures.find(std::filesystem::path(folder.path).filename().string());
    if (found == failures.end())
        return status;
    return {Kind::AgentDied, std::nullopt, found->second.empty() ? "failed" : "failed: " + found->second};
}

const StatusReader::Reasons &StatusReader::failuresIn(const std::string &experiment) {
    std::string stamp = experimentStamp(experiment); // before the reading: a change meanwhile is read next time
    const auto [known, isNew] = m_known.try_emplace(experiment);
    if (!isNew && known->second.stamp == stamp)
        return known->second.failures;
    known->second = {std::move(stamp), {}};
    if (const Result<Experiment> read = readExperiment(experiment))
        for (const ExperimentEntry &entry : read->entries)
            if (entry.state == EntryState::Failed && !entry.run.empty())
                known->second.failures.emplace(entry.run, entry.reason);
    return known->second.failures;
}

} // namespace lockstep::core

#pragma once
#include <optional>
#include <string>
#include <vector>

#include <QSqlDatabase>
#include <QString>

#include "ipc/error.h"
#include "ipc/run_config.h"

namespace lockstep::core {

/// One run of the history.
struct IndexedRun {
    std::string run, name, experiment, recipe, method, device, backend, model, dataset, host;
    int repeat = 1, devices = 1, epochs = 0;
    std::string state;  ///< starting, running, done, failed, stopped
    std::string reason; ///< why not done
    std::int64_t startWallUs = 0;
    std::optional<double> totalTrainingTimeS, runTimeS, testAccuracy, finalLoss;
    bool operator==(const IndexedRun &) const = default;
};

/// SQLite as an index of runsFolder(): only what can be read from the runs themselves. Delete it and it is rebuilt.
/// One thread.
class RunIndex {
public:
    /// Opens or creates dataHome()/index.sqlite; a damaged file is replaced.
    static Result<RunIndex> open();
    static Result<RunIndex> open(const std::string &runsFolder, const std::string &indexFile);
    ~RunIndex();
    RunIndex(RunIndex &&other) noexcept;
    RunIndex &operator=(RunIndex &&other) noexcept;

    /// Reads what is new or changed on disk and forgets what is gone. Returns how many rows changed.
    Result<int> refresh();
    /// Newest first.
    [[nodiscard]] std::vector<IndexedRun> runs() const;
    /// Median run_time_s of earlier done runs of the same config (seed and files aside) on this host.
    [[nodiscard]] std::optional<double> estimate(const RunConfig &config) const;

private:
    RunIndex() = default;
    Result<void> readRun(const std::string &run);
    QString m_connection;
    std::string m_runs;
};

/// What makes two runs the same work for an estimate: the config's JSON without seed, files and addresses.
[[nodiscard]] std::string workKey(const RunConfig &config);

} // namespace lockstep::core

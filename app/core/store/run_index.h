// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <QSqlDatabase>
#include <QString>

#include "ipc/error.h"
#include "ipc/frames.h"
#include "ipc/run_config.h"

namespace lockstep::core {
class StatusReader;

/// One run of the history. Seconds, bytes, 0..1; absent is unknown.
struct IndexedRun {
    std::string run, name, experiment, recipe, method, device, backend, model, dataset, host,
        cpuModel;      ///< host, cpuModel: the first node's
    std::string hosts; ///< of all nodes: "hostA, hostB"
    int repeat = 1, devices = 1, epochs = 0;
    std::string state;  ///< starting, running, done, failed, stopped
    std::string reason; ///< why it is not done
    std::int64_t startWallUs = 0;
    std::optional<double> totalTrainingTimeS, runTimeS, testAccuracy, finalLoss;
    std::optional<double> samples, steps;          ///< all samples over its epochs; steps made
    std::optional<double> samplesPerS;             ///< all samples ÷ total training time
    std::optional<double> loadShare, exposedShare; ///< of the slowest rank's step
    std::optional<double> peakRssBytes;            ///< summed over ranks
    std::optional<double> viewersShare;            ///< of a core, while somebody watched on the run's machine
    std::optional<double> ranksWaitedS;            ///< for a core, summed over the ranks' threads
    std::optional<double> freeCores;               ///< cores no rank was bound to
    std::optional<double> otherLoad;               ///< cores' worth of processor time that went to other programs
    std::optional<double> stolenShare;             ///< of a core: processor time that the hypervisor gave to others
    std::optional<double> throttledShare;          ///< of the run's time in which the slowest clock was held down
    std::string throttle; ///< why the clock was held down, each reason once: "CPU quota, processor too hot"
    std::string settings; ///< "\nkey=value" of every field that differs from its default; empty: no config
    std::string known;    ///< "\nkey=value" of each field that is known of a script; empty: no script, see `settings`
    std::string metrics;  ///< "\nname=value" of each metric at the run's end, over all ranks; empty: none known
    std::string work; ///< workKey(), or a script's command, processes and devices, a long one's hash: equal for repeats
    std::string folder;   ///< in which a script was started, as RunRecord::folder; empty: unknown, or no script
    std::string recorded; ///< RecordedFiles::begin: runs in which it is equal are one measurement; empty: of no files
    // From people (notes.json):
    std::string givenName, tags, note; ///< tags: "a, b"
    bool starred = false;
    bool repeated = false; ///< its experiment has further runs of this name among those listed with it
    bool operator==(const IndexedRun &) const = default;

    /// The run's own name, with its repeat where there are several: "DDP on 2 devices #3".
    [[nodiscard]] std::string ownTitle() const;
    [[nodiscard]] std::string title() const; ///< the name given by a person, else its own
    /// A config field's value as text; absent when the run has no config, of a script when it is unknown.
    [[nodiscard]] std::optional<std::string> setting(const FieldSpec &field) const;
    [[nodiscard]] std::optional<double> metric(std::string_view name) const;
    [[nodiscard]] std::vector<std::string> metricNames() const;
};

/// Sets `repeated` of each.
void markRepeats(std::vector<IndexedRun> &runs);

/// Identifies the machine that times were measured on; as in run records.
struct MachineName {
    std::string host, cpuModel;
};
/// This machine's. Reads /proc/cpuinfo.
[[nodiscard]] MachineName thisMachine();
/// By the host's name, which another machine may have too, so by the processor where both are known. Not of an unknown host.
[[nodiscard]] bool isSameMachine(const MachineName &one, const MachineName &other);

/// Called while an index reads: how many folders of how many. False stops it; what was read is kept.
using IndexProgress = std::function<bool(int done, int all)>;

/// SQLite as an index of runsFolder(): only what can be read from the runs themselves. Delete it and it is rebuilt.
/// One thread; several indexes may have one file open, each on its own thread.
class RunIndex {
public:
    /// Opens or creates dataHome()/index.sqlite; a damaged file is replaced.
    static Result<RunIndex> open();
    static Result<RunIndex> open(const std::string &runsFolder, const std::string &indexFile);
    ~RunIndex();
    RunIndex(RunIndex &&other) noexcept;
    RunIndex &operator=(RunIndex &&other) noexcept;

    /// Reads what is new or changed on disk and removes rows of deleted runs. Returns how many rows changed; at least 1 if another
    /// process has changed the index since the last refresh.
    Result<int> refresh(const IndexProgress &progress = {});
    /// Reads only these runs, even if their files did not change.
    Result<void> refresh(const std::vector<std::string> &runs);
    /// Newest first.
    [[nodiscard]] std::vector<IndexedRun> runs() const;
    [[nodiscard]] std::optional<IndexedRun> run(const std::string &id) const;
    /// Those that runs() lacks, since their records are refused; newest first.
    [[nodiscard]] std::vector<std::string> refusedRuns() const;
    /// Median run_time_s of earlier done runs of the same config (seed and files aside), and of the same command where a script
    /// ran, on that machine. Of our own trainer's, else what runs that differ only in their numbers of epochs and samples would have
    /// taken for these numbers, unless theirs were below 1 % of them. Absent without such a run.
    [[nodiscard]] std::optional<double> estimate(const RunConfig &config, const MachineName &machine,
                                                 const std::vector<std::string> &command = {}) const;

private:
    [[nodiscard]] std::optional<double> estimateByAmount(const RunConfig &config, const MachineName &machine) const;
    RunIndex() = default;
    /// Whether it is a run; false: its record is refused, which is remembered. An error: its files can't be read now.
    Result<bool> readRun(const std::string &run, StatusReader &statuses);
    void forget(const std::vector<std::string> &runs);
    QString m_connection;
    std::string m_runs;
    int m_version = 0; ///< SQLite's count of what others have committed, at the last refresh
};

/// Equal for runs of the same work, whose times give an estimate: the config's JSON without seed, files and addresses.
[[nodiscard]] std::string workKey(const RunConfig &config);
/// The same of what ranks reported of themselves, where that makes no configuration: their own keys count, too.
[[nodiscard]] std::string workKey(const About &about);
/// The same for a script, whose command may still have placeholders. Its Python and its folder do not count.
[[nodiscard]] std::string workKey(const RunConfig &config, const std::vector<std::string> &command);

} // namespace lockstep::core

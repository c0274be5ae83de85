// SPDX-License-Identifier: MIT
#pragma once
// A run as TensorBoard event files, while it goes on or afterwards. Under the given folder:
//   NAME_RUN/run/     all ranks together: loss and metric/NAME by step; epoch/loss, epoch/duration_s, epoch/test_accuracy,
//                     epoch/test_loss, epoch/metric/NAME by epoch (from 1); device/NAME/utilisation, memory_bytes, power_w,
//                     temperature_c by the last step done
//   NAME_RUN/rankR/   one rank: loss and metric/NAME by step; epoch/duration_s and phase/PHASE_s by epoch
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <QObject>
#include <QPointer>

#include "export/event_file.h"
#include "ipc/unix_socket.h"
#include "store/run_store.h"

namespace lockstep::core {
class StatusReader;

/// Writes what is new in a run's store. A lock allows one writer per run's folder. Replaces a file from an earlier export of
/// the same run. What is written stays: where ranks make steps again after a restart, those of the lost attempt remain.
class TensorBoardWriter {
public:
    /// Makes the run's folder and takes its lock. The store must have its record, for the folder's name.
    [[nodiscard]] static Result<TensorBoardWriter> open(const std::string &folder, const RunStore &store);

    /// Appends what is new in the store since the last call.
    [[nodiscard]] Result<void> takeNew(const RunStore &store);
    /// The same if only `newest` was taken into the store since then; does not look at the other ranks and devices.
    [[nodiscard]] Result<void> takeNew(const RunStore &store, const Frame &newest);
    /// The same, of what devices and nothing else have added: a store keeps no more than an hour of that.
    [[nodiscard]] Result<void> takeSamples(const RunStore &store, const Frame &newest);
    /// Whether steps or epochs are written that have been made again since.
    [[nodiscard]] bool wroteLost(const RunStore &store) const;
    [[nodiscard]] const std::string &folder() const { return m_folder; } ///< of the run
    [[nodiscard]] std::vector<std::string> files() const;

private:
    TensorBoardWriter(std::string folder, FileLock lock, std::int64_t startUs);
    Result<void> append(const std::string &part, std::vector<Scalar> scalars);
    void takePoints(const LossSeries &series, int rank, const std::string &tag, std::vector<Scalar> &out);
    void takeMetrics(const RunStore &store, int rank, std::vector<Scalar> &out);
    void takeEpoch(const RunStore &store, const MergedEpoch &epoch, std::vector<Scalar> &run);
    void takeTest(const RunStore &store, const MergedEpoch &epoch, std::vector<Scalar> &run);
    void takeEpochs(const RunStore &store, std::vector<Scalar> &run);
    void takeSampled(const RunStore &store, const Frame &newest, std::vector<Scalar> &run);
    void takeDevice(const RunStore &store, const std::string &name, std::vector<Scalar> &run);
    Result<void> takeRank(const RunStore &store, int rank);
    Result<void> takeRankEpochs(const RunStore &store);
    Result<void> takeOfAllRanks(const RunStore &store, std::vector<Scalar> &run);

    std::string m_folder;
    FileLock m_lock;
    std::int64_t m_startUs;
    std::map<std::string, EventFile> m_files;                       ///< by part: run, rank0, …
    std::map<std::pair<int, std::string>, std::int64_t> m_nextStep; ///< by rank (-1: all together) and tag
    std::map<std::string, std::int64_t> m_deviceUs;
    std::size_t m_rankEpochs = 0;
    bool m_wroteLost = false;      ///< steps
    int m_epochs = 0, m_evals = 0; ///< the last epoch that is written, and the last whose test is
    int m_testedOn = 0;            ///< the node that made that test
};

/// Keeps event files in step with runs while they go on. Lives on the stores' thread.
class TensorBoardFeed : public QObject {
    Q_OBJECT
public:
    explicit TensorBoardFeed(std::string folder, QObject *parent = nullptr);
    /// Writes the run from its first frame on; a second call does nothing.
    void follow(RunStore *store);
    /// Writes the rest, at exit.
    void finish();
    [[nodiscard]] const std::string &folder() const { return m_folder; }

Q_SIGNALS:
    /// Stops writing this run.
    void failed(const lockstep::Error &error);

private:
    struct Followed {
        QPointer<RunStore> store;
        std::optional<TensorBoardWriter> writer;
        bool broken = false;
    };
    void take(Followed &followed, bool leaving);
    std::string m_folder;
    std::vector<std::unique_ptr<Followed>> m_followed;
};

/// Exports a run on disk, with every frame but those of attempts that a restart made again; returns the files. A run with such an attempt is
/// read twice, and its curves have at most as many points as a LossSeries.
[[nodiscard]] Result<std::vector<std::string>> exportTensorBoard(const std::string &folder, const std::string &run);
/// The same for one of many runs, as loadRun().
[[nodiscard]] Result<std::vector<std::string>> exportTensorBoard(const std::string &folder, const std::string &run,
                                                                 StatusReader &statuses);

} // namespace lockstep::core

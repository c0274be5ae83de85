// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <QByteArray>
#include <QObject>
#include <QTimer>

#include "base/other_load.h"
#include "ipc/error.h"
#include "ipc/run_config.h"
#include "ipc/unix_socket.h"
#include "lab/lab_record.h"

namespace lockstep::core {
class AttendedRun;

/// What `lockstepctl lab` measures.
struct LabRequest {
    std::vector<int> ranks; ///< each a launch of its own, in this order; empty: 2 to as many as there are devices
    std::string backend = "auto", device = "cpu";
    int coresPerDevice = 1;
    bool quick = false, oversubscribe = false;
    /// Between whose devices it measures, as RunConfig::nodes; empty: this machine's. N ranks use the first N devices.
    std::vector<NodePlace> nodes;
};

/// Progress of a lab, for viewers; labs/progress.json while one runs.
struct LabProgress {
    double fraction = 0; ///< 0..1
    std::string what;    ///< "2 ranks: our ring"
    std::int64_t startWallUs = 0;
    std::vector<NodePlace> nodes; ///< between which it measures; empty: this machine's devices
    bool operator==(const LabProgress &) const = default;
};

/// The ranks that can be measured here, or why there are none.
[[nodiscard]] Result<std::vector<int>> labRanks(const LabRequest &request);

/// The lab that runs on this machine now, also if another program started it.
[[nodiscard]] std::optional<LabProgress> runningLab();
/// Asks it to stop; it checks several times a second. Does nothing when none runs.
[[nodiscard]] Result<void> stopRunningLab();
/// Starts `lockstepctl lab` in a session of its own, with the request's device, nodes and quick: it continues when the caller
/// ends. Its output is in labs/console.log.
[[nodiscard]] Result<void> startLabDetached(const LabRequest &request);
/// The last line of that output; empty: none.
[[nodiscard]] std::string labConsoleTail();

/// Measures: one launch after another, each with its number of ranks. One lab at a time on a machine. The launches leave nothing
/// on any node; the measurements are kept as labs/ID.json. Over nodes it is kept short: sizes for which one operation takes over
/// half a second are left out, and the record lists them. One use; finished() or failed() is emitted once.
class LabJob : public QObject {
    Q_OBJECT
public:
    explicit LabJob(QObject *parent = nullptr);
    ~LabJob() override;
    [[nodiscard]] Result<void> start(const LabRequest &request);
    void stop(); ///< ends as failed, "the lab was stopped"
    [[nodiscard]] bool wasStopped() const { return m_stopped; }
    [[nodiscard]] const LabRecord &record() const { return m_record; }

Q_SIGNALS:
    void progressed(const lockstep::core::LabProgress &progress);
    void finished(); ///< record() is complete and on disk
    void failed(const lockstep::Error &error);

private:
    void next();
    void take(const QByteArray &line);
    void giveUp(const Error &error);
    void poll();
    void over(const std::optional<Error> &error);
    [[nodiscard]] RunConfig configFor(int ranks) const;
    void report(double share, const std::string &what);
    void end(std::optional<Error> error);

    LabRequest m_request;
    LabRecord m_record;
    std::vector<int> m_ranks;
    std::size_t m_current = 0;
    std::optional<Error> m_badLine;
    std::optional<FileLock> m_lock;
    std::unique_ptr<AttendedRun> m_run;
    QTimer m_timer;
    LabProgress m_progress;
    std::optional<OtherLoad> m_others; ///< of this machine, while its own devices are measured
    bool m_stopped = false, m_ended = false;
    bool m_gaveUp = false; ///< on what rank 0 says: the rest is ignored
};

} // namespace lockstep::core

// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <QObject>

#include "nodes/doctor_checks.h"
#include "nodes/ssh_questions.h"

namespace lockstep::core {

struct DoctorOptions {
    std::optional<int> port; ///< the run's master port; absent: any
    std::string dataset;     ///< also compare this data set's files
    std::string dataFolder;  ///< its folder on every node; empty: the trainer's default
    double bandwidthS = 1;   ///< for each direction of each pair; 0: not measured
    double neededBytes = 0;  ///< free disk space required
};

/// Examines the nodes and the connections between them. Blocks: a second per node, and two per pair. `progress` gets a
/// sentence before each part.
[[nodiscard]] DoctorSnapshot examineNodes(const std::vector<NodeEntry> &nodes, const DoctorOptions &options,
                                          const SshAnswers &answers,
                                          const std::function<void(const std::string &)> &progress = {},
                                          std::stop_token stop = {});

/// Writes the chosen interfaces into the list of nodes, except where a person set one. Nodes that are not in the list
/// are left out.
[[nodiscard]] Result<void> keepChoices(const DoctorSnapshot &snapshot);

/// Runs the doctor in its own thread ("lockstep-nodes"), for a window. One use.
class DoctorJob : public QObject {
    Q_OBJECT
public:
    explicit DoctorJob(QObject *parent = nullptr);
    ~DoctorJob() override; ///< stops and waits for the thread
    void start(std::vector<NodeEntry> nodes, DoctorOptions options, SshAnswers answers);
    void stop(); ///< returns at once; finished() follows when ssh has ended

Q_SIGNALS:
    void progressed(const QString &what);
    /// Also after a stop, with the results so far.
    void finished(const lockstep::core::DoctorSnapshot &snapshot, const std::vector<lockstep::core::Finding> &findings);

private:
    std::jthread m_thread;
};

} // namespace lockstep::core

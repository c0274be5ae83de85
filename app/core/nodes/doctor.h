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
    std::string dataFolder;  ///< where it lies on every node; empty: where the trainer looks
    double bandwidthS = 1;   ///< for each direction of each pair; 0: not measured
    double neededBytes = 0;  ///< free disk that is wanted
};

/// Looks at the nodes and at the ways between them. Blocks: a second a node, and two a pair. `progress` is told a sentence
/// before each part.
[[nodiscard]] DoctorLook lookAround(const std::vector<NodeEntry> &nodes, const DoctorOptions &options,
                                    const SshAnswers &answers,
                                    const std::function<void(const std::string &)> &progress = {},
                                    std::stop_token stop = {});

/// Writes the interfaces found into the book, where no person pinned one. Nodes that are not in the book are left out.
[[nodiscard]] Result<void> keepChoices(const DoctorLook &look);

/// The same on a thread of its own ("lockstep-nodes"), for a window. One use.
class DoctorJob : public QObject {
    Q_OBJECT
public:
    explicit DoctorJob(QObject *parent = nullptr);
    ~DoctorJob() override; ///< stops and waits for the thread
    void start(std::vector<NodeEntry> nodes, DoctorOptions options, SshAnswers answers);
    void stop();

Q_SIGNALS:
    void progressed(const QString &what);
    void finished(const lockstep::core::DoctorLook &look, const std::vector<lockstep::core::Finding> &findings);

private:
    std::jthread m_thread;
};

} // namespace lockstep::core

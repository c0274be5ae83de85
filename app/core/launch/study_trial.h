// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <QObject>
#include <QTimer>

#include "experiment/plan.h"
#include "experiment/study.h"
#include "launch/attended_run.h"

namespace lockstep::core {

/// Tries a study's script for one step with each number of processes and each flag (experiment/study.h), one after another, and
/// leaves nothing behind. A lone process that may have failed for want of its rank is tried again as rank 0 of 1. One use; finished() or failed() is emitted once.
class StudyTrialJob : public QObject {
    Q_OBJECT
public:
    /// `facts`: of the machine at `where`.
    StudyTrialJob(Study study, MachineFacts facts, CommandPrefix where, QObject *parent = nullptr);
    ~StudyTrialJob() override;
    void start();
    void stop(); ///< failed() follows
    [[nodiscard]] const StudyTrials &trials() const { return m_trials; }
    /// What the script that failed printed last, without what the error says.
    [[nodiscard]] const std::deque<std::string> &lastLines() const { return m_lastLines; }

Q_SIGNALS:
    void trying(const QString &what);    ///< "baseline, amp on (2 of 3)"
    void noted(const QString &sentence); ///< what can't run here, or runs in another way than was asked
    void finished();
    void failed(const std::vector<lockstep::Error> &errors);

private:
    void next();
    void begin(const PlannedRun &run);
    void onLine(const QByteArray &line);
    void over(const std::optional<Error> &error);
    void end(std::vector<Error> errors);
    [[nodiscard]] Error takesTooLong() const;
    [[nodiscard]] Error failsInFirstStep(const Error &error) const;
    [[nodiscard]] std::optional<std::vector<PlannedRun>> planned(bool givesRank);
    [[nodiscard]] const PlannedRun &run() const { return m_runs[m_at]; }

    Study m_study;
    MachineFacts m_facts;
    CommandPrefix m_where;
    std::vector<PlannedRun> m_runs;
    std::size_t m_at = 0;
    std::unique_ptr<AttendedRun> m_attended;
    QTimer m_patience; ///< for the present trial
    std::deque<std::string> m_lastLines;
    StudyTrials m_trials;
    std::optional<Error> m_firstError;     ///< of a lone process, while it is tried again
    std::vector<PlannedRun> m_withoutRank; ///< likewise: the runs as they were
    std::int64_t m_samples = 0;            ///< of a process's first step in the present trial
    int m_trained = 1;                     ///< how many processes trained together in it
    bool m_stepped = false, m_givesRank = false, m_stopped = false, m_late = false, m_ended = false;
};

} // namespace lockstep::core

// SPDX-License-Identifier: MIT
#pragma once
#include <QObject>

#include "analysis/compare/repeat_group.h"

namespace lockstep::ui {
class ExperimentStarter;
class FollowedWork;
class RequestsUnderWay;

/// Queues runs that the verdict suggests, in the experiment that is open.
class SuggestedRuns : public QObject {
    Q_OBJECT
public:
    SuggestedRuns(FollowedWork &work, RequestsUnderWay &underWay, ExperimentStarter &starter,
                  QObject *parent = nullptr);
    /// Queues the run as often as the reference, or whole rounds; resumes the queue if needed.
    void tryRun(const core::SuggestedRun &run);
    [[nodiscard]] bool mayTry() const { return whyNotTry().isEmpty(); }
    [[nodiscard]] QString whyNotTry() const; ///< empty: tryRun() is possible

Q_SIGNALS:
    void failed(const QString &sentence);

private:
    FollowedWork &m_work;
    RequestsUnderWay &m_underWay;
    ExperimentStarter &m_starter;
};

} // namespace lockstep::ui

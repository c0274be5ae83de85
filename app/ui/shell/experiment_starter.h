// SPDX-License-Identifier: MIT
#pragma once
#include <QObject>

#include <memory>

#include "launch/detached_start.h"

namespace lockstep::ui {

/// Starts experiments and resumes queues by lockstepctl, detached, one at a time. Never blocks.
class ExperimentStarter : public QObject {
    Q_OBJECT
public:
    using QObject::QObject;
    /// `started` follows, or `failed`. Nothing happens while another start is under way.
    void start(const core::StartRequest &request);
    /// Resumes the queue of an experiment whose owner has ended.
    void resumeQueue(const std::string &experiment);
    [[nodiscard]] bool starting() const { return m_start != nullptr; }

Q_SIGNALS:
    void changed(); ///< starting()
    void started(const QString &experiment);
    void failed(const QString &sentence);

private:
    core::DetachedStart *begin();

    std::unique_ptr<core::DetachedStart> m_start;
};

} // namespace lockstep::ui

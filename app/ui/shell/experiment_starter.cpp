// SPDX-License-Identifier: MIT
#include "app/ui/shell/experiment_starter.h"

namespace lockstep::ui {

void ExperimentStarter::start(const core::StartRequest &request) {
    if (!m_start)
        begin()->start(request);
}

void ExperimentStarter::resumeQueue(const std::string &experiment) {
    if (!m_start)
        begin()->resumeQueue(experiment);
}

core::DetachedStart *ExperimentStarter::begin() {
    m_start = std::make_unique<core::DetachedStart>();
    const auto done = [this] {
        m_start.release()->deleteLater();
        Q_EMIT changed();
    };
    connect(m_start.get(), &core::DetachedStart::started, this, [this, done](const QString &id) {
        done();
        Q_EMIT started(id);
    });
    connect(m_start.get(), &core::DetachedStart::failed, this, [this, done](const Error &error) {
        done();
        Q_EMIT failed(QString::fromStdString(error.message()));
    });
    Q_EMIT changed();
    return m_start.get();
}

} // namespace lockstep::ui

#include "moc_experiment_starter.cpp"

// SPDX-License-Identifier: MIT
#include "app/ui/shell/workspace.h"

namespace lockstep::ui {
namespace {

std::unique_ptr<core::RunIndex> openIndex() {
    auto index = core::RunIndex::open();
    return index ? std::make_unique<core::RunIndex>(std::move(*index)) : nullptr;
}

} // namespace

Workspace::Workspace(QObject *parent) : QObject(parent), m_history(std::make_unique<core::RunListModel>(openIndex())) {
    connect(&m_work, &FollowedWork::openChanged, this, &Workspace::opened);
    connect(&m_results, &OpenResults::changed, this, &Workspace::resultsChanged);
    connect(&m_starter, &ExperimentStarter::started, this, &Workspace::follow);
    connect(&m_work, &FollowedWork::refused, this, &Workspace::failed);
    connect(&m_control, &QueueControl::failed, this, &Workspace::failed);
    connect(&m_suggested, &SuggestedRuns::failed, this, &Workspace::failed);
    connect(&m_runHistory, &core::RunHistory::listed, m_history.get(),
            [this](const core::RunList &runs) { m_history->setRuns(*runs); });
}

/// One that was just started.
void Workspace::follow(const QString &experiment) {
    m_work.lookForRunning();
    if (auto result = open(experiment); !result)
        Q_EMIT failed(QString::fromStdString(result.error().message()));
}

const core::Experiment *Workspace::experiment() const {
    return m_work.opened() ? &m_work.opened()->experiment() : nullptr;
}

} // namespace lockstep::ui

#include "moc_workspace.cpp"

// SPDX-License-Identifier: MIT
#include "app/ui/shell/pictured_runs.h"

#include <algorithm>

namespace lockstep::ui {

PicturedRuns::PicturedRuns(core::RunSet &open, QObject *parent) : QObject(parent), m_open(open) {
    m_later.setSingleShot(true);
    m_later.setInterval(0);
    connect(&m_later, &QTimer::timeout, this, &PicturedRuns::followPinned);
    connect(&m_open, &core::RunSet::reset, this, [this] {
        arrange();
        m_later.start();
    });
    connect(&m_choice, &core::RunChoiceModel::pinnedChanged, &m_later, qOverload<>(&QTimer::start));
    arrange();
}

PicturedRuns::~PicturedRuns() {
    m_open.disconnect(this);
    m_runs.clear();
}

bool PicturedRuns::isOpen(const QString &runId) const {
    return std::any_of(m_open.stores().begin(), m_open.stores().end(),
                       [&](const core::RunStore *store) { return store->runId() == runId; });
}

bool PicturedRuns::isForeign(const core::RunStore *store) const {
    return std::any_of(m_foreign.begin(), m_foreign.end(),
                       [&](const Foreign &foreign) { return foreign.store.get() == store; });
}

void PicturedRuns::arrange() {
    std::vector<core::RunStore *> all = m_open.stores();
    for (const Foreign &foreign : m_foreign)
        if (!isOpen(foreign.store->runId()))
            all.push_back(foreign.store.get());
    m_runs.assign(all);
}

void PicturedRuns::followPinned() {
    std::vector<Foreign> gone; // leave the picture before they die
    for (Foreign &foreign : m_foreign)
        if (isOpen(foreign.store->runId()) || !m_choice.isPinned(foreign.store->runId()))
            gone.push_back(std::move(foreign));
    std::erase_if(m_foreign, [](const Foreign &foreign) { return !foreign.store; });
    for (const QString &runId : m_choice.pinned()) {
        const bool known =
            isOpen(runId) || std::any_of(m_foreign.begin(), m_foreign.end(),
                                         [&](const Foreign &foreign) { return foreign.store->runId() == runId; });
        if (known)
            continue;
        Foreign next;
        next.store = std::make_unique<core::RunStore>(runId);
        next.follower = std::make_unique<core::RunFollower>(next.store.get(), runId);
        next.follower->setStatuses(m_statuses);
        next.follower->start();
        m_foreign.push_back(std::move(next));
    }
    arrange();
    for (Foreign &foreign : gone)
        foreign.follower.reset(); // before the store it feeds
}

} // namespace lockstep::ui

#include "moc_pictured_runs.cpp"

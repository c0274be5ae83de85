// SPDX-License-Identifier: MIT
#include "app/ui/shell/open_results.h"

#include <algorithm>

#include <QElapsedTimer>

#include "analysis/compare/result_table.h"
#include "app/ui/shell/followed_work.h"
#include "export/export.h"
#include "store/run_outcome.h"

namespace lockstep::ui {
namespace {
constexpr qint64 leastPauseMs = 250;
constexpr qint64 timesAsLong = 3; ///< the pause after the results were shown, as a multiple of the time that took
} // namespace

OpenResults::OpenResults(FollowedWork &work, QObject *parent) : QObject(parent), m_work(work) {
    m_recompute.setSingleShot(true);
    m_recompute.setInterval(int(leastPauseMs));
    connect(&m_recompute, &QTimer::timeout, this, &OpenResults::recompute);
    connect(&m_work, &FollowedWork::openChanged, this, &OpenResults::recompute);
    connect(&m_work, &FollowedWork::openExperimentChanged, this, &OpenResults::outdate);
    connect(&m_work.runs(), &core::RunSet::reset, this, &OpenResults::outdate);
    connect(&m_work.runs(), &core::RunSet::changed, this, [this](int, core::RunStore::Changes what) {
        if (what & (core::RunStore::Record | core::RunStore::State | core::RunStore::Epochs))
            outdate();
    });
}

void OpenResults::outdate() {
    if (!m_recompute.isActive())
        m_recompute.start();
}

void OpenResults::recompute() {
    m_recompute.stop(); // what was outdated is computed now
    QElapsedTimer clock;
    clock.start();
    std::vector<core::RunOutcome> outcomes;
    for (const core::RunStore *store : m_work.runs().stores())
        outcomes.push_back(core::outcomeOf(*store));
    const core::ExperimentFollower *open = m_work.opened();
    const core::ResultTable table =
        open ? core::resultTable(open->experiment(), outcomes) : core::resultTable(outcomes);
    core::Report report =
        core::reportOf(table, outcomes, open ? open->experiment().recipe.varies : std::vector<std::string>());
    m_rows.setTable(report.table);
    m_classes.setTable(report.table);
    m_targets.setGroups(core::groupsOf(report.table, outcomes));
    m_judgement.setJudgement(std::move(report.judgement));
    Q_EMIT changed();
    // A timer of no 0 ms, since widgets lay themselves out by events that cause further ones, all before it.
    QTimer::singleShot(1, this, [this, clock] {
        m_recompute.setInterval(int(std::max(leastPauseMs, clock.elapsed() * timesAsLong)));
    });
}

} // namespace lockstep::ui

#include "moc_open_results.cpp"

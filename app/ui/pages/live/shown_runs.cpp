// SPDX-License-Identifier: MIT
#include "app/ui/pages/live/shown_runs.h"

#include <QCoreApplication>

#include <algorithm>

#include "app/ui/shell/workspace.h"
#include "store/run_progress.h"

namespace lockstep::ui {

void ShownRuns::refresh() {
    PicturedRuns &pictured = m_workspace.pictured();
    m_looks = runLooks(
        runs(), [&](const core::RunStore &run) { return pictured.choice().isShown(run.runId()); },
        [&](const core::RunStore &run) { return pictured.isForeign(&run); });
}

const RunLook *ShownRuns::find(const QString &runId) const {
    const auto found = std::ranges::find(m_looks, runId, &RunLook::runId);
    return found == m_looks.end() ? nullptr : &*found;
}

core::RunSet &ShownRuns::runs() const {
    return m_workspace.pictured().runs();
}

const core::RunStore &ShownRuns::storeOf(const RunLook &look) const {
    return *runs().at(look.index);
}

core::RunCurves &ShownRuns::curves() const {
    return m_workspace.curves();
}

std::vector<RunLook> ShownRuns::looksByMethod() const {
    std::vector<RunLook> out = m_looks;
    std::ranges::stable_sort(out, {}, placeOf);
    return out;
}

const core::Published *ShownRuns::published() const {
    const core::Experiment *experiment = m_publishedWanted ? m_workspace.experiment() : nullptr;
    return experiment && experiment->recipe.published ? &*experiment->recipe.published : nullptr;
}

double ShownRuns::epochs() const {
    int most = 1;
    for (const RunLook &look : m_looks)
        if (look.shown)
            most = std::max(most, core::progressOf(storeOf(look)).epochs.value_or(1));
    return most;
}

QString ShownRuns::medianNote() const {
    constexpr qsizetype mostNamed = 4;
    QStringList medians;
    for (const RunLook &look : looksByMethod())
        if (look.median && look.repeats > 1)
            medians.append(QString::number(look.repeat));
    return medians.isEmpty() ? QString()
           : medians.size() > mostNamed
               ? QCoreApplication::translate("LivePage", "median repeats")
               : QCoreApplication::translate("LivePage", "median repeats: %1").arg(medians.join(QStringLiteral(", ")));
}

QString ShownRuns::whyEmpty(const QString &otherwise) const {
    return m_looks.empty() || std::ranges::any_of(m_looks, &RunLook::shown)
               ? otherwise
               : QCoreApplication::translate("LivePage", "All runs are hidden: tick one in the list, or press Alt+A");
}

} // namespace lockstep::ui

// SPDX-License-Identifier: MIT
#include "app/ui/pages/live/shown_runs.h"

#include <QCoreApplication>

#include <algorithm>

#include "app/ui/shell/workspace.h"
#include "app/ui/widgets/name_lines.h"
#include "store/run_progress.h"

namespace lockstep::ui {

void ShownRuns::refresh() {
    PicturedRuns &pictured = m_workspace.pictured();
    m_styles = runStyles(
        runs(), [&](const core::RunStore &run) { return pictured.choice().isShown(run.runId()); },
        [&](const core::RunStore &run) { return pictured.isForeign(&run); });
}

const RunStyle *ShownRuns::find(const QString &runId) const {
    const auto found = std::ranges::find(m_styles, runId, &RunStyle::runId);
    return found == m_styles.end() ? nullptr : &*found;
}

core::RunSet &ShownRuns::runs() const {
    return m_workspace.pictured().runs();
}

const core::RunStore &ShownRuns::storeOf(const RunStyle &style) const {
    return *runs().at(style.index);
}

core::RunCurves &ShownRuns::curves() const {
    return m_workspace.curves();
}

std::vector<RunStyle> ShownRuns::stylesByMethod() const {
    std::vector<RunStyle> out = m_styles;
    std::ranges::stable_sort(out, {}, placeOf);
    return out;
}

const core::Published *ShownRuns::published() const {
    const core::Experiment *experiment = m_publishedWanted ? m_workspace.experiment() : nullptr;
    return experiment && experiment->recipe.published ? &*experiment->recipe.published : nullptr;
}

double ShownRuns::epochs() const {
    int most = 1;
    for (const RunStyle &style : m_styles)
        if (style.shown)
            most = std::max(most, core::progressOf(storeOf(style)).epochs.value_or(1));
    return most;
}

QString ShownRuns::medianNote() const {
    constexpr qsizetype mostNamed = 2;
    QStringList medians;
    for (const RunStyle &style : stylesByMethod())
        if (style.median && style.repeats > 1)
            medians.append(QStringLiteral("%1 #%2").arg(paintedName(style.name), QString::number(style.repeat)));
    return medians.isEmpty() ? QString()
           : medians.size() > mostNamed
               ? QCoreApplication::translate("LivePage", "median repeats")
               : QCoreApplication::translate("LivePage", "median repeats: %1").arg(medians.join(QStringLiteral(", ")));
}

QString ShownRuns::whyEmpty(const QString &yet, const QString &never) const {
    if (!m_styles.empty() && std::ranges::none_of(m_styles, &RunStyle::shown))
        return QCoreApplication::translate("LivePage", "All runs are hidden: tick one in the list, or press Alt+A");
    return m_workspace.isOpen() && m_workspace.complete() ? never : yet;
}

} // namespace lockstep::ui

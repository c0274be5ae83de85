// SPDX-License-Identifier: MIT
#include "app/ui/pages/live/verdict_line.h"

#include "analysis/compare/verdict.h"
#include "app/ui/shell/workspace.h"
#include "app/ui/theme/theme.h"

namespace lockstep::ui {

VerdictLine::VerdictLine(const Theme &theme, Workspace &workspace, QWidget *parent)
    : WrappedLabel(nullptr, parent), m_theme(theme), m_workspace(workspace) {
    setTextInteractionFlags(Qt::TextBrowserInteraction);
    connect(&m_workspace, &Workspace::opened, this, &VerdictLine::refresh);
    connect(&m_workspace, &Workspace::resultsChanged, this, &VerdictLine::refresh);
    connect(&m_theme, &Theme::changed, this, &VerdictLine::refresh);
    refresh();
}

/// Only outcomes and speed-ups: causes and reservations are on Verdict.
void VerdictLine::refresh() {
    const core::Judgement &judgement = m_workspace.results().judgement().judgement();
    const std::string brief = core::briefVerdict(judgement);
    if (brief.empty()) {
        const bool ended = m_workspace.complete();
        setWords(ended ? QString::fromStdString(core::noVerdictText(m_workspace.results().table()))
                       : tr("No verdict yet"));
        setToolTip(ended ? QString() : tr("The reference and another run need a complete epoch each"));
        return;
    }
    const auto reservations = judgement.otherReservations.size(); // those that Verdict's card lists
    const QString link = reservations == 0   ? tr("Why?")
                         : reservations == 1 ? tr("Why? One reservation")
                                             : tr("Why? %1 reservations").arg(reservations);
    setWords(
        (m_workspace.complete() ? tr("<b>Verdict:</b> %1 %2") : tr("<b>Verdict so far:</b> %1 %2"))
            .arg(QString::fromStdString(brief).toHtmlEscaped(),
                 // by name: a label keeps the colour of a link from when its text was laid out
                 QStringLiteral("<a href='verdict' style='color:%2'>%1</a>").arg(link, m_theme.palette().text.name())));
    setToolTip(QStringLiteral("<p>%1</p><p>%2</p>")
                   .arg(QString::fromStdString(judgement.sentence).toHtmlEscaped(),
                        tr("Reference's time ÷ run's time, both measured. More on Verdict (Ctrl+3)")));
}

} // namespace lockstep::ui

#include "moc_verdict_line.cpp"

// SPDX-License-Identifier: MIT
#include "app/ui/pages/verdict/verdict_head.h"

#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

#include <algorithm>

#include "analysis/compare/judgement.h"
#include "analysis/compare/result_table.h"
#include "analysis/compare/verdict.h"
#include "app/ui/pages/verdict/worth_lines.h"
#include "app/ui/theme/theme.h"

namespace lockstep::ui {

VerdictHead::VerdictHead(const Theme &theme, QWidget *parent) : Card({}, parent), m_theme(theme) {
    m_export = new QPushButton(tr("Export"), this);
    m_export->setShortcut(QKeySequence(Qt::CTRL | Qt::Key_E));
    m_export->setToolTip(tr("Page, table, data, charts or TensorBoard files (Ctrl+E)"));
    addTool(m_export);
    body()->addWidget(m_lines = new WorthLines(this));
    body()->addWidget(m_none =
                          makeLabel(tr("No verdict yet: the reference and another run must be done."), "title", this));
    body()->addWidget(m_matters = makeLabel({}, "cardTitle", this));
    body()->addWidget(m_published = makeLabel({}, "secondary", this));
    body()->addWidget(m_repeats = makeLabel({}, "muted", this));
    for (QLabel *label : {m_none, m_matters, m_published, m_repeats}) {
        label->setWordWrap(true);
        label->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    }
    connect(&m_theme, &Theme::changed, this, &VerdictHead::restyle);
    restyle();
}

QString VerdictHead::sentence() const {
    const QString lines = m_lines->text();
    return lines.isEmpty() ? m_none->text() : lines;
}

void VerdictHead::show(const core::ResultTable &table, const core::Judgement &judgement, bool complete) {
    m_lines->show(judgement.lines);
    m_lines->setVisible(!judgement.lines.empty());
    m_none->setVisible(judgement.lines.empty());
    setNote(QString::fromStdString(table.datasetNote));
    m_matters->setText(QString::fromStdString(judgement.matters));
    m_matters->setVisible(!judgement.matters.empty());
    m_published->setText(QString::fromStdString(judgement.publishedCause));
    m_published->setVisible(!judgement.publishedCause.empty());
    const auto anyLine = [&](const auto &is) { return std::ranges::any_of(judgement.lines, is); };
    const bool intervals =
        anyLine([](const core::VerdictLine &line) { return line.speedUp && line.speedUp->hasInterval(); });
    const bool toCome = anyLine([](const core::VerdictLine &line) { return line.outcome == core::Outcome::Pending; });
    // A line that is to come, or that lacks repeats, says so itself.
    m_repeats->setText((complete || toCome ? QString() : tr("So far: runs are still to come. ")) +
                       (intervals ? QString::fromStdString(core::verdictText(table).spread) : QString()));
    m_repeats->setVisible(!m_repeats->text().isEmpty());
}

void VerdictHead::restyle() {
    m_theme.setIcon(m_export, QStringLiteral("export"), m_theme.palette().textSecondary);
}

} // namespace lockstep::ui

#include "moc_verdict_head.cpp"

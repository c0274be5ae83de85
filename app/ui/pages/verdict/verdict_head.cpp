// SPDX-License-Identifier: MIT
#include "app/ui/pages/verdict/verdict_head.h"

#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

#include "analysis/compare/judgement.h"
#include "analysis/compare/result_table.h"
#include "analysis/compare/verdict.h"
#include "app/ui/pages/verdict/worth_lines.h"
#include "app/ui/theme/theme.h"

namespace lockstep::ui {
namespace {

/// What the lines' factors are of, what their intervals are, and how many runs have no line. Lines that are to come, or lack repeats,
/// say so themselves.
QString footOf(const core::ResultTable &table, const core::Judgement &judgement, bool complete) {
    QStringList out;
    bool factors = false, intervals = false, others = false, toCome = false;
    for (const core::VerdictLine &line : judgement.lines) {
        factors |= line.speedUp.has_value();
        intervals |= line.speedUp && line.speedUp->hasInterval();
        others |= line.speedUp && line.against != judgement.reference;
        toCome |= line.outcome == core::Outcome::Pending;
    }
    if (!complete && !toCome)
        out.append(VerdictHead::tr("So far: runs are still to come."));
    if (factors)
        out.append(
            (others ? VerdictHead::tr("× is the training time of %1, or of the run that a line names, ÷ the run's own.")
                    : VerdictHead::tr("× is the training time of %1 ÷ the run's own."))
                .arg(QString::fromStdString(judgement.reference)));
    if (intervals)
        out.append(QString::fromStdString(core::verdictText(table).spread));
    if (judgement.moreRuns > 0)
        out.append(VerdictHead::tr("%1 more in the table.").arg(judgement.moreRuns));
    return out.join(QLatin1Char(' '));
}

} // namespace

VerdictHead::VerdictHead(const Theme &theme, QWidget *parent) : Card({}, parent), m_theme(theme) {
    m_export = new QPushButton(tr("Export"), this);
    m_export->setShortcut(QKeySequence(Qt::CTRL | Qt::Key_E));
    m_export->setToolTip(tr("Page, table, data, charts or TensorBoard files (Ctrl+E)"));
    addTool(m_export);
    body()->addWidget(m_lines = new WorthLines(this));
    body()->addWidget(m_none = makeLabel({}, "title", this));
    body()->addWidget(m_matters = makeLabel({}, "cardTitle", this));
    body()->addWidget(m_published = makeLabel({}, "secondary", this));
    body()->addWidget(m_foot = makeLabel({}, "muted", this));
    for (QLabel *label : {m_none, m_matters, m_published, m_foot}) {
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
    m_none->setText(QString::fromStdString(core::noVerdictText(table)));
    m_none->setVisible(judgement.lines.empty());
    setNote(QString::fromStdString(table.datasetNote));
    m_matters->setText(QString::fromStdString(judgement.matters));
    m_matters->setVisible(!judgement.matters.empty());
    m_published->setText(QString::fromStdString(judgement.publishedCause));
    m_published->setVisible(!judgement.publishedCause.empty());
    m_foot->setText(footOf(table, judgement, complete));
    m_foot->setVisible(!m_foot->text().isEmpty());
}

void VerdictHead::restyle() {
    m_theme.setIcon(m_export, QStringLiteral("export"), m_theme.palette().textSecondary);
}

} // namespace lockstep::ui

#include "moc_verdict_head.cpp"

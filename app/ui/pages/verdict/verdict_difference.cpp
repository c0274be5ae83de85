// SPDX-License-Identifier: MIT
#include "app/ui/pages/verdict/verdict_difference.h"

#include <QComboBox>
#include <QLabel>
#include <QSignalBlocker>
#include <QVBoxLayout>

#include "analysis/compare/result_table.h"
#include "app/ui/charts/waterfall.h"
#include "app/ui/pages/verdict/verdict_causes.h"
#include "app/ui/pages/verdict/verdict_controls.h"
#include "app/ui/pages/verdict/verdict_findings.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/name_lines.h"

namespace lockstep::ui {
namespace {

constexpr int mostPair = 30 * grid; ///< px of the box; names of a matrix are long

} // namespace

VerdictDifference::VerdictDifference(const Theme &theme, core::JudgementModel &judgement, QWidget *parent)
    : Card(tr("Where the difference comes from"), parent), m_judgement(judgement) {
    setToolTip(tr("From the reference's time to the run's, launch to exit, by measured phases. The bars add up"));
    m_pair = new QComboBox(this);
    m_pair->setAccessibleName(tr("Run that is explained"));
    m_pair->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    m_pair->setMaximumWidth(mostPair);
    connect(m_pair, &QComboBox::currentIndexChanged, this, [this] { // by the person: a refresh is quiet
        m_chosenPair = m_pair->currentText();
        m_chosenOf = m_open;
        showWaterfall();
    });
    addTool(m_pair);
    m_waterfall = new Waterfall(theme, QStringLiteral("waterfall"), this);
    m_waterfall->setEmptyText(tr("Needs the reference and another run, both done"));
    body()->addWidget(m_waterfall);
    m_factors = makeLabel({}, "secondary", this);
    m_factors->setWordWrap(true);
    m_factors->setTextInteractionFlags(Qt::TextSelectableByMouse);
    body()->addWidget(m_factors);
    m_controls = new VerdictControls(this);
    body()->addWidget(m_controls);
    body()->addStretch(1);
}

void VerdictDifference::show(const core::ResultTable &table, const QString &open) {
    m_open = open;
    m_colors.clear();
    for (const core::ResultRow &row : table.rows)
        if (const QString name = QString::fromStdString(row.name); !row.published && !m_colors.contains(name))
            m_colors.insert(name, methodColor(QString::fromStdString(row.method)));
    showPairs();
    showWaterfall();
}

void VerdictDifference::showPairs() {
    const auto &pairs = m_judgement.judgement().pairs;
    const std::optional<std::size_t> explained = m_judgement.explainedPair();
    const QSignalBlocker quiet(m_pair);
    m_pair->clear();
    for (std::size_t i = 0; i < pairs.size(); ++i)
        if (pairs[i].attribution)
            addPair(QString::fromStdString(pairs[i].run), int(i));
    const int chosen = m_chosenOf == m_open ? m_pair->findText(m_chosenPair) : -1;
    m_pair->setCurrentIndex(chosen >= 0 ? chosen : explained ? m_pair->findData(int(*explained)) : -1);
    m_pair->setVisible(m_pair->count() > 1);
}

/// A box cuts its text off without a sign of it.
void VerdictDifference::addPair(const QString &name, int pair) {
    m_pair->addItem(elidedName(name, QFontMetricsF(m_pair->font()), mostPair - 6 * grid), pair);
    m_pair->setItemData(m_pair->count() - 1, name, Qt::ToolTipRole);
}

void VerdictDifference::showWaterfall() {
    setFinding({});
    if (m_pair->currentIndex() < 0) {
        m_waterfall->setBars({});
        m_factors->hide();
        m_controls->setRuns({});
        return;
    }
    const auto at = std::size_t(m_pair->currentData().toInt());
    const core::Attribution &found = *m_judgement.judgement().pairs[at].attribution;
    const auto color = [this](const std::string &name) {
        return m_colors.value(QString::fromStdString(name), methodColor(QString()));
    };
    m_waterfall->setAxis(QString::fromUtf8(found.axis()));
    m_waterfall->setBars(waterfallBars(found, color(found.reference), color(found.run)));
    QStringList lines;
    for (const core::FactorEffect &factor : found.factors)
        lines.append(QStringLiteral("• ") + factorLine(factor, found.longerS()));
    m_factors->setText(lines.isEmpty() ? QString() : tr("One setting at a time:\n") + lines.join(QLatin1Char('\n')));
    m_factors->setToolTip(factorHelp(found.factors));
    m_factors->setVisible(!lines.isEmpty());
    m_controls->setRuns(found.missing);
    setFinding(causeFinding(m_judgement.judgement().pairs[at]));
}

void VerdictDifference::fitHeight() {
    m_waterfall->setFixedHeight(m_waterfall->sizeHint().height());
}

} // namespace lockstep::ui

#include "moc_verdict_difference.cpp"

// SPDX-License-Identifier: MIT
#include "app/ui/pages/verdict/accuracy_card.h"

#include <QCheckBox>
#include <QSignalBlocker>
#include <QVBoxLayout>

#include <algorithm>

#include "analysis/compare/result_table.h"
#include "app/ui/charts/bar_chart.h"
#include "app/ui/pages/verdict/verdict_bars.h"

namespace lockstep::ui {

AccuracyCard::AccuracyCard(const Theme &theme, QWidget *parent)
    : Card(tr("Test accuracy"), parent), m_chart(new BarChart(theme, QStringLiteral("test-accuracy"), this)),
      m_published(new QCheckBox(tr("Published"), this)) {
    setToolTip(tr("Share of the test samples classified correctly after the last epoch"));
    m_published->setShortcut(QKeySequence(Qt::ALT | Qt::Key_P));
    m_published->setToolTip(tr("Published accuracies, dotted (Alt+P)"));
    addTool(m_published);
    body()->addWidget(m_chart);
    connect(m_published, &QCheckBox::toggled, this, [this](bool wanted) {
        m_wanted = wanted;
        Q_EMIT asked();
    });
}

void AccuracyCard::show(const core::ResultTable &table, const QString &open, bool complete) {
    if (open != m_open)
        m_wanted.reset();
    m_open = open;
    const QString otherData = QString::fromStdString(core::publishedOnOtherData(table));
    const bool published = m_wanted.value_or(otherData.isEmpty());
    const QSignalBlocker quiet(m_published);
    m_published->setChecked(published);
    m_published->setVisible(
        std::ranges::any_of(table.rows, [](const core::ResultRow &row) { return row.published && row.testAccuracy; }));
    m_chart->setAxisTitle(published && !otherData.isEmpty()
                              ? tr("test accuracy / %; published: of %1, another data set").arg(otherData)
                              : tr("test accuracy / %"));
    const bool done = std::ranges::any_of(
        table.rows, [](const core::ResultRow &row) { return !row.published && row.state == toString(RunState::Done); });
    m_chart->setEmptyText(done       ? tr("No run has reported an accuracy")
                          : complete ? tr("No run reached an evaluation")
                                     : tr("Accuracy appears with the first evaluation"));
    m_chart->setBars(accuracyBars(table, published));
}

void AccuracyCard::fitHeight() {
    m_chart->setFixedHeight(std::max(140, m_chart->sizeHint().height()));
}

} // namespace lockstep::ui

#include "moc_accuracy_card.cpp"

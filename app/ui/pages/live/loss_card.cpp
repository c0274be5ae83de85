// SPDX-License-Identifier: MIT
#include "app/ui/pages/live/loss_card.h"

#include <QHash>
#include <QVBoxLayout>

#include "app/ui/charts/line_chart.h"
#include "app/ui/pages/live/shown_marks.h"
#include "base/format.h"
#include "experiment/recipe.h"
#include "models/live_figures.h"

namespace lockstep::ui {

using core::RunCurves;
using core::RunStore;

LossCard::LossCard(const Theme &theme, const ShownRuns &shown, QWidget *parent)
    : LiveCard(tr("Loss"), shown,
               Changes(RunStore::Loss) | RunStore::Epochs | RunStore::Record | RunStore::State | RunStore::Alerts |
                   RunStore::Link,
               parent),
      m_chart(new LineChart(theme, QStringLiteral("loss"), this)) {
    setToolTip(tr("Cross-entropy of the training batches, mean over all ranks. Zoom: wheel, drag, + and -. Pan: Shift "
                  "and drag. Show all: double click. A click scrolls the console to that time"));
    body()->addWidget(m_chart, 1);
    m_chart->follow(shown.highlight());
}

ChartSource *LossCard::picture() const {
    return m_chart;
}

void LossCard::showAll() {
    m_chart->showAll();
}

void LossCard::draw(Changes what) {
    m_chart->setEmptyText(
        shown().whyEmpty(tr("The first loss arrives with the first steps"), tr("No loss was reported")));
    if (what & (RunStore::Loss | RunStore::Epochs | RunStore::Record | RunStore::State))
        drawCurves();
    m_chart->setMarks(shownMarks(shown(), shown().view().axis)); // a curve that grows moves them too
}

void LossCard::drawCurves() {
    const CurveView &view = shown().view();
    RunCurves &curves = shown().curves();
    const std::vector<RunStyle> &styles = shown().stylesByMethod();
    QList<LineData> lines = curveLines(curves, styles, view);
    QHash<QString, QString> atEnd;
    for (const RunStyle &style : styles)
        atEnd[style.runId] = core::lossAtEnd(shown().storeOf(style));
    for (LineData &line : lines)
        line.endText = atEnd.value(line.runId);
    if (const auto *published = shown().published(); published && view.axis == RunCurves::XAxis::Epoch)
        lines += publishedLines(*published, &core::PublishedEpoch::loss);
    setCurveAxes(*m_chart, view, tr("cross-entropy"), shown().epochs());
    m_chart->setLines(lines);
}

} // namespace lockstep::ui

#include "moc_loss_card.cpp"

// SPDX-License-Identifier: MIT
#include "app/ui/pages/lab/lab_results.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QTableView>
#include <QVBoxLayout>

#include <utility>

#include "app/ui/charts/line_chart.h"
#include "app/ui/pages/lab/lab_forecast.h"
#include "app/ui/pages/lab/lab_lines.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/card.h"
#include "app/ui/widgets/scrolled_body.h"
#include "app/ui/widgets/tables.h"
#include "lab/lab_report.h"
#include "models/lab_tables.h"

namespace lockstep::ui {

LabResults::LabResults(const Theme &theme, QWidget *parent) : QWidget(parent), m_theme(theme) {
    auto *layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(2 * grid);
    buildCharts(layout);
    layout->addWidget(buildRing());
    m_forecast = new LabForecast(m_theme, this);
    layout->addWidget(m_forecast);
    layout->addWidget(buildFits());
    layout->addStretch(1);
}

void LabResults::buildCharts(QVBoxLayout *layout) {
    auto *charts = new QHBoxLayout;
    charts->setSpacing(2 * grid);
    const auto chart = [&](const QString &title, const QString &name, const QString &y, const QString &hint) {
        auto *card = new Card(title, this);
        card->setToolTip(hint);
        auto *picture = new LineChart(m_theme, name, card);
        picture->setXKind(XKind::Bytes);
        picture->setAxisTitles(tr("message size"), y);
        picture->setLogAxis(true);
        picture->setMinimumHeight(38 * grid);
        card->body()->addWidget(picture);
        charts->addWidget(card, 1);
        return picture;
    };
    m_times = chart(tr("Summing gradients: ring against server"), QStringLiteral("lab-times"), tr("time / ms"),
                    tr("Dots, and the figures beside their names: measured. Lines: fit. Dotted: published formulas"));
    m_bandwidths =
        chart(tr("Bus bandwidth"), QStringLiteral("lab-bandwidth"), tr("busbw / GB/s"),
              tr("Bus bandwidth as nccl-tests defines it: comparable across operations and numbers of ranks"));
    m_bandwidths->setLogAxis(false); // from 4 B on a log axis would be all slope
    m_bandwidths->setZeroBased(true);
    layout->addLayout(charts);
}

Card *LabResults::buildRing() {
    auto *card = new Card(tr("Ring against server"), this);
    auto *formulas =
        makeLabel(tr("Ring: T = 2(N-1)K/N, which hardly grows with N. Server: T = 2(N-1)K, which does. %1.")
                      .arg(QString::fromStdString(core::formulaLettersText())),
                  "secondary", card);
    formulas->setToolTip(QString::fromStdString(core::ringFormulaText() + ".\n" + core::serverFormulaText()) +
                         tr(".\nThe formulas leave out sending both ways at once, adding and waking up."));
    formulas->setWordWrap(true);
    formulas->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    m_ring = makeTable(m_theme, card);
    m_ring->setModel(&m_ringModel);
    m_ring->setAccessibleName(tr("Ring against server"));
    card->body()->addWidget(formulas);
    card->body()->addWidget(m_ring);
    return card;
}

Card *LabResults::buildFits() {
    auto *card = new Card(tr("Fit"), this);
    card->setToolTip(tr("Time = α + β·size, piece by piece; errors are of sizes held out of the fit"));
    m_fits = makeTable(m_theme, card);
    m_fits->setModel(&m_fitModel);
    m_fits->setAccessibleName(tr("Fit"));
    card->body()->addWidget(m_fits);
    return card;
}

void LabResults::setLab(core::LabRecord lab) {
    if (lab == m_lab)
        return;
    m_lab = std::move(lab);
    m_model = core::fitLab(m_lab);
}

void LabResults::show(int ranks) {
    m_times->setLines(sumLines(m_lab, m_model, ranks, m_theme.palette()));
    m_bandwidths->setLines(bandwidthLines(m_lab, ranks));
    m_fitModel.setTable(core::fitTable(m_lab, m_model));
    m_ringModel.setTable(core::ringTable(m_lab, m_model, ranks));
    for (QTableView *table : {m_fits, m_ring}) {
        fitColumns(table, 64, 320);
        fitHeight(table);
    }
}

} // namespace lockstep::ui

#include "moc_lab_results.cpp"

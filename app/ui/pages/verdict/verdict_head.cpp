// SPDX-License-Identifier: MIT
#include "app/ui/pages/verdict/verdict_head.h"

#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

#include "analysis/compare/result_table.h"
#include "analysis/compare/verdict.h"
#include "app/ui/pages/verdict/verdict_controls.h"
#include "app/ui/theme/theme.h"

namespace lockstep::ui {

VerdictHead::VerdictHead(const Theme &theme, QWidget *parent) : Card({}, parent), m_theme(theme) {
    m_sentence = makeLabel({}, "display", this);
    m_sentence->setWordWrap(true);
    m_sentence->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    m_repeats = makeLabel({}, "secondary", this);
    m_repeats->setWordWrap(true);
    m_export = new QPushButton(tr("Export"), this);
    m_export->setShortcut(QKeySequence(Qt::CTRL | Qt::Key_E));
    m_export->setToolTip(tr("Results as a page, a table or data, charts, event files for TensorBoard (Ctrl+E)"));
    addTool(m_export);
    body()->addWidget(m_sentence);
    body()->addWidget(m_repeats);
    m_reservations = makeLabel({}, "secondary", this);
    m_reservations->setWordWrap(true);
    m_reservations->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    body()->addWidget(m_reservations);
    m_addRounds = makeSuggestionButton({}, {}, QKeySequence(Qt::CTRL | Qt::Key_M), this);
    m_addRounds->hide();
    connect(m_addRounds, &QPushButton::clicked, this, [this] { Q_EMIT wanted(m_rounds); });
    body()->addWidget(m_addRounds);
    connect(&m_theme, &Theme::changed, this, &VerdictHead::restyle);
    restyle();
}

QString VerdictHead::sentence() const {
    return m_sentence->text();
}

void VerdictHead::show(const core::ResultTable &table, bool complete) {
    const core::VerdictText text = core::verdictText(table);
    m_sentence->setText(text.sentence.empty() ? tr("No verdict yet: the reference and another run must be done.")
                                              : QString::fromStdString(text.sentence));
    setNote(QString::fromStdString(table.datasetNote));
    m_repeats->setText((complete ? QString() : tr("So far: runs are still to come. ")) +
                       QString::fromStdString(text.spread));
    m_repeats->setVisible(!m_repeats->text().isEmpty());
    QStringList reservations;
    for (const std::string &reservation : table.reservations)
        reservations.append(QStringLiteral("• ") + QString::fromStdString(reservation));
    m_reservations->setText(reservations.join(QLatin1Char('\n')));
    m_reservations->setVisible(!reservations.isEmpty());
}

void VerdictHead::offer(const std::optional<core::SuggestedRun> &rounds) {
    m_addRounds->setVisible(rounds.has_value());
    m_rounds = rounds.value_or(core::SuggestedRun());
    describeSuggestion(*m_addRounds, tr("Add %1").arg(QString::fromStdString(m_rounds.name)), m_rounds);
}

void VerdictHead::restyle() {
    m_theme.setIcon(m_export, QStringLiteral("export"), m_theme.palette().textSecondary);
}

} // namespace lockstep::ui

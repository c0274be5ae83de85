// SPDX-License-Identifier: MIT
#include "app/ui/pages/plan/planned_runs_card.h"

#include <QLabel>
#include <QListView>
#include <QPushButton>
#include <QVBoxLayout>

#include <algorithm>

#include "app/ui/pages/plan/plan_rows.h"
#include "app/ui/pages/plan/torchrun_box.h"
#include "app/ui/pages/plan/trial_dialog.h"
#include "app/ui/theme/theme.h"
#include "base/format.h"
#include "experiment/planned_backend.h"

namespace lockstep::ui {
namespace {

/// "5 runs · up to 2 at once · about 12 min"
QString summaryOf(const core::Plan &plan, int sideBySide) {
    const int runs = plan.runnableCount();
    if (runs == 0) // the rows say why
        return {};
    const int withoutEstimate = int(
        std::ranges::count_if(plan.runs, [](const core::PlannedRun &run) { return run.runnable() && !run.estimateS; }));
    const QString atOnce = sideBySide == 1 ? QString()
                           : plan.mostAtOnce > 1
                               ? QStringLiteral(" · ") + QObject::tr("up to %1 at once").arg(plan.mostAtOnce)
                               : QStringLiteral(" · ") + QObject::tr("no two of them fit side by side");
    return (runs == 1 ? QObject::tr("1 run") : QObject::tr("%1 runs").arg(runs)) + atOnce + QStringLiteral(" · ") +
           (plan.estimateS ? QObject::tr("about %1").arg(core::timeLeft(plan.estimateS))
                           : core::timeUnknown(withoutEstimate, runs));
}

QStringList notesOf(const core::Plan &plan) {
    QStringList notes;
    const auto note = [&notes](const QString &text) {
        if (!text.isEmpty() && !notes.contains(text))
            notes.append(text);
    };
    const auto named = [&plan](const core::PlannedRun &run) { return run.name == plan.runs.front().name; };
    if (plan.runnableCount() > 0 && !std::ranges::all_of(plan.runs, named))
        note(QString::fromStdString(core::roundsNote(plan.runs.front().repeats, plan.untilWidth)));
    for (const std::string &one : plan.notes)
        note(QString::fromStdString(one));
    for (const core::PlannedRun &run : plan.runs) {
        if (!run.runnable()) {
            if (run.config.nodes.size() > 1) // the row has no room for it
                note(QString::fromStdString(run.name + ": " + run.notRunReason));
            continue;
        }
        note(QString::fromStdString(run.note));
        if (const core::BackendChoice backend = core::backendOf(run); !backend.name.empty())
            note(QObject::tr("DDP over %1: %2")
                     .arg(QString::fromStdString(backend.name), QString::fromStdString(backend.reason)));
    }
    return notes;
}

} // namespace

PlannedRunsCard::PlannedRunsCard(const Theme &theme, QWidget *parent)
    : Card(tr("What will run"), parent), m_theme(theme) {
    setMinimumWidth(40 * grid);
    m_try = new QPushButton(tr("Try a setting…"), this);
    m_try->setShortcut(QKeySequence(Qt::ALT | Qt::Key_V));
    m_try->setToolTip(
        tr("Does a setting matter? Trains the chosen run for a few hundred steps with a few values of it (Alt+V)"));
    connect(m_try, &QPushButton::clicked, this, &PlannedRunsCard::trySetting);
    addTool(m_try);
    m_rows = new QListView(this);
    m_rows->setResizeMode(QListView::Adjust); // a row is as high as its text has lines
    m_rows->setModel(&m_model);
    m_rows->setItemDelegate(new PlanRowDelegate(m_theme, m_rows));
    m_rows->setFrameShape(QFrame::NoFrame);
    m_rows->setMouseTracking(true);
    m_rows->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_rows->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    m_rows->setAccessibleName(tr("What will run"));
    connect(m_rows->selectionModel(), &QItemSelectionModel::currentChanged, this, &PlannedRunsCard::showChosen);
    body()->addWidget(m_rows, 1);
    m_notes = makeLabel({}, "muted", this);
    m_notes->setWordWrap(true);
    body()->addWidget(m_notes);
    body()->addWidget(makeLine(this));
    m_command = new TorchrunBox(m_theme, this);
    body()->addWidget(m_command);
    body()->addWidget(makeLine(this));
    m_mistakes = makeLabel({}, "wrong", this);
    m_mistakes->setWordWrap(true);
    m_mistakes->hide();
    body()->addWidget(m_mistakes);
    m_summary = makeLabel({}, "secondary", this);
    m_summary->setWordWrap(true);
    body()->addWidget(m_summary);
    m_start = new QPushButton(tr("Start"), this);
    m_start->setObjectName(QStringLiteral("primary"));
    m_start->setIconSize({20, 20});
    m_start->setShortcut(QKeySequence(Qt::CTRL | Qt::Key_Return));
    m_start->setToolTip(tr("Starts these runs; they continue when the window is closed (Ctrl+Enter)"));
    body()->addWidget(m_start);
    connect(&m_theme, &Theme::changed, this, &PlannedRunsCard::restyle);
    restyle();
}

void PlannedRunsCard::show(const core::Plan &plan, int sideBySide) {
    m_model.setPlan(plan);
    m_rows->setEnabled(true);
    m_rows->setCurrentIndex(
        m_model.index(std::max(0, std::min(m_rows->currentIndex().row(), m_model.rowCount() - 1)), 0));
    setSummary(summaryOf(plan, sideBySide));
    const QStringList notes = notesOf(plan);
    m_notes->setText(notes.join(QLatin1Char('\n')));
    m_notes->setVisible(!notes.isEmpty());
    showChosen();
}

void PlannedRunsCard::showNothing() {
    m_model.setPlan({});
    m_rows->setEnabled(true);
    setSummary({});
    m_notes->hide();
    showChosen();
}

void PlannedRunsCard::showOutdated() {
    m_rows->setEnabled(false);
    setSummary({});
    showChosen();
}

void PlannedRunsCard::setSummary(const QString &words) {
    m_summary->setText(words);
    m_summary->setVisible(!words.isEmpty());
}

void PlannedRunsCard::setMistakes(const QStringList &sentences) {
    m_sentences = sentences;
    showMistakes();
}

void PlannedRunsCard::setStartError(const QString &sentence) {
    m_startError = sentence;
    showMistakes();
}

void PlannedRunsCard::showMistakes() {
    QStringList all = m_sentences;
    if (!m_startError.isEmpty())
        all.append(m_startError);
    m_mistakes->setText(all.join(QLatin1Char('\n')));
    m_mistakes->setVisible(!all.isEmpty());
}

QString PlannedRunsCard::mistakes() const {
    return m_mistakes->text();
}

void PlannedRunsCard::setStart(const QString &words, bool enabled) {
    setWords(m_start, words);
    m_start->setEnabled(enabled);
}

void PlannedRunsCard::showChosen() {
    const core::PlannedRun *run = chosen();
    const bool outdated = !m_rows->isEnabled();
    m_command->show(outdated ? nullptr : run);
    m_try->setEnabled(run && run->runnable() && run->command.empty() && !outdated);
}

const core::PlannedRun *PlannedRunsCard::chosen() const {
    const int row = m_rows->currentIndex().row();
    return row < 0 || row >= m_model.rowCount() ? nullptr : &m_model.runAt(row);
}

void PlannedRunsCard::trySetting() {
    const core::PlannedRun *run = chosen();
    if (!run)
        return;
    auto *dialog = new TrialDialog(run->config, QString::fromStdString(run->name), this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setModal(true);
    connect(dialog, &QDialog::accepted, this, [this, dialog] { Q_EMIT planned(dialog->recipe()); });
    dialog->show();
}

void PlannedRunsCard::restyle() {
    m_theme.setIcon(m_start, QStringLiteral("play"), m_theme.palette().onAccent);
}

} // namespace lockstep::ui

#include "moc_planned_runs_card.cpp"

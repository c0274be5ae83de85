// SPDX-License-Identifier: MIT
#include "app/ui/pages/runs/runs_filter_line.h"

#include <QAbstractItemView>
#include <QKeyEvent>
#include <QTimer>

#include <utility>

#include "analysis/history/run_columns.h"
#include "analysis/history/run_filter_completion.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/card.h"

namespace lockstep::ui {

namespace {
constexpr int textRole = Qt::UserRole + 1;
}

RunFilterLine::RunFilterLine(std::function<const std::vector<core::IndexedRun> &()> runs, QWidget *parent)
    : QLineEdit(parent), m_runs(std::move(runs)) {
    setPlaceholderText(tr("Filter:  method=ddp accuracy>88%   (/)"));
    setClearButtonEnabled(true);
    setAccessibleName(tr("Filter"));
    setToolTip(tr("Words are searched in name, recipe, tags, note and id; comparisons in a column.\nmethod=ddp   "
                  "state=failed,stopped   name=DDP*   note~slow   tag!=old\naccuracy>88%   training<2min   "
                  "memory>500MiB   devices=2..4   started>=2026-01-31   loss=-  (unknown)\nAll conditions must hold; "
                  "combine them otherwise with or, not and brackets. Focus: / or Ctrl+F, leave: Esc"));
    m_completer.setModel(&m_choices);
    m_completer.setWidget(this);
    m_completer.setCompletionMode(QCompleter::UnfilteredPopupCompletion);
    m_completer.setMaxVisibleItems(10);
    m_completer.popup()->setObjectName(QStringLiteral("completions"));
    connect(&m_completer, qOverload<const QModelIndex &>(&QCompleter::activated), this, &RunFilterLine::take);
    connect(this, &QLineEdit::textEdited, this, [this] { m_writing = m_edited = true; }); // comes before textChanged
    connect(this, &QLineEdit::textChanged, this, [this] {
        read();
        if (std::exchange(m_edited, false))
            offer();
    });
}

void RunFilterLine::read() {
    QString line = text();
    const std::vector<core::RunColumn> invented = core::inventedColumns(m_runs());
    auto filter = core::RunFilter::parse(line, invented);
    const QString mistake = filter ? QString() : QString::fromStdString(filter.error().message());
    if (!filter) // what stands before the mistake holds
        line.truncate(filter.error().at);
    else if (m_writing && core::beginsKey(line, invented))
        line = line.section(QLatin1Char(' '), 0, -2);
    setStyleProperty(this, "mistake", !mistake.isEmpty());
    if (mistake != m_mistake) {
        m_mistake = mistake;
        Q_EMIT mistakeChanged(mistake);
    }
    line = line.trimmed();
    if (line == m_applied) // thousands of runs need not be filtered twice
        return;
    if (filter = core::RunFilter::parse(line, invented); filter) {
        m_applied = line;
        Q_EMIT filterChanged(*filter);
    }
}

void RunFilterLine::offer() {
    const core::FilterCompletion offered = core::completeFilter(text(), cursorPosition(), m_runs());
    m_from = offered.from;
    m_length = offered.length;
    if (offered.choices.empty())
        return m_completer.popup()->hide();
    m_choices.clear();
    for (const core::FilterCompletion::Choice &choice : offered.choices) {
        const QString hint = choice.hint.section(QLatin1Char('.'), 0, 0);
        auto *item = new QStandardItem(hint.isEmpty() ? choice.text : choice.text + QStringLiteral("   ") + hint);
        item->setData(choice.text, textRole);
        item->setToolTip(choice.hint);
        m_choices.appendRow(item);
    }
    const QFontMetrics metrics(font());
    const int left = metrics.horizontalAdvance(text().left(int(m_from)));
    m_completer.popup()->setTextElideMode(Qt::ElideRight);
    m_completer.complete(QRect(std::min(left, width() / 2), 0, std::min(width(), 60 * grid), height()));
}

void RunFilterLine::take(const QModelIndex &choice) {
    const QString word = choice.data(textRole).toString();
    QString line = text();
    // A finished comparison gets a space, a key waits for its value.
    const bool key = !word.isEmpty() && QStringLiteral("=<>").contains(word.back());
    line.replace(m_from, m_length, key ? word : word + QLatin1Char(' '));
    setText(line);
    setCursorPosition(int(m_from + word.size() + (key ? 0 : 1)));
    if (key) // once the list that was chosen from is gone
        QTimer::singleShot(0, this, &RunFilterLine::offer);
}

void RunFilterLine::keyPressEvent(QKeyEvent *event) {
    const int key = event->key();
    const bool chooses = key == Qt::Key_Escape || key == Qt::Key_Return || key == Qt::Key_Enter || key == Qt::Key_Tab;
    if (chooses && m_completer.popup()->isVisible())
        return event->ignore(); // for the list of choices
    if (key == Qt::Key_Escape || key == Qt::Key_Down || key == Qt::Key_Return || key == Qt::Key_Enter) {
        m_writing = false;
        read();
        Q_EMIT left();
        return;
    }
    QLineEdit::keyPressEvent(event);
}

void RunFilterLine::focusOutEvent(QFocusEvent *event) {
    if (event->reason() != Qt::PopupFocusReason)
        m_completer.popup()->hide();
    // Losing the focus to another window, or while closing, does not end the editing.
    if (m_writing && event->reason() != Qt::PopupFocusReason && event->reason() != Qt::ActiveWindowFocusReason) {
        m_writing = false;
        read();
    }
    QLineEdit::focusOutEvent(event);
}

} // namespace lockstep::ui

#include "moc_runs_filter_line.cpp"

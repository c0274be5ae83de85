// SPDX-License-Identifier: MIT
#include "app/ui/shell/shortcut_sheet.h"

#include <QGridLayout>
#include <QLabel>
#include <QMap>

#include "app/ui/shell/window_commands.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/card.h"
#include "app/ui/widgets/dialog_frame.h"

namespace lockstep::ui {

ShortcutSheet::ShortcutSheet(QWidget *window) : QDialog(window) {
    setWindowTitle(tr("Shortcuts"));
    QVBoxLayout *outer = frameDialog(this, 3 * grid);
    outer->addWidget(makeLabel(tr("Shortcuts"), "title", this));
    QMap<QString, QString> rows; // keys → what; one row a shortcut, pages may use the same keys
    const auto add = [&rows](const QKeySequence &keys, const QString &what) {
        QString &row = rows[keys.toString(QKeySequence::NativeText)];
        row += row.isEmpty() ? what : QStringLiteral(" · ") + what;
    };
    for (const WindowCommand &command : windowCommands(window))
        if (command.keys.count() == 1) // the verdict's advice has chords, as many as there are runs to suggest
            add(command.keys, command.title);
    rows[tr("Ctrl+Y, A…")] = tr("Verdict: run a missing control");
    rows[tr("Ctrl+I, A…")] = tr("Verdict: try a tip");
    rows[tr("Ctrl+G, A…")] = tr("Verdict: run a control of the waterfall");
    add(QKeySequence(QKeySequence::Find), tr("Filter the runs"));
    add(QKeySequence(QKeySequence::HelpContents), tr("Keyboard shortcuts"));
    add(QKeySequence(Qt::CTRL | Qt::Key_K), tr("All commands"));
    auto *grid2 = new QGridLayout;
    grid2->setHorizontalSpacing(4 * grid);
    grid2->setVerticalSpacing(grid / 2);
    // Two columns, so that the sheet is no taller than the least window.
    const int half = int(rows.size() + 1) / 2;
    grid2->setColumnMinimumWidth(2, 2 * grid);
    int at = 0;
    for (auto it = rows.begin(); it != rows.end(); ++it, ++at) {
        const int row = at % half, column = at < half ? 0 : 3;
        QLabel *keys = makeLabel(it.key(), "secondary", this);
        keys->setFont(Theme::mono(Type::Small));
        grid2->addWidget(keys, row, column);
        grid2->addWidget(new QLabel(it.value(), this), row, column + 1);
    }
    outer->addLayout(grid2);
}

} // namespace lockstep::ui

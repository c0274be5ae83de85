#include "app/ui/shell/shortcut_sheet.h"

#include <QGridLayout>
#include <QLabel>
#include <QMap>

#include "app/ui/shell/window_commands.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/card.h"

namespace lockstep::ui {

ShortcutSheet::ShortcutSheet(QWidget *window) : QDialog(window) {
    setWindowTitle(tr("Shortcuts"));
    auto *outer = new QVBoxLayout(this);
    outer->setContentsMargins(3 * grid, 3 * grid, 3 * grid, 3 * grid);
    outer->addWidget(makeLabel(tr("Shortcuts"), "title", this));
    QMap<QString, QString> rows; // keys → what; one row a shortcut
    for (const WindowCommand &command : windowCommands(window))
        rows.insert(command.keys.toString(QKeySequence::NativeText), command.title);
    rows.insert(QKeySequence(QKeySequence::Find).toString(QKeySequence::NativeText), tr("Filter the runs"));
    rows.insert(QKeySequence(QKeySequence::HelpContents).toString(QKeySequence::NativeText), tr("This sheet"));
    rows.insert(QKeySequence(Qt::CTRL | Qt::Key_K).toString(QKeySequence::NativeText), tr("All commands"));
    auto *grid2 = new QGridLayout;
    grid2->setHorizontalSpacing(4 * grid);
    grid2->setVerticalSpacing(grid / 2);
    int row = 0;
    for (auto it = rows.begin(); it != rows.end(); ++it, ++row) {
        QLabel *keys = makeLabel(it.key(), "secondary", this);
        keys->setFont(Theme::mono(Type::Small));
        grid2->addWidget(keys, row, 0);
        grid2->addWidget(new QLabel(it.value(), this), row, 1);
    }
    outer->addLayout(grid2);
}

} // namespace lockstep::ui

// SPDX-License-Identifier: MIT
#include "app/ui/shell/window_commands.h"

#include <QAbstractButton>
#include <QAction>
#include <QWidget>

#include <algorithm>

namespace lockstep::ui {

std::vector<WindowCommand> windowCommands(const QWidget *window) {
    std::vector<WindowCommand> commands;
    const auto add = [&](const QString &title, const QKeySequence &keys, const QString &hint, bool enabled,
                         std::function<void()> run) {
        const bool known = std::any_of(commands.begin(), commands.end(), [&](const WindowCommand &one) {
            return one.keys == keys && one.title == title;
        });
        if (!title.isEmpty() && !known)
            commands.push_back({title, keys, hint, std::move(run), enabled});
    };
    for (QAbstractButton *button : window->findChildren<QAbstractButton *>())
        if (!button->shortcut().isEmpty() && !button->isHidden())
            add(button->accessibleName().isEmpty() ? button->text() : button->accessibleName(), button->shortcut(),
                button->toolTip(), button->isEnabled(),
                [button = QPointer(button)] { button ? button->click() : void(); });
    for (QAction *action : window->findChildren<QAction *>())
        if (!action->shortcut().isEmpty() && !action->text().isEmpty())
            add(action->text().remove(u'&'), action->shortcut(), action->toolTip(), action->isEnabled(),
                [action = QPointer(action)] { action ? action->trigger() : void(); });
    std::stable_sort(commands.begin(), commands.end(), [](const WindowCommand &a, const WindowCommand &b) {
        return a.title.localeAwareCompare(b.title) < 0;
    });
    return commands;
}

} // namespace lockstep::ui

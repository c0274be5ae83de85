// SPDX-License-Identifier: MIT
#include "app/ui/shell/window_commands.h"

#include <QAbstractButton>
#include <QAction>
#include <QStackedWidget>
#include <QWidget>

#include <algorithm>

namespace lockstep::ui {
namespace {

/// "verb": where the words on the button are a state, or too short to be read alone.
QString titleOf(const QAbstractButton &button) {
    const QString verb = button.property("verb").toString();
    return !verb.isEmpty() ? verb : button.accessibleName().isEmpty() ? button.text() : button.accessibleName();
}

/// Its place in the outermost stack of widgets: that is the window's pages.
int pageOf(const QObject *command) {
    int page = -1;
    for (const QObject *at = command; at && at->parent(); at = at->parent())
        if (const auto *stack = qobject_cast<const QStackedWidget *>(at->parent()))
            page = stack->indexOf(static_cast<QWidget *>(const_cast<QObject *>(at)));
    return page;
}

} // namespace

std::vector<WindowCommand> windowCommands(const QWidget *window) {
    std::vector<WindowCommand> commands;
    const auto add = [&](WindowCommand command) {
        const auto known = std::ranges::find_if(
            commands, [&](const WindowCommand &one) { return one.keys == command.keys && one.title == command.title; });
        if (known != commands.end()) {
            if (known->page != command.page) // such as a chart's
                known->page = -1;
        } else if (!command.title.isEmpty()) {
            commands.push_back(std::move(command));
        }
    };
    for (QAbstractButton *button : window->findChildren<QAbstractButton *>())
        if (!button->shortcut().isEmpty() && !button->isHidden())
            add({titleOf(*button), button->shortcut(), button->toolTip(),
                 [button = QPointer(button)] { button ? button->click() : void(); }, button->isEnabled(),
                 pageOf(button), button->objectName() == QLatin1String("railButton")});
    for (QAction *action : window->findChildren<QAction *>())
        if (!action->shortcut().isEmpty() && !action->text().isEmpty())
            add({action->text().remove(u'&'), action->shortcut(), action->toolTip(),
                 [action = QPointer(action)] { action ? action->trigger() : void(); }, action->isEnabled(),
                 pageOf(action)});
    std::stable_sort(commands.begin(), commands.end(), [](const WindowCommand &a, const WindowCommand &b) {
        return a.title.localeAwareCompare(b.title) < 0;
    });
    return commands;
}

} // namespace lockstep::ui

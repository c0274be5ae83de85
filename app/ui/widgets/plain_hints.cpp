// SPDX-License-Identifier: MIT
#include "app/ui/widgets/plain_hints.h"

#include <QAbstractItemView>
#include <QApplication>
#include <QHelpEvent>
#include <QTextDocument>
#include <QToolTip>

namespace lockstep::ui {

QString plainHint(const QString &words) {
    return Qt::mightBeRichText(words) ? Qt::convertFromPlainText(words) : words;
}

QString wholeTextHint(const QString &text, const QString &own) {
    return plainHint(own.isEmpty() ? text : text + QLatin1Char('\n') + own);
}

PlainHints::PlainHints(QObject *parent) : QObject(parent) {
    qApp->installEventFilter(this);
}

bool PlainHints::eventFilter(QObject *watched, QEvent *event) {
    if (event->type() != QEvent::ToolTip)
        return false;
    auto *view = qobject_cast<QAbstractItemView *>(watched->parent());
    if (!view || view->viewport() != watched)
        return false;
    const auto *help = static_cast<QHelpEvent *>(event);
    const QString words = view->indexAt(help->pos()).data(Qt::ToolTipRole).toString();
    if (!Qt::mightBeRichText(words))
        return false;
    QToolTip::showText(help->globalPos(), plainHint(words), view);
    return true;
}

} // namespace lockstep::ui

#include "moc_plain_hints.cpp"

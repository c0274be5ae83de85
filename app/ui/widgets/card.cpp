// SPDX-License-Identifier: MIT
#include "app/ui/widgets/card.h"

#include <QAbstractButton>
#include <QHBoxLayout>
#include <QLabel>
#include <QStyle>
#include <QVBoxLayout>

#include "app/ui/theme/theme.h"
#include "app/ui/widgets/elided_label.h"

namespace lockstep::ui {

Card::Card(const QString &title, QWidget *parent) : QFrame(parent) {
    setObjectName(QStringLiteral("card"));
    auto *outer = new QVBoxLayout(this);
    outer->setContentsMargins(2 * grid, grid + grid / 2, 2 * grid, grid + grid / 2);
    outer->setSpacing(grid);
    m_head = new QHBoxLayout;
    m_head->setSpacing(grid);
    m_head->addStrut(32); // the same with and without tools, so that neighbours line up
    m_title = makeLabel(title, "cardTitle", this);
    m_note = new ElidedLabel("muted", 5 * grid, this); // a narrow card is no wider for it
    m_note->hide();
    m_head->addWidget(m_title);
    m_head->addWidget(m_note);
    m_head->addStretch(1);
    outer->addLayout(m_head);
    m_finding = makeLabel({}, "cardTitle", this);
    m_finding->setWordWrap(true);
    m_finding->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_finding->hide();
    outer->addWidget(m_finding);
    m_body = new QVBoxLayout;
    m_body->setSpacing(grid);
    outer->addLayout(m_body, 1);
}

void Card::addTool(QWidget *tool) {
    m_head->addWidget(tool);
}

void Card::setTitle(const QString &title) {
    m_title->setText(title);
}

QString Card::title() const {
    return m_title->text();
}

void Card::setNote(const QString &note) {
    m_note->setText(note);
    m_note->setVisible(!note.isEmpty());
}

void Card::setFinding(const QString &finding) {
    m_finding->setText(finding);
    m_finding->setVisible(!finding.isEmpty());
    setStyleProperty(m_title, "role", finding.isEmpty() ? QStringLiteral("cardTitle") : QStringLiteral("small"));
}

QString Card::finding() const {
    return m_finding->text();
}

QLabel *makeLabel(const QString &text, const char *role, QWidget *parent) {
    auto *label = new QLabel(parent);
    label->setTextFormat(Qt::PlainText); // names, hosts and errors of other people are among the texts
    label->setText(text);
    label->setProperty("role", role);
    return label;
}

QLabel *makePlainLabel(const QString &text, const char *role, QWidget *parent) {
    QLabel *label = makeLabel(text, role, parent);
    label->setWordWrap(true);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    return label;
}

QFrame *makeLine(QWidget *parent) {
    auto *line = new QFrame(parent);
    line->setObjectName(QStringLiteral("line"));
    return line;
}

void clear(QLayout &layout) {
    while (QLayoutItem *item = layout.takeAt(0)) {
        if (QWidget *old = item->widget()) {
            old->hide();
            old->deleteLater();
        } else if (QLayout *inner = item->layout())
            clear(*inner);
        delete item;
    }
}

void setWords(QAbstractButton *button, const QString &words) {
    if (button->text() == words)
        return;
    const QKeySequence shortcut = button->shortcut();
    button->setText(words);
    button->setShortcut(shortcut);
}

void setStyleProperty(QWidget *widget, const char *name, const QVariant &value) {
    if (widget->property(name) == value)
        return;
    widget->setProperty(name, value);
    widget->style()->unpolish(widget);
    widget->style()->polish(widget);
}

} // namespace lockstep::ui

#include "moc_card.cpp"

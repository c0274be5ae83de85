// SPDX-License-Identifier: MIT
#include "app/ui/pages/plan/queue_place.h"

#include <QButtonGroup>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

#include <algorithm>

#include "app/ui/theme/theme.h"
#include "app/ui/widgets/card.h"
#include "app/ui/widgets/field_row.h"

namespace lockstep::ui {

QueuePlace::QueuePlace(QWidget *parent) : QWidget(parent) {
    auto *rows = new QVBoxLayout(this);
    rows->setContentsMargins(0, 0, grid, 0);
    rows->setSpacing(grid / 2);
    auto *label = new QLabel(tr("Queue runs on"));
    label->setToolTip(tr("The machine that starts one run after the other"));
    auto *line = new FieldRow(label, this);
    rows->addWidget(line);
    auto *group = new QButtonGroup(this);
    const auto add = [&](const char *place, const QKeySequence &keys) {
        auto *button = new QPushButton(this);
        button->setObjectName(QStringLiteral("segment"));
        button->setProperty("place", QString::fromLatin1(place));
        button->setCheckable(true);
        button->setShortcut(keys);
        group->addButton(button);
        connect(button, &QPushButton::toggled, this, &QueuePlace::showNote);
        return button;
    };
    auto *box = new QWidget(this);
    auto *both = new QHBoxLayout(box);
    both->setContentsMargins(0, 0, 0, 0);
    both->setSpacing(0);
    m_here = add("left", QKeySequence(Qt::ALT | Qt::Key_H));
    m_there = add("right", QKeySequence(Qt::ALT | Qt::Key_L));
    both->addWidget(m_here, 1);
    both->addWidget(m_there, 1);
    line->addEditor(box);
    m_note = makeLabel({}, "muted", line);
    m_note->setWordWrap(true);
    line->setNote(m_note);
    setWords(m_here, tr("This machine"));
    m_here->setToolTip(tr("It must stay on and connected until the last run is over (Alt+H)"));
    m_here->setChecked(true);
    sayWhere({});
}

void QueuePlace::sayWhere(const QString &node) {
    setWords(m_there, node.isEmpty() ? tr("The first node") : node);
    const QString who = node.isEmpty() ? tr("The first node") : tr("%1, the first node,").arg(node);
    m_there->setToolTip(m_whyNot.isEmpty() ? tr("%1 starts the runs; this machine may disconnect (Alt+L)").arg(who)
                                           : m_whyNot);
}

void QueuePlace::show(const std::vector<NodePlace> &places, const std::vector<core::NodeEntry> &book) {
    setVisible(!places.empty());
    if (places.empty())
        return;
    const NodePlace &first = places.front();
    const auto node = std::find_if(book.begin(), book.end(), [&](const core::NodeEntry &one) {
        return one.how == "ssh" && one.host == first.host && !first.host.empty();
    });
    m_host = QString::fromStdString(first.host);
    const QString name = node != book.end() ? QString::fromStdString(node->name) : m_host;
    const bool here = std::any_of(places.begin(), places.end(), [](const auto &one) { return one.host.empty(); });
    m_whyNot = here ? tr("This machine is one of the nodes, so it must stay on while they run.") : QString();
    sayWhere(name);
    m_there->setEnabled(!here);
    if (here)
        m_here->setChecked(true);
    showNote();
}

void QueuePlace::showNote() {
    m_note->setText(!m_whyNot.isEmpty() ? m_whyNot
                    : m_there->isChecked()
                        ? tr("This machine may disconnect: %1 keeps runs and results.").arg(m_there->text())
                        : tr("This machine must stay on until the last run ends."));
}

QString QueuePlace::noteText() const {
    return m_note->text();
}

QString QueuePlace::host() const {
    return m_there->isChecked() && isVisibleTo(parentWidget()) && m_whyNot.isEmpty() ? m_host : QString();
}

} // namespace lockstep::ui

#include "moc_queue_place.cpp"

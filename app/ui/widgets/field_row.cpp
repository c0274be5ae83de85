// SPDX-License-Identifier: MIT
#include "app/ui/widgets/field_row.h"

#include <QGridLayout>
#include <QHBoxLayout>
#include <QLabel>

#include <algorithm>

#include "app/ui/theme/theme.h"

namespace lockstep::ui {
namespace {
constexpr int labelWidth = 22 * grid, editorsAtMost = 64 * grid;
constexpr int leastBeside = 46 * grid; ///< of the row, for a label beside its editors
} // namespace

FieldRow::FieldRow(QLabel *label, QWidget *parent)
    : QWidget(parent), m_label(label), m_place(new QWidget(this)), m_editors(new QHBoxLayout(m_place)),
      m_layout(new QGridLayout(this)) {
    m_layout->setContentsMargins(0, 0, 0, 0);
    m_layout->setHorizontalSpacing(grid);
    m_layout->setVerticalSpacing(grid / 2);
    m_editors->setContentsMargins(0, 0, 0, 0);
    m_editors->setSpacing(grid);
    m_editors->addStretch(0);
    m_label->setParent(this);
    arrange(true);
}

void FieldRow::addEditor(QWidget *editor) {
    m_editors->insertWidget(m_editors->count() - 1, editor, 4);
    const int count = m_editors->count() - 1;
    for (int i = 0; i < count; ++i)
        m_editors->itemAt(i)->widget()->setMaximumWidth((editorsAtMost - (count - 1) * grid) / count);
}

void FieldRow::addButton(QWidget *button) {
    m_editors->insertWidget(m_editors->count() - 1, button);
}

void FieldRow::setNote(QLabel *note) {
    m_note = note;
    arrange(*m_beside);
}

QSize FieldRow::minimumSizeHint() const {
    int width = std::max(m_label->minimumSizeHint().width(), m_place->minimumSizeHint().width());
    if (m_note)
        width = std::max(width, m_note->minimumSizeHint().width());
    return {width, QWidget::minimumSizeHint().height()};
}

void FieldRow::resizeEvent(QResizeEvent *event) {
    if (const bool beside = width() >= leastBeside; beside != m_beside)
        arrange(beside);
    QWidget::resizeEvent(event);
}

void FieldRow::arrange(bool beside) {
    m_beside = beside;
    for (QWidget *part : {static_cast<QWidget *>(m_label), m_place, static_cast<QWidget *>(m_note)})
        if (part)
            m_layout->removeWidget(part);
    const int column = beside ? 1 : 0;
    m_label->setMinimumWidth(beside ? labelWidth : 0);
    m_label->setMaximumWidth(beside ? labelWidth : QWIDGETSIZE_MAX);
    m_layout->addWidget(m_label, 0, 0);
    m_layout->addWidget(m_place, 1 - column, column);
    if (m_note)
        m_layout->addWidget(m_note, 2 - column, column);
    m_layout->setColumnStretch(0, beside ? 0 : 1);
    m_layout->setColumnStretch(1, beside ? 1 : 0);
}

} // namespace lockstep::ui

#include "moc_field_row.cpp"

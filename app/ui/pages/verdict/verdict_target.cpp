// SPDX-License-Identifier: MIT
#include "app/ui/pages/verdict/verdict_target.h"

#include <utility>

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QTableView>
#include <QVBoxLayout>

#include "app/ui/theme/theme.h"
#include "app/ui/widgets/card.h"
#include "app/ui/widgets/tables.h"
#include "base/format.h"
#include "models/target_model.h"

namespace lockstep::ui {

using TargetKind = core::Target::Kind;

VerdictTarget::VerdictTarget(const Theme &theme, core::TargetModel &model, QWidget *parent)
    : QWidget(parent), m_model(model), m_kind(new QComboBox(this)), m_value(new QLineEdit(this)),
      m_unit(makeLabel({}, "secondary", this)), m_mistake(makeLabel({}, "wrong", this)) {
    auto *layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    auto *line = new QHBoxLayout;
    line->setSpacing(grid);
    m_kind->addItem(tr("Test accuracy ≥"), int(TargetKind::Accuracy));
    m_kind->addItem(tr("Training loss ≤"), int(TargetKind::Loss));
    m_kind->setAccessibleName(tr("Kind of target"));
    m_value->setFixedWidth(10 * grid);
    m_value->setAlignment(Qt::AlignRight);
    m_value->setAccessibleName(tr("Target"));
    m_mistake->hide();
    line->addWidget(m_kind);
    line->addWidget(m_value);
    line->addWidget(m_unit);
    line->addWidget(m_mistake);
    line->addStretch(1);
    layout->addLayout(line);
    m_table = makeTable(theme, this, core::TargetModel::Name);
    m_table->setModel(&m_model);
    m_table->setAccessibleName(tr("Time to the target"));
    layout->addWidget(m_table);
    using Column = core::TargetModel::Column;
    const QList<int> always{Column::Name, Column::Time, Column::Reached, Column::How};
    connect(&m_model, &QAbstractItemModel::modelReset, m_table, [this, always] { hideEmptyColumns(m_table, always); });
    connect(m_kind, &QComboBox::currentIndexChanged, this, [this] {
        m_typed = false;
        suggest();
    });
    connect(m_kind, &QComboBox::activated, this, [this] { m_chosen = true; });
    connect(m_value, &QLineEdit::textEdited, this, [this] {
        m_typed = true;
        take();
    });
    suggest();
}

void VerdictTarget::suggest() {
    const auto kind = TargetKind(m_kind->currentData().toInt());
    m_unit->setText(kind == TargetKind::Accuracy ? QStringLiteral("%") : QString());
    const auto found = m_model.suggestion(kind);
    if (!found) {
        m_value->clear();
        m_model.setTarget({kind, kind == TargetKind::Accuracy ? 1.0 : 0.0}); // no run has a value to compare with it
        return;
    }
    m_value->setText(kind == TargetKind::Accuracy ? QString::number(found->value * 100, 'f', 0)
                                                  : core::significant(found->value, 2).remove(u',')); // take() reads it
    take();
}

void VerdictTarget::take() {
    const auto kind = TargetKind(m_kind->currentData().toInt());
    bool number = false;
    const double value = m_value->text().trimmed().toDouble(&number);
    const bool right = number && value > 0 && (kind == TargetKind::Loss || value <= 100);
    m_mistake->setText(kind == TargetKind::Accuracy ? tr("Enter a percentage above 0, at most 100")
                                                    : tr("Enter a number above 0"));
    m_mistake->setVisible(!right && !m_value->text().isEmpty());
    if (right)
        m_model.setTarget({kind, kind == TargetKind::Accuracy ? value / 100 : value});
}

void VerdictTarget::refresh(const QString &experiment) {
    if (std::exchange(m_experiment, experiment) != experiment)
        m_typed = m_chosen = false;
    if (m_typed)
        return;
    // A script may report no accuracy, and other runs do only after an epoch.
    const TargetKind wanted = m_model.suggestion(TargetKind::Accuracy) || !m_model.suggestion(TargetKind::Loss)
                                  ? TargetKind::Accuracy
                                  : TargetKind::Loss;
    if (const int row = m_kind->findData(int(wanted)); !m_chosen && row != m_kind->currentIndex())
        return m_kind->setCurrentIndex(row);
    suggest();
}

} // namespace lockstep::ui

#include "moc_verdict_target.cpp"

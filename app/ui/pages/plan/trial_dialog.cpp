// SPDX-License-Identifier: MIT
#include "app/ui/pages/plan/trial_dialog.h"

#include <QComboBox>
#include <QDialogButtonBox>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSpinBox>
#include <QVBoxLayout>

#include <algorithm>

#include "app/ui/theme/theme.h"
#include "app/ui/widgets/card.h"
#include "app/ui/widgets/dialog_frame.h"
#include "models/cells.h"

namespace lockstep::ui {
namespace {

/// What there is besides the value that the run has.
QString otherValues(const FieldSpec &field, const RunConfig &like) {
    QStringList out;
    if (field.type == FieldType::Switch)
        out = {QStringLiteral("false"), QStringLiteral("true")};
    for (const std::string_view choice : field.choices)
        out.append(core::qs(choice));
    out.removeAll(core::qs(field.get(like)));
    return out.join(u',');
}

} // namespace

TrialDialog::TrialDialog(const RunConfig &like, const QString &name, QWidget *parent)
    : QDialog(parent), m_like(like), m_name(name) {
    setWindowTitle(tr("Try a setting"));
    setMinimumWidth(68 * grid);
    QVBoxLayout *layout = frameDialog(this, 3 * grid);
    layout->setSpacing(grid);
    layout->addWidget(makeLabel(tr("Does a setting matter here?"), "title", this));
    layout->addWidget(makePlainLabel(tr("%1 as it is and with each value, three times each, in turns.").arg(name),
                                     "secondary", this));
    auto *form = new QFormLayout;
    form->setContentsMargins(0, 0, 0, 0);
    form->setSpacing(grid);
    m_setting = new QComboBox(this);
    for (const FieldSpec *field : core::triableSettings(like))
        m_setting->addItem(core::qs(field->label), core::qs(field->key));
    m_setting->setCurrentIndex(std::max(0, m_setting->findData(core::qs(core::SettingTrial().key))));
    form->addRow(tr("&Setting"), m_setting);
    m_values = new QLineEdit(this);
    form->addRow(tr("&Values"), m_values);
    m_steps = new QSpinBox(this);
    m_steps->setRange(10, 100'000);
    m_steps->setValue(int(core::SettingTrial().steps));
    m_steps->setButtonSymbols(QAbstractSpinBox::NoButtons);
    m_steps->setSuffix(tr(" steps an epoch, three epochs"));
    m_steps->setToolTip(tr("Fewer, if the training set of these runs has no more"));
    form->addRow(tr("&Length"), m_steps);
    layout->addLayout(form);
    m_help = makePlainLabel({}, "muted", this);
    layout->addWidget(m_help);
    m_state = makePlainLabel({}, "wrong", this);
    layout->addWidget(m_state);
    layout->addStretch(1);
    auto *buttons = new QDialogButtonBox(QDialogButtonBox::Cancel, this);
    m_plan = buttons->addButton(tr("Plan these runs"), QDialogButtonBox::AcceptRole);
    m_plan->setDefault(true);
    layout->addSpacing(grid);
    layout->addWidget(buttons);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    connect(buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
    connect(m_setting, &QComboBox::currentIndexChanged, this, &TrialDialog::showSetting);
    connect(m_values, &QLineEdit::textChanged, this, &TrialDialog::check);
    connect(m_steps, &QSpinBox::valueChanged, this, &TrialDialog::check);
    showSetting();
    m_values->setFocus();
}

QString TrialDialog::state() const {
    return m_state->text();
}

void TrialDialog::showSetting() {
    const FieldSpec *field = findField(m_setting->currentData().toString().toStdString());
    if (!field)
        return;
    const QString now = core::qs(field->get(m_like));
    m_help->setText(core::qs(field->help) + u' ' + (now.isEmpty() ? tr("Now: not set.") : tr("Now: %1.").arg(now)));
    m_values->setPlaceholderText(tr("joined by commas"));
    m_values->setText(otherValues(*field, m_like));
    check();
}

void TrialDialog::check() {
    const QString values = m_values->text().remove(u' ');
    m_plan->setEnabled(false);
    m_state->clear();
    if (values.isEmpty())
        return;
    auto trial = core::settingTrialFrom((m_setting->currentData().toString() + u'=' + values).toStdString());
    if (trial)
        trial->steps = m_steps->value();
    auto recipe = trial ? core::recipeOf(*trial, m_like, m_name.toStdString()) : fail(trial.error());
    if (!recipe)
        return m_state->setText(QString::fromStdString(recipe.error().what)); // the way out names flags
    m_recipe = std::move(*recipe);
    m_plan->setEnabled(true);
}

} // namespace lockstep::ui

#include "moc_trial_dialog.cpp"

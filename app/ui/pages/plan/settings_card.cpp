// SPDX-License-Identifier: MIT
#include "app/ui/pages/plan/settings_card.h"

#include <QCheckBox>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QSignalBlocker>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

#include "app/ui/pages/plan/config_form.h"
#include "app/ui/pages/plan/data_notice.h"
#include "app/ui/pages/plan/plan_places.h"
#include "app/ui/pages/plan/queue_place.h"
#include "app/ui/pages/shared/device_picker.h"
#include "app/ui/pages/shared/node_picker.h"
#include "app/ui/pages/shared/plan_doctor.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/elided_label.h"
#include "app/ui/widgets/field_row.h"

namespace lockstep::ui {
namespace {

constexpr int untilWidthItem = -1; ///< among the numbers of repeats; 0: as the recipe says

} // namespace

SettingsCard::SettingsCard(const Theme &theme, PlanDraft &draft, QWidget *parent)
    : Card(tr("Settings"), parent), m_draft(draft) {
    m_head = makeLabel({}, "secondary", this);
    m_head->setWordWrap(true);
    body()->addWidget(m_head);
    m_quick = new QCheckBox(tr("Quick"), this);
    m_quick->setShortcut(QKeySequence(Qt::ALT | Qt::Key_Q));
    m_quick->setToolTip(tr("Smaller runs, for a first answer within minutes (Alt+Q)"));
    connect(m_quick, &QCheckBox::toggled, this, [this](bool on) {
        m_draft.setQuick(on);
        m_repeats->setCurrentIndex(on ? std::max(0, m_repeats->findData(m_draft.quickVariant().repeats)) : 0);
        Q_EMIT edited();
    });
    m_quickRow = new QWidget(this);
    auto *across = new QHBoxLayout(m_quickRow);
    across->setContentsMargins(0, 0, 0, 0);
    across->setSpacing(grid);
    across->addWidget(m_quick);
    m_quickWords = new ElidedLabel("secondary", 8 * grid, m_quickRow);
    across->addWidget(m_quickWords, 1);
    body()->addWidget(m_quickRow);
    body()->addWidget(buildOptions());
    m_reset = new QPushButton(tr("Reset"), this);
    m_reset->setShortcut(QKeySequence(Qt::ALT | Qt::Key_R));
    m_reset->setToolTip(tr("Resets to the recipe's settings (Alt+R)"));
    connect(m_reset, &QPushButton::clicked, this, &SettingsCard::reset);
    addTool(m_reset);
    m_data = new DataNotice(theme, this);
    connect(m_data, &DataNotice::arrived, this, &SettingsCard::edited);
    // Nodes may be many: they scroll with the form.
    auto *scrolled = new QWidget(this);
    scrolled->setObjectName(QStringLiteral("scrolled"));
    m_places = new PlanPlaces(theme, m_draft, this, scrolled);
    connect(m_places, &PlanPlaces::edited, this, &SettingsCard::edited);
    body()->addWidget(m_data);
    body()->addWidget(m_places->switchRow());
    body()->addWidget(m_places->devices());
    m_form = new ConfigForm(theme, scrolled);
    connect(m_form, &ConfigForm::edited, this, [this](const QString &key, const QString &value) {
        if (const FieldSpec *field = findField(key.toStdString()))
            m_draft.set(*field, value.toStdString());
        Q_EMIT edited();
    });
    connect(m_form, &ConfigForm::methodChosen, this, [this](Method method, bool on) {
        m_draft.setMethod(method, on);
        Q_EMIT edited();
    });
    body()->addWidget(buildScrolled(scrolled), 1);
}

QWidget *SettingsCard::buildOptions() {
    m_repeats = new QComboBox(this);
    m_repeats->setAccessibleName(tr("Repeats"));
    m_repeats->addItem(tr("by recipe"), 0);
    for (const int count : {1, 3, 5, 10})
        m_repeats->addItem(count == 1 ? tr("1 repeat") : tr("%1 repeats").arg(count), count);
    const core::WidthGoal goal;
    m_repeats->addItem(tr("until %1").arg(QString::fromStdString(core::widthText(goal.width))), untilWidthItem);
    m_repeats->setToolTip(tr("Repeats of each run; fewer than 3 give no interval, and a few percent can be chance. "
                             "Until %1: rounds are added until "
                             "every 95 % interval is that narrow, %2 at most")
                              .arg(QString::fromStdString(core::widthText(goal.width)))
                              .arg(goal.mostRounds));
    connect(m_repeats, &QComboBox::currentIndexChanged, this, [this] {
        const int count = m_repeats->currentData().toInt();
        m_draft.repeats = count > 0 ? std::optional(count) : std::nullopt;
        m_draft.untilWidth = count == untilWidthItem ? std::optional(core::WidthGoal()) : std::nullopt;
        if (count != 0 && count != m_draft.quickVariant().repeats && m_draft.isQuick())
            m_draft.endQuick();
        Q_EMIT edited();
    });
    auto *repeats = new QLabel(tr("Repeats"));
    repeats->setToolTip(m_repeats->toolTip());
    auto *options = new FieldRow(repeats, this);
    options->addEditor(m_repeats);
    m_sideBySide = new QComboBox(this);
    m_sideBySide->setAccessibleName(tr("Runs at once"));
    for (const int count : {1, 2, 4, 8})
        m_sideBySide->addItem(count == 1 ? tr("one at a time") : tr("%1 side by side").arg(count), count);
    m_sideBySide->setToolTip(
        tr("Runs at a time, each on devices of its own. The queue ends sooner, but each run takes longer than alone"));
    connect(m_sideBySide, &QComboBox::currentIndexChanged, this, [this] {
        m_draft.sideBySide = m_sideBySide->currentData().toInt();
        Q_EMIT edited();
    });
    options->addEditor(m_sideBySide);
    return options;
}

QWidget *SettingsCard::buildScrolled(QWidget *scrolled) {
    auto *rows = new QVBoxLayout(scrolled);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setSpacing(grid + grid / 2);
    rows->addWidget(m_places->nodes());
    rows->addWidget(m_places->queuePlace());
    rows->addWidget(m_places->doctor());
    rows->addWidget(m_form, 1);
    auto *area = new QScrollArea(this);
    area->setWidgetResizable(true);
    area->setFrameShape(QFrame::NoFrame);
    area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    area->setFocusPolicy(Qt::NoFocus);
    area->setWidget(scrolled);
    return area;
}

void SettingsCard::reset() {
    if (m_draft.isQuick())
        m_repeats->setCurrentIndex(0);
    m_draft.reset();
    m_places->reset();
    m_form->show(m_draft);
    Q_EMIT edited();
}

void SettingsCard::begin(PlanDraft draft) {
    const FieldSpec &field = *findField("nodes");
    const std::string nodes = m_draft.value(field).value_or("");
    const bool quick = m_draft.isQuick();
    m_draft = std::move(draft);
    if (!nodes.empty() && m_draft.value(field).value_or("").empty())
        m_draft.set(field, nodes); // another recipe, the same machines
    m_draft.sideBySide = m_sideBySide->currentData().toInt();
    m_draft.repeats.reset();
    m_draft.untilWidth.reset();
    m_repeats->setCurrentIndex(0);
    const core::QuickVariant variant = m_draft.quickVariant();
    m_quickWords->setText(
        tr("%L1 samples, %2 epochs, %3 repeats").arg(variant.trainSamples).arg(variant.epochs).arg(variant.repeats));
    m_quickRow->setVisible(m_draft.knows(*findField("epochs")));
    m_head->setText(QString::fromStdString(m_draft.recipe().question));
    m_head->setVisible(!m_draft.recipe().question.empty());
    if (quick) {
        m_draft.setQuick(true);
        m_repeats->setCurrentIndex(std::max(0, m_repeats->findData(variant.repeats)));
    }
    m_form->show(m_draft);
    Q_EMIT edited();
}

std::vector<Error> SettingsCard::show(const std::vector<Error> &mistakes) {
    const QSignalBlocker quiet(m_quick); // an edit may have ended it
    m_quick->setChecked(m_draft.isQuick());
    m_reset->setEnabled(m_draft.isChanged());
    std::vector<Error> rest = m_form->setMistakes(mistakes);
    m_form->show(m_draft);
    return rest;
}

/// A folder of the person's own is checked by the trainer, which knows what it needs.
bool SettingsCard::dataMissing() {
    const FieldSpec *dataset = findField("dataset"), *folder = findField("data_dir");
    const bool own = (folder && !m_draft.value(*folder).value_or("").empty()) || !m_places->reachesThisMachine();
    const auto name = dataset && !own && m_draft.knows(*dataset) ? m_draft.value(*dataset) : std::nullopt;
    return m_data->check(name ? QString::fromStdString(*name) : QString());
}

} // namespace lockstep::ui

#include "moc_settings_card.cpp"

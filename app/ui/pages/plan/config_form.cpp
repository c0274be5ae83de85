// SPDX-License-Identifier: MIT
#include "app/ui/pages/plan/config_form.h"

#include <QCheckBox>
#include <QComboBox>
#include <QFileDialog>
#include <QGridLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QToolButton>
#include <QVBoxLayout>

#include <utility>

#include "app/ui/pages/plan/plan_draft.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/card.h"
#include "app/ui/widgets/field_row.h"
#include "ipc/model_facts.h"
#include "models/cells.h"

namespace lockstep::ui {

ConfigForm::ConfigForm(const Theme &theme, QWidget *parent) : QWidget(parent), m_theme(theme) {
    setObjectName(QStringLiteral("scrolled"));
    auto *layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, grid, 0);
    layout->setSpacing(grid / 2);
    for (const auto &[group, title] : {std::pair(FieldGroup::Main, QString()),
                                       {FieldGroup::Devices, tr("Devices and communication")},
                                       {FieldGroup::Training, tr("Training")},
                                       {FieldGroup::Data, tr("Data and loading")},
                                       {FieldGroup::Files, tr("Files and checkpoints")},
                                       {FieldGroup::Advanced, tr("Advanced")}})
        addGroup(group, title, layout);
    layout->addStretch(1);
    restyle();
    connect(&m_theme, &Theme::changed, this, &ConfigForm::restyle);
}

void ConfigForm::addGroup(FieldGroup group, const QString &title, QVBoxLayout *layout) {
    auto *body = new QWidget(this);
    auto *rows = new QVBoxLayout(body);
    rows->setContentsMargins(0, 0, 0, title.isEmpty() ? grid : grid / 2);
    rows->setSpacing(grid / 2);
    for (const FieldSpec &spec : runConfigFields())
        if (spec.group == group && !spec.perProcess)
            rows->addWidget(makeRow(spec));
    Group &entry = m_groups[int(group)];
    entry.body = body;
    if (!title.isEmpty()) {
        entry.head = new QToolButton(this);
        entry.head->setObjectName(QStringLiteral("fold"));
        entry.head->setText(title);
        entry.head->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
        entry.head->setCheckable(true);
        entry.head->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
        entry.head->setToolTip(tr("Show or hide these fields (Space)"));
        connect(entry.head, &QToolButton::toggled, this, [this, group](bool open) { unfold(group, open); });
        layout->addWidget(entry.head);
        body->hide();
    }
    layout->addWidget(body);
}

QWidget *ConfigForm::makeRow(const FieldSpec &spec) {
    auto *label = new QLabel(core::qs(spec.label));
    auto *row = new FieldRow(label, this);
    const QString hint = QStringLiteral("%1\n%2").arg(core::qs(spec.help), QString::fromStdString(flagOf(spec)));
    label->setToolTip(hint);
    QWidget *editor = makeEditor(spec, row);
    editor->setToolTip(hint);
    editor->setAccessibleName(core::qs(spec.label));
    editor->setObjectName(QStringLiteral("field_") + core::qs(spec.key));
    label->setBuddy(editor);
    row->addEditor(editor);
    if (!spec.fileEnding.empty())
        row->addButton(makeFileButton(spec, row));
    QLabel *mistake = makeLabel({}, "wrong", row);
    mistake->setWordWrap(true);
    mistake->hide();
    row->setNote(mistake);
    m_fields.insert(core::qs(spec.key), {&spec, editor, label, mistake, row});
    m_order.append(core::qs(spec.key));
    return row;
}

/// Beside the list of a field whose value may be a file, too.
QPushButton *ConfigForm::makeFileButton(const FieldSpec &spec, QWidget *parent) {
    auto *button = new QPushButton(tr("File…"), parent);
    button->setObjectName(QStringLiteral("file_") + core::qs(spec.key));
    button->setAccessibleName(tr("%1 from a file").arg(core::qs(spec.label)));
    button->setShortcut(QKeySequence(Qt::ALT | Qt::Key_F));
    button->setToolTip(tr("Choose a file (*%1) (Alt+F)").arg(core::qs(spec.fileEnding)));
    connect(button, &QPushButton::clicked, this, [this, &spec] {
        const QString file = QFileDialog::getOpenFileName(this, core::qs(spec.label), {},
                                                          tr("Models (*%1)").arg(core::qs(spec.fileEnding)));
        if (!file.isEmpty())
            Q_EMIT edited(core::qs(spec.key), file);
    });
    return button;
}

/// The value's place in a list; a file is added by its name.
int ConfigForm::placeOf(const QString &value, QComboBox &box) {
    int place = box.findData(value);
    if (place < 0) {
        box.addItem(QString::fromStdString(modelTitle(value.toStdString())), value);
        place = box.count() - 1;
        box.setItemData(place, value, Qt::ToolTipRole);
    }
    return place;
}

QWidget *ConfigForm::makeMethods(QWidget *parent) {
    auto *box = new QWidget(parent);
    constexpr int columns = 2; // beside the scroll bar, too, they fit in a window of 1200 pixels
    auto *rows = new QGridLayout(box);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setVerticalSpacing(grid / 2);
    rows->setHorizontalSpacing(grid + grid / 2); // a box must not look like the end of the label before it
    for (const MethodSpec &spec : methodTable) {
        auto *tick = new QCheckBox(core::qs(spec.label), box);
        connect(tick, &QCheckBox::toggled, this, [this, method = spec.id](bool on) {
            if (!m_showing)
                Q_EMIT methodChosen(method, on);
        });
        rows->addWidget(tick, int(m_methods.size()) / columns, int(m_methods.size()) % columns);
        m_methods.insert(int(spec.id), tick);
    }
    rows->setColumnStretch(columns, 1);
    box->setFocusProxy(m_methods.value(int(Method::Baseline)));
    return box;
}

QWidget *ConfigForm::makeEditor(const FieldSpec &spec, QWidget *parent) {
    const QString key = core::qs(spec.key);
    if (spec.key == "method")
        return makeMethods(parent);
    if (spec.type == FieldType::Switch) {
        auto *box = new QCheckBox(parent);
        connect(box, &QCheckBox::toggled, this, [this, key](bool on) {
            if (!m_showing)
                Q_EMIT edited(key, on ? QStringLiteral("true") : QStringLiteral("false"));
        });
        return box;
    }
    if (spec.type == FieldType::Choice) {
        auto *box = new QComboBox(parent);
        for (const std::string_view choice : spec.choices)
            box->addItem(core::qs(choice), core::qs(choice));
        box->setPlaceholderText(tr("set by the recipe"));
        connect(box, &QComboBox::currentIndexChanged, this, [this, key, box](int index) {
            if (!m_showing && index >= 0)
                Q_EMIT edited(key, box->currentData().toString());
        });
        return box;
    }
    auto *line = new QLineEdit(parent);
    if (spec.type == FieldType::Integer || spec.type == FieldType::Real) {
        line->setFont(Theme::figures(Type::Body));
    }
    connect(line, &QLineEdit::textEdited, this,
            [this, key](const QString &value) { Q_EMIT edited(key, value.trimmed()); });
    return line;
}

void ConfigForm::show(const PlanDraft &draft) {
    m_showing = true;
    QSet<int> known; // groups
    for (const FormField &field : std::as_const(m_fields)) {
        field.row->setVisible(draft.knows(*field.spec));
        if (draft.knows(*field.spec))
            known.insert(int(field.spec->group));
        const std::optional<std::string> value = draft.value(*field.spec);
        QFont font = field.label->font();
        font.setBold(draft.isChanged(*field.spec));
        field.label->setFont(font);
        const QString shown = value ? QString::fromStdString(*value) : QString();
        if (auto *line = qobject_cast<QLineEdit *>(field.editor)) {
            line->setPlaceholderText(value                          ? tr("none")
                                     : field.spec->key == "devices" ? tr("set by the recipe; for example 0,1")
                                                                    : tr("set by the recipe"));
            if (line->text() != shown && !line->hasFocus())
                line->setText(shown);
        } else if (auto *box = qobject_cast<QComboBox *>(field.editor)) {
            box->setCurrentIndex(value ? placeOf(shown, *box) : -1);
        } else if (auto *tick = qobject_cast<QCheckBox *>(field.editor)) {
            tick->setChecked(shown == QLatin1String("true"));
        }
    }
    for (auto group = m_groups.begin(); group != m_groups.end(); ++group)
        if (group->head)
            group->head->setVisible(known.contains(group.key()));
    const std::vector<Method> present = draft.methods();
    for (auto it = m_methods.begin(); it != m_methods.end(); ++it) {
        const bool there = std::find(present.begin(), present.end(), Method(it.key())) != present.end();
        it.value()->setEnabled(there);
        it.value()->setChecked(there && draft.hasMethod(Method(it.key())));
    }
    m_showing = false;
}

std::vector<Error> ConfigForm::setMistakes(const std::vector<Error> &mistakes) {
    QHash<QString, QStringList> byKey;
    std::vector<Error> rest;
    for (const Error &error : mistakes) {
        const QString key = QString::fromStdString(error.where);
        if (!m_fields.contains(key)) {
            rest.push_back(error);
            continue;
        }
        Error here = error;
        here.where.clear(); // the field itself says where
        const QString sentence = QString::fromStdString(here.message());
        if (!byKey[key].contains(sentence))
            byKey[key].append(sentence);
    }
    for (const FormField &field : std::as_const(m_fields)) {
        const QStringList sentences = byKey.value(core::qs(field.spec->key));
        field.mistake->setText(sentences.join(QLatin1Char('\n')));
        field.mistake->setVisible(!sentences.isEmpty());
        setStyleProperty(field.editor, "mistake", !sentences.isEmpty());
        if (!sentences.isEmpty() && m_groups[int(field.spec->group)].head)
            m_groups[int(field.spec->group)].head->setChecked(true);
    }
    return rest;
}

QStringList ConfigForm::keys() const {
    return m_order;
}

const FormField *ConfigForm::field(const QString &key) const {
    const auto found = m_fields.constFind(key);
    return found == m_fields.constEnd() ? nullptr : &*found;
}

void ConfigForm::unfold(FieldGroup group, bool open) {
    m_groups[int(group)].body->setVisible(open);
    restyle();
}

void ConfigForm::restyle() {
    for (const Group &group : std::as_const(m_groups))
        if (group.head)
            m_theme.setIcon(group.head,
                            group.head->isChecked() ? QStringLiteral("chevron-down") : QStringLiteral("chevron-right"),
                            m_theme.palette().textSecondary);
}

} // namespace lockstep::ui

#include "moc_config_form.cpp"

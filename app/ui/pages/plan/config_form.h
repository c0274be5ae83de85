// SPDX-License-Identifier: MIT
#pragma once
#include <QHash>
#include <QStringList>
#include <QWidget>

#include <vector>

#include "ipc/run_config.h"

class QCheckBox;
class QComboBox;
class QLabel;
class QPushButton;
class QToolButton;
class QVBoxLayout;

namespace lockstep::ui {
class PlanDraft;
class Theme;

/// One row of the form: label, editor for the field's type, and room for an error.
struct FormField {
    const FieldSpec *spec = nullptr;
    QWidget *editor = nullptr; ///< QLineEdit, QComboBox, QCheckBox; for the method the box with one tick a method
    QLabel *label = nullptr, *mistake = nullptr;
    QWidget *row = nullptr;
};

/// The form of a run's configuration, made from ipc's field table: every field that a person can set, those that
/// matter first, the rest folded by group.
class ConfigForm : public QWidget {
    Q_OBJECT
public:
    explicit ConfigForm(const Theme &theme, QWidget *parent = nullptr);

    /// Shows the draft's values; emits nothing.
    void show(const PlanDraft &draft);
    /// Shows every mistake at its field and unfolds its group; returns those without a field.
    [[nodiscard]] std::vector<Error> setMistakes(const std::vector<Error> &mistakes);

    /// Keys that have an editor.
    [[nodiscard]] QStringList keys() const;
    [[nodiscard]] const FormField *field(const QString &key) const;
    [[nodiscard]] QCheckBox *methodBox(Method method) const { return m_methods.value(int(method)); }

Q_SIGNALS:
    void edited(const QString &key, const QString &value);
    void methodChosen(lockstep::Method method, bool on);

private:
    struct Group {
        QWidget *body = nullptr;
        QToolButton *head = nullptr;
    };
    void addGroup(FieldGroup group, const QString &title, QVBoxLayout *layout);
    QWidget *makeRow(const FieldSpec &spec);
    QWidget *makeEditor(const FieldSpec &spec, QWidget *parent);
    QWidget *makeMethods(QWidget *parent);
    QPushButton *makeFileButton(const FieldSpec &spec, QWidget *parent);
    static int placeOf(const QString &value, QComboBox &box);
    void unfold(FieldGroup group, bool open);
    void restyle();

    const Theme &m_theme;
    QHash<QString, FormField> m_fields;
    QStringList m_order;
    QHash<int, Group> m_groups;
    QHash<int, QCheckBox *> m_methods;
    bool m_showing = false;
};

} // namespace lockstep::ui

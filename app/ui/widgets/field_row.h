// SPDX-License-Identifier: MIT
#pragma once
#include <QWidget>

#include <optional>

class QGridLayout;
class QHBoxLayout;
class QLabel;

namespace lockstep::ui {

/// A label and its editors: beside it, or below it where that would leave them too little room.
class FieldRow : public QWidget {
    Q_OBJECT
public:
    /// The row owns the label.
    explicit FieldRow(QLabel *label, QWidget *parent = nullptr);

    /// From left to right; they share the room that the row has for editors.
    void addEditor(QWidget *editor);
    /// As large as it is.
    void addButton(QWidget *button);
    /// Below the editors, such as what is wrong with their value.
    void setNote(QLabel *note);

    /// With the label above: so narrow a row can be, however it stands now.
    [[nodiscard]] QSize minimumSizeHint() const override;

protected:
    void resizeEvent(QResizeEvent *event) override;

private:
    void arrange(bool beside);

    QLabel *m_label, *m_note = nullptr;
    QWidget *m_place;
    QHBoxLayout *m_editors;
    QGridLayout *m_layout;
    std::optional<bool> m_beside;
};

} // namespace lockstep::ui

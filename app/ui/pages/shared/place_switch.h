// SPDX-License-Identifier: MIT
#pragma once
#include <QWidget>

class QPushButton;

namespace lockstep::ui {

/// "This machine | Nodes": two halves of one button, of which one is pressed.
class PlaceSwitch : public QWidget {
    Q_OBJECT
public:
    explicit PlaceSwitch(QWidget *parent = nullptr);
    void setOverNodes(bool on); ///< emits nothing
    [[nodiscard]] bool overNodes() const;
    [[nodiscard]] QPushButton *here() const { return m_here; }
    [[nodiscard]] QPushButton *nodes() const { return m_nodes; }

Q_SIGNALS:
    void chosen(bool overNodes); ///< by a person

private:
    QPushButton *m_here, *m_nodes;
};

} // namespace lockstep::ui

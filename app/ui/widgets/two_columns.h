// SPDX-License-Identifier: MIT
#pragma once
#include <QWidget>

class QBoxLayout;
class QVBoxLayout;

namespace lockstep::ui {

/// Cards in two columns where the window is wide, else in one: those on the left first.
class TwoColumns : public QWidget {
public:
    explicit TwoColumns(QWidget *parent = nullptr);
    void addLeft(QWidget *card);
    void addRight(QWidget *card);

protected:
    void resizeEvent(QResizeEvent *event) override;

private:
    QBoxLayout *m_columns;
    QVBoxLayout *m_left, *m_right;
};

} // namespace lockstep::ui

// SPDX-License-Identifier: MIT
#pragma once
#include <QFrame>

class QLabel;
class QPushButton;

namespace lockstep::ui {
class Theme;

/// The line above the table that says what was done to runs, and offers to undo or redo it.
class RunsNotice : public QFrame {
    Q_OBJECT
public:
    enum class Offer { None, Undo, Redo };
    explicit RunsNotice(const Theme &theme, QWidget *parent = nullptr);
    void say(const QString &sentence, Offer offer = Offer::None);

Q_SIGNALS:
    void undoWanted();
    void redoWanted();

private:
    void restyle();

    const Theme &m_theme;
    QLabel *m_text;
    QPushButton *m_button;
    Offer m_offer = Offer::None;
};

} // namespace lockstep::ui

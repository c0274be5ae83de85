// SPDX-License-Identifier: MIT
#pragma once
#include <QFrame>
#include <QList>

class QToolButton;
class QVBoxLayout;

namespace lockstep::ui {
class Theme;

/// The pages, on the left. One is chosen.
class Rail : public QFrame {
    Q_OBJECT
public:
    explicit Rail(Theme &theme, QWidget *parent = nullptr);
    /// Shortcut: Ctrl+1, Ctrl+2 … in the order they are added.
    void addPage(const QString &name, const QString &icon, const QString &hint);
    void setCurrent(int page);
    [[nodiscard]] int current() const { return m_current; }
    [[nodiscard]] QToolButton *button(int page) const { return m_buttons[page]; }

Q_SIGNALS:
    void chosen(int page);

private:
    void restyle();
    void nextTheme();

    Theme &m_theme;
    QVBoxLayout *m_layout;
    QList<QToolButton *> m_buttons;
    QStringList m_icons;
    QToolButton *m_themeButton;
    int m_current = 0;
};

} // namespace lockstep::ui

// SPDX-License-Identifier: MIT
#pragma once
#include <QWidget>

class QLabel;
class QPushButton;
class QVBoxLayout;

namespace lockstep::ui {
class Theme;

/// Shown by an empty page: what is missing, the next step, and a button for it.
class EmptyState : public QWidget {
    Q_OBJECT
public:
    EmptyState(const Theme &theme, const QString &icon, const QString &title, const QString &text,
               const QString &button, QWidget *parent = nullptr);
    void setWords(const QString &title, const QString &text, const QString &button);
    void addBelow(QWidget *widget); ///< centred under the button
    /// Another next step, under the first one.
    [[nodiscard]] QPushButton *addChoice(const QString &words, const QString &hint);
    [[nodiscard]] QPushButton *button() const { return m_next; }

Q_SIGNALS:
    void clicked();

private:
    const Theme &m_theme;
    QString m_icon;
    QVBoxLayout *m_layout;
    QLabel *m_picture, *m_title, *m_words;
    QPushButton *m_next;
    void restyle();
};

} // namespace lockstep::ui

// SPDX-License-Identifier: MIT
#pragma once
#include <QFrame>

class QAbstractButton;
class QHBoxLayout;
class QLabel;
class QLayout;
class QVBoxLayout;

namespace lockstep::ui {

/// A titled box: head with title and tools on its right, body below.
class Card : public QFrame {
    Q_OBJECT
public:
    explicit Card(const QString &title, QWidget *parent = nullptr);
    [[nodiscard]] QVBoxLayout *body() const { return m_body; }
    /// Adds a widget at the right end of the head.
    void addTool(QWidget *tool);
    void setTitle(const QString &title);
    [[nodiscard]] QString title() const;
    /// A quiet word after the title.
    void setNote(const QString &note);
    /// The card's result in one line: it becomes the headline, with the title small above it; empty: only the title.
    void setFinding(const QString &finding);
    [[nodiscard]] QString finding() const;

private:
    QHBoxLayout *m_head;
    QVBoxLayout *m_body;
    QLabel *m_title, *m_note, *m_finding;
};

/// A label of plain text in one of the style sheet's roles: secondary, muted, small, title, cardTitle, display, wrong.
[[nodiscard]] QLabel *makeLabel(const QString &text, const char *role, QWidget *parent = nullptr);
/// The same for text that another machine wrote: shown as it is, never as markup; wrapped, and selectable.
[[nodiscard]] QLabel *makePlainLabel(const QString &text, const char *role, QWidget *parent = nullptr);
/// A hairline.
[[nodiscard]] QFrame *makeLine(QWidget *parent = nullptr);
/// Empties a layout. Its widgets are hidden now and deleted by the event loop, since a click on one of them may have
/// caused this call.
void clear(QLayout &layout);
/// Sets a button's words and keeps its shortcut, which QAbstractButton::setText would drop.
void setWords(QAbstractButton *button, const QString &words);
/// Sets a style sheet property and polishes again.
void setStyleProperty(QWidget *widget, const char *name, const QVariant &value);

} // namespace lockstep::ui

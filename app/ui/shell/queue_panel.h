// SPDX-License-Identifier: MIT
#pragma once
#include <QFrame>
#include <QStyledItemDelegate>

class QLabel;
class QListView;
class QPushButton;

namespace lockstep::ui {
class ElidedLabel;
class QueueControl;
class StripState;
class Theme;

/// One entry: the method's colour, name, state, and why.
class QueueRowDelegate : public QStyledItemDelegate {
    Q_OBJECT
public:
    QueueRowDelegate(const Theme &theme, QObject *parent) : QStyledItemDelegate(parent), m_theme(theme) {}
    void paint(QPainter *painter, const QStyleOptionViewItem &option, const QModelIndex &index) const override;
    [[nodiscard]] QSize sizeHint(const QStyleOptionViewItem &option, const QModelIndex &index) const override;
    /// The px in which a text is sure to fit: elidedText() also counts parts of one.
    [[nodiscard]] static int roomOf(const QString &text, const QFont &font);
    /// Of `all` px, those for a name: what the state's words leave, at least half.
    [[nodiscard]] static int nameRoom(int all, int name, int words);

private:
    const Theme &m_theme;
};

/// The queue of the experiment on the strip: what is over, what runs, what waits; a waiting run moves and is skipped, one
/// that is over runs again. Read-only while another window holds control.
class QueuePanel : public QFrame {
    Q_OBJECT
public:
    QueuePanel(const Theme &theme, StripState &state, QueueControl &control, QWidget *parent);
    /// Opens with its upper right corner there (global).
    void popUp(const QPoint &corner);
    [[nodiscard]] QString noteText() const;
    [[nodiscard]] const ElidedLabel *title() const { return m_title; }
    [[nodiscard]] QListView *list() const { return m_list; }
    [[nodiscard]] QPushButton *upButton() const { return m_up; }
    [[nodiscard]] QPushButton *downButton() const { return m_down; }
    [[nodiscard]] QPushButton *skipButton() const { return m_skip; }
    [[nodiscard]] QPushButton *retryButton() const { return m_retry; }
    [[nodiscard]] QPushButton *consoleButton() const { return m_console; }

Q_SIGNALS:
    void consoleWanted(const QString &runId);

private:
    QPushButton *addButton(const QString &words, const QKeySequence &keys, const QString &tip,
                           void (QueuePanel::*act)());
    void refresh();
    void moveBy(int places);
    void moveUp() { moveBy(-1); }
    void moveDown() { moveBy(1); }
    void skip();
    void retry();
    void showConsole();
    [[nodiscard]] int row() const;
    [[nodiscard]] int rowToStartAt() const;

    const Theme &m_theme;
    StripState &m_state;
    QueueControl &m_control;
    ElidedLabel *m_title;
    QLabel *m_note;
    QListView *m_list;
    QPushButton *m_up, *m_down, *m_skip, *m_retry, *m_console;
    int m_follow = -1; ///< the entry to keep current over a reset of the model
};

} // namespace lockstep::ui

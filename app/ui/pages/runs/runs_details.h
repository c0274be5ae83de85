// SPDX-License-Identifier: MIT
#pragma once
#include <QFrame>
#include <QTimer>

#include <optional>
#include <vector>

#include "store/run_index.h"
#include "store/run_notes.h"

class QFormLayout;
class QLabel;
class QLineEdit;
class QPlainTextEdit;
class QPushButton;
class QToolButton;
class QVBoxLayout;

namespace lockstep::ui {
class Card;
class Theme;

/// Details of the chosen run, or of several: star, tags and note for editing, figures, settings.
class RunDetails : public QWidget {
    Q_OBJECT
public:
    explicit RunDetails(Theme &theme, QWidget *parent = nullptr);
    /// Text that a person is writing stays as long as the same runs are chosen.
    void show(const std::vector<const core::IndexedRun *> &runs);
    [[nodiscard]] QLineEdit *tagsLine() const { return m_tags; }
    [[nodiscard]] QPlainTextEdit *note() const { return m_note; }
    /// Saves text that is still being written.
    void flush();

Q_SIGNALS:
    void changeWanted(const std::vector<std::string> &runs, const lockstep::core::NotesChange &change);
    void starWanted();
    void duplicateWanted();

private:
    void build();
    void showOne(const core::IndexedRun &run);
    void showSeveral(const std::vector<const core::IndexedRun *> &runs);
    void showFacts(const QList<std::pair<QString, QString>> &facts);
    void takeTags();
    void takeNote();
    void restyle();

    Theme &m_theme;
    std::vector<std::string> m_ids;
    std::string m_tagsBefore, m_noteBefore; ///< as shown last
    bool m_starred = false;
    QLabel *m_title, *m_state, *m_reason, *m_mistake, *m_noteHead;
    QToolButton *m_star;
    QLineEdit *m_tags;
    QPlainTextEdit *m_note;
    QWidget *m_facts = nullptr;
    QList<std::pair<QString, QString>> m_shownFacts;
    QVBoxLayout *m_place;
    QPushButton *m_duplicate;
    QTimer m_pause;
};

} // namespace lockstep::ui

// SPDX-License-Identifier: MIT
#pragma once
#include <QList>
#include <QWidget>

#include <vector>

#include "analysis/compare/verdict_lines.h"
#include "app/ui/pages/verdict/suggestion_buttons.h"

class QGridLayout;
class QLabel;
class QPushButton;

namespace lockstep::ui {

/// The verdict's lines: whether a run is worth it as a coloured word, by how much, the one reason, and the button that would
/// settle what can't be told. A failed repeat is named in red, with a button for its console.
class WorthLines : public QWidget {
    Q_OBJECT
public:
    explicit WorthLines(QWidget *parent = nullptr);
    void show(const std::vector<core::VerdictLine> &lines);
    [[nodiscard]] QString text() const; ///< the lines as sentences
    /// A run that settles several lines has its button in the first of them.
    [[nodiscard]] SuggestionButtons &buttons() { return m_settles; }
    [[nodiscard]] const QList<QPushButton *> &consoleButtons() const { return m_consoles; }

Q_SIGNALS:
    void consoleWanted(const QString &runId);

private:
    void rebuild();
    void addLine(const core::VerdictLine &line, int row);
    void addName(const core::VerdictLine &line, int row);
    void addFailures(const core::VerdictLine &line, int row);
    [[nodiscard]] QPushButton *consoleOf(const core::FailedRepeat &failed);
    QLabel *addLabel(const QString &text, const char *role, int row, int column);
    void addSentence(const QString &text, const char *role, int row); ///< under the line's figures
    void addButtons(const QList<QPushButton *> &buttons, int row);    ///< beside both rows of a line

    QGridLayout *m_layout;
    std::vector<core::VerdictLine> m_lines;
    SuggestionButtons m_settles{this};
    QList<QPushButton *> m_consoles;
    HeldFocus m_consoleFocus{*this};
};

} // namespace lockstep::ui

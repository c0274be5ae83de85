// SPDX-License-Identifier: MIT
#pragma once
#include <QObject>
#include <QString>

namespace lockstep::ui {

/// A tooltip that shows these words as they are. Qt takes any that look like HTML for HTML, and names of runs, messages of ranks and
/// answers of hosts are other people's words.
[[nodiscard]] QString plainHint(const QString &words);

/// The tooltip of words that have no room to be shown whole: all of them, and under them what the widget's own tooltip says, if anything.
[[nodiscard]] QString wholeTextHint(const QString &text, const QString &own);

/// While it lives, the tooltips of all lists and tables show their models' words as they are. For the whole application.
class PlainHints : public QObject {
    Q_OBJECT
public:
    explicit PlainHints(QObject *parent);
    bool eventFilter(QObject *watched, QEvent *event) override;
};

} // namespace lockstep::ui

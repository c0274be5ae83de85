// SPDX-License-Identifier: MIT
#pragma once
#include <QObject>
#include <QString>

namespace lockstep::ui {

/// A tooltip that shows these words as they are. Qt takes any that look like HTML for HTML, and names of runs, messages of ranks and
/// answers of hosts are other people's words.
[[nodiscard]] QString plainHint(const QString &words);

/// While it lives, the tooltips of all lists and tables show their models' words as they are. For the whole application.
class PlainHints : public QObject {
    Q_OBJECT
public:
    explicit PlainHints(QObject *parent);
    bool eventFilter(QObject *watched, QEvent *event) override;
};

} // namespace lockstep::ui

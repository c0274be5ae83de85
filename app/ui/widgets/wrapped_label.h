// SPDX-License-Identifier: MIT
#pragma once
#include <QLabel>

namespace lockstep::ui {

/// Wrapped text that sets its minimum height itself. In a scroll area, a layout with height-for-width gets its preferred height,
/// not its minimum, so that charts beside the text would become too low or too high.
class WrappedLabel : public QLabel {
    Q_OBJECT
public:
    /// `role` as for makeLabel(), or null.
    WrappedLabel(const char *role, QWidget *parent);
    void setWords(const QString &words);

protected:
    void resizeEvent(QResizeEvent *event) override;

private:
    void fit();
};

} // namespace lockstep::ui

// SPDX-License-Identifier: MIT
#pragma once
#include <QLabel>

namespace lockstep::ui {

/// Wrapped words that ask for their height by a minimum. A layout that holds height-for-width is given the height it would
/// like best by a scroll area, not the least it can do with, and the pictures beside the words then get too little or too much.
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

// SPDX-License-Identifier: MIT
#pragma once
#include <QLabel>

namespace lockstep::ui {

/// One line of words that gives its room up to its neighbours: what doesn't fit ends in "…", and the tooltip has it all.
class ElidedLabel : public QLabel {
    Q_OBJECT
public:
    /// `role` as for makeLabel(). It keeps `leastWidth` of what it needs.
    ElidedLabel(const char *role, int leastWidth, QWidget *parent);
    [[nodiscard]] QSize minimumSizeHint() const override;

protected:
    bool event(QEvent *event) override;
    void paintEvent(QPaintEvent *event) override;

private:
    [[nodiscard]] bool isElided() const;
    int m_leastWidth;
};

} // namespace lockstep::ui

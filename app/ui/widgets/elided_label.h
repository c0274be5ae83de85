// SPDX-License-Identifier: MIT
#pragma once
#include <QLabel>

namespace lockstep::ui {

/// One line of text that yields its room to its neighbours: text that doesn't fit ends in "…", and the tooltip has all of it.
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

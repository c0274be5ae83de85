// SPDX-License-Identifier: MIT
#pragma once
#include <QPushButton>

namespace lockstep::ui {

/// A button whose text yields its room to its neighbours: one that doesn't fit has "…" in its middle, and the tooltip has all of it.
class ElidedButton : public QPushButton {
    Q_OBJECT
public:
    /// It keeps `leastWidth` of what it needs, in px.
    ElidedButton(const QString &text, int leastWidth, QWidget *parent);
    [[nodiscard]] QSize minimumSizeHint() const override;

protected:
    bool event(QEvent *event) override;
    void paintEvent(QPaintEvent *event) override;

private:
    [[nodiscard]] QString shownText() const;
    int m_leastWidth;
};

} // namespace lockstep::ui

// SPDX-License-Identifier: MIT
#pragma once
#include <QColor>
#include <QWidget>

#include <optional>

namespace lockstep::ui {
class Theme;

/// A thin bar: how far, in the method's colour. Empty while unknown.
class ProgressBar : public QWidget {
    Q_OBJECT
public:
    explicit ProgressBar(const Theme &theme, QWidget *parent = nullptr);
    void setFraction(std::optional<double> fraction, const QColor &color);

protected:
    void paintEvent(QPaintEvent *event) override;

private:
    const Theme &m_theme;
    std::optional<double> m_fraction;
    QColor m_color;
};

} // namespace lockstep::ui

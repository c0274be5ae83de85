// SPDX-License-Identifier: MIT
#pragma once
#include <QWidget>

#include "app/ui/charts/chart_source.h"
#include "app/ui/charts/run_highlight.h"

namespace lockstep::ui {
class Theme;

/// A chart that we paint ourselves, with the same menu and exports as those of Qt Charts.
class PaintedChart : public QWidget, public ChartSource {
    Q_OBJECT
public:
    PaintedChart(const Theme &theme, QString name, QWidget *parent = nullptr);

    [[nodiscard]] QString chartName() const override { return m_name; }
    [[nodiscard]] QSize exportSize() const override { return {960, sizeHint().height() + 2 * exportMargin}; }
    void renderChart(QPainter *painter, const QSize &size) override;
    void setEmptyText(const QString &text);
    [[nodiscard]] const QString &emptyText() const { return m_empty; }
    /// Highlights the run under the pointer, and pales the others meanwhile.
    void follow(RunHighlight &highlight);

protected:
    /// Paints into `area`; the background is there.
    virtual void paintChart(QPainter *painter, const QRectF &area) = 0;
    [[nodiscard]] virtual bool isEmpty() const = 0;
    /// The tooltip at `position`; empty: none.
    [[nodiscard]] virtual QString hint(const QPointF &position) const;
    /// Whose row the pointer at `position` is on; of no run by default.
    [[nodiscard]] virtual RunHighlight::Run runAt(const QPointF &position) const;
    [[nodiscard]] const Theme &theme() const { return m_theme; }
    /// Pales the colour while another run is highlighted; never in an export.
    [[nodiscard]] QColor shadeOf(const QColor &color, const QString &runName) const;

    void mouseMoveEvent(QMouseEvent *event) override;
    void leaveEvent(QEvent *event) override;
    void paintEvent(QPaintEvent *event) override;
    bool event(QEvent *event) override;

private:
    void paintAll(QPainter *painter, const QRectF &area);
    const Theme &m_theme;
    QString m_name, m_empty;
    RunHighlight *m_highlight = nullptr; ///< null: of no page that shares one
    bool m_exporting = false;
};

} // namespace lockstep::ui

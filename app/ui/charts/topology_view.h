// SPDX-License-Identifier: MIT
#pragma once
#include "app/ui/charts/painted_chart.h"
#include "nodes/topology.h"

namespace lockstep::ui {

/// Nodes as boxes with their ranks, the links between them with their measurements, and a method's traffic on them. A link's
/// line is the thicker the more it carries; arrows show the direction. Tooltips explain the figures. More nodes than can be told apart
/// are counted in a sentence instead (core::Topology::isDrawable).
class TopologyView : public PaintedChart {
    Q_OBJECT
public:
    explicit TopologyView(const Theme &theme, QWidget *parent = nullptr);
    void setTopology(core::Topology topology);
    [[nodiscard]] const core::Topology &topology() const { return m_topology; }

    [[nodiscard]] QString chartData() const override;
    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override;
    /// The tooltip at `position`; for tests too.
    [[nodiscard]] QString hint(const QPointF &position) const override;

    /// Instead of a picture; empty: there is one.
    [[nodiscard]] QString summary() const;
    /// Where a node's box and a rank's disc lie in `area`.
    [[nodiscard]] QRectF boxOf(std::size_t node, const QRectF &area) const;
    [[nodiscard]] QRectF discOf(const core::TopologyRank &rank, const QRectF &area) const;

protected:
    void paintChart(QPainter *painter, const QRectF &area) override;
    [[nodiscard]] bool isEmpty() const override { return m_topology.nodes.empty(); }

private:
    void paintNode(QPainter *painter, std::size_t node, const QRectF &area) const;
    void paintLink(QPainter *painter, const core::TopologyLink &link, const QRectF &area) const;
    void paintLinkWords(QPainter *painter, const core::TopologyLink &link, const QRectF &area) const;
    [[nodiscard]] QLineF lineOf(const core::TopologyLink &link, const QRectF &area) const;
    [[nodiscard]] QStringList wordsOf(const core::TopologyLink &link) const;
    [[nodiscard]] QColor flowColor() const;

    core::Topology m_topology;
};

} // namespace lockstep::ui

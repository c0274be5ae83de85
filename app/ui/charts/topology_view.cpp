// SPDX-License-Identifier: MIT
#include "app/ui/charts/topology_view.h"

#include <QFontMetricsF>
#include <QPainter>
#include <QPainterPath>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "app/ui/theme/theme.h"
#include "base/format.h"
#include "ipc/thousands.h"
#include "models/cells.h"

namespace lockstep::ui {
namespace {

using core::qs;

constexpr double nodeWidth = 216, nodeHeight = 96, disc = 22, discGap = 6, pad = 12, arrow = 13;
constexpr int discsShown = 7; ///< of a node; more become "+n"

/// Where the line from the middle of a box to a point outside leaves it.
QPointF edge(const QRectF &box, const QPointF &to) {
    const QPointF from = box.center(), way = to - from;
    const double across = std::abs(way.x()) > 0 ? box.width() / 2 / std::abs(way.x()) : 1e9;
    const double down = std::abs(way.y()) > 0 ? box.height() / 2 / std::abs(way.y()) : 1e9;
    return from + way * std::min({across, down, 1.0});
}

void paintArrow(QPainter *painter, const QLineF &line, const QColor &color) {
    if (line.length() < arrow)
        return;
    const QLineF unit = line.unitVector();
    const QPointF along = unit.p2() - unit.p1(), aside(-along.y(), along.x());
    QPainterPath head(line.p2());
    head.lineTo(line.p2() - along * arrow + aside * arrow / 2);
    head.lineTo(line.p2() - along * arrow - aside * arrow / 2);
    head.closeSubpath();
    painter->fillPath(head, color);
}

} // namespace

TopologyView::TopologyView(const Theme &theme, QWidget *parent)
    : PaintedChart(theme, QStringLiteral("topology"), parent) {
    setEmptyText(tr("No node yet."));
}

void TopologyView::setTopology(core::Topology topology) {
    m_topology = std::move(topology);
    updateGeometry();
    update();
}

QColor TopologyView::flowColor() const {
    return methodColor(qs(m_topology.method));
}

QSize TopologyView::sizeHint() const {
    const int nodes = int(m_topology.nodes.size());
    return {720, nodes < 3 || !m_topology.isDrawable() ? 150
                 : nodes < 5                           ? 320
                 : nodes < 7                           ? 420
                                                       : 520 + 64 * std::max(0, nodes - 8)};
}
QSize TopologyView::minimumSizeHint() const {
    return {480, sizeHint().height()};
}

QString TopologyView::summary() const {
    if (m_topology.isDrawable())
        return {};
    QStringList lost;
    for (const core::TopologyNode &node : m_topology.nodes)
        if (!node.heard)
            lost << qs(node.name);
    constexpr qsizetype mostNamed = 8;
    const QString state =
        lost.isEmpty() ? QString()
        : lost.size() > mostNamed
            ? tr(" The training state of %1 of them is unknown: %2 and others.")
                  .arg(QString::fromStdString(thousands(lost.size())), lost.first(mostNamed).join(QStringLiteral(", ")))
            : tr(" The training state of %1 is unknown.").arg(lost.join(QStringLiteral(", ")));
    return tr("%1 nodes with %2 ranks: more than a picture can show.")
               .arg(QString::fromStdString(thousands(qint64(m_topology.nodes.size()))),
                    QString::fromStdString(thousands(m_topology.worldSize()))) +
           state;
}

/// Two stand side by side, more on an ellipse that begins at the top, clockwise.
QRectF TopologyView::boxOf(std::size_t node, const QRectF &area) const {
    const double count = double(m_topology.nodes.size());
    const double width = std::min(nodeWidth, area.width() / (count > 4 ? 4.2 : 3.2));
    QPointF middle = area.center();
    if (m_topology.nodes.size() > 1) {
        const double first = m_topology.nodes.size() == 2 ? -std::numbers::pi : -std::numbers::pi / 2;
        const double angle = first + 2 * std::numbers::pi * double(node) / count;
        middle += QPointF(std::cos(angle) * (area.width() - width) / 2 * 0.96,
                          std::sin(angle) * (area.height() - nodeHeight) / 2 * 0.98);
    }
    return {middle.x() - width / 2, middle.y() - nodeHeight / 2, width, nodeHeight};
}

QRectF TopologyView::discOf(const core::TopologyRank &rank, const QRectF &area) const {
    const QRectF box = boxOf(rank.node, area);
    return {box.left() + pad + rank.localRank * (disc + discGap), box.bottom() - pad - disc, disc, disc};
}

QLineF TopologyView::lineOf(const core::TopologyLink &link, const QRectF &area) const {
    const QRectF a = boxOf(link.a, area), b = boxOf(link.b, area);
    return {edge(a, b.center()), edge(b, a.center())};
}

QStringList TopologyView::wordsOf(const core::TopologyLink &link) const {
    QStringList words;
    if (link.state == core::TopologyLink::State::Lost)
        words << tr("link lost");
    else if (link.state == core::TopologyLink::State::Ended)
        words << tr("link ended");
    // The direction that is used; of both or none, the slower one.
    std::optional<double> slower = link.bandwidthThereBytesS;
    if (link.bytesBack > 0 && link.bytesThere <= 0)
        slower = link.bandwidthBackBytesS;
    else if (slower && link.bandwidthBackBytesS && (link.bytesBack > 0 || link.bytesThere <= 0))
        slower = std::min(*slower, *link.bandwidthBackBytesS);
    if (slower || (link.roundTripS && link.state == core::TopologyLink::State::Unknown))
        words << tr("%1 · %2").arg(core::bandwidth(slower), core::shortTime(link.roundTripS));
    else if (link.state == core::TopologyLink::State::Up)
        words << (link.roundTripS ? tr("link up · %1").arg(core::shortTime(link.roundTripS)) : tr("link up"));
    else if (link.state == core::TopologyLink::State::Unknown)
        words << tr("not measured");
    const double most = std::max(link.bytesThere, link.bytesBack);
    if (most > 0)
        words << (link.leastS() ? tr("%1 a step, ≥ %2").arg(core::bytes(most), core::shortTime(link.leastS()))
                                : tr("%1 a step").arg(core::bytes(most)));
    return words;
}

void TopologyView::paintLink(QPainter *painter, const core::TopologyLink &link, const QRectF &area) const {
    const Palette &p = theme().palette();
    const bool used = link.bytesThere + link.bytesBack > 0;
    const double bandwidth = link.bandwidthThereBytesS.value_or(0);
    // From a hairline at 1 MB/s to 6 pixels at 10 GB/s.
    const double width = bandwidth > 0 ? std::clamp(1.0 + (std::log10(bandwidth) - 6) * 1.25, 1.0, 6.0) : 1.0;
    const bool lost = link.state == core::TopologyLink::State::Lost;
    const QColor color = lost ? p.wrong : used ? flowColor() : p.border;
    const QLineF line = lineOf(link, area);
    const bool known =
        bandwidth > 0 || link.state == core::TopologyLink::State::Up || link.state == core::TopologyLink::State::Ended;
    painter->setPen(
        QPen(color, lost ? 2.0 : std::max(width, used && known ? 2.0 : 1.0), known ? Qt::SolidLine : Qt::DashLine));
    painter->drawLine(line);
    if (link.bytesThere > 0)
        paintArrow(painter, line, color);
    if (link.bytesBack > 0)
        paintArrow(painter, QLineF(line.p2(), line.p1()), color);
}

/// After all lines, so that none runs through words.
void TopologyView::paintLinkWords(QPainter *painter, const core::TopologyLink &link, const QRectF &area) const {
    const Palette &p = theme().palette();
    const QLineF line = lineOf(link, area);
    const QStringList words = wordsOf(link);
    painter->setFont(Theme::figures(Type::Small));
    const QFontMetricsF metrics(painter->font());
    double width = 0;
    for (const QString &word : words)
        width = std::max(width, metrics.horizontalAdvance(word));
    const double height = metrics.height() * double(words.size());
    const QRectF box(line.center().x() - width / 2 - 6, line.center().y() - height / 2 - 2, width + 12, height + 4);
    painter->fillRect(box, p.surface);
    for (qsizetype i = 0; i < words.size(); ++i) {
        painter->setPen(i > 0 ? p.text : link.state == core::TopologyLink::State::Lost ? p.wrong : p.textSecondary);
        painter->drawText(
            QRectF(box.left(), box.top() + 2 + metrics.height() * double(i), box.width(), metrics.height()),
            Qt::AlignCenter, words[i]);
    }
}

void TopologyView::paintNode(QPainter *painter, std::size_t index, const QRectF &area) const {
    const Palette &p = theme().palette();
    const core::TopologyNode &node = m_topology.nodes[index];
    const QRectF box = boxOf(index, area), inner = box.adjusted(pad, pad - 2, -pad, -pad);
    painter->setPen(QPen(node.usable && node.heard ? p.border : p.wrong, 1, node.heard ? Qt::SolidLine : Qt::DashLine));
    painter->setBrush(p.raised);
    painter->drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), 6, 6);
    const bool master = !node.ranks.empty() && node.ranks.front().rank == 0;
    const QFont bold = Theme::font(Type::Body, QFont::DemiBold), small = Theme::font(Type::Small);
    const double masterWidth = master ? QFontMetricsF(small).horizontalAdvance(tr("master")) + 8 : 0;
    painter->setFont(bold);
    painter->setPen(p.text);
    painter->drawText(QRectF(inner.left(), inner.top(), inner.width() - masterWidth, 18),
                      Qt::AlignVCenter | Qt::AlignLeft,
                      QFontMetricsF(bold).elidedText(qs(node.name), Qt::ElideRight, inner.width() - masterWidth));
    painter->setFont(small);
    painter->setPen(p.textSecondary);
    if (master)
        painter->drawText(QRectF(inner.left(), inner.top(), inner.width(), 18), Qt::AlignVCenter | Qt::AlignRight,
                          tr("master"));
    const QString way = !node.heard              ? tr("training state unknown")
                        : !node.usable           ? tr("can't be used now")
                        : node.interface.empty() ? tr("interface not chosen")
                        : node.address.empty()   ? qs(node.interface)
                                                 : tr("%1 %2").arg(qs(node.interface), qs(node.address));
    painter->setPen(node.usable && node.heard ? p.textSecondary : p.wrong);
    painter->drawText(QRectF(inner.left(), inner.top() + 19, inner.width(), 16), Qt::AlignVCenter | Qt::AlignLeft,
                      QFontMetricsF(small).elidedText(way, Qt::ElideRight, inner.width()));
    const int shown = std::min(int(node.ranks.size()), discsShown);
    painter->setFont(Theme::figures(Type::Small, QFont::DemiBold));
    for (int i = 0; i < shown; ++i) {
        const QRectF at = discOf(node.ranks[std::size_t(i)], area);
        const QColor fill = mix(p.raised, flowColor(), node.heard ? 0.74 : 0.2);
        const bool inOrder = m_topology.traffic == Traffic::Ring || m_topology.traffic == Traffic::Stages;
        if (i > 0 && inOrder) { // from one rank to the next inside the node, too
            painter->setPen(QPen(flowColor(), 2));
            painter->drawLine(QPointF(at.left() - discGap, at.center().y()), QPointF(at.left(), at.center().y()));
        }
        painter->setPen(Qt::NoPen);
        painter->setBrush(fill);
        painter->drawEllipse(at);
        const QColor ink("#14171C"), paper("#FFFFFF");
        painter->setPen(contrastRatio(fill, ink) > contrastRatio(fill, paper) ? ink : paper);
        painter->drawText(at, Qt::AlignCenter, QString::number(node.ranks[std::size_t(i)].rank));
    }
    painter->setFont(small);
    painter->setPen(p.textMuted);
    const double left = inner.left() + shown * (disc + discGap);
    const QString rest = int(node.ranks.size()) > shown ? tr("+%1").arg(int(node.ranks.size()) - shown)
                         : shown == 0 && node.usable    ? tr("no rank")
                         : shown > 0                    ? qs(node.deviceKind)
                                                        : QString();
    painter->drawText(QRectF(left, box.bottom() - pad - disc, inner.right() - left, disc),
                      Qt::AlignVCenter | Qt::AlignLeft, rest);
}

void TopologyView::paintChart(QPainter *painter, const QRectF &area) {
    if (const QString text = summary(); !text.isEmpty()) {
        painter->setFont(Theme::font(Type::Body));
        painter->setPen(theme().palette().textSecondary);
        painter->drawText(area.adjusted(16, 0, -16, 0), int(Qt::AlignCenter) | Qt::TextWordWrap, text);
        return;
    }
    for (const core::TopologyLink &link : m_topology.links)
        paintLink(painter, link, area);
    for (const core::TopologyLink &link : m_topology.links)
        paintLinkWords(painter, link, area);
    for (std::size_t i = 0; i < m_topology.nodes.size(); ++i)
        paintNode(painter, i, area);
}

QString TopologyView::hint(const QPointF &position) const {
    if (!m_topology.isDrawable())
        return {};
    const QRectF area = rect();
    for (std::size_t i = 0; i < m_topology.nodes.size(); ++i) {
        const core::TopologyNode &node = m_topology.nodes[i];
        for (const core::TopologyRank &rank : node.ranks)
            if (rank.localRank < discsShown && discOf(rank, area).contains(position))
                return tr("<b>rank %1</b> of %2, local rank %3 on %4, device %5.<br>Rank: a process, numbered over all "
                          "nodes. Local rank: numbered on its node.")
                           .arg(rank.rank)
                           .arg(m_topology.worldSize())
                           .arg(rank.localRank)
                           .arg(qs(node.name).toHtmlEscaped(), qs(rank.device).toHtmlEscaped()) +
                       (rank.rank == 0 ? tr("<br>Master: where all ranks meet at the start.") : QString());
        if (boxOf(i, area).contains(position))
            return tr("<b>%1</b> (%2): node %3 of %4, %5 %6 devices.<br>Interface: the network card that Gloo and NCCL "
                      "use there.")
                .arg(qs(node.name).toHtmlEscaped(), qs(node.host).toHtmlEscaped(), QString::number(i),
                     QString::number(m_topology.nodes.size()), QString::number(node.devices), qs(node.deviceKind));
    }
    for (const core::TopologyLink &link : m_topology.links) {
        const QLineF line = lineOf(link, area);
        const QPointF middle = line.center();
        if (std::abs(position.x() - middle.x()) > 90 || std::abs(position.y() - middle.y()) > 22)
            continue;
        const QString a = qs(m_topology.nodes[link.a].name).toHtmlEscaped(),
                      b = qs(m_topology.nodes[link.b].name).toHtmlEscaped();
        const QString state =
            link.sentence.empty() ? QString() : qs(link.sentence).toHtmlEscaped() + QStringLiteral("<br>");
        return tr("<b>%1 – %2</b><br>%9%1 → %2: %3, sends %4 a step<br>%2 → %1: %5, sends %6 a step<br>round trip "
                  "%7<br>%8")
            .arg(a, b, core::bandwidth(link.bandwidthThereBytesS), core::bytes(link.bytesThere),
                 core::bandwidth(link.bandwidthBackBytesS), core::bytes(link.bytesBack),
                 core::shortTime(link.roundTripS), QString::fromUtf8(sentenceOf(m_topology.traffic)), state);
    }
    return {};
}

QString TopologyView::chartData() const {
    const auto figure = [](std::optional<double> value) {
        return value ? QString::number(*value, 'g', 9) : QStringLiteral("-");
    };
    QString out = QStringLiteral("from\tto\tround_trip_s\tbandwidth_bytes_per_s\tbytes_per_step\n");
    for (const core::TopologyLink &link : m_topology.links) {
        const QString a = qs(m_topology.nodes[link.a].name), b = qs(m_topology.nodes[link.b].name);
        out += QStringLiteral("%1\t%2\t%3\t%4\t%5\n")
                   .arg(a, b, figure(link.roundTripS), figure(link.bandwidthThereBytesS), figure(link.bytesThere));
        out += QStringLiteral("%1\t%2\t%3\t%4\t%5\n")
                   .arg(b, a, figure(link.roundTripS), figure(link.bandwidthBackBytesS), figure(link.bytesBack));
    }
    return out;
}

} // namespace lockstep::ui

#include "moc_topology_view.cpp"

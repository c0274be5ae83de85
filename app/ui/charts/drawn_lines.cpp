// SPDX-License-Identifier: MIT
#include "app/ui/charts/drawn_lines.h"

#include <QLocale>
#include <QStringList>

#include <algorithm>
#include <cmath>

namespace lockstep::ui {

bool DrawnLines::set(const QList<LineData> &lines) {
    bool same = lines == m_lines && m_drawn.size() == std::size_t(lines.size());
    for (std::size_t i = 0; same && i < m_drawn.size(); ++i)
        same = m_drawn[i].curve->revision() == m_drawn[i].revision;
    if (same)
        return false;
    std::vector<Drawn> drawn;
    for (qsizetype i = 0; i < lines.size(); ++i) {
        Drawn next;
        next.curve = lines[i].curve;
        const bool sameFew =
            !next.curve && i < m_lines.size() && !m_lines[i].curve && m_lines[i].points == lines[i].points;
        if (std::size_t(i) < m_drawn.size() && (sameFew || (next.curve && m_drawn[std::size_t(i)].curve == next.curve)))
            next = std::move(m_drawn[std::size_t(i)]); // its decimated points are brought up to date
        if (!next.curve) {
            auto few = std::make_shared<core::Curve>();
            few->append(lines[i].points);
            next.curve = std::move(few);
        }
        drawn.push_back(std::move(next));
    }
    m_lines = lines;
    m_drawn = std::move(drawn);
    m_isEmpty = !extremes(-INFINITY, INFINITY);
    return true;
}

void DrawnLines::decimate(double from, double to, int columns) {
    for (Drawn &drawn : m_drawn) {
        if (drawn.columns == columns && drawn.from == from && drawn.to == to) {
            if (drawn.revision != drawn.curve->revision())
                drawn.curve->advance(drawn.part);
        } else {
            drawn.part = drawn.curve->part(from, to, columns);
        }
        drawn.revision = drawn.curve->revision();
        drawn.columns = columns;
        drawn.from = from;
        drawn.to = to;
    }
}

std::optional<std::pair<double, double>> DrawnLines::xSpan() const {
    double low = INFINITY, high = -INFINITY;
    for (const Drawn &drawn : m_drawn) {
        if (drawn.curve->isEmpty())
            continue;
        low = std::min(low, drawn.curve->first().x());
        high = std::max(high, drawn.curve->last().x());
    }
    return high >= low ? std::optional(std::pair(low, high)) : std::nullopt;
}

std::optional<core::Curve::Extremes> DrawnLines::extremes(double from, double to) const {
    std::optional<core::Curve::Extremes> all;
    for (const Drawn &drawn : m_drawn)
        if (const auto found = drawn.curve->extremes(from, to))
            all =
                all ? core::Curve::Extremes{std::min(all->low, found->low), std::max(all->high, found->high)} : *found;
    return all;
}

qsizetype DrawnLines::points() const {
    qsizetype count = 0;
    for (const Drawn &drawn : m_drawn)
        count += drawn.part.shown;
    return count;
}

QList<QPointF> DrawnLines::pointsOf(const QString &key) const {
    for (qsizetype i = 0; i < m_lines.size(); ++i)
        if (m_lines[i].key == key)
            return part(i).points;
    return {};
}

QString DrawnLines::shownText() const {
    qsizetype shown = 0, held = 0, notFinite = 0; // a value that is not finite is shown by a mark
    int windows = 1;
    for (qsizetype i = 0; i < m_lines.size(); ++i) {
        if (m_lines[i].faint)
            continue;
        const Drawn &drawn = m_drawn[std::size_t(i)];
        const auto marked = std::ranges::count_if(
            drawn.part.broken, [&](const QPointF &point) { return point.x() >= drawn.from && point.x() <= drawn.to; });
        notFinite += marked;
        shown += drawn.part.shown + marked;
        held += drawn.part.held;
        windows = std::max(windows, m_lines[i].windowsAPoint);
    }
    QLocale locale = QLocale::c();
    locale.setNumberOptions(QLocale::DefaultNumberOptions); // groups of three
    QStringList out;
    if (shown != held || windows > 1)
        out.append(tr("showing %1 of %2 points").arg(locale.toString(shown), locale.toString(held)));
    if (windows > 1)
        out.append(tr("each the mean of up to %1 windows").arg(windows));
    if (notFinite > 0 && shown == held) // else a mark stands for several
        out.append(tr("%1 not finite").arg(locale.toString(notFinite)));
    return out.join(QStringLiteral(", "));
}

QString DrawnLines::table(const QString &xTitle, const QString &yTitle) const {
    QString out = QStringLiteral("series\t%1\t%2\n").arg(xTitle, yTitle);
    for (qsizetype i = 0; i < m_lines.size(); ++i) {
        const LineData &line = m_lines[i];
        const core::Curve &measured = line.data ? *line.data : curve(i);
        for (qsizetype at = 0; at < measured.size() && !line.faint; ++at)
            out += QStringLiteral("%1\t%2\t%3\n")
                       .arg(line.name, QString::number(measured.at(at).x(), 'g', 12),
                            QString::number(measured.at(at).y(), 'g', 12));
    }
    return out;
}

QString DrawnLines::words(const QString &xTitle, const QString &yTitle) const {
    QStringList out;
    for (qsizetype i = 0; i < m_lines.size(); ++i) {
        const LineData &line = m_lines[i];
        if (line.faint || curve(i).isEmpty())
            continue;
        QString one = tr("%1: %2 %3 at %4 %5")
                          .arg(line.name, yTitle, line.textAtEnd(), xTitle, core::significant(curve(i).last().x()));
        if (const auto range = curve(i).extremes(-INFINITY, INFINITY))
            one += tr(", between %1 and %2").arg(core::threeDigits(range->low), core::threeDigits(range->high));
        out.append(one + u'.');
    }
    return out.isEmpty() ? tr("No values yet.") : out.join(u' ');
}

} // namespace lockstep::ui

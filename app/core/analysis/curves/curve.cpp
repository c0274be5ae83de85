// SPDX-License-Identifier: MIT
#include "analysis/curves/curve.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "ipc/sound_values.h"

namespace lockstep::core {
namespace {

constexpr std::size_t fan = 16; ///< points, or buckets of the level below, in a bucket

/// Doubling would leave up to half of the memory unused.
template <class T> void pushSparingly(std::vector<T> &list, const T &item) {
    if (list.size() == list.capacity())
        list.reserve(list.size() + list.size() / 4 + 32);
    list.push_back(item);
}

} // namespace

void Curve::append(double x, double y) {
    if (!m_points.empty())
        x = std::max(x, m_points.back().x());
    const auto index = std::uint32_t(m_points.size());
    pushSparingly(m_points, QPointF(x, y));
    ++m_revision;
    std::size_t bucket = index / fan;
    for (std::size_t level = 0;; ++level, bucket /= fan) {
        if (level == m_levels.size()) {
            if (level > 0 && bucket == 0) // a single bucket would only repeat the level below
                return;
            m_levels.emplace_back();
            if (level > 0) { // the first bucket is full already
                Bucket whole;
                for (std::size_t i = 0; i < fan; ++i)
                    take(whole, m_levels[level - 1][i]);
                m_levels[level].push_back(whole);
            }
        }
        if (bucket == m_levels[level].size())
            pushSparingly(m_levels[level], Bucket());
        take(m_levels[level].back(), index);
    }
}

void Curve::append(const QList<QPointF> &points) {
    for (const QPointF &point : points)
        append(point.x(), point.y());
}

void Curve::take(Bucket &into, std::uint32_t index) const {
    const double y = m_points[index].y();
    if (isFiniteValue(y))
        take(into, Bucket{y, y, index, index, none});
    else
        into.broken = std::min(into.broken, index);
}

void Curve::take(Bucket &into, const Bucket &more) const {
    into.broken = std::min(into.broken, more.broken);
    if (more.low == none)
        return;
    if (into.low == none || more.lowY < into.lowY) {
        into.low = more.low;
        into.lowY = more.lowY;
    }
    if (into.high == none || more.highY > into.highY) {
        into.high = more.high;
        into.highY = more.highY;
    }
}

/// Single points up to a bucket's border on both sides, then buckets up to the next level's border, and so on.
Curve::Bucket Curve::over(std::size_t first, std::size_t last) const {
    Bucket out;
    const auto tillBorder = [&](const auto &takeOne) {
        while (first < last && first % fan != 0)
            takeOne(first++);
        while (first < last && last % fan != 0)
            takeOne(--last);
        first /= fan;
        last /= fan;
    };
    tillBorder([&](std::size_t i) { take(out, std::uint32_t(i)); });
    for (std::size_t level = 0; first < last; ++level) {
        const std::vector<Bucket> &buckets = m_levels[level];
        if (level + 1 == m_levels.size()) {
            for (; first < last; ++first)
                take(out, buckets[first]);
            break;
        }
        tillBorder([&](std::size_t i) { take(out, buckets[i]); });
    }
    return out;
}

std::size_t Curve::indexOf(double x) const {
    return std::size_t(std::lower_bound(m_points.begin(), m_points.end(), x,
                                        [](const QPointF &p, double value) { return p.x() < value; }) -
                       m_points.begin());
}

std::size_t Curve::indexAfter(double x) const {
    return std::size_t(std::upper_bound(m_points.begin(), m_points.end(), x,
                                        [](double value, const QPointF &p) { return value < p.x(); }) -
                       m_points.begin());
}

std::optional<QPointF> Curve::nearest(double x) const {
    if (m_points.empty())
        return std::nullopt;
    const std::size_t next = indexOf(x);
    if (next == m_points.size())
        return m_points.back();
    if (next > 0 && x - m_points[next - 1].x() < m_points[next].x() - x)
        return m_points[next - 1];
    return m_points[next];
}

std::optional<Curve::Extremes> Curve::extremes(double from, double to) const {
    const std::size_t first = indexOf(from), last = indexAfter(to);
    if (first >= last)
        return std::nullopt;
    const Bucket found = over(first, last);
    if (found.low == none)
        return std::nullopt;
    return Extremes{found.lowY, found.highY};
}

void Curve::addColumn(std::size_t first, std::size_t last, CurvePart &out) const {
    const Bucket found = over(first, last);
    std::array<std::uint32_t, 3> order{found.low, found.high, found.broken};
    std::sort(order.begin(), order.end());
    for (std::size_t i = 0; i < order.size(); ++i) {
        if (order[i] == none || (i > 0 && order[i] == order[i - 1]))
            continue;
        const QPointF &point = m_points[order[i]];
        out.points.append(point);
        if (order[i] == found.broken)
            out.broken.append(point);
        else
            out.shown += point.x() >= out.m_from && point.x() <= out.m_to;
    }
}

/// The columns behind the finished ones, up to the point `last - 1`, which stands for itself.
void Curve::fillColumns(std::size_t last, CurvePart &out) const {
    const double width = (out.m_to - out.m_from) / out.m_columns;
    auto at = m_points.begin() + std::ptrdiff_t(out.m_finished.next);
    const auto end = m_points.begin() + std::ptrdiff_t(last - 1);
    for (int column = out.m_finished.columns + 1; column <= out.m_columns && at < end; ++column) {
        const auto next = column == out.m_columns
                              ? end
                              : std::lower_bound(at, end, out.m_from + column * width,
                                                 [](const QPointF &p, double x) { return p.x() < x; });
        addColumn(std::size_t(at - m_points.begin()), std::size_t(next - m_points.begin()), out);
        at = next;
        if (at < end) // the next points are behind this column
            out.m_finished = {column, std::size_t(at - m_points.begin()), out.points.size(), out.broken.size(),
                              out.shown};
    }
}

CurvePart Curve::part(double from, double to, int columns) const {
    CurvePart out;
    out.m_from = from;
    out.m_to = to;
    out.m_columns = std::max(1, columns);
    const std::size_t first = out.m_first = indexOf(from), last = indexAfter(to);
    out.held = qsizetype(last > first ? last - first : 0);
    const std::size_t entry = first > 0 ? first - 1 : first, exit = std::min(m_points.size(), last + 1);
    if (entry >= exit)
        return out;
    out.m_decimated = out.held > 2 * qsizetype(out.m_columns);
    if (!out.m_decimated) {
        for (std::size_t i = entry; i < exit; ++i)
            addColumn(i, i + 1, out);
        return out;
    }
    addColumn(entry, first, out);
    addColumn(first, first + 1, out); // the line begins and ends where the data do
    out.m_finished = {0, first + 1, out.points.size(), out.broken.size(), out.shown};
    fillColumns(last, out);
    addColumn(last - 1, last, out);
    addColumn(last, exit, out);
    return out;
}

void Curve::advance(CurvePart &part) const {
    if (!part.m_decimated) {
        part = this->part(part.m_from, part.m_to, part.m_columns);
        return;
    }
    const std::size_t last = m_points.back().x() <= part.m_to ? m_points.size() : indexAfter(part.m_to);
    part.held = qsizetype(last - part.m_first);
    part.points.resize(part.m_finished.points);
    part.broken.resize(part.m_finished.broken);
    part.shown = part.m_finished.shown;
    fillColumns(last, part);
    addColumn(last - 1, last, part);
    addColumn(last, std::min(m_points.size(), last + 1), part);
}

std::size_t Curve::bytes() const {
    std::size_t sum = m_points.capacity() * sizeof(QPointF);
    for (const std::vector<Bucket> &level : m_levels)
        sum += level.capacity() * sizeof(Bucket);
    return sum;
}

} // namespace lockstep::core

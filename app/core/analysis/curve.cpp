#include "analysis/curve.h"

#include <algorithm>
#include <array>
#include <cmath>

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
            if (level > 0 && bucket == 0) // one bucket would only say what the level below says
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

void Curve::clear() {
    m_points.clear();
    m_levels.clear();
    ++m_revision;
}

void Curve::take(Bucket &into, std::uint32_t index) const {
    const double y = m_points[index].y();
    if (!std::isfinite(y)) {
        into.broken = std::min(into.broken, index);
        return;
    }
    if (into.low == none || y < m_points[into.low].y())
        into.low = index;
    if (into.high == none || y > m_points[into.high].y())
        into.high = index;
}

void Curve::take(Bucket &into, const Bucket &more) const {
    into.broken = std::min(into.broken, more.broken);
    if (more.low == none)
        return;
    take(into, more.low);
    take(into, more.high);
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
    return Extremes{m_points[found.low].y(), m_points[found.high].y()};
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
    }
}

CurvePart Curve::part(double from, double to, int columns) const {
    CurvePart out;
    const std::size_t first = indexOf(from), last = indexAfter(to);
    out.held = qsizetype(last > first ? last - first : 0);
    const std::size_t entry = first > 0 ? first - 1 : first, exit = std::min(m_points.size(), last + 1);
    if (entry >= exit || columns < 1)
        return out;
    if (out.held <= 2 * qsizetype(columns)) {
        for (std::size_t i = entry; i < exit; ++i)
            addColumn(i, i + 1, out);
    } else {
        addColumn(entry, first, out);
        addColumn(first, first + 1, out); // the line begins and ends where the data do
        const double width = (to - from) / columns;
        auto at = m_points.begin() + std::ptrdiff_t(first + 1);
        const auto end = m_points.begin() + std::ptrdiff_t(last - 1);
        for (int column = 1; column <= columns && at < end; ++column) {
            const double border = from + column * width;
            const auto next =
                column == columns
                    ? end
                    : std::lower_bound(at, end, border, [](const QPointF &p, double x) { return p.x() < x; });
            addColumn(std::size_t(at - m_points.begin()), std::size_t(next - m_points.begin()), out);
            at = next;
        }
        addColumn(last - 1, last, out);
        addColumn(last, exit, out);
    }
    for (const QPointF &point : out.points)
        out.shown += std::isfinite(point.y()) && point.x() >= from && point.x() <= to;
    return out;
}

std::size_t Curve::bytes() const {
    std::size_t sum = m_points.capacity() * sizeof(QPointF);
    for (const std::vector<Bucket> &level : m_levels)
        sum += level.capacity() * sizeof(Bucket);
    return sum;
}

} // namespace lockstep::core

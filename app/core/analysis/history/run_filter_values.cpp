// SPDX-License-Identifier: MIT
#include "analysis/history/run_filter_values.h"

#include <cmath>

#include <QDateTime>
#include <QRegularExpression>

#include "base/format.h"

namespace lockstep::core {
namespace {

struct Unit {
    const char *name;
    double factor;
};
constexpr Unit durations[] = {{"", 1}, {"ms", 1e-3}, {"s", 1}, {"min", 60}, {"m", 60}, {"h", 3600}, {"d", 86400}};
constexpr Unit sizes[] = {{"", 1},       {"B", 1},         {"kB", 1e3},        {"MB", 1e6},
                          {"GB", 1e9},   {"KiB", 1024.0},  {"MiB", 1048576.0}, {"GiB", 1073741824.0},
                          {"K", 1024.0}, {"M", 1048576.0}, {"G", 1073741824.0}};
constexpr Unit shares[] = {{"", 1}, {"%", 0.01}};
constexpr Unit coreCounts[] = {{"", 1}, {"%", 0.01}, {"core", 1}, {"cores", 1}}; // in per cent, as these once were
constexpr Unit none[] = {{"", 1}};

std::span<const Unit> unitsOf(ColumnKind kind) {
    switch (kind) {
    case ColumnKind::Duration:
        return durations;
    case ColumnKind::Bytes:
        return sizes;
    case ColumnKind::Share:
        return shares;
    case ColumnKind::Cores:
        return coreCounts;
    default:
        return none;
    }
}

FilterQuantity timeSpan(const QDateTime &from, const QDateTime &to) {
    const double low = double(from.toMSecsSinceEpoch()) * 1000, high = double(to.toMSecsSinceEpoch()) * 1000;
    return {low, low, high, true};
}

std::optional<FilterQuantity> timeFrom(const QString &text, std::int64_t nowUs) {
    const QDate today = QDateTime::fromMSecsSinceEpoch(nowUs / 1000).date();
    QDate day = QDate::fromString(text, QStringLiteral("yyyy-MM-dd"));
    if (text == u"today")
        day = today;
    if (text == u"yesterday")
        day = today.addDays(-1);
    if (day.isValid())
        return timeSpan(day.startOfDay(), day.addDays(1).startOfDay());
    const struct {
        const char *format;
        int seconds;
    } shapes[] = {{"yyyy-MM-ddTHH:mm:ss", 1}, {"yyyy-MM-ddTHH:mm", 60}};
    for (const auto &[format, seconds] : shapes)
        if (const QDateTime at = QDateTime::fromString(QString(text).replace(u' ', u'T'), QLatin1String(format));
            at.isValid())
            return timeSpan(at, at.addSecs(seconds));
    return std::nullopt;
}

} // namespace

std::optional<FilterQuantity> filterQuantity(ColumnKind kind, const QString &text, std::int64_t nowUs) {
    if (kind == ColumnKind::Time)
        return timeFrom(text, nowUs);
    if (kind == ColumnKind::Flag) {
        const bool yes = text == u"yes" || text == u"true" || text == u"1";
        if (!yes && text != u"no" && text != u"false" && text != u"0")
            return std::nullopt;
        const double value = yes ? 1 : 0;
        return FilterQuantity{value, value, value, false};
    }
    static const QRegularExpression shape(
        QStringLiteral("^([-+]?[0-9]*(?:\\.([0-9]*))?(?:[eE]([-+]?[0-9]+))?)([A-Za-z%]*)$"));
    const QRegularExpressionMatch match = shape.match(withoutGroups(text));
    bool isNumber = false;
    const double number = match.captured(1).toDouble(&isNumber);
    if (!match.hasMatch() || !isNumber || !std::isfinite(number))
        return std::nullopt;
    for (const Unit &unit : unitsOf(kind)) {
        if (match.captured(4).compare(QLatin1String(unit.name), Qt::CaseInsensitive) != 0)
            continue;
        const double step = std::pow(10.0, double(match.captured(3).toInt() - match.captured(2).size()));
        const double half = 0.5 * step * unit.factor, exact = number * unit.factor;
        return FilterQuantity{exact, exact - half, exact + half, false};
    }
    return std::nullopt;
}

std::string quantityExamples(ColumnKind kind) {
    switch (kind) {
    case ColumnKind::Duration:
        return "a time like 30s, 2min or 1h";
    case ColumnKind::Share:
        return "a share like 0.88 or 88%";
    case ColumnKind::Cores:
        return "a number of cores like 0.5 or 1.72";
    case ColumnKind::Bytes:
        return "a size like 500MiB or 2GiB";
    case ColumnKind::Time:
        return "a day like 2026-01-31, a time like 2026-01-31T14:30, today or yesterday";
    case ColumnKind::Flag:
        return "yes or no";
    default:
        return "a number";
    }
}

} // namespace lockstep::core

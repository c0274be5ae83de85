// SPDX-License-Identifier: MIT
#include "base/format.h"

#include <algorithm>
#include <cmath>

#include <QDateTime>
#include <QRegularExpression>

namespace lockstep::core {
namespace {

const QString unknown = QStringLiteral("-");

constexpr double exponentBelow = 1e-6, exponentFrom = 1e9, wholeUpTo = 1e15;

/// Zeros fill a figure so tiny or huge up, and what looks like digits is none: "5.00e-31" instead. A count stays one.
bool wantsExponent(double value) {
    const double size = std::fabs(value);
    return size < exponentBelow || (size >= exponentFrom && (size > wholeUpTo || size != std::floor(size)));
}

/// "3.39e35", without the sign and the zeros that C writes into exponents.
QString withExponent(double value, int digits) {
    const QString text = QString::number(value, 'e', std::max(0, digits - 1));
    const qsizetype at = text.indexOf(u'e');
    return text.left(at + 1) + QString::number(text.mid(at + 1).toInt());
}

QDateTime local(std::int64_t wallUs) {
    return QDateTime::fromMSecsSinceEpoch(wallUs / 1000);
}

constexpr qsizetype leastGrouped = 5; ///< digits
constexpr QChar groupMark = u',';

} // namespace

QString inGroups(const QString &number) {
    const qsizetype first = number.startsWith(u'-') ? 1 : 0;
    qsizetype end = first;
    while (end < number.size() && number[end].isDigit())
        ++end;
    QString out = number;
    for (qsizetype at = end - 3; end - first >= leastGrouped && at > first; at -= 3)
        out.insert(at, groupMark);
    return out;
}

QString withoutGroups(const QString &number) {
    static const QRegularExpression groups(QStringLiteral("^[-+]?[0-9]{1,3}(?:,[0-9]{3})+(?![0-9,])"));
    const qsizetype end = groups.match(number).capturedEnd();
    return end > 0 ? number.left(end).remove(groupMark) + number.mid(end) : number;
}

QString significant(std::optional<double> value, int digits) {
    if (!value)
        return unknown;
    if (std::isnan(*value))
        return QStringLiteral("NaN");
    if (std::isinf(*value))
        return *value > 0 ? QStringLiteral("Inf") : QStringLiteral("-Inf");
    if (*value == 0)
        return QStringLiteral("0");
    if (wantsExponent(*value))
        return withExponent(*value, digits);
    const int magnitude = int(std::floor(std::log10(std::fabs(*value)))) + 1; // digits before the decimal point
    const int decimals = std::clamp(digits - magnitude, 0, 12);
    const QString text = QString::number(*value, 'f', decimals);
    // 9.999 rounds up to 10.0: one digit too many.
    return inGroups(decimals > 0 && std::fabs(text.toDouble()) >= std::pow(10.0, magnitude)
                        ? QString::number(*value, 'f', decimals - 1)
                        : text);
}

QString threeDigits(std::optional<double> value) {
    if (!value || !std::isfinite(*value) || std::fabs(*value) < 1000 || wantsExponent(*value))
        return significant(value);
    const double unit = std::pow(10.0, std::floor(std::log10(std::fabs(*value))) - 2);
    return inGroups(QString::number(std::round(*value / unit) * unit, 'f', 0));
}

QString besideMean(double deviation, const QString &mean) {
    const QString digits = QString(mean).remove(groupMark);
    if (!std::isfinite(deviation) || digits.contains(u'e') || digits == u'0')
        return significant(deviation, 2);
    if (const qsizetype point = digits.indexOf(u'.'); point >= 0) {
        const QString text = QString::number(deviation, 'f', int(digits.size() - point - 1));
        return text.toDouble() == 0 ? QStringLiteral("0") : inGroups(text);
    }
    double unit = 1; // of threeDigits(): its last place is not the ones
    for (qsizetype at = digits.size() - 1; at >= 3 && digits[at] == u'0'; --at)
        unit *= 10;
    return inGroups(QString::number(std::round(deviation / unit) * unit, 'f', 0));
}

QString factorText(std::optional<double> factor) {
    constexpr int mostDecimals = 9; // nearer to 1 than that is the arithmetic's own rounding
    QString text = significant(factor);
    for (int decimals = 3; factor && text.toDouble() == 1 && decimals <= mostDecimals; ++decimals)
        if (const QString finer = QString::number(*factor, 'f', decimals); finer.toDouble() != 1)
            text = finer;
    return text;
}

QString percent(std::optional<double> fraction, int decimals) {
    return fraction ? QString::number(*fraction * 100, 'f', decimals) + QStringLiteral(" %") : unknown;
}

QString coresText(double cores) {
    if (cores >= 0.995)
        return significant(cores, 2) + QStringLiteral(" cores");
    const int decimals = cores < 0.095 ? 3 : 2;
    return (cores < 0.0005 ? QStringLiteral("0") : QString::number(cores, 'f', decimals)) + QStringLiteral(" cores");
}

QString seconds(std::optional<double> value) {
    return value ? significant(value) + QStringLiteral(" s") : unknown;
}

QString secondsBeside(double amount, double largest) {
    const QString size = significant(largest);
    const qsizetype point = size.indexOf(u'.');
    const QString text = QString::number(amount, 'f', point < 0 ? 0 : int(size.size() - point - 1));
    return text.toDouble() == 0 ? seconds(amount) : inGroups(text) + QStringLiteral(" s");
}

QString addedSeconds(double part, double whole) {
    return addedSeconds(part, std::nullopt, whole);
}

QString addedSeconds(double part, std::optional<double> reach, double whole) {
    const int magnitude =
        whole != 0 ? int(std::floor(std::log10(std::fabs(whole)))) + 1 : 0; // digits before the decimal point
    const auto rounded = [&](double value) {
        return QString::number(std::fabs(value), 'f', std::clamp(4 - magnitude, 0, 12));
    };
    const QString size = rounded(part);
    const QString sign = size.toDouble() == 0 ? QString() : part < 0 ? QStringLiteral("\u2212") : QStringLiteral("+");
    return sign + (sign.isEmpty() ? QStringLiteral("0") : inGroups(size)) +
           (reach && rounded(*reach).toDouble() > 0 ? QStringLiteral(" ± ") + inGroups(rounded(*reach)) : QString()) +
           QStringLiteral(" s");
}

QString shortTime(std::optional<double> value) {
    if (!value)
        return unknown;
    const double size = std::fabs(*value);
    if (size > 0 && size < 0.9995e-3)
        return significant(*value * 1e6) + QStringLiteral(" µs");
    return size > 0 && size < 0.9995 ? significant(*value * 1e3) + QStringLiteral(" ms") : seconds(value);
}

QString bandwidth(std::optional<double> value) {
    if (!value)
        return unknown;
    if (*value < 0.9995e6)
        return significant(*value / 1e3) + QStringLiteral(" kB/s");
    return *value < 0.9995e9 ? significant(*value / 1e6) + QStringLiteral(" MB/s")
                             : significant(*value / 1e9) + QStringLiteral(" GB/s");
}

QString timeLeft(std::optional<double> value) {
    if (!value || !std::isfinite(*value))
        return unknown;
    const qint64 all = std::max<qint64>(0, std::llround(*value));
    const auto two = [](qint64 number) { return QStringLiteral("%1").arg(number, 2, 10, QLatin1Char('0')); };
    if (all < 60)
        return QStringLiteral("%1 s").arg(all);
    if (all < 3600)
        return QStringLiteral("%1 min %2 s").arg(all / 60).arg(two(all % 60));
    return QStringLiteral("%1 h %2 min").arg(all / 3600).arg(two(all % 3600 / 60));
}

QString timeUnknown(int withoutEstimate, int runs) {
    if (withoutEstimate < runs)
        return QStringLiteral("no estimate yet for %1 of %2 runs").arg(withoutEstimate).arg(runs);
    return QStringLiteral("no estimate yet");
}

QString speedUp(std::optional<double> factor) {
    return factor ? factorText(factor) + u'×' : unknown;
}

QString bytes(std::optional<double> value, std::optional<double> like) {
    if (!value)
        return unknown;
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double number = *value;
    int unit = 0;
    for (double rest = like.value_or(number); rest >= 1024 && unit < 4; rest /= 1024) {
        number /= 1024;
        ++unit;
    }
    return significant(number) + u' ' + QString::fromLatin1(units[unit]);
}

QString messageSize(double value) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
    int unit = 0;
    for (; value >= 1024 && unit < 3; ++unit)
        value /= 1024;
    const bool whole = value == std::floor(value);
    return (whole ? QString::number(value, 'f', 0) : significant(value)) + u' ' + QString::fromLatin1(units[unit]);
}

QString wallTime(std::int64_t wallUs) {
    return wallUs > 0 ? local(wallUs).toString(QStringLiteral("yyyy-MM-dd HH:mm:ss")) : unknown;
}

QString clockTime(std::int64_t wallUs) {
    return wallUs > 0 ? local(wallUs).toString(QStringLiteral("HH:mm:ss.zzz")) : unknown;
}

} // namespace lockstep::core

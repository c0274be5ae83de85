// SPDX-License-Identifier: MIT
#include "app/ui/charts/ticks.h"

#include <QDateTime>
#include <QLocale>

#include <algorithm>
#include <cmath>

#include "base/format.h"

namespace lockstep::ui {
namespace {

double niceStep(double raw, bool whole) {
    const double decade = std::pow(10.0, std::floor(std::log10(raw)));
    for (const double factor : {1.0, 2.0, 2.5, 5.0, 10.0}) {
        const double step = factor * decade;
        if (step >= raw * 0.999 && (!whole || (step >= 1 && std::floor(step) == step)))
            return step;
    }
    return whole ? 1 : 10 * decade;
}

int decimalsOf(double step) {
    for (int decimals = 0; decimals < 9; ++decimals) {
        const double scaled = step * std::pow(10.0, decimals);
        if (std::abs(scaled - std::round(scaled)) < 1e-6 * scaled)
            return decimals;
    }
    return 9;
}

Ticks ticksWithStep(double low, double high, double step, bool snap) {
    Ticks out;
    const double slack = step * 1e-6;
    out.low = snap ? std::floor((low + slack) / step) * step : low;
    out.high = snap ? std::ceil((high - slack) / step) * step : high;
    const int decimals = decimalsOf(step);
    QLocale locale = QLocale::c();
    locale.setNumberOptions(QLocale::DefaultNumberOptions);
    for (auto i = std::ceil((out.low - slack) / step); i * step <= out.high + slack; ++i) {
        out.at.append(i * step);
        const double shown = i == 0 ? 0.0 : i * step;
        out.labels.append(locale.toString(shown, 'f', decimals));
    }
    return out;
}

} // namespace

Ticks niceTicks(double low, double high, int wanted, bool snap) {
    if (!std::isfinite(low) || !std::isfinite(high))
        low = 0, high = 1;
    if (high - low < std::max(std::abs(high), 1e-12) * 1e-9) {
        const double around = high == 0 ? 1 : std::abs(high) * 0.5;
        low -= low == 0 ? 0 : around;
        high += around;
    }
    return ticksWithStep(low, high, niceStep((high - low) / std::max(1, wanted), false), snap);
}

Ticks wholeTicks(double low, double high, int wanted) {
    if (!std::isfinite(low) || !std::isfinite(high) || high <= low)
        high = low + 1;
    return ticksWithStep(low, high, niceStep((high - low) / std::max(1, wanted), true), false);
}

Ticks timeTicks(double low, double high, int wanted) {
    Ticks out;
    if (!std::isfinite(low) || !std::isfinite(high) || high <= low)
        high = low + 1;
    out.low = low;
    out.high = high;
    constexpr double day = 86'400;
    double step = std::ceil((high - low) / std::max(1, wanted) / day) * day;
    for (const double round : {1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0,
                               7200.0, 10'800.0, 21'600.0, 43'200.0, day})
        if (round * wanted >= high - low) {
            step = round;
            break;
        }
    // Whole steps of the local day, not of Unix time.
    const double shift = QDateTime::fromSecsSinceEpoch(qint64(low)).offsetFromUtc();
    const QString form = step < 60 ? QStringLiteral("HH:mm:ss")
                         : std::floor((low + shift) / day) == std::floor((high + shift) / day) ? QStringLiteral("HH:mm")
                         : step < day ? QStringLiteral("d MMM HH:mm")
                                      : QStringLiteral("d MMM");
    for (double at = std::ceil((low + shift) / step) * step - shift; at <= high; at += step) {
        out.at.append(at);
        out.labels.append(QLocale::c().toString(QDateTime::fromMSecsSinceEpoch(qint64(at * 1000)), form));
    }
    return out;
}

Ticks byteTicks(double low, double high, int wanted) {
    Ticks out;
    if (!std::isfinite(low) || !std::isfinite(high) || high <= low)
        low = 0, high = 30;
    out.low = low;
    out.high = high;
    const double step = std::max(1.0, std::ceil((high - low) / std::max(1, wanted) / 2) * 2);
    for (double at = std::ceil((low - 1e-9) / step) * step; at <= high + 1e-9; at += step) {
        out.at.append(at);
        out.labels.append(core::messageSize(std::exp2(at)));
    }
    return out;
}

Ticks logTicks(double low, double high, int wanted) {
    Ticks out;
    if (!(low > 0) || !std::isfinite(high) || high <= low)
        low = high > 0 && std::isfinite(high) ? high / 10 : 0.1, high = low * 10;
    out.low = std::log10(low);
    out.high = std::log10(high);
    const int first = int(std::ceil(out.low - 1e-9)), last = int(std::floor(out.high + 1e-9));
    // 1 and 2 stand 0.3 of a decade apart: 16 pixels of the 48 that each wanted tick has.
    const bool few = out.high - out.low <= 0.9 * wanted || last - first < 1;
    const int every = few ? 1 : std::max(1, (last - first) / std::max(1, wanted));
    for (int decade = few ? first - 1 : first; decade <= last; decade += every)
        for (const double factor : few ? QList<double>{1, 2, 5} : QList<double>{1}) {
            const double at = decade + std::log10(factor);
            if (at < out.low - 1e-9 || at > out.high + 1e-9)
                continue;
            out.at.append(at);
            const double value = factor * std::pow(10.0, decade);
            out.labels.append(decade < 0 ? QLocale::c().toString(value, 'f', -decade) : core::significant(value, 1));
        }
    if (out.at.size() > 1)
        return out;
    Ticks between; // within a decade the axis is nearly even
    for (int more = std::max(2, wanted); between.at.size() < 2; ++more)
        between = niceTicks(low, high, more, false);
    out.at.clear();
    out.labels = between.labels;
    for (const double value : between.at)
        out.at.append(std::log10(value));
    return out;
}

} // namespace lockstep::ui

// SPDX-License-Identifier: MIT
#include "analysis/compare/student.h"

#include <cmath>
#include <numbers>

namespace lockstep::core {
namespace {

/// The continued fraction of the incomplete beta function (DLMF 8.17.22), evaluated from the front by Lentz's method.
double betaFraction(double x, double a, double b) {
    constexpr double tiny = 1e-300;
    const auto kept = [](double value) { return std::fabs(value) < tiny ? tiny : value; };
    double c = 1, d = 1 / kept(1 - (a + b) * x / (a + 1)), value = d;
    for (int m = 1; m <= 500; ++m) {
        const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        d = 1 / kept(1 + even * d);
        c = kept(1 + even / c);
        value *= d * c;
        const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / kept(1 + odd * d);
        c = kept(1 + odd / c);
        value *= d * c;
        if (std::fabs(d * c - 1) < 1e-15)
            break;
    }
    return value;
}

/// The regularised incomplete beta function I_x(a, b).
double incompleteBeta(double x, double a, double b) {
    const double front =
        std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
    if (x < (a + 1) / (a + b + 2)) // where the fraction converges fast; else by symmetry
        return front * betaFraction(x, a, b) / a;
    return 1 - front * betaFraction(1 - x, b, a) / b;
}

double studentDensity(double t, double degrees) {
    return std::exp(std::lgamma((degrees + 1) / 2) - std::lgamma(degrees / 2) -
                    (degrees + 1) / 2 * std::log1p(t * t / degrees)) /
           std::sqrt(degrees * std::numbers::pi);
}

} // namespace

double studentTails(double t, double degrees) {
    return incompleteBeta(degrees / (degrees + t * t), degrees / 2, 0.5);
}

double studentQuantile(double confidence, double degrees) {
    const double tails = 1 - confidence;
    if (confidence <= 0)
        return 0;
    double low = 0, high = 2;
    while (studentTails(high, degrees) > tails && high < 1e12) {
        low = high;
        high *= 2;
    }
    // Newton's steps on the logarithm of the tails, halving the bracket where a step would leave it.
    double t = high;
    for (int i = 0; i < 200 && high - low > 1e-13 * high; ++i) {
        const double beyond = studentTails(t, degrees), excess = std::log(beyond / tails);
        (excess > 0 ? low : high) = t;
        const double step = excess * beyond / (2 * studentDensity(t, degrees));
        if (std::fabs(step) < 1e-13 * t)
            break;
        t = t + step > low && t + step < high ? t + step : (low + high) / 2;
    }
    return t;
}

} // namespace lockstep::core

// SPDX-License-Identifier: MIT
#include "lab/cost_model.h"
#include "base/moments.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lockstep::core {
namespace {

constexpr int mostPieces = 6;
constexpr std::size_t leastPoints = 2;  ///< of a piece
constexpr std::size_t mostLeftOut = 48; ///< sizes that are left out in turn: a lab measures 43 for a fit
constexpr double leastGain = 0.001;
constexpr double worthAPiece = 0.95; ///< one more piece must reduce the error by this factor
constexpr double unmeasuredRanks =
    1.5;                             ///< possible error factor of a formula for a number of ranks that was not measured
constexpr double leastSpread = 1.05; ///< no model is more certain than this

using Points = std::vector<TimePoint>;

/// Sorted and usable points, each size once.
Points tidied(Points points) {
    std::erase_if(points, [](const TimePoint &p) {
        return !(p.bytes > 0) || !(p.seconds > 0) || !std::isfinite(p.bytes) || !std::isfinite(p.seconds);
    });
    std::sort(points.begin(), points.end(), [](const auto &a, const auto &b) { return a.bytes < b.bytes; });
    Points out;
    for (std::size_t i = 0; i < points.size();) {
        double logs = 0;
        std::size_t end = i;
        for (; end < points.size() && points[end].bytes == points[i].bytes; ++end)
            logs += std::log(points[end].seconds);
        out.push_back({points[i].bytes, std::exp(logs / double(end - i))});
        i = end;
    }
    return out;
}

/// Sums over the first n points: the fit and the error of any piece follow from two of them.
struct Sums {
    double n = 0, a = 0, b = 0, c = 0, d = 0, e = 0; // counts, and sums of 1/t², x/t², x²/t², 1/t, x/t
    void add(const TimePoint &point) {
        const double x = point.bytes, t = point.seconds;
        n += 1, a += 1 / (t * t), b += x / (t * t), c += x * x / (t * t), d += 1 / t, e += x / t;
    }
    [[nodiscard]] Sums less(const Sums &o) const { return {n - o.n, a - o.a, b - o.b, c - o.c, d - o.d, e - o.e}; }
    /// Sum of ((α + β·x)/t - 1)².
    [[nodiscard]] double squares(const Regime &r) const {
        const double alpha = r.alphaS, beta = r.betaSPerByte;
        return std::max(0.0,
                        alpha * alpha * a + 2 * alpha * beta * b + beta * beta * c - 2 * alpha * d - 2 * beta * e + n);
    }
};

/// Least squares of (α + β·x)/t - 1 with α, β ≥ 0.
Regime fitted(const Sums &sums) {
    Regime out;
    out.points = int(sums.n);
    const double determinant = sums.a * sums.c - sums.b * sums.b;
    const bool line = out.points > 1 && determinant > 1e-12 * sums.a * sums.c;
    if (line) {
        out.alphaS = (sums.d * sums.c - sums.e * sums.b) / determinant;
        out.betaSPerByte = (sums.a * sums.e - sums.b * sums.d) / determinant;
    }
    if (!line || out.betaSPerByte < 0) {
        out.alphaS = sums.d / sums.a;
        out.betaSPerByte = 0;
    } else if (out.alphaS < 0) {
        out.alphaS = 0;
        out.betaSPerByte = sums.e / sums.c;
    }
    return out;
}

using Pieces = std::vector<Regime>;

/// The partitions into 1, 2, … `most` pieces with the smallest error, by dynamic programming over the ends.
std::vector<Pieces> partitions(const Points &points, int most) {
    const std::size_t n = points.size();
    constexpr double never = std::numeric_limits<double>::infinity();
    std::vector<Sums> until(n + 1);
    for (std::size_t i = 0; i < n; ++i) {
        until[i + 1] = until[i];
        until[i + 1].add(points[i]);
    }
    const auto all = std::size_t(std::clamp<int>(most, 1, std::max<int>(1, int(n / leastPoints))));
    std::vector<std::vector<double>> best(all + 1, std::vector<double>(n + 1, never));
    std::vector<std::vector<std::size_t>> begin(all + 1, std::vector<std::size_t>(n + 1, 0));
    best[0][0] = 0;
    for (std::size_t from = 0; from < n; ++from)
        for (std::size_t end = from + std::min(leastPoints, n); end <= n; ++end) {
            const Sums piece = until[end].less(until[from]);
            const double cost = piece.squares(fitted(piece));
            for (std::size_t count = 1; count <= all; ++count)
                if (best[count - 1][from] + cost < best[count][end]) {
                    best[count][end] = best[count - 1][from] + cost;
                    begin[count][end] = from;
                }
        }
    std::vector<Pieces> out;
    for (std::size_t count = 1; count <= all; ++count) {
        Pieces pieces;
        std::size_t end = n;
        for (std::size_t piece = count; piece > 0; --piece) {
            const std::size_t from = begin[piece][end];
            pieces.push_back(fitted(until[end].less(until[from])));
            pieces.back().fromBytes = points[from].bytes;
            pieces.back().toBytes = points[end - 1].bytes;
            end = from;
        }
        std::reverse(pieces.begin(), pieces.end());
        out.push_back(std::move(pieces));
    }
    return out;
}

double secondsOf(const std::vector<Regime> &regimes, double bytes) {
    for (std::size_t i = 0; i < regimes.size(); ++i) {
        if (bytes <= regimes[i].toBytes || i + 1 == regimes.size())
            return regimes[i].seconds(bytes);
        const Regime &next = regimes[i + 1];
        if (bytes >= next.fromBytes)
            continue;
        const double x0 = std::log(regimes[i].toBytes), x1 = std::log(next.fromBytes);
        const double y0 = std::log(regimes[i].seconds(regimes[i].toBytes)), y1 = std::log(next.seconds(next.fromBytes));
        return std::exp(y0 + (y1 - y0) * (std::log(bytes) - x0) / (x1 - x0));
    }
    return 0;
}

/// The error at each inner size when it is left out of the fit, for 1, 2, … `most` pieces; of many sizes, at mostLeftOut of them. The
/// outermost sizes are never left out: that would be extrapolation.
std::vector<std::vector<double>> crossErrors(const Points &points, int most) {
    std::vector<std::vector<double>> out(std::size_t(std::max(1, most)));
    const std::size_t inner = points.size() - 2, tries = std::min(inner, mostLeftOut);
    for (std::size_t n = 0; n < tries; ++n) {
        const std::size_t i = 1 + n * inner / tries;
        Points others = points;
        others.erase(others.begin() + std::ptrdiff_t(i));
        const auto found = partitions(others, most);
        for (std::size_t k = 0; k < out.size(); ++k)
            out[k].push_back(
                relativeError(secondsOf(found[std::min(k, found.size() - 1)], points[i].bytes), points[i].seconds));
    }
    for (auto &errors : out)
        std::sort(errors.begin(), errors.end());
    return out;
}

} // namespace

std::optional<CostModel> CostModel::fit(std::vector<TimePoint> given, std::optional<int> pieces) {
    const Points points = tidied(std::move(given));
    if (points.size() < 2)
        return std::nullopt;
    CostModel model;
    const int most = pieces.value_or(std::clamp(int(points.size() / 3), 1, mostPieces));
    int chosen = most;
    std::vector<double> errors;
    if (points.size() >= 4) {
        const auto tried = crossErrors(points, most);
        chosen = pieces.value_or(1);
        for (int k = 2; !pieces && k <= most; ++k) {
            const double now = *meanOf(tried[std::size_t(chosen - 1)]), then = *meanOf(tried[std::size_t(k - 1)]);
            if (then < worthAPiece * now && now - then > leastGain)
                chosen = k;
        }
        errors = tried[std::size_t(chosen - 1)];
    }
    model.m_regimes = partitions(points, chosen).back();
    if (!errors.empty()) {
        model.m_crossMedian = errors[errors.size() / 2];
        model.m_crossMost = errors[std::size_t(0.9 * double(errors.size() - 1) + 0.5)];
    }
    return model;
}

double CostModel::seconds(double bytes) const {
    return secondsOf(m_regimes, bytes);
}

double relativeError(double predicted, double measured) {
    return std::abs(predicted / measured - 1);
}

void CommunicationModel::add(const std::string &collective, int ranks, CostModel model) {
    m_models[collective].insert_or_assign(ranks, std::move(model));
}

const CostModel *CommunicationModel::find(const std::string &collective, int ranks) const {
    const auto models = m_models.find(collective);
    if (models == m_models.end())
        return nullptr;
    const auto model = models->second.find(ranks);
    return model == models->second.end() ? nullptr : &model->second;
}

std::vector<int> CommunicationModel::ranksOf(const std::string &collective) const {
    std::vector<int> out;
    if (const auto models = m_models.find(collective); models != m_models.end())
        for (const auto &[ranks, model] : models->second)
            out.push_back(ranks);
    return out;
}

namespace {

bool isMessage(std::string_view operation) {
    return operation.starts_with(pairOfRanks);
}

/// t_N(K) from the model of N0 ranks, by the formula of the algorithm.
double carriedOver(const std::string &collective, const CostModel &model, int from, int to, double bytes) {
    if (isMessage(collective))
        return model.seconds(bytes);
    if (collective == "broadcast")
        return model.seconds(bytes) * std::ceil(std::log2(to)) / std::ceil(std::log2(from));
    const double steps = double(to - 1) / double(from - 1);
    if (collective == "server_all_reduce")
        return steps * model.seconds(bytes);
    return steps * model.seconds(bytes * from / to);
}

} // namespace

std::optional<Prediction> CommunicationModel::predict(const std::string &collective, int ranks, double bytes) const {
    if (ranks < 2)
        return Prediction{};
    const auto models = m_models.find(collective);
    if (models == m_models.end() || models->second.empty())
        return std::nullopt;
    const auto nearest =
        std::min_element(models->second.begin(), models->second.end(), [ranks](const auto &a, const auto &b) {
            return std::abs(std::log(double(a.first) / ranks)) < std::abs(std::log(double(b.first) / ranks));
        });
    const auto &[measured, model] = *nearest;
    Prediction out;
    out.ranksMeasured = measured == ranks || isMessage(collective);
    out.bytesMeasured = bytes >= model.fromBytes() && bytes <= model.toBytes();
    out.seconds = carriedOver(collective, model, measured, ranks, bytes);
    const double spread =
        std::max(leastSpread, 1 + model.crossErrorMost().value_or(0.5)) * (out.ranksMeasured ? 1 : unmeasuredRanks);
    out.low = out.seconds / spread;
    out.high = out.seconds * spread;
    return out;
}

double serverFormulaS(const CostModel &pointToPoint, int ranks, double bytes) {
    return 2.0 * (ranks - 1) * pointToPoint.seconds(bytes);
}

double ringFormulaS(const CostModel &pointToPoint, int ranks, double bytes) {
    return 2.0 * (ranks - 1) * pointToPoint.seconds(bytes / ranks);
}

} // namespace lockstep::core

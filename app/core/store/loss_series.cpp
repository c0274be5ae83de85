// SPDX-License-Identifier: MIT
#include "store/loss_series.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>

namespace lockstep::core {
namespace {

constexpr int mostBetween = 100; ///< points of ranks whose next epoch began earlier, among those of an epoch
constexpr std::int64_t mostWeight = std::int64_t(1) << 60; // so that two of them can be added

LossPoint joined(const LossPoint &a, const LossPoint &b, OverSteps over = OverSteps::Mean) {
    LossPoint out = b; // the position of the later one on every axis
    out.samples = std::min(mostWeight, std::min(a.samples, mostWeight) + std::min(b.samples, mostWeight));
    const double weightA = a.samples > 0 ? double(a.samples) : 1, weightB = b.samples > 0 ? double(b.samples) : 1;
    if (over == OverSteps::Max)
        out.loss = greaterOrNan(a.loss, b.loss);
    else if (over != OverSteps::Last)
        out.loss = (a.loss * weightA + b.loss * weightB) / (weightA + weightB);
    out.min = std::fmin(a.min, b.min);
    out.max = std::fmax(a.max, b.max);
    return out;
}

} // namespace

bool moveTo(LossPoint &point, const EpochPlaces &places) {
    if (point.epoch <= places.epoch - 1 || point.epoch > places.epoch)
        return false;
    const double before = std::exchange(point.epoch, places.epochsDone(point.step));
    return before != point.epoch;
}

void LossSeries::append(const LossPoint &point) {
    if (!m_points.empty() && point.step <= m_points.back().step) {
        while (!m_points.empty() && point.step <= m_points.back().step)
            m_points.pop_back();
        ++m_generation;
    }
    m_points.push_back(point);
    if (m_points.size() <= m_limit)
        return;
    std::vector<LossPoint> half;
    half.reserve(m_points.size() / 2 + 1);
    for (std::size_t i = 0; i + 1 < m_points.size(); i += 2)
        half.push_back(joined(m_points[i], m_points[i + 1], m_over));
    if (m_points.size() % 2)
        half.push_back(m_points.back());
    m_points = std::move(half);
    ++m_generation;
    m_windowsAPoint *= 2;
}

void LossSeries::placeAnew(const EpochPlaces &places) {
    bool moved = false;
    int between = 0;
    const auto end = std::ranges::upper_bound(m_points, places.lastStep, {}, &LossPoint::step);
    for (auto point = std::make_reverse_iterator(end);
         point != m_points.rend() && point->epoch > places.epoch - 1 && between <= mostBetween; ++point) {
        moved = moveTo(*point, places) || moved;
        between += point->epoch > places.epoch ? 1 : 0;
    }
    m_generation += moved ? 1 : 0;
}

LossMerger::Window LossMerger::Window::cutOff(std::int64_t upTo) {
    Window part = *this;
    part.point.step = -1;
    const double share = double(upTo - first + 1) / double(point.step - first + 1);
    part.point.samples = std::llround(double(std::min(mostWeight, point.samples)) * share);
    point.samples -= part.point.samples;
    first = upTo + 1;
    return part;
}

void LossMerger::placeAnew(const EpochPlaces &places) {
    m_waiting.each([&](Window &window) { moveTo(window.point, places); });
}

void LossMerger::add(int rank, std::int64_t firstStep, const LossPoint &point, LossSeries &out) {
    reach(rank, point.step, out);
    if (point.step < m_taken)
        return;
    if (m_ranks == 1 && m_known == 1) {
        m_taken = point.step;
        out.append(point);
        return;
    }
    m_waiting.add(rank, {std::min(firstStep, point.step), point});
    while (m_waiting.count(rank) > mostWaiting)
        take(m_waiting.withoutMissing, out);
    takeComplete(out);
}

void LossMerger::pass(int rank, std::int64_t step, LossSeries &out) {
    reach(rank, step, out);
    takeComplete(out);
}

void LossMerger::reach(int rank, std::int64_t step, LossSeries &out) {
    if (const auto reached = m_reached.of(rank); reached && step <= *reached) {
        flush(
            out); // all ranks began again, from a checkpoint or the start: what is made again replaces it, the rest stays
        m_reached.clear();
        m_taken = 0;
    }
    m_reached.set(rank, step);
    m_known = std::max(m_known, m_reached.ranks());
}

void LossMerger::flush(LossSeries &out) {
    while (take(m_waiting.withoutMissing, out)) {
    }
}

void LossMerger::takeComplete(LossSeries &out) {
    if (m_reached.ranks() < std::max(m_ranks, m_known))
        return;
    while (take(*m_reached.least(), out)) {
    }
}

bool LossMerger::take(std::int64_t reached, LossSeries &out) {
    std::optional<LossPoint> sum;
    const auto end = m_waiting.takeNext(reached, [&](int, const Window &window) {
        const LossPoint &next = window.point;
        if (!sum)
            sum = next;
        else
            sum = next.step >= sum->step ? joined(*sum, next) : joined(next, *sum);
    });
    if (!end)
        return false;
    m_taken = reached == m_waiting.withoutMissing ? *end + 1 : *end;
    out.append(*sum);
    return true;
}

} // namespace lockstep::core

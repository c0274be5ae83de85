// SPDX-License-Identifier: MIT
#include "store/loss_series.h"

#include <algorithm>
#include <cmath>
#include <iterator>
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

void LossMerger::placeAnew(const EpochPlaces &places) {
    m_waiting.each([&](Window &window) {
        if (window.point)
            moveTo(*window.point, places);
    });
}

void LossMerger::add(int rank, const LossPoint &point, LossSeries &out) {
    add(rank, {point.step, point}, out);
}

void LossMerger::pass(int rank, std::int64_t step, LossSeries &out) {
    add(rank, {step, std::nullopt}, out);
}

void LossMerger::add(int rank, Window window, LossSeries &out) {
    const std::int64_t step = window.at;
    const auto last = m_last.find(rank);
    if (last != m_last.end() && step <= last->second) { // all ranks began again, from a checkpoint or the start
        flush(out);                                     // what is made again replaces it, the rest stays
        m_last.clear();
        m_taken = -1;
    }
    m_last[rank] = step;
    if (m_ranks <= 1 && m_last.size() <= 1) {
        if (window.point)
            out.append(*window.point);
        return;
    }
    if (step <= m_taken)
        return; // it comes too late
    m_newest.set(rank, step);
    if (const auto upTo = m_waiting.add(rank, std::move(window), mostWaiting))
        takeWithoutMissing(*upTo, out);
    if (int(m_waiting.ranks()) < m_ranks || !m_waiting.allWait())
        return;
    if (const auto all = m_newest.least(); all && *all >= 0) // the step that every rank has reached
        take(*all, out);
}

void LossMerger::flush(LossSeries &out) {
    m_waiting.takeAll([&](std::int64_t upTo) { takeWithoutMissing(upTo, out); });
}

void LossMerger::takeWithoutMissing(std::int64_t upTo, LossSeries &out) {
    m_taken = upTo;
    take(upTo, out);
}

void LossMerger::take(std::int64_t upTo, LossSeries &out) {
    std::optional<LossPoint> sum;
    m_waiting.take(upTo, [&](int, const Window &window) {
        const std::optional<LossPoint> &next = window.point;
        if (!next || !sum)
            sum = next ? next : sum;
        else
            sum = next->step >= sum->step ? joined(*sum, *next) : joined(*next, *sum);
    });
    if (sum)
        out.append(*sum);
}

} // namespace lockstep::core

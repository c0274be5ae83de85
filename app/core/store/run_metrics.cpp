// SPDX-License-Identifier: MIT
#include "store/run_metrics.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "store/run_data.h"

namespace lockstep::core {
namespace {

constexpr std::size_t rankPoints = 20'000; // of each rank, beside the curve of all

/// To some of its steps: its values are theirs, too.
void shrink(ScalarWindow &window, std::int64_t steps, std::int64_t ofSteps) {
    const double share = double(steps) / double(ofSteps);
    window.sum *= share;
    window.weight *= share;
}

LossPoint pointOf(LossPoint place, const MetricSpec &spec, const ScalarWindow &window) {
    place.loss = valueOf(spec, window);
    place.min = window.min;
    place.max = window.max;
    place.samples = std::llround(std::min(window.weight, 1e11) * 1e6); // a rate's weight is seconds
    return place;
}

} // namespace

RunMetrics::Metric *RunMetrics::metric(std::string_view name) {
    if (const auto known = m_metrics.find(name); known != m_metrics.end())
        return &known->second;
    if (m_metrics.size() >= maxScalars)
        return nullptr;
    MetricSpec spec = metricSpec(name);
    LossSeries all(LossSeries::usualLimit, spec.overSteps);
    return &m_metrics.emplace(name, Metric{std::move(spec), std::move(all), {}}).first->second;
}

void RunMetrics::take(int rank, const StepsFrame &frame, const LossPoint &place) {
    if (const auto reached = m_reached.of(rank); reached && goesBack(frame, *reached)) { // all ranks restarted
        m_reached.clear();
        flush(); // what is made again replaces it, the rest stays
        for (auto &[name, metric] : m_metrics)
            metric.joined = 0;
    }
    m_reached.set(rank, frame.lastStep);
    const Scalars scalars = scalarsOf(frame);
    for (const auto &[name, window] : scalars)
        if (Metric *own = rank < int(mostRunDevices) ? metric(name) : nullptr) {
            own->ranks.try_emplace(rank, rankPoints, own->spec.overSteps)
                .first->second.append(pointOf(place, own->spec, window));
            if (place.step < own->joined)
                continue;
            own->waiting.add(rank, {std::min(frame.firstStep, place.step), place, window});
            while (own->waiting.count(rank) > LossMerger::mostWaiting)
                joinNext(*own, own->waiting.withoutMissing);
        }
    m_totals.take(rank, frame, scalars);
    if (int(m_reached.ranks()) < m_ranks)
        return;
    const std::int64_t all = *m_reached.least(); // the step that every rank has reached
    for (auto &[name, metric] : m_metrics)
        while (joinNext(metric, all)) {
        }
}

void RunMetrics::placeAnew(const EpochPlaces &places) {
    for (auto &[name, metric] : m_metrics) {
        metric.all.placeAnew(places);
        metric.waiting.each([&](Waiting &waiting) { moveTo(waiting.place, places); });
    }
}

void RunMetrics::placeRankAnew(int rank, const EpochPlaces &places) {
    for (auto &[name, metric] : m_metrics)
        if (const auto own = metric.ranks.find(rank); own != metric.ranks.end())
            own->second.placeAnew(places);
}

void RunMetrics::flush() {
    for (auto &[name, metric] : m_metrics)
        while (joinNext(metric, metric.waiting.withoutMissing)) {
        }
}

RunMetrics::Waiting RunMetrics::Waiting::cutOff(std::int64_t upTo) {
    Waiting part = *this;
    part.place.step = -1;
    shrink(part.window, upTo - first + 1, place.step - first + 1);
    shrink(window, place.step - upTo, place.step - first + 1);
    first = upTo + 1;
    return part;
}

/// Merges the windows of the next point, at the position of the one that ends it. False: it is incomplete.
bool RunMetrics::joinNext(Metric &metric, std::int64_t reached) {
    std::vector<ScalarWindow> ranks;
    std::optional<int> last;
    LossPoint place;
    place.step = -1;
    const auto end = metric.waiting.takeNext(reached, [&](int rank, const Waiting &waiting) {
        if (last == rank)
            merge(ranks.back(), waiting.window);
        else
            ranks.push_back(waiting.window);
        last = rank;
        if (waiting.place.step >= place.step)
            place = waiting.place;
    });
    if (!end)
        return false;
    metric.joined = reached == metric.waiting.withoutMissing ? *end + 1 : *end;
    ScalarWindow all = overRanks(metric.spec, ranks);
    all.weight = ranks.front().weight;
    all.sum *= all.weight;
    metric.all.append(pointOf(place, metric.spec, all));
    return true;
}

std::vector<std::string> RunMetrics::names() const {
    std::vector<std::string> out;
    for (const auto &[name, metric] : m_metrics)
        out.push_back(name);
    std::ranges::sort(out, metricBefore);
    return out;
}

const LossSeries *RunMetrics::series(std::string_view name) const {
    const auto found = m_metrics.find(name);
    return found == m_metrics.end() ? nullptr : &found->second.all;
}

const LossSeries *RunMetrics::rankSeries(std::string_view name, int rank) const {
    const auto found = m_metrics.find(name);
    if (found == m_metrics.end())
        return nullptr;
    const auto own = found->second.ranks.find(rank);
    return own == found->second.ranks.end() ? nullptr : &own->second;
}

} // namespace lockstep::core

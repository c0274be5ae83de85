// SPDX-License-Identifier: MIT
#include "store/run_metrics.h"

#include <algorithm>
#include <cmath>

#include "store/run_data.h"

namespace lockstep::core {
namespace {

constexpr std::size_t rankPoints = 20'000; // of each rank, beside the curve of all

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
    const auto reached = m_reached.find(rank);
    if (reached != m_reached.end() && goesBack(frame, reached->second)) { // all ranks restarted
        m_reached.clear();
        flush(); // what is made again replaces it, the rest stays
        for (auto &[name, metric] : m_metrics)
            metric.joined = -1;
    }
    m_reached[rank] = frame.lastStep;
    const Scalars scalars = scalarsOf(frame);
    for (const auto &[name, window] : scalars)
        if (Metric *own = rank < int(mostRunDevices) ? metric(name) : nullptr) {
            own->ranks.try_emplace(rank, rankPoints, own->spec.overSteps)
                .first->second.append(pointOf(place, own->spec, window));
            if (place.step <= own->joined)
                continue; // it comes too late
            std::deque<Waiting> &waiting = own->waiting[rank];
            waiting.push_back({place, window});
            if (waiting.size() > LossMerger::mostWaiting)
                joinAllBut(LossMerger::mostWaiting, *own);
        }
    m_totals.take(rank, frame, scalars);
    if (int(m_reached.size()) < m_ranks)
        return;
    const auto slowest = std::ranges::min_element(m_reached, {}, [](const auto &one) { return one.second; });
    for (auto &[name, metric] : m_metrics)
        join(metric, slowest->second);
}

void RunMetrics::placeAnew(int rank, int epoch, const EpochsAt &epochsAt) {
    for (auto &[name, metric] : m_metrics) {
        metric.all.placeAnew(epoch, epochsAt);
        if (const auto own = metric.ranks.find(rank); own != metric.ranks.end())
            own->second.placeAnew(epoch, epochsAt);
    }
}

void RunMetrics::flush() {
    for (auto &[name, metric] : m_metrics)
        joinAllBut(0, metric);
}

void RunMetrics::joinAllBut(std::size_t windows, Metric &metric) {
    const auto stepOf = [](const Waiting &waiting) { return waiting.place.step; };
    while (const auto step = stepToJoin(metric.waiting, windows, stepOf)) {
        metric.joined = *step;
        join(metric, *step);
    }
}

/// Merges the waiting windows up to that step into one point, at the position of the latest window.
void RunMetrics::join(Metric &metric, std::int64_t upTo) {
    std::vector<ScalarWindow> ranks;
    LossPoint place;
    place.step = -1;
    for (auto &[rank, waiting] : metric.waiting) {
        std::optional<ScalarWindow> own;
        for (; !waiting.empty() && waiting.front().place.step <= upTo; waiting.pop_front()) {
            if (own)
                merge(*own, waiting.front().window);
            else
                own = waiting.front().window;
            if (waiting.front().place.step >= place.step)
                place = waiting.front().place;
        }
        if (own)
            ranks.push_back(*own);
    }
    if (ranks.empty())
        return;
    ScalarWindow all = overRanks(metric.spec, ranks);
    all.weight = ranks.front().weight;
    all.sum *= all.weight;
    metric.all.append(pointOf(place, metric.spec, all));
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

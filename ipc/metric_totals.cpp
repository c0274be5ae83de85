// SPDX-License-Identifier: MIT
#include "ipc/metric_totals.h"

#include <algorithm>

#include "ipc/sound_values.h"

namespace lockstep {

namespace {

constexpr std::size_t mostEpochs = 10'000;

/// Ranks train side by side, and an epoch ends with the longest: what all of them did takes as long as that one.
double valueOfRanks(const MetricSpec &spec, const std::vector<ScalarWindow> &ranks) {
    if (spec.overSteps != OverSteps::Rate || spec.overRanks != OverRanks::Sum)
        return overRanks(spec, ranks).sum;
    double sum = 0, longest = 0;
    for (const ScalarWindow &rank : ranks) {
        sum += rank.sum;
        longest = std::max(longest, rank.weight);
    }
    return sum / longest;
}

} // namespace

MetricTotals::Part *MetricTotals::part(int epoch, int rank) {
    if (m_epochs.size() >= mostEpochs && !m_epochs.contains(epoch)) {
        if (epoch < m_epochs.begin()->first)
            return nullptr;
        foldOldest();
    }
    const auto [own, isNew] = m_epochs[epoch].try_emplace(rank);
    if (isNew) {
        std::vector<int> &epochs = m_epochsOf[rank];
        epochs.insert(std::ranges::upper_bound(epochs, epoch), epoch);
    }
    return &own->second;
}

void MetricTotals::forgetAfter(int epoch, int rank) {
    std::vector<int> &epochs = m_epochsOf[rank];
    for (; !epochs.empty() && epochs.back() > epoch; epochs.pop_back()) {
        const auto later = m_epochs.find(epochs.back());
        later->second.erase(rank);
        if (later->second.empty())
            m_epochs.erase(later);
    }
}

bool MetricTotals::addsUp(std::size_t metric) const {
    const OverSteps over = m_specs[metric].overSteps;
    return over == OverSteps::Rate || over == OverSteps::Max;
}

void MetricTotals::foldOldest() {
    const auto oldest = m_epochs.begin();
    for (const auto &[rank, part] : oldest->second)
        for (const Value &value : part.values)
            if (!addsUp(value.metric))
                m_earlier[value.metric].clear();
    for (const auto &[rank, part] : oldest->second)
        for (const Value &value : part.values)
            if (const auto [earlier, isNew] = m_earlier[value.metric].try_emplace(rank, value.window); !isNew)
                merge(earlier->second, value.window);
    for (const auto &[rank, part] : oldest->second) {
        std::vector<int> &epochs = m_epochsOf[rank];
        epochs.erase(epochs.begin());
    }
    m_epochs.erase(oldest);
}

void MetricTotals::Part::add(std::span<const Value> more) {
    for (const Value &value : more)
        if (ScalarWindow *earlier = find(value.metric))
            merge(*earlier, value.window);
        else
            values.push_back(value);
}

ScalarWindow *MetricTotals::Part::find(std::size_t metric) {
    const auto found = std::ranges::find(values, metric, &Value::metric);
    return found == values.end() ? nullptr : &found->window;
}

/// Accepts new names as long as there is room, and drops the others.
std::vector<MetricTotals::Value> MetricTotals::known(const Scalars &scalars) {
    std::vector<Value> out;
    out.reserve(scalars.size());
    for (const auto &[name, window] : scalars) {
        auto metric = m_metrics.find(name);
        if (metric == m_metrics.end()) {
            if (m_specs.size() >= maxScalars)
                continue;
            metric = m_metrics.emplace(name, m_specs.size()).first;
            m_specs.push_back(metricSpec(name));
        }
        out.push_back({metric->second, window});
    }
    return out;
}

MetricValues MetricTotals::valuesOf(const Windows &windows) const {
    MetricValues out;
    for (std::size_t metric = 0; metric < windows.size(); ++metric)
        if (!windows[metric].empty())
            if (const double value = valueOfRanks(m_specs[metric], windows[metric]); isFiniteValue(value))
                out.emplace(m_specs[metric].name, value);
    return out;
}

void MetricTotals::take(int rank, const StepsFrame &frame, const Scalars &scalars) {
    const std::vector<Value> values = known(scalars);
    Part *own = values.empty() ? nullptr : part(frame.epoch, rank);
    if (!own)
        return;
    // Steps are repeated after a restart: forget this epoch's part and all later ones.
    if (goesBack(frame, own->lastStep)) {
        *own = {};
        forgetAfter(frame.epoch, rank);
    }
    own->lastStep = frame.lastStep;
    if (own->whole && frame.count > 0) // without steps it was measured after the epoch's own frame
        return;
    own->add(values);
}

void MetricTotals::take(int rank, const EpochFrame &frame) {
    std::vector<Value> values = known(scalarsOf(frame));
    Part *own = values.empty() ? nullptr : part(frame.epoch, rank);
    if (!own || own->whole)
        return;
    Part whole{std::move(values), true, own->lastStep};
    for (const Value &value : own->values) // reported with the steps, but not with the epoch
        if (!whole.find(value.metric))
            whole.values.push_back(value);
    *own = std::move(whole);
}

MetricValues MetricTotals::ofEpoch(int epoch) const {
    Windows windows(m_specs.size());
    if (const auto found = m_epochs.find(epoch); found != m_epochs.end())
        for (const auto &[rank, part] : found->second)
            for (const Value &value : part.values)
                windows[value.metric].push_back(value.window);
    return valuesOf(windows);
}

/// Of rates and maxima what all epochs add up to, of the others the last epoch that has them.
std::map<int, MetricTotals::Part> MetricTotals::wholeRun() const {
    std::map<int, Part> whole;
    std::vector<std::optional<int>> lastEpoch(m_specs.size());
    for (const auto &[epoch, ranks] : m_epochs)
        for (const auto &[rank, part] : ranks)
            for (const Value &value : part.values)
                lastEpoch[value.metric] = epoch;
    for (const auto &[metric, ranks] : m_earlier)
        if (addsUp(metric) || !lastEpoch[metric])
            for (const auto &[rank, window] : ranks)
                whole[rank].values.push_back({metric, window});
    for (const auto &[epoch, ranks] : m_epochs)
        for (const auto &[rank, part] : ranks)
            for (const Value &value : part.values)
                if (addsUp(value.metric) || epoch == lastEpoch[value.metric])
                    whole[rank].add({&value, 1});
    return whole;
}

std::map<int, double> MetricTotals::ofRanks(std::string_view name) const {
    std::map<int, double> out;
    const auto metric = m_metrics.find(name);
    if (metric == m_metrics.end())
        return out;
    std::map<int, Part> whole = wholeRun();
    for (auto &[rank, part] : whole)
        if (const ScalarWindow *found = part.find(metric->second))
            if (const double value = overRanks(m_specs[metric->second], {found, 1}).sum; isFiniteValue(value))
                out.emplace(rank, value);
    return out;
}

MetricValues MetricTotals::ofRun() const {
    Windows windows(m_specs.size());
    for (const auto &[rank, part] : wholeRun())
        for (const Value &value : part.values)
            windows[value.metric].push_back(value.window);
    return valuesOf(windows);
}

} // namespace lockstep

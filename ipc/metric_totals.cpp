// SPDX-License-Identifier: MIT
#include "ipc/metric_totals.h"

#include "ipc/sound_values.h"

namespace lockstep {

namespace {

constexpr std::size_t mostEpochs = 10'000;

} // namespace

MetricTotals::Part *MetricTotals::part(int epoch, int rank) {
    if (m_epochs.size() >= mostEpochs && !m_epochs.contains(epoch))
        return nullptr;
    return &m_epochs[epoch][rank];
}

/// Accepts new names as long as there is room, and drops the others.
void MetricTotals::keepKnown(Scalars &scalars) {
    std::erase_if(scalars, [this](const auto &scalar) {
        if (m_specs.contains(scalar.first))
            return false;
        if (m_specs.size() >= maxScalars)
            return true;
        m_specs.emplace(scalar.first, metricSpec(scalar.first));
        return false;
    });
}

MetricValues MetricTotals::valuesOf(const RankWindows &windows) const {
    MetricValues out;
    for (const auto &[name, ranks] : windows)
        if (const double value = overRanks(m_specs.find(name)->second, ranks).sum; isFiniteValue(value))
            out.emplace(name, value);
    return out;
}

void MetricTotals::take(int rank, const StepsFrame &frame, Scalars scalars) {
    keepKnown(scalars);
    Part *own = scalars.empty() ? nullptr : part(frame.epoch, rank);
    if (!own)
        return;
    // Steps are repeated after a restart: forget this epoch's part and all later ones.
    if (frame.count > 0 && frame.firstStep <= own->lastStep) {
        *own = {};
        for (auto later = m_epochs.upper_bound(frame.epoch); later != m_epochs.end(); ++later)
            later->second.erase(rank);
    }
    merge(own->windows, scalars);
    if (frame.count == 0 && own->whole) // measured after the epoch's own frame
        merge(*own->whole, scalars);
    own->lastStep = frame.lastStep;
}

void MetricTotals::take(int rank, const EpochFrame &frame) {
    Scalars scalars = scalarsOf(frame);
    keepKnown(scalars);
    Part *own = scalars.empty() ? nullptr : part(frame.epoch, rank);
    if (!own || own->whole)
        return;
    for (const auto &[name, window] : own->windows) // reported with the steps, but not with the epoch
        scalars.try_emplace(name, window);
    own->whole = std::move(scalars);
}

MetricValues MetricTotals::ofEpoch(int epoch) const {
    RankWindows windows;
    if (const auto found = m_epochs.find(epoch); found != m_epochs.end())
        for (const auto &[rank, part] : found->second)
            for (const auto &[name, window] : part.scalars())
                windows[name].push_back(window);
    return valuesOf(windows);
}

/// Of rates and maxima what all epochs add up to, of the others the last epoch that has them.
std::map<int, Scalars> MetricTotals::wholeRun() const {
    std::map<int, Scalars> whole;
    std::map<std::string, int, std::less<>> lastEpoch;
    for (const auto &[epoch, ranks] : m_epochs)
        for (const auto &[rank, part] : ranks)
            for (const auto &[name, window] : part.scalars())
                lastEpoch[name] = epoch;
    for (const auto &[epoch, ranks] : m_epochs)
        for (const auto &[rank, part] : ranks)
            for (const auto &[name, window] : part.scalars()) {
                const OverSteps over = m_specs.find(name)->second.overSteps;
                if (over == OverSteps::Rate || over == OverSteps::Max)
                    merge(whole[rank], {{name, window}});
                else if (epoch == lastEpoch[name])
                    whole[rank].emplace(name, window);
            }
    return whole;
}

std::map<int, double> MetricTotals::ofRanks(std::string_view name) const {
    std::map<int, double> out;
    for (const auto &[rank, scalars] : wholeRun())
        if (const auto found = scalars.find(name); found != scalars.end())
            if (const double value = overRanks(m_specs.find(name)->second, {&found->second, 1}).sum;
                isFiniteValue(value))
                out.emplace(rank, value);
    return out;
}

MetricValues MetricTotals::ofRun() const {
    RankWindows windows;
    for (const auto &[rank, scalars] : wholeRun())
        for (const auto &[name, window] : scalars)
            windows[name].push_back(window);
    return valuesOf(windows);
}

} // namespace lockstep

// SPDX-License-Identifier: MIT
#include "lab/device_time.h"

#include <algorithm>

namespace lockstep::core {
namespace {

constexpr double computeSpread = 0.05; ///< possible error of a short run's mean, measured at that batch
constexpr double unlike = 0.15;        ///< a copy that is slower than the mean by so much is no chance

const ComputeProbe *probeAt(const std::vector<ComputeProbe> &probes, int copies, std::int64_t batch, int accumulate) {
    for (const ComputeProbe &probe : probes)
        if (probe.copies == copies && probe.batch == batch && probe.accumulate == accumulate && probe.stepS > 0)
            return &probe;
    return nullptr;
}

/// The copies' step with equal times, and how far off it may be.
Interval bySpeed(const ComputeProbe &probe) {
    double speeds = 0;
    for (const double copyS : probe.copiesS)
        speeds += 1 / copyS;
    const double step = double(probe.copiesS.size()) / speeds;
    const double off = computeSpread + 1 / double(probe.batch); // shares are whole samples
    return {step, step / (1 + off), step * (1 + off)};
}

DeviceTime fromProbe(const ComputeProbe &probe, Shares shares) {
    const double apart = probe.slowestS / probe.stepS - 1, off = std::max(computeSpread, apart);
    const bool slowest = shares == Shares::Even || apart > unlike;
    Interval step{slowest ? std::max(probe.stepS, probe.slowestS) : probe.stepS, probe.stepS / (1 + off),
                  probe.stepS * (1 + off)};
    if (shares == Shares::BySpeed && !probe.copiesS.empty())
        step = bySpeed(probe);
    const double longer = step.value / probe.stepS;
    DeviceTime out{step, probe.forwardS * longer, probe.backwardS * longer, probe.optimizerS * longer, probe.strayS,
                   true, probe.buckets,           probe.accumulate};
    for (ReadyBucket &bucket : out.buckets)
        bucket.readyS *= longer;
    return out;
}

/// a + k·batch by least squares over the probes of one device that cut their batches alike; with one batch alone half-way between
/// its extremes.
std::optional<DeviceTime> modelled(const std::vector<ComputeProbe> &probes, std::int64_t batch, int accumulate) {
    double n = 0, x = 0, y = 0, xx = 0, xy = 0;
    DeviceTime parts; // shares of the step, summed up
    for (const ComputeProbe &probe : probes) {
        if (probe.copies != 1 || probe.accumulate != accumulate || !(probe.stepS > 0))
            continue;
        const auto b = double(probe.batch);
        n += 1, x += b, y += probe.stepS, xx += b * b, xy += b * probe.stepS;
        parts.forwardS += probe.forwardS / probe.stepS;
        parts.backwardS += probe.backwardS / probe.stepS;
        parts.optimizerS += probe.optimizerS / probe.stepS;
        parts.strayS = probe.strayS;
    }
    if (n == 0)
        return std::nullopt;
    DeviceTime out;
    out.strayS = parts.strayS;
    out.accumulate = accumulate;
    const double spread = n * xx - x * x, share = double(batch) * n / x;
    if (spread > 0) {
        const double slope = std::max(0.0, (n * xy - x * y) / spread), fixed = std::max(0.0, (y - slope * x) / n);
        const double step = fixed + slope * double(batch);
        out.stepS = {step, step / (1 + 2 * computeSpread), step * (1 + 2 * computeSpread)};
    } else {
        const double fixed = y / n, proportional = fixed * share;
        out.stepS = {(fixed + proportional) / 2, std::min(fixed, proportional), std::max(fixed, proportional)};
    }
    out.forwardS = out.stepS.value * parts.forwardS / n;
    out.backwardS = out.stepS.value * parts.backwardS / n;
    out.optimizerS = out.stepS.value * parts.optimizerS / n;
    return out;
}

} // namespace

Interval scaled(const Interval &interval, double factor) {
    return {interval.value * factor, interval.low * factor, interval.high * factor};
}

double DeviceTime::otherS() const {
    return std::max(0.0, stepS.value - forwardS - backwardS - optimizerS);
}

std::optional<DeviceTime> deviceTime(const std::vector<ComputeProbe> &probes, int devices, std::int64_t batch,
                                     int accumulate, Shares shares) {
    if (const ComputeProbe *probe = probeAt(probes, devices, batch, accumulate))
        return fromProbe(*probe, shares);
    if (const ComputeProbe *alone = probeAt(probes, 1, batch, accumulate)) {
        DeviceTime out = fromProbe(*alone, Shares::Alike);
        out.measured = devices == 1; // alone, nobody shares its memory
        out.stepS.high *= devices == 1 ? 1 : 1 + computeSpread;
        return out;
    }
    return modelled(probes, batch, accumulate);
}

} // namespace lockstep::core

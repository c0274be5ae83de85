// SPDX-License-Identifier: MIT
#pragma once
// What a device itself takes for a step, from short runs (probes): pure functions; seconds.
//
// Measured by a probe of that many devices side by side at that batch; else a + k·b through the probes of one device. Probes count
// that cut their batches into as many parts. With one batch alone only the two extremes are known (all fixed, all proportional), and
// the interval covers both.
// Even shares make all devices wait for the slowest. Shares that follow the devices' speed (RunConfig::shards) make them equally fast: of
// times t_i with even shares, N / Σ(1/t_i), whatever part of t_i is fixed.
#include <cstdint>
#include <optional>
#include <vector>

namespace lockstep::core {

/// A bucket of gradients as a device fills it.
struct ReadyBucket {
    double bytes = 0, readyS = 0; ///< since backward began
    bool operator==(const ReadyBucket &) const = default;
};

/// A short run of one device, or of several side by side that do not communicate.
struct ComputeProbe {
    int copies = 1;               ///< devices that computed at the same time
    std::int64_t batch = 0;       ///< samples a step of each
    double stepS = 0;             ///< mean over steps after the first epoch, and over the copies
    double backwardS = 0;         ///< the part of stepS in backward
    double slowestS = 0;          ///< the slowest copy's step
    std::optional<double> strayS; ///< standard deviation of single steps; absent: unknown
    /// DDP's buckets, where the device trained as a rank of its own; empty: unknown, and the forecast assumes that they fill evenly.
    std::vector<ReadyBucket> buckets = {};
    double forwardS = 0, optimizerS = 0; ///< other parts of stepS; 0: unknown, from an older version
    std::vector<double> copiesS = {};    ///< each copy's step; empty: unknown, from an older version
    int accumulate = 1;                  ///< parts into which each copy cut its batch (RunConfig::accumulate)
    bool operator==(const ComputeProbe &) const = default;
};

struct Interval {
    double value = 0, low = 0, high = 0;
    bool operator==(const Interval &) const = default;
};
[[nodiscard]] Interval scaled(const Interval &interval, double factor);

/// What a step of several devices takes.
struct StepTime {
    Interval stepS;
    /// Parts of it; of a pipeline: of the stage that computes longest, all messages, what they add, and that stage's other waiting.
    double computeS = 0, communicationS = 0, exposedS = 0, waitS = 0;
    bool ranksMeasured = true; ///< the lab had that many ranks
    bool bytesMeasured = true; ///< and messages of these sizes
    bool operator==(const StepTime &) const = default;
};

/// A device's step at a batch, side by side with others.
struct DeviceTime {
    Interval stepS;
    double forwardS = 0, backwardS = 0, optimizerS = 0; ///< parts of stepS.value
    std::optional<double> strayS;
    bool measured = false; ///< by a probe of that many devices at that batch
    std::vector<ReadyBucket> buckets = {};
    int accumulate = 1; ///< parts of the batch; gradients are exchanged during the last one's backward
    /// What is none of these parts: loading above all.
    [[nodiscard]] double otherS() const;
};

/// How a batch is shared out among the devices.
enum class Shares {
    Alike,  ///< evenly, among devices that are known to be alike: their mean counts, unless one is much slower
    Even,   ///< evenly, among devices that may differ: the slowest one sets the pace
    BySpeed ///< by the devices' speed
};

/// Absent: no probe of one device cuts its batch into as many parts. `batch`: samples a step of each device, on average;
/// it is cut into `accumulate` parts.
[[nodiscard]] std::optional<DeviceTime> deviceTime(const std::vector<ComputeProbe> &probes, int devices,
                                                   std::int64_t batch, int accumulate, Shares shares);

} // namespace lockstep::core

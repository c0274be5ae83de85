// SPDX-License-Identifier: MIT
#pragma once
// What DDP and a parameter server would take, before they run. Pure functions; seconds, bytes.
//
// A rank's step is the device's own computing time at the rank's batch, plus the communication that does not hide behind it:
//   step(N) = c(N, b) + exposed(N) + wait(N),   b = global batch / N (or the batch per device, which is constant)
// c: measured by a probe of that many devices side by side at that batch; else a + k·b through the probes of one device. With one
// batch alone only the two extremes are known (all fixed, all proportional), and the interval covers both.
// exposed: DDP's buckets become ready during backward, in reverse order of the parameters. When each is ready is measured by probes
// on nodes (they train as DDP of one rank), else assumed proportional to the bytes. Buckets are reduced one after another, each
// when it is ready and the previous one is done
// (Li et al., "PyTorch Distributed: Experiences on Accelerating Data Parallel Training", VLDB 13 (2020), section 3.2.3):
//   end_i = max(ready_i, end_{i-1}) + T(bytes_i),   exposed = end_last - backward.
// On CPU devices the backend's threads run on the rank's own cores. There, communication that overlaps with backward still costs
// its processor time, which the lab measures beside the duration. Between two ranks of one machine nearly all of T is processor
// time; over a slow network nearly none is. Where it is unknown, all of T counts; the interval then reaches down to the case in
// which all of it hides. A server's step hides nothing: gradients are sent when all are ready.
// An asynchronous server takes all gradients of a rank at once, after backward, on rank 0's cores: while a rank computes, it
// serves the N-1 others. Together they wait as long as for the lab's exchange through a server of N ranks; the interval reaches
// down to the exchange of two ranks, for a server that is free whenever a rank comes, and on CPU devices up to half of a device's
// computing more, for one that can't take the core from rank 0's training. Nobody waits for the slowest.
// wait: ranks wait for the slowest of N: sigma·E[max of N normal draws], sigma being the standard deviation of a device's step.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ipc/run_config.h"
#include "lab/cost_model.h"

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
    bool operator==(const ComputeProbe &) const = default;
};

struct ForecastInput {
    std::vector<ComputeProbe> probes; ///< at least one of a single device
    std::int64_t batch = 0;           ///< global, or of each device when `batchPerDevice`
    bool batchPerDevice = false;
    std::int64_t samples = 0;           ///< of an epoch
    std::vector<double> parameterBytes; ///< in the model's order
    double bucketMb = defaultBucketMb;  ///< DDP's cap, MiB; the first bucket holds at most 1 MiB
    double sentShare = 1;               ///< bytes that are sent ÷ bytes of the gradients (compress_gradients)
    bool ring = false;                  ///< DDP sums around a ring of our own, and not by the backend's all-reduce
    bool onCpu = true;                  ///< communication takes the ranks' own cores
    int devicesHere = 1;                ///< devices of that size with cores of their own
    bool overNodes = false;   ///< those devices are on several nodes, which may differ: the slowest sets the pace
    std::vector<int> devices; ///< numbers to forecast, 1 is always among them
    std::vector<Method> methods = {Method::Ddp,
                                   Method::PsSync}; ///< in any order; those that send no gradients are passed over
};

struct Interval {
    double value = 0, low = 0, high = 0;
    bool operator==(const Interval &) const = default;
};

struct ForecastRow {
    Method method = Method::Ddp; ///< one with traffic between ranks
    int devices = 1;
    std::string whyUnknown;                                           ///< why there are no figures; else empty
    Interval stepS, epochS, speedUp;                                  ///< speed-up against one device by epoch time
    double computeS = 0, communicationS = 0, exposedS = 0, waitS = 0; ///< of a step
    bool computeMeasured = false;                                     ///< by a probe of that many devices at that batch
    bool ranksMeasured = true;                                        ///< the lab had that many ranks
    bool operator==(const ForecastRow &) const = default;
};

struct Forecast {
    double oneDeviceStepS = 0, oneDeviceEpochS = 0;
    double gradientBytes = 0;
    std::vector<double> bucketsBytes; ///< as DDP reduces them
    std::vector<ForecastRow> rows;    ///< by method, then devices; without one device
    std::map<Method, int> best;       ///< devices with the shortest epoch; 1: more are not worth it. Absent: can't tell
    std::vector<std::string> reservations; ///< a sentence each
};

/// Bytes that a run of this configuration sends ÷ bytes of its gradients, for ForecastInput.
[[nodiscard]] double sentShareOf(const RunConfig &config);

/// An error where there is no probe of one device at the batch, or no size of the gradient.
[[nodiscard]] std::optional<Forecast> forecast(const ForecastInput &input, const CommunicationModel &communication);

/// "DDP: best on 2 devices.", "Server: best on one device, more are slower."
[[nodiscard]] std::string bestDevicesSentence(Method method, int devices);

/// DDP's buckets: parameters in reverse order; a bucket is closed when it reaches its cap. The first cap is 1 MiB.
[[nodiscard]] std::vector<double> bucketsOf(const std::vector<double> &parameterBytes, double capMb);
/// E[max] of that many independent standard normal draws.
[[nodiscard]] double expectedMost(int draws);

/// A forecast against the measured time.
struct ForecastGrade {
    double predictedS = 0, measuredS = 0; ///< of a step
    double error = 0;                     ///< predicted ÷ measured - 1
    bool within = false;                  ///< the measured one lies in the interval
    bool operator==(const ForecastGrade &) const = default;
};
/// Absent when the row has no figures or the measured time is not positive.
[[nodiscard]] std::optional<ForecastGrade> gradeForecast(const ForecastRow &row, double measuredStepS);

} // namespace lockstep::core

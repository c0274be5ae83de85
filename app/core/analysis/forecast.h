#pragma once
// What DDP and a parameter server would take, before they run. Pure functions; seconds, bytes.
//
// A rank's step is what a device computes alone at the rank's own batch, and the communication that does not hide:
//   step(N) = c(N, b) + exposed(N) + wait(N),   b = global batch / N (or the batch a device, which stays)
// c is measured where that many devices computed side by side at that batch (a probe), else a + k·b through the probes of one
// device; with one batch alone only its two extremes are known (all fixed, all proportional), and the interval says so.
// exposed: DDP's buckets become ready while backward goes on, in reverse order of the parameters, at a time that probes on nodes
// have measured (they train as DDP of one rank) and that is else taken proportional to their bytes; they are reduced one after another, each when it is ready and the one before is through
// (Li et al., "PyTorch Distributed: Experiences on Accelerating Data Parallel Training", VLDB 13 (2020), section 3.2.3):
//   end_i = max(ready_i, end_{i-1}) + T(bytes_i),   exposed = end_last - backward.
// On CPU devices the backend's threads work on the rank's own cores, so there what is hidden is paid for by as much of it as was
// work and no waiting: the lab has measured the processor time of an all-reduce beside its duration. Between two ranks of one
// machine nearly all of T is work; over a slow network nearly nothing is. Where it is unknown all counts as work; the interval
// reaches down to the hidden case. A server's step hides nothing:
// gradients go up when all are there. wait: ranks wait for the slowest of N: sigma·E[max of N normal draws], sigma being what
// a device's step strays by.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/cost_model.h"

namespace lockstep::core {

/// A bucket of gradients as a device fills it.
struct ReadyBucket {
    double bytes = 0, readyS = 0; ///< since backward began
    bool operator==(const ReadyBucket &) const = default;
};

/// A short run of one device by itself, or of several side by side that never talk.
struct ComputeProbe {
    int copies = 1;               ///< devices that computed at the same time
    std::int64_t batch = 0;       ///< samples a step of each
    double stepS = 0;             ///< mean over steps after the first epoch, and over the copies
    double backwardS = 0;         ///< of it, in backward
    double slowestS = 0;          ///< the slowest copy's step
    std::optional<double> strayS; ///< standard deviation of single steps; absent: unknown
    /// DDP's buckets, where the device trained as a rank of its own; empty: not seen, and the forecast takes them to fill evenly.
    std::vector<ReadyBucket> buckets = {};
    bool operator==(const ComputeProbe &) const = default;
};

struct ForecastInput {
    std::vector<ComputeProbe> probes; ///< at least one of a single device
    std::int64_t batch = 0;           ///< global, or of each device when `batchPerDevice`
    bool batchPerDevice = false;
    std::int64_t samples = 0;           ///< of an epoch
    std::vector<double> parameterBytes; ///< in the model's order
    double bucketMb = 25;               ///< DDP's cap, MiB; the first bucket holds at most 1 MiB
    bool onCpu = true;                  ///< communication takes the ranks' own cores
    int devicesHere = 1;                ///< devices of that size with cores of their own
    bool overNodes = false;   ///< those devices are of several nodes, which may be unlike: the slowest sets the pace
    std::vector<int> devices; ///< numbers to forecast, 1 is always among them
};

enum class ForecastMethod { Ddp, Server };
[[nodiscard]] std::string_view toString(ForecastMethod method); ///< "DDP", "server"

struct Interval {
    double value = 0, low = 0, high = 0;
    bool operator==(const Interval &) const = default;
};

struct ForecastRow {
    ForecastMethod method = ForecastMethod::Ddp;
    int devices = 1;
    std::string cannotTell;                                           ///< why there are no figures; else empty
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
    std::optional<int> bestDdp,
        bestServer; ///< devices with the shortest epoch; 1: more are not worth it. Absent: can't tell
    std::vector<std::string> reservations; ///< a sentence each
};

/// An error where there is no probe of one device at the batch, or no size of the gradient.
[[nodiscard]] std::optional<Forecast> forecast(const ForecastInput &input, const CommunicationModel &communication);

/// DDP's buckets: parameters in reverse, a bucket closed when it holds its cap or more; the first cap is 1 MiB.
[[nodiscard]] std::vector<double> bucketsOf(const std::vector<double> &parameterBytes, double capMb);
/// E[max] of so many independent standard normal draws.
[[nodiscard]] double expectedMost(int draws);

/// A forecast against what came out.
struct ForecastGrade {
    double predictedS = 0, measuredS = 0; ///< of a step
    double error = 0;                     ///< predicted ÷ measured - 1
    bool within = false;                  ///< the measured one lies in the interval
    bool operator==(const ForecastGrade &) const = default;
};
/// Absent when the row has no figures or the measured time is none.
[[nodiscard]] std::optional<ForecastGrade> gradeForecast(const ForecastRow &row, double measuredStepS);

} // namespace lockstep::core

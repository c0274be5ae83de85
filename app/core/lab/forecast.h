// SPDX-License-Identifier: MIT
#pragma once
// What a way to train would take, before it runs. Pure functions; seconds, bytes.
//
// A rank's step is the device's own computing time at the rank's batch, plus the communication that does not hide behind it:
//   step(N) = c(N, b) + exposed(N) + wait(N),   b = global batch / N (or the batch per device, which is constant)
// c: measured by a probe of that many devices side by side at that batch, else modelled (lab/device_time.h).
// c holds what it takes to hand gradients over: probes of several devices train as DDP of one rank each, a pipeline's stages apart.
// exposed: DDP's buckets become ready during backward, in reverse order of the parameters. When each is ready is measured by such
// probes that had buckets of that size, else assumed proportional to the bytes. Buckets are reduced one after another, each
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
// computing more, for one that can't take the core from rank 0's training. With a max_staleness of 0 all ranks update together, and wait
// as with ps-sync; with another limit the interval reaches up to that; without one nobody waits for the slowest. Of S servers each takes an
// S-th of the gradients, yet no rank is quicker than with a server for itself. Devices that only serve have their cores to
// themselves: the others train, and each server has all of these to serve.
// Buffers, such as BatchNorm's means, are broadcast before each forward pass, which hides behind nothing: the lab's broadcast of as many
// bytes is part of exposed, except for an asynchronous server, where each rank keeps its own.
// With accumulate, buckets become ready during the backward pass of a batch's last part.
// wait: ranks wait for the slowest of N: sigma·E[max of N normal draws], sigma being the standard deviation of a device's step.
// A pipeline's step is played, message by message (lab/pipeline_time.h).
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ipc/run_config.h"
#include "lab/cost_model.h"
#include "lab/device_time.h"
#include "lab/pipeline_time.h"

namespace lockstep::core {

/// A method, and its settings that differ from the config's: key and value, as in RunConfig.
struct ForecastWay {
    Method method = Method::Ddp;
    std::map<std::string, std::string> settings = {};
    auto operator<=>(const ForecastWay &) const = default;
};

inline constexpr int mostForecastDevices = 4096;

struct ForecastRun {
    ForecastWay way;
    int devices = 2;
    auto operator<=>(const ForecastRun &) const = default;
};
/// Every way on every number of devices from 2 on; ways that send nothing are passed over.
[[nodiscard]] std::set<ForecastRun> runsOf(const std::set<ForecastWay> &ways, const std::vector<int> &devices);

struct ForecastInput {
    RunConfig config;                   ///< what is forecast; method, devices and some settings vary by row
    std::vector<ComputeProbe> probes;   ///< at least one of a single device
    std::vector<double> parameterBytes; ///< in the model's order
    std::vector<double> bufferBytes;    ///< of each message in which ranks share the model's buffers
    std::vector<LayerCost> layers;      ///< in the model's order; empty: unknown
    std::int64_t samples = 0;           ///< of an epoch
    int devicesHere = 1;                ///< devices of that size with cores of their own
    std::set<ForecastRun> runs;         ///< to forecast, beside one device
};

struct ForecastRow : StepTime {
    ForecastWay way; ///< of a method with traffic between ranks
    int devices = 1;
    std::string whyUnknown;       ///< why there are no figures; else empty
    Interval epochS, speedUp;     ///< speed-up against one device by epoch time
    bool computeMeasured = false; ///< by a probe of that many devices at that batch
    bool operator==(const ForecastRow &) const = default;
};

struct Forecast {
    double oneDeviceStepS = 0, oneDeviceEpochS = 0;
    double gradientBytes = 0;
    std::vector<double> bucketsBytes;      ///< as the config's DDP reduces them
    std::vector<ForecastRow> rows;         ///< by way, then devices; without one device
    std::vector<std::string> reservations; ///< a sentence each
};

/// The configuration of a way's runs.
[[nodiscard]] RunConfig configOf(const RunConfig &config, const ForecastWay &way, int devices);
/// Whether the field is one of the method's own that change a step (micro-batches, servers and the like), but not what a single device
/// computes, nor the backend, which is the lab's.
[[nodiscard]] bool belongsToWay(const FieldSpec &field, Method method);
/// The run's method, and where such settings of its own differ from the config's.
[[nodiscard]] ForecastWay wayOf(const RunConfig &run, const RunConfig &config);
/// As its runs are named, with the settings of its own that are no defaults: "pipeline on 2 devices, 8 micro-batches".
[[nodiscard]] std::string nameOf(const RunConfig &config, const ForecastWay &way, int devices);

/// Devices that compute at the same time, and the samples that each of them takes at once: its share of a batch, or a micro-batch.
struct DeviceShare {
    int copies = 1;
    std::int64_t batch = 0;
    bool operator==(const DeviceShare &) const = default;
};
/// An error: why no run can be like this.
[[nodiscard]] Result<DeviceShare> shareOf(const RunConfig &run);

/// Absent where there is no probe of one device at the batch, or no size of the gradient.
[[nodiscard]] std::optional<Forecast> forecast(const ForecastInput &input, const CommunicationModel &communication);

/// Devices with which a way has the shortest epoch; 1: more are not worth it. Absent: can't tell, since another number's interval reaches
/// as far.
[[nodiscard]] std::optional<int> bestDevices(const Forecast &forecast, const ForecastWay &way);
/// "DDP: best on 2 devices.", "Server: best on one device, more are slower.", "DDP: can't tell …": of each way that has figures.
[[nodiscard]] std::vector<std::string> bestDevicesSentences(const RunConfig &config, const Forecast &forecast);

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

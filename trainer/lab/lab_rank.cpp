// SPDX-License-Identifier: MIT
#include "trainer/lab/lab_rank.h"

#include <time.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <limits>
#include <memory>
#include <numeric>

#include <ATen/Parallel.h>
#include <c10/core/DeviceGuard.h>
#include <nlohmann/json.hpp>
#include <torch/cuda.h>

#include "ipc/clock.h"
#include "ipc/median.h"
#include "trainer/comm/backend_choice.h"
#include "trainer/comm/communicator.h"
#include "trainer/comm/store.h"
#include "trainer/engine/process_facts.h"
#include "trainer/lab/collectives.h"
#include "trainer/lab/sweep_spread.h"
#include "trainer/report/phase_clock.h"

namespace lockstep::trainer {

namespace {

using namespace std::chrono_literals;
using Json = nlohmann::ordered_json;
constexpr auto labRendezvousLimit = 300s;
constexpr int leastRepeats = 3, mostRepeats = 400, mostParts = 12;
constexpr double workS = 1e-3; ///< a rough estimate; it decides the number of repetitions, not their length

/// One operation at one size, with its measurements.
struct Measurement {
    std::string collective;
    std::int64_t bytes = 0;
    bool heldOut = false;
    int repeats = 1;
    std::vector<double> seconds;  ///< medians of the sweeps' blocks
    std::vector<double> parts;    ///< seconds of one operation, of all parts of all blocks
    std::vector<double> cpu = {}; ///< CPU seconds of one operation, by sweep, on the rank that uses most
    double trialS = 0;            ///< seconds of the first trial; 0: it was not tried
};

/// In seconds. From this duration on, neither caches nor single wake-ups matter, and each repetition is expensive.
constexpr double longS = 0.02;
constexpr int leastSweeps = 3;
/// Stop when all but a share of `mostUnsettled` of the medians are known within ±`settledTo`. Otherwise go on, to at
/// most `mostSweepsFactor` times the sweeps.
constexpr double settledTo = 0.05, mostUnsettled = 0.1;
constexpr int mostSweepsFactor = 2;

struct Timed {
    std::vector<double> parts; ///< seconds of one operation
    double cpuS = 0;           ///< CPU seconds of one operation
};

std::int64_t processNs() {
    timespec now{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return std::int64_t(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

class LabRank {
public:
    LabRank(const LabOptions &options, const RankEnvironment &env, const Placement &placement)
        : m_options(options), m_env(env), m_placement(placement), m_device(placement.devices.front().device) {}

    Result<void> run();

private:
    Result<void> meet();
    Result<void> openOut();
    void prepare();
    Result<bool> verifyAll();
    bool tooLong(const Measurement &measurement, const Measurement *smaller);
    void chooseRepeats();
    void sweep(int number);
    [[nodiscard]] Exchange exchangeOf(const Measurement &measurement) const;
    Timed block(Exchange &exchange, int repeats);
    bool limitReached(int sweepsMade, std::int64_t begunNs);
    bool enough(int sweepsMade);
    void write(const Json &row);
    void progress(std::size_t done, std::size_t of, const std::string &what);
    void writeHead();
    void writeRows();

    const LabOptions &m_options;
    const RankEnvironment &m_env;
    const Placement &m_placement;
    c10::Device m_device;
    std::unique_ptr<Communicator> m_communicator;
    std::string m_backend;
    int m_partner = 1; ///< rank 0's, in point to point
    std::unique_ptr<LabBuffers> m_buffers;
    std::vector<Measurement> m_measurements;
    std::vector<std::pair<std::string, std::string>> m_notOffered;
    std::vector<Json> m_leftOut;
    std::ofstream m_file;
};

Result<void> LabRank::meet() {
    auto store = openStore(m_env, labRendezvousLimit);
    if (!store)
        return fail(store.error());
    m_communicator = std::make_unique<Communicator>(m_env, *store);
    std::vector<int> localRanks;
    for (const std::string &localRank : m_communicator->exchange("lab-local-ranks", std::to_string(m_env.localRank)))
        localRanks.push_back(std::stoi(localRank));
    m_partner = partnerOfRank0(localRanks);
    const auto backend = chooseBackend(*m_communicator, m_options.config.backend, m_device, m_placement.names.front());
    if (!backend)
        return fail(backend.error());
    m_backend = *backend;
    m_communicator->connect(m_backend, m_device, glooPlaceOf(m_env, m_options.config.interface));
    return {};
}

Result<void> LabRank::openOut() {
    if (m_env.rank != 0 || m_options.out == "-")
        return {};
    m_file.open(m_options.out, std::ios::app);
    if (m_file)
        return {};
    return fail(Error::badArgument(m_options.out + " can't be written", "name a file in a folder of yours", "--out"));
}

void LabRank::write(const Json &row) {
    if (m_env.rank == 0)
        (m_options.out == "-" ? std::cout : m_file) << row.dump() << std::endl;
}

void LabRank::progress(std::size_t done, std::size_t of, const std::string &what) {
    if (m_env.rank == 0 && (m_options.progress || m_options.out != "-"))
        std::cout << Json{{"type", "progress"}, {"done", done}, {"of", of}, {"what", what}}.dump() << std::endl;
}

Exchange LabRank::exchangeOf(const Measurement &measurement) const {
    return {measurement.collective, m_communicator->group(), *m_buffers, measurement.bytes, m_partner};
}

/// Times the parts of a block: for each, the time of one repetition on the slowest rank. A busy machine stalls for some
/// milliseconds now and then; that spoils one part, not the whole block.
Timed LabRank::block(Exchange &exchange, int repeats) {
    const bool onGpu = m_device.is_cuda();
    const int parts = onGpu ? 1
                      : exchange.comesAfterWork()
                          ? repeats
                          : std::min(repeats, mostParts); // calls can be timed one by one on the host only
    std::vector<double> own;
    std::int64_t cpu = 0;
    m_communicator->barrier();
    const std::int64_t cpuBegun = processNs();
    for (int part = 0, done = 0; part < parts; ++part) {
        const int until = repeats * (part + 1) / parts, count = until - done;
        std::int64_t spent = 0, begun = monotonicNs();
        for (; done < until; ++done) {
            std::int64_t cpuBefore = 0;
            if (exchange.comesAfterWork()) {
                exchange.work();
                cpuBefore = processNs();
                begun = monotonicNs();
            }
            exchange.run();
            if (exchange.comesAfterWork()) {
                spent += monotonicNs() - begun;
                cpu += processNs() - cpuBefore;
            }
        }
        if (onGpu)
            torch::cuda::synchronize(m_device.index());
        if (!exchange.comesAfterWork())
            spent = monotonicNs() - begun;
        own.push_back(static_cast<double>(spent) / 1e9 / count / exchange.operationsPerRun());
    }
    if (exchange.comesAfterWork() && !exchange.takesPart())
        std::ranges::fill(own, std::numeric_limits<double>::max()); // the shortest counts, and this rank did nothing
    if (!exchange.comesAfterWork())
        cpu = processNs() - cpuBegun;
    own.push_back(static_cast<double>(cpu) / 1e9 / repeats / exchange.operationsPerRun());
    std::vector<double> times = own;
    for (const auto &rank : m_communicator->gather(own)) {
        for (std::size_t part = 0; part + 1 < times.size(); ++part)
            times[part] = exchange.comesAfterWork()
                              ? std::min(times[part], rank[part]) // the rank that arrived last did not wait for others
                              : std::max(times[part], rank[part]);
        times.back() = std::max(times.back(), rank.back());
    }
    const double cpuS = times.back();
    times.pop_back();
    return {std::move(times), cpuS};
}

/// Whether this size would take too long, estimated from the next smaller one: beyond some size, time is proportional
/// to bytes. A short time says nothing, because a wake-up or a stall may be most of it.
bool LabRank::tooLong(const Measurement &measurement, const Measurement *smaller) {
    if (m_options.mostS <= 0 || !smaller || smaller->collective != measurement.collective ||
        smaller->trialS < m_options.mostS / 4)
        return false;
    const double expected =
        smaller->trialS * static_cast<double>(measurement.bytes) / static_cast<double>(smaller->bytes);
    if (expected <= m_options.mostS)
        return false;
    m_leftOut.push_back({{"type", "left_out"},
                         {"collective", measurement.collective},
                         {"ranks", m_env.worldSize},
                         {"from_bytes", measurement.bytes},
                         {"estimate_s", expected}});
    return true;
}

/// True if the result was right on all ranks; otherwise every rank learns which one was wrong. Removes sizes that take
/// too long: all ranks see the same times, so they remove the same sizes.
Result<bool> LabRank::verifyAll() {
    std::vector<Measurement> kept;
    std::string done; ///< the collective whose larger sizes are skipped
    for (Measurement &measurement : m_measurements) {
        if (measurement.collective == done)
            continue;
        if (tooLong(measurement, kept.empty() ? nullptr : &kept.back())) {
            done = measurement.collective;
            continue;
        }
        Exchange exchange = exchangeOf(measurement);
        const auto right = exchange.verify();
        const double wrong = m_communicator->sum({right ? 0.0 : 1.0}).front();
        if (!right)
            return fail(right.error());
        if (wrong > 0)
            return false;
        exchange.clear();
        if (m_options.mostS > 0)
            measurement.trialS = block(exchange, 1).parts.front();
        kept.push_back(measurement);
        if (kept.size() % 10 == 0)
            progress(0, 1, measurement.collective);
    }
    m_measurements = std::move(kept);
    for (const Json &row : m_leftOut)
        write(row);
    return true;
}

/// Warms up connections, caches and the allocator, then chooses how many repetitions fill a block.
void LabRank::chooseRepeats() {
    for (Measurement &measurement : m_measurements) {
        if (measurement.trialS > longS)
            continue; // one repetition per sweep
        Exchange exchange = exchangeOf(measurement);
        exchange.clear();
        (void)block(exchange, 2);
        double once = std::max(1e-7, *median(block(exchange, 3).parts) * exchange.operationsPerRun());
        if (exchange.comesAfterWork())
            once += workS;
        measurement.repeats =
            static_cast<int>(std::clamp(m_options.blockS / once, double(leastRepeats), double(mostRepeats)));
    }
}

void LabRank::sweep(int number) {
    std::size_t done = static_cast<std::size_t>(number) * m_measurements.size();
    for (Measurement &measurement : m_measurements) {
        Exchange exchange = exchangeOf(measurement);
        if (measurement.trialS <= longS)
            (void)block(exchange, 1); // loads this size into the caches
        const auto [parts, cpuS] = block(exchange, measurement.repeats);
        measurement.seconds.push_back(*median(parts));
        measurement.cpu.push_back(cpuS);
        measurement.parts.insert(measurement.parts.end(), parts.begin(), parts.end());
        if (++done % 20 == 0)
            progress(done, m_measurements.size() * static_cast<std::size_t>(std::max(m_options.sweeps, number + 1)),
                     measurement.collective);
    }
}

/// Rank 0's clock decides for all ranks.
bool LabRank::limitReached(int sweepsMade, std::int64_t begunNs) {
    if (m_options.limitS <= 0 || sweepsMade < leastSweeps)
        return false;
    return m_communicator->gather({static_cast<double>(monotonicNs() - begunNs) / 1e9}).front().front() >
           m_options.limitS;
}

/// Whether the requested sweeps were made and their medians are certain enough. Rank 0's figures decide for all ranks.
/// Yes also with too few sweeps for an interval.
bool LabRank::enough(int sweepsMade) {
    if (sweepsMade < m_options.sweeps || m_measurements.empty())
        return m_measurements.empty();
    if (sweepsMade >= mostSweepsFactor * m_options.sweeps)
        return true;
    const auto unsettled =
        std::count_if(m_measurements.begin(), m_measurements.end(), [](const Measurement &measurement) {
            return medianUncertainty(measurement.seconds).value_or(0) > settledTo;
        });
    const double share = static_cast<double>(unsettled) / static_cast<double>(m_measurements.size());
    return m_communicator->gather({share}).front().front() <= mostUnsettled;
}

void LabRank::prepare() {
    for (const std::string &name : m_options.collectives) {
        if (const auto why = whyNotOffered(name, m_backend, m_communicator->someOnGpu())) {
            m_notOffered.emplace_back(name, *why);
            continue;
        }
        std::vector<std::pair<std::int64_t, bool>> sizes;
        for (const auto bytes : m_options.sizes)
            sizes.emplace_back(bytes, false);
        for (const auto bytes : m_options.heldOut)
            sizes.emplace_back(bytes, true);
        std::sort(sizes.begin(), sizes.end());
        for (const auto &[bytes, heldOut] : sizes)
            m_measurements.push_back({name, bytes, heldOut, 1, {}, {}});
    }
    std::int64_t largest = 4;
    for (const Measurement &measurement : m_measurements)
        largest = std::max(largest, measurement.bytes);
    m_buffers = std::make_unique<LabBuffers>(largest, m_env.worldSize, m_device);
}

void LabRank::writeHead() {
    const auto devices = m_communicator->exchange("lab-devices", m_placement.names.front());
    const auto hosts = m_communicator->exchange("lab-hosts", hostName());
    write({{"type", "lab"},
           {"backend", m_backend},
           {"device", m_options.config.device},
           {"ranks", m_env.worldSize},
           {"devices", devices},
           {"hosts", hosts},
           {"sweeps", m_options.sweeps},
           {"scheduling", schedulingPolicy()},
           {"threads", m_placement.threads},
           {"cores_per_device", m_options.config.coresPerDevice},
           {"oversubscribed", m_options.config.oversubscribe}});
    for (const auto &[name, reason] : m_notOffered)
        write({{"type", "not_offered"}, {"collective", name}, {"ranks", m_env.worldSize}, {"reason", reason}});
}

void LabRank::writeRows() {
    for (const Measurement &measurement : m_measurements) {
        const double seconds = *median(measurement.seconds);
        const Exchange exchange = exchangeOf(measurement);
        const double algbw = static_cast<double>(exchange.bytes()) / seconds;
        Json row = {{"type", "row"},
                    {"collective", measurement.collective},
                    {"ranks", m_env.worldSize},
                    {"bytes", exchange.bytes()},
                    {"held_out", measurement.heldOut},
                    {"sweeps", measurement.seconds.size()},
                    {"repeats", measurement.repeats},
                    {"median_s", seconds},
                    {"mean_s", std::accumulate(measurement.parts.begin(), measurement.parts.end(), 0.0) /
                                   double(measurement.parts.size())},
                    {"min_s", quantile(measurement.parts, 0)},
                    {"p90_s", quantile(measurement.parts, 0.9)},
                    {"cpu_s", *median(measurement.cpu)},
                    {"algbw_bytes_s", algbw},
                    {"busbw_bytes_s", algbw * busFactor(measurement.collective, m_env.worldSize)}};
        if (isPointToPoint(measurement.collective))
            row["partner"] = m_partner;
        write(row);
    }
}

Result<void> LabRank::run() {
    if (auto opened = openOut(); !opened)
        return opened;
    if (auto met = meet(); !met)
        return met;
    prepare();
    writeHead();
    const std::int64_t begunNs = monotonicNs();
    const auto right = verifyAll();
    if (!right)
        return fail(right.error());
    if (!*right)
        return fail(Error::failed("another rank got wrong numbers", "see its output"));
    chooseRepeats();
    for (int number = 0; !enough(number) && !limitReached(number, begunNs); ++number)
        sweep(number);
    writeRows();
    m_communicator->leave(); // rank 0 leaves last, since it serves the store
    return {};
}

} // namespace

Result<void> runLabRank(const LabOptions &options, const RankEnvironment &env, const Placement &placement) {
    at::set_num_threads(placement.threads);
    const c10::Device device = placement.devices.front().device;
    const c10::OptionalDeviceGuard onDevice(device.is_cuda() ? std::optional(device) : std::nullopt);
    return LabRank(options, env, placement).run();
}

} // namespace lockstep::trainer

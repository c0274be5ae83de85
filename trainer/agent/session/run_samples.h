// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "ipc/clock.h"
#include "ipc/cores.h"
#include "ipc/run_folder.h"
#include "trainer/agent/devices/device_sampler.h"
#include "trainer/agent/devices/earlier_processes.h"
#include "trainer/agent/devices/energy_meter.h"
#include "trainer/agent/devices/surroundings_meter.h"
#include "trainer/agent/log/run_journal.h"
#include "trainer/agent/log/run_socket.h"
#include "trainer/agent/log/watching_meter.h"

namespace lockstep::agent {

/// Writes samples of devices, ranks and viewers into the log. Sums up over the run what watching it cost, and how much
/// other programs loaded this machine.
class RunSamples {
public:
    using Ranks = std::function<std::vector<Sampler::Watched>()>;
    /// `earlier`: whose work is not the run's.
    RunSamples(const Clock &clock, RunJournal &journal, const RunSocket &socket, std::vector<DevicePlan> devices,
               std::unique_ptr<Nvml> nvml, Ranks livingRanks, EarlierProcesses &earlier);

    void take(); ///< call every 200 ms
    /// Use of every device between two times (CLOCK_MONOTONIC, ns), sampled until now.
    [[nodiscard]] std::vector<DeviceEpochUse> deviceUse(std::int64_t fromNs, std::int64_t toNs);
    /// The run begins only now: what was used until now counts for nothing.
    void startOver();
    /// The run's ranks stand still from now on, or go on: what others do meanwhile is left out.
    void pause();
    void goOn();
    /// The last rank has ended: the run's energy is what was used until now.
    void finish();
    void addTo(RunResult &result) const;

private:
    struct Pause {
        std::int64_t beganNs;
        CoreTimesByCore cores;
    };
    /// What is summed up over the run.
    struct Meters {
        explicit Meters(EarlierProcesses &earlier) : surroundings(allowedCores(), earlier) {}
        WatchingMeter watching;
        SurroundingsMeter surroundings;
        EnergyMeter energy;
    };
    const Clock &m_clock;
    RunJournal &m_journal;
    const RunSocket &m_socket;
    Sampler m_sampler;
    Ranks m_livingRanks;
    EarlierProcesses &m_earlier;
    std::optional<Meters> m_meters; ///< always there
    std::optional<Pause> m_pause;
    bool m_pausedBefore = false; ///< the machine's energy is others', too
    bool m_finished = false;
};

} // namespace lockstep::agent

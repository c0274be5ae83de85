// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trainer/agent/devices/nvml.h"
#include "trainer/agent/devices/proc_files.h"

namespace lockstep::agent {

/// One network interface as the kernel has it; unknown is absent.
struct InterfaceFacts {
    std::string name, state;             ///< state: "up", "down", "unknown" as /sys tells
    std::vector<std::string> addresses;  ///< numeric, IPv4 before IPv6, link-local IPv6 left out
    std::optional<int> mtu, speedMbit;   ///< speed: of wired links that are up
    bool loopback = false, real = false; ///< real: a device stands behind it, not a bridge, tunnel or pair
};
[[nodiscard]] std::vector<InterfaceFacts> interfaceFacts();

/// What lockstep-trainer says of itself; `problem` when it said nothing.
struct TrainerFacts {
    std::string version, torch, torchFolder, nccl, problem;
};
/// Asks it, which takes as long as LibTorch takes to load (0.3 s, at most 20 s), while the asker goes on.
class TrainerQuestion {
public:
    TrainerQuestion(); ///< asks
    ~TrainerQuestion();
    TrainerQuestion(const TrainerQuestion &) = delete;
    TrainerQuestion &operator=(const TrainerQuestion &) = delete;
    [[nodiscard]] TrainerFacts answer(); ///< waits for it; called once

private:
    std::string m_trainer, m_problem;
    std::FILE *m_pipe = nullptr;
};

/// Says how this node stands, as one line of JSON a call. What does not change while it lives is asked once.
class NodeFacts {
public:
    explicit NodeFacts(int coresPerDevice);
    [[nodiscard]] std::string line();

private:
    int m_coresPerDevice;
    std::unique_ptr<Nvml> m_nvml;
    std::optional<TrainerFacts> m_trainer;
    CoreTimesByCore m_times; ///< of the call before
};

/// This machine's clock, microseconds since 1970. LOCKSTEP_TEST_CLOCK_OFFSET_S moves it, for tests of who compares clocks.
[[nodiscard]] std::int64_t nodeClockUs();

} // namespace lockstep::agent

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

/// One network interface as the kernel describes it; unknown values are absent.
struct InterfaceFacts {
    std::string name, state;             ///< state: "up", "down" or "unknown", as in /sys
    std::vector<std::string> addresses;  ///< numeric, IPv4 before IPv6, without link-local IPv6
    std::optional<int> mtu, speedMbit;   ///< speed: only for wired links that are up
    bool loopback = false, real = false; ///< real: a hardware device, not a bridge, tunnel or veth pair
};
[[nodiscard]] std::vector<InterfaceFacts> interfaceFacts();

/// What `lockstep-trainer --facts` reports. `problem` says why it reported nothing.
struct TrainerFacts {
    std::string version, torch, torchFolder, nccl, problem;
};
/// Runs `lockstep-trainer --facts` in the background. It takes as long as LibTorch takes to load: usually 0.3 s, at
/// most 20 s.
class TrainerQuestion {
public:
    TrainerQuestion(); ///< starts the trainer
    ~TrainerQuestion();
    TrainerQuestion(const TrainerQuestion &) = delete;
    TrainerQuestion &operator=(const TrainerQuestion &) = delete;
    [[nodiscard]] TrainerFacts answer(); ///< waits for the answer; call once

private:
    std::string m_trainer, m_problem;
    std::FILE *m_pipe = nullptr;
};

/// Describes this node as one line of JSON per call. Facts that do not change are gathered once.
class NodeFacts {
public:
    explicit NodeFacts(int coresPerDevice);
    [[nodiscard]] std::string line();

private:
    int m_coresPerDevice;
    std::unique_ptr<Nvml> m_nvml;
    std::optional<TrainerFacts> m_trainer;
    CoreTimesByCore m_times; ///< of the previous call
};

/// This machine's wall clock, in µs since 1970. LOCKSTEP_TEST_CLOCK_OFFSET_S shifts it, to test the comparison of
/// clocks.
[[nodiscard]] std::int64_t nodeClockUs();

} // namespace lockstep::agent

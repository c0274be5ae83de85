// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ipc/frames.h"

namespace lockstep::agent {

/// NVIDIA's management library. It is loaded at run time, because a machine without a GPU lacks it; our own
/// declarations replace nvml.h. A call takes milliseconds, and on a broken GPU seconds: call it on a thread of its own.
class Nvml {
public:
    struct Gpu {
        unsigned index = 0; ///< NVML's index, in PCI order
        std::string uuid, name;
        std::optional<double> memoryTotalBytes;
        bool mig = false; ///< a MIG slice of a GPU, for which NVML reports no utilisation
    };

    /// Null when there is no library or no driver.
    static std::unique_ptr<Nvml> load();
    ~Nvml();
    Nvml(const Nvml &) = delete;
    Nvml &operator=(const Nvml &) = delete;

    /// GPUs and MIG slices that this process may open and CUDA_VISIBLE_DEVICES leaves, in PCI order as CUDA counts
    /// them.
    [[nodiscard]] const std::vector<Gpu> &gpus() const;
    [[nodiscard]] std::string driverVersion() const;

    /// What can be measured of one GPU now. Figures that NVML does not report are absent. Thread safe per GPU.
    [[nodiscard]] DeviceSample sample(std::size_t gpu);
    /// Whether NVML says that the GPU is lost: it has fallen off the bus, or the driver has given it up.
    [[nodiscard]] bool isLost(std::size_t gpu) const;

    struct Process {
        int pid = 0;
        std::optional<double> memoryBytes; ///< absent if the driver does not report it
    };
    /// How a GPU is connected to its host. Values that NVML does not report are absent.
    struct Link {
        std::optional<int> pcieWidth, pcieWidthMax, pcieGeneration, pcieGenerationMax;
    };
    [[nodiscard]] Link link(std::size_t gpu) const;
    /// "7.5" for a Turing card; empty if NVML does not report it.
    [[nodiscard]] std::string computeCapability(std::size_t gpu) const;
    /// Whether two GPUs can read each other's memory directly; absent if NVML does not report it.
    [[nodiscard]] std::optional<bool> peerToPeer(std::size_t gpu, std::size_t other) const;
    /// Programs that compute on the GPU now. Takes milliseconds.
    [[nodiscard]] std::vector<Process> processes(std::size_t gpu);

private:
    Nvml();
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

/// The GPUs of `all` that CUDA_VISIBLE_DEVICES leaves, in its order; null means all. As in CUDA, the list ends at the
/// first entry that names no GPU.
[[nodiscard]] std::vector<Nvml::Gpu> visibleGpus(const std::vector<Nvml::Gpu> &all, const char *cudaVisibleDevices);

/// Readable names for NVML's bits of clock throttle reasons. Idle clocks are not throttling.
[[nodiscard]] std::vector<std::string> throttleWords(unsigned long long bits);

} // namespace lockstep::agent

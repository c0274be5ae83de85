// SPDX-License-Identifier: MIT
#include "trainer/agent/devices/nvml.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <sstream>
#include <string_view>

#include "ipc/unix_socket.h"

namespace lockstep::agent {

// The part of nvml.h that is used here. NVML's functions carry their version in their names, so the ABI is stable.
// These types are not in an anonymous namespace: GCC 13 crashes in unity builds on function pointers that name such
// types.
namespace nvml_abi {
using Return = int; ///< 0 is success
using Handle = void *;
struct Utilization {
    unsigned gpu, memory;
};
struct Memory {
    unsigned long long total, free, used;
};
struct ProcessInfo {
    unsigned pid;
    unsigned long long memory;
    unsigned gpuInstance, computeInstance;
};
struct GpmSupport {
    unsigned version, isSupported;
};
struct GpmMetric {
    unsigned id;
    Return result;
    double value;
    struct {
        char *shortName, *longName, *unit;
    } info;
};
struct GpmMetricsGet {
    unsigned version, count;
    Handle sample1, sample2;
    GpmMetric metrics[512]; ///< nvml.h has fewer; NVML reads only `count` of them
};
} // namespace nvml_abi

using namespace nvml_abi;

namespace {
constexpr int clockSm = 1, temperatureGpu = 0;
constexpr unsigned gpmSmUtil = 2;
constexpr unsigned textLength = 96;
constexpr Return gpuIsLost = 15; ///< NVML_ERROR_GPU_IS_LOST
} // namespace

struct Nvml::Impl {
    void *library = nullptr;
    Return (*shutdown)() = nullptr;
    Return (*deviceCount)(unsigned *) = nullptr;
    Return (*handleByIndex)(unsigned, Handle *) = nullptr;
    Return (*uuid)(Handle, char *, unsigned) = nullptr;
    Return (*name)(Handle, char *, unsigned) = nullptr;
    Return (*minorNumber)(Handle, unsigned *) = nullptr;
    Return (*driver)(char *, unsigned) = nullptr;
    Return (*utilization)(Handle, Utilization *) = nullptr;
    Return (*memory)(Handle, Memory *) = nullptr;
    Return (*power)(Handle, unsigned *) = nullptr;
    Return (*energy)(Handle, unsigned long long *) = nullptr;
    Return (*clock)(Handle, int, unsigned *) = nullptr;
    Return (*temperature)(Handle, int, unsigned *) = nullptr;
    Return (*throttle)(Handle, unsigned long long *) = nullptr;
    Return (*running)(Handle, unsigned *, ProcessInfo *) = nullptr;
    Return (*pcieWidth)(Handle, unsigned *) = nullptr;
    Return (*pcieWidthMax)(Handle, unsigned *) = nullptr;
    Return (*pcieGeneration)(Handle, unsigned *) = nullptr;
    Return (*pcieGenerationMax)(Handle, unsigned *) = nullptr;
    Return (*peerStatus)(Handle, Handle, int, int *) = nullptr;
    Return (*capability)(Handle, int *, int *) = nullptr;
    Return (*migMode)(Handle, unsigned *, unsigned *) = nullptr;
    Return (*migCount)(Handle, unsigned *) = nullptr;
    Return (*migByIndex)(Handle, unsigned, Handle *) = nullptr;
    Return (*gpmSupport)(Handle, GpmSupport *) = nullptr;
    Return (*gpmAlloc)(Handle *) = nullptr;
    Return (*gpmFree)(Handle) = nullptr;
    Return (*gpmSample)(Handle, Handle) = nullptr;
    Return (*gpmMetrics)(GpmMetricsGet *) = nullptr;

    struct Device {
        Handle handle = nullptr;
        bool gpm = false;
        Handle previous = nullptr, current = nullptr; ///< samples of GPM (GPU performance monitoring)
        bool hasPrevious = false;
    };
    std::vector<Gpu> gpus;
    std::vector<Device> devices;
    GpmMetricsGet metricsGet{};

    template <class F> bool find(F &function, const char *symbol) {
        function = reinterpret_cast<F>(::dlsym(library, symbol));
        return function != nullptr;
    }
    bool findAll();
    void listGpus();
    void addDevice(Handle handle, unsigned index, bool mig);
    std::optional<double> smActivity(Device &device);
};

namespace {
/// Whether the device files allow this process to use a GPU. A cgroup hides a GPU from CUDA, but not from NVML.
bool mayOpen(unsigned minor) {
    const std::string path = "/dev/nvidia" + std::to_string(minor);
    if (::access(path.c_str(), F_OK) != 0)
        return true; // e.g. WSL has no such files
    const Fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
    return fd.valid();
}
} // namespace

bool Nvml::Impl::findAll() {
    find(minorNumber, "nvmlDeviceGetMinorNumber");
    find(driver, "nvmlSystemGetDriverVersion");
    find(utilization, "nvmlDeviceGetUtilizationRates");
    find(memory, "nvmlDeviceGetMemoryInfo");
    find(power, "nvmlDeviceGetPowerUsage");
    find(energy, "nvmlDeviceGetTotalEnergyConsumption");
    find(clock, "nvmlDeviceGetClockInfo");
    find(temperature, "nvmlDeviceGetTemperature");
    if (!find(throttle, "nvmlDeviceGetCurrentClocksEventReasons"))
        find(throttle, "nvmlDeviceGetCurrentClocksThrottleReasons");
    find(running, "nvmlDeviceGetComputeRunningProcesses_v3");
    find(pcieWidth, "nvmlDeviceGetCurrPcieLinkWidth");
    find(pcieWidthMax, "nvmlDeviceGetMaxPcieLinkWidth");
    find(pcieGeneration, "nvmlDeviceGetCurrPcieLinkGeneration");
    find(pcieGenerationMax, "nvmlDeviceGetMaxPcieLinkGeneration");
    find(peerStatus, "nvmlDeviceGetP2PStatus");
    find(capability, "nvmlDeviceGetCudaComputeCapability");
    find(migMode, "nvmlDeviceGetMigMode");
    find(migCount, "nvmlDeviceGetMaxMigDeviceCount");
    find(migByIndex, "nvmlDeviceGetMigDeviceHandleByIndex");
    if (!(find(gpmSupport, "nvmlGpmQueryDeviceSupport") && find(gpmAlloc, "nvmlGpmSampleAlloc") &&
          find(gpmFree, "nvmlGpmSampleFree") && find(gpmSample, "nvmlGpmSampleGet") &&
          find(gpmMetrics, "nvmlGpmMetricsGet")))
        gpmSupport = nullptr;
    return find(shutdown, "nvmlShutdown") && find(deviceCount, "nvmlDeviceGetCount_v2") &&
           find(handleByIndex, "nvmlDeviceGetHandleByIndex_v2") && find(uuid, "nvmlDeviceGetUUID") &&
           find(name, "nvmlDeviceGetName");
}

void Nvml::Impl::addDevice(Handle handle, unsigned index, bool mig) {
    char text[textLength] = {};
    Gpu gpu;
    gpu.index = index;
    gpu.mig = mig;
    if (uuid(handle, text, textLength) != 0)
        return;
    gpu.uuid = text;
    if (name(handle, text, textLength) == 0)
        gpu.name = text;
    Memory bytes{};
    if (memory && memory(handle, &bytes) == 0)
        gpu.memoryTotalBytes = static_cast<double>(bytes.total);
    Device device;
    device.handle = handle;
    GpmSupport support{1, 0};
    if (!mig && gpmSupport && gpmSupport(handle, &support) == 0 && support.isSupported != 0)
        device.gpm = gpmAlloc(&device.previous) == 0 && gpmAlloc(&device.current) == 0;
    gpus.push_back(std::move(gpu));
    devices.push_back(device);
}

void Nvml::Impl::listGpus() {
    unsigned count = 0;
    deviceCount(&count);
    for (unsigned i = 0; i < count; ++i) {
        Handle handle = nullptr;
        unsigned minor = 0, mig = 0, pending = 0, slices = 0;
        if (handleByIndex(i, &handle) != 0)
            continue;
        if (minorNumber && minorNumber(handle, &minor) == 0 && !mayOpen(minor))
            continue;
        const bool sliced = migMode && migCount && migByIndex && migMode(handle, &mig, &pending) == 0 && mig == 1 &&
                            migCount(handle, &slices) == 0;
        if (!sliced)
            addDevice(handle, i, false);
        Handle slice = nullptr;
        for (unsigned k = 0; sliced && k < slices; ++k)
            if (migByIndex(handle, k, &slice) == 0)
                addDevice(slice, i, true);
    }
    // Keep the GPUs that CUDA_VISIBLE_DEVICES leaves, and their handles in the same order.
    const std::vector<Gpu> all = std::move(gpus);
    const std::vector<Device> allDevices = std::move(devices);
    gpus = visibleGpus(all, ::getenv("CUDA_VISIBLE_DEVICES"));
    devices.clear();
    for (const Gpu &gpu : gpus) {
        const auto at = std::find_if(all.begin(), all.end(), [&](const Gpu &other) { return other.uuid == gpu.uuid; });
        devices.push_back(allDevices[static_cast<std::size_t>(at - all.begin())]);
    }
}

std::optional<double> Nvml::Impl::smActivity(Device &device) {
    if (!device.gpm || gpmSample(device.handle, device.current) != 0)
        return std::nullopt;
    std::optional<double> activity;
    if (device.hasPrevious) {
        metricsGet.version = 1;
        metricsGet.count = 1;
        metricsGet.sample1 = device.previous;
        metricsGet.sample2 = device.current;
        metricsGet.metrics[0] = {};
        metricsGet.metrics[0].id = gpmSmUtil;
        if (gpmMetrics(&metricsGet) == 0 && metricsGet.metrics[0].result == 0)
            activity = metricsGet.metrics[0].value / 100.0;
    }
    std::swap(device.previous, device.current);
    device.hasPrevious = true;
    return activity;
}

Nvml::Nvml() : m_impl(std::make_unique<Impl>()) {}

Nvml::~Nvml() {
    for (Impl::Device &device : m_impl->devices)
        if (device.gpm) {
            m_impl->gpmFree(device.previous);
            m_impl->gpmFree(device.current);
        }
    if (m_impl->shutdown)
        m_impl->shutdown();
    if (m_impl->library)
        ::dlclose(m_impl->library);
}

std::unique_ptr<Nvml> Nvml::load() {
    std::unique_ptr<Nvml> nvml(new Nvml);
    Impl &impl = *nvml->m_impl;
    impl.library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!impl.library)
        return nullptr;
    Return (*init)() = nullptr;
    if (!impl.find(init, "nvmlInit_v2") || !impl.findAll() || init() != 0) {
        impl.shutdown = nullptr; // nvmlInit failed, so nothing must be shut down
        return nullptr;
    }
    impl.listGpus();
    return nvml;
}

const std::vector<Nvml::Gpu> &Nvml::gpus() const {
    return m_impl->gpus;
}

std::string Nvml::driverVersion() const {
    char text[textLength] = {};
    return m_impl->driver && m_impl->driver(text, textLength) == 0 ? text : "";
}

DeviceSample Nvml::sample(std::size_t index) {
    const Gpu &gpu = m_impl->gpus[index];
    Impl::Device &device = m_impl->devices[index];
    DeviceSample sample;
    sample.device = gpu.uuid;
    sample.kind = "cuda";
    sample.name = gpu.name;
    Utilization use{};
    Memory bytes{};
    unsigned value = 0;
    unsigned long long bits = 0;
    if (m_impl->utilization && m_impl->utilization(device.handle, &use) == 0)
        sample.utilization = use.gpu / 100.0;
    if (m_impl->memory && m_impl->memory(device.handle, &bytes) == 0) {
        sample.memoryUsedBytes = static_cast<double>(bytes.used);
        sample.memoryTotalBytes = static_cast<double>(bytes.total);
    }
    if (m_impl->power && m_impl->power(device.handle, &value) == 0)
        sample.powerW = value / 1000.0;
    unsigned long long millijoules = 0;
    if (m_impl->energy && m_impl->energy(device.handle, &millijoules) == 0)
        sample.energyJ = static_cast<double>(millijoules) / 1000.0;
    if (m_impl->temperature && m_impl->temperature(device.handle, temperatureGpu, &value) == 0)
        sample.temperatureC = value;
    if (m_impl->clock && m_impl->clock(device.handle, clockSm, &value) == 0)
        sample.clockMhz = value;
    if (m_impl->throttle && m_impl->throttle(device.handle, &bits) == 0)
        sample.throttle = throttleWords(bits);
    sample.smActivity = m_impl->smActivity(device);
    return sample;
}

bool Nvml::isLost(std::size_t index) const {
    unsigned value = 0;
    const Handle handle = m_impl->devices[index].handle;
    return m_impl->temperature && m_impl->temperature(handle, temperatureGpu, &value) == gpuIsLost;
}

Nvml::Link Nvml::link(std::size_t index) const {
    const Handle handle = m_impl->devices[index].handle;
    const auto asked = [&](Return (*ask)(Handle, unsigned *)) {
        unsigned value = 0;
        return ask && ask(handle, &value) == 0 ? std::optional<int>(static_cast<int>(value)) : std::nullopt;
    };
    return {asked(m_impl->pcieWidth), asked(m_impl->pcieWidthMax), asked(m_impl->pcieGeneration),
            asked(m_impl->pcieGenerationMax)};
}

std::string Nvml::computeCapability(std::size_t gpu) const {
    int major = 0, minor = 0;
    if (!m_impl->capability || m_impl->capability(m_impl->devices[gpu].handle, &major, &minor) != 0)
        return {};
    return std::to_string(major) + "." + std::to_string(minor);
}

std::optional<bool> Nvml::peerToPeer(std::size_t gpu, std::size_t other) const {
    constexpr int capabilityRead = 0, statusOk = 0;
    int status = 0;
    if (!m_impl->peerStatus ||
        m_impl->peerStatus(m_impl->devices[gpu].handle, m_impl->devices[other].handle, capabilityRead, &status) != 0)
        return std::nullopt;
    return status == statusOk;
}

std::vector<Nvml::Process> Nvml::processes(std::size_t index) {
    std::vector<Process> out;
    constexpr unsigned most = 256;
    constexpr unsigned long long unknown = ~0ull;
    std::vector<ProcessInfo> infos(most);
    unsigned count = most;
    if (!m_impl->running || m_impl->running(m_impl->devices[index].handle, &count, infos.data()) != 0)
        return out;
    for (unsigned i = 0; i < std::min(count, most); ++i)
        out.push_back({static_cast<int>(infos[i].pid), infos[i].memory == unknown
                                                           ? std::nullopt
                                                           : std::optional(static_cast<double>(infos[i].memory))});
    return out;
}

std::vector<Nvml::Gpu> visibleGpus(const std::vector<Nvml::Gpu> &all, const char *cudaVisibleDevices) {
    if (!cudaVisibleDevices)
        return all;
    std::vector<Nvml::Gpu> visible;
    std::istringstream list(cudaVisibleDevices);
    for (std::string entry; std::getline(list, entry, ',');) {
        entry.erase(0, entry.find_first_not_of(' '));
        entry.erase(entry.find_last_not_of(' ') + 1);
        auto found = all.end();
        std::size_t index = 0;
        const auto parsed = std::from_chars(entry.data(), entry.data() + entry.size(), index);
        if (parsed.ec == std::errc() && parsed.ptr == entry.data() + entry.size())
            found = index < all.size() ? all.begin() + static_cast<std::ptrdiff_t>(index) : all.end();
        else if (entry.starts_with("GPU-") || entry.starts_with("MIG-"))
            found = std::find_if(all.begin(), all.end(), [&](const auto &gpu) { return gpu.uuid.starts_with(entry); });
        if (found == all.end())
            break;
        visible.push_back(*found);
    }
    return visible;
}

std::vector<std::string> throttleWords(unsigned long long bits) {
    static constexpr std::pair<unsigned long long, const char *> words[] = {{0x002, "application clocks setting"},
                                                                            {0x004, "software power cap"},
                                                                            {0x008, "hardware slowdown"},
                                                                            {0x010, "sync boost"},
                                                                            {0x020, "software thermal slowdown"},
                                                                            {0x040, "hardware thermal slowdown"},
                                                                            {0x080, "power brake"},
                                                                            {0x100, "display clock setting"},
                                                                            {0x200, "board limit"},
                                                                            {0x400, "reliability limit"}};
    std::vector<std::string> reasons;
    for (const auto &[bit, word] : words)
        if (bits & bit)
            reasons.emplace_back(word);
    return reasons;
}

} // namespace lockstep::agent

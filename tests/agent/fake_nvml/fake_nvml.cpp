// SPDX-License-Identifier: MIT
// Stands in for libnvidia-ml.so.1: two GPUs of known figures, with nvml.h's names and layouts. FAKE_NVML_SLOW makes every
// utilisation query take a second, as a GPU in trouble does, FAKE_NVML_LOST=N that GPU N is lost.
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

extern "C" {

struct Utilization {
    unsigned gpu, memory;
};
struct Memory {
    unsigned long long total, free, used;
};
static int devices[2];
static int numberOf(void *device) {
    return static_cast<int>(static_cast<int *>(device) - devices);
}

int nvmlInit_v2() {
    return 0;
}
int nvmlShutdown() {
    return 0;
}
int nvmlDeviceGetCount_v2(unsigned *count) {
    return *count = 2, 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) {
    return *device = &devices[index], 0;
}
int nvmlDeviceGetUUID(void *device, char *text, unsigned length) {
    return std::snprintf(text, length, "GPU-0000000%d-fake", numberOf(device)), 0;
}
int nvmlDeviceGetName(void *, char *text, unsigned length) {
    return std::snprintf(text, length, "Fake 9000"), 0;
}
int nvmlSystemGetDriverVersion(char *text, unsigned length) {
    return std::snprintf(text, length, "999.1"), 0;
}
int nvmlDeviceGetUtilizationRates(void *device, Utilization *use) {
    if (std::getenv("FAKE_NVML_SLOW"))
        sleep(1);
    *use = {numberOf(device) == 0 ? 75u : 25u, 10u};
    return 0;
}
int nvmlDeviceGetMemoryInfo(void *, Memory *memory) {
    return *memory = {8000, 5000, 3000}, 0;
}
int nvmlDeviceGetPowerUsage(void *, unsigned *milliwatts) {
    return *milliwatts = 123456, 0;
}
int nvmlDeviceGetTotalEnergyConsumption(void *, unsigned long long *millijoules) {
    static std::atomic<unsigned long long> used{7'000'000};
    return *millijoules = used += 25'000, 0; // 25 J more at each question
}
int nvmlDeviceGetClockInfo(void *, int type, unsigned *mhz) {
    return *mhz = type == 1 ? 1410 : 0, 0;
}
int nvmlDeviceGetTemperature(void *device, int, unsigned *celsius) {
    constexpr int gpuIsLost = 15;
    if (const char *lost = std::getenv("FAKE_NVML_LOST"); lost && std::atoi(lost) == numberOf(device))
        return gpuIsLost;
    return *celsius = 61, 0;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void *, unsigned long long *bits) {
    return *bits = 0x20 | 0x1, 0;
}

// The first GPU sits in a slot of 16 lanes and has 8 of them; the two do not reach each other's memory.
int nvmlDeviceGetCurrPcieLinkWidth(void *device, unsigned *width) {
    return *width = numberOf(device) == 0 ? 8 : 16, 0;
}
int nvmlDeviceGetMaxPcieLinkWidth(void *, unsigned *width) {
    return *width = 16, 0;
}
int nvmlDeviceGetCurrPcieLinkGeneration(void *, unsigned *generation) {
    return *generation = 1, 0; // an idle link slows down
}
int nvmlDeviceGetMaxPcieLinkGeneration(void *, unsigned *generation) {
    return *generation = 4, 0;
}
int nvmlDeviceGetP2PStatus(void *, void *, int, int *status) {
    return *status = 1, 0; // chipset not supported
}
int nvmlDeviceGetCudaComputeCapability(void *device, int *major, int *minor) {
    *major = 7;
    *minor = numberOf(device) == 0 ? 0 : 5; // Volta and Turing
    return 0;
}

struct ProcessInfo {
    unsigned pid;
    unsigned long long memory;
    unsigned gpuInstance, computeInstance;
};
/// The calling process computes on the first GPU; nobody on the second.
int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, ProcessInfo *processes) {
    *count = numberOf(device) == 0 ? 1 : 0;
    if (*count == 1)
        processes[0] = {static_cast<unsigned>(getpid()), 2500, 0, 0};
    return 0;
}

} // extern "C"

// SPDX-License-Identifier: MIT
#include "trainer/agent/devices/gpu_watch.h"

#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "ipc/clock.h"

namespace lockstep::agent {

/// Owned by the watch and by its thread: the thread may outlive the watch when the driver does not answer.
struct GpuWatch::Shared {
    std::mutex mutex;
    std::condition_variable wake;
    bool stop = false, over = false;
    std::unique_ptr<Nvml> nvml; ///< used by the thread only
    std::map<std::string, Sample> samples;

    void run(const std::vector<std::size_t> &gpus, std::chrono::milliseconds interval);
};

void GpuWatch::Shared::run(const std::vector<std::size_t> &gpus, std::chrono::milliseconds interval) {
    const SystemClock clock;
    std::unique_lock lock(mutex);
    while (!stop) {
        lock.unlock();
        std::vector<Sample> fresh;
        for (const std::size_t gpu : gpus) {
            DeviceSample device = nvml->sample(gpu);
            const bool lost = !device.temperatureC && nvml->isLost(gpu);
            fresh.push_back({clock.monoNs(), std::move(device), lost});
        }
        lock.lock();
        for (Sample &sample : fresh) {
            const std::string key = sample.device.device;
            samples[key] = std::move(sample);
        }
        wake.wait_for(lock, interval, [this] { return stop; });
    }
    lock.unlock();
    nvml.reset();
    lock.lock();
    over = true;
    wake.notify_all();
}

GpuWatch::GpuWatch(std::unique_ptr<Nvml> nvml, const std::vector<std::string> &uuids,
                   std::chrono::milliseconds interval)
    : m_shared(std::make_shared<Shared>()) {
    std::vector<std::size_t> gpus;
    for (std::size_t i = 0; i < nvml->gpus().size(); ++i)
        if (std::find(uuids.begin(), uuids.end(), nvml->gpus()[i].uuid) != uuids.end())
            gpus.push_back(i);
    m_shared->nvml = std::move(nvml);
    std::thread thread([shared = m_shared, gpus, interval] { shared->run(gpus, interval); });
    pthread_setname_np(thread.native_handle(), "lockstep-gpu");
    thread.detach();
}

GpuWatch::~GpuWatch() {
    std::unique_lock lock(m_shared->mutex);
    m_shared->stop = true;
    m_shared->wake.notify_all();
    m_shared->wake.wait_for(lock, std::chrono::milliseconds(500), [this] { return m_shared->over; });
}

std::vector<GpuWatch::Sample> GpuWatch::latest() const {
    const std::lock_guard lock(m_shared->mutex);
    std::vector<Sample> samples;
    for (const auto &[uuid, sample] : m_shared->samples)
        samples.push_back(sample);
    return samples;
}

} // namespace lockstep::agent

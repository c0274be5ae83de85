// SPDX-License-Identifier: MIT
#include "trainer/strategies/device_thread.h"

#include <pthread.h>

#include <stdexcept>
#include <utility>

#include <ATen/Parallel.h>

namespace lockstep::trainer {

DeviceThread::DeviceThread(const std::string &name, CoreList cores, int threads)
    : m_thread([this, cores = std::move(cores), threads] { run(cores, threads); }) {
    pthread_setname_np(m_thread.native_handle(), name.substr(0, 15).c_str());
}

DeviceThread::~DeviceThread() {
    {
        const std::lock_guard lock(m_mutex);
        m_end = true;
    }
    m_changed.notify_all();
    m_thread.join();
}

void DeviceThread::start(std::function<void()> task) {
    {
        const std::lock_guard lock(m_mutex);
        m_task = std::move(task);
        m_busy = true;
    }
    m_changed.notify_all();
}

void DeviceThread::wait() {
    std::unique_lock lock(m_mutex);
    m_changed.wait(lock, [this] { return !m_busy; });
    if (m_error)
        std::rethrow_exception(std::exchange(m_error, nullptr));
}

void DeviceThread::run(const CoreList &cores, int threads) {
    const Result<void> pinned = pinThread(cores); // before this thread's OpenMP pool exists: the pool inherits it
    if (threads > 0)
        at::set_num_threads(threads);
    std::unique_lock lock(m_mutex);
    if (!pinned)
        m_error = std::make_exception_ptr(std::runtime_error("a DP replica " + pinned.error().message()));
    for (;;) {
        m_changed.wait(lock, [this] { return m_end || m_task; });
        if (m_end)
            return;
        const auto task = std::exchange(m_task, nullptr);
        lock.unlock();
        std::exception_ptr error;
        try {
            task();
        } catch (...) {
            error = std::current_exception();
        }
        lock.lock();
        m_error = error;
        m_busy = false;
        m_changed.notify_all();
    }
}

} // namespace lockstep::trainer

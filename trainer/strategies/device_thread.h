// SPDX-License-Identifier: MIT
#pragma once
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "ipc/cores.h"

namespace lockstep::trainer {

/// A thread that belongs to one device: on its cores, with its own count of intra-op threads. Runs one task at a time.
class DeviceThread {
public:
    DeviceThread(const std::string &name, CoreList cores, int threads);
    ~DeviceThread();
    DeviceThread(const DeviceThread &) = delete;
    DeviceThread &operator=(const DeviceThread &) = delete;

    /// Starts a task; the one before must have been waited for.
    void start(std::function<void()> task);
    /// Waits for the task and rethrows what it threw.
    void wait();

private:
    void run(const CoreList &cores, int threads);

    std::mutex m_mutex;
    std::condition_variable m_changed;
    std::function<void()> m_task;
    std::exception_ptr m_error;
    bool m_busy = false, m_end = false;
    std::thread m_thread;
};

} // namespace lockstep::trainer

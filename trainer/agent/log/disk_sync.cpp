// SPDX-License-Identifier: MIT
#include "trainer/agent/log/disk_sync.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

namespace lockstep::agent {

DiskSync::DiskSync() {
    m_thread = std::thread([this] { loop(); });
    pthread_setname_np(m_thread.native_handle(), "lockstep-sync");
}

DiskSync::~DiskSync() {
    {
        const std::lock_guard lock(m_mutex);
        m_stop = true;
    }
    m_wake.notify_one();
    m_thread.join();
}

std::size_t DiskSync::add(const std::string &path) {
    File file;
    file.fd = Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    const std::lock_guard lock(m_mutex);
    m_files.push_back(std::move(file));
    return m_files.size() - 1;
}

void DiskSync::request(std::size_t file, std::uint64_t mark) {
    {
        const std::lock_guard lock(m_mutex);
        m_files[file].wanted = mark;
        m_files[file].asked = m_wanted = true;
    }
    m_wake.notify_one();
}

std::uint64_t DiskSync::durable(std::size_t file) const {
    const std::lock_guard lock(m_mutex);
    return m_files[file].durable;
}

void DiskSync::loop() {
    std::unique_lock lock(m_mutex);
    while (!m_stop) {
        m_wake.wait(lock, [this] { return m_wanted || m_stop; });
        m_wanted = false;
        for (std::size_t i = 0; i < m_files.size() && !m_stop; ++i) {
            File &file = m_files[i]; // a deque's elements do not move
            if (!file.asked)
                continue;
            file.asked = false;
            const std::uint64_t mark = file.wanted;
            const int fd = file.fd.get();
            lock.unlock();
            const bool done = fd >= 0 && ::fdatasync(fd) == 0;
            lock.lock();
            if (done)
                file.durable = mark;
        }
    }
}

} // namespace lockstep::agent

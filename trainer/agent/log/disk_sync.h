// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

#include "ipc/unix_socket.h"

namespace lockstep::agent {

/// fdatasync of some files on a thread of its own ("lockstep-sync"): a busy disk takes long, and nobody may wait for it.
class DiskSync {
public:
    DiskSync();
    ~DiskSync(); ///< what was asked for and not begun is not done
    DiskSync(const DiskSync &) = delete;
    DiskSync &operator=(const DiskSync &) = delete;

    /// A file that is there; the number it goes by.
    std::size_t add(const std::string &path);
    /// Soon. `mark`: how much has been written by now, in the caller's own count.
    void request(std::size_t file, std::uint64_t mark = 0);
    /// The mark of the newest request that is safe on the disk.
    [[nodiscard]] std::uint64_t durable(std::size_t file) const;

private:
    struct File {
        Fd fd;
        std::uint64_t wanted = 0, durable = 0;
        bool asked = false;
    };
    void loop();

    mutable std::mutex m_mutex; ///< guards all below
    std::condition_variable m_wake;
    std::deque<File> m_files;
    bool m_wanted = false, m_stop = false;
    std::thread m_thread;
};

} // namespace lockstep::agent

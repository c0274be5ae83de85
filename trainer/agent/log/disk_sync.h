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

/// Calls fdatasync for some files on a thread of its own ("lockstep-sync"): a busy disk takes long, and nobody must
/// wait for it. Thread safe.
class DiskSync {
public:
    DiskSync();
    ~DiskSync(); ///< drops requests that have not begun
    DiskSync(const DiskSync &) = delete;
    DiskSync &operator=(const DiskSync &) = delete;

    /// Adds an existing file; returns its number.
    std::size_t add(const std::string &path);
    /// Asks for a sync soon. `mark` says how much was written so far, in a unit that the caller chooses.
    void request(std::size_t file, std::uint64_t mark = 0);
    /// The mark of the newest request that has reached the disk.
    [[nodiscard]] std::uint64_t durable(std::size_t file) const;

private:
    struct File {
        Fd fd;
        std::uint64_t wanted = 0, durable = 0;
        bool asked = false;
    };
    void loop();

    mutable std::mutex m_mutex; ///< guards all members below
    std::condition_variable m_wake;
    std::deque<File> m_files;
    bool m_wanted = false, m_stop = false;
    std::thread m_thread;
};

} // namespace lockstep::agent

// SPDX-License-Identifier: MIT
#include "trainer/agent/log/log_file_reader.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "ipc/frames.h"
#include "ipc/unix_socket.h"

namespace lockstep::agent {

std::optional<std::uint64_t> seqOfSealedLine(std::string_view line) {
    constexpr std::string_view key = ",\"seq\":";
    const auto crc = line.rfind(",\"crc\":");
    if (crc == std::string_view::npos)
        return std::nullopt;
    const auto at = line.rfind(key, crc);
    if (at == std::string_view::npos)
        return std::nullopt;
    std::uint64_t seq = 0;
    const auto parsed = std::from_chars(line.data() + at + key.size(), line.data() + crc, seq);
    if (parsed.ec != std::errc() || parsed.ptr != line.data() + crc)
        return std::nullopt;
    return seq;
}

/// Only the thread calls read().
class LogFileReader::File {
public:
    explicit File(std::string path) : m_path(std::move(path)) {}

    Lines read(std::uint64_t nextSeq, std::uint64_t offset, std::size_t maxBytes) {
        Lines lines{{}, nextSeq, offset, false};
        if (!m_fd.valid())
            m_fd = Fd(::open(m_path.c_str(), O_RDONLY | O_CLOEXEC));
        // Room for at least one of the longest lines, since only whole lines are taken.
        std::string chunk(std::max(maxBytes, 2 * maxFrameBytes), '\0');
        const ssize_t n = ::pread(m_fd.get(), chunk.data(), chunk.size(), static_cast<off_t>(offset));
        std::string_view left(chunk.data(), static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
        for (auto end = left.find('\n'); end != std::string_view::npos && lines.text.size() < maxBytes;
             end = left.find('\n')) {
            const std::string_view line = left.substr(0, end);
            left.remove_prefix(end + 1);
            lines.offset += end + 1;
            lines.found = true;
            const auto seq = seqOfSealedLine(line);
            if (!seq || *seq < lines.nextSeq)
                continue; // before the first line that is wanted
            lines.text.append(line).push_back('\n');
            lines.nextSeq = *seq + 1;
        }
        return lines;
    }

private:
    std::string m_path;
    Fd m_fd;
};

struct LogFileReader::State {
    struct Task {
        std::shared_ptr<File> file;
        std::uint64_t nextSeq, offset;
        std::size_t maxBytes;
        std::promise<Lines> lines;
    };
    std::mutex mutex; ///< guards `tasks`, `stop` and `busy`
    std::condition_variable wake;
    std::deque<Task> tasks;
    bool stop = false, busy = false;
    Fd found{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    std::thread thread;

    void loop();
};

void LogFileReader::State::loop() {
    std::unique_lock lock(mutex);
    while (true) {
        wake.wait(lock, [this] { return stop || !tasks.empty(); });
        if (stop)
            return;
        Task task = std::move(tasks.front());
        tasks.pop_front();
        busy = true;
        lock.unlock();
        Lines lines = task.file->read(task.nextSeq, task.offset, task.maxBytes);
        const bool wakes = lines.found; // lines that are not in the file yet are asked for again later
        task.lines.set_value(std::move(lines));
        const std::uint64_t one = 1;
        if (wakes)
            (void)!::write(found.get(), &one, sizeof one);
        lock.lock();
        busy = false;
    }
}

LogFileReader::LogFileReader() : m_state(std::make_shared<State>()) {
    m_state->thread = std::thread([state = m_state] { state->loop(); });
    pthread_setname_np(m_state->thread.native_handle(), "lockstep-reader");
}

LogFileReader::~LogFileReader() {
    std::unique_lock lock(m_state->mutex);
    m_state->stop = true;
    const bool busy = m_state->busy;
    lock.unlock();
    m_state->wake.notify_one();
    if (busy)
        m_state->thread.detach();
    else
        m_state->thread.join();
}

std::shared_ptr<LogFileReader::File> LogFileReader::file(std::string path) const {
    return std::make_shared<File>(std::move(path));
}

std::future<LogFileReader::Lines> LogFileReader::read(std::shared_ptr<File> file, std::uint64_t nextSeq,
                                                      std::uint64_t offset, std::size_t maxBytes) {
    State::Task task{std::move(file), nextSeq, offset, maxBytes, {}};
    auto lines = task.lines.get_future();
    {
        const std::lock_guard lock(m_state->mutex);
        m_state->tasks.push_back(std::move(task));
    }
    m_state->wake.notify_one();
    return lines;
}

int LogFileReader::foundFd() const {
    return m_state->found.get();
}

void LogFileReader::clearFound() const {
    std::uint64_t count = 0;
    (void)!::read(m_state->found.get(), &count, sizeof count);
}

} // namespace lockstep::agent

// SPDX-License-Identifier: MIT
#include "trainer/agent/log/log_disk.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "ipc/disk_space.h"
#include "ipc/regular_file.h"

namespace lockstep::agent {

namespace {
using Steady = std::chrono::steady_clock;
constexpr std::size_t mostTextBytes = 16 * 1024 * 1024;
/// Of what the disk has refused: of one text, and of all together, which may be those of thousands of ranks.
constexpr std::size_t mostHeldBytes = 1024 * 1024, mostHeldOfAllBytes = 64 * mostHeldBytes;
constexpr std::chrono::seconds patience{
    5}; ///< a disk that takes longer for one thing counts as one that doesn't answer
constexpr std::chrono::milliseconds longestWait{100}; ///< of a log for other jobs of the disk's thread
constexpr std::chrono::seconds firstSyncPause{1}, lastSyncPause{30};
} // namespace

class LogDisk::Text {
public:
    using Bytes = std::shared_ptr<std::atomic<std::size_t>>;
    /// `heldOfAll`: what all texts of the disk hold.
    Text(std::string path, bool staysOpen, Bytes heldOfAll)
        : m_path(std::move(path)), m_staysOpen(staysOpen), m_heldOfAll(std::move(heldOfAll)) {}
    ~Text() { *m_heldOfAll -= m_counted; }
    Text(const Text &) = delete;
    Text &operator=(const Text &) = delete;

    /// Bytes that were never queued, since the disk did not answer. On any thread.
    void skip(std::size_t bytes) { m_skipped += bytes; }
    /// Whether there is something to try again. On any thread.
    [[nodiscard]] bool holds() const { return m_holds || m_skipped > 0; }

    /// On the disk's thread. `spare`: all that may be written; null: there is no limit.
    void write(std::string_view bytes, SpareRoom *spare) {
        if ((m_fd.valid() || open()) && writeHeld(spare))
            bytes.remove_prefix(written(bytes, spare));
        hold(bytes);
        m_missing += m_skipped.exchange(0);
        m_holds = !m_held.empty() || m_missing > 0;
        if (!m_staysOpen)
            m_fd = Fd();
    }

private:
    bool open() {
        errno = EINVAL; // where something else than a file is in its place
        Result<Fd> file = openToWrite(m_path, O_WRONLY | O_APPEND);
        if (!file) {
            m_error = errno;
            return false;
        }
        m_fd = std::move(*file);
        return true;
    }

    /// How many of the bytes the disk took.
    std::size_t written(std::string_view bytes, SpareRoom *spare) {
        std::size_t done = 0;
        if (spare && !bytes.empty() && !spare->take(bytes.size())) {
            m_error = ENOSPC;
            return done;
        }
        while (done < bytes.size()) {
            const ssize_t n = ::write(m_fd.get(), bytes.data() + done, bytes.size() - done);
            if (n > 0) {
                done += static_cast<std::size_t>(n);
            } else if (n == 0 || errno != EINTR) {
                m_error = n == 0 ? ENOSPC : errno;
                break;
            }
        }
        return done;
    }

    /// Whether nothing is held any more.
    bool writeHeld(SpareRoom *spare) {
        m_held.erase(0, written(m_held, spare));
        if (m_held.empty() && m_missing > 0) {
            m_held = "\n[lockstep: " + std::to_string(m_missing) + " bytes are missing here: " +
                     (m_error == 0 ? "the disk did not answer" : std::generic_category().message(m_error)) + "]\n";
            m_missing = 0;
            m_held.erase(0, written(m_held, spare));
        }
        return m_held.empty();
    }

    void hold(std::string_view bytes) {
        count();
        const auto left = [](std::size_t most, std::size_t held) { return most - std::min(most, held); };
        const std::size_t room =
            m_missing > 0 ? 0 : std::min(left(mostHeldBytes, m_held.size()), left(mostHeldOfAllBytes, *m_heldOfAll));
        m_held.append(bytes.substr(0, room));
        m_missing += bytes.size() - std::min(room, bytes.size());
        count();
    }

    /// Counts what is held among that of all, and gives the memory back that it needs no more.
    void count() {
        if (m_held.empty() || m_missing > 0)
            m_held.shrink_to_fit();
        *m_heldOfAll += m_held.size() - m_counted; // modulo 2^64 where it has become less
        m_counted = m_held.size();
    }

    std::string m_path;
    bool m_staysOpen;
    Bytes m_heldOfAll;
    std::size_t m_counted = 0; ///< of this text's bytes, there
    Fd m_fd;
    std::string m_held;        ///< which the disk has refused
    std::size_t m_missing = 0; ///< bytes after those, for which there was no room
    int m_error = 0;
    std::atomic<std::size_t> m_skipped = 0;
    std::atomic<bool> m_holds = false;
};

struct LogDisk::State {
    struct OneLog {
        explicit OneLog(LineFile lines) : file(std::move(lines)) {}
        LineFile file; ///< only the thread touches it
        std::deque<std::string> inbox;
        std::size_t inboxBytes = 0, waitingBytes = 0;
        std::uint64_t lost = 0, wanted = 0;
        bool asked = false;
        Steady::time_point nextSync{};
        std::chrono::seconds pause{firstSyncPause};
        LogState state;
    };
    struct Job {
        std::shared_ptr<Text> text; ///< null: `work`
        std::string bytes;
        std::packaged_task<void()> work;
    };

    mutable std::mutex mutex; ///< guards all members below
    std::condition_variable wake, moved;
    std::deque<OneLog> logs; ///< a deque's elements do not move
    std::deque<Job> jobs;
    std::vector<std::function<void()>> answers;
    std::size_t textBytes = 0;
    const Text::Bytes heldOfTexts = std::make_shared<std::atomic<std::size_t>>(0);
    std::optional<SpareRoom> room; ///< only the thread touches it
    Steady::time_point busySince{};
    bool work = false, busy = false, stop = false, over = false;
    std::thread thread;

    using Piece = std::function<std::optional<std::function<void()>>()>;
    static void queuePiece(const std::shared_ptr<State> &state, Piece piece);
    void loop();
    void writeLog(std::unique_lock<std::mutex> &lock, OneLog &log);
    Result<void> flush(LineFile &file);
    /// Runs something without the lock, and remembers since when.
    template <class Action> auto unlocked(std::unique_lock<std::mutex> &lock, Action action) {
        busySince = Steady::now();
        busy = true;
        lock.unlock();
        auto result = action();
        lock.lock();
        busy = false;
        moved.notify_all();
        return result;
    }
    [[nodiscard]] std::chrono::milliseconds busyFor() const {
        return std::chrono::duration_cast<std::chrono::milliseconds>(busy ? Steady::now() - busySince
                                                                          : Steady::duration::zero());
    }
    [[nodiscard]] bool silent() const { return busyFor() > patience; }
};

/// Takes new lines, writes them, and syncs if that was asked for.
void LogDisk::State::writeLog(std::unique_lock<std::mutex> &lock, OneLog &log) {
    for (; !log.inbox.empty() && log.waitingBytes + log.inbox.front().size() <= LineFile::mostHeldBytes;
         log.inbox.pop_front()) {
        log.inboxBytes -= log.inbox.front().size();
        log.waitingBytes += log.inbox.front().size();
        (void)log.file.add(std::move(log.inbox.front()));
    }
    const bool sync = log.asked && Steady::now() >= log.nextSync;
    const std::uint64_t mark = log.wanted;
    if (!sync && !log.file.behind())
        return;
    const Result<void> written = unlocked(lock, [&] { return flush(log.file); });
    Result<void> synced;
    if (written && sync) {
        log.asked = false;
        synced = unlocked(lock, [&] {
            auto done = log.file.sync();
            if (!done)
                (void)log.file.flush(); // so that readers have the lines at least
            return done;
        });
        log.pause = synced ? firstSyncPause : std::min(2 * log.pause, lastSyncPause);
        log.nextSync = synced ? Steady::time_point{} : Steady::now() + log.pause;
        log.asked = log.asked || !synced;
        if (synced)
            log.state.durable = mark;
        log.state.syncError = !synced ? synced.error().message()
                              : log.file.uncertain()
                                  ? "a sync has failed, and not all lines of that time could be written again"
                                  : "";
    }
    log.state.writeError = !log.file.behind() ? "" : written ? log.state.syncError : written.error().message();
    log.waitingBytes = log.file.waitingBytes();
}

Result<void> LogDisk::State::flush(LineFile &file) {
    if (room && !room->take(file.waitingBytes()))
        return fail(Error::failed("the disk under " + room->path() + " is nearly full", "free some space"));
    return file.flush();
}

void LogDisk::State::loop() {
    std::unique_lock lock(mutex);
    while (true) {
        wake.wait(lock, [this] { return work || stop; });
        const bool last = std::exchange(work, false) == false && stop;
        std::deque<Job> batch = std::exchange(jobs, {}); // the lines that came before them are written before
        const auto writeLogs = [&] {
            for (std::size_t i = 0; i < logs.size(); ++i)
                writeLog(lock, logs[i]);
        };
        writeLogs();
        auto written = Steady::now();
        for (Job &job : batch) {
            if (Steady::now() - written > longestWait) {
                writeLogs();
                written = Steady::now();
            }
            unlocked(lock, [&] {
                if (job.text)
                    job.text->write(job.bytes, room ? &*room : nullptr);
                else
                    job.work();
                return true;
            });
            textBytes -= job.bytes.size();
        }
        if (last)
            break;
    }
    over = true;
    moved.notify_all();
}

LogDisk::LogDisk(const std::string &spare) : m_state(std::make_shared<State>()) {
    if (!spare.empty())
        m_state->room.emplace(spare);
    m_state->thread = std::thread([state = m_state] { state->loop(); });
    pthread_setname_np(m_state->thread.native_handle(), "lockstep-disk");
}

LogDisk::~LogDisk() {
    std::unique_lock lock(m_state->mutex);
    m_state->stop = true;
    m_state->wake.notify_one();
    while (!m_state->over && !m_state->silent())
        m_state->moved.wait_for(lock, std::chrono::milliseconds(100));
    const bool over = m_state->over;
    lock.unlock();
    if (over)
        m_state->thread.join();
    else
        m_state->thread.detach();
}

LogDisk::Log LogDisk::add(LineFile file) {
    const std::lock_guard lock(m_state->mutex);
    m_state->logs.emplace_back(std::move(file));
    return m_state->logs.size() - 1;
}

bool LogDisk::append(Log number, std::string line) {
    {
        const std::lock_guard lock(m_state->mutex);
        State::OneLog &log = m_state->logs[number];
        if (log.inboxBytes + log.waitingBytes + line.size() > LineFile::mostHeldBytes) {
            ++log.lost;
            return false;
        }
        log.inboxBytes += line.size();
        log.inbox.push_back(std::move(line));
        if (std::exchange(m_state->work, true))
            return true; // the thread knows already
    }
    m_state->wake.notify_one();
    return true;
}

void LogDisk::requestSync(Log number, std::uint64_t mark, bool now) {
    {
        const std::lock_guard lock(m_state->mutex);
        State::OneLog &log = m_state->logs[number];
        log.wanted = mark;
        log.asked = m_state->work = true;
        if (now)
            log.nextSync = {};
    }
    m_state->wake.notify_one();
}

LogDisk::LogState LogDisk::state(Log number) const {
    const std::lock_guard lock(m_state->mutex);
    const State::OneLog &log = m_state->logs[number];
    LogState state = log.state;
    state.heldBytes = log.inboxBytes + log.waitingBytes;
    state.linesLost = log.lost;
    return state;
}

std::shared_ptr<LogDisk::Text> LogDisk::openText(std::string path, bool staysOpen) {
    auto text = std::make_shared<Text>(std::move(path), staysOpen, m_state->heldOfTexts);
    write(text, {});
    return text;
}

void LogDisk::write(const std::shared_ptr<Text> &text, std::string bytes) {
    {
        std::unique_lock lock(m_state->mutex);
        while (m_state->textBytes + bytes.size() > mostTextBytes) {
            if (m_state->silent())
                return text->skip(bytes.size());
            m_state->moved.wait_for(lock, std::chrono::milliseconds(100));
        }
        m_state->textBytes += bytes.size();
        m_state->jobs.push_back({text, std::move(bytes), {}});
        m_state->work = true;
    }
    m_state->wake.notify_one();
}

void LogDisk::retry(const std::shared_ptr<Text> &text) {
    if (text->holds())
        write(text, {});
}

std::future<void> LogDisk::run(std::function<void()> job) {
    std::packaged_task<void()> work(std::move(job));
    std::future<void> done = work.get_future();
    {
        const std::lock_guard lock(m_state->mutex);
        m_state->jobs.push_back({nullptr, {}, std::move(work)});
        m_state->work = true;
    }
    m_state->wake.notify_one();
    return done;
}

std::future<void> LogDisk::ask(std::function<std::function<void()>()> question) {
    return run([state = std::weak_ptr(m_state), question = std::move(question)] {
        auto answer = question();
        if (const auto alive = state.lock()) {
            const std::lock_guard lock(alive->mutex);
            alive->answers.push_back(std::move(answer));
        }
    });
}

void LogDisk::State::queuePiece(const std::shared_ptr<State> &state, Piece piece) {
    std::packaged_task<void()> work([weak = std::weak_ptr(state), piece] {
        const auto alive = weak.lock();
        if (!alive)
            return;
        if (auto answer = piece()) {
            const std::lock_guard lock(alive->mutex);
            alive->answers.push_back(std::move(*answer));
        } else {
            queuePiece(alive, piece);
        }
    });
    {
        const std::lock_guard lock(state->mutex);
        if (state->stop)
            return;
        state->jobs.push_back({nullptr, {}, std::move(work)});
        state->work = true;
    }
    state->wake.notify_one();
}

void LogDisk::askInPieces(std::function<std::optional<std::function<void()>>()> piece) {
    State::queuePiece(m_state, std::move(piece));
}

void LogDisk::deliver() {
    std::unique_lock lock(m_state->mutex);
    const auto answers = std::exchange(m_state->answers, {});
    lock.unlock();
    for (const auto &answer : answers)
        answer();
}

std::chrono::milliseconds LogDisk::busyFor() const {
    const std::lock_guard lock(m_state->mutex);
    return m_state->busyFor();
}

std::chrono::milliseconds LogDisk::silentFor() const {
    const auto busy = busyFor();
    return busy > patience ? busy : std::chrono::milliseconds(0);
}

} // namespace lockstep::agent

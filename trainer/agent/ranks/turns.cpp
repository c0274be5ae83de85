// SPDX-License-Identifier: MIT
#include "trainer/agent/ranks/turns.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "ipc/file_lock.h"

namespace lockstep::agent {

namespace {

constexpr off_t turnByte = 0, nextByte = 1;
constexpr std::chrono::milliseconds looksEvery{1};

Error cannot(const std::string &path) {
    return Error::failed(path + ", which runs that take turns need, can't be made: " + std::strerror(errno),
                         "run them one after another");
}

struct flock onByte(off_t byte, short type) {
    struct flock range {};
    range.l_type = type;
    range.l_whence = SEEK_SET;
    range.l_start = byte;
    range.l_len = 1;
    return range;
}

/// Takes the lock on that byte (F_WRLCK), unless another process has it, or gives it up (F_UNLCK).
bool lock(const Fd &fd, off_t byte, short type) {
    struct flock range = onByte(byte, type);
    return ::fcntl(fd.get(), F_OFD_SETLK, &range) == 0;
}

} // namespace

Result<PausedTime> PausedTime::create(const std::string &path) {
    PausedTime out;
    out.m_fd = Fd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!out.m_fd.valid())
        return fail(cannot(path));
    out.m_path = path;
    if (!out.write())
        return fail(cannot(path));
    return out;
}

PausedTime::PausedTime(PausedTime &&other) noexcept
    : m_path(std::exchange(other.m_path, {})), m_fd(std::move(other.m_fd)), m_totalNs(other.m_totalNs),
      m_wroteAll(other.m_wroteAll) {}

PausedTime::~PausedTime() {
    if (!m_path.empty())
        ::unlink(m_path.c_str());
}

void PausedTime::add(std::int64_t ns) {
    m_totalNs += ns;
    m_wroteAll = write() && m_wroteAll;
}

bool PausedTime::write() const {
    const auto total = static_cast<std::uint64_t>(m_totalNs);
    return ::pwrite(m_fd.get(), &total, sizeof total, 0) == ssize_t{sizeof total};
}

Result<std::unique_ptr<Turns>> Turns::join(EventLoop &loop, const Clock &clock, const std::string &file,
                                           PausedTime &paused, Handlers handlers) {
    std::unique_ptr<Turns> out(new Turns(loop, clock, file, paused, std::move(handlers)));
    if (auto opened = out->open(); !opened)
        return fail(opened.error());
    return out;
}

Turns::Turns(EventLoop &loop, const Clock &clock, std::string file, PausedTime &paused, Handlers handlers)
    : m_loop(loop), m_clock(clock), m_file(std::move(file)), m_paused(paused), m_handlers(std::move(handlers)) {}

Turns::~Turns() {
    if (m_waitTimer != 0)
        m_paused.add(m_clock.monoNs() - m_pausedSinceNs);
    m_loop.cancel(m_turnTimer);
    m_loop.cancel(m_waitTimer);
    if (lock(m_fd, turnByte, F_WRLCK) && (m_next || lock(m_fd, nextByte, F_WRLCK)) && isFileAt(m_fd.get(), m_file))
        ::unlink(m_file.c_str()); // nobody else waits; who opens it just now finds out and opens another one
}

Result<void> Turns::open() {
    m_fd = Fd(::open(m_file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    m_next = false;
    if (!m_fd.valid())
        return fail(cannot(m_file));
    return {};
}

void Turns::begin() {
    m_handlers.pause();
    m_pausedSinceNs = m_clock.monoNs();
    wait();
}

/// Whether it is this run's turn now. Nobody gets two turns while another one waits: who waits is next.
bool Turns::takes() {
    if (!m_fd.valid() && !open())
        return m_lost = true; // as if it were alone, rather than stand still for ever
    m_next = m_next || lock(m_fd, nextByte, F_WRLCK);
    if (!m_next || !lock(m_fd, turnByte, F_WRLCK))
        return false;
    lock(m_fd, nextByte, F_UNLCK);
    m_next = false;
    if (isFileAt(m_fd.get(), m_file))
        return true;
    (void)open(); // the last one of earlier runs has removed it
    return false;
}

void Turns::wait() {
    if (takes())
        return goOn();
    if (m_waitTimer == 0)
        m_waitTimer = m_loop.every(looksEvery, [this] {
            if (takes())
                goOn();
        });
}

void Turns::goOn() {
    m_loop.cancel(m_waitTimer);
    m_paused.add(m_clock.monoNs() - m_pausedSinceNs);
    m_handlers.goOn();
    m_turnTimer = m_loop.after(turn, [this] { give(); });
}

bool Turns::anyWaits() const {
    struct flock range = onByte(nextByte, F_WRLCK);
    return ::fcntl(m_fd.get(), F_OFD_GETLK, &range) == 0 && range.l_type != F_UNLCK;
}

void Turns::give() {
    const bool removed = !isFileAt(m_fd.get(), m_file); // none of the runs removes it in another's turn
    m_lost = m_lost || removed;
    if (!removed && !anyWaits()) {
        m_turnTimer = m_loop.after(turn, [this] { give(); });
        return;
    }
    m_handlers.pause();
    m_pausedSinceNs = m_clock.monoNs();
    lock(m_fd, turnByte, F_UNLCK);
    wait();
}

} // namespace lockstep::agent

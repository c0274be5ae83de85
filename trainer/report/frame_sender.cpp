// SPDX-License-Identifier: MIT
#include "trainer/report/frame_sender.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

#include "ipc/messages.h"
#include "ipc/printable.h"
#include "ipc/regular_file.h"
#include "trainer/report/frame_address.h"

namespace lockstep::trainer {

namespace {

constexpr std::int64_t heartbeatNs = 1'000'000'000;
constexpr std::size_t chunkBytes =
    256 * 1024; ///< most bytes that are encoded ahead; the rest waits as frames, which can be merged

constexpr std::size_t rememberedBytes = 1 << 20;
constexpr int readsOfTurn = 16; ///< between two looks at what is to be sent: whoever talks without end holds nothing up
constexpr std::chrono::seconds firstLookupLimit{30}, connectLimit{5}, againLimit{2}, againEvery{1};
constexpr int downMs = 100; ///< between two looks whether it is time for another try

/// Whether the file's last line has no end: the disk was full, or the power was lost.
bool endsInTornLine(const std::string &path, int file) {
    struct stat info {};
    if (::fstat(file, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size == 0)
        return false;
    const Result<Fd> reader = openRegular(path);
    char last = '\n';
    return reader && ::pread(reader->get(), &last, 1, info.st_size - 1) == 1 && last != '\n';
}

/// Whether writing to it never waits for a reader: a file, or /dev/null.
bool neverWaits(int file) {
    struct stat info {};
    struct stat null {};
    if (::fstat(file, &info) != 0)
        return false;
    return S_ISREG(info.st_mode) ||
           (S_ISCHR(info.st_mode) && ::stat("/dev/null", &null) == 0 && info.st_rdev == null.st_rdev);
}

/// `unsent` becomes what must be written before the first frame.
Result<Fd> openFile(const std::string &address, int rank, std::string &unsent) {
    const auto place = frameFile(address, rank);
    if (!place)
        return fail(place.error());
    const std::string &path = *place;
    // Who names a file may name a link. In a folder, which others may write to as well, a link may be another's.
    const int following = path == address ? 0 : O_NOFOLLOW;
    Fd fd(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | following, 0600));
    const bool isOther = fd.valid() ? !neverWaits(fd.get()) : errno == ENXIO || (following && errno == ELOOP);
    if (isOther || !fd.valid())
        return fail(Error::badArgument("can't write frames to " + path + ": " +
                                           (isOther ? "it is not a regular file" : std::strerror(errno)),
                                       "give --frames a file in a folder you may write to"));
    if (endsInTornLine(path, fd.get()))
        unsent = "\n"; // the first frame would be lost with that line
    return fd;
}

Result<Fd> connectToRun(const std::string &path, int rank) {
    auto fd = connectUnix(path, false);
    if (!fd)
        return fail(Error::badArgument("can't send frames to " + path + ": " + fd.error().what,
                                       "start the agent first, or give --frames a file"));
    Hello hello;
    hello.role = "rank";
    hello.rank = rank;
    hello.pid = ::getpid();
    const std::string line = encode(hello) + "\n";
    if (::send(fd->get(), line.data(), line.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(line.size()))
        return fail(Error::system("can't greet the agent at " + path, errno));
    ::fcntl(fd->get(), F_SETFL, ::fcntl(fd->get(), F_GETFL) | O_NONBLOCK);
    return fd;
}

} // namespace

FrameSender::FrameSender(int rank, const Clock &clock, OnStop onStop)
    : m_rank(rank), m_clock(clock), m_onStop(std::move(onStop)) {}

Result<std::unique_ptr<FrameSender>> FrameSender::open(const std::string &address, int rank, const Clock &clock,
                                                       OnStop onStop, NameLookup::Resolve lookUp) {
    std::unique_ptr<FrameSender> sender(new FrameSender(rank, clock, std::move(onStop)));
    if (address.empty()) {
        sender->m_lost = true;
        return sender;
    }
    Result<Fd> fd = Fd();
    if (address == "-") {
        fd = Fd(::dup(STDOUT_FILENO));
    } else if (address.starts_with("unix:")) {
        fd = connectToRun(address.substr(5), rank);
        sender->m_socket = true;
    } else if (isListener(address)) {
        fd = sender->reachListener(address, std::move(lookUp));
        sender->m_socket = true;
    } else {
        fd = openFile(address, rank, sender->m_bytes);
        sender->m_file = true;
    }
    if (!fd)
        return fail(fd.error());
    sender->m_out = std::move(*fd);
    sender->m_wake = Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    sender->m_lastSentNs = clock.monoNs();
    sender->m_thread = std::thread([raw = sender.get()] { raw->run(); });
    pthread_setname_np(sender->m_thread.native_handle(), "frames");
    return sender;
}

Result<Fd> FrameSender::reachListener(const std::string &address, NameLookup::Resolve lookUp) {
    const auto place = listenerPlace(address);
    if (!place)
        return fail(place.error());
    m_tcp = address;
    m_host.emplace(*place, std::move(lookUp));
    const auto host = m_host->take(std::chrono::steady_clock::now() + firstLookupLimit);
    if (!host)
        return fail(Error::badArgument("can't send frames to " + address + ": no name server has answered within " +
                                           std::to_string(firstLookupLimit.count()) + " s",
                                       "give --frames the host's address in figures, or a file"));
    auto link = connectToListener(address, *host, m_rank, connectLimit);
    if (!link)
        return fail(link.error());
    return std::move(link->fd);
}

FrameSender::~FrameSender() {
    finish(std::chrono::seconds(2));
}

void FrameSender::setOnTrace(OnTrace onTrace) {
    const std::lock_guard lock(m_mutex);
    m_onTrace = std::move(onTrace);
}

void FrameSender::setPosition(std::function<RankPosition()> position) {
    const std::lock_guard lock(m_mutex);
    m_position = std::move(position);
}

void FrameSender::send(FrameBody body) {
    if (m_lost)
        return;
    Frame frame;
    frame.rank = m_rank;
    frame.body = std::move(body);
    {
        const std::lock_guard lock(m_mutex);
        if (m_finishing)
            return;
        frame.monoNs = m_clock.monoNs(); // inside the lock, so that frames are in the order of their times
        frame.wallUs = m_clock.wallUs();
        m_queue.push(std::move(frame));
    }
    wake();
}

void FrameSender::finish(std::chrono::milliseconds limit) {
    if (!m_thread.joinable())
        return;
    {
        const std::lock_guard lock(m_mutex);
        m_finishing = true;
        m_deadline = std::chrono::steady_clock::now() + limit;
    }
    wake();
    m_thread.join();
    m_out.close();
}

void FrameSender::wake() const {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(m_wake.get(), &one, sizeof one);
}

void FrameSender::run() {
    std::unique_lock lock(m_mutex);
    while (!m_lost) {
        pump(lock);
        const bool idle = m_bytes.empty() && m_queue.empty();
        if (m_finishing && (idle || m_lost || std::chrono::steady_clock::now() >= m_deadline))
            return;
        if (!m_bytes.empty() || idle || m_down) {
            const std::int64_t sinceNs = m_clock.monoNs() - m_lastSentNs;
            const auto untilBeat =
                static_cast<int>(std::clamp<std::int64_t>((heartbeatNs - sinceNs) / 1'000'000 + 1, 1, 1000));
            lock.unlock();
            waitForEvent(!m_bytes.empty(), m_finishing ? 10 : m_down ? downMs : untilBeat);
            if (m_down)
                tryAgain();
            else if (m_socket)
                readControl();
            lock.lock();
        }
        if (!m_finishing && m_queue.empty() && m_clock.monoNs() - m_lastSentNs >= heartbeatNs) {
            Frame beat;
            beat.rank = m_rank;
            beat.monoNs = m_clock.monoNs();
            beat.wallUs = m_clock.wallUs();
            beat.body = HeartbeatFrame{m_position ? std::optional(m_position()) : std::nullopt};
            m_queue.push(std::move(beat));
        }
    }
}

/// Encodes waiting frames as fast as the kernel accepts them, and writes them.
void FrameSender::pump(std::unique_lock<std::mutex> &lock) {
    while (!m_lost && !m_down) {
        while (!m_queue.empty() && m_bytes.size() < chunkBytes) {
            Frame frame = m_queue.pop();
            frame.rseq = m_rseq++;
            m_lastSentNs = m_clock.monoNs();
            std::string line = encode(frame) + "\n";
            m_bytes += line;
            if (!m_tcp.empty())
                remember(*frame.rseq, std::move(line));
        }
        if (m_bytes.empty())
            return;
        lock.unlock();
        const bool progress = writeSome();
        lock.lock();
        if (!progress)
            return;
    }
}

bool FrameSender::writeSome() {
    const ssize_t written = m_socket ? ::send(m_out.get(), m_bytes.data(), m_bytes.size(), MSG_NOSIGNAL)
                                     : ::write(m_out.get(), m_bytes.data(), m_bytes.size());
    if (written < 0) {
        if (errno == EAGAIN || errno == EINTR)
            return false;
        const int why = errno;
        takeBackBegunLine();
        lose(std::strerror(why));
        return false;
    }
    const auto size = static_cast<std::size_t>(written);
    if (m_file) {
        const auto end = std::string_view(m_bytes).substr(0, size).rfind('\n');
        if (end != std::string::npos)
            m_begun.clear();
        const std::size_t begin = end == std::string::npos ? 0 : end + 1;
        m_begun.append(m_bytes, begin, size - begin);
    }
    m_bytes.erase(0, size);
    if (m_bytes.empty() && std::exchange(m_reportedFailure, false)) // a part may find room on a full disk
        std::fprintf(stderr, "lockstep-trainer: frames of rank %d are written again\n", m_rank);
    return true;
}

/// Half a line would spoil the next one if this process never came to write the rest. It stays if somebody else has appended since.
void FrameSender::takeBackBegunLine() {
    struct stat info {};
    const off_t end = m_begun.empty() ? -1 : ::lseek(m_out.get(), 0, SEEK_CUR);
    if (end < 0 || ::fstat(m_out.get(), &info) != 0 || info.st_size != end ||
        ::ftruncate(m_out.get(), end - static_cast<off_t>(m_begun.size())) != 0)
        return;
    m_bytes.insert(0, m_begun);
    m_begun.clear();
}

void FrameSender::waitForEvent(bool wantWrite, int timeoutMs) const {
    pollfd fds[2] = {{m_wake.get(), POLLIN, 0}, {m_out.get(), 0, 0}};
    if (m_socket)
        fds[1].events = static_cast<short>(POLLIN | (wantWrite ? POLLOUT : 0));
    ::poll(fds, m_socket ? 2 : 1, timeoutMs);
    std::uint64_t count = 0;
    [[maybe_unused]] const auto taken = ::read(m_wake.get(), &count, sizeof count);
}

void FrameSender::readControl() {
    char buffer[4096];
    std::string refused;
    for (int reads = 0; reads < readsOfTurn; ++reads) {
        const ssize_t got = ::recv(m_out.get(), buffer, sizeof buffer, MSG_DONTWAIT);
        if (got == 0)
            return lose("the agent closed the connection");
        if (got < 0)
            return;
        const auto fed = m_framer.feed({buffer, static_cast<std::size_t>(got)}, [&](std::string_view line) {
            if (refused.empty())
                refused = handleLine(line);
        });
        if (!fed || !refused.empty())
            return lose(fed ? refused : fed.error().what);
    }
}

/// In the form of a script's stacks (resources/python/lockstep/stacks.py).
void FrameSender::sayWhereItIs() {
    std::optional<RankPosition> at;
    {
        const std::lock_guard lock(m_mutex);
        if (m_position)
            at = m_position();
    }
    std::string place = at ? placeInWords(*at) : std::string();
    if (place.empty())
        place = "before the first step, or after the last";
    else if (at->sinceS)
        place += " for " + std::to_string(std::llround(*at->sinceS)) + " s";
    if (at && at->waitS)
        place += ", in collective " + std::to_string(at->collectivesEnded.value_or(0) + 1) + " for " +
                 std::to_string(std::llround(*at->waitS)) + " s";
    for (const std::string &line : {std::string("training thread (1 of 1, 1 lines)"), "  " + place})
        send(LogFrame{"info", line, "stack"});
}

std::string FrameSender::handleLine(std::string_view line) {
    if (const auto control = decodeControl(line)) {
        if (control->command == "stacks") {
            sayWhereItIs();
            return {};
        }
        if (control->command == "stop" && m_onStop)
            m_onStop(control->by);
        const std::lock_guard lock(m_mutex);
        if (control->command == "trace" && m_onTrace && control->steps)
            m_onTrace(*control->steps);
        return {};
    }
    const auto hello = decodeHello(line);
    if (hello)
        return {};
    if (!m_tcp.empty())
        return hello.error().message();
    std::fprintf(stderr, "lockstep-trainer: %s\n", printable(hello.error().message()).c_str());
    return {};
}

void FrameSender::remember(std::uint64_t rseq, std::string line) {
    m_recentBytes += line.size();
    m_recent.emplace_back(rseq, std::move(line));
    while (m_recentBytes > rememberedBytes && m_recent.size() > 1) {
        m_recentBytes -= m_recent.front().second.size();
        m_recent.pop_front();
    }
}

/// Reconnects to the listener and sends the hello; the listener answers with the first frame that it lacks. A file is just written to.
void FrameSender::tryAgain() {
    if (std::chrono::steady_clock::now() < m_nextTry)
        return;
    if (m_file) {
        m_down = false;
        return;
    }
    const auto host = m_host->take(std::chrono::steady_clock::now());
    if (!host)
        return; // not looked up yet
    auto link = connectToListener(m_tcp, *host, m_rank, againLimit);
    m_nextTry = std::chrono::steady_clock::now() + againEvery;
    if (!link)
        return;
    m_out = std::move(link->fd);
    m_framer = LineFramer();
    m_bytes.clear();
    for (const auto &[rseq, line] : m_recent)
        if (rseq >= link->nextRseq)
            m_bytes += line;
    m_down = false;
    std::fprintf(stderr, "lockstep-trainer: frames of rank %d are sent again\n", m_rank);
}

void FrameSender::lose(const std::string &why) {
    if (m_file) {
        m_down = true;
        m_nextTry = std::chrono::steady_clock::now() + againEvery;
        if (!std::exchange(m_reportedFailure, true))
            std::fprintf(stderr,
                         "lockstep-trainer: frames of rank %d can't be written: %s; training goes on, and they will be "
                         "tried again\n",
                         m_rank, printable(why).c_str());
        return;
    }
    m_bytes.clear();
    if (!m_tcp.empty()) {
        m_down = true;
        m_out.close();
        m_nextTry = std::chrono::steady_clock::now() + againEvery;
        std::fprintf(stderr, "lockstep-trainer: the link to %s is lost: %s; training goes on, and it will reconnect\n",
                     m_tcp.c_str(), printable(why).c_str());
        return;
    }
    m_lost = true;
    std::fprintf(stderr, "lockstep-trainer: frames of rank %d are no longer sent: %s; training goes on\n", m_rank,
                 printable(why).c_str());
}

} // namespace lockstep::trainer

#include "trainer/agent/run_journal.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

namespace lockstep::agent {

namespace {
constexpr std::size_t tailLimit = 4u << 20;
constexpr std::size_t tailLimitWhenDiskIsFull = 64u << 20;
constexpr std::uint64_t indexEvery = 256;
} // namespace

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

RunJournal::RunJournal(LogWriter writer, const Clock &clock, std::string path)
    : m_writer(std::move(writer)), m_clock(clock), m_path(std::move(path)),
      m_readFd(::open(m_path.c_str(), O_RDONLY | O_CLOEXEC)), m_tailFirst(m_writer.nextSeq()), m_index{0} {
    m_syncThread = std::thread([this] { syncLoop(); });
    pthread_setname_np(m_syncThread.native_handle(), "lockstep-sync");
}

Result<std::unique_ptr<RunJournal>> RunJournal::open(FileSystem &fs, const Clock &clock, const std::string &path,
                                                     int node, const std::string &runId, const std::string &host) {
    Frame header;
    header.monoNs = clock.monoNs();
    header.wallUs = clock.wallUs();
    HeaderFrame body;
    body.run = runId;
    body.host = host;
    header.body = body;
    auto writer = LogWriter::open(fs, path, node, header);
    if (!writer)
        return fail(writer.error());
    return std::unique_ptr<RunJournal>(new RunJournal(std::move(*writer), clock, path));
}

RunJournal::~RunJournal() {
    {
        const std::lock_guard lock(m_mutex);
        m_stopSync = true;
    }
    m_wake.notify_one();
    m_syncThread.join();
}

void RunJournal::append(Frame frame) {
    frame.monoNs = m_clock.monoNs();
    frame.wallUs = m_clock.wallUs();
    appendLine(encode(frame));
}

void RunJournal::append(FrameBody body, std::optional<int> rank) {
    Frame frame;
    frame.rank = rank;
    frame.body = std::move(body);
    append(std::move(frame));
}

void RunJournal::appendLine(std::string_view encoded) {
    const std::uint64_t seq = m_writer.nextSeq();
    if (seq % indexEvery == 0 && seq / indexEvery == m_index.size())
        m_index.push_back(m_writer.bytes());
    remember(m_writer.append(encoded));
}

void RunJournal::remember(std::string sealed) {
    m_tailBytes += sealed.size();
    m_tail.push_back(std::move(sealed));
    const std::size_t limit = m_writer.behind() ? tailLimitWhenDiskIsFull : tailLimit;
    while (m_tailBytes > limit && m_tail.size() > 1) {
        m_tailBytes -= m_tail.front().size();
        m_tail.pop_front();
        ++m_tailFirst;
    }
}

void RunJournal::requestSync() {
    if (m_writer.behind())
        (void)m_writer.sync(); // tries to write what waits; the caller watches behind()
    {
        const std::lock_guard lock(m_mutex);
        m_syncWanted = true;
    }
    m_wake.notify_one();
}

void RunJournal::finish() {
    (void)m_writer.sync();
}

void RunJournal::syncLoop() {
    const Fd fd(::open(m_path.c_str(), O_RDONLY | O_CLOEXEC));
    std::unique_lock lock(m_mutex);
    while (!m_stopSync) {
        m_wake.wait(lock, [this] { return m_syncWanted || m_stopSync; });
        if (m_stopSync)
            return;
        m_syncWanted = false;
        lock.unlock();
        if (fd.valid())
            ::fdatasync(fd.get());
        lock.lock();
    }
}

void RunJournal::read(Position &position, std::string &out, std::size_t maxBytes) {
    while (out.size() < maxBytes && position.nextSeq < nextSeq()) {
        if (readFromMemory(position, out, maxBytes))
            continue;
        const Position before = position;
        readFromFile(position, out, maxBytes);
        if (position.nextSeq == before.nextSeq && position.offset == before.offset)
            return; // the rest waits for the disk
    }
}

bool RunJournal::readFromMemory(Position &position, std::string &out, std::size_t maxBytes) const {
    if (position.nextSeq < m_tailFirst || position.nextSeq >= m_tailFirst + m_tail.size())
        return false;
    position.offset.reset();
    while (out.size() < maxBytes && position.nextSeq < m_tailFirst + m_tail.size()) {
        out += m_tail[position.nextSeq - m_tailFirst];
        out += '\n';
        ++position.nextSeq;
    }
    return true;
}

void RunJournal::readFromFile(Position &position, std::string &out, std::size_t maxBytes) const {
    if (!position.offset) {
        const std::uint64_t entry = std::min<std::uint64_t>(position.nextSeq / indexEvery, m_index.size() - 1);
        position.offset = m_index[entry];
    }
    // Room for at least one of the longest lines; only whole lines are taken.
    std::string chunk(std::max(maxBytes, 2 * maxFrameBytes), '\0');
    const ssize_t n = ::pread(m_readFd.get(), chunk.data(), chunk.size(), static_cast<off_t>(*position.offset));
    if (n <= 0)
        return;
    std::string_view left(chunk.data(), static_cast<std::size_t>(n));
    for (auto end = left.find('\n'); end != std::string_view::npos && out.size() < maxBytes; end = left.find('\n')) {
        const std::string_view line = left.substr(0, end);
        left.remove_prefix(end + 1);
        *position.offset += end + 1;
        const auto seq = seqOfSealedLine(line);
        if (!seq || *seq < position.nextSeq)
            continue; // before the wanted one
        out.append(line).push_back('\n');
        position.nextSeq = *seq + 1;
    }
}

} // namespace lockstep::agent

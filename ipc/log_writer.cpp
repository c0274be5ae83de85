// SPDX-License-Identifier: MIT
#include <algorithm>
#include <deque>

#include "ipc/log.h"
#include "ipc/log_line_detail.h"

namespace lockstep {

namespace {

constexpr std::size_t maxWaitingBytes = 64 * 1024 * 1024;
/// How much is kept to be written again if a sync fails. Owners sync each second, so this is far more than needed.
constexpr std::size_t maxUnsyncedBytes = 16 * 1024 * 1024;

struct Recovered {
    std::uint64_t goodBytes = 0, nextSeq = 0;
};

/// Finds where the last good line ends. Bad lines after it are a torn tail; bad lines before it stay, for readers to
/// report.
Result<Recovered> recover(const std::string &path, std::string_view text, int node) {
    Recovered recovered;
    std::size_t end = text.rfind('\n'); // of the last whole line
    while (end != std::string_view::npos) {
        const std::size_t before = end == 0 ? std::string_view::npos : text.rfind('\n', end - 1);
        const std::size_t start = before == std::string_view::npos ? 0 : before + 1;
        if (const auto seq = detail::sealedSeq(text.substr(start, end - start))) {
            recovered.goodBytes = end + 1;
            recovered.nextSeq = *seq + 1;
            break;
        }
        end = before;
    }
    const bool mayBeOurs = text.empty() || text.front() == '\0' ||
                           text.starts_with(std::string_view("{\"type\":\"header\"").substr(0, text.size()));
    if (recovered.goodBytes == 0 && !mayBeOurs)
        return fail(Error::failed(path + " is not a log", "move it away; nothing was changed"));
    if (recovered.goodBytes == 0)
        return recovered;
    const std::string_view first = text.substr(0, text.find('\n'));
    if (!detail::sealedSeq(first))
        return recovered; // the header is damaged; each later line has its own crc
    const auto frame = Decoder().decode(first);
    const auto *header = frame ? std::get_if<HeaderFrame>(&frame->body) : nullptr;
    if (header && header->format > logFormat)
        return fail(Error::failed(path + " has log format " + std::to_string(header->format) + ", this version knows " +
                                      std::to_string(logFormat),
                                  "use a newer Lockstep; nothing was changed"));
    if (header && frame->node && *frame->node != node)
        return fail(Error::failed(path + " is the log of node " + std::to_string(*frame->node) + ", not of node " +
                                      std::to_string(node),
                                  "nothing was changed"));
    return recovered;
}

} // namespace

struct LogWriter::Impl {
    std::unique_ptr<AppendFile> file;
    int node = 0;
    std::uint64_t nextSeq = 0;
    std::uint64_t writtenBytes = 0;  ///< what the file should contain, in whole lines
    std::uint64_t syncedBytes = 0;   ///< of these, the bytes that are safe on the disk
    std::string unsynced;            ///< the bytes between the two
    bool unsyncedWhole = true;       ///< false when `unsynced` grew too large and was dropped
    std::deque<std::string> waiting; ///< lines, with their newlines, that could not be written
    std::size_t waitingBytes = 0;
    std::uint64_t lost = 0;

    void keep(std::string line) {
        // Keep the oldest lines: then there is one gap, at the end, of a known size.
        if (waitingBytes + line.size() > maxWaitingBytes) {
            ++lost;
            return;
        }
        waitingBytes += line.size();
        waiting.push_back(std::move(line));
    }

    Result<void> flush() {
        // A failed append that could not be undone has left part of a line.
        if (file->size() != writtenBytes)
            if (auto cut = file->truncate(writtenBytes); !cut)
                return cut;
        while (!waiting.empty()) {
            std::string block;
            std::size_t lines = 0;
            while (lines < waiting.size() && (lines == 0 || block.size() + waiting[lines].size() <= 64 * 1024))
                block += waiting[lines++];
            if (auto appended = file->append(block); !appended)
                return appended;
            wrote(block);
            waiting.erase(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(lines));
        }
        return {};
    }

    void wrote(std::string_view block) {
        writtenBytes += block.size();
        waitingBytes -= block.size();
        unsyncedWhole = unsyncedWhole && unsynced.size() + block.size() <= maxUnsyncedBytes;
        if (unsyncedWhole)
            unsynced += block;
        else
            unsynced = std::string();
    }

    /// After a failed fsync the kernel may have dropped pages although it marks them clean. The lines must be written
    /// again before the next sync means anything.
    void takeBackUnsynced() {
        if (!unsyncedWhole || unsynced.empty())
            return;
        std::deque<std::string> again;
        for (std::size_t from = 0; from < unsynced.size();) {
            const std::size_t end = unsynced.find('\n', from) + 1;
            again.push_back(unsynced.substr(from, end - from));
            from = end;
        }
        waitingBytes += unsynced.size();
        waiting.insert(waiting.begin(), std::make_move_iterator(again.begin()), std::make_move_iterator(again.end()));
        writtenBytes = syncedBytes;
        unsynced.clear();
    }

    void synced() {
        syncedBytes = writtenBytes;
        unsynced.clear();
        unsyncedWhole = true;
    }
};

LogWriter::LogWriter() : m_impl(std::make_unique<Impl>()) {}
LogWriter::~LogWriter() = default;
LogWriter::LogWriter(LogWriter &&) noexcept = default;
LogWriter &LogWriter::operator=(LogWriter &&) noexcept = default;

Result<LogWriter> LogWriter::open(FileSystem &fs, const std::string &path, int node, const Frame &header) {
    auto file = fs.openAppend(path);
    if (!file)
        return fail(std::move(file.error()));
    Recovered recovered;
    if ((*file)->size() > 0) {
        const auto text = fs.readAll(path, anySize);
        if (!text)
            return fail(text.error());
        const auto found = recover(path, *text, node);
        if (!found)
            return fail(found.error());
        recovered = *found;
        if (recovered.goodBytes != (*file)->size())
            if (auto cut = (*file)->truncate(recovered.goodBytes); !cut)
                return fail(std::move(cut.error()));
    }
    LogWriter writer;
    Impl &impl = *writer.m_impl;
    impl.file = std::move(*file);
    impl.node = node;
    impl.nextSeq = recovered.nextSeq;
    impl.writtenBytes = impl.syncedBytes = recovered.goodBytes;
    if (impl.nextSeq == 0) {
        writer.append(encode(header));
        if (auto synced = writer.sync(); !synced)
            return fail(std::move(synced.error()));
    }
    return writer;
}

std::string LogWriter::append(std::string_view encodedFrame) {
    Impl &impl = *m_impl;
    std::string line = sealLine(encodedFrame, impl.node, impl.nextSeq++);
    impl.keep(line + "\n");
    static_cast<void>(impl.flush()); // what fails keeps waiting; see behind()
    return line;
}

Result<void> LogWriter::sync() {
    Impl &impl = *m_impl;
    if (auto flushed = impl.flush(); !flushed)
        return flushed;
    if (auto synced = impl.file->sync(); !synced) {
        impl.takeBackUnsynced();
        return synced;
    }
    impl.synced();
    return {};
}

std::uint64_t LogWriter::nextSeq() const {
    return m_impl->nextSeq;
}
std::uint64_t LogWriter::bytes() const {
    return m_impl->writtenBytes + m_impl->waitingBytes;
}
bool LogWriter::behind() const {
    return !m_impl->waiting.empty();
}
std::uint64_t LogWriter::linesLost() const {
    return m_impl->lost;
}

} // namespace lockstep

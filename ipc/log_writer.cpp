// SPDX-License-Identifier: MIT
#include "ipc/line_file.h"
#include "ipc/log.h"

namespace lockstep {

namespace {

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
        std::optional<SealedPlace> place; // of the line's last record
        for (LineRecords records(text.substr(start, end - start)); records.next();)
            place = records.place();
        if (place) {
            recovered.goodBytes = end + 1;
            recovered.nextSeq = place->seq + 1;
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
    if (!placeOfSealedLine(first))
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
    LineFile file;
    int node = 0;
    std::uint64_t nextSeq = 0;
};

LogWriter::LogWriter(std::unique_ptr<Impl> impl) : m_impl(std::move(impl)) {}
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
    LogWriter writer(
        std::make_unique<Impl>(Impl{LineFile(std::move(*file), recovered.goodBytes), node, recovered.nextSeq}));
    if (recovered.nextSeq == 0) {
        writer.append(encode(header));
        if (auto synced = writer.sync(); !synced)
            return fail(std::move(synced.error()));
    }
    return writer;
}

std::string LogWriter::append(std::string_view encodedFrame) {
    Impl &impl = *m_impl;
    std::string line = sealLine(encodedFrame, impl.node, impl.nextSeq++);
    static_cast<void>(impl.file.add(line + "\n")); // what is lost is counted
    static_cast<void>(impl.file.flush());          // what fails keeps waiting; see behind()
    return line;
}

Result<void> LogWriter::sync() {
    return m_impl->file.sync();
}

LineFile LogWriter::release() && {
    return std::move(m_impl->file);
}

std::uint64_t LogWriter::nextSeq() const {
    return m_impl->nextSeq;
}
std::uint64_t LogWriter::bytes() const {
    return m_impl->file.bytes();
}
bool LogWriter::behind() const {
    return m_impl->file.behind();
}
std::uint64_t LogWriter::linesLost() const {
    return m_impl->file.linesLost();
}

} // namespace lockstep

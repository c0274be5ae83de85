// SPDX-License-Identifier: MIT
#include "trainer/agent/listen/frame_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <utility>

#include "ipc/regular_file.h"
#include "ipc/run_folder.h"
#include "trainer/agent/listen/listened_run.h"

namespace lockstep::agent {

namespace {
/// Of what was read and not passed on: of a file, and of all files. What more has been read is read again when its turn comes.
constexpr std::size_t chunkBytes = 1 << 20, leastChunkBytes = 4 << 10, ofAllBytes = 32 << 20;
constexpr std::uint64_t mostBytesARound = 64 << 20; ///< passed on; then it is looked for more files and lines
/// One poll lasts as long, or as many lines if those take longer; then others have their turn in the loop.
constexpr std::chrono::milliseconds longestPoll{5};
constexpr int linesALook = 32;
constexpr int mostReadsAFill = 64; ///< of a line without end; then it is the next file's turn

/// The process that made a frame, and when: no two are alike.
std::string makerOf(const Frame &frame) {
    const auto *state = std::get_if<StateFrame>(&frame.body);
    std::string maker = "rank " + std::to_string(frame.rank.value_or(0));
    if (state && !state->host.empty())
        maker += " on " + state->host.substr(0, longestReportedName);
    if (state && state->pid)
        maker += ", pid " + std::to_string(*state->pid);
    return maker + ", at " + std::to_string(frame.wallUs) + " us";
}

std::string tooManyFilesIn(const std::string &folder) {
    return folder + " has more than " + std::to_string(mostListenedRanks) +
           " .ndjson files, which is more than a run has ranks";
}
} // namespace

Result<FrameFiles> FrameFiles::open(const std::string &path, Handlers handlers) {
    namespace fs = std::filesystem;
    std::error_code ignored;
    const bool folder = fs::is_directory(path, ignored);
    if (!folder && !fs::exists(path, ignored))
        return fail(
            Error::badArgument("there is no file and no folder " + path, "give the one of the ranks' --frames"));
    const fs::path inside = folder ? fs::path(path) : fs::path(path).parent_path();
    if (fs::exists(inside / "config.json", ignored) && fs::exists(inside / "node-0.ndjson", ignored))
        return fail(Error::badArgument(inside.string() + " is the folder of a run that an agent keeps",
                                       "show it with LOCKSTEP_HOME set to the folder above its runs folder"));
    FrameFiles files(path, folder, std::move(handlers));
    if (!files.findFiles())
        return fail(Error::badArgument(tooManyFilesIn(path), "give the folder of one run's frames"));
    return files;
}

std::string_view FrameFiles::Place::line() const {
    return std::string_view(text).substr(next, text.find('\n', next) - next);
}

bool FrameFiles::poll() {
    using Time = std::chrono::steady_clock;
    m_skipped = false;
    if (m_heads.empty())
        beginRound();
    const Time::time_point until = Time::now() + longestPoll;
    int lines = 0;
    while (!m_heads.empty() && (lines == 0 || lines % linesALook != 0 || Time::now() < until)) {
        File &file = *m_heads.begin()->second;
        m_heads.erase(m_heads.begin());
        ++lines;
        if (file.second.waitingBytes > 0 && !fill(file.first, file.second))
            continue; // the file has become shorter since, or can't be opened now
        const std::string_view line = file.second.line();
        m_passed += line.size() + 1;
        m_handlers.onLine(line);
        moveTo(file.second, file.second.next + line.size() + 1);
        lineUp(file);
        if (m_passed >= mostBytesARound)
            m_heads.clear();
    }
    return lines > 0 || m_skipped;
}

void FrameFiles::beginRound() {
    findMoreFiles();
    m_passed = 0;
    for (File &file : m_places)
        lineUp(file);
}

void FrameFiles::lineUp(File &file) {
    if (!file.second.hasLine() && !fill(file.first, file.second))
        return;
    keepWithinBudget(file.second);
    m_heads.emplace(std::pair(file.second.wallUs, std::string_view(file.first)), &file);
}

void FrameFiles::keepWithinBudget(Place &place) {
    if (place.waitingBytes > 0 || m_heldBytes <= ofAllBytes)
        return;
    place.waitingBytes = place.text.size() - place.next;
    drop(place);
}

void FrameFiles::drop(Place &place) {
    m_heldBytes -= place.text.size();
    place.text.clear();
    place.text.shrink_to_fit();
    place.next = 0;
}

bool FrameFiles::behind() const {
    return std::ranges::any_of(m_places, [](const auto &file) { return file.second.hasLine(); });
}

RecordedFiles FrameFiles::source() const {
    RecordedFiles out;
    std::optional<std::int64_t> first;
    for (const auto &[file, place] : m_places) {
        out.bytes += place.size;
        if (place.begin.empty() || (first && place.beginWallUs >= *first))
            continue;
        first = place.beginWallUs;
        out.begin = place.begin;
    }
    return out;
}

void FrameFiles::lookAgain() {
    findMoreFiles();
    for (auto &[file, place] : m_places)
        if (place.begin.empty() && !place.hasLine() && fill(file, place))
            keepWithinBudget(place);
}

std::set<std::string> FrameFiles::begins() const {
    std::set<std::string> out;
    for (const auto &[file, place] : m_places)
        if (!place.begin.empty())
            out.insert(place.begin);
    return out;
}

/// False: there are too many, and only those found so far are read.
bool FrameFiles::findFiles() {
    namespace fs = std::filesystem;
    std::error_code error;
    if (!m_folder)
        m_places.try_emplace(m_path);
    else
        for (fs::directory_iterator entry(m_path, error), end; !error && entry != end; entry.increment(error)) {
            if (entry->path().extension() != ".ndjson")
                continue;
            const std::string file = entry->path().string();
            if (m_places.size() >= mostListenedRanks && !m_places.contains(file))
                return false;
            m_places.try_emplace(file);
        }
    return true;
}

void FrameFiles::findMoreFiles() {
    if (!findFiles() && !std::exchange(m_reportedTooMany, true))
        m_handlers.onRefused(tooManyFilesIn(m_path) + ": the others are not read");
}

/// Reads on in a file of which no line is held that was not passed on. Whether one is held now.
bool FrameFiles::fill(const std::string &file, Place &place) {
    drop(place);
    const std::uint64_t known = place.offset;
    place.offset -= std::exchange(place.waitingBytes, 0);
    // Opened for every read: over NFS that makes new data visible.
    const Result<Fd> fd = openRegular(file);
    if (!fd && !std::exchange(place.refused, true))
        m_handlers.onRefused(fd.error().what + ": its frames are not read");
    struct stat info {};
    if (!fd || ::fstat(fd->get(), &info) != 0)
        return false;
    if (static_cast<std::uint64_t>(info.st_size) < known) {
        place = {};
        m_handlers.onBegunAnew(file);
    }
    place.size = static_cast<std::uint64_t>(info.st_size);
    std::size_t most = std::clamp(ofAllBytes / m_places.size(), leastChunkBytes, chunkBytes);
    for (int i = 0; i < mostReadsAFill; ++i) {
        std::string text(most, '\0');
        const ssize_t n = ::pread(fd->get(), text.data(), most, static_cast<off_t>(place.offset));
        text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
        const auto last = text.rfind('\n');
        if (last == std::string::npos && text.size() >= maxFrameBytes) {
            place.offset =
                static_cast<std::uint64_t>(nextData(fd->get(), static_cast<off_t>(place.offset + text.size())));
            place.endless = m_skipped = true;
        } else if (last == std::string::npos && text.size() == most) {
            most = maxFrameBytes; // the line is longer than this file's share
        } else if (last == std::string::npos) {
            break; // the rest of the line has not been written yet
        } else {
            text.resize(last + 1);
            text.shrink_to_fit(); // of many files with a line each, the buffers would take far more than the lines
            place.text = std::move(text);
            m_heldBytes += place.text.size();
            place.offset += last + 1;
            moveTo(place, std::exchange(place.endless, false) ? place.text.find('\n') + 1 : 0);
            if (place.hasLine())
                return true;
            drop(place);
        }
    }
    return false;
}

/// The line that begins there is the next one, or if it is empty, the first one after it that isn't.
void FrameFiles::moveTo(Place &place, std::size_t next) {
    place.next = std::min(place.text.find_first_not_of('\n', next), place.text.size());
    if (!place.hasLine())
        return;
    place.wallUs = wallUsOf(place.line());
    if (!place.begin.empty())
        return;
    if (const auto frame = m_decoder.decode(place.line()); frame && frame->rank && frame->wallUs > 0) {
        place.begin = makerOf(*frame);
        place.beginWallUs = frame->wallUs;
    }
}

} // namespace lockstep::agent

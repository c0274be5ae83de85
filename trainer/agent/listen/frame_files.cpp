// SPDX-License-Identifier: MIT
#include "trainer/agent/listen/frame_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "ipc/frames.h"
#include "ipc/regular_file.h"

namespace lockstep::agent {

namespace {
constexpr std::size_t chunkBytes = 1 << 20;
constexpr int mostChunksAPoll = 64; ///< then it is the next file's turn
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
    return FrameFiles(path, folder, std::move(handlers));
}

bool FrameFiles::poll() {
    namespace fs = std::filesystem;
    std::error_code error;
    if (m_folder)
        for (fs::directory_iterator entry(m_path, error), end; !error && entry != end; entry.increment(error))
            if (entry->path().extension() == ".ndjson")
                m_places.try_emplace(entry->path().string());
    if (!m_folder)
        m_places.try_emplace(m_path);
    bool any = false;
    for (auto &[file, place] : m_places)
        any = readFile(file, place) || any;
    return any;
}

bool FrameFiles::readFile(const std::string &file, Place &place) {
    // Opened for every read: over NFS that makes new data visible.
    const Result<Fd> fd = openRegular(file);
    struct stat info {};
    if (!fd || ::fstat(fd->get(), &info) != 0)
        return false;
    if (static_cast<std::uint64_t>(info.st_size) < place.offset) {
        place = {};
        m_handlers.onBegunAnew(file);
    }
    bool any = false;
    std::string chunk;
    for (int i = 0; i < mostChunksAPoll; ++i) {
        chunk.resize(chunkBytes);
        const ssize_t n = ::pread(fd->get(), chunk.data(), chunk.size(), static_cast<off_t>(place.offset));
        if (n <= 0)
            return any;
        std::string_view left(chunk.data(), static_cast<std::size_t>(n));
        const auto last = left.rfind('\n');
        if (last == std::string_view::npos) {
            if (left.size() < maxFrameBytes)
                return any; // the rest of the line has not been written yet
            place.offset += left.size();
            place.endless = true;
            continue;
        }
        place.offset += last + 1;
        left = left.substr(0, last + 1);
        for (auto end = left.find('\n'); end != std::string_view::npos; end = left.find('\n')) {
            if (!place.endless && end > 0)
                m_handlers.onLine(left.substr(0, end));
            place.endless = false;
            left.remove_prefix(end + 1);
        }
        any = true;
    }
    return any;
}

} // namespace lockstep::agent

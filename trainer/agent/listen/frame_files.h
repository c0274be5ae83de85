// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "ipc/error.h"

namespace lockstep::agent {

/// Reads the files of frames that ranks write (--frames FOLDER or FILE) while they grow. The files are polled, because
/// on shared storage the kernel does not report what another machine wrote. In a folder, all files that end in .ndjson
/// are read.
class FrameFiles {
public:
    struct Handlers {
        std::function<void(std::string_view line)> onLine; ///< whole lines, each file's in order
        /// A file became shorter and is read again from its start.
        std::function<void(const std::string &file)> onBegunAnew;
    };
    /// BadArgument: no such file or folder, or the folder of a run that an agent keeps, which lockstepctl shows
    /// directly.
    static Result<FrameFiles> open(const std::string &path, Handlers handlers);

    /// Reads what is new and returns whether there was anything. Call it repeatedly.
    bool poll();
    [[nodiscard]] std::size_t files() const { return m_places.size(); }

private:
    struct Place {
        std::uint64_t offset = 0;
        bool endless = false; ///< skips to the next newline, because the line is longer than any frame
    };
    FrameFiles(std::string path, bool folder, Handlers handlers)
        : m_path(std::move(path)), m_folder(folder), m_handlers(std::move(handlers)) {}
    bool readFile(const std::string &file, Place &place);

    std::string m_path;
    bool m_folder;
    Handlers m_handlers;
    std::map<std::string, Place> m_places;
};

} // namespace lockstep::agent

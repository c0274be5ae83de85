// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "ipc/error.h"

namespace lockstep::agent {

/// Files of frames that ranks write (--frames FOLDER or FILE), read as they grow. Looked at, not watched: on shared storage
/// the kernel does not tell of what another machine wrote. A folder's files are those that end in .ndjson.
class FrameFiles {
public:
    struct Handlers {
        std::function<void(std::string_view line)> onLine; ///< whole lines, each file's in its order
        /// A file that became shorter is read again from its start.
        std::function<void(const std::string &file)> onBegunAnew;
    };
    /// BadArgument: no such file or folder, or a run's own folder, which lockstepctl shows as it is.
    static Result<FrameFiles> open(const std::string &path, Handlers handlers);

    /// Reads what is new; whether there was anything. Call it again and again.
    bool look();
    [[nodiscard]] std::size_t files() const { return m_places.size(); }

private:
    struct Place {
        std::uint64_t offset = 0;
        bool endless = false; ///< skips to the next newline: a line beyond all bounds
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

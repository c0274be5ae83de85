// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <string_view>

#include "ipc/file_system.h"

namespace lockstep::core {

/// The text of FOLDER/ID.json, a lab's or a forecast's record. Each begins with its id: one that was copied or linked to another
/// name is refused before it is parsed, since it may be large and there may be many.
[[nodiscard]] inline Result<std::string> readRecordFile(const std::string &folder, const std::string &id) {
    constexpr std::size_t beginning = 256;
    const std::string path = folder + "/" + id + ".json";
    Result<std::string> text = realFileSystem().readAll(path);
    if (text && std::string_view(*text).substr(0, beginning).find('"' + id + '"') == std::string_view::npos)
        return fail(Error::failed(path + " holds another record: it does not begin with " + id,
                                  "name the file after the id in it, or remove it"));
    return text;
}

} // namespace lockstep::core

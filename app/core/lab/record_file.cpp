// SPDX-License-Identifier: MIT
#include "lab/record_file.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "ipc/file_system.h"
#include "ipc/regular_file.h"

namespace lockstep::core {
namespace {

constexpr std::size_t recordBeginning = 256 << 10; ///< bytes: the places of 64 nodes, with long paths of agents

std::string recordPath(const std::string &folder, const std::string &id) {
    return folder + "/" + id + ".json";
}

Result<std::string> firstBytes(const std::string &path, std::size_t most) {
    const Result<Fd> file = openRegular(path);
    if (!file)
        return fail(file.error());
    std::string text(most, '\0');
    std::size_t size = 0;
    while (size < most) {
        const ssize_t got = ::read(file->get(), text.data() + size, most - size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail(Error::system("can't read " + path, errno));
        if (got == 0)
            break;
        size += std::size_t(got);
    }
    text.resize(size);
    return text;
}

/// Whether the text is an object whose first member is that key with that value, whatever white space is between them.
bool beginsWithId(std::string_view text, std::string_view idKey, const std::string &id) {
    const std::string key = '"' + std::string(idKey) + '"', value = '"' + id + '"';
    for (const std::string_view part :
         {std::string_view("{"), std::string_view(key), std::string_view(":"), std::string_view(value)}) {
        text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
        if (!text.starts_with(part))
            return false;
        text.remove_prefix(part.size());
    }
    return true;
}

} // namespace

Result<std::string> readRecordBeginning(const std::string &folder, std::string_view idKey, const std::string &id) {
    const std::string path = recordPath(folder, id);
    Result<std::string> text = firstBytes(path, recordBeginning);
    if (text && !beginsWithId(*text, idKey, id))
        return fail(Error::failed(path + " holds another record: it does not begin with {\"" + std::string(idKey) +
                                      "\": \"" + id + "\"",
                                  "name the file after the id in it, or remove it"));
    return text;
}

Result<std::string> readRecordFile(const std::string &folder, std::string_view idKey, const std::string &id) {
    if (const auto beginning = readRecordBeginning(folder, idKey, id); !beginning)
        return fail(beginning.error());
    return realFileSystem().readAll(recordPath(folder, id), largestRecordFile);
}

} // namespace lockstep::core

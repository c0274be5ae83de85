// SPDX-License-Identifier: MIT
#include "trainer/agent/listen/name_room.h"

#include <utility>

#include "ipc/json_writer.h"
#include "ipc/run_folder.h"

namespace lockstep::agent {

namespace {
std::size_t writtenBytes(const std::string &name) {
    return name.empty() ? 0 : JsonWriter().value(name).size();
}
} // namespace

bool NameRoom::put(std::string &kept, const std::string &name) {
    std::string shorter = name.substr(0, longestReportedName);
    if (shorter == kept)
        return true;
    leave(kept);
    kept.clear();
    const std::size_t bytes = writtenBytes(shorter);
    if (m_bytes + bytes > mostBytes)
        return false;
    m_bytes += bytes;
    kept = std::move(shorter);
    return true;
}

void NameRoom::leave(const std::string &kept) {
    m_bytes -= writtenBytes(kept);
}

} // namespace lockstep::agent

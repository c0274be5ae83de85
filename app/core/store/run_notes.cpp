// SPDX-License-Identifier: MIT
#include "store/run_notes.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <thread>

#include <nlohmann/json.hpp>

#include "ipc/documents.h"
#include "ipc/file_system.h"
#include "ipc/printable.h"
#include "ipc/run_title.h"
#include "ipc/unix_socket.h"

namespace lockstep::core {
namespace {

using Json = nlohmann::ordered_json;

Error damaged(const RunFolder &folder) {
    return Error::failed("the notes in " + folder.notes() + " can't be read: they are no JSON object of texts",
                         "correct the file, or remove it");
}

Result<Json> readObject(const RunFolder &folder) {
    std::error_code error;
    if (!std::filesystem::exists(folder.notes(), error))
        return Json::object();
    const Result<std::string> text = realFileSystem().readAll(folder.notes(), largestNotes);
    if (!text)
        return fail(text.error());
    Json json = documents::objectOrNull(*text);
    if (!json.is_object())
        return fail(damaged(folder));
    return json;
}

void tidy(std::vector<std::string> &tags) {
    std::sort(tags.begin(), tags.end());
    tags.erase(std::unique(tags.begin(), tags.end()), tags.end());
}

void tidy(RunNotes &notes) {
    notes.name = cutTitle(onOneLine(notes.name));
    tidy(notes.tags);
}

Result<RunNotes> fromObject(const Json &json, const RunFolder &folder) {
    RunNotes notes;
    try {
        notes.name = json.value("name", "");
        notes.tags = json.value("tags", std::vector<std::string>());
        notes.note = json.value("notes", "");
        notes.starred = json.value("starred", false);
        notes.alertsSeenUs = json.value("alerts_seen_us", std::int64_t{0});
    } catch (const Json::exception &) {
        return fail(damaged(folder));
    }
    tidy(notes);
    return notes;
}

template <class T> void put(Json &json, const char *key, const T &value, bool said) {
    if (said)
        json[key] = value;
    else
        json.erase(key);
}

} // namespace

Result<RunNotes> readRunNotes(const RunFolder &folder) {
    const Result<Json> json = readObject(folder);
    if (!json)
        return fail(json.error());
    return fromObject(*json, folder);
}

Result<RunNotes> changeRunNotes(const RunFolder &folder, const NotesChange &change) {
    const Fd place(::open(folder.path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!place.valid())
        return fail(Error::system("the run's folder " + folder.path + " can't be opened", errno));
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (::flock(place.get(), LOCK_EX | LOCK_NB) != 0) {
        if (errno == EWOULDBLOCK && std::chrono::steady_clock::now() < deadline)
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        else if (errno == EWOULDBLOCK)
            return fail(Error::failed("another process has held the run's folder " + folder.path + " for 5 s",
                                      "try again once it is done"));
        else if (errno != EINTR)
            return fail(Error::system("the run's folder " + folder.path + " can't be locked", errno));
    }
    Result<Json> json = readObject(folder);
    if (!json)
        return fail(json.error());
    Result<RunNotes> before = fromObject(*json, folder);
    if (!before)
        return before;
    RunNotes after = *before;
    change(after);
    tidy(after);
    if (after == *before)
        return before;
    put(*json, "name", after.name, !after.name.empty());
    put(*json, "tags", after.tags, !after.tags.empty());
    put(*json, "notes", after.note, !after.note.empty());
    put(*json, "starred", after.starred, after.starred);
    put(*json, "alerts_seen_us", after.alertsSeenUs, after.alertsSeenUs > 0);
    const std::string text = json->dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
    if (text.size() > largestNotes)
        return fail(Error::badArgument("the notes of this run would take " + std::to_string(text.size()) + " bytes",
                                       "write at most " + std::to_string(largestNotes) + ", tags and name included"));
    if (const Result<void> written = realFileSystem().writeAtomically(folder.notes(), text); !written)
        return fail(written.error());
    return before;
}

Result<std::vector<std::string>> tagsFrom(std::string_view text) {
    constexpr std::size_t longest = 64;
    std::vector<std::string> tags;
    for (std::size_t from = 0; from < text.size();) {
        const std::size_t end = std::min(text.find_first_of(", \t\n", from), text.size());
        const std::string tag(text.substr(from, end - from));
        from = end + 1;
        if (tag.empty())
            continue;
        const bool plain = std::none_of(tag.begin(), tag.end(), [](char c) {
            return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '(' || c == ')';
        });
        if (!plain || tag.size() > longest)
            return fail(Error::badArgument("\"" + tag.substr(0, longest) + "\" is no tag",
                                           "a tag is one word of at most 64 bytes, without quotes or brackets"));
        tags.push_back(tag);
    }
    tidy(tags);
    return tags;
}

std::string joinedTags(const std::vector<std::string> &tags) {
    std::string text;
    for (const std::string &tag : tags)
        text += (text.empty() ? "" : ", ") + tag;
    return text;
}

} // namespace lockstep::core

// SPDX-License-Identifier: MIT
#include "store/run_trash.h"

#include <algorithm>
#include <filesystem>

#include "ipc/clock.h"
#include "ipc/file_system.h"
#include "ipc/run_folder.h"
#include "ipc/unix_socket.h"

namespace lockstep::core {
namespace {

namespace fs = std::filesystem;
constexpr std::chrono::seconds quiet{60}; // a starting run writes something within this time

Result<void> moveFolder(const std::string &from, const std::string &to) {
    std::error_code error;
    if (fs::exists(to, error))
        return fail(Error::failed("can't move " + from + ": " + to + " is there already", "remove one of the two"));
    fs::rename(from, to, error);
    if (error)
        return fail(Error::failed("can't move " + from + " to " + to + ": " + error.message(),
                                  "check the folders' permissions"));
    return {};
}

/// Whether anything in the folder itself was written within `quiet`.
bool isFresh(const RunFolder &folder) {
    std::error_code error;
    const auto now = fs::file_time_type::clock::now();
    for (const std::string &path : {folder.path, folder.log(0)})
        if (const auto written = fs::last_write_time(path, error); !error && now - written < quiet)
            return true;
    return false;
}

std::vector<std::string> runIdsIn(const std::string &folder) {
    std::vector<std::string> ids;
    std::error_code error;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
        if (std::string name = at->path().filename().string(); isRunId(name))
            ids.push_back(std::move(name));
    std::sort(ids.begin(), ids.end());
    return ids;
}

/// Unix seconds of an id's own time, by Gregorian days.
std::int64_t secondsOf(const std::string &id) {
    const auto number = [&](std::size_t at, std::size_t length) { return std::stoi(id.substr(at, length)); };
    const auto day = std::chrono::sys_days(std::chrono::year(number(0, 4)) / number(4, 2) / number(6, 2));
    return std::chrono::seconds(day.time_since_epoch()).count() + number(9, 2) * 3600 + number(11, 2) * 60 +
           number(13, 2);
}

/// Unix seconds of what was last written into the folder itself; 0: unknown.
std::int64_t writtenAt(const std::string &folder) {
    std::error_code error;
    const auto at = fs::last_write_time(folder, error);
    return error ? 0
                 : std::chrono::duration_cast<std::chrono::seconds>(
                       fs::file_time_type::clock::to_sys(at).time_since_epoch())
                       .count();
}

/// When it was deleted, in Unix seconds: the latest that anything says of it, since a clock may have been wrong. No run is deleted before it
/// starts or is written to.
std::int64_t deletedAt(const TrashedRuns &batch) {
    const std::string place = trashFolder() + "/" + batch.id;
    std::int64_t latest = std::max(secondsOf(batch.id), writtenAt(place));
    for (const std::string &run : batch.runs)
        latest = std::max({latest, secondsOf(run), writtenAt(place + "/" + run)});
    return latest;
}

} // namespace

std::string trashFolder() {
    return dataHome() + "/trash";
}

Result<void> checkDeletable(const std::string &run) {
    std::error_code error;
    const RunFolder folder = runFolder(run);
    if (!isRunId(run) || !fs::exists(folder.path, error))
        return fail(Error::badArgument("there is no run " + run.substr(0, 80), "lockstepctl list shows them"));
    const RunStatus status = readRunStatus(folder);
    using Kind = RunStatus::Kind;
    if (FileLock::isHeld(folder.lock(0)))
        return fail(Error::failed("run " + run + " can't be deleted: it is " + status.sentence, "stop it first"));
    if ((status.kind == Kind::Starting || status.kind == Kind::Running) && isFresh(folder))
        return fail(Error::failed("run " + run + " can't be deleted: it is " + status.sentence,
                                  "stop it first, or wait a minute when nothing comes of it"));
    return {};
}

Result<TrashedRuns> trashRuns(const std::vector<std::string> &runs) {
    TrashedRuns batch;
    batch.id = makeRunId();
    if (runs.empty())
        return fail(Error::badArgument("no run is named", "name at least one to delete"));
    for (const std::string &run : runs) // before any moves
        if (const Result<void> may = checkDeletable(run); !may)
            return fail(may.error());
    const std::string place = trashFolder() + "/" + batch.id;
    if (const Result<void> made = realFileSystem().makeFolders(place); !made)
        return fail(made.error());
    for (const std::string &run : runs) {
        if (std::find(batch.runs.begin(), batch.runs.end(), run) != batch.runs.end())
            continue; // named twice
        if (const Result<void> moved = moveFolder(runFolder(run).path, place + "/" + run); !moved) {
            for (const std::string &back : batch.runs)
                (void)moveFolder(place + "/" + back, runFolder(back).path);
            std::error_code error;
            fs::remove(place, error);
            return fail(moved.error());
        }
        batch.runs.push_back(run);
    }
    return batch;
}

std::vector<TrashedRuns> listTrash() {
    std::vector<TrashedRuns> out;
    const std::vector<std::string> ids = runIdsIn(trashFolder());
    for (auto id = ids.rbegin(); id != ids.rend(); ++id)
        if (std::vector<std::string> runs = runIdsIn(trashFolder() + "/" + *id); !runs.empty())
            out.push_back({*id, std::move(runs)});
    return out;
}

Result<TrashedRuns> restoreTrashed(std::string_view id) {
    const TrashedRuns batch{std::string(id),
                            isRunId(id) ? runIdsIn(trashFolder() + "/" + std::string(id)) : std::vector<std::string>()};
    if (batch.runs.empty())
        return fail(Error::badArgument("the trash holds nothing called " + std::string(id.substr(0, 80)),
                                       "lockstepctl trash shows what it holds"));
    for (const std::string &run : batch.runs)
        if (const Result<void> back = restoreRun(run); !back)
            return fail(back.error());
    return batch;
}

Result<void> restoreRun(const std::string &run) {
    for (const TrashedRuns &batch : listTrash()) {
        if (std::find(batch.runs.begin(), batch.runs.end(), run) == batch.runs.end())
            continue;
        const std::string place = trashFolder() + "/" + batch.id;
        if (const Result<void> made = realFileSystem().makeFolders(runsFolder()); !made)
            return made;
        if (const Result<void> moved = moveFolder(place + "/" + run, runFolder(run).path); !moved)
            return moved;
        std::error_code error;
        fs::remove(place, error); // succeeds only when it is empty
        return {};
    }
    return fail(
        Error::badArgument("the trash holds no run " + run.substr(0, 80), "lockstepctl trash shows what it holds"));
}

Result<int> emptyTrash(std::chrono::seconds age) {
    int removed = 0;
    const std::int64_t now = SystemClock().wallUs() / 1'000'000;
    for (const TrashedRuns &batch : listTrash()) {
        if (age.count() > 0 && now - deletedAt(batch) < age.count())
            continue;
        std::error_code error;
        const std::string place = trashFolder() + "/" + batch.id;
        fs::remove_all(place, error);
        if (error)
            return fail(Error::failed("can't remove " + place + ": " + error.message(), "check its permissions"));
        removed += int(batch.runs.size());
    }
    return removed;
}

} // namespace lockstep::core

// SPDX-License-Identifier: MIT
#include "ipc/run_folder.h"

#include <pwd.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <random>
#include <utility>

#include <nlohmann/json.hpp>

#include "ipc/crc32c.h"
#include "ipc/documents.h"
#include "ipc/file_system.h"
#include "ipc/frames.h"
#include "ipc/host_name.h"
#include "ipc/printable.h"
#include "ipc/regular_file.h"
#include "ipc/socket_folder.h"
#include "ipc/unix_socket.h"

namespace lockstep {

namespace {

constexpr const char *agentDied = "failed: agent died";

std::string homeFolder() {
    if (auto home = environmentValue("HOME"); !home.empty())
        return home;
    const passwd *entry = ::getpwuid(::geteuid());
    return entry && entry->pw_dir ? entry->pw_dir : "/tmp";
}

/// Absolute and without "..", "." and slashes that change nothing, so that a folder has one name however it is written.
std::string withOneName(const std::string &path) {
    std::error_code noWorkingFolder;
    std::filesystem::path whole = std::filesystem::absolute(path, noWorkingFolder);
    if (noWorkingFolder)
        whole = path;
    whole = whole.lexically_normal();
    return whole.has_filename() ? whole.string() : whole.parent_path().string();
}

/// The K of all files node-K.SUFFIX in the folder, ascending.
std::vector<int> nodesWith(const RunFolder &folder, std::string_view suffix) {
    std::vector<int> nodes;
    std::error_code error;
    for (const auto &entry : std::filesystem::directory_iterator(folder.path, error)) {
        const std::string name = entry.path().filename().string();
        std::string_view digits = name;
        if (!digits.starts_with("node-") || !digits.ends_with(suffix) || digits.size() <= 5 + suffix.size())
            continue;
        digits = digits.substr(5, digits.size() - 5 - suffix.size());
        int node = 0;
        const auto [end, bad] = std::from_chars(digits.data(), digits.data() + digits.size(), node);
        if (bad == std::errc{} && end == digits.data() + digits.size() && node >= 0)
            nodes.push_back(node);
    }
    std::sort(nodes.begin(), nodes.end());
    return nodes;
}

RunStatus finished(RunResult result) {
    RunStatus status;
    status.kind = RunStatus::Kind::Finished;
    status.sentence = std::string(toString(result.state));
    if (!result.reason.empty() && result.state != RunState::Done)
        status.sentence += ": " + result.reason;
    status.result = std::move(result);
    return status;
}

/// The machine of the agent that writes this log, where that is another one than this; else empty.
std::string otherHost(const std::string &log) {
    std::string line;
    if (const Result<Fd> file = openRegular(log)) {
        line.resize(maxFrameBytes);
        line.resize(std::size_t(std::max<ssize_t>(0, ::pread(file->get(), line.data(), line.size(), 0))));
    }
    const auto frame = Decoder().decode(std::string_view(line).substr(0, line.find('\n')));
    const auto *header = frame ? std::get_if<HeaderFrame>(&frame->body) : nullptr;
    return header && header->host != hostName() ? header->host : std::string();
}

RunStatus unfinished(RunStatus::Kind kind, std::string sentence) {
    return {kind, std::nullopt, std::move(sentence)};
}

RunStatus unknownOn(const std::string &host) {
    return unfinished(RunStatus::Kind::Unknown, "as last seen on " + onOneLine(cutText(host, longestReportedName)) +
                                                    "; whether it still runs there is unknown");
}

/// An agent writes several lines a second, which NFS may show a minute late.
bool wasHeardLately(const RunFolder &folder) {
    constexpr std::chrono::minutes lately{2};
    std::error_code error;
    const auto written = std::filesystem::last_write_time(folder.log(0), error);
    return !error && std::filesystem::file_time_type::clock::now() - written < lately;
}

/// Of a run without a result whose agent is, or was, on another machine; nothing for one of this machine.
std::optional<RunStatus> statusElsewhere(const RunFolder &folder) {
    if (!isThere(folder.origin()))
        return std::nullopt;
    const Result<std::string> text = realFileSystem().readAll(folder.origin(), largestShortDocument);
    const documents::Json origin = text ? documents::objectOrNull(*text) : documents::Json();
    if (documents::valueIn(origin, "shared", false) && documents::valueIn(origin, "machine", "") == hostName())
        return std::nullopt;
    if (documents::valueIn(origin, "state", "") == agentDiedState)
        return unfinished(RunStatus::Kind::AgentDied, agentDied);
    if (wasHeardLately(folder))
        return unfinished(RunStatus::Kind::Running, "running elsewhere when last seen");
    return unknownOn(documents::valueIn(origin, "host", "another machine"));
}

} // namespace

std::string environmentValue(const char *name) {
    const char *value = std::getenv(name);
    return value ? value : "";
}

std::string dataHome() {
    if (auto home = environmentValue("LOCKSTEP_HOME"); !home.empty())
        return withOneName(home);
    // The XDG specification: ignore a relative path.
    if (auto xdg = environmentValue("XDG_DATA_HOME"); xdg.starts_with('/'))
        return withOneName(xdg + "/lockstep");
    return withOneName(homeFolder() + "/.local/share/lockstep");
}

std::string nodesFile() {
    return dataHome() + "/nodes.json";
}

std::string runsFolder() {
    return dataHome() + "/runs";
}
std::string experimentsFolder() {
    return dataHome() + "/experiments";
}

Result<std::string> runSocketPath(std::string_view runId, int node) {
    if (!isRunId(runId))
        return fail(Error::badArgument("\"" + std::string(runId.substr(0, 60)) + "\" is no run id",
                                       "it looks like 20260102T030405Z-89abcdef"));
    const std::string name = std::string(runId) + (node > 0 ? "." + std::to_string(node) : "") + ".sock";
    return socketFolderOf(name) + "/" + name;
}

std::string makeRunId(const Clock &clock, std::uint32_t random) {
    const std::time_t seconds = clock.wallUs() / 1'000'000;
    std::tm utc{};
    ::gmtime_r(&seconds, &utc);
    std::array<char, 32> text{};
    std::strftime(text.data(), text.size(), "%Y%m%dT%H%M%SZ-", &utc);
    return text.data() + crcText(random);
}

std::string makeRunId() {
    std::uint32_t random = 0;
    if (::getrandom(&random, sizeof random, 0) != static_cast<ssize_t>(sizeof random))
        random = std::random_device{}();
    return makeRunId(SystemClock{}, random);
}

bool isRunId(std::string_view text) {
    static constexpr std::string_view shape = "ddddddddTddddddZ-xxxxxxxx";
    if (text.size() != shape.size())
        return false;
    for (std::size_t i = 0; i < shape.size(); ++i) {
        const char c = text[i];
        const bool digit = c >= '0' && c <= '9';
        const bool fits = shape[i] == 'd' ? digit : shape[i] == 'x' ? digit || (c >= 'a' && c <= 'f') : c == shape[i];
        if (!fits)
            return false;
    }
    return true;
}

RunFolder runFolder(std::string_view runId) {
    if (!isRunId(
            runId)) // the last defence: what isn't an id leads to no folder, and nothing can be made below a device
        return {"/dev/null/no-run"};
    return {runsFolder() + "/" + std::string(runId)};
}

std::vector<int> nodesIn(const RunFolder &folder) {
    return nodesWith(folder, ".ndjson");
}

int ownNode(const RunFolder &folder) {
    const std::vector<int> nodes = nodesWith(folder, ".lock");
    return nodes.empty() ? 0 : nodes.front();
}

RunStatus readRunStatus(const RunFolder &folder) {
    using Kind = RunStatus::Kind;
    std::string unreadable, readStamp;
    const auto readResult = [&]() -> std::optional<RunResult> {
        std::error_code ignored; // a link that leads nowhere, or to itself, is there and says nothing
        if (std::filesystem::symlink_status(folder.result(), ignored).type() == std::filesystem::file_type::not_found)
            return std::nullopt;
        const std::string stamp = fileStamp(folder.result());
        if (!stamp.empty() && stamp == std::exchange(readStamp, stamp))
            return std::nullopt;
        auto result = readRunResult(folder);
        if (result)
            return std::move(*result);
        unreadable = result.error().message();
        return std::nullopt;
    };
    if (auto result = readResult())
        return finished(std::move(*result));
    const int own = ownNode(folder);
    const bool alive = FileLock::isHeld(folder.lock(own));
    if (alive)
        return isThere(folder.log(own)) ? unfinished(Kind::Running, "running") : unfinished(Kind::Starting, "starting");
    // The agent may have written its result and released the lock since we checked.
    if (auto result = readResult())
        return finished(std::move(*result));
    if (!unreadable.empty())
        return unfinished(Kind::Unknown, "how it ended is unknown, since result.json can't be used: " + unreadable);
    if (auto elsewhere = statusElsewhere(folder))
        return std::move(*elsewhere);
    if (!isThere(folder.lock(own)))
        return unfinished(Kind::Starting, "starting");
    // A free lock says nothing in a copy that rsync or cp, say, has made: the agent holds another file.
    if (const std::string host = otherHost(folder.log(own)); !host.empty())
        return unknownOn(host);
    if (FileLock::isCopy(folder.lock(own)))
        return unfinished(Kind::Unknown, "as last seen; its lock file is not the one that its agent locked, as in a "
                                         "copy: whether it still runs is unknown");
    return unfinished(Kind::AgentDied, agentDied);
}

std::optional<double> viewersShare(const Watching &watching) {
    if (!watching.viewersCpuS || !(watching.watchedS > 0))
        return std::nullopt;
    return *watching.viewersCpuS / watching.watchedS;
}

bool isScript(const RunRecord &record) {
    if (record.command.empty()) // lockstep-trainer says all its settings
        return record.claims.known.has_value();
    return std::filesystem::path(record.command.front()).filename() != "lockstep-trainer";
}

bool isStartedElsewhere(const RunRecord &record) {
    return std::ranges::all_of(record.machines, [](const MachineRecord &machine) {
        MachineRecord named;
        named.node = machine.node;
        named.host = machine.host;
        return machine == named;
    });
}

std::string scriptFolder(const RunRecord &record) {
    const bool absolute = std::ranges::any_of(
        record.command, [](const std::string &word) { return word.starts_with('/') && word.ends_with(".py"); });
    return isScript(record) && !absolute ? record.folder : std::string();
}

std::optional<int> soleFurtherNode(const RunRecord &record) {
    if (record.machines.empty())
        return std::nullopt;
    const int lowest = std::ranges::min(record.machines, {}, &MachineRecord::node).node;
    return lowest > 0 ? std::optional(lowest) : std::nullopt;
}

} // namespace lockstep

// SPDX-License-Identifier: MIT
#include "follow/remote_copy.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <utility>

#include <nlohmann/json.hpp>
#include <QFile>
#include <QSysInfo>
#include <QTimer>

#include "base/command_request.h"
#include "ipc/documents.h"
#include "ipc/file_system.h"
#include "ipc/log.h"
#include "ipc/logging.h"
#include "ipc/regular_file.h"

namespace lockstep::core {
namespace {

constexpr qint64 largestStatus =
    qint64(recordLimits.bytes + resultLimits.bytes) + (1 << 20); ///< both, and its sentence
constexpr std::uint64_t largestRecord = 2 << 20;                 ///< that of 1,200 ranks on 64 nodes has 0.4 MiB
constexpr std::chrono::seconds statusLimit{60};
constexpr std::size_t mostOpenLogs = 64; ///< of a run's 4,096: descriptors are few

documents::Json readOrigin(const RunFolder &folder) {
    if (!QFile::exists(QString::fromStdString(folder.origin())))
        return {};
    const Result<std::string> text = realFileSystem().readAll(folder.origin(), largestShortDocument);
    return text ? documents::objectOrNull(*text) : documents::Json();
}

std::string hostOfThisMachine() {
    return QSysInfo::machineHostName().toStdString();
}

} // namespace

bool isSharedFolder(const RunFolder &folder) {
    const documents::Json origin = readOrigin(folder);
    return documents::valueIn(origin, "shared", false);
}

RemoteCopy::RemoteCopy(RunFolder folder, std::string run, CommandPrefix prefix, QObject *parent)
    : QObject(parent), m_folder(std::move(folder)), m_run(std::move(run)), m_prefix(std::move(prefix)),
      m_room(m_folder.path) {}

RemoteCopy::~RemoteCopy() {
    flush();
    endWithoutWaiting(std::move(m_fetch));
}

Result<void> RemoteCopy::open() {
    FileSystem &files = realFileSystem();
    const documents::Json before = readOrigin(m_folder);
    const std::string host = documents::valueIn(before, "host", "");
    if (isRunsOwn() || (host.empty() && hasDocuments()))
        return fail(Error::failed(m_folder.path + " is the run's own folder, seen from here"));
    if (!host.empty() && host != m_prefix.host)
        return fail(
            Error::failed("run " + m_run + " was copied from " + host + ", and " + m_prefix.host + " names it, too",
                          "if both are one machine, remove the copy: " + m_folder.path));
    if (const Result<void> made = files.makeFolders(m_folder.path); !made)
        return made;
    Result<FileLock> lock = FileLock::acquire(m_folder.path + "/copy.lock");
    if (!lock)
        return fail(lock.error());
    m_lock = std::move(*lock);
    if (const Result<void> written = writeOrigin(documents::valueIn(before, "state", "")); !written)
        return written;
    if (!logOf(0))
        return fail(Error::failed("the copy " + m_folder.log(0) + " can't be written"));
    for (const int node : nodesIn(m_folder)) // their last lines may be torn, too; they are read before new lines arrive
        logOf(node);
    return {};
}

Result<void> RemoteCopy::writeOrigin(const std::string &state) const {
    nlohmann::ordered_json origin = {{"prefix", m_prefix.words}, {"host", m_prefix.host}, {"agent", m_prefix.agent}};
    if (state == agentDiedState)
        origin["state"] = state;
    return realFileSystem().writeAtomically(m_folder.origin(), origin.dump() + "\n");
}

void RemoteCopy::keepThatAgentDied() {
    if (!m_lock)
        return;
    if (const Result<void> written = writeOrigin(agentDiedState); !written)
        logWarning("that the agent of run " + m_run + " died is not kept: " + written.error().message());
}

/// On storage that this machine shares with the run's, or by an ssh name of this machine.
bool RemoteCopy::isRunsOwn() const {
    if (isSharedFolder(m_folder))
        return true;
    std::error_code ignored;
    const auto nodes = nodesIn(m_folder);
    return std::filesystem::exists(m_folder.lock(0), ignored) ||
           std::ranges::any_of(nodes, [&](int node) { return std::filesystem::exists(m_folder.lock(node), ignored); });
}

/// A copy has its origin before anything else of the run.
bool RemoteCopy::hasDocuments() const {
    return isThere(m_folder.config()) || isThere(m_folder.result()) || !nodesIn(m_folder).empty();
}

RemoteCopy::Log *RemoteCopy::logOf(int node) {
    if (const auto found = m_logs.find(node); found != m_logs.end())
        return found->second ? &*found->second : nullptr;
    auto &kept = m_logs[node];
    Result<Fd> file = openLog(node);
    if (!file) {
        logWarning("the copy " + m_folder.log(node) + " can't be written: " + file.error().message());
        return nullptr;
    }
    // Remove a torn last line, so that the next one starts on a new line.
    const off_t size = ::lseek(file->get(), 0, SEEK_END), tail = std::min<off_t>(size, 2 * off_t(maxFrameBytes));
    std::string end(std::size_t(std::max<off_t>(tail, 0)), '\0');
    end.resize(std::size_t(std::max<ssize_t>(::pread(file->get(), end.data(), end.size(), size - tail), 0)));
    const off_t whole = size - tail + off_t(end.rfind('\n') + 1);
    if (whole != size && ::ftruncate(file->get(), whole) != 0) {
        logWarning("the copy " + m_folder.log(node) + " can't be cut after its last whole line");
        return nullptr;
    }
    kept.emplace(Log{std::move(*file), whole, {}});
    return &*kept;
}

void RemoteCopy::append(std::string_view line) {
    constexpr std::size_t mostWaiting = 64 * 1024;
    const auto place = m_lock && !m_diskFull ? placeOfSealedLine(line) : std::nullopt;
    Log *log = place ? logOf(place->node) : nullptr;
    if (!log)
        return;
    log->waiting.append(line).push_back('\n');
    if (log->waiting.size() > mostWaiting)
        write(place->node, *log);
}

Result<Fd> RemoteCopy::openLog(int node) {
    if (m_openLogs >= mostOpenLogs) {
        for (auto &[other, log] : m_logs)
            if (log)
                log->file = Fd();
        m_openLogs = 0;
    }
    ++m_openLogs;
    return openToWrite(m_folder.log(node), O_RDWR);
}

void RemoteCopy::warnOfEnd(const std::string &why) const {
    logWarning("the copy of run " + m_run + " ends here: " + why);
}

void RemoteCopy::end(int node, const std::string &why) {
    warnOfEnd(why);
    m_logs[node].reset();
}

/// Where there is no room for so much more, the whole copy ends.
bool RemoteCopy::goesOn(std::size_t bytes) {
    if (m_diskFull || m_room.take(bytes))
        return !m_diskFull;
    m_diskFull = true;
    for (auto &[node, log] : m_logs)
        log.reset();
    warnOfEnd("the disk under " + m_folder.path + " is nearly full: free some space, then follow the run again");
    return false;
}

void RemoteCopy::write(int node, Log &log) {
    if (log.waiting.empty() || !goesOn(log.waiting.size()))
        return;
    if (!log.file.valid()) {
        Result<Fd> file = openLog(node);
        if (!file)
            return end(node, file.error().message());
        struct stat status {};
        if (::fstat(file->get(), &status) != 0 || status.st_size != log.size)
            return end(node, "something else has changed " + m_folder.log(node));
        log.file = std::move(*file);
    }
    std::string_view left = log.waiting;
    while (!left.empty()) {
        const ssize_t n =
            ::pwrite(log.file.get(), left.data(), left.size(), log.size + off_t(log.waiting.size() - left.size()));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            const Error why = Error::system("can't write " + m_folder.log(node), errno);
            (void)!::ftruncate(log.file.get(), log.size);
            return end(node, why.message());
        }
        left.remove_prefix(std::size_t(n));
    }
    log.size += off_t(log.waiting.size());
    log.waiting.clear();
}

void RemoteCopy::flush() {
    for (auto &[node, log] : m_logs)
        if (log)
            write(node, *log);
}

void RemoteCopy::fetchStatus(std::function<void(const Status &)> done) {
    if (m_fetch) { // its answer may be older than this request
        m_next = std::move(done);
        return;
    }
    m_fetch = std::make_unique<QProcess>();
    boundOutput(*m_fetch, largestStatus);
    QTimer::singleShot(statusLimit, m_fetch.get(), &QProcess::kill); // which counts as no answer
    QStringList words;
    for (const std::string &word : agentCommand(m_prefix, {"status", m_run}))
        words << QString::fromStdString(word);
    const auto answer = [this, done](bool good) {
        Status status;
        status.tooLong = m_fetch->bytesAvailable() > largestStatus;
        if (good && !status.tooLong)
            takeStatus(m_fetch->readAllStandardOutput(), status);
        m_fetch.release()->deleteLater();
        if (m_next)
            fetchStatus(std::exchange(m_next, {}));
        done(status);
    };
    connect(m_fetch.get(), &QProcess::finished, this,
            [answer](int code, QProcess::ExitStatus status) { answer(status == QProcess::NormalExit && code == 0); });
    connect(m_fetch.get(), &QProcess::errorOccurred, this, [answer](QProcess::ProcessError error) {
        if (error == QProcess::FailedToStart)
            answer(false);
    });
    m_fetch->setStandardInputFile(QProcess::nullDevice());
    m_fetch->start(words.takeFirst(), words);
}

void RemoteCopy::takeStatus(const QByteArray &text, Status &status) {
    const auto json = documents::objectOrNull({text.constData(), std::size_t(text.size())});
    const auto state = documents::optionalIn<std::string>(json, "state");
    if (!state)
        return;
    status.state = *state;
    status.sentence = documents::valueIn(json, "sentence", "");
    const auto take = [&](const char *key, const std::string &path,
                          std::uint64_t largest) -> std::optional<std::string> {
        if (!json.contains(key) || !json[key].is_object())
            return std::nullopt;
        const std::string document =
            json[key].dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
        if (document.size() > largest) {
            logWarning("the " + std::string(key) + " of run " + m_run + " on " + m_prefix.host + " has " +
                       std::to_string(document.size()) + " bytes and is not read: at most " + std::to_string(largest) +
                       " are");
            return std::nullopt;
        }
        if (m_lock && goesOn(document.size()))
            if (const auto kept = realFileSystem().writeAtomically(path, document); !kept)
                logWarning(kept.error().message());
        return document;
    };
    status.record = take("record", m_folder.config(), largestRecord);
    status.result = take("result", m_folder.result(), anySize);
}

std::optional<CommandPrefix> originOf(const RunFolder &folder) {
    const documents::Json json = readOrigin(folder);
    // The agent of a shared folder may run on this machine: then connect to its socket as usual.
    if (documents::valueIn(json, "shared", false) && documents::valueIn(json, "machine", "") == hostOfThisMachine())
        return std::nullopt;
    return prefixOfOrigin(json.dump());
}

} // namespace lockstep::core

#include "moc_remote_copy.cpp"

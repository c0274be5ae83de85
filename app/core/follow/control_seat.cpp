#include "follow/control_seat.h"

#include <chrono>
#include <csignal>
#include <thread>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <QFile>
#include <QSysInfo>

#include "ipc/file_system.h"
#include "ipc/unix_socket.h"
#include "launch/experiment.h"

namespace lockstep::core {
namespace {

using Json = nlohmann::ordered_json;
constexpr int lockTries = 50;
constexpr std::chrono::milliseconds lockPause{10};

std::string hostHere() {
    return QSysInfo::machineHostName().toStdString();
}

/// Boot and start time of a process: together they are never used twice.
std::string startOf(int pid) {
    const Result<std::string> stat = realFileSystem().readAll("/proc/" + std::to_string(pid) + "/stat");
    const Result<std::string> boot = realFileSystem().readAll("/proc/sys/kernel/random/boot_id");
    if (!stat || !boot)
        return {};
    const auto name = stat->rfind(')'); // a program's name may hold anything
    if (name == std::string::npos)
        return {};
    const QStringList fields = QString::fromStdString(stat->substr(name + 1)).split(u' ', Qt::SkipEmptyParts);
    constexpr int startTime = 19; // field 22 of proc(5), counted behind the name
    return boot->substr(0, boot->find('\n')) + "/" +
           (fields.size() > startTime ? fields[startTime].toStdString() : std::string());
}

std::string seatFile(std::string_view id) {
    return experimentFolder(id).path + "/control.json";
}

ControlHolder me(const std::string &by, std::uint64_t generation) {
    return {generation, by, hostHere(), int(::getpid()), startOf(::getpid())};
}

Result<void> write(std::string_view id, const ControlHolder &holder) {
    const Json json = {{"generation", holder.generation},
                       {"by", holder.by},
                       {"host", holder.host},
                       {"pid", holder.pid},
                       {"started", holder.started}};
    return realFileSystem().writeAtomically(seatFile(id),
                                            json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
}

/// Held for a moment by everybody who changes the seat.
Result<FileLock> lockSeat(std::string_view id) {
    const std::string path = experimentFolder(id).path + "/control.lock";
    Result<FileLock> lock = FileLock::acquire(path);
    for (int i = 0; i < lockTries && !lock; ++i) {
        std::this_thread::sleep_for(lockPause);
        lock = FileLock::acquire(path);
    }
    return lock;
}

Result<ControlHolder> sitDown(std::string_view id, const std::string &by, bool whoeverHolds) {
    const Result<FileLock> lock = lockSeat(id);
    if (!lock)
        return fail(lock.error());
    const std::optional<ControlHolder> before = controlHolder(id);
    if (before && (before->isMe() || (!whoeverHolds && before->alive())))
        return *before;
    const ControlHolder now = me(by, before ? before->generation + 1 : 1);
    if (const Result<void> written = write(id, now); !written)
        return fail(written.error());
    return now;
}

} // namespace

std::string ControlHolder::title() const {
    return by + " (pid " + std::to_string(pid) + ")";
}

bool ControlHolder::alive() const {
    if (pid <= 0)
        return false;
    return host != hostHere() || (!started.empty() && startOf(pid) == started);
}

bool ControlHolder::isMe() const {
    return pid == int(::getpid()) && host == hostHere() && started == startOf(pid);
}

std::optional<ControlHolder> controlHolder(std::string_view id) {
    const Result<std::string> text = realFileSystem().readAll(seatFile(id));
    if (!text)
        return std::nullopt;
    try {
        const Json json = Json::parse(*text);
        return ControlHolder{json.value("generation", std::uint64_t(0)), json.value("by", ""), json.value("host", ""),
                             json.value("pid", 0), json.value("started", "")};
    } catch (const std::exception &) {
        return std::nullopt; // damaged: as if nobody sat there
    }
}

Result<ControlHolder> claimControl(std::string_view id, const std::string &by) {
    return sitDown(id, by, false);
}

Result<ControlHolder> takeOverControl(std::string_view id, const std::string &by) {
    return sitDown(id, by, true);
}

void releaseControl(std::string_view id) {
    const Result<FileLock> lock = lockSeat(id);
    std::optional<ControlHolder> holder = controlHolder(id);
    if (!lock || !holder || !holder->isMe())
        return;
    holder->pid = 0; // the generation stays: what was asked under it stays refused once another sits
    (void)write(id, *holder);
}

} // namespace lockstep::core

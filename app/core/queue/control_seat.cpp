// SPDX-License-Identifier: MIT
#include "queue/control_seat.h"

#include <chrono>
#include <csignal>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <QFile>
#include <QSysInfo>
#include <QTimer>

#include "experiment/experiment.h"
#include "ipc/documents.h"
#include "ipc/file_system.h"
#include "ipc/messages.h"
#include "ipc/process_stat.h"
#include "ipc/unix_socket.h"

namespace lockstep::core {
namespace {

using Json = nlohmann::ordered_json;
constexpr int lockTries = 50;
constexpr std::chrono::milliseconds lockPause{10};

std::string hostHere() {
    return QSysInfo::machineHostName().toStdString();
}

/// A process's boot and start time: with the pid they identify it uniquely.
std::string startOf(int pid) {
    const auto stat = processStatOf(pid);
    const std::string boot = bootId();
    return stat && !boot.empty() ? boot + "/" + std::to_string(stat->startTicks) : std::string();
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

/// The lock held briefly by each process that changes the file.
Result<FileLock> lockSeat(std::string_view id) {
    return FileLock::acquire(experimentFolder(id).path + "/control.lock");
}

Result<ControlHolder> sitDown(std::string_view id, const std::string &by, bool fromAnyHolder) {
    const Result<FileLock> lock = lockSeat(id);
    if (!lock)
        return fail(lock.error());
    const std::optional<ControlHolder> before = controlHolder(id);
    if (before && (before->isMe() || (!fromAnyHolder && before->alive())))
        return *before;
    const ControlHolder now = me(by, before ? before->generation + 1 : 1);
    if (const Result<void> written = write(id, now); !written)
        return fail(written.error());
    return now;
}

/// Retries until the lock is free.
class TakeOverRequest final : public Request {
public:
    TakeOverRequest(std::string id, std::string by) : m_id(std::move(id)), m_by(std::move(by)) {
        connect(&m_again, &QTimer::timeout, this, [this] {
            const Result<ControlHolder> sat = sitDown(m_id, m_by, true);
            if (!sat && --m_triesLeft > 0)
                return;
            m_again.stop();
            finish(sat ? Result<void>() : fail(sat.error()));
        });
        m_again.start(lockPause);
    }

private:
    std::string m_id, m_by;
    QTimer m_again;
    int m_triesLeft = lockTries;
};

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
    const Result<std::string> text = realFileSystem().readAll(seatFile(id), largestShortDocument);
    if (!text)
        return std::nullopt;
    try {
        const Json json = documents::objectIn(*text);
        return ControlHolder{json.value("generation", std::uint64_t(0)), shortAsker(json.value("by", "")),
                             json.value("host", ""), json.value("pid", 0), json.value("started", "")};
    } catch (const std::exception &) {
        return std::nullopt; // damaged: as if nobody held control
    }
}

Result<ControlHolder> claimControl(std::string_view id, const std::string &by) {
    return sitDown(id, by, false);
}

Asked takeOverControl(std::string_view id, const std::string &by) {
    if (sitDown(id, by, true))
        return {};
    return std::make_unique<TakeOverRequest>(std::string(id), by);
}

void releaseControl(std::string_view id) {
    const Result<FileLock> lock = lockSeat(id);
    std::optional<ControlHolder> holder = controlHolder(id);
    if (!lock || !holder || !holder->isMe())
        return;
    holder->pid = 0; // keep the generation: requests made under it stay refused after the next change
    (void)write(id, *holder);
}

} // namespace lockstep::core

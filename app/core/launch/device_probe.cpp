// SPDX-License-Identifier: MIT
#include "launch/device_probe.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/command_request.h"
#include "ipc/documents.h"
#include "ipc/printable.h"

namespace lockstep::core {
namespace {

using Json = nlohmann::ordered_json;

} // namespace

Result<std::vector<SeenDevice>> seenDevicesFromJson(std::string_view text) {
    try {
        std::vector<SeenDevice> devices;
        const Json root = documents::objectIn(text);
        for (const Json &json : root.at("devices")) {
            SeenDevice device;
            device.device = json.at("device").get<std::string>();
            device.kind = json.at("kind").get<std::string>();
            device.name = printableName(json.value("name", ""));
            device.cores = json.value("cores", "");
            device.busy = documents::optionalIn<double>(json, "busy");
            device.memoryTotalBytes = documents::optionalIn<double>(json, "memory_total_bytes");
            device.memoryUsedBytes = documents::optionalIn<double>(json, "memory_used_bytes");
            for (const Json &user : json.at("users"))
                device.users.push_back({user.value("pid", 0), printableName(user.value("name", "")),
                                        documents::optionalIn<double>(user, "share"),
                                        documents::optionalIn<double>(user, "memory_bytes")});
            devices.push_back(std::move(device));
        }
        return devices;
    } catch (const std::exception &exception) {
        return fail(Error::failed(std::string("lockstep-agent's list of devices is not valid: ") + exception.what(),
                                  "update it to this version"));
    }
}

DeviceProbe::DeviceProbe(QObject *parent, std::chrono::milliseconds limit) : QObject(parent), m_patience(limit) {
    m_limit.setSingleShot(true);
    connect(&m_limit, &QTimer::timeout, this, [this] {
        m_late = true;
        m_process->kill();
    });
    renewProcess();
}

/// One for each snapshot: what is kept of its output is of this one only.
void DeviceProbe::renewProcess() {
    if (m_process) {
        m_process->disconnect();
        m_process.release()->deleteLater(); // we may be inside its signal
    }
    m_process = std::make_unique<QProcess>();
    boundOutput(*m_process, mostAnswerBytes);
    m_process->setStandardInputFile(QProcess::nullDevice());
    connect(m_process.get(), &QProcess::finished, this, &DeviceProbe::over);
    connect(m_process.get(), &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
        if (error != QProcess::FailedToStart)
            return;
        m_limit.stop();
        Q_EMIT failed(Error::failed(m_process->program().toStdString() + " can't be started",
                                    "build it with ./run, or set LOCKSTEP_AGENT"));
    });
}

DeviceProbe::~DeviceProbe() {
    endWithoutWaiting(std::move(m_process));
}

void DeviceProbe::start(const CommandPrefix &prefix, int coresPerDevice) {
    if (isRunning())
        return;
    CommandPrefix resolved = prefix;
    if (prefix.local() && prefix.agent == CommandPrefix().agent) {
        const Result<std::string> found = findAgent();
        if (!found)
            return Q_EMIT failed(found.error());
        resolved.agent = *found;
    }
    std::vector<std::string> command =
        agentCommand(resolved, {"devices", "--cores-per-device", std::to_string(std::max(1, coresPerDevice))});
    renewProcess();
    m_process->setProcessEnvironment(environmentWith(m_environment));
    if (!m_environment.empty())
        command = mayAsk(std::move(command));
    QStringList words;
    for (const std::string &word : command)
        words << QString::fromStdString(word);
    const QString program = words.takeFirst();
    m_late = false;
    m_limit.start(m_environment.empty() ? m_patience : 10 * m_patience); // somebody types a password
    m_process->start(program, words);
}

void DeviceProbe::over() {
    m_limit.stop();
    if (m_late)
        return Q_EMIT failed(
            Error::failed("the devices can't be listed: the agent did not answer in time", "try again"));
    if (m_process->exitStatus() != QProcess::NormalExit || m_process->exitCode() != 0) {
        const QString said = QString::fromUtf8(endOfStderr(*m_process)).trimmed().section(u'\n', -1);
        return Q_EMIT failed(Error::failed("the devices can't be listed: " +
                                           (said.isEmpty() ? "the agent did not answer" : said.toStdString())));
    }
    const Result<std::vector<SeenDevice>> devices =
        seenDevicesFromJson(m_process->readAllStandardOutput().toStdString());
    if (devices)
        Q_EMIT finished(*devices);
    else
        Q_EMIT failed(devices.error());
}

} // namespace lockstep::core

#include "moc_device_probe.cpp"

// SPDX-License-Identifier: MIT
#include "base/machine_facts.h"

#include <algorithm>
#include <dlfcn.h>

#include <nlohmann/json.hpp>
#include <QProcess>

#include "base/command_request.h"
#include "ipc/cores.h"
#include "ipc/documents.h"
#include "ipc/printable.h"

namespace lockstep::core {
namespace {

/// GPU UUIDs from NVML in PCI order; empty without library, driver or GPU. NVML is loaded, never linked.
std::vector<std::string> gpusByNvml() {
    std::vector<std::string> uuids;
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return uuids;
    using Device = void *;
    const auto init = reinterpret_cast<int (*)()>(dlsym(library, "nvmlInit_v2"));
    const auto count = reinterpret_cast<int (*)(unsigned *)>(dlsym(library, "nvmlDeviceGetCount_v2"));
    const auto handle = reinterpret_cast<int (*)(unsigned, Device *)>(dlsym(library, "nvmlDeviceGetHandleByIndex_v2"));
    const auto uuid = reinterpret_cast<int (*)(Device, char *, unsigned)>(dlsym(library, "nvmlDeviceGetUUID"));
    const auto shutdown = reinterpret_cast<int (*)()>(dlsym(library, "nvmlShutdown"));
    if (init && count && handle && uuid && shutdown && init() == 0) {
        unsigned devices = 0;
        if (count(&devices) == 0)
            for (unsigned i = 0; i < devices; ++i) {
                Device device = nullptr;
                char text[96] = {};
                if (handle(i, &device) == 0 && uuid(device, text, sizeof text) == 0)
                    uuids.emplace_back(text);
            }
        shutdown();
    }
    dlclose(library);
    return uuids;
}

/// Reads CUDA_VISIBLE_DEVICES as CUDA does: indices or UUID prefixes, up to the first invalid one.
std::vector<std::string> visible(const std::vector<std::string> &gpus, const QString &list) {
    std::vector<std::string> out;
    for (const QString &word : list.split(u',')) {
        const QString name = word.trimmed();
        bool isIndex = false;
        const int index = name.toInt(&isIndex);
        if (isIndex) {
            if (index < 0 || index >= int(gpus.size()))
                break;
            out.push_back(gpus[std::size_t(index)]);
            continue;
        }
        const auto found = std::find_if(gpus.begin(), gpus.end(), [&](const std::string &uuid) {
            return !name.isEmpty() && QString::fromStdString(uuid).startsWith(name);
        });
        if (found == gpus.end()) {
            if (name.startsWith(u"MIG-")) // a MIG slice has no index in this list; CUDA resolves it
                out.push_back(name.toStdString());
            else
                break;
        } else {
            out.push_back(*found);
        }
    }
    return out;
}

constexpr std::size_t mostGpus = 4096; ///< of another machine, which may say anything

/// From what `lockstep-agent machine` prints.
MachineFacts factsFrom(const nlohmann::json &machine) {
    MachineFacts facts;
    if (machine["allowed_cores"].is_string())
        facts.allowedCores = parseCores(machine["allowed_cores"].get<std::string>()).value_or(CoreList{});
    if (machine.contains("devices") && machine["devices"].is_array())
        for (const auto &device : machine["devices"])
            if (facts.gpuUuids.size() < mostGpus && device.is_object() &&
                documents::valueIn(device, "kind", "") == "cuda")
                facts.gpuUuids.push_back(documents::valueIn(device, "uuid", ""));
    return facts;
}

/// Why a machine's answer says nothing of it, where its stderr does not say.
std::string unlikeFacts(const QByteArray &out, int exitCode) {
    if (out.trimmed().isEmpty())
        return "it answered nothing, with exit code " + std::to_string(exitCode);
    const QByteArray first = out.trimmed().left(400).split('\n').front();
    return "instead of its facts alone it printed " + quotedWords({first.constData(), std::size_t(first.size())}) +
           "; what its shell prints at each start, as from .bashrc, must not come before them";
}

} // namespace

MachineFacts localMachineFacts() {
    MachineFacts facts;
    facts.allowedCores = allowedCores();
    static const std::vector<std::string> gpus = gpusByNvml(); // starting NVML takes up to seconds: once
    facts.gpuUuids = gpus;
    if (qEnvironmentVariableIsSet("CUDA_VISIBLE_DEVICES"))
        facts.gpuUuids = visible(facts.gpuUuids, qEnvironmentVariable("CUDA_VISIBLE_DEVICES"));
    return facts;
}

Result<MachineFacts> machineFacts(const CommandPrefix &prefix) {
    if (prefix.local())
        return localMachineFacts();
    QStringList words;
    for (const std::string &word : agentCommand(prefix, {"machine"}))
        words << QString::fromStdString(word);
    QProcess process;
    boundOutput(process, mostAnswerBytes);
    process.setStandardInputFile(QProcess::nullDevice());
    process.start(words.takeFirst(), words);
    const std::string tryIt = "try: ssh " + prefix.host + " true";
    if (!process.waitForFinished(15'000)) {
        const bool started = process.error() != QProcess::FailedToStart;
        process.kill();
        process.waitForFinished(1000);
        return fail(Error::badArgument(started ? prefix.host + " did not answer within 15 s" : "ssh can't be started",
                                       started ? tryIt : "install openssh-client", "host"));
    }
    const QByteArray out = process.readAllStandardOutput();
    const auto json = documents::objectOrNull({out.constData(), std::size_t(out.size())});
    if (process.exitCode() != 0 || !json.is_object() || !json.contains("allowed_cores")) {
        const std::string said = QString::fromUtf8(endOfStderr(process)).trimmed().toStdString();
        const std::string lines =
            said.empty() ? unlikeFacts(out, process.exitCode())
                         : QString::fromStdString(said).split(u'\n').join(QStringLiteral("; ")).toStdString();
        return process.exitCode() == 255
                   ? fail(Error::badArgument(prefix.host + " can't be reached: " + lines, tryIt, "host"))
                   : fail(Error::badArgument(prefix.host + " has no working lockstep-agent: " + lines,
                                             "install it there, or give its path with --remote-agent PATH", "host"));
    }
    return factsFrom(json);
}

int deviceLimit(const MachineFacts &facts, std::string_view device, int coresPerDevice) {
    if (device == "cuda")
        return int(facts.gpuUuids.size());
    return cpuDeviceCount(std::max(1, coresPerDevice), facts.allowedCores);
}

} // namespace lockstep::core

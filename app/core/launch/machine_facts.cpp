#include "launch/machine_facts.h"

#include <algorithm>
#include <dlfcn.h>

#include <QProcess>
#include <QRegularExpression>

#include "ipc/cores.h"

namespace lockstep::core {
namespace {

/// UUIDs by NVML in PCI order; none without library, driver or GPU. NVML is never linked.
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

/// CUDA's own reading of CUDA_VISIBLE_DEVICES: indices or UUID prefixes, ended by the first invalid one.
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
            if (name.startsWith(u"MIG-")) // a slice has no index in this list; CUDA knows it
                out.push_back(name.toStdString());
            else
                break;
        } else {
            out.push_back(*found);
        }
    }
    return out;
}

} // namespace

MachineFacts localMachineFacts() {
    MachineFacts facts;
    facts.allowedCores = allowedCores();
    facts.gpuUuids = gpusByNvml();
    if (qEnvironmentVariableIsSet("CUDA_VISIBLE_DEVICES"))
        facts.gpuUuids = visible(facts.gpuUuids, qEnvironmentVariable("CUDA_VISIBLE_DEVICES"));
    return facts;
}

Result<MachineFacts> machineFacts(const CommandPrefix &prefix) {
    if (prefix.local())
        return localMachineFacts();
    QStringList words;
    for (const std::string &word : prefix.words)
        words << QString::fromStdString(word);
    words << QStringLiteral("grep ^Cpus_allowed_list: /proc/self/status; nvidia-smi -L 2>/dev/null; true");
    QProcess process;
    process.setStandardInputFile(QProcess::nullDevice());
    process.start(words.takeFirst(), words);
    if (!process.waitForFinished(15'000)) {
        process.kill();
        process.waitForFinished(1000);
        return fail(Error::failed(prefix.host + " did not answer within 15 s", "try: ssh " + prefix.host + " true"));
    }
    const QString out = QString::fromUtf8(process.readAllStandardOutput());
    const auto cores =
        QRegularExpression(QStringLiteral("Cpus_allowed_list:\\s*([0-9,-]+)")).match(out).captured(1).toStdString();
    const Result<CoreList> allowed = parseCores(cores);
    if (cores.empty() || !allowed) {
        const QString said = QString::fromUtf8(process.readAllStandardError()).trimmed().section(u'\n', -1);
        return fail(Error::badArgument(prefix.host + " can't be reached: " + said.toStdString(),
                                       "try: ssh " + prefix.host + " true"));
    }
    MachineFacts facts;
    facts.allowedCores = *allowed;
    auto gpus = QRegularExpression(QStringLiteral("\\(UUID: (GPU-[0-9a-f-]+)\\)")).globalMatch(out);
    while (gpus.hasNext())
        facts.gpuUuids.push_back(gpus.next().captured(1).toStdString());
    return facts;
}

int deviceLimit(const MachineFacts &facts, std::string_view device, int coresPerDevice) {
    if (device == "cuda")
        return int(facts.gpuUuids.size());
    return cpuDeviceCount(std::max(1, coresPerDevice), facts.allowedCores);
}

} // namespace lockstep::core

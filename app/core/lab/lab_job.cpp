// SPDX-License-Identifier: MIT
#include "lab/lab_job.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include <nlohmann/json.hpp>
#include <QProcess>

#include "base/command_prefix.h"
#include "base/last_line.h"
#include "base/machine_facts.h"
#include "ipc/clock.h"
#include "ipc/documents.h"
#include "ipc/file_lock.h"
#include "ipc/file_system.h"
#include "ipc/run_folder.h"
#include "launch/attended_run.h"
#include "store/run_index.h"

namespace lockstep::core {
namespace {

using Json = nlohmann::ordered_json;

std::string lockFile() {
    return labsFolder() + "/lab.lock";
}
std::string progressFile() {
    return labsFolder() + "/progress.json";
}
std::string stopFile() {
    return labsFolder() + "/stop";
}
std::string consoleFile() {
    return labsFolder() + "/console.log";
}

void removeFile(const std::string &path) {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
}

/// Physical cores: hardware threads of one core count once.
int physicalCores() {
    std::ifstream file("/proc/cpuinfo");
    std::set<std::pair<std::string, std::string>> cores;
    std::string package;
    for (std::string line; std::getline(file, line);) {
        const auto value = [&] { return line.substr(std::min(line.size(), line.find(':') + 1)); };
        if (line.starts_with("physical id"))
            package = value();
        else if (line.starts_with("core id"))
            cores.emplace(package, value());
    }
    return int(cores.size());
}

/// Why NCCL was not measured, where it was not.
std::string whyNoNccl(int gpus, int ranks) {
    return "nccl needs " + std::to_string(ranks) + " GPUs for " + std::to_string(ranks) + " ranks, this machine has " +
           std::to_string(gpus);
}

/// Sizes for a network: caches play no part, so few are needed, and each is expensive where the network is slow.
constexpr const char *sizesOverNodes = "4,256,4096,16384,65536,131072,262144,524288,1048576,2097152,4194304,8388608,"
                                       "16777216,33554432,67108864";
constexpr const char *heldOutOverNodes = "81920,327680,1310720,5242880";
constexpr double mostOverNodesS = 0.5, limitOverNodesS = 60;

std::string number(double value) {
    return QString::number(value).toStdString();
}

int devicesOf(const std::vector<NodePlace> &nodes) {
    int devices = 0;
    for (const NodePlace &node : nodes)
        devices += int(node.devices.size());
    return devices;
}

} // namespace

Result<std::vector<int>> labRanks(const LabRequest &request) {
    const int there = request.nodes.empty() ? deviceLimit(localMachineFacts(), request.device, request.coresPerDevice)
                                            : devicesOf(request.nodes);
    std::vector<int> ranks = request.ranks;
    if (ranks.empty())
        for (int n = 2; n <= there; ++n)
            if (n == there || (n & (n - 1)) == 0) // 2, 4, 8, … and all there are
                ranks.push_back(n);
    const std::string who = request.nodes.empty() ? ", this machine has " : ", these nodes have ";
    const bool gpus = request.device == "cuda";
    const std::string devices = gpus ? "GPUs"
                                     : "devices of " + std::to_string(request.coresPerDevice) + " core" +
                                           (request.coresPerDevice > 1 ? "s" : "");
    const char *more = "fewer cores a device, or --ranks 2 --oversubscribe for a try";
    if (!request.nodes.empty())
        more = "name a device more: --nodes 'hostA%eth0:0;hostB%eth0:0'";
    else if (gpus)
        more = "measure CPU devices (--device cpu), or GPUs of several nodes (--nodes)";
    if (ranks.empty())
        return fail(Error::badArgument("a lab needs 2 " + devices + who + std::to_string(there), more));
    const char *fewer =
        gpus ? "name fewer: NCCL wants a GPU a rank" : "name fewer, or let them share by --oversubscribe";
    for (const int n : ranks)
        if (n > there && !(request.oversubscribe && !gpus && request.nodes.empty()))
            return fail(Error::badArgument(std::to_string(n) + " ranks need " + std::to_string(n) + " " + devices +
                                               who + std::to_string(there),
                                           fewer, "--ranks"));
    return ranks;
}

std::optional<LabProgress> runningLab() {
    if (!FileLock::isHeld(lockFile()))
        return std::nullopt;
    LabProgress progress;
    if (const auto text = realFileSystem().readAll(progressFile())) {
        const Json json = documents::objectOrNull(*text);
        if (json.is_object()) {
            progress.fraction = documents::valueIn(json, "fraction", 0.0);
            progress.what = documents::valueIn(json, "what", "");
            progress.startWallUs = documents::valueIn(json, "start_wall_us", std::int64_t{0});
            progress.nodes = nodesFromText(documents::valueIn(json, "nodes", "")).value_or(std::vector<NodePlace>());
        }
    }
    return progress;
}

Result<void> stopRunningLab() {
    return FileLock::isHeld(lockFile()) ? realFileSystem().writeAtomically(stopFile(), "stop\n") : Result<void>();
}

Result<void> startLabDetached(const LabRequest &request) {
    const auto ctl = findCtl();
    if (!ctl)
        return fail(ctl.error());
    if (auto made = realFileSystem().makeFolders(labsFolder()); !made)
        return made;
    QProcess process;
    process.setProgram(QString::fromStdString(*ctl));
    QStringList arguments{QStringLiteral("lab"), QStringLiteral("--device"), QString::fromStdString(request.device)};
    if (request.quick)
        arguments << QStringLiteral("--quick");
    if (!request.nodes.empty())
        arguments << QStringLiteral("--nodes") << QString::fromStdString(toText(request.nodes));
    process.setArguments(arguments);
    process.setStandardInputFile(QProcess::nullDevice());
    process.setStandardOutputFile(QProcess::nullDevice());
    process.setStandardErrorFile(QString::fromStdString(consoleFile()), QIODevice::Truncate);
    if (!process.startDetached())
        return fail(Error::failed("lockstepctl can't be started: " + process.errorString().toStdString(),
                                  "build it with ./run, or set LOCKSTEP_CTL"));
    return {};
}

std::string labConsoleTail() {
    const auto text = realFileSystem().readAll(consoleFile());
    return text ? lastLine(*text) : std::string();
}

LabJob::LabJob(QObject *parent) : QObject(parent) {
    m_timer.setInterval(200);
    connect(&m_timer, &QTimer::timeout, this, &LabJob::poll);
}

LabJob::~LabJob() {
    m_run.reset(); // waits for its agents, which end their ranks
    if (m_lock && !m_ended)
        removeFile(progressFile());
}

Result<void> LabJob::start(const LabRequest &request) {
    m_request = request;
    auto ranks = labRanks(request);
    if (!ranks)
        return fail(ranks.error());
    m_ranks = std::move(*ranks);
    for (const Error &mistake : checkNodes(configFor(m_ranks.back())))
        return fail(mistake);
    if (const auto agent = findAgent(); !agent && request.nodes.empty())
        return fail(agent.error());
    if (auto made = realFileSystem().makeFolders(labsFolder()); !made)
        return made;
    auto lock =
        takeLock(lockFile(), Error::failed("another lab measures this machine already", "wait for it, or stop it"));
    if (!lock)
        return fail(lock.error());
    m_lock = std::move(*lock);
    removeFile(stopFile());
    const MachineName machine = thisMachine();
    m_record.id = makeRunId();
    m_record.host = machine.host;
    m_record.cpuModel = machine.cpuModel;
    m_record.cores = physicalCores();
    m_record.lockstepVersion = LOCKSTEP_VERSION;
    m_record.startWallUs = SystemClock().wallUs();
    m_record.quick = request.quick;
    m_record.nodes = request.nodes;
    const int gpus = int(localMachineFacts().gpuUuids.size());
    if (request.device == "cpu" || (request.nodes.empty() && gpus < m_ranks.front()))
        m_record.notRun.push_back(request.nodes.empty() && gpus < m_ranks.front()
                                      ? whyNoNccl(gpus, m_ranks.front())
                                      : std::string("nccl: these ranks have CPU devices; add --device cuda"));
    if (request.nodes.empty())
        m_others.emplace();
    m_timer.start();
    next();
    return {};
}

RunConfig LabJob::configFor(int ranks) const {
    RunConfig config;
    config.method = Method::Ddp; // a rank a device
    config.batchPerDevice = 1;   // no batch: nothing is trained
    config.device = m_request.device;
    config.backend = m_request.backend;
    config.coresPerDevice = m_request.coresPerDevice;
    config.oversubscribe = m_request.oversubscribe;
    config.nodes = firstDevices(m_request.nodes, ranks);
    if (config.nodes.empty()) {
        config.devices.clear();
        for (int i = 0; i < ranks; ++i)
            config.devices.push_back(std::to_string(i));
    }
    return config;
}

void LabJob::next() {
    const int ranks = m_ranks[m_current];
    const RunConfig config = configFor(ranks);
    std::vector<std::string> words = trainerCommand("lab", config);
    words.insert(words.end(), {"--out", "-", "--progress"});
    if (!config.nodes.empty())
        words.insert(words.end(),
                     {"--sizes", sizesOverNodes, "--held-out", heldOutOverNodes, "--most-s", number(mostOverNodesS),
                      "--limit-s", number(limitOverNodesS / double(m_ranks.size()))});
    if (m_request.quick)
        words.insert(words.end(), {"--sweeps", "5", "--block-ms", "5"});
    const std::string name = "Lab, " + std::to_string(ranks) + " ranks";
    report(0, std::to_string(ranks) + " ranks: start");
    if (m_run)
        m_run.release()->deleteLater(); // this is its own signal
    m_run = std::make_unique<AttendedRun>();
    connect(m_run.get(), &AttendedRun::said, this, [this](int rank, const QByteArray &line) {
        if (rank == 0)
            take(line);
    });
    connect(m_run.get(), &AttendedRun::ended, this, &LabJob::over);
    m_run->start(config, std::move(words), name);
}

void LabJob::report(double share, const std::string &what) {
    const double fraction = (double(m_current) + share) / double(m_ranks.size());
    m_progress = {std::max(m_progress.fraction, fraction), // further sweeps may have been added
                  what, m_record.startWallUs, m_request.nodes};
    const Json json = {{"fraction", m_progress.fraction},
                       {"what", what},
                       {"start_wall_us", m_record.startWallUs},
                       {"nodes", toText(m_request.nodes)}};
    (void)realFileSystem().writeAtomically(progressFile(), json.dump() + "\n"); // a viewer then waits for the next one
    Q_EMIT progressed(m_progress);
}

/// A line of rank 0: a row, or its progress.
void LabJob::take(const QByteArray &line) {
    if (!line.startsWith('{') || m_gaveUp)
        return;
    const std::string_view text(line.constData(), std::size_t(line.size()));
    if (auto room = checkLabRoom(m_record, text); !room)
        return giveUp(room.error());
    const Json json = documents::objectOrNull(text);
    if (json.is_object() && documents::valueIn(json, "type", "") == "progress" &&
        documents::valueIn(json, "of", 0.0) > 0)
        return report(documents::valueIn(json, "done", 0.0) / documents::valueIn(json, "of", 1.0),
                      std::to_string(m_ranks[m_current]) +
                          " ranks: " + collectiveTitle(documents::valueIn(json, "what", "")));
    auto taken = takeLabLine(m_record, text);
    if (!taken && m_badLine) // a single one may be what a rank was writing when it died
        return giveUp(*m_badLine);
    if (!taken)
        m_badLine = taken.error();
}

/// Ends the lab without waiting for its run, which may go on talking.
void LabJob::giveUp(const Error &error) {
    m_gaveUp = true;
    m_run->stop();
    QMetaObject::invokeMethod(
        this, [this, error] { end(error); }, Qt::QueuedConnection); // this is the run's own signal
}

void LabJob::poll() {
    std::error_code ignored;
    if (!m_stopped && std::filesystem::exists(stopFile(), ignored))
        stop();
}

void LabJob::stop() {
    m_stopped = true;
    if (m_run)
        m_run->stop();
}

void LabJob::over(const std::optional<Error> &error) {
    if (m_gaveUp)
        return; // that sentence follows
    if (m_stopped)
        return end(Error::failed("the lab was stopped", "what it had measured is not kept"));
    if (error)
        return end(Error{"the lab with " + std::to_string(m_ranks[m_current]) + " ranks failed: " + error->message(),
                         {},
                         error->kind,
                         {}});
    if (m_badLine)
        return end(m_badLine);
    if (++m_current < m_ranks.size())
        return next();
    m_record.durationS = double(SystemClock().wallUs() - m_record.startWallUs) / 1e6;
    if (m_others)
        m_record.otherCores = m_others->cores();
    if (auto written = writeLab(m_record); !written)
        return end(written.error());
    end(std::nullopt);
}

void LabJob::end(std::optional<Error> error) {
    if (std::exchange(m_ended, true))
        return;
    m_timer.stop();
    for (const std::string &path : {progressFile(), stopFile()})
        removeFile(path);
    m_lock.reset();
    if (error)
        Q_EMIT failed(*error);
    else
        Q_EMIT finished();
}

} // namespace lockstep::core

#include "moc_lab_job.cpp"

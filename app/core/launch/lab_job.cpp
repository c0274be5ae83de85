#include "launch/lab_job.h"

#include <filesystem>
#include <fstream>
#include <set>

#include <nlohmann/json.hpp>

#include "ipc/clock.h"
#include "ipc/file_system.h"
#include "ipc/run_folder.h"
#include "launch/command_prefix.h"
#include "launch/machine_facts.h"
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

/// Physical cores: threads that share one count once.
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
    return "nccl takes a GPU a rank: " + std::to_string(ranks) + " ranks need " + std::to_string(ranks) +
           ", this machine has " + std::to_string(gpus);
}

} // namespace

Result<std::vector<int>> labRanks(const LabRequest &request) {
    const int there = deviceLimit(localMachineFacts(), request.device, request.coresPerDevice);
    std::vector<int> ranks = request.ranks;
    if (ranks.empty())
        for (int n = 2; n <= there; ++n)
            if (n == there || (n & (n - 1)) == 0) // 2, 4, 8, … and all there are
                ranks.push_back(n);
    const std::string devices = request.device == "cuda" ? "GPUs"
                                                         : "devices of " + std::to_string(request.coresPerDevice) +
                                                               " core" + (request.coresPerDevice > 1 ? "s" : "");
    if (ranks.empty())
        return fail(Error::badArgument("a lab needs 2 " + devices + ", this machine has " + std::to_string(there),
                                       "fewer cores a device, or --ranks 2 --oversubscribe for a try"));
    for (const int n : ranks)
        if (n > there && !(request.oversubscribe && request.device == "cpu"))
            return fail(Error::badArgument(std::to_string(n) + " ranks need " + std::to_string(n) + " " + devices +
                                               ", this machine has " + std::to_string(there),
                                           "name fewer, or let them share by --oversubscribe", "--ranks"));
    return ranks;
}

std::optional<LabProgress> runningLab() {
    if (!FileLock::isHeld(lockFile()))
        return std::nullopt;
    LabProgress progress;
    if (const auto text = realFileSystem().readAll(progressFile())) {
        const Json json = Json::parse(*text, nullptr, false);
        if (json.is_object()) {
            progress.fraction = json.value("fraction", 0.0);
            progress.what = json.value("what", "");
            progress.startWallUs = json.value("start_wall_us", std::int64_t{0});
        }
    }
    return progress;
}

Result<void> stopRunningLab() {
    return FileLock::isHeld(lockFile()) ? realFileSystem().writeAtomically(stopFile(), "stop\n") : Result<void>();
}

Result<void> startLabDetached(bool quick) {
    const auto ctl = findCtl();
    if (!ctl)
        return fail(ctl.error());
    if (auto made = realFileSystem().makeFolders(labsFolder()); !made)
        return made;
    QProcess process;
    process.setProgram(QString::fromStdString(*ctl));
    QStringList arguments{QStringLiteral("lab")};
    if (quick)
        arguments << QStringLiteral("--quick");
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
    return text ? QString::fromStdString(*text).trimmed().section(u'\n', -1).toStdString() : std::string();
}

LabJob::LabJob(QObject *parent) : QObject(parent) {
    m_process.setStandardInputFile(QProcess::nullDevice());
    connect(&m_process, &QProcess::readyReadStandardOutput, this, &LabJob::readOut);
    connect(&m_process, &QProcess::readyReadStandardError, this, &LabJob::readErr);
    connect(&m_process, &QProcess::finished, this, &LabJob::over);
    connect(&m_process, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
        if (error == QProcess::FailedToStart)
            end(Error::failed("lockstep-agent can't be started", "build it with ./run, or set LOCKSTEP_AGENT"));
    });
    m_timer.setInterval(200);
    connect(&m_timer, &QTimer::timeout, this, &LabJob::look);
}

LabJob::~LabJob() {
    m_process.disconnect(this);
    if (m_process.state() != QProcess::NotRunning) {
        m_process.terminate(); // the agent ends its ranks
        if (!m_process.waitForFinished(6000))
            m_process.kill();
        m_process.waitForFinished(500);
    }
    if (m_lock && !m_ended)
        removeFile(progressFile());
}

Result<void> LabJob::start(const LabRequest &request) {
    m_request = request;
    auto ranks = labRanks(request);
    if (!ranks)
        return fail(ranks.error());
    m_ranks = std::move(*ranks);
    const auto agent = findAgent();
    if (!agent)
        return fail(agent.error());
    m_agent = *agent;
    if (auto made = realFileSystem().makeFolders(labsFolder()); !made)
        return made;
    auto lock = FileLock::acquire(lockFile());
    if (!lock)
        return fail(Error::failed("another lab measures this machine already", "wait for it, or stop it"));
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
    const int gpus = int(localMachineFacts().gpuUuids.size());
    if (request.device == "cpu" || gpus < m_ranks.front())
        m_record.notRun.push_back(gpus < m_ranks.front()
                                      ? whyNoNccl(gpus, m_ranks.front())
                                      : std::string("nccl: these ranks have CPU devices; add --device cuda"));
    m_rowsFile = labsFolder() + "/" + m_record.id + ".rows";
    m_timer.start();
    next();
    return {};
}

void LabJob::next() {
    const int ranks = m_ranks[m_current];
    const std::string n = std::to_string(ranks), cores = std::to_string(m_request.coresPerDevice);
    std::vector<std::string> words = {
        "run",      "--nproc-per-node", n,           "--name",          "Lab, " + n + " ranks",
        "--",       "lockstep-trainer", "lab",       "--out",           m_rowsFile,
        "--device", m_request.device,   "--backend", m_request.backend, "--cores-per-device",
        cores};
    if (m_request.quick)
        words.insert(words.end(), {"--sweeps", "5", "--block-ms", "5"});
    if (m_request.oversubscribe)
        words.emplace_back("--oversubscribe");
    QStringList arguments;
    for (const std::string &word : words)
        arguments << QString::fromStdString(word);
    m_out.clear();
    m_err.clear();
    m_run.clear();
    tell(0, n + " ranks: start");
    m_process.start(QString::fromStdString(m_agent), arguments);
}

void LabJob::tell(double share, const std::string &what) {
    m_progress = {(double(m_current) + share) / double(m_ranks.size()), what, m_record.startWallUs};
    const Json json = {{"fraction", m_progress.fraction}, {"what", what}, {"start_wall_us", m_record.startWallUs}};
    (void)realFileSystem().writeAtomically(progressFile(), json.dump() + "\n"); // a viewer then waits for the next one
    Q_EMIT progressed(m_progress);
}

/// Rank 0's lines come with "[rank 0] " before them.
void LabJob::readOut() {
    m_out += m_process.readAllStandardOutput();
    for (qsizetype end = m_out.indexOf('\n'); end >= 0; end = m_out.indexOf('\n')) {
        const QByteArray line = m_out.left(end);
        m_out.remove(0, end + 1);
        const qsizetype brace = line.indexOf('{');
        if (brace < 0)
            continue;
        const Json json = Json::parse(line.constData() + brace, line.constData() + line.size(), nullptr, false);
        if (json.is_object() && json.value("type", "") == "progress" && json.value("of", 0.0) > 0)
            tell(json.value("done", 0.0) / json.value("of", 1.0),
                 std::to_string(m_ranks[m_current]) + " ranks: " + collectiveTitle(json.value("what", "")));
    }
}

void LabJob::readErr() {
    m_err += m_process.readAllStandardError();
    if (m_run.empty() && m_err.startsWith("run ") && m_err.contains('\n'))
        m_run = m_err.mid(4, m_err.indexOf('\n') - 4).toStdString();
}

void LabJob::look() {
    std::error_code ignored;
    if (!m_stopped && std::filesystem::exists(stopFile(), ignored))
        stop();
}

void LabJob::stop() {
    m_stopped = true;
    m_process.terminate();
}

void LabJob::over() {
    readOut();
    readErr();
    if (isRunId(m_run))
        removeFile(runFolder(m_run).path); // it trained nothing: no run to keep
    if (m_stopped)
        return end(Error::failed("the lab was stopped", "what it had measured is not kept"));
    if (m_process.exitStatus() != QProcess::NormalExit || m_process.exitCode() != 0) {
        const QString said = QString::fromUtf8(m_err).trimmed().section(u'\n', -1);
        const QString why =
            said.isEmpty() || said.startsWith(u"run ") ? QStringLiteral("its ranks gave no word") : said;
        return end(Error{"the lab with " + std::to_string(m_ranks[m_current]) + " ranks failed: " + why.toStdString(),
                         {},
                         m_process.exitCode() == 2 ? ErrorKind::BadArgument : ErrorKind::Failed,
                         {}});
    }
    if (++m_current < m_ranks.size())
        return next();
    if (auto taken = takeRows(); !taken)
        return end(taken.error());
    m_record.durationS = double(SystemClock().wallUs() - m_record.startWallUs) / 1e6;
    if (auto written = writeLab(m_record); !written)
        return end(written.error());
    end(std::nullopt);
}

Result<void> LabJob::takeRows() {
    const auto text = realFileSystem().readAll(m_rowsFile);
    if (!text)
        return fail(text.error());
    for (const QString &line : QString::fromStdString(*text).split(u'\n', Qt::SkipEmptyParts))
        if (auto taken = takeLabLine(m_record, line.toStdString()); !taken)
            return taken;
    return {};
}

void LabJob::end(std::optional<Error> error) {
    if (std::exchange(m_ended, true))
        return;
    m_timer.stop();
    for (const std::string &path : {m_rowsFile, progressFile(), stopFile()})
        removeFile(path);
    m_lock.reset();
    if (error)
        Q_EMIT failed(*error);
    else
        Q_EMIT finished();
}

} // namespace lockstep::core

// SPDX-License-Identifier: MIT
#include "trainer/agent/session/local_run.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <map>
#include <set>
#include <thread>

#include "ipc/file_system.h"
#include "trainer/agent/devices/machine.h"

namespace lockstep::agent {

namespace {
constexpr std::chrono::milliseconds sampleInterval{200}, quietLimit{5000};
constexpr int mostAdoptedRanks = 4096;

std::set<int> ranksOf(const LaunchPlan &plan) {
    std::set<int> ranks;
    for (const RankPlan &rank : plan.ranks)
        ranks.insert(rank.rank);
    return ranks;
}

/// Whether lockstep-trainer itself trains here. It reports a loss that is not finite, and writes a summary, by itself.
bool isOurTraining(const LaunchPlan &plan) {
    return plan.record.config && !isScript(plan.record) && !plan.attended;
}

void addByDefault(std::vector<std::string> &command, const std::string &flag, const std::string &value) {
    if (std::ranges::none_of(command, [&](const std::string &argument) { return argument.starts_with(flag); }))
        command.push_back(flag + "=" + value);
}
} // namespace

LocalRun::LocalRun(EventLoop &loop, const Clock &clock, LaunchPlan plan, GroupKeeper keeper, NewRunFolder folder)
    : m_loop(loop), m_clock(clock), m_plan(std::move(plan)), m_keeper(std::move(keeper)), m_folder(std::move(folder)),
      m_host(hostName()) {}

LocalRun::~LocalRun() {
    m_loop.unwatch(m_keeperToken);
}

Result<void> LocalRun::open(std::unique_ptr<Nvml> nvml, Handlers handlers) {
    m_handlers = std::move(handlers);
    m_earlier.note(m_keeper.pid());
    ::prctl(PR_SET_CHILD_SUBREAPER, 1); // adopt what a rank's child leaves behind, so that it can be reaped here
    const int node = m_plan.nodes.node;
    auto journal = RunJournal::open(realFileSystem(), m_clock, folder().log(node), node, m_plan.record.run, m_host);
    if (!journal)
        return fail(journal.error());
    m_journal = std::move(*journal);
    if (node == 0)
        m_watch.emplace(m_clock, *m_journal, m_plan.record);
    auto socket = RunSocket::bindForRun(m_loop, *m_journal, m_plan.record.run, node);
    if (!socket)
        return fail(socket.error());
    m_socket = std::move(*socket);
    m_disk.emplace(*m_journal, m_folder);
    watchKeeper();
    removeSocketLater();
    m_keeper.removeLater(folder().join());
    m_samples = std::make_unique<RunSamples>(
        m_clock, *m_journal, *m_socket, m_plan.devices, std::move(nvml), [this] { return sampledRanks(); }, m_earlier);
    openSocket();
    m_journal->state(RunState::Init, m_plan.record.name);
    m_journal->requestSync();
    if (!m_plan.python.empty())
        m_journal->note("info", "the script runs with " + m_plan.python);
    if (!m_plan.nodes.interfacesFound.empty())
        m_journal->note("info", m_plan.nodes.interfacesFound);
    return {};
}

/// Whoever reports as a rank is the rank: what was started here may be a shell, or a launcher of several ranks. It is
/// the rank as long as nobody else has said so.
std::vector<Sampler::Watched> LocalRun::sampledRanks() const {
    if (!m_supervisor)
        return {};
    const std::map<int, pid_t> &reporting = m_socket->rankProcesses();
    std::map<int, pid_t> processes = reporting;
    if (!m_plan.adoptsRanks || reporting.empty())
        for (const Sampler::Watched &started : m_supervisor->livingRanks())
            processes.emplace(*started.rank, started.pid);
    std::vector<Sampler::Watched> living;
    for (const auto &[rank, pid] : processes)
        if (pid > 0 && (::kill(pid, 0) == 0 || errno == EPERM))
            living.push_back({rank, pid});
    return living;
}

void LocalRun::removeSocketLater() {
    m_keeper.removeLater(m_socket->path());
    m_keeper.removeLater(m_socket->path() + ".lock");
}

/// Makes the trainer write its summary, and the checkpoints that restarts go on from, into the run's folder, unless the command
/// names other places.
void LocalRun::addFiles() {
    if (!isOurTraining(m_plan))
        return;
    for (RankPlan &rank : m_plan.ranks) {
        addByDefault(rank.command, "--summary", folder().summary());
        if (m_plan.maxRestarts > 0)
            addByDefault(rank.command, "--checkpoint-dir", folder().checkpoints());
    }
}

void LocalRun::openSocket() {
    RunSocket::Handlers handlers;
    handlers.onOtherProcess = [this](int rank) {
        const bool first = m_intake->startOver(rank);
        if (first)
            alertAndLog(*m_journal, ranksRestarted, startedAgainInWords(rank), rank);
        if (m_watch)
            m_watch->startOver(rank, first);
    };
    handlers.onTwoProcesses = [this](int rank, std::int64_t pid, std::int64_t other) {
        alertAndLog(*m_journal, "rank_doubled",
                    "processes " + std::to_string(pid) + " and " + std::to_string(other) + " report as rank " +
                        std::to_string(rank) +
                        " at the same time: their numbers can't be told apart, and some are dropped",
                    rank);
    };
    handlers.onRankLine = [this](int rank, std::string_view line) { m_intake->takeLine(rank, line); };
    handlers.onRankCut = [this](int rank, const Error &why) { m_intake->onRankCut(rank, why); };
    handlers.onRefused = [this](const std::string &message) { alert("connection_refused", message); };
    handlers.onBoundAgain = [this] { removeSocketLater(); };
    if (m_plan.adoptsRanks)
        handlers.onUnknownRank = [this](int rank) { return adopt(rank); };
    handlers.onControl = [this](const Control &control) { m_handlers.onControl(control); };
    m_socket->open(std::move(handlers), {});
}

void LocalRun::writeRecord(const std::string &lacks) {
    (void)m_journal->disk().ask([this, lacks, path = folder().config(), text = toJson(m_plan.record)] {
        return [this, lacks, written = realFileSystem().writeAtomically(path, text)] {
            if (!written)
                alert("record_unwritten", lacks + " not in config.json: " + written.error().message());
        };
    });
}

/// The record says how many ranks there are, since a summary of fewer would be too small.
bool LocalRun::adopt(int rank) {
    RunRecord &record = m_plan.record;
    if (!m_intake || rank < 0 || rank >= mostAdoptedRanks)
        return false;
    for (int known = record.processes; known <= rank; ++known)
        m_intake->addRank(known);
    record.processes = rank + 1;
    std::set<int> ranks;
    for (int known = 0; known < record.processes; ++known)
        ranks.insert(known);
    m_socket->setRanks(std::move(ranks));
    writeRecord("the number of ranks is");
    return true;
}

/// What lay there before the ranks were started is not what they did. In a shared folder it is agent 0's to remove.
Result<void> LocalRun::removeEarlierSummary() {
    std::error_code why;
    if (!m_folder.shared() && !std::filesystem::is_directory(folder().summary(), why))
        std::filesystem::remove(folder().summary(), why);
    if (why)
        return fail(Error::failed(
            folder().summary() + " was there before the run and can't be removed: " + why.message(), "move it away"));
    return {};
}

Result<void> LocalRun::startRanks() {
    if (auto removed = removeEarlierSummary(); !removed)
        return removed;
    if (m_plan.nodes.count > 1)
        m_samples->startOver(); // what was used while nodes were waited for is not the run's
    addFiles();                 // not before node 0 has said how many restarts there are
    m_socket->setRanks(ranksOf(m_plan));
    if (m_plan.record.inTurns)
        if (auto joined = joinTurns(); !joined)
            return joined;
    makeIntake();
    makeSupervisor();
    auto started = m_supervisor->start();
    if (started && m_turns)
        m_turns->begin();
    return started;
}

Result<void> LocalRun::joinTurns() {
    auto turns = RanksInTurns::join(m_loop, m_clock, m_plan, std::filesystem::path(m_socket->path()).parent_path(),
                                    m_keeper, *m_samples, [this] { return m_supervisor->livingRanks(); });
    if (!turns)
        return fail(turns.error());
    m_turns = std::move(*turns);
    return {};
}

void LocalRun::makeIntake() {
    m_intake = std::make_unique<FrameIntake>(
        m_clock, *m_journal, folder(), ranksOf(m_plan),
        FrameIntake::Handlers{
            [this](std::int64_t fromNs, std::int64_t toNs) { return m_samples->deviceUse(fromNs, toNs); },
            [this](int rank, std::string_view text) {
                if (ConsoleTap *console = m_supervisor->console(rank))
                    console->appendText(text);
            },
            [this] { writeTraining(""); },
            !isOurTraining(m_plan),
            {},
            [this](int rank, const Frame &frame) { onRankFrame(rank, frame); }});
}

void LocalRun::makeSupervisor() {
    Supervisor::Handlers handlers;
    handlers.onConsoleLine = m_handlers.onConsoleLine;
    handlers.onFailure = m_handlers.onRankFailed;
    handlers.onRestart = [this] {
        endStrays(); // they would train beside the ranks that are started now, and be taken for them
        m_socket->expectOtherProcesses();
        m_intake->startOver(m_agreed);
        if (m_watch)
            m_watch->startOver();
    };
    handlers.onOver = [this] { onRanksOver(); };
    handlers.onGone = m_handlers.onRanksGone;
    m_supervisor = std::make_unique<Supervisor>(
        Supervisor::Parts{m_loop, m_clock, m_plan, folder(), *m_journal, *m_socket, m_keeper, m_host},
        std::move(handlers));
}

void LocalRun::startTimers() {
    m_sampleTimer = m_loop.every(sampleInterval, [this] {
        m_samples->take();
        checkFolder();
    });
    m_secondTimer = m_loop.every(oneSecond, [this] { everySecond(); });
    // A script that reports no frames counts as running after a while.
    m_quietTimer = m_loop.after(quietLimit, [this] {
        const bool quiet = std::none_of(m_plan.ranks.begin(), m_plan.ranks.end(),
                                        [this](const RankPlan &rank) { return m_socket->everConnected(rank.rank); });
        if (quiet && m_supervisor)
            writeTraining("the ranks report no frames");
    });
}

void LocalRun::endTimers() {
    for (EventLoop::Token *timer : {&m_sampleTimer, &m_secondTimer, &m_quietTimer})
        m_loop.cancel(*timer);
}

void LocalRun::everySecond() {
    m_journal->append(HeartbeatFrame{});
    m_journal->requestSync();
    m_journal->disk().deliver();
    m_handlers.onSecond();
    m_socket->rebindIfLost();
    reapStrays();
    m_disk->check();
    checkHang();
}

void LocalRun::onRankFrame(int rank, const Frame &frame) {
    if (m_turns)
        m_turns->take(rank, frame);
    if (m_watch)
        m_watch->take(rank, frame);
}

void LocalRun::checkHang() {
    const auto processOf = [this](int rank) {
        for (const Sampler::Watched &one : m_supervisor->livingRanks())
            if (one.rank == rank)
                return oddStateOf(one.pid);
        return std::string();
    };
    if (m_supervisor && m_watch && m_watch->hangBegins(m_plan.worldSize, processOf))
        m_handlers.onControl({"stacks", "the watch over hangs"}); // in the log before anybody ends the ranks
}

/// Without a folder nobody can read the run; it would only occupy the devices.
void LocalRun::checkFolder() {
    if (m_disk->folderGone() && m_supervisor)
        m_supervisor->abandon("run_folder_removed", "the run's folder " + folder().path + " was removed while it ran");
}

void LocalRun::reapStrays() {
    // Ranks are reaped through their pidfd; here only their orphans are.
    if (!m_supervisor)
        return;
    const auto living = m_supervisor->livingRanks();
    for (;;) {
        siginfo_t info{};
        if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0)
            return;
        if (std::any_of(living.begin(), living.end(), [&](const auto &rank) { return rank.pid == info.si_pid; }))
            return; // its pidfd event will follow
        ::waitpid(info.si_pid, nullptr, 0);
    }
}

void LocalRun::writeTraining(const std::string &detail) {
    if (std::exchange(m_training, true))
        return;
    m_journal->state(RunState::Training, detail);
    m_journal->requestSync();
}

void LocalRun::alert(AlertName name, std::string message) {
    alertAndLog(*m_journal, name, std::move(message));
}

void LocalRun::askRanks(const Control &control) {
    const bool stacks = control.command == "stacks";
    const std::string what =
        (stacks ? "their stacks" : "a trace of " + std::to_string(control.steps.value_or(0)) + " steps") +
        ", asked by " + (control.by.empty() ? "a viewer" : control.by);
    if (!stacks && control.steps.value_or(0) < 1)
        return m_journal->note("warning", what + ", is refused: it needs at least 1 step");
    const auto reached = m_socket->sendControl(control);
    m_journal->note("info",
                    what + ": " + std::to_string(reached.size()) + (stacks ? " ranks are asked" : " ranks record it"));
}

bool LocalRun::endWithoutRanks(RunState state, int code, const std::string &reason) {
    if (std::exchange(m_over, true))
        return false;
    endTimers();
    m_end.state = state;
    m_end.resultCode = m_end.commandCode = code;
    m_end.reason = reason;
    m_end.wallUs = m_clock.wallUs();
    return true;
}

void LocalRun::onRanksOver() {
    m_over = true;
    endTimers();
    m_samples->finish();
    endStrays();
    m_end.state = m_supervisor->outcome();
    m_end.resultCode = m_supervisor->exitCode();
    m_end.commandCode = m_supervisor->commandCode();
    m_end.reason = m_supervisor->reason();
    if (m_turns)
        m_turns->end();
    lastsUntil(m_supervisor->endNs());
    for (const RankExit &exit : m_supervisor->exits())
        m_end.exits.push_back(exit);
    m_end.wallUs = m_clock.wallUs();
    m_handlers.onRanksOver();
}

void LocalRun::lastsUntil(std::int64_t monoNs) {
    const double pausedS = m_turns ? m_turns->taken().pausedS : 0;
    m_end.runTimeS = std::max(m_end.runTimeS, m_supervisor->runTimeS(monoNs) - pausedS);
}

/// What left its group and outlived its rank. An orphan's children become this process's when it dies: hence the loop.
void LocalRun::endStrays() {
    m_keeper.killStrays();
    constexpr int mostGenerations = 100;
    constexpr auto patience = std::chrono::milliseconds(200); // a process in the kernel can't be waited for
    for (int generation = 0; generation < mostGenerations; ++generation) {
        std::vector<pid_t> strays = m_earlier.laterChildren(); // those that changed their environment
        std::erase(strays, m_keeper.pid());
        if (strays.empty())
            return;
        for (const pid_t stray : strays)
            ::kill(stray, SIGKILL);
        const auto deadline = std::chrono::steady_clock::now() + patience;
        const auto reaped = [](pid_t stray) { return ::waitpid(stray, nullptr, WNOHANG) != 0; };
        while (std::erase_if(strays, reaped), !strays.empty()) {
            if (std::chrono::steady_clock::now() > deadline)
                return;
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }
}

/// Nothing would end the ranks' children, and remove the socket, if this process were killed now.
void LocalRun::onKeeperGone() {
    m_loop.unwatch(m_keeperToken);
    const auto again = m_keeper.startAgain();
    if (again)
        watchKeeper();
    if (m_over)
        return; // the log has its last line, and no rank is left
    alert(again ? AlertName("keeper_gone") : AlertName("keeper_lost"),
          "the process that ends the ranks and their children if this agent is killed has died; " +
              (again ? std::string("another one was started") : again.error().message()));
}

void LocalRun::watchKeeper() {
    m_keeperToken = m_loop.watch(m_keeper.pidFd(), EPOLLIN, [this](std::uint32_t) { onKeeperGone(); });
}

void LocalRun::writeEnd() {
    m_journal->state(m_end.state, m_end.reason);
    m_journal->requestSync();
}

/// Call when the log was written to its end.
RunResult LocalRun::result(const std::string &summaryText) {
    m_disk->check();
    RunResult result;
    result.run = m_plan.record.run;
    result.state = m_end.state;
    result.exitCode = m_end.resultCode;
    result.reason = m_end.reason;
    result.startWallUs = m_plan.record.startWallUs;
    result.endWallUs = m_end.wallUs;
    result.runTimeS = m_end.runTimeS;
    result.ranks = m_end.exits;
    std::sort(result.ranks.begin(), result.ranks.end(),
              [](const RankExit &a, const RankExit &b) { return a.rank < b.rank; });
    if (auto summary = summaryFromJson(summaryText))
        result.summary = std::move(*summary);
    result.warnings = m_end.warnings = m_disk->warnings();
    m_samples->addTo(result);
    if (m_turns)
        result.turns = m_turns->taken();
    result.logLines = m_journal->nextSeq();
    return result;
}

void LocalRun::resultUnwritten(const Error &why) {
    if (m_disk->folderGone())
        return; // the run's reason says so
    m_end.warnings = m_disk->warnings();
    m_end.warnings.push_back("the result could not be written: " + why.message());
    if (m_end.commandCode == exitDone)
        m_end.commandCode = exitFailed;
}

} // namespace lockstep::agent

#include "trainer/agent/listen_session.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>

#include "ipc/logging.h"
#include "ipc/socket_folder.h"
#include "trainer/agent/machine.h"
#include "trainer/agent/rank_process.h"

namespace lockstep::agent {

namespace {
constexpr std::chrono::milliseconds filesEvery{200};
constexpr int mostRanks = 65536;
/// Where nobody said how many ranks there are: so long after the last of the known ones ended another may come.
constexpr std::int64_t lateNs = 3'000'000'000;

/// A lockstep-trainer says its whole config; a script what it knows, which is not enough to make one.
std::optional<RunConfig> configFrom(const About &about, int worldSize) {
    if (!about.contains("method") || !about.contains("model") || !about.contains("batch_size"))
        return std::nullopt;
    RunConfig config;
    for (const auto &[key, value] : about)
        if (const FieldSpec *field = findField(key); !field || field->perProcess || !field->set(config, value))
            return std::nullopt;
    if (isDistributed(config.method) && deviceCount(config) != worldSize) { // each node names its own
        config.devices.clear();
        for (int i = 0; i < worldSize; ++i)
            config.devices.push_back(std::to_string(i));
    }
    return config;
}

std::string titleFrom(const About &about, int worldSize) {
    const auto method = about.find("method");
    if (method == about.end())
        return "reported run";
    if (method->second == "baseline")
        return "Baseline";
    std::string name = method->second.substr(0, 40);
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return char(::toupper(c)); });
    return name + " ×" + std::to_string(worldSize);
}
} // namespace

ListenSession::ListenSession(ListenPlan plan, Told told) : m_plan(std::move(plan)), m_told(std::move(told)) {}
ListenSession::~ListenSession() = default;

Result<std::unique_ptr<ListenSession>> ListenSession::start(ListenPlan plan, Told told) {
    std::unique_ptr<ListenSession> session(new ListenSession(std::move(plan), std::move(told)));
    if (const auto opened = session->openSources(); !opened)
        return fail(opened.error());
    session->m_worldSize = session->m_plan.ranks;
    session->watchSignals();
    session->m_second = session->m_loop.every(oneSecond, [raw = session.get()] { raw->everySecond(); });
    session->m_loop.afterBatch([raw = session.get()] {
        if (raw->m_listener)
            raw->m_listener->sweep();
        if (raw->m_socket)
            raw->m_socket->pump();
    });
    return session;
}

Result<void> ListenSession::openSources() {
    if (!m_plan.files.empty()) {
        auto files = FrameFiles::open(m_plan.files, {[this](std::string_view line) { takeFileLine(line); },
                                                     [this](const std::string &file) {
                                                         alert("frames_begun_anew", file + " was written anew");
                                                     }});
        if (!files)
            return fail(files.error());
        m_files = std::move(*files);
        m_filesTimer = m_loop.every(filesEvery, [this] { lookAtFiles(); });
        return {};
    }
    auto listener = m_plan.socket.empty() ? FrameListener::onTcp(m_loop, m_plan.address, m_plan.port, m_plan.token)
                                          : FrameListener::onUnix(m_loop, m_plan.socket);
    if (!listener)
        return fail(listener.error());
    m_listener = std::move(*listener);
    m_listener->open({[this](int rank, const Hello &hello) { return greet(rank, hello); },
                      [this](int rank, std::string_view line) { takeLine(rank, line); },
                      [this](int rank) { onGone(rank); },
                      [this](int rank, const Error &why) {
                          if (m_intake)
                              m_intake->onRankCut(rank, why);
                      },
                      [this](const std::string &message) { m_told.onNote(message); }});
    m_told.onListening(m_listener->address());
    return {};
}

void ListenSession::watchSignals() {
    const sigset_t signals = endingSignals();
    m_signals = Fd(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
    m_signalToken = m_loop.watch(m_signals.get(), EPOLLIN, [this](std::uint32_t) {
        signalfd_siginfo info{};
        if (::read(m_signals.get(), &info, sizeof info) != sizeof info)
            return;
        const std::string name = signalName(static_cast<int>(info.ssi_signo));
        if (!m_journal) {
            m_ending = {exitStopped, "nothing came before " + name};
            return m_loop.quit();
        }
        end(RunState::Stopped, "nobody listens any more (" + name + "); the ranks go on by themselves");
    });
}

/// The first frame of a run, of whichever rank: from here on there is one.
Result<void> ListenSession::openRun(const Frame &first) {
    const auto *state = std::get_if<StateFrame>(&first.body);
    if (m_worldSize == 0 && state && state->worldSize)
        m_worldSize = *state->worldSize;
    if (m_worldSize > mostRanks)
        m_worldSize = 0;
    m_record.processes = std::max({1, m_worldSize, first.rank.value_or(0) + 1});
    m_record.name = m_plan.name;
    if (state) {
        m_record.config = configFrom(state->about, m_record.processes);
        if (m_record.name.empty())
            m_record.name = titleFrom(state->about, m_record.processes);
    }
    if (m_record.name.empty())
        m_record.name = "reported run";
    auto folder = NewRunFolder::create(m_record);
    if (!folder)
        return fail(folder.error());
    m_folder.emplace(std::move(*folder));
    m_path = m_folder->folder();
    if (m_files)
        m_record.startWallUs = first.wallUs; // it may have begun long ago
    auto journal = RunJournal::open(realFileSystem(), m_clock, m_path.log(0), 0, m_record.run, hostName());
    if (!journal)
        return fail(journal.error());
    m_journal = std::move(*journal);
    const auto hold = holdSocketFolder();
    if (!hold)
        return fail(hold.error());
    const auto path = runSocketPath(m_record.run);
    if (!path)
        return fail(path.error());
    auto socket = RunSocket::bind(m_loop, *m_journal, *path, m_record.run, 0);
    if (!socket)
        return fail(socket.error());
    m_socket = std::move(*socket);
    RunSocket::Handlers handlers;
    handlers.onRankConnected = [](int) {};
    handlers.onRankLine = [](int, std::string_view) {};
    handlers.onRankCut = [](int, const Error &) {};
    handlers.onRefused = [this](const std::string &message) { alert("connection_refused", message); };
    handlers.onControl = [this](const Control &control) {
        const std::string by = control.by.empty() ? "a viewer" : control.by;
        const auto reached = m_listener ? m_listener->sendControl(control) : std::set<int>();
        m_journal->append(LogFrame{
            reached.empty() ? "warning" : "info",
            control.command + ", asked by " + by + ", reached " + std::to_string(reached.size()) + " ranks", "agent"});
    };
    m_socket->open(std::move(handlers), {});
    std::set<int> ranks;
    for (int rank = 0; rank < m_record.processes; ++rank)
        ranks.insert(rank);
    m_intake = std::make_unique<FrameIntake>(
        m_clock, *m_journal, m_path, std::move(ranks),
        FrameIntake::Handlers{
            [](std::int64_t, std::int64_t) { return std::vector<DeviceEpochUse>(); }, // their devices are elsewhere
            [this](int rank, std::string_view text) {
                const Fd file(::open(m_path.console(rank).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
                const std::string line = std::string(text) + "\n";
                (void)!::write(file.get(), line.data(), line.size());
            },
            [this] {
                StateFrame training;
                training.state = RunState::Training;
                m_journal->append(std::move(training));
            },
            !m_record.config, [this](int rank, const StateFrame &told) { onState(rank, told); }});
    m_startNs = m_clock.monoNs();
    m_firstWallUs = m_lastWallUs = first.wallUs;
    StateFrame init;
    init.state = RunState::Init;
    init.detail = m_record.name;
    m_journal->append(std::move(init));
    LoggingOptions logging;
    logging.program = "lockstep-agent";
    logging.toStderr = false;
    logging.file = m_path.agentConsole();
    setUpLogging(logging);
    m_told.onReady(m_record.run);
    return {};
}

/// What the ranks say of themselves goes into the run's record, as the agent of a run of our own would write it.
void ListenSession::describe(const StateFrame &init, int rank) {
    if (m_worldSize == 0 && init.worldSize && *init.worldSize <= mostRanks)
        m_worldSize = *init.worldSize;
    m_record.processes = std::max(m_record.processes, m_worldSize);
    if (!init.device.empty()) {
        m_record.deviceNames.resize(std::max<std::size_t>(m_record.deviceNames.size(), std::size_t(rank) + 1));
        m_record.deviceNames[std::size_t(rank)] = init.device;
    }
    const bool known = std::any_of(m_record.machines.begin(), m_record.machines.end(),
                                   [&](const MachineRecord &machine) { return machine.host == init.host; });
    if (!init.host.empty() && !known) {
        MachineRecord machine; // all that is known of it
        machine.node = static_cast<int>(m_record.machines.size());
        machine.host = init.host;
        m_record.machines.push_back(std::move(machine));
    }
    if (const auto written = realFileSystem().writeAtomically(m_path.config(), toJson(m_record)); !written)
        logWarning("the run's record can't be written: " + written.error().message());
}

Result<std::uint64_t> ListenSession::greet(int rank, const Hello &hello) {
    if (m_outcome)
        return fail(Error::failed("the run is over", "start lockstepctl listen again for the next one"));
    if (rank >= mostRanks || (m_worldSize > 0 && rank >= m_worldSize))
        return fail(
            Error::failed("rank " + std::to_string(rank) + " is not one of the run's " + std::to_string(m_worldSize),
                          "start lockstepctl listen again for another run"));
    Rank &known = m_ranks[rank];
    const std::string process = hello.name + "/" + std::to_string(hello.pid.value_or(0));
    if (known.process == process && m_intake)
        return m_intake->nextRseq(rank);
    if (!known.process.empty() && m_intake) {
        m_intake->startOver(rank);
        known.final.reset();
        m_journal->append(LogFrame{"info", "rank " + std::to_string(rank) + " came again as another process", "agent"});
    }
    known.process = process;
    return 0;
}

void ListenSession::takeLine(int rank, std::string_view line) {
    if (m_outcome)
        return;
    if (!m_journal) {
        auto frame = m_decoder.decode(line);
        if (!frame || frame->rank != rank)
            return m_told.onNote("rank " + std::to_string(rank) + " sent something else than a frame of its own");
        if (const auto opened = openRun(*frame); !opened) {
            m_ending = {exitCodeOf(opened.error()), opened.error().message()};
            return m_loop.quit();
        }
    }
    m_lastLineNs = m_clock.monoNs();
    m_aloneSinceNs = 0;
    m_intake->takeLine(rank, line);
    if (!m_files) // of files one rank's whole story comes before the next one's
        checkOver();
}

void ListenSession::takeFileLine(std::string_view line) {
    const auto frame = m_decoder.decode(line);
    if (!frame || !frame->rank || !frame->rseq || *frame->rank < 0 || *frame->rank >= mostRanks) {
        if (m_strays++ == 0)
            m_told.onNote("a line of the files is no rank's frame and is left out");
        return;
    }
    const int rank = *frame->rank;
    Rank &known = m_ranks[rank];
    if (known.began && *frame->rseq == 0 && m_intake) { // a rank that was started again appends to its file
        m_intake->startOver(rank);
        known.final.reset();
    }
    known.began = true;
    m_firstWallUs = m_firstWallUs == 0 ? frame->wallUs : std::min(m_firstWallUs, frame->wallUs);
    m_lastWallUs = std::max(m_lastWallUs, frame->wallUs);
    takeLine(rank, line);
}

void ListenSession::onState(int rank, const StateFrame &state) {
    Rank &known = m_ranks[rank];
    if (!state.host.empty())
        known.host = state.host;
    if (state.state == RunState::Init)
        describe(state, rank);
    if (isFinal(state.state))
        known.final = state.state;
    if (state.state == RunState::Failed && m_ending.reason.empty())
        m_ending.reason = "rank " + std::to_string(rank) + (known.host.empty() ? "" : " on " + known.host) + " failed" +
                          (state.detail.empty() ? "" : ": " + state.detail);
}

void ListenSession::onGone(int rank) {
    if (m_outcome || !m_journal)
        return;
    if (!m_ranks[rank].final)
        alert("rank_gone",
              "the connection of rank " + std::to_string(rank) + " ended without a word; it may come again", rank);
    checkOver();
}

void ListenSession::checkOver() {
    if (m_outcome || m_ranks.empty() || !m_journal)
        return;
    int ended = 0;
    bool failed = false, stopped = false;
    for (const auto &[rank, known] : m_ranks) {
        ended += known.final ? 1 : 0;
        failed = failed || known.final == RunState::Failed;
        stopped = stopped || known.final == RunState::Stopped;
    }
    const bool all = m_worldSize > 0 ? ended >= m_worldSize
                                     : ended == int(m_ranks.size()) && m_clock.monoNs() - m_lastLineNs > lateNs;
    if (all)
        end(failed    ? RunState::Failed
            : stopped ? RunState::Stopped
                      : RunState::Done,
            failed    ? m_ending.reason
            : stopped ? "stopped"
                      : "");
}

void ListenSession::lookAtFiles() {
    if (m_outcome)
        return;
    const bool any = m_files->look();
    if (any || !m_plan.import || m_outcome)
        return checkOver();
    if (!m_journal) {
        m_ending = {1, "there is no frame in " + m_plan.files};
        return m_loop.quit();
    }
    end(RunState::Failed, "the files end before the ranks do");
}

void ListenSession::everySecond() {
    if (!m_journal || m_outcome)
        return;
    m_journal->append(HeartbeatFrame{});
    m_journal->requestSync();
    m_socket->rebindIfLost();
    if (m_folder->gone()) {
        m_outcome = RunState::Failed;
        m_ending = {1, "the run's folder " + m_path.path + " was removed while it went on"};
        return m_loop.quit();
    }
    checkOver();
    const bool alone = m_listener ? !m_listener->anyConnected() : true;
    const std::int64_t now = m_clock.monoNs();
    if (m_files)
        m_aloneSinceNs = m_lastLineNs;
    else if (!alone)
        m_aloneSinceNs = 0;
    else if (m_aloneSinceNs == 0)
        m_aloneSinceNs = now;
    if (!m_outcome && m_aloneSinceNs > 0 && now - m_aloneSinceNs > std::chrono::nanoseconds(m_plan.patience).count())
        end(RunState::Failed,
            "nothing came for " +
                std::to_string(std::chrono::duration_cast<std::chrono::seconds>(m_plan.patience).count()) +
                " s, and not every rank has told its end");
}

void ListenSession::end(RunState state, const std::string &reason) {
    if (m_outcome)
        return;
    m_outcome = state;
    m_ending = {state == RunState::Done ? exitDone : state == RunState::Stopped ? exitStopped : exitFailed, reason};
    StateFrame last;
    last.state = state;
    last.detail = reason;
    m_journal->append(std::move(last));
    m_journal->finish();
    if (const auto written = writeResult(); !written)
        m_told.onNote("the result can't be written: " + written.error().message());
    m_socket->finish([this] { m_loop.quit(); });
}

Result<void> ListenSession::writeResult() {
    RunResult result;
    result.run = m_record.run;
    result.state = *m_outcome;
    result.exitCode = m_ending.exitCode;
    result.reason = m_ending.reason;
    result.startWallUs = m_record.startWallUs;
    result.endWallUs = m_files ? m_lastWallUs : m_clock.wallUs();
    result.runTimeS =
        m_files ? double(m_lastWallUs - m_firstWallUs) * 1e-6 : double(m_clock.monoNs() - m_startNs) * 1e-9;
    for (const auto &[rank, known] : m_ranks) {
        RankExit exit; // how its process ended is not known here
        exit.rank = rank;
        exit.host = known.host;
        result.ranks.push_back(std::move(exit));
    }
    if (result.state == RunState::Done)
        result.summary = m_intake->reported().summary(m_record, result.runTimeS);
    result.logLines = m_journal->nextSeq();
    return realFileSystem().writeAtomically(m_path.result(), toJson(result));
}

void ListenSession::alert(const std::string &kind, const std::string &message, std::optional<int> rank) {
    if (!m_journal)
        return m_told.onNote(message);
    AlertFrame body;
    body.severity = "warning";
    body.kind = kind;
    body.message = message;
    m_journal->append(std::move(body), rank);
}

ListenSession::Ending ListenSession::run() {
    m_loop.run();
    return m_ending;
}

} // namespace lockstep::agent

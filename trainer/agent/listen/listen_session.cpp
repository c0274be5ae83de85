// SPDX-License-Identifier: MIT
#include "trainer/agent/listen/listen_session.h"

#include <set>
#include <utility>

#include "ipc/file_system.h"
#include "ipc/logging.h"
#include "ipc/unix_socket.h"
#include "trainer/agent/listen/earlier_run.h"
#include "trainer/agent/ranks/rank_process.h"

namespace lockstep::agent {

namespace {
constexpr std::chrono::milliseconds filesEvery{200};
constexpr std::chrono::seconds recordingsPatience{10}; ///< it takes milliseconds, and a second with 10,000 runs
} // namespace

ListenSession::ListenSession(ListenPlan plan, Handlers handlers)
    : m_plan(std::move(plan)), m_handlers(std::move(handlers)) {}

Result<std::unique_ptr<ListenSession>> ListenSession::start(ListenPlan plan, Handlers handlers) {
    std::unique_ptr<ListenSession> session(new ListenSession(std::move(plan), std::move(handlers)));
    if (const auto opened = session->openSources(); !opened)
        return fail(opened.error());
    session->startTimers();
    return session;
}

void ListenSession::startTimers() {
    m_signals.emplace(m_loop, endingSignals(), [this](int number) { onSignal(number); });
    m_second = m_loop.every(oneSecond, [this] { everySecond(); });
    m_loop.afterBatch([this] {
        if (m_listener)
            m_listener->sweep();
        if (m_run)
            m_run->pump();
    });
}

Result<void> ListenSession::openSources() {
    return m_plan.files.empty() ? openListener() : openFiles();
}

Result<void> ListenSession::openFiles() {
    FrameFiles::Handlers handlers;
    handlers.onLine = [this](std::string_view line) { takeFileLine(line); };
    handlers.onBegunAnew = [this](const std::string &file) {
        const std::string sentence = file + " was rewritten";
        if (m_run)
            m_run->alert("frames_begun_anew", sentence);
        else
            m_handlers.onNote(sentence);
    };
    handlers.onRefused = [this](const std::string &sentence) {
        m_handlers.onNote(sentence);
        if (m_run)
            m_run->note(sentence);
    };
    auto files = FrameFiles::open(m_plan.files, std::move(handlers));
    if (!files)
        return fail(files.error());
    m_files = std::move(*files);
    m_filesTimer = m_loop.every(filesEvery, [this] { readFiles(); });
    return {};
}

Result<void> ListenSession::openListener() {
    auto listener = m_plan.socket.empty() ? FrameListener::onTcp(m_loop, m_plan.address, m_plan.port, m_plan.token)
                                          : FrameListener::onUnix(m_loop, m_plan.socket);
    if (!listener)
        return fail(listener.error());
    m_listener = std::move(*listener);
    FrameListener::Handlers handlers;
    handlers.onHello = [this](int rank, const Hello &hello) { return greet(rank, hello); };
    handlers.onLine = [this](int rank, std::string_view line) { takeLine(rank, line); };
    handlers.onGone = [this](int rank) {
        if (m_run)
            m_run->onRankGone(rank);
    };
    handlers.onCut = [this](int rank, const Error &why) {
        if (m_run)
            m_run->onRankCut(rank, why);
    };
    handlers.onRefused = [this](const std::string &message) {
        if (const auto note = m_refusals.next(message))
            m_handlers.onNote(*note);
    };
    m_listener->open(std::move(handlers));
    m_handlers.onListening(m_listener->address());
    return {};
}

void ListenSession::onSignal(int number) {
    const std::string name = signalName(number);
    if (!m_run)
        return quit({exitStopped, "no frame came before " + name});
    if (m_run->over())
        return m_run->giveUpResult();
    m_run->end(RunState::Stopped, "the listener was stopped (" + name + "); the ranks go on without it");
}

void ListenSession::quit(ListenEnding ending) {
    m_ending = std::move(ending);
    m_loop.quit();
}

Result<void> ListenSession::openRun(const Frame &first) {
    ListenedRun::Handlers handlers;
    handlers.sendControl = [this](const Control &control) {
        return m_listener ? m_listener->sendControl(control) : std::set<int>();
    };
    handlers.onNote = m_handlers.onNote;
    handlers.onServed = [this] { m_loop.quit(); };
    ListenedRun::Options options{m_plan.name, m_plan.ranks};
    if (m_files)
        options.files = RecordedFiles{m_files->source().begin, 0};
    auto run = ListenedRun::open(m_loop, m_clock, std::move(options), std::move(handlers), first);
    if (!run)
        return fail(run.error());
    m_run = std::move(*run);
    for (const int rank : m_processes.ranks())
        m_run->expect(rank);
    LoggingOptions logging;
    logging.program = "lockstep-agent";
    logging.toStderr = false;
    logging.file = m_run->folder().agentConsole();
    setUpLogging(logging);
    m_handlers.onReady(m_run->id());
    return {};
}

// --- connections -------------------------------------------------------------------------------------------------

/// Returns the rseq from which the rank's process must send.
Result<std::uint64_t> ListenSession::greet(int rank, const Hello &hello) {
    const int worldSize = m_run ? m_run->worldSize() : m_plan.ranks;
    if (m_run && m_run->over())
        return fail(Error::failed("the run is over", "start lockstepctl listen again for the next one"));
    if (rank >= mostListenedRanks || (worldSize > 0 && rank >= worldSize))
        return fail(
            Error::failed("rank " + std::to_string(rank) + " is not one of the run's " + std::to_string(worldSize),
                          "start lockstepctl listen again for another run"));
    const auto process = m_processes.greet(rank, hello.name + "/" + std::to_string(hello.pid.value_or(0)));
    if (!m_run)
        return 0;
    m_run->expect(rank);
    if (process == RankProcesses::Is::Same)
        return m_run->nextRseq(rank);
    if (process == RankProcesses::Is::Another)
        takeOver(rank);
    return 0;
}

/// Another process is this rank now.
void ListenSession::takeOver(int rank) {
    m_run->startOver(rank);
    m_run->note("rank " + std::to_string(rank) + " reconnected as another process");
}

void ListenSession::takeLine(int rank, std::string_view line) {
    const bool another = m_processes.beginsAnother(rank, line);
    if (!m_run) {
        const auto frame = m_decoder.decode(line);
        if (!frame || frame->rank != rank) {
            if (const auto note = m_foreignLines.next("rank " + std::to_string(rank) +
                                                      " sent a line that is not one of its own frames"))
                m_handlers.onNote(*note);
            return;
        }
        if (const auto opened = openRun(*frame); !opened)
            return quit({exitCodeOf(opened.error()), opened.error().message()});
    }
    if (another && !m_run->over())
        takeOver(rank);
    deliver(rank, line);
    m_run->checkOver();
}

void ListenSession::deliver(int rank, std::string_view line) {
    if (m_run->over())
        return;
    m_aloneSinceNs = 0;
    m_run->takeLine(rank, line);
}

// --- files -------------------------------------------------------------------------------------------------------

void ListenSession::takeFileLine(std::string_view line) {
    if (m_ending)
        return;
    const auto frame = m_decoder.decode(line);
    if (!frame || !frame->rank || !frame->rseq || *frame->rank < 0 || *frame->rank >= mostListenedRanks) {
        if (m_strays++ == 0)
            m_handlers.onNote("a line in the files is not a rank's frame and is ignored");
        return;
    }
    if (!m_run && !openFilesRun(*frame))
        return;
    const int rank = *frame->rank;
    if (beginsAnother(*frame))
        m_run->startOver(rank);
    m_run->extendTo(frame->wallUs);
    deliver(rank, line);
}

/// The first frames of that process may be damaged or missing. What is no later than all that was read, whatever its number, is there twice.
bool ListenSession::beginsAnother(const Frame &frame) {
    const Newest made{*frame.rseq, frame.monoNs, frame.wallUs};
    const auto [known, isFirst] = m_newest.try_emplace(*frame.rank, made);
    Newest &newest = known->second;
    const bool fellBack = made.rseq <= newest.rseq;
    const bool isLater = made.monoNs > newest.monoNs || made.wallUs > newest.wallUs;
    const bool another = !isFirst && fellBack && isLater;
    if (!fellBack || another)
        newest = made;
    return another;
}

bool ListenSession::openFilesRun(const Frame &first) {
    // Held until the run's record says of which files it is. Who can't have it goes on: of two runs of the same files one counts.
    (void)realFileSystem().makeFolders(dataHome());
    const auto lock = FileLock::acquire(dataHome() + "/follow.lock", recordingsPatience);
    m_files->lookAgain(); // who had the lock before may have seen more
    const auto earlier = earlierRunOf(m_files->begins(), m_files->source().bytes);
    if (earlier && (earlier->goesOn() || (earlier->hasAll && (m_plan.import || earlier->isDone())))) {
        m_handlers.onReady(earlier->run);
        const auto &result = earlier->status.result;
        quit({result ? result->exitCode : exitDone,
              earlier->goesOn() ? "run " + earlier->run + " is being recorded from these files: there is no second run"
                                : m_plan.files + " is run " + earlier->run +
                                      " already, and nothing has been added since: there is no second run"});
        return false;
    }
    if (const auto opened = openRun(first); !opened) {
        quit({exitCodeOf(opened.error()), opened.error().message()});
        return false;
    }
    if (earlier) {
        const std::string sentence =
            "run " + earlier->run + " has an earlier part of these files, and this run has all";
        m_handlers.onNote(sentence);
        m_run->note(sentence);
    }
    return true;
}

/// Checks whether the run is over only where all has been read: what follows may be the next start of the ranks.
void ListenSession::readFiles() {
    if (m_ending || (m_run && m_run->over()))
        return;
    const bool any = m_files->poll();
    if (!m_ending && m_files->behind()) { // the rest once the loop has served the others
        m_loop.cancel(m_filesAgain);
        m_filesAgain = m_loop.after(std::chrono::milliseconds(0), [this] { readFiles(); });
        return;
    }
    if (m_ending || (any && m_plan.import))
        return;
    if (m_run) {
        m_run->recordFiles(m_files->source());
        m_run->checkOver();
    }
    if (!m_plan.import && !m_run && !std::exchange(m_saidWaiting, true))
        m_handlers.onNote("waiting for the ranks' first frame in " + m_plan.files);
    if (!m_plan.import || (m_run && m_run->over()))
        return;
    if (!m_run)
        return quit({exitFailed, "there is no frame in " + m_plan.files});
    m_run->end(RunState::Failed, "the files end before the ranks do");
}

// --- time --------------------------------------------------------------------------------------------------------

void ListenSession::everySecond() {
    if (!m_run || m_run->over())
        return;
    m_run->everySecond();
    checkPatience();
}

void ListenSession::checkPatience() {
    const std::int64_t now = m_clock.monoNs();
    if (m_files)
        m_aloneSinceNs = m_run->lastLineNs();
    else if (m_listener->anyConnected())
        m_aloneSinceNs = 0;
    else if (m_aloneSinceNs == 0)
        m_aloneSinceNs = now;
    if (m_aloneSinceNs == 0 || now - m_aloneSinceNs <= std::chrono::nanoseconds(m_plan.patience).count())
        return;
    const auto patience = std::chrono::duration_cast<std::chrono::seconds>(m_plan.patience);
    m_run->end(RunState::Failed,
               "nothing came for " + std::to_string(patience.count()) + " s, and not every rank has reported its end");
}

ListenEnding ListenSession::run() {
    m_loop.run();
    return m_run ? m_run->ending() : m_ending.value_or(ListenEnding());
}

} // namespace lockstep::agent

// SPDX-License-Identifier: MIT
#include "trainer/agent/session/run_session.h"

#include <signal.h>

#include <filesystem>

#include "ipc/logging.h"

namespace lockstep::agent {

namespace {
sigset_t sessionSignals() {
    sigset_t signals = endingSignals();
    sigaddset(&signals, SIGCHLD);
    return signals;
}
} // namespace

void blockSessionSignals() {
    const sigset_t signals = sessionSignals();
    ::sigprocmask(SIG_BLOCK, &signals, nullptr);
    // Inherited from the program that started this one. If it is ignored, the kernel reaps the ranks, and nobody learns how they ended.
    ::signal(SIGCHLD, SIG_DFL);
    ::signal(SIGPIPE, SIG_IGN);
    ::signal(SIGXFSZ, SIG_IGN); // what is beyond `ulimit -f` can't be written then, as on a full disk
}

Session::Session(LaunchPlan plan, GroupKeeper keeper, NewRunFolder folder)
    : m_local(m_loop, m_clock, std::move(plan), std::move(keeper), std::move(folder)) {}

Result<std::unique_ptr<Session>> Session::start(LaunchPlan plan, GroupKeeper keeper, std::unique_ptr<Nvml> nvml,
                                                OnConsoleLine onConsoleLine) {
    std::error_code gone; // a folder that was removed has no path
    plan.record.folder = std::filesystem::current_path(gone).string();
    auto folder = NewRunFolder::create(plan.record, plan.nodes.node);
    if (!folder)
        return fail(folder.error());
    std::unique_ptr<Session> session(new Session(std::move(plan), std::move(keeper), std::move(*folder)));
    if (auto opened = session->open(std::move(nvml), std::move(onConsoleLine)); !opened) {
        session->discard();
        return fail(opened.error());
    }
    return session;
}

Result<void> Session::open(std::unique_ptr<Nvml> nvml, OnConsoleLine onConsoleLine) {
    LocalRun::Handlers handlers;
    handlers.onConsoleLine = std::move(onConsoleLine);
    handlers.onControl = [this](const Control &control) { onControl(control); };
    handlers.onSecond = [this] { m_role->collectTraces(); };
    handlers.onRankFailed = [this](int rank, const ProcessExit &exit, const std::string &reason) {
        m_role->onRankFailed(rank, exit, reason);
    };
    handlers.onRanksGone = [this] { m_role->onRanksGone(); };
    handlers.onRanksOver = [this] {
        m_role->collectTraces();
        m_role->onRanksOver();
    };
    if (auto opened = m_local.open(std::move(nvml), std::move(handlers)); !opened)
        return opened;
    m_role = makeRole(
        m_local, {[this] { settle(); }, [this] { drop(); }, [this](const Control &control) { onControl(control); }});
    m_signals.emplace(m_loop, sessionSignals(), [this](int number) { onSignal(number); });
    if (auto begun = m_role->begin(); !begun)
        return begun;
    m_local.startTimers();
    m_loop.afterBatch([this] {
        m_local.socket().pump();
        m_role->sendLog();
    });
    return {};
}

void Session::onControl(const Control &control) {
    if (control.command == "stop")
        stop(control.by.empty() ? "a viewer" : control.by);
    else if (control.command == "trace" || control.command == "stacks")
        m_role->askRanks(control);
    else
        m_local.journal().note("warning", "unknown command '" + control.command + "' ignored");
}

void Session::stop(const std::string &by) {
    if (!m_settled)
        m_role->stop(by);
}

void Session::onSignal(int number) {
    if (number == SIGCHLD)
        m_local.reapStrays();
    else if (!m_settled)
        stop(signalName(number));
    else if (m_result)
        m_result->giveUp(); // the person who ends it knows that the disk is full
    else
        m_role->giveTracesUp();
}

void Session::settle() {
    if (!std::exchange(m_settled, true))
        m_role->finishTraces([this] { writeResult(); });
}

void Session::writeResult() {
    const auto compose = [this](const std::string &summary) {
        m_local.journal().disk().deliver(); // what came of the last traces
        RunResult result = m_local.result(summary);
        m_role->addToResult(result);
        return result;
    };
    m_result.emplace(m_loop, m_local.journal(), m_local.newFolder());
    const auto waits = [this](const std::string &sentence) {
        if (m_onWaits)
            m_onWaits(sentence);
    };
    m_result->write(compose, {waits, [this](const Result<void> &written) {
                                  if (!written)
                                      m_local.resultUnwritten(written.error());
                                  m_role->onResultWritten();
                                  m_local.socket().finish([this] { m_role->leave([this] { m_loop.quit(); }); });
                              }});
}

void Session::drop() {
    m_settled = true;
    discard();
    m_loop.quit();
}

const RunEnd &Session::run() {
    logInfo("run " + runId() + " started");
    m_loop.run();
    const RunEnd &end = m_local.end();
    logInfo("run " + runId() + ": " + std::string(toString(end.state)) + (end.reason.empty() ? "" : ", " + end.reason));
    return end;
}

} // namespace lockstep::agent

// SPDX-License-Identifier: MIT
#include "stop_signals.h"

#include <csignal>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

#include <QSocketNotifier>

#include "commands.h"

namespace lockstep::cli {
namespace {

int pipeEnds[2] = {-1, -1}; // a signal handler can only use a global

void onSignal(int number) {
    const char byte = char(number);
    [[maybe_unused]] const ssize_t written = ::write(pipeEnds[1], &byte, 1);
}

/// Whether the program was started to go on without its terminal, as nohup does.
bool hangUpIsIgnored() {
    struct sigaction now {};
    return ::sigaction(SIGHUP, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

} // namespace

StopSignals::StopSignals(std::function<void()> onStop, TerminalEnd terminalEnd) : m_onStop(std::move(onStop)) {
    if (::pipe2(pipeEnds, O_CLOEXEC | O_NONBLOCK) != 0)
        return;
    auto *notifier = new QSocketNotifier(pipeEnds[0], QSocketNotifier::Read, this);
    connect(notifier, &QSocketNotifier::activated, this, &StopSignals::arrived);
    struct sigaction action {};
    action.sa_handler = onSignal;
    ::sigaction(SIGINT, &action, nullptr);
    ::sigaction(SIGTERM, &action, nullptr);
    if (terminalEnd == TerminalEnd::Stops && !hangUpIsIgnored())
        ::sigaction(SIGHUP, &action, nullptr);
}

StopSignals::~StopSignals() {
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGTERM, SIG_DFL);
    if (!hangUpIsIgnored())
        std::signal(SIGHUP, SIG_DFL);
    ::close(pipeEnds[0]);
    ::close(pipeEnds[1]);
}

void StopSignals::arrived() {
    const bool again = std::exchange(m_stopping, true);
    for (char number = 0; ::read(pipeEnds[0], &number, 1) > 0;) {
        if (number == SIGHUP)
            std::signal(SIGHUP, SIG_IGN); // a shell and its terminal send one each, perhaps while a command cleans up
        else if (again)
            ::_exit(Stopped);
    }
    if (!again)
        m_onStop();
}

} // namespace lockstep::cli

#include "moc_stop_signals.cpp"

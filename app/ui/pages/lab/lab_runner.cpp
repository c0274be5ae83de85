// SPDX-License-Identifier: MIT
#include "app/ui/pages/lab/lab_runner.h"

#include <utility>

#include "lab/lab_record.h"

namespace lockstep::ui {
namespace {

constexpr int labPollMs = 500;
constexpr int startLimit = 20; ///< polls until a requested lab must have begun

std::string newestLab() {
    const auto labs = core::listLabs();
    return labs.empty() ? std::string() : labs.front();
}

} // namespace

LabRunner::LabRunner(QObject *parent) : QObject(parent) {
    m_poll.setInterval(labPollMs);
    connect(&m_poll, &QTimer::timeout, this, &LabRunner::poll);
}

void LabRunner::start(const core::LabRequest &request) {
    const std::string before = newestLab();
    if (const auto started = core::startLabDetached(request); !started) {
        Q_EMIT failed(QString::fromStdString(started.error().message()));
        return;
    }
    m_before = before;
    m_asked = true;
    m_polls = 0;
    poll();
}

void LabRunner::stop() {
    if (const auto asked = core::stopRunningLab(); !asked)
        Q_EMIT failed(QString::fromStdString(asked.error().message()));
}

void LabRunner::setShown(bool shown) {
    m_shown = shown;
    poll();
}

void LabRunner::poll() {
    const bool ran = m_running.has_value();
    m_running = core::runningLab();
    if (m_running && !ran && !m_asked) // somebody else's
        m_before = newestLab();
    if (m_running)
        m_asked = false;
    ++m_polls;
    const bool over = (ran && !m_running) || (m_asked && m_polls > startLimit);
    if (over)
        m_asked = false;
    Q_EMIT changed();
    if (over) {
        Q_EMIT ended();
        if (newestLab() == m_before)
            Q_EMIT failed(QString::fromStdString(core::labConsoleTail()));
    }
    if (busy() || m_shown)
        m_poll.start();
    else
        m_poll.stop();
}

} // namespace lockstep::ui

#include "moc_lab_runner.cpp"

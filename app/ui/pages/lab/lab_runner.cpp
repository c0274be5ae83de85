// SPDX-License-Identifier: MIT
#include "app/ui/pages/lab/lab_runner.h"

#include <utility>

#include "lab/lab_record.h"

namespace lockstep::ui {
namespace {

constexpr int labLookMs = 500;
constexpr int startLimit = 20; ///< looks until a lab that was asked for must have begun

std::string newestLab() {
    const auto labs = core::listLabs();
    return labs.empty() ? std::string() : labs.front();
}

} // namespace

LabRunner::LabRunner(QObject *parent) : QObject(parent) {
    m_look.setInterval(labLookMs);
    connect(&m_look, &QTimer::timeout, this, &LabRunner::look);
}

void LabRunner::start(const core::LabRequest &request) {
    const std::string before = newestLab();
    if (const auto started = core::startLabDetached(request); !started) {
        Q_EMIT failed(QString::fromStdString(started.error().message()));
        return;
    }
    m_before = before;
    m_asked = true;
    m_looks = 0;
    look();
}

void LabRunner::stop() {
    if (const auto asked = core::stopRunningLab(); !asked)
        Q_EMIT failed(QString::fromStdString(asked.error().message()));
}

void LabRunner::setShown(bool shown) {
    m_shown = shown;
    look();
}

void LabRunner::look() {
    const bool ran = m_running.has_value();
    m_running = core::runningLab();
    if (m_running && !ran && !m_asked) // somebody else's
        m_before = newestLab();
    if (m_running)
        m_asked = false;
    ++m_looks;
    const bool over = (ran && !m_running) || (m_asked && m_looks > startLimit);
    if (over)
        m_asked = false;
    Q_EMIT changed();
    if (over) {
        Q_EMIT ended();
        if (newestLab() == m_before)
            Q_EMIT failed(QString::fromStdString(core::labConsoleTail()));
    }
    if (busy() || m_shown)
        m_look.start();
    else
        m_look.stop();
}

} // namespace lockstep::ui

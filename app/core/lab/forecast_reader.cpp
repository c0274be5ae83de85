// SPDX-License-Identifier: MIT
#include "lab/forecast_reader.h"

#include <utility>

#include <QThread>

namespace lockstep::core {

ForecastReader::ForecastReader(QObject *parent) : QObject(parent) {}

ForecastReader::~ForecastReader() {
    m_stop.request_stop();
    if (m_thread)
        m_thread->wait();
}

void ForecastReader::ask(const std::vector<NodePlace> &places) {
    if (m_thread) {
        m_next = places;
        return;
    }
    m_thread = QThread::create([this, places, stop = m_stop.get_token()] {
        ReadForecasts found{
            newestForecastsFor(places, stop), readGradingRuns(gradingRuns, stop), {places, thisMachine()}, {}};
        found.tally = tallyOfForecasts(found.place, found.runs, stop);
        QMetaObject::invokeMethod(
            this, [this, found = std::move(found)] { over(found); }, Qt::QueuedConnection);
    });
    m_thread->setParent(this);
    m_thread->setObjectName(QStringLiteral("lockstep-lab"));
    m_thread->start(QThread::LowPriority);
}

void ForecastReader::over(const ReadForecasts &found) {
    m_thread->wait(); // it has nothing left to do
    delete std::exchange(m_thread, nullptr);
    if (const auto next = std::exchange(m_next, std::nullopt))
        return ask(*next); // what was found is of other places
    Q_EMIT read(found);
}

} // namespace lockstep::core

#include "moc_forecast_reader.cpp"

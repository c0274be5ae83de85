// SPDX-License-Identifier: MIT
#include "progress_printer.h"

#include <cstdio>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utility>

#include "base/format.h"
#include "commands.h"
#include "ipc/printable.h"
#include "store/recent_data.h"
#include "store/run_outcome.h"
#include "store/run_progress.h"

namespace lockstep::cli {
namespace {

using core::RunStore;
constexpr int liveMs = 100, alertHoldMs = 500;

int terminalColumns(int fd) {
    winsize size{};
    return ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

} // namespace

ProgressPrinter::ProgressPrinter(bool toStderr, QObject *parent)
    : QObject(parent), m_out(toStderr ? stderr : stdout), m_terminal(::isatty(::fileno(m_out))) {
    m_timer.setInterval(liveMs);
    connect(&m_timer, &QTimer::timeout, this, &ProgressPrinter::refreshLive);
}

void ProgressPrinter::begin(RunStore *store, const QString &place, const QString &name) {
    m_printed[store] = {place, name, 0, 0, {}};
    // A run whose entry is run again goes before its end was seen.
    connect(store, &QObject::destroyed, this, [this, store] { m_printed.erase(store); });
    connect(store, &RunStore::changed, this, [this, store](RunStore::Changes what) { changed(store, what); });
    if (m_terminal && !m_timer.isActive())
        m_timer.start();
}

void ProgressPrinter::end(RunStore *store) {
    const auto found = m_printed.find(store);
    if (found == m_printed.end())
        return;
    printEpochs(*store, found->second);
    const bool refused =
        store->result() && store->result()->exitCode == BadArguments && store->losses().all().points().empty();
    const core::RunOutcome outcome = core::outcomeOf(*store);
    printAlerts(*store, found->second, outcome.reason);
    QString text = found->second.name + QStringLiteral("  ") + store->lifecycle().sentence();
    if (outcome.testAccuracy)
        text += QStringLiteral("  test accuracy ") + core::percent(outcome.testAccuracy);
    if (outcome.totalTrainingTimeS)
        text += QStringLiteral("  training ") + core::seconds(outcome.totalTrainingTimeS);
    store->disconnect(this);
    m_printed.erase(found);
    if (!refused) // the final error message gives the reason
        line(text);
    if (m_printed.empty()) {
        m_timer.stop();
        clearLive();
    }
}

void ProgressPrinter::line(const QString &text) {
    clearLive();
    std::fprintf(m_out, "%s\n", printable(text.toStdString()).c_str());
    std::fflush(m_out);
}

void ProgressPrinter::changed(RunStore *store, RunStore::Changes what) {
    Printed &printed = m_printed[store];
    if (what & RunStore::Epochs)
        printEpochs(*store, printed);
    if (what & RunStore::Alerts) // held briefly: if the run ends of it, the result says the same
        QTimer::singleShot(alertHoldMs, store, [this, store] {
            if (const auto found = m_printed.find(store); found != m_printed.end())
                printAlerts(*store, found->second, {});
        });
    const core::LinkState link = store->lifecycle().link();
    if (link == core::LinkState::Lost && store->lifecycle().linkSentence() != printed.lostLink)
        line(printed.name + QStringLiteral("  ") + (printed.lostLink = store->lifecycle().linkSentence()));
    else if (link == core::LinkState::Live && !std::exchange(printed.lostLink, {}).isEmpty())
        line(printed.name + QStringLiteral("  link is back"));
    const bool nodeLost = core::linkToNodeLost(*store); // the loss itself is an alert
    if (std::exchange(printed.nodeLost, nodeLost) && !nodeLost && !store->over())
        line(printed.name + QStringLiteral("  ") + store->links().sentence());
}

void ProgressPrinter::printAlerts(const RunStore &store, Printed &printed, const std::string &except) {
    for (const core::AlertLine &alert : store.messages().alertsAfter(printed.alerts)) {
        printed.alerts = alert.number;
        if (alert.alert.message != except)
            line(QStringLiteral("! ") + printed.name + QStringLiteral("  ") +
                 QString::fromStdString(alert.alert.message));
    }
}

void ProgressPrinter::printEpochs(const RunStore &store, Printed &printed) {
    for (const core::MergedEpoch &epoch : core::completeEpochs(store.epochs().merged(), printed.epoch)) {
        printed.epoch = epoch.epoch;
        const int all = core::progressOf(store).epochs.value_or(0);
        line(QStringLiteral("%1  epoch %2%3  loss %4  %5")
                 .arg(printed.name, QString::number(epoch.epoch), all > 0 ? QStringLiteral("/%1").arg(all) : QString(),
                      core::significant(epoch.lostLoss ? epoch.lostLoss : epoch.loss), core::seconds(epoch.durationS)));
    }
}

QString ProgressPrinter::liveText(const RunStore &store, const Printed &printed) const {
    const core::Progress progress = core::progressOf(store);
    QString text = printed.place.isEmpty() ? printed.name : printed.place + QStringLiteral("  ") + printed.name;
    if (const QString noRecentData = core::whyNoRecentData(store); !noRecentData.isEmpty())
        return text + QStringLiteral("  ") + noRecentData;
    if (core::linkToNodeLost(store))
        text += QStringLiteral("  ") + store.links().sentence();
    if (progress.epoch && progress.epochs)
        text += QStringLiteral("  epoch %1/%2").arg(*progress.epoch).arg(*progress.epochs);
    if (!store.losses().all().points().empty())
        text += QStringLiteral("  loss ") + core::significant(store.losses().all().points().back().loss);
    else
        text += QStringLiteral("  ") + store.lifecycle().sentence();
    if (progress.fraction)
        text += QStringLiteral("  ") + core::percent(progress.fraction, 0);
    if (progress.leftS)
        text += QStringLiteral("  ") + core::timeLeft(progress.leftS) + QStringLiteral(" left");
    return text;
}

void ProgressPrinter::refreshLive() {
    if (m_printed.empty())
        return;
    QStringList lines;
    bool heard = true;
    for (const auto &[store, printed] : m_printed) { // runs side by side share the line
        lines.append(liveText(*store, printed));
        heard = heard && core::whyNoRecentData(*store).isEmpty();
    }
    if (const auto whole = m_wholeLeftS && heard ? m_wholeLeftS() : std::nullopt)
        lines.back() += QStringLiteral(", all in ") + core::timeLeft(whole);
    const QString text = lines.join(QStringLiteral("  |  ")).left(terminalColumns(::fileno(m_out)) - 1);
    std::fprintf(m_out, "\r\033[K%s", printable(text.toStdString()).c_str());
    std::fflush(m_out);
    m_liveShown = true;
}

void ProgressPrinter::clearLive() {
    if (!m_liveShown)
        return;
    std::fprintf(m_out, "\r\033[K");
    std::fflush(m_out);
    m_liveShown = false;
}

} // namespace lockstep::cli

#include "moc_progress_printer.cpp"

// SPDX-License-Identifier: MIT
#include "progress_printer.h"

#include <cstdio>
#include <sys/ioctl.h>
#include <unistd.h>

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
    m_told[store] = {place, name, 0, 0, {}};
    connect(store, &RunStore::changed, this, [this, store](RunStore::Changes what) { changed(store, what); });
    if (m_terminal && !m_timer.isActive())
        m_timer.start();
}

void ProgressPrinter::end(RunStore *store) {
    const auto found = m_told.find(store);
    if (found == m_told.end())
        return;
    tellEpochs(*store, found->second);
    const bool refused =
        store->result() && store->result()->exitCode == BadArguments && store->losses().all().points().empty();
    const core::RunOutcome outcome = core::outcomeOf(*store);
    tellAlerts(*store, found->second, outcome.reason);
    QString text = found->second.name + QStringLiteral("  ") + store->lifecycle().sentence();
    if (outcome.testAccuracy)
        text += QStringLiteral("  test accuracy ") + core::percent(outcome.testAccuracy);
    if (outcome.totalTrainingTimeS)
        text += QStringLiteral("  training ") + core::seconds(outcome.totalTrainingTimeS);
    store->disconnect(this);
    m_told.erase(found);
    if (!refused) // the final error message gives the reason
        line(text);
    if (m_told.empty()) {
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
    Told &told = m_told[store];
    if (what & RunStore::Epochs)
        tellEpochs(*store, told);
    if (what & RunStore::Alerts) // held briefly: if the run ends of it, the result says the same
        QTimer::singleShot(alertHoldMs, store, [this, store] {
            if (const auto found = m_told.find(store); found != m_told.end())
                tellAlerts(*store, found->second, {});
        });
    const bool lost = store->lifecycle().link() == core::LinkState::Lost;
    const QString link = lost ? store->lifecycle().linkSentence() : QString();
    if (link != told.link) {
        line(told.name + QStringLiteral("  ") + (lost ? link : QStringLiteral("link is back")));
        told.link = link;
    }
    const bool nodeLost = core::linkToNodeLost(*store); // the loss itself is an alert
    if (std::exchange(told.nodeLost, nodeLost) && !nodeLost && !store->over())
        line(told.name + QStringLiteral("  ") + store->links().sentence());
}

void ProgressPrinter::tellAlerts(const RunStore &store, Told &told, const std::string &except) {
    for (; told.alerts < store.messages().alerts().size(); ++told.alerts)
        if (const std::string &message = store.messages().alerts()[told.alerts].alert.message; message != except)
            line(QStringLiteral("! ") + told.name + QStringLiteral("  ") + QString::fromStdString(message));
}

void ProgressPrinter::tellEpochs(const RunStore &store, Told &told) {
    const auto &epochs = store.epochs().merged();
    for (; told.epochs < epochs.size() && epochs[told.epochs].complete; ++told.epochs) {
        const core::MergedEpoch &epoch = epochs[told.epochs];
        const int all = core::progressOf(store).epochs.value_or(0);
        line(QStringLiteral("%1  epoch %2%3  loss %4  %5")
                 .arg(told.name)
                 .arg(epoch.epoch)
                 .arg(all > 0 ? QStringLiteral("/%1").arg(all) : QString())
                 .arg(core::significant(epoch.lostLoss ? epoch.lostLoss : epoch.loss), core::seconds(epoch.durationS)));
    }
}

QString ProgressPrinter::liveText(const RunStore &store, const Told &told) const {
    const core::Progress progress = core::progressOf(store);
    QString text = told.place.isEmpty() ? told.name : told.place + QStringLiteral("  ") + told.name;
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
    if (m_told.empty())
        return;
    QStringList lines;
    bool heard = true;
    for (const auto &[store, told] : m_told) { // runs side by side share the line
        lines.append(liveText(*store, told));
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

// SPDX-License-Identifier: MIT
// attach and stop.
#include <set>

#include <QCoreApplication>

#include "commands.h"
#include "event_files.h"
#include "export/export.h"
#include "follow/agent_control.h"
#include "follow/remote_copy.h"
#include "follow/run_follower.h"
#include "loaded_runs.h"
#include "output.h"
#include "progress_printer.h"
#include "queue/experiment_follower.h"
#include "queue/named_places.h"
#include "queue/queue_origin.h"
#include "result_text.h"
#include "store/run_outcome.h"
#include "store/run_store.h"

namespace lockstep::cli {
namespace {

int exitCodeOf(const core::RunStore &store) {
    if (store.result())
        return store.result()->exitCode;
    if (store.lifecycle().link() == core::LinkState::Failed)
        return complain(Error::failed(store.lifecycle().linkSentence().toStdString()));
    return Failed;
}

int attachRun(const std::string &id, core::TensorBoardFeed *events) {
    if (!isRunId(id))
        return complain(Error::badArgument("\"" + id.substr(0, 80) + "\" is neither a run nor an experiment",
                                           "lockstepctl list shows them"));
    if (!isThere(runFolder(id).path))
        return complain(Error::badArgument("there is no run " + id, "lockstepctl list shows them"));
    // Else it is starting, or its record is on the way from another machine.
    const RunFolder folder = runFolder(id);
    if (!isThere(folder.config()) && nodesIn(folder).empty() && !isThere(folder.lock(ownNode(folder))) &&
        !isThere(folder.origin()))
        return complain(Error::badArgument("run " + id + " has neither a record nor an agent: nothing will come of it",
                                           "lockstepctl list shows the runs"));
    core::RunStore store(QString::fromStdString(id));
    core::RunFollower follower(&store, QString::fromStdString(id));
    ProgressPrinter printer(false);
    if (events)
        events->follow(&store);
    QObject::connect(&follower, &core::RunFollower::ended, &printer, [&] {
        if (events)
            events->finish();
        printer.end(&store);
        QCoreApplication::exit(exitCodeOf(store));
    });
    QObject::connect(&store, &core::RunStore::changed, &printer, [&, begun = false](core::RunStore::Changes) mutable {
        if (begun)
            return;
        begun = true;
        printer.begin(&store, {}, store.identity().title());
    });
    follower.start();
    return QCoreApplication::exec();
}

/// Follows an experiment until its queue is over and every run's last frame has arrived.
class ExperimentAttach : public QObject {
public:
    explicit ExperimentAttach(core::TensorBoardFeed *events) : m_events(events) {}
    int run(const std::string &id) {
        connect(&m_follower, &core::ExperimentFollower::runAdded, this, &ExperimentAttach::runAdded);
        connect(&m_follower, &core::ExperimentFollower::runEnded, this, [this](int entry) {
            m_printer.end(m_follower.store(entry));
            m_open.erase(entry);
            if (m_events)
                m_events->finish();
            check();
        });
        connect(&m_follower, &core::ExperimentFollower::experimentChanged, this, [this] {
            printLink();
            printWidth();
            check();
        });
        if (const auto known = core::readExperiment(id); !known)
            return complain(known.error());
        const auto begin = [this, id] { // on the event loop: an exit() before exec() would be lost
            if (const auto opened = m_follower.open(id); !opened)
                return QCoreApplication::exit(complain(opened.error()));
            m_opened = true;
            check();
        };
        QMetaObject::invokeMethod(this, begin, Qt::QueuedConnection);
        return QCoreApplication::exec();
    }

private:
    void runAdded(int entry, core::RunStore *store) {
        const core::Experiment &experiment = m_follower.experiment();
        const QString name =
            QString::fromStdString(core::nameWithRepeat(experiment.entries[std::size_t(entry)].planned));
        m_open.insert(entry);
        if (m_events)
            m_events->follow(store);
        m_printer.begin(store, QStringLiteral("run %1 of %2").arg(entry + 1).arg(experiment.runnableCount()), name);
    }
    /// For a queue on another machine: reports when the link is lost and when it is back.
    void printLink() {
        const QString why = m_follower.unknownWhy();
        if (why != m_printedWhy && (m_wasKnown || m_follower.linkFailed()))
            m_printer.line(why.isEmpty() ? QStringLiteral("the link to %1 is back").arg(m_follower.queueHost()) : why);
        m_wasKnown = m_wasKnown || why.isEmpty();
        m_printedWhy = why;
        if (m_follower.linkFailed())
            QCoreApplication::exit(Failed);
    }
    /// For an experiment with a goal: how narrow its intervals are, after each round.
    void printWidth() {
        const auto &until = m_follower.experiment().until;
        if (!until || !until->reached || until == m_printedWidth)
            return;
        m_printedWidth = until;
        m_printer.line(QString::fromStdString(core::progressText(*until, {})));
    }
    void check() {
        const core::Experiment &experiment = m_follower.experiment();
        if (!m_opened || m_over || !m_open.empty())
            return;
        if (m_follower.orphaned()) {
            m_over = true;
            m_printer.line(
                QStringLiteral(
                    "the queue waits: the process that ran it has ended; resume it: lockstepctl run --experiment ") +
                QString::fromStdString(experiment.id));
            return QCoreApplication::exit(Failed);
        }
        if (!experiment.over() || !m_follower.unknownWhy().isEmpty())
            return;
        m_over = true;
        int code = Done;
        std::vector<core::RunOutcome> outcomes;
        for (const core::RunStore *store : m_follower.stores())
            outcomes.push_back(core::outcomeOf(*store));
        for (const core::ExperimentEntry &entry : experiment.entries)
            if (entry.state == core::EntryState::Stopped)
                code = Stopped;
            else if (entry.state == core::EntryState::Failed && code == Done)
                code = Failed;
        const core::ResultTable table = core::resultTable(experiment, outcomes);
        print("\n" + resultText(table, core::judge(table, outcomes, experiment.recipe.varies)));
        QCoreApplication::exit(code);
    }

    core::ExperimentFollower m_follower;
    ProgressPrinter m_printer{false};
    core::TensorBoardFeed *m_events;
    std::set<int> m_open;
    bool m_opened = false, m_over = false, m_wasKnown = false;
    std::optional<core::WidthProgress> m_printedWidth;
    QString m_printedWhy; ///< the last printed reason why the queue's state is unknown
};

} // namespace

std::unique_ptr<core::TensorBoardFeed> openEventFiles(const std::string &folder) {
    auto events = std::make_unique<core::TensorBoardFeed>(folder);
    QObject::connect(events.get(), &core::TensorBoardFeed::failed, events.get(),
                     [](const Error &error) { complain(error); });
    return events;
}

int attachCommand(const AttachOptions &options) {
    std::unique_ptr<core::TensorBoardFeed> events;
    if (!options.tensorBoard.empty()) {
        if (const auto writable = core::checkWritableFolder(options.tensorBoard); !writable)
            return complain(writable.error());
        events = openEventFiles(options.tensorBoard);
    }
    if (!options.queueOn.empty())
        if (const auto met = knowQueueOn(options.queueOn, options.id); !met)
            return complain(met.error());
    if (const auto places = options.connect ? core::acceptPlacesOf(options.id) : core::checkPlacesOf(options.id);
        !places)
        return complain(places.error());
    const bool known = isExperiment(options.id);
    // A remote queue: the copy may be missing, or the queue may have been extended since it was over.
    if (const auto origin = core::queueOriginOf(options.id))
        if (!known || core::readExperiment(options.id).value_or(core::Experiment()).over())
            if (const auto fetched = core::fetchQueue(options.id, *origin); !fetched && !known)
                return complain(fetched.error());
    return isExperiment(options.id) ? ExperimentAttach(events.get()).run(options.id)
                                    : attachRun(options.id, events.get());
}

int stopCommand(const std::string &id) {
    if (isExperiment(id)) {
        if (const auto stopped = core::stopExperiment(id, whoAsks()); !stopped)
            return complain(stopped.error());
        print("experiment " + id + " is asked to stop\n");
        return Done;
    }
    if (!isRunId(id) || !isThere(runFolder(id).path))
        return complain(
            Error::badArgument("there is no run and no experiment " + id.substr(0, 80), "lockstepctl list shows them"));
    const core::CommandPrefix prefix = core::originOf(runFolder(id)).value_or(core::CommandPrefix{});
    if (const auto stopped = core::waitFor(core::askToStop(prefix, id, whoAsks())); !stopped)
        return complain(stopped.error());
    print("run " + id + " is asked to stop\n");
    return Done;
}

int traceCommand(const std::string &run, std::int64_t steps) {
    if (!isRunId(run) || !isThere(runFolder(run).path))
        return complain(Error::badArgument("there is no run " + run.substr(0, 80), "lockstepctl list shows them"));
    const core::CommandPrefix prefix = core::originOf(runFolder(run)).value_or(core::CommandPrefix{});
    if (const auto asked = core::waitFor(core::askForTrace(prefix, run, steps, whoAsks())); !asked)
        return complain(asked.error());
    const std::string place =
        prefix.local() ? runFolder(run).traces() : "the run's folder on " + prefix.host + ", traces";
    print("run " + run + " records its next " + std::to_string(steps) + " steps; then ui.perfetto.dev opens " + place +
          "/trace.json\n");
    return Done;
}

} // namespace lockstep::cli

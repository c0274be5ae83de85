// SPDX-License-Identifier: MIT
// What a queue on another machine says: each run that it names needs a program here, and it may talk without end.
#include <algorithm>
#include <filesystem>

#include "core_queue_support.h"
#include "experiment/experiment.h"
#include "ipc/file_system.h"
#include "nodes/known_places.h"
#include "queue/followed_runs.h"
#include "queue/queue_bridge.h"
#include "queue/slurm/slurm_experiment.h"
#include "store/load_run.h"
#include "store/run_store.h"
#include "store/status_reader.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::core;
using namespace lockstep::test;

namespace {

/// As a queue on another machine says it: so many running runs, of ids that nobody has seen.
Experiment ofNewRuns(int count) {
    Experiment out;
    out.id = makeRunId();
    out.host = "far";
    out.remoteAgent = "lockstep-agent";
    out.entries.resize(std::size_t(count));
    for (ExperimentEntry &entry : out.entries) {
        entry.state = EntryState::Running;
        entry.run = makeRunId();
    }
    return out;
}

/// A run of that experiment without an end, as an agent in job 1 on node n1 writes it into a folder that this machine shares.
std::string runInSlurm(const std::string &experiment, std::uint32_t number = 1) {
    RunRecord record = ddpRecord({});
    record.experiment = experiment;
    const std::string run = finishedRun(number, &record);
    std::filesystem::remove(runFolder(run).result());
    std::vector<Frame> frames = ddpRecording();
    LinkFrame link;
    link.ofNode = 1;
    link.host = "n2";
    link.link = "up";
    frames.back() = frame(link, std::nullopt, 2300); // in place of its end
    std::string log;
    for (const std::string &line : sealed(run, frames, "n1"))
        log += line + "\n";
    write(runFolder(run).log(0), log);
    write(runFolder(run).origin(), R"({"host":"slurm:1/n1","agent":"lockstep-agent","machine":"n1","shared":true})");
    (void)rememberPlace(prefixFor("slurm:1/n1", "lockstep-agent").value());
    return run;
}

int runFolders() {
    const QDir runs(QString::fromStdString(runsFolder()));
    return int(runs.entryList(QDir::Dirs | QDir::NoDotAndDotDot).size());
}

} // namespace

class FollowedRunsTest : public QObject {
    Q_OBJECT
    std::unique_ptr<Home> m_home;
    std::unique_ptr<QTemporaryDir> m_programs;
    QByteArray m_path;

private Q_SLOTS:
    void init() {
        m_home = std::make_unique<Home>();
        m_programs = std::make_unique<QTemporaryDir>();
        const QString ssh = m_programs->filePath(QStringLiteral("ssh"));
        write(ssh.toStdString(), "#!/bin/sh\nexec sleep 600\n");
        QVERIFY(QFile::setPermissions(ssh, QFile::ReadOwner | QFile::ExeOwner));
        m_path = qgetenv("PATH");
        qputenv("PATH", m_programs->path().toUtf8() + ':' + m_path);
        QVERIFY(rememberPlace(prefixFor("far", "lockstep-agent").value()).has_value());
    }
    void cleanup() {
        qputenv("PATH", m_path);
        m_home.reset();
    }

    /// Its folder is the run's own, which the job's nodes share with this machine.
    void aRunWhoseSlurmJobIsGoneEndsForTheReasonThatItsQueueFound() {
        if (!useFakeRanks())
            QSKIP(withoutFakeRanks().constData());
        const std::string reason = "its Slurm job ended without a result";
        Experiment experiment = ofOneRun(EntryState::Running);
        const std::string run = runInSlurm(experiment.id);
        experiment.entries[0].run = run;
        QVERIFY(writeExperiment(experiment).has_value());
        experiment.entries[0].state = EntryState::Failed;
        experiment.entries[0].reason = reason;
        const std::string later = m_programs->filePath(QStringLiteral("later")).toStdString();
        write(later, documentOf(experiment).value_or(""));
        const QString srun = m_programs->filePath(QStringLiteral("srun"));
        write(srun.toStdString(), "#!/bin/sh\ncp '" + later + "' '" + experimentFolder(experiment.id).json() +
                                      "'\necho 'Slurm job 1 has expired' >&2\nexit 1\n");
        QVERIFY(QFile::setPermissions(srun, QFile::ReadOwner | QFile::ExeOwner));

        const QString id = QString::fromStdString(run);
        const Answer attached = ctl({QStringLiteral("attach"), id});
        QVERIFY2(attached.code == 1, attached.err.constData());
        QVERIFY2(attached.out.contains("failed: " + QByteArray::fromStdString(reason)), attached.out.constData());
        QVERIFY2(!attached.out.contains("link is back"), attached.out.constData());
        const Answer listed = ctl({QStringLiteral("list"), QStringLiteral("--json")});
        const auto runs = nlohmann::json::parse(listed.out.toStdString(), nullptr, false)["runs"];
        QCOMPARE(runs[0].value("state", ""), std::string("failed"));
        QCOMPARE(runs[0].value("reason", ""), "failed: " + reason);
        const Answer shown = ctl({QStringLiteral("show"), id});
        QVERIFY2(shown.out.contains("failed: " + QByteArray::fromStdString(reason)), shown.out.constData());
        QVERIFY2(shown.out.contains("link to n2 was up when last seen"), shown.out.constData());
    }

    void aSlurmJobThatRanWithoutARunHasFailedForWhatItsLogSays() {
        Experiment experiment = ofOneRun(EntryState::Queued);
        const SlurmRecord record{"12", {0}, {makeRunId()}, false};
        const std::vector<std::vector<SlurmAttempt>> noAttempts(1);
        const ExperimentEntry &entry = experiment.entries[0];
        reconcile(experiment, record, {}, noAttempts);
        QVERIFY(entry.state == EntryState::Stopped);
        QCOMPARE(entry.reason, std::string("its Slurm job left the queue before it ran"));
        write(experimentFolder(experiment.id).path + "/slurm-12.log", "starts\nlockstep-agent: not found\n");
        reconcile(experiment, record, {}, noAttempts);
        QVERIFY(entry.state == EntryState::Failed);
        QCOMPARE(entry.reason, std::string("its Slurm job ended before a run began: lockstep-agent: not found"));
    }

    void theEndsOfManyRunsElsewhereCostOneReadingOfTheirExperiment() {
        constexpr int count = 12;
        Experiment experiment = ofOneRun(EntryState::Failed);
        experiment.entries[0].reason = "its Slurm job ended without a result";
        for (int i = 0; i < count; ++i) {
            ExperimentEntry &entry =
                i == 0 ? experiment.entries[0] : experiment.entries.emplace_back(experiment.entries[0]);
            entry.planned.repeat = i + 1;
            entry.run = runInSlurm(experiment.id, std::uint32_t(i) + 1);
        }
        QVERIFY(writeExperiment(experiment).has_value());
        OpenCount opens(experimentFolder(experiment.id).json());
        FollowedRuns runs;
        runs.follow(experiment);
        const auto ended = [&] {
            return std::ranges::count_if(runs.stores(), [](const RunStore *store) {
                return store->lifecycle().linkSentence() == u"failed: its Slurm job ended without a result";
            });
        };
        QTRY_COMPARE_WITH_TIMEOUT(int(ended()), count, test::hangLimitMs);
        QCOMPARE(opens.soFar(), 1);
        StatusReader statuses;
        const auto loaded = [&](std::size_t entry) {
            RunStore store(QString::fromStdString(experiment.entries[entry].run));
            return loadRun(store, runFolder(experiment.entries[entry].run), statuses)
                       ? store.lifecycle().linkSentence().toStdString()
                       : std::string();
        };
        for (std::size_t i = 0; i < std::size_t(count); ++i)
            QCOMPARE(loaded(i), "failed: " + experiment.entries[i].reason);
        QCOMPARE(opens.soFar(), 2);
        if (useFakeRanks()) {
            const Answer shown = ctl({QStringLiteral("show"), QString::fromStdString(experiment.id)});
            QVERIFY2(shown.code == 0, shown.err.constData());
            QVERIFY(opens.soFar() - 2 < count);
        }
        experiment.entries[1].reason = "its node has failed"; // as its owner has found since
        QVERIFY(writeExperiment(experiment).has_value());
        QCOMPARE(loaded(1), std::string("failed: its node has failed"));
    }

    void aFewOfManyRunningRunsAreFollowedAtATime() {
        FollowedRuns runs;
        runs.follow(ofNewRuns(300));
        QCOMPARE(int(runs.stores().size()), 300);
        QTRY_COMPARE_WITH_TIMEOUT(runFolders(), 32, test::hangLimitMs);
        Experiment few = ofNewRuns(8);
        FollowedRuns others;
        others.follow(few);
        QTRY_COMPARE_WITH_TIMEOUT(runFolders(), 40,
                                  test::hangLimitMs); // as many as a queue really has are followed at once
        few.entries[0].run = makeRunId();             // queued again
        others.follow(few);
        QTRY_COMPARE_WITH_TIMEOUT(runFolders(), 41, test::hangLimitMs);
    }

    void runsWhoseRecordsTakeLongToReadAreBegunInSeveralTurnsOfTheEventLoop() {
        std::string record = "{\"pad\":[0";
        for (int i = 0; i < 150'000; ++i)
            record += ",0";
        const RunFolder first = runFolder(makeRunId());
        QVERIFY(realFileSystem().makeFolders(first.path).has_value());
        write(first.config(), record + "],\"run\":\"another\"}");
        for (const EntryState state : {EntryState::Done, EntryState::Running}) {
            Experiment experiment = ofNewRuns(100);
            experiment.host = experiment.remoteAgent = "";
            for (ExperimentEntry &entry : experiment.entries) {
                entry.state = state;
                std::filesystem::create_directory_symlink(first.path, runFolder(entry.run).path);
            }
            FollowedRuns runs;
            runs.follow(experiment);
            const auto begun = [&] {
                return std::ranges::count_if(
                    runs.stores(), [](const RunStore *store) { return store->lifecycle().link() != LinkState::Idle; });
            };
            QVERIFY(begun() > 0 && begun() < 100);
            QTRY_COMPARE_WITH_TIMEOUT(int(begun()), 100, test::hangLimitMs);
        }
    }

    void aQueueThatNamesRunsWithoutEndIsFollowedNoFurther() {
        FollowedRuns runs;
        Experiment queue = ofNewRuns(5000);
        const Experiment first = queue;
        for (int round = 0; round < 6; ++round) {
            runs.follow(queue);
            queue.entries = ofNewRuns(5000).entries;
        }
        QVERIFY(runFolders() <= 4 * 32);
        runs.follow(first); // known ones are
        QCOMPARE(int(runs.stores().size()), 5000);
    }

    void ofSnapshotsThatComeFasterThanTheyAreTakenTheNewestCountsAndEveryAnswer() {
        constexpr int lines = 300;
        MachineFacts facts;
        facts.allowedCores = {0, 1};
        const Recipe recipe = loadRecipe("lenet-dp-vs-ddp").value();
        QueueSnapshot snapshot{makeExperiment(*expand(recipe, facts), recipe, false, {}), true};
        std::string said;
        for (int i = 1; i <= lines; ++i) {
            const std::string number = std::to_string(i);
            snapshot.experiment.title = number;
            said += toJson(snapshot);
            said += R"({"type":"answer","number":)" + number + ",\"error\":\"" + number + "\"}\n";
        }
        write(m_programs->filePath(QStringLiteral("said")).toStdString(), said);
        const QString ssh = m_programs->filePath(QStringLiteral("ssh"));
        QVERIFY(QFile::remove(ssh));
        write(ssh.toStdString(), "#!/bin/sh\ncat \"${0%/*}/said\"\nexec cat >/dev/null\n");
        QVERIFY(QFile::setPermissions(ssh, QFile::ReadOwner | QFile::ExeOwner));
        const QueueOrigin origin{prefixFor("far", "lockstep-agent").value(), "lockstepctl"};
        QVERIFY(rememberPlaces(placesOf(origin)).has_value());
        QueueBridge bridge(snapshot.experiment.id, origin);
        QStringList titles, answers, wanted;
        connect(&bridge, &QueueBridge::seen, this,
                [&](const QueueSnapshot &seen) { titles << QString::fromStdString(seen.experiment.title); });
        connect(&bridge, &QueueBridge::refused, this, [&](const QString &sentence) { answers << sentence; });
        bridge.start();
        QTRY_COMPARE_WITH_TIMEOUT(answers.size(), lines, test::hangLimitMs);
        QTRY_COMPARE_WITH_TIMEOUT(titles.value(titles.size() - 1), QString::number(lines), test::hangLimitMs);
        for (int i = 1; i <= lines; ++i)
            wanted << QStringLiteral("on far: %1").arg(i);
        QCOMPARE(answers, wanted);
        QVERIFY2(titles.size() < lines, qPrintable(titles.join(QLatin1Char(' '))));
        QVERIFY(bridge.state() == QueueBridge::State::Live);
    }
};

QTEST_GUILESS_MAIN(FollowedRunsTest)
#include "followed_runs_test.moc"

// SPDX-License-Identifier: MIT
// Runs that a queue on another machine names: each needs a program here, and that machine may name runs without end.
#include <filesystem>

#include "core_support.h"
#include "experiment/experiment.h"
#include "ipc/file_system.h"
#include "nodes/known_places.h"
#include "queue/followed_runs.h"
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

    void aFewOfManyRunningRunsAreFollowedAtATime() {
        FollowedRuns runs;
        runs.follow(ofNewRuns(300));
        QCOMPARE(int(runs.stores().size()), 300);
        QCOMPARE(runFolders(), 32);
        Experiment few = ofNewRuns(8);
        FollowedRuns others;
        others.follow(few);
        QCOMPARE(runFolders(), 40);       // as many as a queue really has are followed at once
        few.entries[0].run = makeRunId(); // queued again
        others.follow(few);
        QCOMPARE(runFolders(), 41);
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
};

QTEST_GUILESS_MAIN(FollowedRunsTest)
#include "followed_runs_test.moc"

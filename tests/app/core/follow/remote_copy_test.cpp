// SPDX-License-Identifier: MIT
// A viewer's copy of a run elsewhere: what it may write, and where it must not.
#include <csignal>

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <QSignalSpy>

#include "core_support.h"
#include "follow/remote_copy.h"
#include "follow/run_follower.h"
#include "ipc/log.h"
#include "ipc/messages.h"
#include "nodes/known_places.h"
#include "store/run_store.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::core;
using namespace lockstep::test;

namespace {

const std::string id = "20260102T030405Z-89abcdef";

std::string sealed(std::uint64_t seq, const std::string &message = "a line", int node = 0) {
    Frame frame;
    frame.body = LogFrame{"info", message, "agent"};
    return sealLine(encode(frame), node, seq);
}

QByteArray contents(const std::string &path) {
    QFile file(QString::fromStdString(path));
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

double freeShareOfTheDisk = 0.5; // of 1 TiB

/// As another machine answers `status`.
RemoteCopy::Status statusSaid(RemoteCopy &copy) {
    std::optional<RemoteCopy::Status> said;
    copy.fetchStatus([&](const RemoteCopy::Status &status) { said = status; });
    [&] { QTRY_VERIFY_WITH_TIMEOUT(said.has_value(), test::hangLimitMs); }();
    return said.value_or(RemoteCopy::Status());
}

CommandPrefix saying(const std::string &script) {
    return {{"/bin/sh", "-c", script, "--"}, "far", "lockstep-agent", false};
}

/// Of so many ranks on so many nodes, with as much about each as there is.
RunRecord recordOf(int ranks, int nodes) {
    RunRecord record;
    record.run = id;
    record.processes = ranks;
    for (int node = 0; node < nodes; ++node) {
        MachineRecord machine;
        machine.node = node;
        machine.host = "gpu-node-" + std::to_string(node) + ".cluster.example.org";
        for (int i = 0; i < 20; ++i)
            machine.interfaces.emplace_back("ib" + std::to_string(i), "fe80::fc:ff:fe00:1%eth0");
        record.machines.push_back(machine);
    }
    for (int rank = 0; rank < ranks; ++rank) {
        const std::string device = "cuda:" + std::to_string(rank / nodes);
        MachineRecord &machine = record.machines[std::size_t(rank % nodes)];
        machine.devices.push_back(
            {device, "cuda", "NVIDIA H200 141GB HBM3e", "0-191", "GPU-01234567-89ab-cdef-0123-456789abcdef", 1.5e11});
        record.deviceNames.push_back(machine.host + "/" + device);
    }
    return record;
}

int openFiles() {
    return int(QDir(QStringLiteral("/proc/self/fd")).entryList(QDir::AllEntries | QDir::System).size());
}

} // namespace

/// In place of libc's, for this program.
extern "C" int statvfs(const char *, struct statvfs *status) noexcept {
    *status = {};
    status->f_frsize = 4096;
    status->f_blocks = fsblkcnt_t(1) << 28;
    status->f_bavail = fsblkcnt_t(freeShareOfTheDisk * double(status->f_blocks));
    return 0;
}

class CoreRemoteCopyTest : public QObject {
    Q_OBJECT
    std::unique_ptr<Home> m_home;
    const CommandPrefix m_far{{"ssh", "far"}, "far", "lockstep-agent", false};

private Q_SLOTS:
    void init() { m_home = std::make_unique<Home>(); }

    void itHasTheLinesThatCameAndIsContinuedAfterTheLastWholeOne() {
        const std::string log = runFolder(id).log(0);
        {
            RemoteCopy copy(runFolder(id), id, m_far);
            QVERIFY(copy.open());
            copy.append(sealed(0));
            copy.append(sealed(1));
            copy.append(sealed(0, "another node's", 1));
            copy.append("no sealed line");
            copy.flush();
        }
        const QByteArray two = QByteArray::fromStdString(sealed(0) + "\n" + sealed(1) + "\n");
        QCOMPARE(contents(log), two);
        QCOMPARE(contents(runFolder(id).log(1)), QByteArray::fromStdString(sealed(0, "another node's", 1) + "\n"));
        QFile torn(QString::fromStdString(log));
        QVERIFY(torn.open(QIODevice::Append) && torn.write("{\"type\":") > 0);
        torn.close();
        RemoteCopy copy(runFolder(id), id, m_far);
        QVERIFY(copy.open());
        copy.append(sealed(2));
        copy.flush();
        QCOMPARE(contents(log), two + QByteArray::fromStdString(sealed(2) + "\n"));
    }

    // By an ssh name of this machine, or with a home that both machines share.
    void theRunsOwnFolderIsNeverTakenForACopy() {
        const RunFolder folder = runFolder(id);
        QVERIFY(realFileSystem().makeFolders(folder.path));
        const std::string log = sealed(0) + "\n{\"type\":\"a line that is being written";
        QVERIFY(realFileSystem().writeAtomically(folder.log(0), log));
        QVERIFY(realFileSystem().writeAtomically(folder.lock(0), ""));
        RemoteCopy copy(folder, id, m_far);
        QVERIFY(!copy.open());
        copy.append(sealed(1));
        copy.flush();
        QCOMPARE(contents(folder.log(0)), QByteArray::fromStdString(log));
        QVERIFY(!QFile::exists(QString::fromStdString(folder.origin())));
    }

    // As a run that was imported, or whose lock file somebody has removed.
    void aFolderWithDocumentsButWithoutTheirOriginIsNoCopy() {
        for (const std::string &path : {runFolder(id).config(), runFolder(id).result(), runFolder(id).log(3)}) {
            const RunFolder folder = runFolder(id);
            QVERIFY(realFileSystem().makeFolders(folder.path));
            write(path, "mine\n");
            {
                RemoteCopy copy(folder, id, saying(R"(echo '{"state":"finished","record":{},"result":{}}')"));
                const Result<void> opened = copy.open();
                QVERIFY2(!opened && opened.error().what.ends_with("is the run's own folder, seen from here"),
                         path.c_str());
                copy.append(sealed(0, "a line", 3));
                copy.flush();
                QVERIFY(statusSaid(copy).result);
            }
            QCOMPARE(contents(path), QByteArray("mine\n"));
            QCOMPARE(QDir(QString::fromStdString(folder.path)).entryList(QDir::Files).size(), 1);
            QVERIFY(QDir(QString::fromStdString(folder.path)).removeRecursively());
        }
        QVERIFY(RemoteCopy(runFolder(id), id, m_far).open().has_value());
    }

    void aCopyFromAnotherHostIsNotTakenOver() {
        CommandPrefix hostb = m_far;
        hostb.host = "hostb";
        { QVERIFY(RemoteCopy(runFolder(id), id, hostb).open().has_value()); }
        const QByteArray origin = contents(runFolder(id).origin());
        RemoteCopy copy(runFolder(id), id, m_far);
        const Result<void> opened = copy.open();
        QVERIFY2(!opened && opened.error().what.find("was copied from hostb, and far names it") != std::string::npos,
                 opened ? "" : opened.error().what.c_str());
        copy.append(sealed(0));
        copy.flush();
        QCOMPARE(contents(runFolder(id).origin()), origin);
        QCOMPARE(contents(runFolder(id).log(0)), QByteArray());
        QVERIFY(RemoteCopy(runFolder(id), id, hostb).open().has_value()); // it goes on there
    }

    void anEndlessOriginNamesNoMachine() {
        const RunFolder folder = runFolder(id);
        QVERIFY(realFileSystem().makeFolders(folder.path));
        const std::string origin = R"({"host":"far","agent":"lockstep-agent"})";
        write(folder.origin(), origin);
        QVERIFY(originOf(folder).has_value());
        write(folder.origin(), origin + std::string(largestShortDocument, ' '));
        QVERIFY(!originOf(folder));
    }

    void aFollowerEndsWhereTheOtherMachineDoesNotKnowWhetherTheRunGoesOn() {
        Hello hello;
        hello.role = "agent";
        hello.run = id;
        const std::string script =
            "case \"$*\" in *status*) echo '{\"state\":\"unknown\",\"sentence\":\"as last seen on hostA\"}';; *) "
            "echo '" +
            encode(hello) + "';; esac";
        const CommandPrefix far{{"/bin/sh", "-c", script, "--"}, "far", "lockstep-agent", false};
        QVERIFY(rememberPlace(far).has_value());
        RunStore store(QString::fromStdString(id));
        RunFollower follower(&store, QString::fromStdString(id), far);
        QSignalSpy ended(&follower, &RunFollower::ended);
        follower.start();
        QVERIFY(ended.wait(test::hangLimitMs));
        QVERIFY2(store.lifecycle().link() == LinkState::Unknown, qPrintable(store.lifecycle().linkSentence()));
        QCOMPARE(store.lifecycle().linkSentence(), QStringLiteral("as last seen on hostA"));
    }

    void whatAFollowerHearsOfADeadAgentIsKeptInTheCopy() {
        Hello hello;
        hello.role = "agent";
        hello.run = id;
        const std::string answer = R"({"state":"agent_died","sentence":"failed: agent died"})";
        const CommandPrefix far =
            saying("case \"$*\" in *status*) echo '" + answer + "';; *) echo '" + encode(hello) + "';; esac");
        QVERIFY(rememberPlace(far).has_value());
        {
            RunStore store(QString::fromStdString(id));
            RunFollower follower(&store, QString::fromStdString(id), far);
            QSignalSpy ended(&follower, &RunFollower::ended);
            follower.start();
            QVERIFY(ended.wait(test::hangLimitMs));
            QCOMPARE(store.lifecycle().sentence(), QStringLiteral("failed: agent died"));
        }
        QVERIFY(readRunStatus(runFolder(id)).kind == RunStatus::Kind::AgentDied);
        QVERIFY(RemoteCopy(runFolder(id), id, far).open().has_value()); // by the next viewer
        QVERIFY(readRunStatus(runFolder(id)).kind == RunStatus::Kind::AgentDied);
    }

    void aRecordThatDidNotChangeIsReadOnceHoweverOftenTheLogSaysTraining() {
        const std::string run = finishedRun(1);
        StateFrame training;
        training.state = RunState::Training;
        std::string log;
        for (const std::string &line : test::sealed(run, std::vector<Frame>(200, frame(training, std::nullopt, 1))))
            log += line + "\n";
        write(runFolder(run).log(0), log);
        write(runFolder(run).result(), toJson(doneResult(run, 201)));
        OpenCount opens(runFolder(run).config());
        RunStore store(QString::fromStdString(run));
        RunFollower follower(&store, QString::fromStdString(run));
        QSignalSpy ended(&follower, &RunFollower::ended);
        follower.start();
        QVERIFY(ended.wait(test::hangLimitMs));
        QCOMPARE(opens.soFar(), 1);
        QCOMPARE(store.identity().record()->name, ddpRecord(run).name);
    }

    void nothingIsCutOrWrittenThroughALinkInALogsPlace() {
        const RunFolder folder = runFolder(id);
        QVERIFY(realFileSystem().makeFolders(folder.path));
        write(folder.origin(), R"({"host":"far"})");
        const std::string mine = m_home->path() + "/mine";
        QVERIFY(realFileSystem().writeAtomically(mine, "what I have written"));
        QVERIFY(QFile::link(QString::fromStdString(mine), QString::fromStdString(folder.log(0))));
        QCOMPARE(::mkfifo(folder.log(1).c_str(), 0600), 0);
        RemoteCopy copy(folder, id, m_far);
        QVERIFY(!copy.open());
        copy.append(sealed(0));
        copy.append(sealed(0, "another node's", 1));
        copy.flush();
        QCOMPARE(contents(mine), QByteArray("what I have written"));
    }

    void itEndsBeforeTheDiskIsFull() {
        const std::string log = runFolder(id).log(0);
        RemoteCopy copy(runFolder(id), id, m_far);
        QVERIFY(copy.open());
        freeShareOfTheDisk = 0.0005; // half a GiB
        copy.append(sealed(0));
        copy.append(sealed(0, "another node's", 1));
        copy.flush();
        freeShareOfTheDisk = 0.5;
        copy.append(sealed(1));
        copy.append(sealed(0, "a third one's", 2));
        copy.flush();
        QCOMPARE(contents(log), QByteArray());
        QVERIFY(!QFile::exists(QString::fromStdString(runFolder(id).log(2))));
    }

    void aRecordAndAResultAreNotKeptOnADiskThatIsNearlyFull() {
        const RunFolder folder = runFolder(id);
        RemoteCopy copy(folder, id, saying(R"(echo '{"state":"finished","record":{"run":"a"},"result":{"run":"b"}}')"));
        QVERIFY(copy.open());
        freeShareOfTheDisk = 0.0005; // half a GiB
        const RemoteCopy::Status status = statusSaid(copy);
        freeShareOfTheDisk = 0.5;
        QVERIFY(status.record && status.result);
        copy.append(sealed(0));
        copy.flush();
        QVERIFY(!isThere(folder.config()) && !isThere(folder.result()));
        QCOMPARE(contents(folder.log(0)), QByteArray());
        RemoteCopy later(runFolder(makeRunId()), id, saying(R"(echo '{"state":"finished","record":{"run":"a"}}')"));
        QVERIFY(later.open());
        QVERIFY(statusSaid(later).record);
    }

    void aRecordLargerThanAnyRunsIsNotRead() {
        const RunFolder folder = runFolder(id);
        const std::string answer = m_home->path() + "/answer";
        write(answer, R"({"state":"running","record":{"name":")" + std::string(3 << 20, 'x') + R"("}})");
        RemoteCopy copy(folder, id, saying("cat " + answer));
        QVERIFY(copy.open());
        RemoteCopy::Status status = statusSaid(copy);
        QCOMPARE(status.state, std::string("running"));
        QVERIFY(!status.record);
        QVERIFY(!isThere(folder.config()));
        write(answer, R"({"state":"running","record":)" + toJson(recordOf(1200, 64)) + "}");
        status = statusSaid(copy);
        QVERIFY(status.record);
        QCOMPARE(readRunRecord(folder)->machines.size(), std::size_t(64));
    }

    void aResultIsReadHoweverLongOneMayBeAndNothingOfALongerAnswer() {
        const std::string answer = m_home->path() + "/answer";
        const auto finished = [&](std::size_t mebibytes) {
            write(answer, "{\"state\":\"finished\",\"record\":{},\"result\":{\"state\":\"done\",\"pad\":\"" +
                              std::string(mebibytes << 20, 'x') + "\"}}");
        };
        RemoteCopy copy(runFolder(id), id, saying("cat " + answer));
        QVERIFY(copy.open());
        finished(15);
        RemoteCopy::Status status = statusSaid(copy);
        QVERIFY(status.result && !status.tooLong);
        QVERIFY(readRunResult(runFolder(id)).has_value());
        finished(26);
        status = statusSaid(copy);
        QVERIFY(status.tooLong && !status.result && status.state.empty());
    }

    void aFollowerEndsWhereTheResultCanNotBeUsed() {
        Hello hello;
        hello.role = "agent";
        hello.run = id;
        const std::string answer = m_home->path() + "/answer";
        const CommandPrefix far =
            saying("case \"$*\" in *status*) cat '" + answer + "';; *) echo '" + encode(hello) + "';; esac");
        QVERIFY(rememberPlace(far).has_value());
        const std::string begin = "{\"state\":\"finished\",\"record\":{},\"result\":{\"state\":\"done\",\"run\":\"";
        const auto endsFor = [&](const std::string &result, const char *why) {
            write(answer, begin + result);
            RunStore store(QString::fromStdString(id));
            RunFollower follower(&store, QString::fromStdString(id), far);
            QSignalSpy ended(&follower, &RunFollower::ended);
            follower.start();
            QVERIFY(ended.wait(test::hangLimitMs));
            QVERIFY(store.lifecycle().link() == LinkState::Unknown);
            const QString sentence = store.lifecycle().linkSentence();
            QVERIFY2(sentence.startsWith("how it ended is unknown, since its result on far can't be used: "),
                     qPrintable(sentence));
            QVERIFY2(sentence.contains(QString::fromUtf8(why)), qPrintable(sentence));
        };
        endsFor(std::string(std::size_t(26) << 20, 'x') + "\"}}", "are longer than what is read of a run");
        endsFor("20260102T030405Z-01234567\"}}", "it is that of run 20260102T030405Z-01234567");
        endsFor(id + "\",\"log_lines\":-1}}", "log_lines");
    }

    void theLogsOfManyNodesAreNotAllHeldOpen() {
        constexpr int nodes = 300;
        RemoteCopy copy(runFolder(id), id, m_far);
        QVERIFY(copy.open());
        const int before = openFiles();
        for (std::uint64_t seq = 0; seq < 3; ++seq) {
            for (int node = 0; node < nodes; ++node)
                copy.append(sealed(seq, "a line", node));
            copy.flush();
            QVERIFY2(openFiles() < before + 70, qPrintable(QString::number(openFiles() - before)));
        }
        for (const int node : {0, 1, 150, nodes - 1})
            QCOMPARE(contents(runFolder(id).log(node)),
                     QByteArray::fromStdString(sealed(0, "a line", node) + "\n" + sealed(1, "a line", node) + "\n" +
                                               sealed(2, "a line", node) + "\n"));
    }

    void afterAWriteThatFailedItEndsWithAWholeLineAndHasNoHole() {
        const auto handler = std::signal(SIGXFSZ, SIG_IGN);
        const std::string log = runFolder(id).log(0);
        const std::string longLine = std::string(10'000, 'x');
        RemoteCopy copy(runFolder(id), id, m_far);
        QVERIFY(copy.open());
        copy.append(sealed(0, longLine));
        copy.flush();
        const QByteArray before = contents(log);
        rlimit limit{};
        QCOMPARE(::getrlimit(RLIMIT_FSIZE, &limit), 0);
        const rlimit full{rlim_t(before.size()) + 5000, limit.rlim_max};
        QCOMPARE(::setrlimit(RLIMIT_FSIZE, &full), 0);
        copy.append(sealed(1, longLine));
        copy.flush();
        QCOMPARE(::setrlimit(RLIMIT_FSIZE, &limit), 0); // there is room again
        copy.append(sealed(2));
        copy.flush();
        QCOMPARE(contents(log), before);
        std::signal(SIGXFSZ, handler);
    }
};

QTEST_GUILESS_MAIN(CoreRemoteCopyTest)
#include "remote_copy_test.moc"

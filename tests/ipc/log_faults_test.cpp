// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <QScopeGuard>

#include "faulty_file_system.h"
#include "ipc/log.h"
#include "ipc/run_folder.h"
#include "ipc/unix_socket.h"
#include "test_folder.h"
#include "tests/qt_test.h"

using namespace lockstep;
using lockstep::test::FaultyFileSystem;

namespace {

Frame header() {
    Frame frame;
    frame.body = HeaderFrame{logFormat, "20260102T030405Z-89abcdef", "box"};
    return frame;
}

std::string numbered(std::uint64_t i, std::size_t padding = 0) {
    Frame frame;
    frame.body = LogFrame{"info", std::to_string(i) + std::string(padding, 'x'), ""};
    return encode(frame);
}

} // namespace

class LogFaultsTest : public QObject {
    Q_OBJECT
    std::unique_ptr<QTemporaryDir> m_folder;
    std::string m_path;

    LogWriter openLog(FaultyFileSystem &disk) { return std::move(LogWriter::open(disk, m_path, 0, header()).value()); }

    /// The file holds lines 0 to n-1, whole and in order.
    void expectWhole(std::uint64_t n) {
        std::uint64_t next = 0;
        bool inOrder = true;
        Decoder decoder;
        const auto report = readLog(m_path, 0, [&](std::string_view line) {
            const auto frame = decoder.decode(line);
            inOrder = inOrder && frame && frame->seq == next++;
        });
        QVERIFY(report.has_value());
        QVERIFY(inOrder);
        QCOMPARE(next, n);
        QVERIFY(report->gaps.empty());
        QCOMPARE(report->damagedLines, std::uint64_t{0});
        QVERIFY(!report->tornTail);
    }

private Q_SLOTS:
    void init() {
        m_folder = test::makeFolder();
        m_path = m_folder->filePath("node-0.ndjson").toStdString();
    }

    void whicheverWriteFailsAndHoweverShortNothingIsLost() {
        for (int n = 1; n <= 6; ++n) {
            for (const std::size_t shortBytes : {0u, 1u, 40u}) {
                for (const bool stuck : {false, true}) {
                    QFile::remove(QString::fromStdString(m_path));
                    FaultyFileSystem disk;
                    LogWriter writer = openLog(disk);
                    disk.failAppend = n;
                    disk.shortBytes = shortBytes;
                    disk.failTruncate = stuck;
                    for (std::uint64_t i = 1; i <= 8; ++i) {
                        writer.append(numbered(i));
                        if (disk.failAppend == 0 && i == 7)
                            disk.failTruncate = false; // and the disk is well again
                    }
                    QVERIFY(writer.sync());
                    QVERIFY(!writer.behind());
                    expectWhole(9);
                }
            }
        }
    }

    // Fault 10: the disk fills up, training goes on, the lines wait.
    void aFullDiskLosesNothingOnceThereIsRoomAgain() {
        FaultyFileSystem disk;
        LogWriter writer = openLog(disk);
        disk.freeBytes = 1000;
        std::uint64_t seq = 1;
        while (seq < 2000) {
            const std::string line = writer.append(numbered(seq));
            QVERIFY(crcHolds(line)); // followers get it all the same
            ++seq;
        }
        QVERIFY(writer.behind());
        QVERIFY(!writer.sync());
        QCOMPARE(writer.linesLost(), std::uint64_t{0});
        QVERIFY(static_cast<std::uint64_t>(QFileInfo(QString::fromStdString(m_path)).size()) < writer.bytes());
        disk.freeBytes = 5000; // a little room, then much
        writer.append(numbered(seq++));
        disk.freeBytes = -1;
        writer.append(numbered(seq++));
        QVERIFY(!writer.behind());
        QCOMPARE(static_cast<std::uint64_t>(QFileInfo(QString::fromStdString(m_path)).size()), writer.bytes());
        QVERIFY(writer.sync());
        expectWhole(seq);
    }

    void whatFitsNeitherDiskNorMemoryIsCountedAndTheGapIsExact() {
        FaultyFileSystem disk;
        LogWriter writer = openLog(disk);
        disk.freeBytes = 0;
        std::uint64_t seq = 1;
        while (writer.linesLost() < 3)
            writer.append(numbered(seq++, 60'000));
        QVERIFY(seq > 1000); // 64 MiB of them waited
        disk.freeBytes = -1;
        writer.append(numbered(seq++));
        QVERIFY(writer.sync());
        writer.append(numbered(seq++));
        QVERIFY(writer.sync());
        const auto report = readLog(m_path, 0, [](std::string_view) {});
        QVERIFY(report.has_value());
        QCOMPARE(report->gaps.count(), std::size_t{1});
        QCOMPARE(report->gaps.listed()[0].count(), writer.linesLost());
        QCOMPARE(LogGap({7, 9}).text(), std::string("3 frames lost, seq 7-9"));
        QCOMPARE(LogGap({7, 7}).text(), std::string("1 frame lost, seq 7"));
        QCOMPARE(report->lines + writer.linesLost(), seq);
    }

    void afterAFailedSyncTheLinesAreWrittenAgain() {
        for (int n = 1; n <= 4; ++n) {
            QFile::remove(QString::fromStdString(m_path));
            FaultyFileSystem disk;
            LogWriter writer = openLog(disk);
            disk.failSync = n;
            std::uint64_t seq = 1;
            int failures = 0;
            for (int second = 0; second < 6; ++second) {
                for (int i = 0; i < 5; ++i)
                    writer.append(numbered(seq++));
                failures += writer.sync() ? 0 : 1;
            }
            QCOMPARE(failures, 1);
            expectWhole(seq);
        }
    }

    // Fault 12: opens every time, and what was synced is there.
    void aPowerLossLosesAtMostWhatWasNotSynced() {
        std::uint64_t state = 2026;
        const auto random = [&](std::size_t below) -> std::size_t {
            state = state * 6364136223846793005ull + 1442695040888963407ull;
            return static_cast<std::size_t>(state >> 33) % below;
        };
        for (int round = 0; round < 10000; ++round) {
            QFile::remove(QString::fromStdString(m_path));
            FaultyFileSystem disk;
            std::uint64_t syncedTo = 1;
            {
                LogWriter writer = openLog(disk);
                for (std::size_t i = random(20); i > 0; --i) {
                    writer.append(numbered(writer.nextSeq(), random(300)));
                    if (random(4) == 0) {
                        QVERIFY(writer.sync());
                        syncedTo = writer.nextSeq();
                    }
                }
            }
            disk.losePower(random);
            FaultyFileSystem again;
            LogWriter writer = openLog(again);
            QVERIFY(writer.nextSeq() >= syncedTo);
            writer.append(numbered(writer.nextSeq()));
            expectWhole(writer.nextSeq());
        }
    }

    void aLogThatCantBeOpenedSaysWhy() {
        const auto missing = LogWriter::open(realFileSystem(), m_path + "/none/log", 0, header());
        QVERIFY(!missing);
        QVERIFY(missing.error().message().find("can't open") != std::string::npos);
        FaultyFileSystem disk;
        disk.freeBytes = 0;
        const auto full = LogWriter::open(disk, m_path, 0, header());
        QVERIFY(!full);
        QVERIFY(full.error().message().find("No space left") != std::string::npos);
    }

    void aLogIsNeverWrittenThroughALink() {
        const QString target = m_folder->filePath("target");
        QVERIFY(realFileSystem().writeAtomically(target.toStdString(), "mine"));
        QVERIFY(QFile::link(target, QString::fromStdString(m_path)));
        QVERIFY(!realFileSystem().openAppend(m_path));
        QCOMPARE(realFileSystem().readAll(target.toStdString()).value(), std::string("mine"));
    }

    void foldersAreMadeThroughLinksOfOnesOwnOnly() {
        QVERIFY(QDir(m_folder->path()).mkpath("elsewhere"));
        const QString link = m_folder->filePath("link");
        QVERIFY(QFile::link(m_folder->filePath("elsewhere"), link));
        QVERIFY(realFileSystem().makeFolders(link.toStdString() + "/a")); // a home may lie on another disk
        QVERIFY(QDir(m_folder->filePath("elsewhere/a")).exists());
        if (::geteuid() != 0)
            QSKIP("only root can make a link that is another user's");
        QCOMPARE(::lchown(link.toUtf8().constData(), 65534, 65534), 0);
        const auto made = realFileSystem().makeFolders(link.toStdString() + "/b");
        QVERIFY(!made);
        QVERIFY(made.error().message().find("is a link of uid 65534") != std::string::npos);
        QVERIFY(!QDir(m_folder->filePath("elsewhere/b")).exists());
    }

    void belowTheFolderOfRunsNothingIsWrittenThroughALink() {
        const QString home = m_folder->filePath("home"), disk = m_folder->filePath("disk"),
                      victim = m_folder->filePath("victim");
        for (const QString &folder : {home, disk, victim})
            QVERIFY(QDir().mkpath(folder));
        qputenv("LOCKSTEP_HOME", home.toUtf8());
        const auto done = qScopeGuard([] { qunsetenv("LOCKSTEP_HOME"); });
        QVERIFY(QFile::link(disk, QString::fromStdString(runsFolder()))); // which a person may do
        const RunFolder folder = runFolder(makeRunId()), linked = runFolder(makeRunId());
        QVERIFY(realFileSystem().makeFolders(folder.path));
        QVERIFY(realFileSystem().writeAtomically(folder.notes(), "mine"));
        QVERIFY(QFile::exists(disk + QString::fromStdString(folder.notes().substr(runsFolder().size()))));
        QVERIFY(QFile::link(victim, QString::fromStdString(folder.traces())));
        QVERIFY(QFile::link(victim, QString::fromStdString(linked.path)));
        for (const std::string &place : {folder.traces(), folder.traces() + "/a", linked.path}) {
            const std::string file = place + "/rank-0.json";
            for (const auto &error : {realFileSystem().makeFolders(place), realFileSystem().writeAtomically(file, "x")})
                QVERIFY(!error && error.error().message().find("is a link") != std::string::npos);
            QVERIFY(!realFileSystem().openAppend(file));
            QVERIFY(!FileLock::acquire(file));
        }
        QCOMPARE(QDir(victim).entryList(QDir::NoDotAndDotDot | QDir::AllEntries), QStringList());
    }

    void whatDeadProcessesLeftUnfinishedIsRemoved() {
        const std::string gone = "999999999"; // more than any process's number
        const std::string parent = std::to_string(::getppid()), own = std::to_string(::getpid());
        const QStringList kept{"a", "a.tmp-", "a.tmp-none-0", QString::fromStdString("a.tmp-" + parent + "-0"),
                               QString::fromStdString("b.tmp-" + gone + "-0")};
        const QStringList removed{QString::fromStdString("a.tmp-" + gone + "-0"),
                                  QString::fromStdString("a.b.tmp-" + gone + "-17"),
                                  QString::fromStdString("a.tmp-" + own + "-0")};
        for (const QString &name : kept + removed)
            QVERIFY(realFileSystem().writeAtomically(m_folder->filePath(name).toStdString(), "half"));
        removeLeftTemporaries(m_folder->path().toStdString(), "a");
        const QStringList found = QDir(m_folder->path()).entryList(QDir::Files);
        QCOMPARE(QSet<QString>(found.begin(), found.end()), QSet<QString>(kept.begin(), kept.end()));
        removeLeftTemporaries(m_folder->filePath("none").toStdString(), "a");
    }

    void anAtomicWriteIsWholeOrNotAtAll() {
        const std::string path = m_folder->filePath("result.json").toStdString();
        QVERIFY(realFileSystem().writeAtomically(path, "old"));
        QVERIFY(realFileSystem().writeAtomically(path, "new"));
        QCOMPARE(realFileSystem().readAll(path).value(), std::string("new"));
        QVERIFY(!realFileSystem().writeAtomically(m_folder->filePath("none/x").toStdString(), "x"));
        QVERIFY(!realFileSystem().writeAtomically(m_folder->path().toStdString(), "x"));     // a folder is in the way
        QCOMPARE(QDir(m_folder->path()).entryList(QDir::Files), QStringList{"result.json"}); // no temporary stays
        QVERIFY(realFileSystem().writeAtomically(m_folder->filePath(QString(255, u'n')).toStdString(), "longest name"));
        const std::string deep = m_folder->filePath("a/b//c").toStdString();
        QVERIFY(realFileSystem().makeFolders(deep));
        QVERIFY(realFileSystem().makeFolders(deep));
        QVERIFY(!realFileSystem().makeFolders(path + "/x"));
        QVERIFY(!realFileSystem().readAll(path + "-none"));
    }
};

QTEST_GUILESS_MAIN(LogFaultsTest)
#include "log_faults_test.moc"

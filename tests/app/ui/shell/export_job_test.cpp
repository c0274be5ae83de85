// SPDX-License-Identifier: MIT
// How an export goes: in turns with everything else of the window, its files on a thread of its own, all or nothing.
#include <QEventLoop>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QThread>

#include "app/ui/shell/export_job.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::ui;

namespace {

ExportStep step(const QString &file, const QByteArray &bytes) {
    return {file, [bytes]() -> MakeBytes { return [bytes] { return bytes; }; }};
}

/// Hidden ones too.
QStringList entriesOf(const QString &folder) {
    return QDir(folder).entryList(QDir::AllEntries | QDir::Hidden | QDir::NoDotAndDotDot);
}

QByteArray bytesOf(const QString &path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

} // namespace

class ExportJobTest : public QObject {
    Q_OBJECT
    std::unique_ptr<QTemporaryDir> m_folder;

    [[nodiscard]] QString at(const char *name) const { return m_folder->filePath(QString::fromLatin1(name)); }

private Q_SLOTS:
    void init() { m_folder = std::make_unique<QTemporaryDir>(); }

    void theWindowHasATurnBetweenAnyTwoSteps() {
        std::vector<ExportStep> steps;
        for (int i = 0; i < 20; ++i) // some prepare, some make files
            steps.push_back(i % 2 ? step(QString::number(i), "x") : ExportStep{{}, [] { return MakeBytes(); }});
        ExportJob job(std::move(steps), {at("out")});
        int turns = 0, before = -1;
        bool everyTime = true;
        QTimer other; // as keys and pictures: served by the event loop, not by a chain of calls
        connect(&other, &QTimer::timeout, this, [&] { ++turns; });
        other.start(0);
        connect(&job, &ExportJob::progressed, this, [&](int done, int) {
            everyTime = everyTime && (done == 0 || turns > before);
            before = turns;
        });
        const auto files = waitFor(job);
        QVERIFY2(files, files ? "" : files.error().message().c_str());
        QVERIFY(everyTime);
        QCOMPARE(files->size(), 10);
    }

    void stepsMayBeKnownOnlyWhenEarlierOnesAreDone() {
        std::vector<ExportStep> steps{step(QStringLiteral("a"), "1")};
        bool begun = false;
        steps.push_back(
            {{}, {}, [&begun] {
                 begun = true;
                 return std::vector<ExportStep>{step(QStringLiteral("b"), "2"), step(QStringLiteral("c"), "3")};
             }});
        steps.push_back(step(QStringLiteral("d"), "4"));
        ExportJob job(std::move(steps), {at("out")});
        QStringList said;
        connect(&job, &ExportJob::progressed, this, [&](int done, int all, const QString &file) {
            said.append(QStringLiteral("%1/%2 %3").arg(done).arg(all).arg(file));
        });
        QVERIFY(!begun);
        const auto files = waitFor(job);
        QVERIFY2(files, files ? "" : files.error().message().c_str());
        QCOMPARE(files->size(), 4);
        QCOMPARE(said.first(), QStringLiteral("0/0 a")); // nobody knows yet how many there will be
        QCOMPARE(said.mid(1, 3), (QStringList{"2/5 b", "3/5 c", "4/5 d"}));
    }

    void widgetsAreReadHereAndFilesMadeOnAThreadOfTheirOwn() {
        QThread *taken = nullptr;
        QString made;
        std::vector<ExportStep> steps{{QStringLiteral("a"), [&]() -> MakeBytes {
                                           taken = QThread::currentThread();
                                           return [&] {
                                               made = QThread::currentThread()->objectName();
                                               return QByteArray("a");
                                           };
                                       }}};
        ExportJob job(std::move(steps), {at("out")});
        QVERIFY(waitFor(job));
        QCOMPARE(taken, thread());
        QCOMPARE(made, QStringLiteral("lockstep-export"));
    }

    void filesAppearTogetherAtTheEndOverOlderOnes() {
        QVERIFY(QDir().mkdir(at("out")));
        QFile old(at("out/b"));
        QVERIFY(old.open(QIODevice::WriteOnly) && old.write("older") > 0);
        old.close();
        std::vector<ExportStep> steps{step(QStringLiteral("a"), "1"), step(QStringLiteral("b"), "2")};
        QStringList seen;
        steps.push_back({QStringLiteral("c"), [&]() -> MakeBytes {
                             seen = QDir(at("out")).entryList(QDir::Files | QDir::NoDotAndDotDot);
                             return [] { return QByteArray("3"); };
                         }});
        ExportJob job(std::move(steps), {at("out")});
        const auto files = waitFor(job);
        QVERIFY(files);
        QCOMPARE(seen, QStringList{"b"}); // not one of them before the last
        QCOMPARE(*files, (QStringList{at("out/a"), at("out/b"), at("out/c")}));
        QCOMPARE(entriesOf(at("out")), (QStringList{"a", "b", "c"}));
        QCOMPARE(bytesOf(at("out/b")), QByteArray("2"));
        QFile any(at("any"));
        QVERIFY(any.open(QIODevice::WriteOnly));
        QCOMPARE(QFileInfo(at("out/a")).permissions(), any.permissions()); // to be handed on, as any file one makes
    }

    void aCancelledExportLeavesNothing_data() {
        QTest::addColumn<bool>("alone");
        QTest::newRow("into a folder") << false;
        QTest::newRow("one file") << true;
    }
    void aCancelledExportLeavesNothing() {
        QFETCH(bool, alone);
        std::vector<ExportStep> steps;
        for (const char *name : {"a", "b", "c"})
            steps.push_back(step(QString::fromLatin1(name), "bytes"));
        ExportJob job(std::move(steps), {alone ? m_folder->path() : at("new/out"), alone});
        QSignalSpy cancelled(&job, &ExportJob::cancelled), finished(&job, &ExportJob::finished);
        connect(&job, &ExportJob::progressed, &job, [&](int done, int) {
            if (done == 2)
                job.cancel();
        });
        job.start();
        QTRY_COMPARE_WITH_TIMEOUT(cancelled.count(), 1, test::hangLimitMs);
        QCOMPARE(finished.count(), 0);
        QCOMPARE(entriesOf(m_folder->path()), QStringList());
    }

    void anErrorIsOneSentenceAndLeavesNothing() {
        std::vector<ExportStep> steps{step(QStringLiteral("a"), "1")};
        steps.push_back(
            {QStringLiteral("b"), [] { return MakeBytes([] { return fail(Error::failed("b is unknown")); }); }});
        steps.push_back(step(QStringLiteral("c"), "3"));
        ExportJob job(std::move(steps), {at("out")});
        const auto files = waitFor(job);
        QVERIFY(!files);
        QCOMPARE(files.error().message(), std::string("b is unknown"));
        QCOMPARE(entriesOf(m_folder->path()), QStringList());
    }

    void aFolderInTheWayOfAFileIsSaidBeforeAnyIsPlaced() {
        QVERIFY(QDir().mkpath(at("out/b")));
        ExportJob job({step(QStringLiteral("a"), "1"), step(QStringLiteral("b"), "2")}, {at("out")});
        const auto files = waitFor(job);
        QVERIFY(!files && QString::fromStdString(files.error().message()).contains(at("out/b")));
        QCOMPARE(entriesOf(at("out")), QStringList{"b"});
    }

    void aFolderThatCantBeMadeIsNamed() {
        ExportJob job({step(QStringLiteral("a"), "1")}, {QStringLiteral("/proc/nowhere")});
        const auto files = waitFor(job);
        QVERIFY(!files && files.error().message().find("/proc/nowhere") != std::string::npos);
    }

    void aWindowThatClosesMeanwhileLeavesNothing() {
        {
            std::vector<ExportStep> steps;
            for (const char *name : {"a", "b", "c", "d", "e"})
                steps.push_back(step(QString::fromLatin1(name), "bytes"));
            ExportJob job(std::move(steps), {at("out")});
            QEventLoop loop;
            connect(&job, &ExportJob::progressed, &loop, [&](int done) {
                if (done == 1)
                    loop.quit();
            });
            job.start();
            loop.exec();
            QVERIFY(QFileInfo::exists(at("out")));
        }
        QCOMPARE(entriesOf(m_folder->path()), QStringList());
    }
};

QTEST_MAIN(ExportJobTest)
#include "export_job_test.moc"

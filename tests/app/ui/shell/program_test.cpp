// SPDX-License-Identifier: MIT
// The program by its options, as a shell starts it: what it opens, what it writes, what it says.
#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>

#include "ipc/unix_socket.h"
#include "tests/qt_test.h"
#include "ui_fixture.h"

using namespace lockstep;
using namespace lockstep::ui;

class ProgramTest : public QObject {
    Q_OBJECT
    uitest::Home m_home;

    struct Said {
        int code = -1;
        QString err;
    };
    static Said start(const QStringList &arguments) {
        QProcess process;
        process.start(QStringLiteral(LOCKSTEP_BIN "/lockstep"), arguments);
        if (!process.waitForFinished(test::hangLimitMs))
            return {};
        return {process.exitCode(), QString::fromUtf8(process.readAllStandardError())};
    }

private Q_SLOTS:
    void initTestCase() {
        if (!QFile::exists(QStringLiteral(LOCKSTEP_BIN "/lockstep")))
            QSKIP("lockstep is not built");
    }

    void theExperimentThatIsAskedForIsOpenedWhileAnotherRuns() {
        const std::string asked = uitest::writeExperimentOnDisk({.epochs = 2});
        const std::string running = uitest::writeUnfinishedExperiment({.epochs = 3, .firstRun = 40});
        const auto owner = FileLock::acquire(core::experimentFolder(running).lock());
        QVERIFY(owner.has_value());
        QTemporaryDir folder;
        const Said said = start(
            {"--experiment", QString::fromStdString(asked), "--export", folder.filePath("out"), "--format", "json"});
        QVERIFY2(said.code == 0, qPrintable(said.err));
        QFile file(folder.filePath("out/results.json"));
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QString data = QJsonDocument::fromJson(file.readAll())["data"].toString();
        QVERIFY2(data.contains("2 epochs"), qPrintable(data));
    }

    void whyAnExperimentCantBeReadIsSaid() {
        const std::string id = uitest::writeExperimentOnDisk({.epochs = 2});
        QFile file(QString::fromStdString(core::experimentFolder(id).json()));
        QVERIFY(file.open(QIODevice::ReadWrite));
        QJsonObject json = QJsonDocument::fromJson(file.readAll()).object();
        json["format"] = 1000;
        QVERIFY(file.resize(0) && file.seek(0) && file.write(QJsonDocument(json).toJson()) > 0);
        file.close();
        const Said said =
            start({"--experiment", QString::fromStdString(id), "--screenshot", m_home.path() + "/none.png"});
        QVERIFY(said.code != 0);
        QVERIFY2(said.err.contains("written by a newer Lockstep; upgrade this one"), qPrintable(said.err));
    }

    void aWordThatNamesNothingIsNamed() {
        const Said said = start({"--experiment", "nosuch", "--screenshot", m_home.path() + "/none.png"});
        QCOMPARE(said.code, 2);
        QVERIFY2(said.err.contains("no run or experiment is called \"nosuch\""), qPrintable(said.err));
    }

    void aRecipeMayBeAFile() {
        const QString path = m_home.path() + "/mine.json";
        QFile file(path);
        QVERIFY(file.open(QIODevice::WriteOnly) &&
                file.write(R"({"name": "mine", "title": "Mine", "runs": [{"epochs": 2}]})") > 0);
        file.close();
        const Said said = start({"--recipe", path, "--screenshot", m_home.path() + "/mine.png"});
        QVERIFY2(said.code == 0, qPrintable(said.err));
    }

    void aRecipeThatNobodyKnowsIsAnsweredWithTheCommandThatListsThem() {
        const Said said = start({"--recipe", "nothing", "--screenshot", m_home.path() + "/none.png"});
        QCOMPARE(said.code, 2);
        QVERIFY2(said.err.contains("`lockstepctl recipes`"), qPrintable(said.err));
    }
};

QTEST_MAIN(ProgramTest)
#include "program_test.moc"

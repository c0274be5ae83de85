// SPDX-License-Identifier: MIT
// Downloads of data sets from a real HTTP server on this machine that cuts, lies, hangs and resumes.
#include <QProcess>
#include <QSignalSpy>

#include "core_support.h"
#include "data/dataset_source.h"
#include "download_support.h"
#include "http_server.h"
#include "ipc/unix_socket.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::core;
using namespace lockstep::test;

class CoreDataTest : public QObject {
    Q_OBJECT
    std::unique_ptr<Home> m_home;
    std::unique_ptr<HttpServer> m_server;
    std::string m_folder;

private Q_SLOTS:
    void init() {
        m_home = std::make_unique<Home>();
        m_server = std::make_unique<HttpServer>();
        QByteArray large;
        for (int i = 0; i < 300'000; ++i)
            large += char(i * 2654435761u >> 24);
        m_server->bodies = {{QStringLiteral("images.gz"), large}, {QStringLiteral("labels.gz"), "0123456789"}};
        m_folder = m_home->path() + "/digits";
    }
    void cleanup() {
        m_server.reset();
        m_home.reset();
    }

    void filesComeWholeAndAreNotFetchedTwice() {
        const DatasetSource source = sourceOf(*m_server, {m_server->url()});
        QCOMPARE(download(source, m_folder), QString());
        QCOMPARE(contents(m_folder + "/images.gz"), m_server->bodies[QStringLiteral("images.gz")]);
        QCOMPARE(m_server->ranges.size(), 2);
        QCOMPARE(download(source, m_folder), QString());
        QCOMPARE(m_server->ranges.size(), 2);
        QVERIFY(!QFile::exists(QString::fromStdString(m_folder + "/images.gz.part")));
    }

    void aCutDownloadGoesOnWhereItStopped() {
        m_server->cutAfter = 100'000;
        const DatasetSource source = sourceOf(*m_server, {m_server->url()});
        const QString sentence = download(source, m_folder);
        QVERIFY2(sentence.contains(QStringLiteral("resumes where it stopped")), qPrintable(sentence));
        QVERIFY(!QFile::exists(QString::fromStdString(m_folder + "/images.gz")));
        const qint64 came = QFileInfo(QString::fromStdString(m_folder + "/images.gz.part")).size();
        QVERIFY(came > 0 && came <= 100'000);
        QCOMPARE(download(source, m_folder), QString());
        QCOMPARE(m_server->ranges[1], QStringLiteral("bytes=%1-").arg(came));
        QCOMPARE(contents(m_folder + "/images.gz"), m_server->bodies[QStringLiteral("images.gz")]);
    }

    void aServerThatStartsAnewIsReadAnew() {
        m_server->cutAfter = 100'000;
        const DatasetSource source = sourceOf(*m_server, {m_server->url()});
        QVERIFY(!download(source, m_folder).isEmpty());
        m_server->honoursRange = false;
        QCOMPARE(download(source, m_folder), QString());
        QCOMPARE(contents(m_folder + "/images.gz"), m_server->bodies[QStringLiteral("images.gz")]);
    }

    void theNextMirrorIsAskedWhenOneIsDeadOrLies() {
        HttpServer liar;
        liar.bodies = m_server->bodies;
        liar.bodies[QStringLiteral("images.gz")][7] = 'x';
        HttpServer empty;
        const DatasetSource source =
            sourceOf(*m_server, {"http://127.0.0.1:1/", empty.url(), liar.url(), m_server->url()});
        QCOMPARE(download(source, m_folder), QString());
        QCOMPARE(contents(m_folder + "/images.gz"), m_server->bodies[QStringLiteral("images.gz")]);
    }

    void withoutAnyMirrorTheSentenceSaysWhyAndTheWayOut() {
        const DatasetSource source = sourceOf(*m_server, {"http://127.0.0.1:1/"});
        const QString sentence = download(source, m_folder);
        QVERIFY2(sentence.contains(QStringLiteral("images.gz of Digits can't be downloaded (127.0.0.1: ")),
                 qPrintable(sentence));
        QVERIFY2(sentence.contains(QStringLiteral("check the network")), qPrintable(sentence));
        QVERIFY2(sentence.contains(QStringLiteral("copy the 2 files into ")), qPrintable(sentence));
    }

    void aDamagedFileIsPutAsideAndFetchedAnew() {
        const DatasetSource source = sourceOf(*m_server, {m_server->url()});
        QCOMPARE(download(source, m_folder), QString());
        QFile file(QString::fromStdString(m_folder + "/labels.gz"));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write("rot");
        file.close();
        QCOMPARE(download(source, m_folder), QString());
        QCOMPARE(contents(m_folder + "/labels.gz"), QByteArray("0123456789"));
        QCOMPARE(contents(m_folder + "/labels.gz.damaged"), QByteArray("rot"));
    }

    void aFileLargerThanItShouldBeIsRefused() {
        DatasetSource source = sourceOf(*m_server, {m_server->url()});
        source.files[0].bytes = 1000;
        const QString sentence = download(source, m_folder);
        QVERIFY2(sentence.contains(QStringLiteral("larger than it should be")), qPrintable(sentence));
        QVERIFY(QFileInfo(QString::fromStdString(m_folder + "/images.gz.part")).size() <= 1000);
    }

    void twoAtOnceDoNotMeet() {
        QVERIFY(realFileSystem().makeFolders(m_folder).has_value());
        const auto other = FileLock::acquire(m_folder + "/.get-data.lock");
        QVERIFY(other.has_value());
        const QString sentence = download(sourceOf(*m_server, {m_server->url()}), m_folder);
        QVERIFY2(sentence.contains(QStringLiteral("is already being downloaded")), qPrintable(sentence));
    }

    void theCommandTakesAManifestOfOnesOwn() {
        const DatasetSource source = sourceOf(*m_server, {m_server->url()});
        std::string files;
        for (const DatasetFile &file : source.files)
            files += std::string(files.empty() ? "" : ",") + "{\"name\":\"" + file.name +
                     "\",\"bytes\":" + std::to_string(file.bytes) + ",\"sha256\":\"" + file.sha256 + "\"}";
        const std::string manifest = m_home->path() + "/own.json";
        const std::string json = "{\"digits\":{\"title\":\"Digits\",\"mirrors\":[],\"files\":[" + files + "]}}";
        QVERIFY(realFileSystem().writeAtomically(manifest, json).has_value());
        const auto run = [&](const QStringList &more) {
            QProcess process;
            process.start(QStringLiteral(LOCKSTEP_BIN "/lockstepctl"),
                          QStringList{QStringLiteral("get-data"), QStringLiteral("digits"),
                                      QStringLiteral("--manifest"), QString::fromStdString(manifest)} +
                              more);
            QSignalSpy ended(&process, &QProcess::finished);
            ended.wait(test::hangLimitMs); // the server answers on this loop
            return std::pair(process.exitCode(), process.readAllStandardError() + process.readAllStandardOutput());
        };
        const auto without = run({});
        QCOMPARE(without.first, 2);
        QVERIFY2(without.second.contains("no mirror of digits is known"), without.second.constData());
        const auto got = run({QStringLiteral("--mirror"), QString::fromStdString(m_server->url())});
        QVERIFY2(got.first == 0, got.second.constData());
        QCOMPARE(contents(downloadedDataFolder("digits") + "/labels.gz"), QByteArray("0123456789"));
        QCOMPARE(presentDatasetFolder(source), downloadedDataFolder("digits"));
    }

    void theKnownDataSetsAreWhole() {
        const std::vector<DatasetSource> known = knownDatasets();
        QCOMPARE(known.size(), std::size_t(3));
        for (const DatasetSource &source : known) {
            QCOMPARE(source.files.size(), source.packages.empty() ? std::size_t(4) : std::size_t(5));
            QVERIFY(source.packages.empty() ? source.mirrors.size() >= 2 : source.mirrors.empty());
            if (const DataSetSpec *set = findDataSet(source.name))
                QCOMPARE(source.title, std::string(set->title));
        }
        for (const DataSetSpec &set : dataSetTable)
            if (!set.download.empty())
                QCOMPARE(findDataset(known, set.name).value().name, std::string(set.download));
        for (const char *name : {"bert", "sentiment"})
            QCOMPARE(findDataset(known, name).value().name, std::string("bert"));
        const auto unknown = findDataset(known, "imagenet");
        QVERIFY(!unknown.has_value());
        QVERIFY(unknown.error().message().find("mnist or fashion-mnist or bert") != std::string::npos);
    }

    void aManifestWithAPathOrAnotherSchemeIsRefused_data() {
        QTest::addColumn<QByteArray>("json");
        const QByteArray sum = QByteArray(64, 'a');
        QTest::newRow("path") << QByteArray(
            "{\"d\":{\"mirrors\":[],\"files\":[{\"name\":\"../x\",\"bytes\":1,\"sha256\":\"" + sum + "\"}]}}");
        QTest::newRow("file url") << QByteArray(
            "{\"d\":{\"mirrors\":[\"file:///etc/\"],\"files\":[{\"name\":\"x\",\"bytes\":1,"
            "\"sha256\":\"" +
            sum + "\"}]}}");
        QTest::newRow("sum") << QByteArray(
            "{\"d\":{\"mirrors\":[],\"files\":[{\"name\":\"x\",\"bytes\":1,\"sha256\":\"0\"}]}}");
        const QByteArray file = "{\"path\":\"a/x\",\"name\":\"x\",\"bytes\":1,\"sha256\":\"" + sum + "\"}";
        const auto package = [&](const QByteArray &name, const QByteArray &version, const QByteArray &files) {
            return "{\"d\":{\"packages\":[{\"name\":\"" + name + "\",\"version\":\"" + version +
                   "\",\"bytes\":1,\"sha256\":\"" + sum + "\",\"files\":[" + files + "]}]}}";
        };
        QVERIFY(datasetsFromJson(package("p", "1.0", file).toStdString()).has_value());
        QTest::newRow("line of pip's") << package("p\\n--index-url", "1.0", file);
        QTest::newRow("option of pip's") << package("--index-url", "1.0", file);
        QTest::newRow("version") << package("p", "1.0 --pre", file);
        QTest::newRow("same name twice") << package("p", "1.0", file + "," + file);
        QTest::newRow("path out of the folder")
            << package("p", "1.0", QByteArray(file).replace("\"name\":\"x\"", "\"name\":\"../x\""));
        QTest::newRow("neither mirrors nor packages") << QByteArray("{\"d\":{\"files\":[" + file + "]}}");
        QTest::newRow("no json") << QByteArray("mnist");
    }
    void aManifestWithAPathOrAnotherSchemeIsRefused() {
        QFETCH(QByteArray, json);
        QVERIFY(!datasetsFromJson(json.toStdString()).has_value());
    }
};

QTEST_GUILESS_MAIN(CoreDataTest)
#include "data_test.moc"

// SPDX-License-Identifier: MIT
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "ipc/file_system.h"
#include "ipc/logging.h"
#include "tests/qt_test.h"

using namespace lockstep;

class LoggingTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void cleanup() { setUpLogging({}); }

    void messagesReachFileAndFunctionWithWhoSaidThem() {
        const QTemporaryDir folder;
        LoggingOptions options;
        options.program = "lockstep-trainer 100%";
        options.rank = 1;
        options.node = 0;
        options.toStderr = false;
        options.file = folder.filePath("a.log").toStdString();
        std::vector<std::pair<LogLevel, std::string>> got;
        options.sink = [&](LogLevel level, std::string_view message) { got.emplace_back(level, message); };
        setUpLogging(options);
        logDebug("below the level");
        logInfo("a {} message with %s braces");
        logError("worse");
        QCOMPARE(got.size(), std::size_t{2});
        QVERIFY(got[0].first == LogLevel::Info && got[1].first == LogLevel::Error);
        QCOMPARE(got[0].second, std::string("a {} message with %s braces"));
        const std::string text = realFileSystem().readAll(options.file).value();
        QVERIFY2(text.find("I lockstep-trainer 100% node 0 rank 1: a {} message") != std::string::npos, text.c_str());
        struct stat status {};
        QCOMPARE(::stat(options.file.c_str(), &status), 0);
        QCOMPARE(status.st_mode & 0777, mode_t{0600});
    }

    void whatALineQuotesOfOthersIsObeyedByNoTerminal() {
        std::string got;
        LoggingOptions options;
        options.toStderr = false;
        options.sink = [&](LogLevel, std::string_view message) { got = message; };
        setUpLogging(options);
        logWarning("dropped x\x1b]0;owned\a.json");
        QCOMPARE(got, std::string("dropped x\uFFFD]0;owned\uFFFD.json"));
    }

    void aSinkThatLogsDoesNotComeBackToItself() {
        int calls = 0;
        LoggingOptions options;
        options.toStderr = false;
        options.sink = [&](LogLevel, std::string_view) {
            ++calls;
            logError("can't send");
        };
        setUpLogging(options);
        logInfo("one");
        logInfo("two");
        QCOMPARE(calls, 2);
    }

    void settingUpAgainWhileOthersLogIsSafe() {
        LoggingOptions options;
        options.toStderr = false;
        std::atomic<int> calls{0};
        options.sink = [&](LogLevel, std::string_view) { ++calls; };
        setUpLogging(options);
        std::vector<std::thread> threads;
        for (int i = 0; i < 4; ++i)
            threads.emplace_back([] {
                for (int n = 0; n < 2000; ++n)
                    logInfo("x");
            });
        for (int i = 0; i < 50; ++i)
            setUpLogging(options);
        for (auto &thread : threads)
            thread.join();
        QCOMPARE(calls.load(), 8000);
    }

    void aLogFileThatCantBeOpenedIsSaidAndNotFatal() {
        LoggingOptions options;
        options.toStderr = false;
        options.file = "/proc/none/such.log";
        std::string said;
        options.sink = [&](LogLevel, std::string_view message) { said = message; };
        setUpLogging(options);
        QVERIFY(said.find("/proc/none/such.log") != std::string::npos);
        QVERIFY(toString(LogLevel::Warning) == "warning");
    }

    void aLinkOrAPipeInTheFilesPlaceIsNeitherWrittenThroughNorWaitedFor() {
        const QTemporaryDir folder;
        const std::string victim = folder.filePath("victim.txt").toStdString(),
                          link = folder.filePath("link").toStdString(), pipe = folder.filePath("pipe").toStdString();
        std::ofstream(victim) << "mine";
        std::filesystem::create_symlink(victim, link);
        QCOMPARE(::mkfifo(pipe.c_str(), 0600), 0);
        for (const std::string &file : {link, pipe}) {
            LoggingOptions options;
            options.toStderr = false;
            options.file = file;
            std::vector<std::string> said;
            options.sink = [&](LogLevel, std::string_view message) { said.emplace_back(message); };
            setUpLogging(options);
            logInfo("one");
            QCOMPARE(said.size(), std::size_t{2});
            QVERIFY2(said[0].find(file) != std::string::npos, said[0].c_str());
        }
        QCOMPARE(realFileSystem().readAll(victim).value(), std::string("mine"));
    }
};

QTEST_GUILESS_MAIN(LoggingTest)
#include "logging_test.moc"

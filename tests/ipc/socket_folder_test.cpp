// SPDX-License-Identifier: MIT
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "ipc/run_folder.h"
#include "ipc/socket_folder.h"
#include "ipc/unix_socket.h"
#include "tests/qt_test.h"

using namespace lockstep;

class SocketFolderTest : public QObject {
    Q_OBJECT
    std::unique_ptr<QTemporaryDir> m_home;

private Q_SLOTS:
    void init() {
        m_home = std::make_unique<QTemporaryDir>();
        qputenv("LOCKSTEP_HOME", m_home->path().toUtf8());
    }
    void cleanup() {
        if (const auto folder = socketFolder())
            QDir(QString::fromStdString(*folder)).removeRecursively();
        qunsetenv("LOCKSTEP_HOME");
    }

    void theSocketFolderIsOursAloneAndShort() {
        const auto folder = socketFolder();
        QVERIFY2(folder.has_value(), folder ? "" : folder.error().message().c_str());
        struct stat status {};
        QCOMPARE(::stat(folder->c_str(), &status), 0);
        QCOMPARE(status.st_mode & 0777, 0700u);
        QCOMPARE(status.st_uid, ::geteuid());
        const auto path = runSocketPath("20260102T030405Z-89abcdef");
        QVERIFY(path.has_value() && path->starts_with(*folder));
        QVERIFY(path->size() + std::string(".lock").size() < 107);
        QVERIFY(UnixListener::bind(*path).has_value());
        QVERIFY(!runSocketPath("../x"));
        // Another home has other sockets.
        const QTemporaryDir other;
        qputenv("LOCKSTEP_HOME", other.path().toUtf8());
        const auto apart = socketFolder();
        QVERIFY(apart.has_value() && *apart != *folder);
        QDir(QString::fromStdString(*apart)).removeRecursively();
        qputenv("LOCKSTEP_HOME", m_home->path().toUtf8());
    }

    void aSocketIsFoundInEachFolderThatIsOursAlone() {
        const QByteArray before = qgetenv("XDG_RUNTIME_DIR");
        qunsetenv("XDG_RUNTIME_DIR");
        const QTemporaryDir runtime;
        const std::string folder = socketFolder().value();
        {
            const auto hold = holdSocketFolder();
            const std::string path = runSocketPath("20260102T030405Z-89abcdef").value();
            const auto listener = UnixListener::bind(path);
            QVERIFY(hold.has_value() && listener.has_value());
            qputenv("XDG_RUNTIME_DIR", runtime.path().toUtf8()); // as after a log-in
            const std::string better = socketFolder().value();
            QVERIFY(better.starts_with(runtime.path().toStdString()));
            QCOMPARE(runSocketPath("20260102T030405Z-89abcdef").value(), path);
            QVERIFY(runSocketPath("20260102T030405Z-00000000").value().starts_with(better));
            QCOMPARE(::chmod(folder.c_str(), 0755), 0);
            QVERIFY(runSocketPath("20260102T030405Z-89abcdef").value().starts_with(better));
            QCOMPARE(::chmod(folder.c_str(), 0700), 0);
        }
        leaveSocketFolder();
        before.isNull() ? qunsetenv("XDG_RUNTIME_DIR") : qputenv("XDG_RUNTIME_DIR", before);
    }

    void theSocketFolderGoesWhenItIsEmptyAndNobodyHoldsIt() {
        const std::string folder = socketFolder().value();
        const auto isThere = [&] { return QDir(QString::fromStdString(folder)).exists(); };
        {
            const auto hold = holdSocketFolder(); // like a program that is about to bind
            QVERIFY(hold.has_value());
            leaveSocketFolder();
            QVERIFY(isThere());
            const auto listener = UnixListener::bind(runSocketPath("20260102T030405Z-89abcdef").value());
            QVERIFY(listener.has_value());
        }
        {
            const auto listener = UnixListener::bind(runSocketPath("20260102T030405Z-89abcdef").value());
            leaveSocketFolder();
            QVERIFY(isThere()); // somebody's socket is in it
        }
        leaveSocketFolder();
        QVERIFY(!isThere());
        leaveSocketFolder();                                             // nothing to do
        QVERIFY(runSocketPath("20260102T030405Z-89abcdef").has_value()); // as a viewer asks
        QVERIFY(!isThere());
        QVERIFY(socketFolder().has_value() && isThere());
    }

    void aProgramThatBindsWhileOthersLeaveNeverFindsTheFolderGone() {
        std::atomic<bool> over = false;
        std::thread leaver([&] {
            while (!over)
                leaveSocketFolder();
        });
        int failures = 0;
        for (int i = 0; i < 2000; ++i) {
            const auto hold = holdSocketFolder();
            const auto path = runSocketPath("20260102T030405Z-89abcdef");
            failures += !(hold && path && UnixListener::bind(*path).has_value());
        }
        over = true;
        leaver.join();
        QCOMPARE(failures, 0);
    }

    void aSocketFolderOfSomeoneElseIsRefused() {
        if (::geteuid() != 0)
            QSKIP("only root can make another user's folder");
        const QByteArray before = qgetenv("XDG_RUNTIME_DIR");
        qunsetenv("XDG_RUNTIME_DIR");
        const std::string folder = socketFolder().value();
        QCOMPARE(::chmod(folder.c_str(), 0755), 0);
        auto refused = socketFolder();
        QVERIFY(!refused && refused.error().message().find("chmod 700") != std::string::npos);
        QCOMPARE(::chmod(folder.c_str(), 0700), 0);
        QCOMPARE(::chown(folder.c_str(), 65534, 65534), 0);
        refused = socketFolder();
        QVERIFY(!refused && refused.error().message().find("belongs to uid 65534") != std::string::npos);
        QCOMPARE(::rmdir(folder.c_str()), 0);
        QCOMPARE(::symlink("/tmp", folder.c_str()), 0);
        refused = socketFolder();
        QVERIFY(!refused && refused.error().message().find("is no folder") != std::string::npos);
        ::unlink(folder.c_str());
        if (!before.isNull())
            qputenv("XDG_RUNTIME_DIR", before);
    }
};

QTEST_GUILESS_MAIN(SocketFolderTest)
#include "socket_folder_test.moc"

// SPDX-License-Identifier: MIT
#include <poll.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <optional>
#include <thread>

#include "ipc/descriptor_limit.h"
#include "ipc/file_lock_detail.h"
#include "ipc/unix_socket.h"
#include "tests/figure.h"
#include "tests/qt_test.h"

using namespace lockstep;

namespace {

/// Runs `work` in a child; its result is the exit code.
pid_t startChild(const std::function<int()> &work) {
    const pid_t pid = ::fork();
    if (pid == 0)
        ::_exit(work());
    return pid;
}

int exitCodeOf(pid_t pid) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// A gate that many processes wait at: they go on when it is opened.
class Gate {
public:
    Gate() {
        int ends[2];
        if (::pipe(ends) == 0) {
            m_read = Fd(ends[0]);
            m_write = Fd(ends[1]);
        }
    }
    void wait() {
        m_write.close();
        char c;
        static_cast<void>(!::read(m_read.get(), &c, 1));
    }
    void open() { m_write.close(); }

private:
    Fd m_read, m_write;
};

Result<Fd> acceptSoon(UnixListener &listener) {
    pollfd ready{listener.fd(), POLLIN, 0};
    ::poll(&ready, 1, 5000);
    return listener.accept();
}

} // namespace

class UnixSocketTest : public QObject {
    Q_OBJECT
    std::unique_ptr<QTemporaryDir> m_folder; // 0700
    std::string m_path;

private Q_SLOTS:
    void init() {
        m_folder = std::make_unique<QTemporaryDir>();
        m_path = m_folder->filePath("run.sock").toStdString();
    }

    void aConnectionCarriesBytesAndKnowsItsPeer() {
        auto listener = UnixListener::bind(m_path);
        QVERIFY(listener.has_value());
        QCOMPARE(listener->path(), m_path);
        QVERIFY(!listener->accept()->valid()); // none waits, and it doesn't block
        const auto client = connectUnix(m_path, true);
        QVERIFY(client.has_value());
        const auto server = acceptSoon(*listener);
        QVERIFY(server.has_value() && server->valid());
        QCOMPARE(::write(client->get(), "hi", 2), ssize_t{2});
        char buffer[8];
        QCOMPARE(::read(server->get(), buffer, sizeof buffer), ssize_t{2});
        QCOMPARE(::read(client->get(), buffer, sizeof buffer), ssize_t{-1}); // non-blocking as asked
        QCOMPARE(errno, EAGAIN);
        QCOMPARE(peerCredentials(server->get())->pid, ::getpid());
        QCOMPARE(peerCredentials(server->get())->uid, ::geteuid());
    }

    void theListenerLeavesNothingBehind() {
        {
            auto listener = UnixListener::bind(m_path);
            QVERIFY(listener.has_value());
            UnixListener moved = std::move(*listener);
            QVERIFY(connectUnix(m_path, false));
            auto other = UnixListener::bind(m_path + "2");
            moved = std::move(*other); // lets go of the first
            QVERIFY(!connectUnix(m_path, false));
            QVERIFY(connectUnix(m_path + "2", false));
        }
        QCOMPARE(QDir(m_folder->path()).entryList(QDir::AllEntries | QDir::System | QDir::NoDotAndDotDot),
                 QStringList());
    }

    void aLiveSocketIsNeverStolenAndItsOwnerIsNamed() {
        auto owner = UnixListener::bind(m_path);
        QVERIFY(owner.has_value());
        const int code = exitCodeOf(startChild([&] {
            const auto second = UnixListener::bind(m_path);
            if (second)
                return 1;
            return second.error().message().find("held by pid " + std::to_string(::getppid())) != std::string::npos ? 0
                                                                                                                    : 2;
        }));
        QCOMPARE(code, 0);
        QVERIFY(connectUnix(m_path, false));
        QVERIFY(acceptSoon(*owner)->valid());
    }

    // Fault 18: what a dead owner left is cleaned.
    void aStaleSocketIsTakenOver() {
        const pid_t owner = startChild([&] {
            auto listener = UnixListener::bind(m_path);
            if (!listener)
                return 1;
            ::kill(::getpid(), SIGKILL);
            return 0;
        });
        QCOMPARE(exitCodeOf(owner), 128 + SIGKILL);
        QVERIFY(QFileInfo::exists(QString::fromStdString(m_path)));
        QVERIFY(!connectUnix(m_path, false));
        const auto start = std::chrono::steady_clock::now();
        auto listener = UnixListener::bind(m_path);
        QVERIFY(listener.has_value());
        test::printFigure("a dead owner's socket taken over", start, 0.2);
        QVERIFY(connectUnix(m_path, false));
    }

    void socketsOfKilledOwnersAreRemovedAndLiveOnesStay() {
        const std::string dead = m_path + "-dead";
        const pid_t owner = startChild([&] {
            auto listener = UnixListener::bind(dead);
            return listener ? ::kill(::getpid(), SIGKILL) : 1;
        });
        QCOMPARE(exitCodeOf(owner), 128 + SIGKILL);
        auto live = UnixListener::bind(m_path);
        QVERIFY(live.has_value());
        const QString folder = QFileInfo(QString::fromStdString(m_path)).path();
        UnixListener::removeStale(folder.toStdString());
        QVERIFY(!QFileInfo::exists(QString::fromStdString(dead)));
        QVERIFY(!QFileInfo::exists(QString::fromStdString(dead + ".lock")));
        QVERIFY(connectUnix(m_path, false));
    }

    // Fault 19: two at once.
    void ofManyAtOnceExactlyOneWins() {
        for (int round = 0; round < 500; ++round) {
            Gate start, end;
            std::vector<pid_t> children;
            for (int i = 0; i < 4; ++i)
                children.push_back(startChild([&] {
                    start.wait();
                    const auto listener = UnixListener::bind(m_path);
                    if (!listener)
                        return listener.error().message().find("held by") != std::string::npos ? 0 : 2;
                    end.wait(); // holds it until all have tried
                    return connectUnix(m_path, false) ? 1 : 3;
                }));
            start.open();
            int winners = 0;
            // Three end at once, the winner only on request.
            for (int ended = 0; ended < 3; ++ended) {
                int status = 0;
                QVERIFY(::waitpid(-1, &status, 0) > 0);
                QVERIFY(WIFEXITED(status));
                QCOMPARE(WEXITSTATUS(status), 0);
            }
            end.open();
            int status = 0;
            QVERIFY(::waitpid(-1, &status, 0) > 0);
            winners += WIFEXITED(status) && WEXITSTATUS(status) == 1;
            QCOMPARE(winners, 1);
            QVERIFY(!QFileInfo::exists(QString::fromStdString(m_path + ".lock")));
        }
    }

    void takingAndLettingGoInTurnNeverGivesTwoOwners() {
        // The owner unlinks its lock file when it goes: a process that waits for the old file must not own a nameless lock.
        const std::string witness = m_path + ".owner";
        std::vector<pid_t> children;
        for (int i = 0; i < 4; ++i)
            children.push_back(startChild([&] {
                for (int n = 0; n < 200; ++n) {
                    const auto listener = UnixListener::bind(m_path);
                    if (!listener)
                        continue;
                    if (::mkdir(witness.c_str(), 0700) != 0)
                        return 1; // somebody else owns it too
                    ::rmdir(witness.c_str());
                }
                return 0;
            }));
        for (const pid_t child : children)
            QCOMPARE(exitCodeOf(child), 0);
    }

    void aLockFileThatIsUnlinkedByItsOwnerNeverHasTwo() {
        const std::string path = m_folder->filePath("x.lock").toStdString(), witness = path + ".owner";
        std::vector<pid_t> children;
        for (int i = 0; i < 4; ++i)
            children.push_back(startChild([&] {
                for (int n = 0; n < 3000;) {
                    // As an unlucky waiter: opened before the owner unlinks, locked after.
                    const auto lock = detail::acquireLock(path);
                    if (!lock && lock.error().message().find("held by") == std::string::npos)
                        return 2;
                    ++n;
                    if (!lock)
                        continue;
                    if (::mkdir(witness.c_str(), 0700) != 0)
                        return 1;
                    ::sched_yield();
                    ::rmdir(witness.c_str());
                    ::unlink(path.c_str());
                }
                return 0;
            }));
        for (const pid_t child : children)
            QCOMPARE(exitCodeOf(child), 0);
    }

    // Fault 23: another user.
    void anotherUserIsRefusedAndNamed() {
        if (::geteuid() != 0)
            QSKIP("only root can become another user");
        auto listener = UnixListener::bind(m_path);
        QVERIFY(listener.has_value());
        const auto connectAs = [&](uid_t uid) {
            return startChild([this, uid] { return ::setuid(uid) == 0 && connectUnix(m_path, false) ? 0 : 1; });
        };
        QCOMPARE(exitCodeOf(connectAs(65534)), 1); // can't even reach it
        // And if someone opened folder and socket to all, the peer's uid is still checked.
        QCOMPARE(::chmod(m_folder->path().toUtf8().constData(), 0755), 0);
        QCOMPARE(::chmod(m_path.c_str(), 0777), 0);
        const auto start = std::chrono::steady_clock::now();
        const pid_t child = connectAs(65534);
        const auto peer = acceptSoon(*listener);
        test::printFigure("another user refused", start, 0.05);
        QVERIFY(!peer);
        QVERIFY2(peer.error().message().find("uid 65534") != std::string::npos, peer.error().message().c_str());
        QCOMPARE(exitCodeOf(child), 0);
        QVERIFY(connectUnix(m_path, false));
        QVERIFY(acceptSoon(*listener)->valid()); // we still may
    }

    // Fault 17: no descriptors left.
    void theListenerOutlivesAShortageOfDescriptors() {
        const int code = exitCodeOf(startChild([&] {
            auto listener = UnixListener::bind(m_path);
            if (!listener)
                return 1;
            const auto client = connectUnix(m_path, false), second = connectUnix(m_path, false);
            const rlimit tight{static_cast<rlim_t>(second->get() + 4), static_cast<rlim_t>(second->get() + 4)};
            ::setrlimit(RLIMIT_NOFILE, &tight);
            std::vector<Fd> hoard;
            for (Fd fd(::dup(0)); fd.valid(); fd = Fd(::dup(0)))
                hoard.push_back(std::move(fd));
            for (int i = 0; i < 2; ++i)
                if (listener->accept().has_value())
                    return 2; // must say that it dropped one
            const auto none = listener->accept();
            if (!none || none->valid())
                return 3; // nobody waits any more
            char c;
            if (::read(client->get(), &c, 1) != 0)
                return 4; // the dropped one was closed
            hoard.clear();
            const auto third = connectUnix(m_path, false);
            const auto served = listener->accept();
            return third && served && served->valid() ? 0 : 5;
        }));
        QCOMPARE(code, 0);
    }

    void aProgramOpensAsManyFilesAsItsHardLimitAllows() {
        const int code = exitCodeOf(startChild([] {
            rlimit limit{};
            ::getrlimit(RLIMIT_NOFILE, &limit);
            limit.rlim_cur = 64;
            ::setrlimit(RLIMIT_NOFILE, &limit);
            raiseDescriptorLimit();
            ::getrlimit(RLIMIT_NOFILE, &limit);
            return limit.rlim_cur == std::min<rlim_t>(limit.rlim_max, 65536) ? 0 : 1;
        }));
        QCOMPARE(code, 0);
    }

    void aPathTooLongForASocketIsSaid() {
        const std::string path = m_folder->path().toStdString() + "/" + std::string(120, 'x');
        for (const std::string &bad : {path, std::string()}) {
            const auto listener = UnixListener::bind(bad);
            QVERIFY(!listener);
            QVERIFY(listener.error().message().find("107") != std::string::npos);
            QVERIFY(!connectUnix(bad, false));
        }
    }

    void aFolderOpenToOthersIsRefused() {
        QCOMPARE(::chmod(m_folder->path().toUtf8().constData(), 0770), 0);
        const auto listener = UnixListener::bind(m_path);
        QVERIFY(!listener);
        QVERIFY(listener.error().message().find("chmod 700") != std::string::npos);
    }

    void aFileInTheWayIsNotRemoved() {
        QFile file(QString::fromStdString(m_path));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.close();
        QVERIFY(!UnixListener::bind(m_path));
        QVERIFY(file.exists());
    }

    void aListenerWithoutALockIsNotStolenEither() {
        const Fd other(::socket(AF_UNIX, SOCK_STREAM, 0));
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        m_path.copy(address.sun_path, sizeof address.sun_path - 1);
        QCOMPARE(::bind(other.get(), reinterpret_cast<sockaddr *>(&address), sizeof address), 0);
        QCOMPARE(::listen(other.get(), 1), 0);
        QVERIFY(!UnixListener::bind(m_path));
        QVERIFY(connectUnix(m_path, false));
    }

    void aLockNamesItsHolderAndEndsWithIt() {
        const std::string path = m_folder->filePath("node-0.lock").toStdString();
        QVERIFY(!FileLock::isHeld(path));
        int ends[2];
        QCOMPARE(::pipe(ends), 0);
        const pid_t holder = startChild([&] {
            const auto lock = FileLock::acquire(path);
            static_cast<void>(!::write(ends[1], "x", 1));
            ::pause();
            return lock ? 0 : 1;
        });
        char c;
        QCOMPARE(::read(ends[0], &c, 1), ssize_t{1});
        QVERIFY(FileLock::isHeld(path));
        const auto second = FileLock::acquire(path);
        QVERIFY(!second);
        QCOMPARE(second.error().message(), path + " is held by pid " + std::to_string(holder));
        ::kill(holder, SIGKILL);
        QCOMPARE(exitCodeOf(holder), 128 + SIGKILL);
        QVERIFY(!FileLock::isHeld(path));
        {
            const auto lock = FileLock::acquire(path);
            QVERIFY(lock.has_value());
            QVERIFY(FileLock::isHeld(path)); // also for the process that holds it
        }
        QVERIFY(!FileLock::isHeld(path));
        QVERIFY(!FileLock::acquire("/nowhere/at/all.lock"));
        ::close(ends[0]);
        ::close(ends[1]);
    }

    void aLockIsWaitedForAsLongAsItsHolderMayTake() {
        const std::string path = m_folder->filePath("node-0.lock").toStdString();
        std::optional held(FileLock::acquire(path));
        std::thread holder([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
            held.reset();
        });
        const auto waited = FileLock::acquire(path, std::chrono::seconds(30));
        holder.join();
        QVERIFY(waited.has_value());
        QVERIFY(!FileLock::acquire(path, std::chrono::milliseconds(20)));
        QVERIFY(!FileLock::acquire("/nowhere/at/all.lock", std::chrono::hours(1))); // nobody holds it
    }

    void askingNeverGetsInAnOwnersWay() {
        const std::string path = m_folder->filePath("node-0.lock").toStdString();
        const pid_t asker = startChild([&] {
            while (::getppid() != 1)
                static_cast<void>(FileLock::isHeld(path));
            return 0;
        });
        for (int i = 0; i < 2000; ++i)
            QVERIFY(FileLock::acquire(path).has_value());
        ::kill(asker, SIGKILL);
        exitCodeOf(asker);
    }
};

QTEST_GUILESS_MAIN(UnixSocketTest)
#include "unix_socket_test.moc"

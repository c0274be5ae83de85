// SPDX-License-Identifier: MIT
#include <csignal>
#include <fstream>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <QDeadlineTimer>

#include "ipc/process_stat.h"
#include "tests/qt_test.h"

using namespace lockstep;

class ProcessStatTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void aProcessIsReadWhateverItCallsItself() {
        const pid_t child = ::fork();
        if (child == 0) {
            ::prctl(PR_SET_NAME, "a) R 7 (b\n");
            ::raise(SIGSTOP);
            ::_exit(0);
        }
        int status = 0;
        QCOMPARE(::waitpid(child, &status, WUNTRACED), child);
        const auto stopped = processStatOf(child);
        QVERIFY(stopped.has_value());
        QCOMPARE(stopped->state, 'T');
        QCOMPARE(stopped->parent, ::getpid());
        QVERIFY(stopped->startTicks >= processStatOf("/proc/self")->startTicks);
        QVERIFY(stopped->core >= 0);
        ::kill(child, SIGKILL);
        QCOMPARE(::waitpid(child, &status, 0), child);
        QVERIFY(!processStatOf(child));
    }

    void itsTimesAreItsOwn() {
        const auto ticks = [] { return processStatOf(::getpid())->cpuTicks; };
        const std::uint64_t tenth = std::uint64_t(::sysconf(_SC_CLK_TCK)) / 10, before = ticks();
        const QDeadlineTimer limit(test::hangLimitMs);
        while (ticks() < before + tenth && !limit.hasExpired()) {
        } // reading it takes time, too
        QVERIFY(!limit.hasExpired());
    }

    void whatAChildUsedIsItsParentsOnceItHasWaitedForIt() {
        const auto waited = [] { return processStatOf(::getpid())->waitedTicks; };
        const std::uint64_t tenth = std::uint64_t(::sysconf(_SC_CLK_TCK)) / 10, before = waited();
        const pid_t child = ::fork();
        if (child == 0) {
            while (processStatOf(::getpid())->cpuTicks < tenth) {
            }
            ::_exit(0);
        }
        siginfo_t ended{};
        QCOMPARE(::waitid(P_PID, id_t(child), &ended, WEXITED | WNOWAIT), 0);
        QCOMPARE(waited(), before);
        int status = 0;
        QCOMPARE(::waitpid(child, &status, 0), child);
        QVERIFY(waited() >= before + tenth - 1); // each of its two times is rounded down
    }

    void aTextThatEndsTooSoonIsNone() {
        std::ifstream file("/proc/self/stat");
        std::string text;
        std::getline(file, text);
        QVERIFY(processStatIn(text).has_value());
        QVERIFY(!processStatIn(text.substr(0, text.size() / 2)));
        QVERIFY(!processStatIn("7 (a) R 1"));
        QVERIFY(!processStatIn(""));
    }

    void aBootHasAName() {
        QCOMPARE(bootId().size(), std::size_t(36)); // a UUID
        QCOMPARE(bootId().find('\n'), std::string::npos);
    }
};

QTEST_GUILESS_MAIN(ProcessStatTest)
#include "process_stat_test.moc"

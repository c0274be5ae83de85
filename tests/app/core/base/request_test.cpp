// SPDX-License-Identifier: MIT
// What is asked of other programs without waiting for them: each answer comes once, from the event loop, and what is given up ends.
#include <QSignalSpy>

#include <csignal>

#include "base/command_request.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::core;
using namespace std::chrono_literals;
using End = CommandAnswer::End;

namespace {

struct Outcome {
    std::optional<CommandAnswer> answer;
    std::unique_ptr<CommandRequest> request;
};

/// Runs a command; its answer comes into `outcome`.
void run(Outcome &outcome, const std::vector<std::string> &words, std::chrono::milliseconds limit,
         const std::string &in = {}) {
    outcome.request =
        std::make_unique<CommandRequest>(words, in, limit, [&outcome](const CommandAnswer &answer) -> Result<void> {
            outcome.answer = answer;
            return answer.end == End::Exited && answer.code == 0 ? Result<void>() : fail(Error::failed("no"));
        });
}

/// A shell that says its pid and hangs: its pid.
std::vector<std::string> hangs(const QTemporaryDir &folder) {
    return {"/bin/sh", "-c", "echo $$ > " + folder.filePath(QStringLiteral("pid")).toStdString() + "; exec sleep 600"};
}
int pidIn(const QTemporaryDir &folder) {
    QFile file(folder.filePath(QStringLiteral("pid")));
    return file.open(QIODevice::ReadOnly) ? file.readAll().trimmed().toInt() : 0;
}

} // namespace

class RequestTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void aProgramThatTalksWithoutEndIsKilledAndOnlyTheEndOfItsComplaintsIsKept() {
        QProcess endless;
        boundOutput(endless, 1 << 20);
        QSignalSpy over(&endless, &QProcess::finished);
        endless.start(QStringLiteral("/bin/sh"),
                      {QStringLiteral("-c"), QStringLiteral("exec tr -d '\\n' < /dev/zero")});
        QVERIFY(over.wait(test::hangLimitMs));
        QCOMPARE(endless.exitStatus(), QProcess::CrashExit);
        QProcess complaining;
        boundOutput(complaining, 1 << 20);
        QSignalSpy ended(&complaining, &QProcess::finished);
        complaining.start(
            QStringLiteral("/bin/sh"),
            {QStringLiteral("-c"),
             QStringLiteral("i=0; while [ $i -lt 4000 ]; do echo 'a complaint of many words'; i=$((i+1)); done >&2; "
                            "echo the last one >&2")});
        QVERIFY(ended.wait(test::hangLimitMs));
        QVERIFY(endOfStderr(complaining).size() <= 16 << 10);
        QVERIFY(endOfStderr(complaining).endsWith("a complaint of many words\nthe last one\n"));
    }

    void aCommandsAnswerComesFromTheEventLoop() {
        Outcome outcome;
        run(outcome, {"/bin/sh", "-c", "cat; echo oh >&2; exit 3"}, 60s, "in");
        QSignalSpy finished(outcome.request.get(), &Request::finished);
        QVERIFY(!outcome.request->over());
        QTRY_COMPARE(finished.size(), 1);
        QVERIFY(outcome.answer->end == End::Exited);
        QCOMPARE(outcome.answer->code, 3);
        QCOMPARE(outcome.answer->out, std::string("in"));
        QCOMPARE(outcome.answer->err, std::string("oh\n"));
        QVERIFY(!outcome.request->result());
    }

    void aCommandThatCantBeStartedSaysSo() {
        Outcome outcome;
        run(outcome, {"/nowhere/at/all"}, 60s);
        QTRY_VERIFY(outcome.answer);
        QVERIFY(outcome.answer->end == End::NotStarted);
    }

    void aCommandThatHangsIsEndedAfterItsLimit() {
        const QTemporaryDir folder;
        Outcome outcome;
        run(outcome, hangs(folder), 2s);
        QTRY_VERIFY(outcome.answer);
        QVERIFY(outcome.answer->end == End::TimedOut);
        QVERIFY(pidIn(folder) > 0);
        QTRY_VERIFY(::kill(pidIn(folder), 0) != 0);
    }

    void aRequestThatIsDeletedEndsItsCommandEvenADeafOne() {
        const QTemporaryDir folder;
        Outcome outcome;
        std::vector<std::string> deaf = hangs(folder);
        deaf.back() = "trap '' TERM; " + deaf.back();
        run(outcome, deaf, 60s);
        QTRY_VERIFY(pidIn(folder) > 0);
        outcome.request.reset();
        QTRY_VERIFY(::kill(pidIn(folder), 0) != 0);
        QVERIFY(!outcome.answer);
    }

    void severalAreOverWhenAllAreAndFailWithTheFirstError() {
        const auto make = [] { return std::make_unique<AwaitedRequest>(60s, Error::failed("late")); };
        auto a = make(), b = make();
        AwaitedRequest *const first = a.get(), *const second = b.get();
        std::vector<std::unique_ptr<Request>> both;
        both.push_back(std::move(a));
        both.push_back(std::move(b));
        RequestGroup group(std::move(both));
        QSignalSpy finished(&group, &Request::finished);
        second->answer(fail(Error::failed("b")));
        second->answer({}); // only the first answer counts
        QTest::qWait(50);
        QCOMPARE(finished.size(), 0);
        first->answer(fail(Error::failed("a")));
        QTRY_COMPARE(finished.size(), 1);
        QCOMPARE(group.result().error().what, std::string("b"));
    }

    void whatNobodyAnswersFailsInTime() {
        auto request = std::make_unique<AwaitedRequest>(10ms, Error::failed("late"));
        const Result<void> result = waitFor(Asked(std::move(request)));
        QVERIFY(!result);
        QCOMPARE(result.error().what, std::string("late"));
    }
};

QTEST_GUILESS_MAIN(RequestTest)
#include "request_test.moc"

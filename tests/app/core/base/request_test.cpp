// SPDX-License-Identifier: MIT
// What is asked of other programs without waiting for them: each answer comes once, from the event loop, and what is given up ends.
#include <QSignalSpy>

#include <csignal>

#include "base/command_request.h"
#include "base/machine_facts.h"
#include "experiment/experiment.h"
#include "launch/device_probe.h"
#include "launch/script_check.h"
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

/// A machine whose agent is this script.
CommandPrefix saying(const char *script) {
    return CommandPrefix{{"/bin/sh", "-c", script, "--"}, "far", "lockstep-agent", false};
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

    void aMachineWithoutFactsIsRefusedWithAReason() {
        const auto greets = machineFacts(saying("echo Welcome to the host; echo '{}'"));
        QVERIFY2(!greets && greets.error().what.find("it printed \"Welcome to the host\"") != std::string::npos,
                 greets ? "" : greets.error().what.c_str());
        const auto silent = machineFacts(saying("exit 3"));
        QVERIFY2(!silent && silent.error().what.ends_with("it answered nothing, with exit code 3"),
                 silent ? "" : silent.error().what.c_str());
    }

    void aCheckOfScriptsThatIsAnsweredWithoutEndFails() {
        Experiment experiment;
        experiment.entries.resize(1);
        experiment.entries[0].planned.command = {"python", "train.py"};
        const auto flooded = checkScripts(saying("exec yes '{\"type\":\"fit\",\"python\":\"x\"}'"), experiment);
        QVERIFY(!flooded);
        QVERIFY2(flooded.error().front().what.find("more than 64 MiB") != std::string::npos,
                 flooded.error().front().what.c_str());
        const auto talkative = checkScripts(
            saying("for i in 1 2 3; do echo \"{\\\"type\\\":\\\"fit\\\",\\\"python\\\":\\\"$i\\\"}\"; done"),
            experiment);
        QVERIFY(talkative.has_value());
        QCOMPARE(*talkative, std::vector<std::string>{"1"}); // one script was asked about
    }

    void aListOfDevicesThatHasNoEndOrDoesNotComeFails() {
        for (const auto &[script, limit, why] : {std::tuple("exec yes", 60'000ms, "can't be listed"),
                                                 std::tuple("exec sleep 600", 300ms, "did not answer in time")}) {
            DeviceProbe probe(nullptr, limit);
            QSignalSpy failed(&probe, &DeviceProbe::failed);
            probe.start(saying(script), 1);
            QVERIFY(failed.wait(test::hangLimitMs));
            QVERIFY2(failed[0][0].value<Error>().what.find(why) != std::string::npos,
                     failed[0][0].value<Error>().what.c_str());
            QTRY_VERIFY(!probe.isRunning());
            probe.start(saying("echo '{\"devices\":[]}'"), 1); // the next snapshot is its own
            QSignalSpy finished(&probe, &DeviceProbe::finished);
            QVERIFY(finished.wait(test::hangLimitMs));
        }
    }

    void aProgramsNameOnADeviceIsOneLineWithoutControlCharacters() {
        DeviceProbe probe;
        QSignalSpy finished(&probe, &DeviceProbe::finished);
        probe.start(saying("printf %s '{\"devices\":[{\"device\":\"cpu:0\",\"kind\":\"cpu\",\"name\":\"A\\tCPU\","
                           "\"users\":[{\"pid\":7,\"name\":\"a\\nb\\u001b[2J\",\"share\":0.5}]}]}'"),
                    1);
        QVERIFY(finished.wait(test::hangLimitMs));
        const auto device = finished[0][0].value<std::vector<SeenDevice>>().front();
        QCOMPARE(device.name, std::string("A?CPU"));
        QCOMPARE(device.users.front().name, std::string("a?b?[2J"));
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

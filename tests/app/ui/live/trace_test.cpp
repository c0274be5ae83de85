// SPDX-License-Identifier: MIT
// Ctrl+Shift+R in the window, and lockstepctl trace: both ask the ranks of the run that goes on.
#include <QPushButton>
#include <QSignalSpy>

#include "app/ui/shell/status_strip.h"
#include "app/ui/shell/workspace.h"
#include "app/ui/theme/theme.h"
#include "core_queue_support.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::ui;
using namespace lockstep::test;

class TraceTest : public QObject {
    Q_OBJECT
    std::unique_ptr<FakeRankHome> m_home;

    /// The run of the experiment that goes on by now, once its ranks train; empty when none does.
    static std::string training(const std::string &experiment) {
        for (const core::ExperimentEntry &entry : read(experiment).entries)
            if (entry.state == core::EntryState::Running && logOf(entry.run).contains("\"type\":\"steps\""))
                return entry.run;
        return {};
    }
    static QByteArray logOf(const std::string &run) {
        return QByteArray::fromStdString(realFileSystem().readAll(runFolder(run).log(0)).value_or(""));
    }

    /// A window's strip that shows a run that goes on.
    struct Watched {
        Theme theme{ThemeMode::Light};
        Workspace workspace;
        StatusStrip strip{theme, workspace};
        QSignalSpy failed{&workspace, &Workspace::failed};
        Detached started;
        std::string run;
    };
    static void watch(Watched &watched) {
        watched.strip.resize(1280, 48);
        watched.strip.show();
        watched.started = startDetached();
        QTRY_VERIFY(!(watched.run = training(watched.started.experiment)).empty());
        QVERIFY(watched.workspace.attachToRunning());
        // The strip offers what can be asked once it has drawn that the run goes on; a shortcut acts in the active window.
        QTRY_VERIFY(watched.strip.stopButton()->isVisible());
        watched.strip.activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(&watched.strip));
    }

private Q_SLOTS:
    void initTestCase() {
        if (!useFakeRanks())
            QSKIP(withoutFakeRanks().constData());
    }
    void init() { m_home = std::make_unique<FakeRankHome>("step_ms=20;steps=2000"); }
    void cleanup() { m_home.reset(); }

    void theWindowsKeyAsksTheRunThatGoesOnForTwentySteps() {
        Watched watched;
        watch(watched);
        const auto traces = [&] { return logOf(watched.run).count("a trace of 20 steps, asked by lockstep on "); };
        QCOMPARE(traces(), qsizetype(0));
        QTest::keyClick(&watched.strip, Qt::Key_R, Qt::ControlModifier | Qt::ShiftModifier);
        QTRY_COMPARE(traces(), qsizetype(1));
        QVERIFY(logOf(watched.run).contains(": 1 ranks record it"));
        QCOMPARE(watched.failed.count(), 0);
    }

    void theWindowsKeyAsksTheRanksWhereTheyAre() {
        Watched watched;
        watch(watched);
        QTest::keyClick(&watched.strip, Qt::Key_H, Qt::ControlModifier | Qt::ShiftModifier);
        QTRY_VERIFY(logOf(watched.run).contains("their stacks, asked by lockstep on "));
        QCOMPARE(watched.failed.count(), 0);
    }

    void theShellAsksForAsManyStepsAsItSaysAndIsAnsweredWhenTheAgentHasReadIt() {
        const Detached started = startDetached();
        std::string run;
        QTRY_VERIFY(!(run = training(started.experiment)).empty());
        const QStringList trace{QStringLiteral("trace"), QString::fromStdString(run)};
        for (int steps = 7; steps < 12; ++steps) { // again and again: an order that is lost now and then shows
            const Answer answer = ctl(trace + QStringList{QString::number(steps)});
            QVERIFY2(answer.code == 0, answer.err.constData());
            QVERIFY(answer.out.contains("/traces/trace.json"));
            const QByteArray reported = "a trace of " + QByteArray::number(steps) + " steps, asked by lockstepctl on ";
            QTRY_COMPARE(logOf(run).count(reported), qsizetype(1));
        }
        QCOMPARE(ctl(trace + QStringList{QStringLiteral("0")}).code, 2);
        QVERIFY(ctl({QStringLiteral("stop"), QString::fromStdString(started.experiment)}).code == 0);
        QTRY_VERIFY(runsAreOver(started.experiment));
        const Answer late = ctl(trace);
        QCOMPARE(late.code, 1);
        QVERIFY2(late.err.contains("does not run"), late.err.constData());
        QCOMPARE(ctl({QStringLiteral("trace"), QStringLiteral("nonsense")}).code, 2);
    }
};

QTEST_MAIN(TraceTest)
#include "trace_test.moc"

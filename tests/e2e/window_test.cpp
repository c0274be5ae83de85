// SPDX-License-Identifier: MIT
// The main job, end to end, through the window: Start, watch three methods train, kill the window, open it again while
// the queue goes on, miss nothing, export. The first window is a child process, so that it can be killed for real.
#include <QApplication>
#include <QCheckBox>
#include <QFile>
#include <QImage>
#include <QLineEdit>
#include <QProcess>
#include <QPushButton>
#include <QStandardPaths>
#include <QSvgRenderer>
#include <QTemporaryDir>
#include <QTextStream>
#include <QToolButton>

#include <csignal>
#include <cstdio>

#include "app/ui/charts/line_chart.h"
#include "app/ui/pages/live/live_page.h"
#include "app/ui/pages/plan/config_form.h"
#include "app/ui/pages/plan/plan_page.h"
#include "app/ui/pages/verdict/verdict_page.h"
#include "app/ui/shell/exporter.h"
#include "app/ui/shell/main_window.h"
#include "app/ui/shell/status_strip.h"
#include "app/ui/shell/workspace.h"
#include "app/ui/theme/theme.h"
#include "base/machine_facts.h"
#include "store/load_run.h"
#include "tests/figure.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::ui;

namespace {

QString binary(const char *name) {
    return QStringLiteral(LOCKSTEP_BIN "/") + QLatin1String(name);
}

/// Methods whose loss the Live page draws now.
QStringList drawnMethods(Workspace &workspace, MainWindow &window) {
    QStringList out;
    for (int i = 0; i < workspace.runs().count(); ++i)
        for (const LineData &line : window.livePage()->lossChart()->lines())
            if (line.key == workspace.runs().at(i)->runId() && line.size() > 0)
                out.append(workspace.runs().at(i)->identity().method());
    return out;
}

void type(QWidget *editor, const QString &text) {
    auto *line = qobject_cast<QLineEdit *>(editor);
    QVERIFY(line);
    line->setFocus();
    line->selectAll();
    QTest::keyClicks(line, text);
}

/// The first window: presses Start, then prints which methods it draws, until it is killed.
int runViewer() {
    Theme theme(ThemeMode::Light);
    Workspace workspace;
    MainWindow window(theme, workspace, core::localMachineFacts());
    window.show();
    (void)QTest::qWaitForWindowExposed(&window);
    QObject::connect(&workspace, &Workspace::failed, [](const QString &sentence) {
        std::printf("failed %s\n", qPrintable(sentence));
        std::fflush(stdout);
    });
    for (QToolButton *head : window.planPage()->form()->findChildren<QToolButton *>(QStringLiteral("fold")))
        QTest::mouseClick(head, Qt::LeftButton);
    type(window.planPage()->form()->field(QStringLiteral("train_samples"))->editor, QStringLiteral("640"));
    type(window.planPage()->form()->field(QStringLiteral("epochs"))->editor, QStringLiteral("2"));
    QTest::mouseClick(window.planPage()->startButton(), Qt::LeftButton);
    QStringList reported;
    for (;;) {
        QTest::qWait(20);
        for (const QString &method : drawnMethods(workspace, window))
            if (!reported.contains(method)) {
                reported.append(method);
                std::printf("draws %s %s\n", qPrintable(method), qPrintable(workspace.openId()));
                std::fflush(stdout);
            }
    }
}

} // namespace

class WindowTest : public QObject {
    Q_OBJECT
    QTemporaryDir m_home;

    /// Reads the child's lines until one begins with `word`; empty when none comes in time.
    static QString waitForLine(QProcess &process, const QString &word, int limitMs) {
        QElapsedTimer timer;
        timer.start();
        while (timer.elapsed() < limitMs) {
            while (process.canReadLine()) {
                const QString line = QString::fromUtf8(process.readLine()).trimmed();
                if (line.startsWith(word))
                    return line;
                if (line.startsWith(QLatin1String("failed")))
                    qWarning("%s", qPrintable(line));
            }
            process.waitForReadyRead(200);
        }
        return {};
    }

private Q_SLOTS:
    void initTestCase() {
        for (const char *program : {"lockstep", "lockstepctl", "lockstep-agent"})
            if (!QFile::exists(binary(program)))
                QSKIP(qPrintable(QStringLiteral("%1 is not built").arg(binary(program))));
        qputenv("LOCKSTEP_HOME", m_home.path().toUtf8());
        qputenv("LOCKSTEP_AGENT", binary("lockstep-agent").toUtf8());
        qputenv("LOCKSTEP_CTL", binary("lockstepctl").toUtf8());
        if (!QFile::exists(binary("lockstep-trainer")) && qEnvironmentVariableIsEmpty("LOCKSTEP_TRAINER")) {
            qputenv("LOCKSTEP_TRAINER", binary("fake_rank").toUtf8());
            qputenv("FAKE_RANK", "steps=40;step_ms=25");
            qInfo("lockstep-trainer is not built: fake_rank stands in for the ranks");
        }
    }

    void aKilledWindowLosesNothingAndTheQueueGoesOn() {
        QProcess viewer;
        viewer.setProcessChannelMode(QProcess::ForwardedErrorChannel);
        viewer.start(QApplication::applicationFilePath(), {QStringLiteral("--viewer")});
        const QString first = waitForLine(viewer, QStringLiteral("draws baseline"), 60'000);
        QVERIFY2(!first.isEmpty(), "the window drew no loss of the baseline within a minute of Start");
        const QString id = first.section(QLatin1Char(' '), 2, 2);
        QVERIFY(!waitForLine(viewer, QStringLiteral("draws dp"), 120'000).isEmpty());
        ::kill(pid_t(viewer.processId()), SIGKILL);
        QVERIFY(viewer.waitForFinished(test::hangLimitMs));
        QCOMPARE(viewer.exitStatus(), QProcess::CrashExit);

        // The queue has an owner that is not the window.
        QVERIFY(core::isOwned(id.toStdString()));
        const auto start = std::chrono::steady_clock::now();
        Theme theme(ThemeMode::Light);
        Workspace workspace;
        MainWindow window(theme, workspace, core::localMachineFacts());
        window.show();
        QVERIFY2(workspace.attachToRunning(), "a new window found nothing to attach to");
        QCOMPARE(workspace.openId(), id);
        window.showPage(Page::Live);
        QTRY_VERIFY_WITH_TIMEOUT(drawnMethods(workspace, window).contains(QStringLiteral("dp")), 120'000);
        test::printFigure("the curves that a killed window had drawn are there again", start, 2);
        QVERIFY(window.strip()->stopButton()->isVisibleTo(&window));
        QTRY_VERIFY_WITH_TIMEOUT(drawnMethods(workspace, window).contains(QStringLiteral("ddp")), 120'000);
        QTRY_VERIFY_WITH_TIMEOUT(workspace.complete() && workspace.settled(), 120'000);
        QTRY_COMPARE(int(drawnMethods(workspace, window).size()), workspace.runs().count());
        checkComplete(workspace);
        checkVerdict(workspace, window);
        checkExport(workspace, window, id);
    }

private:
    void checkComplete(Workspace &workspace) {
        QStringList methods;
        for (const core::RunStore *store : workspace.runs().stores()) {
            QVERIFY2(store->log().gaps.empty(), "frames are missing");
            QCOMPARE(store->lifecycle().sentence(), QStringLiteral("done"));
            methods.append(store->identity().method());
            QCOMPARE(int(store->epochs().merged().size()), 2);
            for (const core::MergedEpoch &epoch : store->epochs().merged())
                QVERIFY(epoch.complete);
            // What the window followed is what the log holds.
            core::RunStore whole(store->runId());
            QVERIFY(core::loadRun(whole, runFolder(store->runId().toStdString())));
            QCOMPARE(store->log().frames, whole.log().frames);
            QCOMPARE(store->losses().all().points().size(), whole.losses().all().points().size());
            QVERIFY(!store->losses().all().points().empty());
        }
        for (const char *method : {"baseline", "dp", "ddp"})
            QVERIFY2(methods.contains(QLatin1String(method)), method);
    }

    void checkVerdict(Workspace &workspace, MainWindow &window) {
        window.showPage(Page::Verdict);
        QTRY_VERIFY(window.verdictPage()->sentence().contains(
            QStringLiteral("DDP on 2 devices: can't tell yet"))); // of one repeat each
        int done = 0, notRun = 0;
        for (const core::ResultRow &row : workspace.results().table().rows) {
            done += !row.published && row.state == "done";
            notRun += !row.published && row.state == "not run";
        }
        QCOMPARE(done, 3);
        if (core::localMachineFacts().allowedCores.size() < 8)
            QCOMPARE(notRun, 2); // "not run: needs 8, has 2"
    }

    void checkExport(Workspace &workspace, MainWindow &window, const QString &id) {
        QTemporaryDir folder;
        const auto written = exportAll(workspace, window.charts(), folder.path());
        QVERIFY2(written, written ? "" : written.error().message().c_str());
        for (const QString &path : *written)
            QVERIFY2(QFile(path).size() > 0, qPrintable(path));
        QFile csv(folder.filePath(QStringLiteral("results.csv")));
        QVERIFY(csv.open(QIODevice::ReadOnly));
        const QByteArray table = csv.readAll();
        for (const char *name : {"baseline", "DP on ", "DDP on "})
            QVERIFY2(table.contains(name), name);
        QVERIFY(!QImage(folder.filePath(QStringLiteral("loss.png"))).isNull());
        QVERIFY(QSvgRenderer(folder.filePath(QStringLiteral("loss.svg"))).isValid());

        // The same from the shell, without a screen.
        QTemporaryDir other;
        QProcess exporter;
        exporter.setProcessChannelMode(QProcess::ForwardedErrorChannel);
        exporter.start(binary("lockstep"),
                       {QStringLiteral("--export"), other.path(), QStringLiteral("--experiment"), id});
        QVERIFY(exporter.waitForFinished(test::hangLimitMs));
        QCOMPARE(exporter.exitCode(), 0);
        QFile again(other.filePath(QStringLiteral("results.csv")));
        QVERIFY(again.open(QIODevice::ReadOnly));
        QCOMPARE(again.readAll(), table);
        QVERIFY(!QImage(other.filePath(QStringLiteral("devices.png"))).isNull());
    }
};

int main(int argc, char **argv) {
    QApplication application(argc, argv);
    if (QApplication::arguments().contains(QStringLiteral("--viewer")))
        return runViewer();
    WindowTest test;
    return QTest::qExec(&test, argc, argv);
}

#include "window_test.moc"

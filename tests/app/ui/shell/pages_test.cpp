// SPDX-License-Identifier: MIT
// Live, Verdict and Runs over a finished experiment that lies on disk as a real one does.
#include <QApplication>
#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QProcess>
#include <QPushButton>
#include <QSignalSpy>
#include <QTableView>
#include <QToolButton>

#include "analysis/compare/verdict.h"
#include "app/ui/app_options.h"
#include "app/ui/charts/bar_chart.h"
#include "app/ui/charts/lane_view.h"
#include "app/ui/charts/line_chart.h"
#include "app/ui/charts/phase_bars.h"
#include "app/ui/pages/live/live_page.h"
#include "app/ui/pages/live/live_side.h"
#include "app/ui/pages/plan/plan_page.h"
#include "app/ui/pages/plan/script_dialog.h"
#include "app/ui/pages/runs/runs_filter_line.h"
#include "app/ui/pages/runs/runs_page.h"
#include "app/ui/pages/verdict/verdict_page.h"
#include "app/ui/shell/command_palette.h"
#include "app/ui/shell/console_drawer.h"
#include "app/ui/shell/exporter.h"
#include "app/ui/shell/main_window.h"
#include "app/ui/shell/rail.h"
#include "app/ui/shell/shortcut_sheet.h"
#include "app/ui/shell/status_strip.h"
#include "app/ui/shell/workspace.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/empty_state.h"
#include "models/run_list_model.h"
#include "tests/qt_test.h"
#include "window_fixture.h"

using namespace lockstep;
using namespace lockstep::ui;

class PagesTest : public QObject, uitest::WindowFixture {
    Q_OBJECT
    uitest::Home m_home;
    std::string m_id;

    /// Of the 8 by 8 pixels from there.
    static int mean(const QImage &image, int left, int top) {
        int sum = 0;
        for (int y = top; y < top + 8; ++y)
            for (int x = left; x < left + 8; ++x)
                sum += image.constScanLine(y)[x];
        return sum / 64;
    }
    QLabel *labelWith(QWidget *page, const QString &text) {
        for (QLabel *label : page->findChildren<QLabel *>())
            if (label->text().contains(text) && label->isVisibleTo(page))
                return label;
        return nullptr;
    }

private Q_SLOTS:
    void initTestCase() {
        m_id = uitest::writeExperimentOnDisk({.epochs = 3, .repeats = 2});
        QVERIFY(!m_id.empty());
    }
    void init() { openWindow(); }
    void cleanup() { closeWindow(); }

    void aPageWithoutDataSaysTheNextStepAndTakesIt() {
        for (const Page page : {Page::Live, Page::Verdict}) {
            m_window->showPage(page);
            QWidget *shown =
                page == Page::Live ? static_cast<QWidget *>(m_window->livePage()) : m_window->verdictPage();
            QPushButton *next = nullptr;
            for (QPushButton *button : shown->findChildren<QPushButton *>())
                if (button->text() == "Go to Plan" && button->isVisible())
                    next = button;
            QVERIFY(next);
            QTest::mouseClick(next, Qt::LeftButton);
            QCOMPARE(m_window->page(), Page::Plan);
            m_window->showPage(page);
            QPushButton *script = nullptr; // a person who comes with a script finds it without a recipe
            for (QPushButton *button : shown->findChildren<QPushButton *>())
                if (button->text() == QStringLiteral("Your script…") && button->isVisible())
                    script = button;
            QVERIFY(script);
            QTest::mouseClick(script, Qt::LeftButton);
            QCOMPARE(m_window->page(), Page::Plan);
            ScriptDialog *dialog = m_window->findChild<ScriptDialog *>();
            QVERIFY(dialog && dialog->isVisible());
            dialog->reject();
            QTRY_VERIFY(!m_window->findChild<ScriptDialog *>());
        }
    }

    void allRunsOfAnExperimentComeAtOnce() {
        QSignalSpy changes(&m_workspace->runs(), &core::RunSet::reset);
        QVERIFY(m_workspace->open(QString::fromStdString(m_id)).has_value());
        QCOMPARE(m_workspace->runs().count(), 6);
        QVERIFY(changes.size() <= 2); // what was open leaves, and these come
    }

    void liveDrawsEveryMethodInOnePicture() {
        openOnLive(m_id);
        QTRY_COMPARE(m_window->livePage()->lossChart()->isVisible(), true);
        QTRY_VERIFY(m_window->livePage()->lossChart()->drawnPoints() > 0);
        for (const LineData &line : live()->lossChart()->lines())
            QVERIFY2(line.style != Qt::DotLine,
                     "published figures of another data set stand beside ours when asked for");
        live()->side()->publishedBox()->setChecked(true);
        live()->drawNow();
        QStringList labelled, dotted;
        for (const LineData &line : m_window->livePage()->lossChart()->lines()) {
            if (line.style == Qt::DotLine)
                dotted.append(line.name);
            else if (line.labelled && !line.faint)
                labelled.append(line.name);
        }
        QCOMPARE(labelled, QStringList({"baseline", "DP on 2 devices", "DDP on 2 devices"}));
        QVERIFY2(dotted.contains("published DDP on 8 devices on MNIST") &&
                     dotted.contains("published DP on 8 devices on MNIST"),
                 qPrintable(dotted.join(',')));
    }

    void durationsAreThoseOfTheLog() {
        openOnLive(m_id);
        m_window->livePage()->drawNow();
        int runs = 0;
        for (const LineData &line : m_window->livePage()->durationChart()->lines()) {
            if (line.style == Qt::DotLine)
                continue;
            ++runs;
            QCOMPARE(line.points.size(), 3);
            for (const core::RunStore *store : m_workspace->runs().stores())
                if (store->runId() == line.key)
                    for (int i = 0; i < 3; ++i)
                        QCOMPARE(line.points[i].y(), store->epochs().merged()[std::size_t(i)].durationS);
        }
        QCOMPARE(runs, 6); // three methods, two repeats
    }

    void lanesShareOneTimeAxisAndShowTheNewestRepeat() {
        openOnLive(m_id);
        m_window->livePage()->drawNow();
        QStringList lanes;
        for (const Lane &lane : m_window->livePage()->lanes()->lanes()) {
            lanes.append(lane.run + ' ' + lane.device);
            QVERIFY(!lane.samples.isEmpty());
            QCOMPARE(lane.samples.constFirst().x(), 0.0);
            QVERIFY2(lane.value.endsWith("%"), qPrintable(lane.value));
        }
        QCOMPARE(lanes, QStringList({"baseline cpu:0", "DP on 2 devices cpu:0", "DP on 2 devices cpu:1",
                                     "DDP on 2 devices cpu:0", "DDP on 2 devices cpu:1"}));
    }

    void aStepsPhasesAddUpAndShowEveryRank() {
        openOnLive(m_id);
        m_window->livePage()->drawNow();
        QStringList rows;
        for (const PhaseBar &bar : m_window->livePage()->phaseBars()->bars()) {
            rows.append(bar.label);
            QVERIFY(bar.parts.size() >= 5);
            for (const PhasePart &part : bar.parts)
                QVERIFY(part.phase != "wait" && part.seconds >= 0);
        }
        QCOMPARE(rows,
                 QStringList({"baseline", "DP on 2 devices", "DDP on 2 devices rank 0", "DDP on 2 devices rank 1"}));
    }

    void lossAgainstStepsOrTimeLeavesThePublicationOut() {
        openOnLive(m_id);
        m_window->livePage()->axisBox()->setCurrentIndex(1);
        m_window->livePage()->drawNow();
        for (const LineData &line : m_window->livePage()->lossChart()->lines())
            QVERIFY(line.style != Qt::DotLine);
        QCOMPARE(m_window->livePage()->lossChart()->chartData().section('\n', 0, 0),
                 QString("series\tstep\tcross-entropy"));
    }

    void theVerdictIsComputedAndShowsItsRepeats() {
        openOnLive(m_id);
        m_window->showPage(Page::Verdict);
        QTRY_VERIFY(m_window->verdictPage()->sentence().contains("DDP on 2 devices"));
        QVERIFY2(m_window->verdictPage()->sentence().contains("2 repeats each: an interval takes 3"),
                 qPrintable(m_window->verdictPage()->sentence()));
        bool publishedBar = false;
        for (const BarData &bar : m_window->verdictPage()->speedUps()->bars())
            publishedBar = publishedBar || bar.outlined;
        QVERIFY(publishedBar);
        QVERIFY(m_window->verdictPage()->table()->model()->rowCount() >= 6);
    }

    void runsAreFilteredAndReopened() {
        m_window->showPage(Page::Runs);
        RunsPage *page = m_window->runsPage();
        QTRY_COMPARE(page->list().rowCount(), 6);
        QTest::keyClick(m_window.get(), Qt::Key_F, Qt::ControlModifier);
        QTRY_COMPARE(QApplication::focusWidget(), page->filterLine());
        QTest::keyClicks(page->filterLine(), "backend=auto state=done");
        QCOMPARE(page->list().rowCount(), 2);
        page->table()->setFocus();
        page->table()->setCurrentIndex(page->list().index(0, 0));
        QTest::keyClick(page->table(), Qt::Key_Return);
        QTRY_COMPARE(m_window->page(), Page::Verdict);
        QCOMPARE(m_workspace->openId(), QString::fromStdString(m_id));
    }

    void aRunCanBeOpenedWithoutItsExperiment() {
        m_window->showPage(Page::Runs);
        RunsPage *page = m_window->runsPage();
        QTRY_VERIFY(page->list().rowCount() > 0);
        page->table()->setCurrentIndex(page->list().index(0, 0));
        QTest::keyClick(m_window.get(), Qt::Key_O, Qt::ControlModifier | Qt::ShiftModifier);
        QTRY_VERIFY(isRunId(m_workspace->openId().toStdString()));
        QCOMPARE(m_workspace->runs().count(), 1);
    }

    void theConsoleShowsEveryRankAndFilters() {
        openOnLive(m_id);
        QTest::keyClick(m_window.get(), Qt::Key_J, Qt::ControlModifier);
        QTRY_VERIFY(m_window->drawer()->isUnfolded());
        ConsoleFilter *filter = m_window->drawer()->filter();
        const int all = filter->rowCount();
        QVERIFY(all >= 8);
        filter->setText("rank 1 trains");
        QCOMPARE(filter->rowCount(), 2);
        filter->setText({});
        filter->setLeastLevel(3);
        QCOMPARE(filter->rowCount(), 0);
        filter->setLeastLevel(0);
        QCOMPARE(filter->rowCount(), all);
    }

    void pagesAreReachedByKeyboard() {
        for (const auto &[keyOf, page] : {std::pair(Qt::Key_2, Page::Live),
                                          {Qt::Key_3, Page::Verdict},
                                          {Qt::Key_4, Page::Runs},
                                          {Qt::Key_5, Page::Nodes},
                                          {Qt::Key_6, Page::Lab},
                                          {Qt::Key_1, Page::Plan}}) {
            QTest::keyClick(m_window.get(), keyOf, Qt::ControlModifier);
            QTRY_COMPARE(m_window->page(), page);
        }
    }

    void thePaletteDoesWhatIsTyped() {
        openOnLive(m_id);
        m_window->showPage(Page::Live);
        QTest::keyClick(m_window.get(), Qt::Key_K, Qt::ControlModifier);
        CommandPalette *palette = nullptr;
        QTRY_VERIFY((palette = m_window->findChild<CommandPalette *>()) != nullptr);
        QVERIFY(palette->list()->model()->rowCount() > 10);
        QTest::keyClicks(palette->field(), "runs");
        QCOMPARE(palette->list()->currentIndex().data().toString(), QStringLiteral("Runs"));
        QTest::keyClick(palette->field(), Qt::Key_Return);
        QTRY_COMPARE(m_window->page(), Page::Runs);
        QTRY_VERIFY(m_window->findChild<CommandPalette *>() == nullptr);
        m_window->activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(m_window.get()));
        QTest::keyClick(m_window.get(), Qt::Key_K, Qt::ControlModifier);
        QTRY_VERIFY((palette = m_window->findChild<CommandPalette *>()) != nullptr && palette->isVisible());
        palette->activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(palette));
        QTRY_VERIFY(palette->field()->hasFocus());
        QTest::keyClicks(palette->field(), "plan mnist");
        QTest::keyClick(palette->field(), Qt::Key_Return);
        QTRY_COMPARE(m_window->page(), Page::Plan);
        QCOMPARE(m_window->planPage()->draft().recipe().name, std::string("mnist-backends"));
    }

    void everyButtonOfTheWindowHasAShortcutAndAHint() {
        openOnLive(m_id);
        for (const QAbstractButton *button : m_window->findChildren<QAbstractButton *>()) {
            const bool ours = qobject_cast<const QPushButton *>(button) || button->objectName() == "railButton" ||
                              button->objectName() == "drawerHead";
            if (!ours || qobject_cast<const EmptyState *>(button->parent()))
                continue;
            QVERIFY2(!button->shortcut().isEmpty(), qPrintable(button->text()));
            QVERIFY2(!button->toolTip().isEmpty(), qPrintable(button->text()));
        }
    }

    void theSheetOfShortcutsIsByPageAndFitsASmallScreen() {
        openOnLive(m_id);
        for (const PageSpec &spec : pageTable)
            m_window->showPage(spec.page);
        m_window->resize(1280, 800);
        QTest::keyClick(m_window.get(), Qt::Key_F1);
        ShortcutSheet *sheet = nullptr;
        QTRY_VERIFY((sheet = m_window->findChild<ShortcutSheet *>()) && sheet->isVisible());
        uitest::picture(*sheet, m_theme, "shortcuts");
        QVERIFY2(sheet->height() <= 760 && sheet->width() <= 1260,
                 qPrintable(QStringLiteral("%1 x %2").arg(sheet->width()).arg(sheet->height())));
        const auto place = [&](const QString &text) {
            QLabel *label = labelWith(sheet, text);
            return label ? label->mapTo(sheet, QPoint()) : QPoint(-1, -1);
        };
        for (const char *head : {"Everywhere", "Go to a page", "Plan", "Live", "Verdict", "Runs", "Nodes", "Lab"})
            QVERIFY2(place(QString::fromLatin1(head)).y() >= 0, head);
        for (const char *title : {"Run what a finding suggests", "Run a missing control"})
            QVERIFY2(place(QString::fromLatin1(title)).y() >= 0, title);
        const QPoint pages = place(QStringLiteral("Go to a page"));
        for (const char *title : {"All commands", "Copy image"}) { // works on every page, or on those with charts
            const QPoint everywhere = place(QString::fromLatin1(title));
            QVERIFY2(everywhere.y() >= 0 && (everywhere.y() < pages.y() || everywhere.x() < pages.x()), title);
        }
        const QStringList tooShort = {"Good", "All", "None", "Copy", "Connect"};
        for (QLabel *label : sheet->findChildren<QLabel *>()) {
            QVERIFY2(!label->text().contains(QStringLiteral(" · ")), qPrintable(label->text()));
            QVERIFY2(!tooShort.contains(label->text()), qPrintable(label->text()));
        }
    }

    void whyAStartFailedStandsAboveStartUntilSomethingIsChanged() {
        if (!QFile::exists(QStringLiteral(LOCKSTEP_BIN "/lockstepctl")))
            QSKIP("lockstepctl is not built");
        PlanPage *plan = m_window->planPage();
        QCOMPARE(plan->mistakes(), QString());
        Q_EMIT plan->startRequested({}); // of no runs: lockstepctl refuses it
        QTRY_VERIFY(!plan->mistakes().isEmpty());
        QVERIFY(!labelWith(m_window->strip(), plan->mistakes())); // once is enough
        plan->quickBox()->click();
        QCOMPARE(plan->mistakes(), QString());
    }

    void anUnknownIdIsReportedInOneSentence() {
        const auto opened = m_workspace->open("20990101T000000Z-00000000");
        QVERIFY(!opened);
        QVERIFY2(opened.error().message().find("20990101T000000Z-00000000") != std::string::npos,
                 opened.error().message().c_str());
    }

    void theStripAlwaysShowsWhatRuns() {
        QVERIFY(labelWith(m_window->strip(), "Nothing is running"));
        QVERIFY(!m_window->strip()->stopButton()->isVisible());
    }

    void exportWritesTablesAndChartsAndRefusesAnUnwritableFolder() {
        openOnLive(m_id);
        QTemporaryDir folder;
        m_window->livePage()->drawNow();
        const auto written = exportAll(*m_workspace, m_window->charts(), folder.filePath("out"));
        QVERIFY2(written, written ? "" : written.error().message().c_str());
        for (const char *name : {"results.csv", "results.json", "results.md", "curves.csv", "curves.json", "loss.png",
                                 "loss.svg", "devices.png", "phases.svg", "duration-per-epoch.svg", "speed-up.png"})
            QVERIFY2(QFile(folder.filePath(QString("out/") + name)).size() > 0, name);
        const auto refused = exportAll(*m_workspace, m_window->charts(), "/proc/nowhere");
        QVERIFY(!refused);
        QVERIFY(refused.error().message().find("/proc/nowhere") != std::string::npos);
    }

    void badArgumentsAreOneSentence_data() {
        QTest::addColumn<QStringList>("arguments");
        QTest::addColumn<QString>("says");
        QTest::newRow("page") << QStringList{"lockstep", "--page", "cellar"} << "cellar";
        QTest::newRow("size") << QStringList{"lockstep", "--size", "big"} << "WIDTHxHEIGHT";
        QTest::newRow("format") << QStringList{"lockstep", "--export", "x", "--experiment", "y", "--format", "bmp"}
                                << "svg";
        QTest::newRow("export of nothing") << QStringList{"lockstep", "--export", "x"} << "--experiment";
        QTest::newRow("unknown") << QStringList{"lockstep", "--nonsense"}
                                 << "Unknown option 'nonsense'; `lockstep --help`";
        QTest::newRow("stray") << QStringList{"lockstep", "stray"} << "stray";
        QTest::newRow("both colours") << QStringList{"lockstep", "--dark", "--light"} << "exclude";
    }
    void badArgumentsAreOneSentence() {
        QFETCH(QStringList, arguments);
        QFETCH(QString, says);
        const auto parsed = parseAppOptions(arguments);
        QVERIFY(!parsed);
        QVERIFY(parsed.error().kind == ErrorKind::BadArgument);
        QVERIFY2(QString::fromStdString(parsed.error().message()).contains(says), parsed.error().message().c_str());
    }

    void theProgramDrawsEveryPageWithoutAScreen() {
        const QString program = QStringLiteral(LOCKSTEP_BIN "/lockstep");
        if (!QFile::exists(program))
            QSKIP("lockstep is not built");
        QTemporaryDir folder;
        for (const char *page : {"plan", "live", "verdict", "runs"}) {
            QProcess process;
            process.setProcessChannelMode(QProcess::ForwardedErrorChannel);
            const QString file = folder.filePath(QString(page) + ".png");
            process.start(program, {"--screenshot", file, "--page", page, "--size", "1280x800", "--dark",
                                    "--experiment", QString::fromStdString(m_id)});
            QVERIFY(process.waitForFinished(test::hangLimitMs));
            QCOMPARE(process.exitCode(), 0);
            QCOMPARE(QImage(file).size(), QSize(1280, 800));
        }
    }

    void everyPageIsTheSamePictureFrom100To200Percent() {
        const QString program = QStringLiteral(LOCKSTEP_BIN "/lockstep");
        if (!QFile::exists(program))
            QSKIP("lockstep is not built");
        QTemporaryDir folder;
        const auto drawn = [&](const char *page, const char *scale) {
            QProcess process;
            QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
            environment.insert("QT_SCALE_FACTOR", scale);
            process.setProcessEnvironment(environment);
            const QString file = folder.filePath(QString(page) + scale + ".png");
            process.start(program, {"--screenshot", file, "--page", page, "--size", "1280x800", "--light",
                                    "--experiment", QString::fromStdString(m_id)});
            return process.waitForFinished(test::hangLimitMs) && process.exitCode() == 0 ? QImage(file) : QImage();
        };
        for (const char *page : {"live", "verdict", "runs"}) {
            const QImage plain = drawn(page, "1").convertToFormat(QImage::Format_Grayscale8);
            QCOMPARE(plain.size(), QSize(1280, 800));
            for (const char *scale : {"1.5", "2"}) {
                const QImage scaled = drawn(page, scale);
                QCOMPARE(scaled.size(), plain.size() * QByteArray(scale).toDouble());
                const QImage same = scaled.convertToFormat(QImage::Format_Grayscale8)
                                        .scaled(plain.size(), Qt::IgnoreAspectRatio, Qt::SmoothTransformation);
                // Letters are cut anew at each scale; what stands elsewhere, or is missing, differs by whole blocks.
                qint64 far = 0;
                for (int y = 0; y < plain.height(); y += 8)
                    for (int x = 0; x < plain.width(); x += 8)
                        far += std::abs(mean(plain, x, y) - mean(same, x, y)) > 40;
                const QByteArray reported =
                    QByteArray(page) + " at " + scale + ": " + QByteArray::number(far) + " blocks";
                QVERIFY2(far < plain.width() / 8 * plain.height() / 8 / 100, reported.constData());
            }
        }
    }
};

QTEST_MAIN(PagesTest)
#include "pages_test.moc"

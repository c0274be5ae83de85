// SPDX-License-Identifier: MIT
// Live with a real mouse and real keys: zoom, pan, the crosshair through all pictures, hiding and pinning runs, the x axis,
// marks, and the console's search and its link with time.
#include <algorithm>

#include <QApplication>
#include <QCheckBox>
#include <QComboBox>
#include <QElapsedTimer>
#include <QLabel>
#include <QLineEdit>
#include <QScrollBar>
#include <QSlider>
#include <QTableView>

#include <cmath>

#include "app/ui/charts/anatomy_view.h"
#include "app/ui/charts/lane_view.h"
#include "app/ui/charts/line_chart.h"
#include "app/ui/charts/phase_bars.h"
#include "app/ui/charts/ticks.h"
#include "app/ui/pages/live/live_page.h"
#include "app/ui/pages/live/live_side.h"
#include "app/ui/shell/console_drawer.h"
#include "app/ui/shell/main_window.h"
#include "app/ui/shell/workspace.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/wrapped_label.h"
#include "base/format.h"
#include "ipc/unix_socket.h"
#include "models/console_model.h"
#include "models/live_figures.h"
#include "models/roles.h"
#include "tests/qt_test.h"
#include "window_fixture.h"

using namespace lockstep;
using namespace lockstep::ui;

class LiveTest : public QObject, uitest::WindowFixture {
    Q_OBJECT
    uitest::Home m_home;
    std::string m_id, m_other;

    [[nodiscard]] LineChart *loss() const { return live()->lossChart(); }
    [[nodiscard]] QPoint inPlot(const LineChart *chart, double x, double y) const {
        const QRectF area = chart->chart()->plotArea();
        return QPointF(area.left() + x * area.width(), area.top() + y * area.height()).toPoint();
    }
    void move(QWidget *widget, const QPoint &to, Qt::MouseButtons buttons = Qt::NoButton,
              Qt::KeyboardModifiers keys = Qt::NoModifier) {
        QMouseEvent event(QEvent::MouseMove, QPointF(to), QPointF(widget->mapToGlobal(to)), Qt::NoButton, buttons,
                          keys);
        QApplication::sendEvent(widget, &event);
    }
    void drag(LineChart *chart, const QPoint &from, const QPoint &to, Qt::MouseButton button = Qt::LeftButton,
              Qt::KeyboardModifiers keys = Qt::NoModifier) {
        QTest::mousePress(chart->viewport(), button, keys, from);
        move(chart->viewport(), (from + to) / 2, button, keys);
        move(chart->viewport(), to, button, keys);
        QTest::mouseRelease(chart->viewport(), button, keys, to);
    }
    static void wheel(LineChart *chart, const QPoint &at, int clicks, Qt::KeyboardModifiers keys = Qt::NoModifier) {
        uitest::turnWheel(chart->viewport(), at, clicks, keys);
    }
    QStringList shownRuns() {
        QStringList out;
        for (const LineData &line : loss()->lines())
            if (!line.faint && line.style != Qt::DotLine)
                out.append(line.key);
        return out;
    }

private Q_SLOTS:
    void initTestCase() {
        m_other = uitest::writeExperimentOnDisk({.epochs = 2, .repeats = 1, .firstRun = 40});
        m_id = uitest::writeExperimentOnDisk({.epochs = 3, .repeats = 2, .marks = true});
        QVERIFY(!m_id.empty() && !m_other.empty());
    }
    void init() {
        openWindow({1600, 1000});
        openAndDraw(m_id);
        live()->side()->publishedBox()->setChecked(false); // its ten epochs would widen every axis
        QTRY_VERIFY(loss()->scale().xTo() < 4);
        QTest::qWait(30);
    }
    void cleanup() { closeWindow(); }

    void whatWatchingTakesIsReportedWhileARunGoesOnAndNoLongerThan() {
        QVERIFY(!live()->watchingLabel()->isVisible()); // all of these runs are over
        core::PlannedRun planned;
        planned.name = "DDP on 2 devices";
        planned.config.method = Method::Ddp;
        planned.config.devices = {"0", "1"};
        uitest::RunWriter writer(planned, {}, 90, 1'767'000'000'000'000, {});
        writer.record.freeCores = 0;
        QVERIFY(realFileSystem().writeAtomically(writer.folder.config(), toJson(writer.record)));
        std::optional<FileLock> lock; // as its agent holds it
        if (auto held = FileLock::acquire(writer.folder.lock(0)))
            lock.emplace(std::move(*held));
        QVERIFY(lock.has_value());
        writer.begin();
        writer.epoch(1);
        writer.watched(0.04);
        writer.watched(0.06);
        QVERIFY(m_workspace->openRun(QString::fromStdString(writer.run)).has_value());
        QTRY_COMPARE(live()->watchingLabel()->text(), QStringLiteral("Watching takes 0.050 cores"));
        QVERIFY(live()->watchingLabel()->toolTip().startsWith(QStringLiteral(
            "no core is free of ranks, so training is slower by at most about 5.0 % meanwhile (inferred)")));
        QVERIFY(live()->watchingLabel()->isVisible());
        writer.end();
        lock.reset();
        QTRY_VERIFY(m_workspace->complete());
        QTRY_VERIFY(!live()->watchingLabel()->isVisible());
    }

    void theWheelZoomsAroundThePointerAndADoubleClickShowsAll() {
        const double from = loss()->scale().xFrom(), to = loss()->scale().xTo();
        const QPoint at = inPlot(loss(), 0.25, 0.5);
        const double under = loss()->xAt(at.x());
        wheel(loss(), at, 3);
        QVERIFY(loss()->scale().isZoomed());
        QVERIFY(loss()->scale().xTo() - loss()->scale().xFrom() < 0.6 * (to - from));
        QVERIFY2(std::abs(loss()->xAt(at.x()) - under) < 0.01 * (to - from), "the place under the pointer stays");
        wheel(loss(), at, -20);
        QVERIFY2(!loss()->scale().isZoomed(), "zooming out ends at everything");
        wheel(loss(), at, 3);
        QTest::mouseDClick(loss()->viewport(), Qt::LeftButton, {}, at);
        QCOMPARE(loss()->scale().xFrom(), from);
        QCOMPARE(loss()->scale().xTo(), to);
        wheel(loss(), at, 2, Qt::ControlModifier);
        QVERIFY2(loss()->scale().isZoomed() && loss()->scale().xTo() == to, "Ctrl and wheel zoom y alone");
    }

    void aBandZoomsToWhatItCoversAndAFlatOneInXAlone() {
        const double from = loss()->xAt(inPlot(loss(), 0.2, 0).x()), to = loss()->xAt(inPlot(loss(), 0.6, 0).x());
        drag(loss(), inPlot(loss(), 0.2, 0.5), inPlot(loss(), 0.6, 0.5));
        QVERIFY(std::abs(loss()->scale().xFrom() - from) < 0.02 && std::abs(loss()->scale().xTo() - to) < 0.02);
        loss()->showAll();
        QTest::qWait(20);
        const double high = loss()->scale().yTo(), low = loss()->scale().yFrom();
        drag(loss(), inPlot(loss(), 0.2, 0.25), inPlot(loss(), 0.6, 0.75));
        QVERIFY(std::abs(loss()->scale().yTo() - (high - 0.25 * (high - low))) < 0.02 * (high - low));
        QVERIFY(std::abs(loss()->scale().yFrom() - (high - 0.75 * (high - low))) < 0.02 * (high - low));
    }

    void shiftAndTheMiddleButtonPan() {
        loss()->zoomX(1, 2);
        QTest::qWait(20);
        const double width = loss()->chart()->plotArea().width();
        drag(loss(), inPlot(loss(), 0.6, 0.5), inPlot(loss(), 0.3, 0.5), Qt::LeftButton, Qt::ShiftModifier);
        QVERIFY2(std::abs(loss()->scale().xFrom() - 1.3) < 2 / width + 0.01,
                 qPrintable(QString::number(loss()->scale().xFrom())));
        QVERIFY(std::abs(loss()->scale().xTo() - loss()->scale().xFrom() - 1) < 1e-9);
        drag(loss(), inPlot(loss(), 0.3, 0.5), inPlot(loss(), 0.6, 0.5), Qt::MiddleButton);
        QVERIFY(std::abs(loss()->scale().xFrom() - 1) < 4 / width + 0.01);
    }

    void keysDoWhatTheMouseDoes() {
        loss()->setFocus();
        const double to = loss()->scale().xTo();
        QTest::keyClick(loss(), Qt::Key_Right);
        QVERIFY(loss()->crosshair());
        const double first = *loss()->crosshair();
        QTest::keyClick(loss(), Qt::Key_Right, Qt::ControlModifier);
        QVERIFY(*loss()->crosshair() > first);
        QVERIFY2(live()->durationChart()->crosshair(), "the others follow");
        QTest::keyClick(loss(), Qt::Key_Plus);
        QVERIFY(loss()->scale().isZoomed());
        const double from = loss()->scale().xFrom();
        QTest::keyClick(loss(), Qt::Key_Right, Qt::ShiftModifier);
        QVERIFY(loss()->scale().xFrom() > from);
        QTest::keyClick(loss(), Qt::Key_Home);
        QCOMPARE(loss()->scale().xTo(), to);
        QTest::keyClick(loss(), Qt::Key_Plus, Qt::ControlModifier); // the menu's
        QVERIFY(loss()->scale().isZoomed());
        QTest::keyClick(loss(), Qt::Key_0, Qt::ControlModifier);
        QVERIFY(!loss()->scale().isZoomed());
        QTest::keyClick(loss(), Qt::Key_Escape);
        QVERIFY(!loss()->crosshair() && !live()->durationChart()->crosshair());
        QTest::keyClick(loss(), Qt::Key_L, Qt::ControlModifier);
        QVERIFY2(loss()->isLogAxis() && live()->side()->logBox()->isChecked(), "menu and box agree");
    }

    void oneCrosshairRunsThroughAllChartsAndEachRunIsReadAtItsOwnTime() {
        move(loss()->viewport(), inPlot(loss(), 0.5, 0.5));
        QVERIFY(loss()->crosshair());
        const double epoch = *loss()->crosshair();
        QCOMPARE(*live()->durationChart()->crosshair(), std::ceil(epoch));
        const QHash<QString, double> lanes = live()->lanes()->crosshair();
        QCOMPARE(lanes.size(), 3); // one a method: lanes show the newest repeat
        // DP took 1.7 and DDP 0.6 times as long as the baseline to come there.
        std::map<QString, double> byMethod;
        for (const core::RunStore *store : m_workspace->runs().stores())
            if (lanes.contains(store->runId()))
                byMethod[store->identity().method()] = lanes.value(store->runId());
        QVERIFY(byMethod["dp"] > 1.4 * byMethod["baseline"] && byMethod["ddp"] < 0.8 * byMethod["baseline"]);

        QWidget *view = live()->lanes();
        move(view, QPoint(view->width() / 2, 30));
        QVERIFY2(loss()->crosshair() && *loss()->crosshair() != epoch, "a lane moves it too");
        QEvent leave(QEvent::Leave);
        QApplication::sendEvent(view, &leave);
        QVERIFY(!loss()->crosshair() && live()->lanes()->crosshair().isEmpty());
        LineChart *durations = live()->durationChart();
        move(durations->viewport(), inPlot(durations, 0.5, 0.5));
        QVERIFY(loss()->crosshair() && std::abs(*loss()->crosshair() - 2) < 0.1);
    }

    void runsAreHiddenAndShownByTheirBoxes() {
        QTableView *table = live()->side()->runTable();
        QCOMPARE(table->model()->rowCount(), 6);
        QCOMPARE(shownRuns().size(), 6);
        const QString id = table->model()->index(1, 0).data(core::RunIdRole).toString();
        QTest::mouseClick(table->viewport(), Qt::LeftButton, {},
                          table->visualRect(table->model()->index(1, 0)).center());
        QTRY_COMPARE(shownRuns().size(), 5);
        QVERIFY(!shownRuns().contains(id));
        table->setFocus();
        table->setCurrentIndex(table->model()->index(1, 0));
        QTest::keyClick(table, Qt::Key_Space);
        QTRY_COMPARE(shownRuns().size(), 6);
        QTest::keyClick(table, Qt::Key_O); // this one alone
        QTRY_COMPARE(shownRuns(), QStringList(id));
        QTRY_COMPARE(live()->phaseBars()->bars().size(), 1);
        QTest::keyClick(m_window.get(), Qt::Key_N, Qt::AltModifier);
        QTRY_COMPARE(shownRuns().size(), 0);
        QTest::keyClick(m_window.get(), Qt::Key_A, Qt::AltModifier);
        QTRY_COMPARE(shownRuns().size(), 6);
    }

    void hidingTheNewestRepeatLetsTheOneBeforeSpeak() {
        QTRY_COMPARE(live()->lanes()->lanes().size(), 5);
        const auto laneRuns = [this] {
            QSet<QString> out;
            for (const Lane &lane : live()->lanes()->lanes())
                out.insert(lane.runId);
            return out;
        };
        const QString newest = live()->lanes()->lanes().constFirst().runId;
        m_workspace->pictured().choice().setShown(newest, false);
        QTRY_VERIFY(!laneRuns().contains(newest));
        QCOMPARE(live()->lanes()->lanes().size(), 5);
    }

    void aPinnedRunStaysWhenAnotherExperimentIsOpened() {
        QTableView *table = live()->side()->runTable();
        const QString id = table->model()->index(0, 0).data(core::RunIdRole).toString();
        QTest::mouseClick(table->viewport(), Qt::LeftButton, {},
                          table->visualRect(table->model()->index(0, core::RunChoiceModel::Pin)).center());
        QVERIFY(m_workspace->pictured().choice().isPinned(id));
        openAndDraw(m_other);
        QCOMPARE(m_workspace->runs().count(), 3);
        QTRY_COMPARE(table->model()->rowCount(), 4);
        QTRY_COMPARE(shownRuns().size(), 4);
        QVERIFY(shownRuns().contains(id));
        QTRY_VERIFY(std::any_of(loss()->lines().begin(), loss()->lines().end(), [&](const LineData &line) {
            return line.key == id && line.size() > 0 && line.name != "baseline"; // its name says which it is
        }));
        QCOMPARE(m_workspace->results().rows().rowCount(), 8); // the verdict is the open experiment's alone
        QTest::mouseClick(table->viewport(), Qt::LeftButton, {},
                          table->visualRect(table->model()->index(3, core::RunChoiceModel::Pin)).center());
        QTRY_COMPARE(shownRuns().size(), 3);
        openAndDraw(m_id); // the runs' own experiment again
        QTRY_COMPARE(table->model()->rowCount(), 6);
    }

    void theVerdictsLinkIsReadableAfterTheThemeHasChanged() {
        const auto labels = live()->findChildren<WrappedLabel *>();
        const auto verdict = std::find_if(labels.begin(), labels.end(), [](const WrappedLabel *label) {
            return label->text().contains(QStringLiteral("href='verdict'"));
        });
        QVERIFY(verdict != labels.end());
        for (const ThemeMode mode : {ThemeMode::Dark, ThemeMode::Light}) {
            m_theme.setMode(mode);
            QVERIFY((*verdict)->text().contains(m_theme.palette().text.name()));
        }
    }

    void everyXAxisShowsTheSameRunsOnItsOwnScale() {
        const core::RunStore *store = m_workspace->runs().at(0);
        const core::LossPoint last = store->losses().all().points().back();
        const std::pair<int, double> ends[] = {
            {0, last.epoch}, {1, double(last.step)}, {2, last.runS}, {3, double(last.wallUs) * 1e-6}};
        for (const auto &[axis, end] : ends) {
            live()->axisBox()->setCurrentIndex(axis);
            const auto endOf = [&] {
                for (const LineData &line : loss()->lines())
                    if (line.key == store->runId())
                        return line.at(line.size() - 1).x();
                return std::nan("");
            };
            QTRY_COMPARE(endOf(), end);
            QCOMPARE(shownRuns().size(), 6);
        }
        QVERIFY(loss()->chartData().startsWith("series\ttime of day\t"));
        const Ticks ticks = timeTicks(1'767'323'045, 1'767'323'345, 5);
        QVERIFY(ticks.at.size() >= 4 && ticks.labels.first().contains(':'));
    }

    void smoothingKeepsTheRawLineBehindAndTheCopyIsWhatWasMeasured() {
        const auto faint = [this] {
            return std::count_if(loss()->lines().begin(), loss()->lines().end(),
                                 [](const LineData &l) { return l.faint; });
        };
        QTRY_COMPARE(faint(), 3);
        const QString measured = loss()->chartData();
        live()->side()->smoothSlider()->setFocus();
        QTest::keyClick(live()->side()->smoothSlider(), Qt::Key_Home);
        QTRY_COMPARE(faint(), 0);
        const auto linesOf = [](const QString &data) { return data.count('\n'); };
        QCOMPARE(linesOf(loss()->chartData()), linesOf(measured));
        QStringList a = measured.split('\n'), b = loss()->chartData().split('\n');
        a.removeIf([](const QString &l) { return l.startsWith("publ."); });
        b.removeIf([](const QString &l) { return l.startsWith("publ."); });
        QCOMPARE(a, b);
    }

    void aLongCurveSaysHowManyOfItsPointsAreShown() {
        LineChart chart(m_theme, "long");
        chart.resize(600, 300);
        auto curve = std::make_shared<core::Curve>();
        for (int i = 0; i < 100'000; ++i)
            curve->append(i, std::sin(i * 0.01));
        LineData line;
        line.key = line.name = "a";
        line.curve = curve;
        chart.setLines({line});
        const qsizetype shown = chart.drawnPoints();
        QVERIFY(shown > 100 && shown < 2'000);
        QCOMPARE(chart.drawn().shownText(), QString("showing %1 of 100,000 points").arg(QLocale::c().toString(shown)));
        chart.zoomX(1'000, 1'100);
        QCOMPARE(chart.drawn().shownText(), QString()); // all 101 of them
        QCOMPARE(chart.drawnPoints(), 101);
        line.windowsAPoint = 4;
        chart.setLines({line});
        QVERIFY(chart.drawn().shownText().contains("mean of up to 4 windows"));
        curve->append(100'000, 7);
        chart.showAll();
        chart.setLines({line});
        QCOMPARE(chart.drawn().pointsOf("a").last(), QPointF(100'000, 7));
    }

    void whatHappenedIsMarkedOnTheLanesTooAndLeadsToTheConsole() {
        LaneView *lanes = live()->lanes();
        using Kind = ChartMark::Kind;
        const auto count = [&](Kind kind) {
            return std::count_if(lanes->marks().begin(), lanes->marks().end(),
                                 [&](const ChartMark &mark) { return mark.kind == kind; });
        };
        QTRY_COMPARE(count(Kind::EpochEnd), 9); // three runs, three epochs
        QCOMPARE(count(Kind::Checkpoint), 9);
        QCOMPARE(count(Kind::Restart), 3);
        QCOMPARE(count(Kind::Alert), 3);
        for (const ChartMark &mark : lanes->marks())
            if (mark.kind == Kind::EpochEnd) { // on the lanes' own time: after the run's first sample
                QVERIFY(mark.x > 0);
                QVERIFY(mark.text.contains("end of epoch"));
            }
        const auto alert = std::find_if(lanes->marks().begin(), lanes->marks().end(),
                                        [](const ChartMark &mark) { return mark.kind == Kind::Alert; });
        const auto foot = lanes->signOf(*alert);
        QVERIFY(foot);
        const QImage picture = lanes->grab().toImage();
        const QPoint at = (*foot - QPointF(0, 3)).toPoint() * picture.devicePixelRatio();
        QCOMPARE(picture.pixelColor(at), m_theme.palette().text); // the sign is painted there
        QVERIFY(!m_window->drawer()->isUnfolded());
        QTest::mouseClick(lanes, Qt::LeftButton, {}, (*foot - QPointF(0, 3)).toPoint());
        QTRY_VERIFY(m_window->drawer()->isUnfolded());
        QTRY_COMPARE(m_window->drawer()->table()->currentIndex().data(core::RunIdRole).toString(), alert->runId);
    }

    void checkpointsRestartsAndAlertsStandOnTheAxisAndLeadToTheConsole() {
        QTRY_VERIFY(!loss()->marks().isEmpty());
        const auto find = [this](ChartMark::Kind kind) {
            const auto &marks = loss()->marks();
            const auto found =
                std::find_if(marks.begin(), marks.end(), [&](const ChartMark &m) { return m.kind == kind; });
            return found == marks.end() ? ChartMark() : *found;
        };
        QVERIFY(find(ChartMark::Kind::Checkpoint).text.contains("checkpoint after epoch 1"));
        QVERIFY(find(ChartMark::Kind::Restart).text.contains("started again"));
        const ChartMark alert = find(ChartMark::Kind::Alert);
        QVERIFY(alert.text.contains("is slower"));
        QVERIFY(!m_window->drawer()->isUnfolded());
        const QPointF foot(loss()->scale().placeOf({alert.x, 1}, loss()->chart()->plotArea()).x(),
                           loss()->chart()->plotArea().bottom() - 4);
        QTest::mouseClick(loss()->viewport(), Qt::LeftButton, {}, foot.toPoint());
        QTRY_VERIFY(m_window->drawer()->isUnfolded());
        QTRY_VERIFY(m_window->drawer()->table()->currentIndex().isValid());
        const QModelIndex at = m_window->drawer()->table()->currentIndex();
        const qint64 wall = at.siblingAtColumn(0).data(core::ValueRole).toLongLong();
        bool marked = false; // a line of a run that has an alert, and none of that run is nearer to it
        for (const ChartMark &mark : loss()->marks())
            for (const core::RunStore *store : m_workspace->runs().stores())
                if (mark.kind != ChartMark::Kind::Checkpoint && mark.runId == store->runId() &&
                    mark.runId == at.data(core::RunIdRole).toString())
                    marked = marked ||
                             std::none_of(store->messages().console().begin(), store->messages().console().end(),
                                          [&](auto &line) {
                                              return std::abs(line.wallUs - mark.wallUs) < std::abs(wall - mark.wallUs);
                                          });
        QVERIFY(marked);
    }

    void theConsoleAndTheChartsAreLinkedByTime() {
        ConsoleDrawer *drawer = m_window->drawer();
        QTest::keyClick(m_window.get(), Qt::Key_J, Qt::ControlModifier);
        QTRY_VERIFY(drawer->isUnfolded());
        QTest::qWait(60);
        QTest::mouseClick(loss()->viewport(), Qt::LeftButton, {}, inPlot(loss(), 0.5, 0.5));
        const QModelIndex at = drawer->table()->currentIndex();
        QVERIFY2(at.isValid(), "a click in a chart goes to the line of that time");
        const QString runId = at.data(core::RunIdRole).toString();
        const qint64 wall = at.siblingAtColumn(0).data(core::ValueRole).toLongLong();
        // No other line of that run is nearer to the time that was clicked.
        const double x = loss()->xAt(inPlot(loss(), 0.5, 0.5).x());
        for (int run = 0; run < m_workspace->runs().count(); ++run)
            if (m_workspace->runs().at(run)->runId() == runId) {
                const auto clicked = *m_workspace->curves().wallUsAt(run, core::RunCurves::XAxis::Epoch, x);
                for (const core::ConsoleLine &line : m_workspace->runs().at(run)->messages().console())
                    QVERIFY(std::abs(line.wallUs - clicked) >= std::abs(wall - clicked));
            }
        loss()->setCrosshair({});
        QTest::mouseClick(drawer->table()->viewport(), Qt::LeftButton, {}, drawer->table()->visualRect(at).center());
        QVERIFY2(loss()->crosshair() && !live()->lanes()->crosshair().isEmpty(),
                 "a click on a line moves the crosshair");
        QTest::keyClick(drawer->table(), Qt::Key_Escape); // the keyboard is still in the console
        QTRY_VERIFY(!loss()->crosshair() && live()->lanes()->crosshair().isEmpty());
    }

    void theSearchGoesFromHitToHitAndHidesNothing() {
        ConsoleDrawer *drawer = m_window->drawer();
        QTest::keyClick(m_window.get(), Qt::Key_F, Qt::ControlModifier | Qt::ShiftModifier);
        QTRY_VERIFY(drawer->isUnfolded());
        QTRY_COMPARE(QApplication::focusWidget(), drawer->searchLine());
        const int rows = drawer->filter()->rowCount();
        QTest::keyClicks(drawer->searchLine(), "rank 1 trains");
        QCOMPARE(drawer->filter()->rowCount(), rows);
        QCOMPARE(drawer->searchNote()->text(), QString("1 of 2"));
        const int first = drawer->table()->currentIndex().row();
        QTest::keyClick(m_window.get(), Qt::Key_F3);
        QTRY_COMPARE(drawer->searchNote()->text(), QString("2 of 2"));
        const int second = drawer->table()->currentIndex().row();
        QVERIFY(second > first);
        QTest::keyClick(m_window.get(), Qt::Key_F3);
        QTRY_COMPARE(drawer->table()->currentIndex().row(), first); // around the end
        QTest::keyClick(m_window.get(), Qt::Key_F3, Qt::ShiftModifier);
        QTRY_COMPARE(drawer->table()->currentIndex().row(), second);
        int other = 0; // a line without the words
        while (other == first || other == second)
            ++other;
        drawer->table()->setCurrentIndex(drawer->filter()->index(other, 0));
        QTRY_COMPARE(drawer->searchNote()->text(), QString("2 matches"));
        drawer->searchLine()->setText("no such words");
        QCOMPARE(drawer->searchNote()->text(), QString("no match"));
    }

    void theConsoleFollowsItsEndUntilItIsScrolled() {
        core::RunStore store(QStringLiteral("20990101T000000Z-00000001"));
        m_workspace->runs().add(&store);
        ConsoleDrawer *drawer = m_window->drawer();
        const auto write = [&](int lines) {
            for (int i = 0; i < lines; ++i) {
                Frame frame;
                frame.wallUs = 4'000'000'000'000'000 + i;
                frame.rank = 0;
                frame.body = LogFrame{"info", "line " + std::to_string(i), "console"};
                store.take(frame);
            }
            store.flush();
            QTest::qWait(30);
        };
        drawer->setUnfolded(true);
        write(100);
        QScrollBar *bar = drawer->table()->verticalScrollBar();
        QTRY_COMPARE(bar->value(), bar->maximum());
        write(50);
        QTRY_COMPARE(bar->value(), bar->maximum());
        bar->setValue(10);
        write(50);
        QCOMPARE(bar->value(), 10);
        bar->setValue(bar->maximum());
        write(50);
        QTRY_COMPARE(bar->value(), bar->maximum());
        m_workspace->runs().remove(&store);
    }

    void lanesShowWhatIsChosenAndSayWhyNothingIsKnown() {
        QTRY_VERIFY(!live()->lanes()->lanes().isEmpty());
        QVERIFY(live()->lanes()->lanes().constFirst().value.endsWith('%'));
        live()->metricBox()->setCurrentIndex(2);
        QTRY_VERIFY(live()->lanes()->metric() == core::DeviceMetric::Power);
        for (const Lane &lane : live()->lanes()->lanes()) {
            QVERIFY(lane.samples.isEmpty());
            QCOMPARE(lane.value, QString("-"));
            QVERIFY(lane.unknown.contains("CPU"));
        }
        QVERIFY(live()->lanes()->chartData().startsWith("run\tdevice\ttime_s\tpower_w"));
    }

    void theLanesMeansSayWhatTheyAreOf() {
        QTRY_VERIFY(!live()->lanes()->lanes().isEmpty());
        QTRY_COMPARE(live()->lanes()->meanHead(), QStringLiteral("mean, whole run"));
        const QComboBox *metric = live()->metricBox();
        const QList<QComboBox *> boxes = metric->parentWidget()->findChildren<QComboBox *>();
        QCOMPARE(boxes.size(), qsizetype(2));
        QComboBox *window = boxes[0] == metric ? boxes[1] : boxes[0];
        window->setCurrentIndex(1);
        QTRY_COMPARE(live()->lanes()->meanHead(), QStringLiteral("mean, last 60 s"));
        window->setCurrentIndex(0);
    }

    void aLanesTooltipSaysWhatItsValueIsAndNothingElse() {
        QTRY_VERIFY(!live()->lanes()->lanes().isEmpty());
        for (const Lane &lane : live()->lanes()->lanes())
            QCOMPARE(lane.hint, QStringLiteral("<b>%1 %2</b><br>mean over the samples shown: %3; idle %4 of the time")
                                    .arg(lane.run, lane.device, lane.value, lane.idle));
    }

    void aDeviceThatLooksLikeMarkupIsShownAsItIsAndARankOfAHighNumberIsOneEntry() {
        core::RunStore store(QStringLiteral("20990101T000000Z-00000002"));
        m_workspace->runs().add(&store);
        Frame frame;
        frame.node = 0;
        frame.wallUs = 4'000'000'000'000'000;
        DeviceFrame body;
        body.devices.emplace_back();
        body.devices.back().device = "<img src=\"/pipe\">";
        body.processes.emplace_back();
        body.processes.back().rank = 1'000'000;
        frame.body = body;
        store.take(frame);
        frame.rank = 1'000'000;
        frame.rseq = 0;
        StateFrame state; // for which the list of ranks is made anew
        state.state = RunState::Training;
        frame.body = state;
        store.take(frame);
        store.flush();
        const auto hostile = [&] {
            for (const Lane &lane : live()->lanes()->lanes())
                if (lane.device.contains(QStringLiteral("img")))
                    return lane.hint;
            return QString();
        };
        QTRY_VERIFY(!hostile().isEmpty());
        QVERIFY2(hostile().contains("&lt;img src=") && !hostile().contains("<img"), qPrintable(hostile()));
        const auto boxes = m_window->drawer()->findChildren<QComboBox *>();
        const auto ranks = std::ranges::find(boxes, QStringLiteral("Rank"), &QComboBox::accessibleName);
        QVERIFY(ranks != boxes.end());
        QTRY_VERIFY((*ranks)->findText("Rank 1000000") > 0);
        QVERIFY2((*ranks)->count() < 20, qPrintable(QString::number((*ranks)->count())));
        m_workspace->runs().remove(&store);
    }

    void aLinesEndIsLabelledWithItsLastEpochsMeanOrWhileItsRunGoesOnWithItsLastPoint() {
        for (const LineData &line : loss()->lines()) {
            if (!line.labelled || line.faint)
                continue;
            const auto &stores = m_workspace->runs().stores();
            const auto own = std::ranges::find(stores, line.runId, &core::RunStore::runId);
            QVERIFY(own != stores.end());
            const QString ofEpoch = core::lossAtEnd(**own);
            QCOMPARE(ofEpoch.isEmpty(), !(*own)->over());
            QCOMPARE(line.textAtEnd(), ofEpoch.isEmpty() ? core::threeDigits(line.curve->last().y()) : ofEpoch);
        }
    }

    void theKeyOfThePhasesNamesWhatTheBarsShow() {
        const QString tip = live()->phaseBars()->parentWidget()->toolTip();
        QVERIFY2(tip.contains(u"pale: loading, solid: compute, hatched: communication"), qPrintable(tip));
    }

    void dataParallelsAnatomyIsDrawnWhenSuchARunIsShown() {
        QTRY_VERIFY(!live()->anatomy()->runs().isEmpty());
        QVERIFY(live()->anatomy()->isVisibleTo(live()));
        const QString data = live()->anatomy()->chartData();
        QVERIFY2(data.contains("cpu:0\tscatter\t0.00") && !data.contains("cpu:1\tscatter"), qPrintable(data));
        QVERIFY2(data.contains("cpu:1\tparallel_forward\tat most"), qPrintable(data));
        for (const core::RunStore *store : m_workspace->runs().stores())
            if (store->identity().method() == "dp")
                m_workspace->pictured().choice().setShown(store->runId(), false);
        QTRY_VERIFY(!live()->anatomy()->isVisibleTo(live()));
    }
};

QTEST_MAIN(LiveTest)
#include "live_test.moc"

// SPDX-License-Identifier: MIT
#include <QAbstractBarSeries>
#include <QApplication>
#include <QBarSet>
#include <QCategoryAxis>
#include <QClipboard>
#include <QMimeData>
#include <QPainter>
#include <QPicture>
#include <QSvgRenderer>
#include <QTemporaryDir>

#include <cmath>
#include <memory>

#include "app/ui/charts/anatomy_view.h"
#include "app/ui/charts/bar_chart.h"
#include "app/ui/charts/bar_rows.h"
#include "app/ui/charts/chart_export.h"
#include "app/ui/charts/end_labels.h"
#include "app/ui/charts/lane_view.h"
#include "app/ui/charts/leader_labels.h"
#include "app/ui/charts/line_chart.h"
#include "app/ui/charts/line_painter.h"
#include "app/ui/charts/line_readout.h"
#include "app/ui/charts/phase_bars.h"
#include "app/ui/charts/phase_style.h"
#include "app/ui/charts/row_names.h"
#include "app/ui/charts/ticks.h"
#include "app/ui/charts/waterfall.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/clipboard_table.h"
#include "export/report.h"
#include "ipc/frames.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::ui;

namespace {

LineData line(const QString &key, const QList<QPointF> &points) {
    LineData out;
    out.key = key;
    out.name = key;
    out.color = methodColor("ddp");
    out.points = points;
    return out;
}

} // namespace

class ChartsTest : public QObject {
    Q_OBJECT
    Theme m_theme{ThemeMode::Light};

private Q_SLOTS:
    void aNameThatLooksLikeAPlaceChangesNoNumber() {
        PhaseBars phases(m_theme, "phases");
        Waterfall waterfall(m_theme, "waterfall");
        LaneView lanes(m_theme, "devices");
        phases.setBars({{QStringLiteral("%3"), Qt::blue, {{"forward", 0.004}}, {}}});
        waterfall.setBars({{.name = QStringLiteral("%2"), .seconds = 1.5, .total = false}});
        lanes.setLanes({{.run = "%3", .runId = "a", .device = "%4", .color = Qt::blue, .samples = {{0, 0.5}}}}, 0, 5,
                       "s");
        QVERIFY2(phases.chartData().endsWith("\n%3\tforward\t0.004\tfalse\n"), qPrintable(phases.chartData()));
        QVERIFY2(waterfall.chartData().contains("\n%2\t1.5\t"), qPrintable(waterfall.chartData()));
        QVERIFY2(lanes.chartData().endsWith("\n%3\t%4\t0.000\t0.5000\n"), qPrintable(lanes.chartData()));
    }

    void whatIsInsideAPhaseIsDrawnOnlyWhereItIsNoSliver() {
        PhaseBars phases(m_theme, "phases");
        const auto picture = [&](const QList<PhasePart> &nested) {
            phases.setBars({{"rank 0", Qt::blue, {{"forward", 0.06}, {"exposed", 0.04}}, nested}});
            phases.resize(600, phases.sizeHint().height());
            return phases.grab().toImage();
        };
        const QImage without = picture({});
        QVERIFY(picture({{"wait", 0.0004}}) == without);
        QVERIFY(picture({{"wait", 0.03}}) != without);
        QVERIFY(picture({{"wait", 0.03}}) != picture({{"gather", 0.03}}));
    }

    void aPaintedPictureAtItsLeastHeightHasItsWholeAxis() {
        PhaseBars phases(m_theme, "phases");
        Waterfall waterfall(m_theme, "waterfall");
        AnatomyView anatomy(m_theme, "anatomy");
        LaneView lanes(m_theme, "devices");
        QList<PhaseBar> bars;
        QList<WaterfallBar> steps;
        QList<Lane> devices;
        for (int row = 0; row < 9; ++row) {
            bars.append({QStringLiteral("rank %1").arg(row), Qt::blue, {{"forward", 0.004}, {"exposed", 0.002}}, {}});
            steps.append({.name = QStringLiteral("cause %1").arg(row), .seconds = 1.5, .total = row == 0});
            devices.append({.run = "DDP on 9 devices",
                            .runId = "a",
                            .device = QStringLiteral("cpu:%1").arg(row),
                            .color = Qt::blue,
                            .samples = {{0, 0.5}, {5, 0.6}}});
        }
        phases.setBars(bars);
        waterfall.setBars(steps);
        lanes.setLanes(devices, 0, 5, "time / s");
        core::DpAnatomy dp;
        dp.stages = {{"forward", 0.004, true}};
        dp.stepS = 0.004;
        dp.devices.resize(9);
        anatomy.setRuns({{"DP on 9 devices", Qt::red, dp}});
        for (PaintedChart *chart : std::initializer_list<PaintedChart *>{&phases, &waterfall, &anatomy, &lanes}) {
            const auto axisAt = [chart](int height) {
                chart->resize(480, height);
                const QImage all = chart->grab().toImage();
                return all.copy(0, height - int(BarRows::axisHeight) + 1, 480, int(BarRows::axisHeight) - 1);
            };
            const int least = chart->minimumSizeHint().height();
            QVERIFY2(axisAt(least) == axisAt(least + 9 * 7), qPrintable(chart->chartName()));
            QVERIFY2(axisAt(least) != axisAt(least - 9), qPrintable(chart->chartName() + ": less would cut it off"));
        }
    }

    void theKeyOfPhasesHasARowOfItsOwnWhereTheAxisTitleLeavesItNoRoom() {
        const QString title = QStringLiteral("time / ms");
        const double axis = BarRows::axisHeight, key = phaseKeyWidth();
        const int narrow = int(std::ceil(key)) + 4;
        QCOMPARE(phaseFootHeight({2 * key, 400}, 54, title), axis); // beside the title
        const double below = phaseFootHeight({double(narrow), 400}, 54, title);
        QVERIFY(below > axis);
        QCOMPARE(phaseFootHeight({double(narrow), 54 + below - 1}, 54, title), axis); // the rows come first
        QCOMPARE(phaseFootHeight({key - 1, 400}, 54, title), axis);                   // not even there
        PhaseBars phases(m_theme, "phases");
        phases.setBars({{"rank 0", Qt::blue, {{"forward", 0.06}}, {}}});
        phases.resize(narrow, 120);
        const QImage keyLine = phases.grab().toImage().copy(0, 120 - int(below - axis), narrow, int(below - axis));
        QImage blank = keyLine;
        blank.fill(keyLine.pixelColor(0, 0));
        QVERIFY(keyLine != blank);
    }

    void theHeadOfTheLanesFiguresIsReadFromItsBeginning() {
        LaneView lanes(m_theme, "devices");
        lanes.resize(300, 120);
        lanes.setLanes({{.run = "DDP on 9 devices",
                         .runId = "a",
                         .device = "cpu:0",
                         .color = Qt::blue,
                         .samples = {{0, 0.5}, {5, 0.6}}}},
                       0, 5, "time / s");
        const auto beginning = [&] { return lanes.grab().toImage().copy(0, 0, 40, 14); };
        lanes.setMeanHead({});
        const QImage without = beginning();
        lanes.setMeanHead(QString(80, u'm'));
        QVERIFY(beginning() != without);
    }

    void ticksAreFewAndRound() {
        const Ticks ticks = niceTicks(0.07, 2.31, 5, true);
        QCOMPARE(ticks.labels, QStringList({"0.0", "0.5", "1.0", "1.5", "2.0", "2.5"}));
        QVERIFY(ticks.low <= 0.07 && ticks.high >= 2.31);
        QCOMPARE(niceTicks(0, 0.004, 4, true).labels, QStringList({"0.000", "0.001", "0.002", "0.003", "0.004"}));
    }

    void aLowChartIsNotHalfEmptyForTheSakeOfFewTicks() {
        for (const double high : {1.05, 2.02, 2.5, 4.1, 5.1, 0.43}) {
            DrawnLines lines;
            lines.set({line("loss", {{0, 0}, {1, high}})});
            LineScale scale;
            const auto ticks = scale.fit(lines, {300, 100});
            QVERIFY2(high / ticks.y.high >= 0.65, qPrintable(QStringLiteral("%1 of %2").arg(high).arg(ticks.y.high)));
            QVERIFY(ticks.y.at.size() <= 6);
        }
    }

    void aGroupIsNamedWithoutTheNumberOfItsRunsWhereThatDoesNotFit() {
        const QFontMetricsF metrics(Theme::font(Type::Small));
        ReadRow row;
        row.group = QStringLiteral("baseline");
        row.name = QStringLiteral("baseline, 15 runs");
        row.count = 15;
        QCOMPARE(readName(row, metrics, 400), row.name);
        QCOMPARE(readName(row, metrics, metrics.horizontalAdvance(row.name) - 1), row.group);
    }

    void aFlatOrUnknownRangeStillHasTicks() {
        QVERIFY(niceTicks(3, 3, 5, true).at.size() >= 2);
        QVERIFY(niceTicks(0, 0, 5, true).at.size() >= 2);
        QVERIFY(niceTicks(NAN, INFINITY, 5, true).at.size() >= 2);
    }

    void epochsHaveWholeTicksOnly() {
        for (const double at : wholeTicks(1, 3, 8).at)
            QCOMPARE(at, std::floor(at));
    }

    void aLogAxisTicksDecadesAndWhatLiesBetween() {
        const Ticks ticks = logTicks(0.05, 3, 5);
        QVERIFY(ticks.labels.contains("0.1") && ticks.labels.contains("1"));
        QVERIFY(ticks.at.size() >= 3);
        // Few pixels hold 1, 2 and 5 as long as these stand apart; then decades alone do.
        QCOMPARE(logTicks(0.05, 3, 2).labels, QStringList({"0.05", "0.1", "0.2", "0.5", "1", "2"}));
        QCOMPARE(logTicks(0.0009, 1100, 2).labels.size(), 3);
        for (const auto &[low, high] : {std::pair(0.21, 0.48), {2.1, 2.3}, {0.6, 0.9}, {21.0, 49.0}})
            for (const int wanted : {2, 6}) {
                const Ticks narrow = logTicks(low, high, wanted);
                QVERIFY2(narrow.at.size() >= 2, qPrintable(QString::number(low)));
                for (qsizetype i = 0; i < narrow.at.size(); ++i)
                    QVERIFY(std::abs(narrow.labels[i].toDouble() - std::pow(10, narrow.at[i])) < 1e-9);
            }
    }

    void labelsAtTheLinesEndsNeverOverlapAndKeepTheirOrder() {
        const QList<double> at = spreadLabels({50, 51, 52, 0}, 16, 0, 200);
        QVERIFY(at[3] < at[0] && at[0] + 15.9 <= at[1] && at[1] + 15.9 <= at[2]);
        const QList<double> low = spreadLabels({199, 199, 199}, 16, 0, 200);
        for (const double y : low)
            QVERIFY(y <= 192.01);
    }

    void namesAboveARowStandSideBySideInTheOrderOfTheirPlaces() {
        const QList<LeaderLabel> placed =
            placeLeaders({{100, "gather", 3}, {102, "loss", 1}, {101, "reduce", 2}, {300, "other", 1}}, 0, 400);
        QCOMPARE(placed.size(), 4);
        for (qsizetype i = 1; i < placed.size(); ++i)
            QVERIFY(placed[i].left >= placed[i - 1].left + placed[i - 1].width && placed[i].x > placed[i - 1].x);
        QVERIFY(placed.last().left + placed.last().width <= 400);
        const QList<LeaderLabel> edge = placeLeaders({{399, "optimizer", 1}, {398, "other", 2}}, 0, 400);
        QVERIFY(edge.last().left + edge.last().width <= 400 && edge.first().left < edge.last().left);
        const QList<LeaderLabel> short_ = placeLeaders({{10, "optimizer", 1}, {20, "backward", 2}}, 0, 60);
        QVERIFY2(short_.size() == 1 && short_.first().text == "backward", "the longest part keeps its name");
    }

    void aPartTooNarrowForItsNameIsNamedAboveItsRowAndRanksAlikeShareTheirNames() {
        AnatomyView view(m_theme, "anatomy");
        core::DpAnatomy rank;
        rank.stages = {
            {"load", 0.0002, false}, {"forward", 0.004, false}, {"backward", 0.005, false}, {"exposed", 0.0003, false}};
        rank.stepS = 0.0095;
        rank.devices.resize(1);
        core::DpAnatomy slower = rank;
        slower.stages[1].seconds = 0.006;
        slower.stepS = 0.0115;
        view.setRuns({{"DDP on 3 devices", Qt::blue, rank}, {{}, Qt::blue, rank}, {{}, Qt::blue, slower}});
        QCOMPARE(view.namesAbove(0, 800), QStringList({"load", "exposed"}));
        QCOMPARE(view.namesAbove(1, 800), QStringList());
        QCOMPARE(view.namesAbove(2, 800), QStringList({"load", "exposed"})); // elsewhere than in the row above
        QCOMPARE(view.minimumSizeHint().height(), BarRows::heightOf(3, 16) + int(2 * leaderBand));
    }

    void aNarrowChartOfRowsLeavesRoomForNamesInTwoLinesAndForItsPlot() {
        const QFontMetricsF bold(Theme::font(Type::Small, QFont::DemiBold)), small(Theme::font(Type::Small));
        const QList<RowName> names{{"async server on 2 devices", "rank 1", Qt::black, Qt::black}};
        const double line = bold.horizontalAdvance("server (2)"), part = small.horizontalAdvance("rank 1");
        const double narrow = (line + part) / 0.38; // 36 % of it would cut the second line
        QVERIFY(nameColumn(names, narrow) > line + part);
        QVERIFY(nameColumn(names, narrow) < 0.5 * narrow);
        const double whole = nameColumn(names, 10'000);
        QCOMPARE(nameColumn(names, 2'000), whole); // no more than the name takes
        QVERIFY(nameColumn({{QString(500, u'x'), {}, Qt::black, Qt::black}}, 300) < 150);
    }

    void aMillionPointsBecomeAFewAPixelColumnAndNoPeakIsLost() {
        LineChart chart(m_theme, "loss");
        chart.resize(600, 300);
        QList<QPointF> points;
        for (int i = 0; i < 1'000'000; ++i)
            points.append({double(i), i == 654'321 ? 99.0 : 1.0 + 0.1 * std::sin(i * 0.01)});
        chart.setLines({line("a", points)});
        QVERIFY2(chart.drawnPoints() <= 4 * 600, qPrintable(QString::number(chart.drawnPoints())));
        double highest = 0;
        for (const QPointF &p : chart.drawn().pointsOf("a"))
            highest = std::max(highest, p.y());
        QCOMPARE(highest, 99.0);
    }

    void linesThatGoAreTakenFromTheChart() {
        LineChart chart(m_theme, "loss");
        chart.resize(600, 300);
        chart.setLines({line("a", {{0, 1}, {1, 2}}), line("b", {{0, 2}, {1, 3}})});
        QCOMPARE(chart.drawnPoints(), 4);
        chart.setLines({line("b", {{0, 2}, {1, 3}})});
        QCOMPARE(chart.drawnPoints(), 2);
        QVERIFY(chart.drawn().pointsOf("a").isEmpty());
    }

    void aScaleZoomsToWhatTellsItsEndsApartAndForgetsAZoomToAll() {
        DrawnLines lines;
        QVERIFY(lines.set({line("a", {{0, 1}, {10, 5}})}));
        lines.decimate(0, 10, 100);
        QVERIFY2(!lines.set({line("a", {{0, 1}, {10, 5}})}), "as they were, and decimated");
        LineScale scale;
        const QRectF plot(100, 0, 800, 400);
        const auto fit = [&] { return scale.fit(lines, plot.size()); };
        QCOMPARE(fit().x.high, 10.0);
        QVERIFY(scale.zoomTo(lines, LineScale::Span(2, 4), LineScale::Span(1, 3)));
        fit();
        QVERIFY(scale.isZoomed());
        QCOMPARE(scale.placeOf({3, 2}, plot), plot.center());
        QCOMPARE(scale.xAt(plot.center().x(), plot), 3.0);
        QCOMPARE(scale.yAt(plot.center().y(), plot), 2.0);
        QVERIFY(!scale.zoomTo(lines, LineScale::Span(3, 3 + 1e-9), {}));
        QCOMPARE(scale.zoomedX(), std::optional(LineScale::Span(2, 4)));
        QVERIFY(scale.setLog(true)); // what y was zoomed to means nothing there
        QVERIFY(!scale.zoomedY());
        QVERIFY(scale.zoomTo(lines, LineScale::Span(-1, 11), {}));
        QVERIFY(!scale.isZoomed());
    }

    void nearlyEqualValuesFillNoAxisWithDigits() {
        LineChart chart(m_theme, "loss");
        chart.resize(600, 300);
        chart.setLines({line("a", {{1, 2.30805525}, {2, 2.30805545}, {3, 2.3080553}})});
        const auto span = [&] { return chart.scale().yTo() - chart.scale().yFrom(); };
        QVERIFY2(span() > 0.02, qPrintable(QString::number(span())));
        QVERIFY(chart.scale().yFrom() < 2.30805525 && chart.scale().yTo() > 2.30805545);
        chart.zoomX(1, 2.5); // who zooms in wants to see them
        QVERIFY2(span() < 1e-6, qPrintable(QString::number(span())));
    }

    void valuesThatAreNotFiniteAreCountedAsWhatTheyAreAndNotAsLeftOut() {
        LineChart chart(m_theme, "loss");
        chart.resize(600, 300);
        chart.setLines({line("a", {{1, 1}, {2, NAN}, {3, INFINITY}, {4, 2}})});
        QCOMPARE(chart.drawn().shownText(), QStringLiteral("2 not finite"));
        chart.zoomX(3.5, 4);
        QCOMPARE(chart.drawn().shownText(), QString());
    }

    void howManyPointsAreShownStandsBesideTheTitleOfXOrInARowOfItsOwn() {
        for (const auto &[width, extra] : {std::pair(1200, 0), {300, shownTextRow}}) {
            LineChart chart(m_theme, "loss");
            chart.setAxisTitles("epoch of the training, counted from one", "loss");
            chart.setLines({line("a", {{1, 1}, {2, NAN}, {3, 2}})});
            chart.resize(width, 300);
            chart.show();
            QTRY_COMPARE(chart.chart()->margins().top(), 8 + extra);
        }
    }

    void howManyPointsAreShownIsWrittenFromItsBeginningInANarrowChart() {
        LineChart chart(m_theme, "loss");
        QList<QPointF> points;
        for (int i = 0; i < 10'000; ++i)
            points.append({double(i), 1.0 + 0.1 * std::sin(i)});
        chart.setAxisTitles("epoch of the training, counted from one", "loss");
        chart.setLines({line("a", points)});
        chart.resize(240, 200);
        chart.show();
        const auto isWrittenLeftOfThePlot = [&] {
            const QRect plot = chart.chart()->plotArea().toRect();
            const QImage image = chart.grab().toImage();
            for (int y = std::max(0, plot.top() - 20); y < plot.top() - 10; ++y)
                for (int x = 0; x < plot.left() - 4; ++x)
                    if (image.pixelColor(x, y) != m_theme.palette().surface)
                        return true;
            return false;
        };
        QTRY_VERIFY(isWrittenLeftOfThePlot());
    }

    void theNameAtALinesEndHasTheLinesStyle() {
        LineChart chart(m_theme, "duration");
        chart.resize(600, 300);
        chart.show();
        QVERIFY(QTest::qWaitForWindowExposed(&chart));
        const auto nameOf = [&](Qt::PenStyle style) {
            LineData repeat = line("baseline", {{1, 2}, {2, 3}});
            repeat.style = style;
            chart.setLines({repeat});
            const int left = int(chart.chart()->plotArea().right()) + 4; // where no curve is
            return chart.grab().toImage().copy(left, 0, chart.width() - left, chart.height());
        };
        (void)nameOf(Qt::SolidLine);
        QTest::qWait(50); // the plot has its place
        QCOMPARE(nameOf(Qt::SolidLine), nameOf(Qt::SolidLine));
        QVERIFY(nameOf(Qt::DashLine) != nameOf(Qt::SolidLine));
    }

    void aSingleNameThatFindsNoRoomIsLeftOutAndManyAreListed() {
        const QSize size(600, 300);
        const QString lengthy(60, u'x');
        DrawnLines lines;
        lines.set({line(lengthy, {{0, 1}, {1, 2}})});
        QVERIFY2(endNames(lines, size, 0).width < size.width() / 4, "the figure alone");
        lines.set({line(lengthy, {{0, 1}, {1, 2}}), line("baseline", {{0, 1}, {1, 2}})});
        QCOMPARE(endNames(lines, size, 0).width, size.width() * 2 / 5);
        QVERIFY(!endNames(lines, size, 0).listed);
        QList<LineData> many;
        for (int i = 0; i < 40; ++i)
            many.append(line(QStringLiteral("run %1").arg(i), {{0, 1}, {1, 2}}));
        lines.set(many);
        QVERIFY(endNames(lines, size, 0).listed);
    }

    void anInfiniteLossDoesNotBreakTheAxes() {
        LineChart chart(m_theme, "loss");
        chart.resize(600, 300);
        chart.setLines({line("a", {{0, 1}, {1, INFINITY}, {2, NAN}, {3, 2}})});
        chart.grab();
        chart.setLogAxis(true);
        chart.grab();
        QVERIFY(chart.drawnPoints() >= 2);
    }

    void everyChartOffersItsMenu() {
        LineChart lines(m_theme, "loss");
        BarChart bars(m_theme, "speed-up");
        LaneView lanes(m_theme, "devices");
        PhaseBars phases(m_theme, "phases");
        for (QWidget *chart : std::initializer_list<QWidget *>{&lines, &bars, &lanes, &phases}) {
            QStringList texts;
            for (const QAction *action : chart->actions()) {
                texts.append(action->text());
                QVERIFY2(!action->shortcut().isEmpty(), qPrintable(action->text()));
            }
            for (const char *wanted : {"Copy image", "Copy data", "Export…"})
                QVERIFY2(texts.contains(QString::fromUtf8(wanted)), wanted);
            QCOMPARE(texts.contains("Log axis"), chart == &lines);
        }
    }

    void copiedDataAreWhatIsDrawn() {
        LineChart chart(m_theme, "loss");
        chart.setAxisTitles("epoch", "loss");
        chart.setLines({line("DDP", {{1, 0.5}, {2, 0.25}})});
        for (QAction *action : chart.actions())
            if (action->text() == "Copy data")
                action->trigger();
        QCOMPARE(QApplication::clipboard()->text(), QString("series\tepoch\tloss\nDDP\t1\t0.5\nDDP\t2\t0.25\n"));
    }

    void copiedNumbersHaveNoGroupsThatASpreadsheetCouldMisread() {
        const core::TextTable table{{"Run", "Samples/s"}, {false, true}, {{"a of 1,000", "21,200 (17,600-30,000)"}}};
        const std::unique_ptr<QMimeData> mime(mimeOf(table));
        QCOMPARE(mime->text(), QStringLiteral("Run\tSamples/s\na of 1,000\t21200 (17600-30000)\n"));
    }

    void picturesAreSavedAsPngAndSvgAndRefusedOtherwise() {
        QTemporaryDir folder;
        LineChart chart(m_theme, "loss");
        chart.setLines({line("D\u0001P\uFFFE", {{1, 0.5}, {2, 0.25}})}); // characters that XML forbids
        QVERIFY(saveChart(chart, {640, 360}, folder.filePath("a.png")));
        QCOMPARE(QImage(folder.filePath("a.png")).size(), QSize(1280, 720));
        QVERIFY(saveChart(chart, {640, 360}, folder.filePath("a.svg")));
        QVERIFY(QSvgRenderer(folder.filePath("a.svg")).isValid());
        const auto refused = saveChart(chart, {640, 360}, folder.filePath("a.bmp"));
        QVERIFY(!refused);
        QVERIFY(refused.error().message().find(".svg") != std::string::npos);
        QVERIFY(!saveChart(chart, {640, 360}, "/nowhere/at/all/a.png"));
    }

    void aPictureIsTheSameWhetherTheChartWasEverShownOrNot() {
        const auto fill = [](LineChart &chart) {
            chart.setAxisTitles("epoch", "loss");
            chart.setLines({line("DDP", {{0, 2}, {1, 1}, {2, 0.5}})});
        };
        LineChart hidden(m_theme, "loss"), shown(m_theme, "loss");
        fill(hidden);
        shown.resize(640, 360);
        shown.show();
        QVERIFY(QTest::qWaitForWindowExposed(&shown));
        fill(shown);
        QTest::qWait(50);
        QCOMPARE(chartImage(hidden, {640, 360}), chartImage(shown, {640, 360}));
        BarChart bars(m_theme, "speed-up"), shownBars(m_theme, "speed-up");
        for (BarChart *chart : {&bars, &shownBars})
            chart->setBars({{"DDP", methodColor("ddp"), false, 1.5, "1.50×", {}}});
        shownBars.resize(640, 360);
        shownBars.show();
        QVERIFY(QTest::qWaitForWindowExposed(&shownBars));
        QCOMPARE(chartImage(bars, {640, 360}), chartImage(shownBars, {640, 360}));
    }

    void aPictureFillsItsSizeWithTheCurveAndItsNames() {
        LineChart chart(m_theme, "loss");
        chart.setLines({line("DDP", {{0, 0}, {1, 1}})});
        const QImage image = chartImage(chart, {640, 360});
        const auto hasColour = [&](const QRect &box) {
            for (int y = box.top(); y <= box.bottom(); ++y)
                for (int x = box.left(); x <= box.right(); ++x)
                    if (image.pixelColor(x, y) == methodColor("ddp"))
                        return true;
            return false;
        };
        QVERIFY2(hasColour({40, 400, 300, 319}), "the line's beginning, low on the left");
        QVERIFY2(hasColour({900, 0, 300, 200}), "the line's end, high on the right");
        QVERIFY2(!hasColour({40, 0, 300, 200}) && !hasColour({900, 450, 300, 200}), "colour where no line is");
    }

    void publishedBarsKeepTheirColourWhileARunIsPointedAt() {
        BarChart chart(m_theme, QStringLiteral("duration"));
        RunHighlight highlight;
        chart.follow(highlight);
        const QColor dp = methodColor("dp"), ddp = methodColor("ddp");
        chart.setBars({{.name = "DP on 2 devices",
                        .color = dp,
                        .outlined = false,
                        .value = 2,
                        .text = "2 s",
                        .hint = {},
                        .whose = {"a", "DP on 2 devices"}},
                       {.name = "DDP on 2 devices",
                        .color = ddp,
                        .outlined = false,
                        .value = 1,
                        .text = "1 s",
                        .hint = {},
                        .whose = {"b", "DDP on 2 devices"}},
                       {.name = "published DP on 8 devices",
                        .color = dp,
                        .outlined = true,
                        .value = 3,
                        .text = "3 s",
                        .hint = {}}});
        const auto sets = qobject_cast<QAbstractBarSeries *>(chart.chart()->series().first())->barSets();
        QCOMPARE(sets.size(), 3);
        highlight.point({"b", "DDP on 2 devices"});
        QVERIFY(sets[0]->brush().color() != dp); // pale
        QCOMPARE(sets[1]->brush().color(), ddp);
        QCOMPARE(sets[2]->pen().color(), dp);
    }

    void theTicksOfBarsHaveRoomBesideLongNames() {
        BarChart chart(m_theme, QStringLiteral("speed-up"));
        chart.resize(560, 240);
        chart.setBars(
            {{"async server on 2 devices, 1 server device", methodColor("ps-async"), false, 1.03, "1.03×", {}},
             {"pipeline on 2 devices, 8 micro-batches", methodColor("pipeline"), false, 0.461, "0.461×", {}}});
        (void)chart.grab(); // lays out the plot
        auto *axis = qobject_cast<QCategoryAxis *>(chart.chart()->axes(Qt::Horizontal).first());
        QVERIFY(axis->count() >= 3);
        QVERIFY2(chart.chart()->plotArea().width() / (axis->count() - 1) >= 60,
                 qPrintable(axis->categoriesLabels().join(' ')));
    }

    void ofManyBarsTheFirstAreDrawnAndAllAreCopied() {
        BarChart chart(m_theme, QStringLiteral("speed-up"));
        QList<BarData> bars;
        for (int i = 0; i < 1'000; ++i)
            bars.append({QStringLiteral("run %1").arg(i), methodColor("ddp"), false, 1.0, "1.00×", {}});
        chart.setBars(bars.first(BarChart::mostRows));
        const auto sets = [&] {
            return qobject_cast<QAbstractBarSeries *>(chart.chart()->series().first())->barSets();
        };
        QCOMPARE(sets().size(), BarChart::mostRows);
        QCOMPARE(chart.leftOutText(), QString());
        const int height = chart.sizeHint().height();
        chart.setBars(bars);
        QCOMPARE(sets().size(), BarChart::mostRows);
        QCOMPARE(qsizetype(sets().front()->count()), BarChart::mostRows);
        QCOMPARE(chart.leftOutText(), QStringLiteral("The first 100 of 1,000 are shown"));
        QVERIFY(chart.sizeHint().height() > height && chart.sizeHint().height() < height + 40);
        QCOMPARE(chart.chartData().count(u'\n'), qsizetype(1'001));
    }

    void aGapInTheSamplesStaysAGap() {
        const QList<double> means = columnMeans({{0, 1}, {0.4, 0.5}, {9, 0.25}}, 0, 10, 10, 0.6);
        QCOMPARE(means[0], 0.75);
        QVERIFY(std::isnan(means[4]));
        QCOMPARE(means[9], 0.25);
    }

    void aSharedCoreOfTheScaleMakesLanesComparable() {
        LaneView lanes(m_theme, "devices");
        lanes.resize(600, 200);
        Lane lane{"DP on 2 devices", "a", "cpu:0", methodColor("dp"), {{0, 1}, {0.5, 1}, {1, 1}}, "96 %", {}, {}};
        Lane other{
            "DDP on 2 devices", "b", "cpu:0", methodColor("ddp"), {{0, 1}, {0.5, 1}, {1, 1}, {2, 1}}, "91 %", {}, {}};
        lanes.setLanes({lane, other}, 0, 2, "time / s");
        const QImage image = lanes.grab().toImage();
        const QColor first = image.pixelColor(250, 40), second = image.pixelColor(250, 120);
        QVERIFY(first != second); // each in its method's colour
        QVERIFY(lanes.chartData().contains("DDP on 2 devices\tcpu:0\t2.000"));
    }

    void aBarFarBeyondItsChartIsHatchedWithABoundedNumberOfLines() {
        QPicture picture;
        QPainter painter(&picture);
        hatch(&painter, {0, 0, 1e12, 20}, Qt::black);
        painter.end();
        QVERIFY2(picture.size() < 1'000'000, qPrintable(QString::number(picture.size())));
    }

    void aPhaseBarShowsEveryPartInWords() {
        for (const std::string_view phase : additivePhases())
            QVERIFY2(!phaseMeaning(QString::fromUtf8(phase.data(), qsizetype(phase.size()))).isEmpty(), phase.data());
        for (const char *phase : {"wait", "comm", "scatter", "replicate", "gather", "reduce"})
            QVERIFY2(!phaseMeaning(phase).isEmpty(), phase);
    }
};

QTEST_MAIN(ChartsTest)
#include "charts_test.moc"

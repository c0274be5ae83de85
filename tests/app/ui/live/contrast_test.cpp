// SPDX-License-Identifier: MIT
// What Live sets side by side: steps of DP and DDP on one axis, lanes by method, what the lines read at the crosshair, and the run
// under the pointer in every picture.
#include <QApplication>
#include <QCheckBox>
#include <QLabel>
#include <QMouseEvent>
#include <QSlider>
#include <QTableView>

#include <utility>

#include "app/ui/charts/anatomy_view.h"
#include "app/ui/charts/bar_chart.h"
#include "app/ui/charts/lane_view.h"
#include "app/ui/charts/line_chart.h"
#include "app/ui/charts/line_readout.h"
#include "app/ui/charts/phase_bars.h"
#include "app/ui/charts/stage_view.h"
#include "app/ui/pages/live/live_page.h"
#include "app/ui/pages/live/live_side.h"
#include "app/ui/pages/live/stages_card.h"
#include "app/ui/pages/live/updates_card.h"
#include "app/ui/pages/shared/run_style.h"
#include "app/ui/shell/console_drawer.h"
#include "app/ui/theme/theme.h"
#include "base/format.h"
#include "experiment/recipe.h"
#include "models/console_model.h"
#include "models/roles.h"
#include "models/run_choice_model.h"
#include "tests/qt_test.h"
#include "window_fixture.h"

using namespace lockstep;
using namespace lockstep::ui;

class ContrastTest : public QObject, uitest::WindowFixture {
    Q_OBJECT
    uitest::Home m_home;
    std::string m_id;

    [[nodiscard]] LineChart *loss() const { return live()->lossChart(); }
    void move(QWidget *widget, const QPoint &to) {
        QMouseEvent event(QEvent::MouseMove, QPointF(to), QPointF(widget->mapToGlobal(to)), Qt::NoButton, Qt::NoButton,
                          Qt::NoModifier);
        QApplication::sendEvent(widget, &event);
    }

private Q_SLOTS:
    void initTestCase() {
        m_id = uitest::writeExperimentOnDisk({.epochs = 3, .repeats = 2, .marks = true});
        QVERIFY(!m_id.empty());
    }
    void init() {
        openWindow({1600, 1000});
        openAndDraw(m_id);
    }
    void cleanup() { closeWindow(); }

    void lanesStandByMethodEachWithItsMeanAndItsIdleShareAndWhatOthersTook() {
        closeWindow();
        const std::string id = uitest::writeExperimentOnDisk({.epochs = 2, .firstRun = 60, .othersCores = 0.5});
        openWindow({1600, 1000});
        openAndDraw(id);
        QTRY_COMPARE(live()->lanes()->lanes().size(), 5);
        QStringList runs;
        for (const Lane &lane : live()->lanes()->lanes()) {
            runs.append(lane.run);
            double sum = 0;
            for (const QPointF &sample : lane.samples)
                sum += sample.y();
            const double mean = sum / double(lane.samples.size());
            QCOMPARE(lane.value, core::percent(mean, 0));
            QCOMPARE(lane.idle, core::percent(1 - mean, 0));
        }
        QCOMPARE(runs, QStringList(
                           {"baseline", "DP on 2 devices", "DP on 2 devices", "DDP on 2 devices", "DDP on 2 devices"}));
        QStringList others;
        for (const Lane &lane : live()->lanes()->lanes())
            others.append(lane.others);
        QCOMPARE(others, QStringList({"", "", "", "0.50 cores", ""})); // of the whole run: said once
        QVERIFY(live()->lanes()->lanes().last().hint.contains("Other programs took 0.50 cores of its machine"));
        QVERIFY(!live()->lanes()->lanes().first().hint.contains("Other programs"));
    }

    void howStaleAnAsynchronousServersUpdatesWereStandsOnACardThatOthersDontHave() {
        const auto *card = live()->findChild<UpdatesCard *>();
        QVERIFY(card && !card->isVisibleTo(live()));
        closeWindow();
        const std::string id =
            uitest::writeOnDisk(*core::loadRecipe("allreduce-vs-server"), {.epochs = 2, .repeats = 2, .firstRun = 80});
        openWindow({1600, 1000});
        openAndDraw(id);
        card = live()->findChild<UpdatesCard *>();
        QTRY_VERIFY(card->isVisibleTo(live()));
        QStringList rows;
        for (const BarData &bar : card->chart()->bars())
            rows.append(bar.name + u' ' + bar.text);
        QCOMPARE(rows,
                 QStringList({"async server on 2 devices, 0 stale 40.0 %", "async server on 2 devices, 1 stale 30.0 %",
                              "async server on 2 devices, 2 stale 30.0 %"}));
        QTRY_VERIFY(card->chart()->height() >= 64 + 3 * 22); // each bar has its line of text
        QStringList words;
        for (const QLabel *label : card->findChildren<QLabel *>())
            words.append(label->text());
        QVERIFY2(words.join(u'|').contains("mean 0.9 (rank 0: 0.5, rank 1: 1.3)"), qPrintable(words.join(u'|')));
        uitest::picture(*m_window, m_theme, "live-staleness");
    }

    void theStagesOfAPipelineStandOnACardWithTheirMicroBatches() {
        const auto *card = live()->findChild<StagesCard *>();
        QVERIFY(card && !card->isVisibleTo(live()));
        closeWindow();
        const std::string id =
            uitest::writeOnDisk(*core::loadRecipe("model-parallel"), {.epochs = 2, .repeats = 2, .firstRun = 90});
        openWindow({1600, 1000});
        openAndDraw(id);
        card = live()->findChild<StagesCard *>();
        QTRY_VERIFY(card->isVisibleTo(live()));
        const QList<StageBar> &bars = card->view()->bars();
        QStringList rows;
        for (const StageBar &bar : bars) {
            rows.append(QStringLiteral("%1 %2 %3").arg(bar.run, bar.device).arg(bar.work.size()));
            QVERIFY(std::ranges::is_sorted(bar.work, {}, &StageWork::startS));
        }
        QVERIFY2(rows.contains("pipeline on 2 devices, 8 micro-batches cpu:1 16"), qPrintable(rows.join(u'|')));
        QVERIFY(card->view()->chartData().contains("pipeline on 2 devices, 8 micro-batches\tcpu:0\tbackward\t4\t"));
        QStringList words;
        for (const QLabel *label : card->findChildren<QLabel *>())
            words.append(label->text());
        const QString all = words.join(u'|');
        QVERIFY2(all.contains("idle (balanced): ") && all.contains("pipeline (2), 8 micro-batches 11 % (11 %)"),
                 qPrintable(all));
        uitest::picture(*m_window, m_theme, "live-stages");
    }

    void theConsoleNamesRunsAsChartsDoAndHasRoomForThem() {
        closeWindow();
        const std::string id =
            uitest::writeOnDisk(*core::loadRecipe("model-parallel"), {.epochs = 1, .repeats = 2, .firstRun = 120});
        openWindow({1600, 1000});
        openAndDraw(id);
        ConsoleDrawer *drawer = m_window->drawer();
        drawer->setUnfolded(true);
        QTRY_VERIFY(drawer->filter()->rowCount() > 0);
        const QTableView *table = drawer->table();
        const QFontMetrics metrics(table->font());
        QStringList names;
        for (int row = 0; row < drawer->filter()->rowCount(); ++row)
            names.append(drawer->filter()->index(row, core::ConsoleModel::Run).data().toString());
        QVERIFY2(names.contains(QStringLiteral("pipeline (2), 8 micro-batches #2")), qPrintable(names.join(u'|')));
        for (const QString &name : std::as_const(names))
            QVERIFY2(table->columnWidth(core::ConsoleModel::Run) >= metrics.horizontalAdvance(name) + 16,
                     qPrintable(name));
        drawer->filter()->setText(QStringLiteral("pipeline on 2 devices, 8")); // the whole name is found, too
        QVERIFY(drawer->filter()->rowCount() > 0 && drawer->filter()->rowCount() < int(names.size()));
        drawer->filter()->setText({});
    }

    void theConsolesNamesThatChangeTogetherAreMeasuredOnce() {
        ConsoleDrawer *drawer = m_window->drawer();
        drawer->setUnfolded(true);
        core::RunStore store(QStringLiteral("20260102T030405Z-0000bbbb"));
        RunRecord record;
        record.run = store.runId().toStdString();
        record.name = "mine";
        record.config.emplace();
        store.setRecord(record);
        m_workspace->runs().add(&store);
        const auto width = [&] { return drawer->table()->columnWidth(core::ConsoleModel::Run); };
        const int before = width();
        record.name = "a name of my own that takes more room than those of the others";
        store.setRecord(record);
        store.flush();
        QCOMPARE(width(), before);
        QTRY_VERIFY(width() > before);
        m_workspace->runs().remove(&store);
    }

    void anExperimentOfOneEpochHasNoSecondOneOnItsAxis() {
        closeWindow();
        const std::string id = uitest::writeExperimentOnDisk({.epochs = 1, .repeats = 1, .firstRun = 150});
        openWindow({1600, 1000});
        openAndDraw(id);
        live()->side()->publishedBox()->setChecked(false);
        QTRY_COMPARE(live()->durationChart()->scale().xTo(), 1.5);
        QCOMPARE(live()->durationChart()->scale().xFrom(), 0.5);
    }

    void namesOfOneMethodKeepTheirOrderWhicheverRepeatIsDrawn() {
        RunStyle came, next;
        came.method = next.method = QStringLiteral("ps-async");
        came.repeat = 2; // the median one, which ran after the other name's first
        next.namePlace = 1;
        QVERIFY(placeOf(came) < placeOf(next));
        next.method = QStringLiteral("baseline");
        QVERIFY(placeOf(next) < placeOf(came));
    }

    void theListHasTheRunsByMethodAndRepeatsTogether() {
        const QAbstractItemModel *model = live()->side()->runTable()->model();
        QStringList names;
        for (int row = 0; row < model->rowCount(); ++row)
            names.append(model->index(row, core::RunChoiceModel::Name).data().toString());
        QCOMPARE(names, QStringList({"baseline #1", "baseline #2", "DP on 2 devices #1", "DP on 2 devices #2",
                                     "DDP on 2 devices #1", "DDP on 2 devices #2"}));
    }

    void pointingAtARunPalesAllOthersInEveryPictureAndInTheList() {
        QTRY_VERIFY(!live()->lanes()->lanes().isEmpty());
        const auto pixels = [](QWidget *widget, const QColor &color) {
            const QImage image = widget->grab().toImage();
            int count = 0;
            for (int y = 0; y < image.height(); ++y)
                for (int x = 0; x < image.width(); ++x)
                    count += image.pixelColor(x, y) == color;
            return count;
        };
        const QColor dp = methodColor(Method::Dp), ddp = methodColor(Method::Ddp);
        QTRY_VERIFY(pixels(loss()->viewport(), dp) > 50 && pixels(loss()->viewport(), ddp) > 50);
        LaneView *lanes = live()->lanes();
        const QPoint onDdp(lanes->width() / 2, lanes->height() * 3 / 4); // its lanes are the last two of five
        move(lanes, onDdp);
        QTRY_VERIFY(pixels(loss()->viewport(), dp) < 30); // the signs of its checkpoints
        QVERIFY(pixels(loss()->viewport(), ddp) > 50);
        QCOMPARE(pixels(live()->phaseBars(), dp), 0);
        QVERIFY(pixels(live()->phaseBars(), ddp) > 50);
        uitest::picture(*m_window, m_theme, "live-pointed");
        QCOMPARE(pixels(live()->durationChart()->viewport(), dp), 0);
        QEvent leave(QEvent::Leave);
        QApplication::sendEvent(lanes, &leave);
        QTRY_VERIFY(pixels(loss()->viewport(), dp) > 50);

        QTableView *table = live()->side()->runTable(); // a row of the list
        int row = 0;
        while (table->model()->index(row, 0).data(core::MethodRole).toString() != "dp")
            ++row;
        move(table->viewport(), table->visualRect(table->model()->index(row, 0)).center());
        QTRY_VERIFY(pixels(loss()->viewport(), ddp) < 30); // the signs of its checkpoints
        QCOMPARE(pixels(live()->phaseBars(), ddp), 0);
        QApplication::sendEvent(table->viewport(), &leave);
        QTRY_VERIFY(pixels(loss()->viewport(), ddp) > 50);
    }

    void whatTheLinesReadAtTheCrosshairStandsBesideThePlotByName() {
        live()->side()->smoothSlider()->setValue(0); // no raw lines behind the others
        QTest::qWait(60);
        const Reading read = readAt(loss()->drawn(), 1.5);
        QCOMPARE(read.rows.size(), 3); // two repeats each
        for (const ReadRow &row : read.rows) {
            QCOMPARE(row.count, 2);
            QVERIFY(row.low <= row.sum / 2 && row.sum / 2 <= row.high);
            QCOMPARE(row.rangeText().isEmpty(), core::significant(row.low) == core::significant(row.high));
        }
        // The plot itself is as before but for the line at the crosshair.
        const QRect plot = loss()->chart()->plotArea().toRect();
        const QImage before = loss()->viewport()->grab().toImage();
        loss()->setCrosshair(1.5);
        uitest::picture(*m_window, m_theme, "live-readout");
        const QImage after = loss()->viewport()->grab().toImage();
        const int line = int(loss()->scale().placeOf({1.5, 1}, loss()->chart()->plotArea()).x());
        const QRect left(plot.topLeft(), QPoint(line - 3, plot.bottom())),
            right(QPoint(line + 3, plot.top()), plot.bottomRight());
        QCOMPARE(before.copy(left), after.copy(left));
        QCOMPARE(before.copy(right), after.copy(right));
        const QRect beside(plot.right() + 4, 0, before.width() - plot.right() - 4, before.height());
        QVERIFY(before.copy(beside) != after.copy(beside));
        QVERIFY(readAt(loss()->drawn(), 50).rows.isEmpty()); // no line reaches there
    }

    void aStepOfDdpStandsUnderDpsOnOneAxisAndNamesItsParts() {
        const AnatomyView *view = live()->anatomy();
        QTRY_COMPARE(view->runs().size(), 3); // DP, and two ranks of DDP
        QVERIFY(view->runs()[0].name.startsWith("DP") && view->runs()[1].name.startsWith("DDP"));
        QVERIFY(view->runs()[2].name.isEmpty());
        QCOMPARE(view->runs()[1].color, methodColor(Method::Ddp));
        QVERIFY2(view->chartData().contains("cpu:1\texposed\t0.00"), qPrintable(view->chartData()));
        const QStringList above = view->namesAbove(0, 900); // of DP's device 0
        for (const char *name : {"scatter", "gather", "loss", "optimizer", "other"})
            QVERIFY2(above.contains(QString::fromLatin1(name)), qPrintable(above.join(' ')));
        QVERIFY(!above.contains("forward") && !above.contains("backward")); // they hold their names
        QVERIFY(view->namesAbove(2, 900).contains("load"));                 // of DDP's rank 0
    }
};

QTEST_MAIN(ContrastTest)
#include "contrast_test.moc"

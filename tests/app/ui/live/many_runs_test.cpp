// SPDX-License-Identifier: MIT
// Live with the 45 runs of a matrix, and with long names: nothing overflows, every run can be found, and one that failed is seen.
#include <QLabel>
#include <QScrollArea>
#include <QScrollBar>
#include <QTableView>
#include <QToolButton>

#include "app/ui/charts/anatomy_view.h"
#include "app/ui/charts/bar_chart.h"
#include "app/ui/charts/lane_view.h"
#include "app/ui/charts/line_chart.h"
#include "app/ui/charts/line_readout.h"
#include "app/ui/charts/phase_bars.h"
#include "app/ui/pages/live/live_page.h"
#include "app/ui/pages/live/live_side.h"
#include "app/ui/pages/live/metric_card.h"
#include "app/ui/pages/live/run_delegate.h"
#include "app/ui/shell/console_drawer.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/name_lines.h"
#include "ipc/file_system.h"
#include "ipc/unix_socket.h"
#include "models/roles.h"
#include "models/run_choice_model.h"
#include "store/run_failure.h"
#include "tests/qt_test.h"
#include "window_fixture.h"

using namespace lockstep;
using namespace lockstep::ui;

namespace {

constexpr const char *chinese =
    R"({"name": "long", "title": "长名称", "base": {"batch_size": 64}, "reference": "基线，单个设备，不用加载线程的普通训练",
        "runs": [{"name": "基线，单个设备，不用加载线程的普通训练", "method": "baseline"},
                 {"name": "数据并行，两个设备，四个加载线程，混合精度训练", "method": "dp", "devices": 2},
                 {"name": "分布式数据并行，两个设备，四个加载线程，混合精度训练", "method": "ddp", "devices": 2}]})";

std::string written(const char *text, const uitest::Shape &shape) {
    const auto recipe = core::recipeFromJson(text);
    return recipe ? uitest::writeOnDisk(*recipe, shape) : std::string();
}

} // namespace

class ManyRunsTest : public QObject, uitest::WindowFixture {
    Q_OBJECT
    uitest::Home m_home;

    [[nodiscard]] QTableView *list() const { return live()->side()->runTable(); }
    void open(const std::string &id) {
        QVERIFY(!id.empty());
        openWindow({1280, 800});
        openAndDraw(id);
    }
    /// What is too wide or too low for what it shows.
    [[nodiscard]] QString overflowing() const {
        if (list()->horizontalScrollBar()->maximum() > 0)
            return QStringLiteral("the list");
        for (const QScrollArea *area : live()->findChildren<QScrollArea *>())
            if (area->isVisible() && area->horizontalScrollBar()->maximum() > 0)
                return QStringLiteral("the page");
        for (const QWidget *chart : std::initializer_list<const QWidget *>{
                 live()->lanes(), live()->phaseBars(), live()->anatomy(), live()->lossChart(), live()->durationChart(),
                 live()->metricCard()->chart()})
            if (chart->isVisible() && chart->height() < chart->minimumSizeHint().height())
                return chart->accessibleName();
        return {};
    }

private Q_SLOTS:
    void cleanup() { closeWindow(); }

    void aNameTooLongForALineTakesTwoAndEndsAtAComma() {
        const QFontMetricsF metrics(Theme::font(Type::Small));
        const QString name = QStringLiteral("DDP on 2 devices, 4 workers, bf16");
        const auto width = [&](const QString &text) { return metrics.horizontalAdvance(text); };
        QCOMPARE(nameLines(name, metrics, width(name)), QStringList(name));
        QCOMPARE(nameLines(name, metrics, width("DDP on 2 devices, 4 workers") - 1),
                 QStringList({QStringLiteral("DDP on 2 devices,"), QStringLiteral("4 workers, bf16")}));
        for (const QString &line : nameLines(name, metrics, 50))
            QVERIFY(width(line) <= 50);
        QCOMPARE(nameLines(QStringLiteral("baseline"), metrics, 30).size(), 1); // no word is broken
        const QStringList alike = {"pipeline (2), 1 micro-batch", "pipeline (2), 8 micro-batches", "baseline"};
        QCOMPARE(toldApart(alike, metrics, width("pipeline (2)")),
                 QStringList({"…1 micro-batch", "…8 micro-batches", "baseline"}));
        QCOMPARE(toldApart(alike, metrics, width(alike[1])), alike); // there is room for all of it
        const QStringList repeats = {"DDP (2), 4 workers #1", "DDP (2), 4 workers #2"};
        QCOMPARE(toldApart(repeats, metrics, 50), repeats); // a number alone names no run
        const QString cut = elidedName("…8 micro-batches of 4 samples each", metrics, width("…8 micro-batches"));
        QVERIFY2(cut.startsWith(QStringLiteral("…8 micro")) && cut.endsWith(u'…'), qPrintable(cut));
        QCOMPARE(nameLines("train_cifar_resnet_variation.py", metrics, width("train_cifar_resnet_") + 1),
                 QStringList({"train_cifar_resnet_", "variation.py"}));
        const QString han = QStringLiteral("分布式数据并行两个设备四个加载线程");
        const QStringList lines = nameLines(han, metrics, width(han) * 0.6);
        QCOMPARE(lines.size(), 2);
        QCOMPARE(lines.join(QString()), han); // broken where the line is full
    }

    void aNameCutShortKeepsTheNumberOfItsRepeatInWhateverLanguage() {
        const QFontMetricsF metrics(Theme::font(Type::Small));
        for (const char *text :
             {"分布式数据并行，两个设备，Gloo后端，学习率按设备数线性放大，四个加载线程 #2",
              "DDP on 2 devices, bucket mb 100, learning rate scaled by the devices, 4 workers #2"}) {
            const QString name = QString::fromUtf8(text);
            const double width = metrics.horizontalAdvance(name) * 0.35;
            const QStringList lines = nameLines(name, metrics, width);
            QCOMPARE(lines.size(), 2);
            QVERIFY2(lines[1].contains(u'…') && lines[1].endsWith(QLatin1String(" #2")), qPrintable(lines.join(u'|')));
            for (const QString &line : lines)
                QVERIFY2(metrics.horizontalAdvance(line) <= width, qPrintable(line));
            QVERIFY(elidedName(name, metrics, width).endsWith(QLatin1String(" #2")));
        }
        QCOMPARE(elidedName(QStringLiteral("DDP #2"), metrics, 100), QStringLiteral("DDP #2"));
    }

    void aNameThatDoesNotFitIsWrittenAsInChartsBeforeItIsCut() {
        const QFontMetricsF metrics(Theme::font(Type::Small));
        const QString name = QStringLiteral("DDP on 2 devices, 4 workers #2"), painted = paintedName(name);
        QCOMPARE(elidedName(name, metrics, metrics.horizontalAdvance(name)), name);
        QCOMPARE(elidedName(name, metrics, metrics.horizontalAdvance(painted)), painted);
        const QString cut = elidedName(name, metrics, metrics.horizontalAdvance(painted) * 0.8);
        QVERIFY2(cut.contains(u'…') && cut.endsWith(QLatin1String(" #2")), qPrintable(cut));
    }

    void fortyFiveRunsOverflowNothing() {
        open(written(uitest::gridRecipe, {.epochs = 2, .stepsPerEpoch = 12}));
        QCOMPARE(m_workspace->runs().count(), 45);
        uitest::picture(*m_window, m_theme, "live-45");
        QTRY_COMPARE(overflowing(), QString());
        QStringList names;
        for (int row = 0; row < list()->model()->rowCount(); ++row)
            names.append(list()->model()->index(row, core::RunChoiceModel::Name).data().toString());
        names.removeDuplicates();
        QCOMPARE(names.size(), 45);
        const QFontMetricsF metrics(Theme::font(Type::Small)); // and each is readable whole
        const double room = list()->columnWidth(core::RunChoiceModel::Name) - RunDelegate::nameLeft;
        for (const QString &name : names)
            QVERIFY2(!nameLines(name, metrics, room).join(QString()).contains(QChar(0x2026)), qPrintable(name));
        QSet<QRgb> colors; // that can be seen
        for (const LineData &line : live()->lossChart()->lines()) {
            QVERIFY(contrastRatio(line.color, m_theme.palette().surface) > 1.4);
            colors.insert(line.color.rgb());
        }
        QVERIFY(colors.size() >= 12);
        for (const char *name :
             {"baseline", "DDP on 2 devices", "DP on 2 devices, lr 0.2, 4 workers"}) // no default, nothing shared
            QVERIFY2(names.contains(QString::fromUtf8(name)), qPrintable(names.join(QStringLiteral("; "))));
        QScrollBar *bar = live()->findChild<QScrollArea *>()->verticalScrollBar();
        QVERIFY(bar->maximum() > 0);
        m_window->resize(2560, 1440);
        QTRY_COMPARE(overflowing(), QString());
        uitest::picture(*m_window, m_theme, "live-45-2560");
    }

    void aRunOfOneRowHasTheHeightForALongNameOnTwoLines() {
        PhaseBars phases(m_theme, QStringLiteral("phases"));
        const QString brief = QStringLiteral("baseline"), full = QStringLiteral("baseline, lr 0.02, 4 workers");
        const auto heightOf = [&](const QString &name, const QString &label) {
            phases.setBars(QList<PhaseBar>(8, {label, Qt::gray, {{"forward", 0.01}}, {}, {QStringLiteral("a"), name}}));
            return phases.minimumSizeHint().height();
        };
        QCOMPARE(heightOf(full, full) - heightOf(brief, brief), 8 * 14);
        QCOMPARE(heightOf(full, full + QStringLiteral(" rank 0")), heightOf(brief, brief)); // its ranks share the name
        LaneView lanes(m_theme, QStringLiteral("devices"));
        const auto laneHeight = [&](const QString &name) {
            lanes.setLanes(QList<Lane>(1, {name, QStringLiteral("a"), QStringLiteral("cpu:0"), Qt::gray, {}}), 0, 1,
                           {});
            return lanes.minimumSizeHint().height();
        };
        QVERIFY(laneHeight(full) > laneHeight(brief));
    }

    void whereTheNamesOfAllLinesHaveNoRoomTheyAreReadByMethod() {
        open(written(uitest::gridRecipe, {.epochs = 2, .stepsPerEpoch = 12, .firstRun = 100}));
        const Reading read = readAt(live()->lossChart()->drawn(), 1);
        QCOMPARE(read.rows.size(), 45);
        QStringList methods;
        for (const ReadRow &row : byGroup(read.rows))
            methods.append(row.name);
        QCOMPARE(methods, QStringList({"baseline, 15 runs", "DP, 15 runs", "DDP, 15 runs"}));
        for (const ReadRow &row : byGroup(read.rows))
            QVERIFY(row.low < row.sum / row.count && row.sum / row.count < row.high && !row.rangeText().isEmpty());
    }

    void longChineseNamesAreBrokenNotCut() {
        open(written(chinese, {.epochs = 2, .stepsPerEpoch = 12, .firstRun = 200}));
        uitest::picture(*m_window, m_theme, "live-chinese");
        QTRY_COMPARE(overflowing(), QString());
        for (int row = 0; row < list()->model()->rowCount(); ++row) {
            QVERIFY(list()->rowHeight(row) >= 2 * int(nameLine));
            QVERIFY(list()
                        ->model()
                        ->index(row, 0)
                        .data(Qt::ToolTipRole)
                        .toString()
                        .contains(list()->model()->index(row, 0).data().toString()));
        }
    }

    void theEndOfACommandThatStartedTheRanksIsAfterNoRanksStep() {
        core::PlannedRun planned;
        planned.name = "torchrun";
        planned.config.method = Method::Ddp;
        planned.config.devices = {"0", "1"};
        uitest::RunWriter writer(planned, {}, 300, 1'767'000'000'000'000, {.epochs = 2, .stepsPerEpoch = 12});
        writer.begin();
        writer.epoch(1);
        writer.died(0, "the command on box1 was killed by SIGKILL");
        open(writer.run);
        QCOMPARE(core::endReason(*m_workspace->runs().at(0)), std::string("the command on box1 was killed by SIGKILL"));
    }

    void devicesOfARunThatWasStartedElsewhereAreNotPromised() {
        core::PlannedRun planned;
        planned.name = "mine";
        planned.config.devices = {"0"};
        uitest::RunWriter writer(planned, {}, 302, 1'767'000'000'000'000, {.epochs = 2, .stepsPerEpoch = 12});
        MachineRecord &machine = writer.record.machines.front();
        machine = {}; // as of ranks that only report, a trainer's too
        machine.host = "box";
        QVERIFY(realFileSystem().writeAtomically(writer.folder.config(), toJson(writer.record)).has_value());
        writer.begin();
        const auto agent = FileLock::acquire(writer.folder.lock(0)); // it goes on
        QVERIFY(agent.has_value());
        openWindow({1280, 800});
        QVERIFY(m_workspace->open(QString::fromStdString(writer.run)).has_value());
        m_window->showPage(Page::Live);
        QTRY_COMPARE(live()->lanes()->emptyText(),
                     QStringLiteral("Devices of a run that was started elsewhere are not sampled"));
    }

    void inTheListAReasonBeginsWithWhatTheRankItselfWrote() {
        core::PlannedRun planned;
        planned.name = "DDP on 2 devices";
        planned.config.method = Method::Ddp;
        planned.config.devices = {"0", "1"};
        uitest::RunWriter writer(planned, {}, 301, 1'767'000'000'000'000, {.epochs = 2, .stepsPerEpoch = 12});
        writer.begin();
        writer.epoch(1);
        writer.died(1, "rank 1 on box1 exited with code 1: /opt/env/bin/python3.11: No module named lockstep");
        open(writer.run);
        const QModelIndex name = list()->model()->index(0, core::RunChoiceModel::Name);
        QTRY_COMPARE(name.data(core::ReasonRole).toString(), QStringLiteral("No module named lockstep"));
        QVERIFY2(name.data(Qt::ToolTipRole)
                     .toString()
                     .contains(QStringLiteral(
                         "failed: rank 1 on box1 exited with code 1 after step 11: /opt/env/bin/python3.11: No")),
                 qPrintable(name.data(Qt::ToolTipRole).toString()));
    }

    void aFailedRunIsRedWithItsReasonAndItsConsoleOnePressAway() {
        core::PlannedRun planned;
        planned.name = "DDP on 2 devices";
        planned.config.method = Method::Ddp;
        planned.config.devices = {"0", "1"};
        uitest::RunWriter writer(planned, {}, 300, 1'767'000'000'000'000, {.epochs = 2, .stepsPerEpoch = 12});
        writer.begin();
        writer.epoch(1);
        writer.died(1, "rank 1 on box1 was killed by SIGKILL");
        open(writer.run);
        const core::RunStore &store = *m_workspace->runs().at(0);
        QVERIFY(core::hasFailed(store));
        QCOMPARE(core::endReason(store), std::string("rank 1 on box1 was killed by SIGKILL after step 11"));
        const QModelIndex name = list()->model()->index(0, core::RunChoiceModel::Name);
        QTRY_COMPARE(name.data(core::ReasonRole).toString(), QString::fromStdString(core::endReason(store)));
        QVERIFY(name.data(Qt::ToolTipRole).toString().contains("failed: rank 1 on box1"));
        const QImage picture = list()->viewport()->grab(list()->visualRect(name)).toImage();
        bool red = false;
        for (int y = 0; y < picture.height() && !red; ++y)
            for (int x = 0; x < picture.width() && !red; ++x)
                red = picture.pixelColor(x, y) == m_theme.palette().wrong;
        QVERIFY(red);
        uitest::picture(*m_window, m_theme, "live-failed");
        auto *console =
            qobject_cast<QToolButton *>(list()->indexWidget(name.siblingAtColumn(core::RunChoiceModel::Loss)));
        QVERIFY(console && console->isVisible());
        QVERIFY(!m_window->drawer()->isUnfolded());
        QTest::mouseClick(console, Qt::LeftButton);
        QTRY_VERIFY(m_window->drawer()->isUnfolded());
        QTRY_COMPARE(m_window->drawer()->table()->currentIndex().data(core::RunIdRole).toString(), store.runId());
    }
};

QTEST_MAIN(ManyRunsTest)
#include "many_runs_test.moc"

// SPDX-License-Identifier: MIT
// Experiments of different outcome, as the window shows them: the first screen of Verdict answers whether DP and DDP are worth it, and
// why. With LOCKSTEP_SHOTS each is a picture.
#include <QElapsedTimer>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QTableView>
#include <QTimer>

#include "app/ui/pages/shared/use_model.h"
#include "app/ui/pages/verdict/verdict_bars.h"
#include "app/ui/pages/verdict/verdict_findings.h"
#include "app/ui/pages/verdict/verdict_head.h"
#include "app/ui/pages/verdict/verdict_page.h"
#include "app/ui/pages/verdict/verdict_target.h"
#include "app/ui/shell/suggested_runs.h"
#include "app/ui/shell/workspace.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/wrapped_label.h"
#include "base/format.h"
#include "models/result_model.h"
#include "models/target_model.h"
#include "queue/slurm/slurm_experiment.h"
#include "window_fixture.h"

using namespace lockstep;
using namespace lockstep::ui;

namespace {

/// DDP's second repeat, and all of DP, ended as a killed rank ends them.
std::string withDeaths(const uitest::Shape &shape) {
    const std::string id = uitest::writeExperimentOnDisk(shape);
    auto experiment = core::readExperiment(id);
    std::uint32_t number = shape.firstRun + 40;
    for (core::ExperimentEntry &entry : experiment->entries) {
        const Method method = entry.planned.config.method;
        if (!entry.planned.runnable() ||
            !(method == Method::Dp || (method == Method::Ddp && entry.planned.repeat == 2)))
            continue;
        const std::string reason = "rank 0 on box1 was killed by SIGKILL";
        uitest::RunWriter writer(entry.planned, id, number++, 1'767'400'000'000'000, shape);
        writer.begin();
        writer.epoch(1);
        writer.died(0, reason);
        entry.run = writer.run;
        entry.state = core::EntryState::Failed;
        entry.reason = reason;
    }
    (void)core::writeExperiment(*experiment);
    return id;
}

} // namespace

class OutcomesTest : public QObject, uitest::WindowFixture {
    Q_OBJECT
    uitest::Home m_home;

    /// The words of the head that lie on the first screen of the page.
    [[nodiscard]] QStringList seen() const {
        QStringList out;
        for (const QLabel *label : m_window->verdictPage()->head()->findChildren<QLabel *>())
            if (label->isVisible() &&
                label->mapTo(m_window.get(), QPoint(0, label->height())).y() <= m_window->height())
                out.append(label->text());
        return out;
    }
    [[nodiscard]] bool sees(const QString &words) const { return !seen().filter(words).isEmpty(); }

    void show(const char *name, const std::string &id) {
        openWindow({1280, 800});
        openOnLive(id);
        m_window->showPage(Page::Verdict);
        QTRY_VERIFY(!m_window->verdictPage()->sentence().isEmpty() && sees(QStringLiteral("DDP on 2 devices")));
        QTest::qWait(120);
        for (const QScrollArea *area : m_window->verdictPage()->findChildren<QScrollArea *>())
            QCOMPARE(area->horizontalScrollBar()->maximum(), 0); // buttons and names share the width
        uitest::picture(*m_window, m_theme, name);
    }

private Q_SLOTS:
    void cleanup() { closeWindow(); }

    void ddpIsWorthItAndDpIsNot() {
        show("outcome-worth-it", uitest::writeExperimentOnDisk({.repeats = 5, .firstRun = 1, .spread = 0.02}));
        QVERIFY2(seen().contains("worth it"), qPrintable(seen().join(QChar(0x7c))));
        QVERIFY2(seen().contains("not worth it"), qPrintable(seen().join('|')));
        QVERIFY(sees(QStringLiteral(" efficient"))); // by how much
        QVERIFY(sees(QStringLiteral("extra time"))); // and why
        QVERIFY2(
            sees(QStringLiteral("× is the training time of baseline, or of the run that a line names, ÷ the run's own. "
                                "95 % intervals, 5 repeats each.")),
            qPrintable(seen().join('|')));
    }

    void neitherIsWorthIt() {
        show("outcome-not-worth-it",
             uitest::writeExperimentOnDisk({.repeats = 5, .firstRun = 41, .ddpFactor = 1.3, .spread = 0.02}));
        QCOMPARE(seen().count("not worth it"), 2);
        QVERIFY2(!seen().contains("worth it") && !seen().contains("can't tell yet"), qPrintable(seen().join('|')));
    }

    void repeatsScatterSoThatNobodyCanTellYet() {
        show("outcome-scatter",
             uitest::writeExperimentOnDisk({.repeats = 3, .firstRun = 81, .ddpFactor = 0.97, .spread = 0.12}));
        QVERIFY2(seen().contains("can't tell yet"), qPrintable(seen().join('|')));
        QVERIFY(sees(QStringLiteral("repeats")));
        QVERIFY(!m_window->verdictPage()->settleButtons().isEmpty()); // and the way out is one press away
        const core::Judgement &judgement = m_workspace->results().judgement().judgement();
        const auto listed = judgement.otherReservations.size();
        QVERIFY2(listed < judgement.reservations.size(), "the button says the others");
        const QString live = m_window->livePage()->verdictLabel()->text();
        QVERIFY2(live.contains(QStringLiteral(": can't tell yet, ").toHtmlEscaped()), qPrintable(live));
        QVERIFY2(live.contains(listed == 0   ? QStringLiteral(">Why?<")
                               : listed == 1 ? QStringLiteral(">Why? One reservation<")
                                             : QStringLiteral(">Why? %1 reservations<").arg(listed)),
                 qPrintable(live));
    }

    void otherProgramsMadeTheComparisonWorthless() {
        show("outcome-load",
             uitest::writeExperimentOnDisk(
                 {.repeats = 4, .firstRun = 121, .ddpFactor = 0.9, .spread = 0.02, .othersCores = 1.2}));
        QVERIFY2(seen().contains("can't tell yet"), qPrintable(seen().join('|')));
        QVERIFY2(sees(QStringLiteral("ther programs took 1.2 cores")), qPrintable(seen().join('|')));
        QVERIFY(!m_window->verdictPage()->settleButtons().isEmpty());
    }

    void theFastestIsSoFarTheFastestOnlyWhileRunsAreToCome() {
        core::Judgement judgement;
        judgement.reference = "baseline";
        core::PairJudgement pair;
        pair.run = "DDP on 2 devices";
        pair.training.emplace();
        pair.training->factor = 1.5;
        judgement.pairs = {pair};
        QCOMPARE(fastestFinding(judgement, false), QStringLiteral("Fastest training so far: DDP (2), 1.50×"));
        QCOMPARE(fastestFinding(judgement, true), QStringLiteral("Fastest measured, undecided: DDP (2), 1.50×"));
        judgement.pairs[0].training->factor = 0.9;
        QCOMPARE(fastestFinding(judgement, false), QStringLiteral("No run here is faster than baseline so far"));
        QCOMPARE(fastestFinding(judgement, true),
                 QStringLiteral("Undecided: no run here measured faster than baseline"));
    }

    void aRunOfOtherWorkIsNotTheFastestWhetherOrNotItHasALine() {
        core::Judgement judgement;
        core::PairJudgement pair;
        pair.run = "DDP on 2 devices";
        pair.training.emplace();
        pair.training->factor = 1.5;
        core::PairJudgement less = pair; // epochs
        less.run = "DDP on 2 devices, 1 epoch";
        less.training->factor = 4.76;
        less.otherWork = true;
        judgement.pairs = {pair, less};
        const auto named = QStringLiteral("Fastest measured, undecided: DDP (2), 1.50×");
        QCOMPARE(fastestFinding(judgement, true), named);
        core::VerdictLine line; // over a control
        line.run = less.run;
        line.speedUp = less.training;
        judgement.lines = {line};
        QCOMPARE(fastestFinding(judgement, true), named);
        judgement.pairs = {less};
        QCOMPARE(fastestFinding(judgement, true), QString());
    }

    void aBarThatIsMissingSaysWhatWasDone() {
        core::ResultRow stopped;
        stopped.name = "baseline, item loader";
        stopped.state = "stopped";
        stopped.planned = 2;
        core::ResultTable table;
        table.rows = {stopped};
        QCOMPARE(speedUpBars(table).front().text, QStringLiteral("stopped"));
        table.rows[0].repeats = 1;
        table.rows[0].totalTrainingTimeS = 13.8;
        QCOMPARE(speedUpBars(table).front().text, QStringLiteral("stopped: 1 of 2 done, 13.8 s"));
        table.rows[0].state = "done";
        table.rows[0].otherWork = true;
        QCOMPARE(speedUpBars(table).front().text, QStringLiteral("other work"));

        core::ResultRow reference;
        reference.name = "baseline";
        reference.reference = true;
        reference.state = "failed";
        reference.repeats = 0;
        reference.planned = 2;
        table.rows[0].otherWork = false;
        table.rows.insert(table.rows.begin(), reference);
        QVERIFY(speedUpBars(table).front().text.startsWith("failed"));
        QCOMPARE(speedUpBars(table).back().text, QStringLiteral("not compared: baseline failed"));
        table.rows[0].state = "training";
        QCOMPARE(speedUpBars(table).back().text, QStringLiteral("done"));
    }

    void whatNoRunHasTakesNoColumnOfResultsAndALongNameHasRoom() {
        auto recipe = core::loadRecipe("lenet-dp-vs-ddp");
        recipe->runs.at(2).name = "a name of many words, among them some that tell it apart from those of other runs";
        const std::string id = uitest::writeOnDisk(*recipe, {.repeats = 3, .firstRun = 361, .spread = 0.02}, false);
        openWindow({1280, 800});
        openOnLive(id);
        m_window->showPage(Page::Verdict);
        const QTableView *table = m_window->verdictPage()->table();
        using Column = core::ResultModel::Column;
        QTRY_VERIFY(table->columnWidth(Column::Name) > 400);
        QVERIFY(!table->isColumnHidden(Column::SpeedUpTraining) && !table->isColumnHidden(Column::Accuracy));
        QVERIFY2(table->isColumnHidden(Column::GpuEnergy), "there is no GPU");
        QTableView *targets = m_window->verdictPage()->target()->table();
        QVERIFY(!targets->isColumnHidden(core::TargetModel::SpeedUpColumn));
        QVERIFY2(targets->isColumnHidden(core::TargetModel::Energy), "nobody measured it");
    }

    void aNameThatLooksLikeMarkupIsShownAsItIs() {
        auto recipe = core::loadRecipe("lenet-dp-vs-ddp");
        recipe->runs.at(2).name = "<b>net.pt</b> & <i>more</i>"; // DDP
        const std::string id = uitest::writeOnDisk(*recipe, {.repeats = 3, .firstRun = 301, .spread = 0.02}, false);
        openWindow({1280, 800});
        openOnLive(id);
        for (const Page page : {Page::Verdict, Page::Runs}) {
            m_window->showPage(page);
            QTRY_VERIFY(!m_window->verdictPage()->sentence().isEmpty());
            QTest::qWait(120);
        }
        int shown = 0;
        for (const QLabel *label : m_window->findChildren<QLabel *>())
            if (label->text().contains(QStringLiteral("<b>net.pt"))) {
                QVERIFY2(label->textFormat() == Qt::PlainText, qPrintable(label->text()));
                ++shown;
            }
        QVERIFY(shown > 2);
    }

    void aDevicesUseStandsInTheColumnOfItsEpochAndARunHasABoundedNumberOfRows() {
        core::ResultRow run;
        run.name = "DDP";
        for (const int number : {2, 3, 4}) { // it went on from a checkpoint
            core::MergedEpoch epoch;
            epoch.epoch = number;
            for (int i = 0; number < 4 && i < 3000; ++i) { // some at both, some at one
                core::DeviceUse use;
                use.device = "cpu:" + std::to_string(2000 * (number - 2) + i);
                use.utilizationMean = 0.25 * number;
                use.utilizationMax = 1;
                epoch.devices.push_back(use);
            }
            run.epochs.push_back(epoch);
        }
        core::ResultTable table;
        table.rows = {run};
        UseModel model;
        model.setTable(table);
        QCOMPARE(model.rowCount(), int(core::mostRunDevices));
        QCOMPARE(model.columnCount(), 2 + 4);
        const auto cell = [&](int row, int column) { return model.index(row, column).data().toString(); };
        QCOMPARE(cell(2500, 1), QStringLiteral("cpu:2500"));
        QCOMPARE(cell(2500, 2), core::percent(std::nullopt, 0));
        QCOMPARE(cell(2500, 3), core::percent(0.5, 0));
        QCOMPARE(cell(2500, 4), core::percent(0.75, 0));
        QCOMPARE(cell(2500, 5), core::percent(std::nullopt, 0));
        QCOMPARE(cell(0, 4), core::percent(std::nullopt, 0));
    }

    void thePauseBeforeResultsAreJudgedAgainCountsWhatShowingThemTook() {
        constexpr int showingMs = 120;
        const std::string id = uitest::writeExperimentOnDisk({.firstRun = 341});
        Workspace workspace;
        connect(&workspace, &Workspace::resultsChanged, this, [this] { // as a layout does
            QMetaObject::invokeMethod(
                this,
                [this] {
                    QMetaObject::invokeMethod(
                        this,
                        [] {
                            QElapsedTimer clock;
                            clock.start();
                            while (clock.elapsed() < showingMs) {
                            }
                        },
                        Qt::QueuedConnection);
                },
                Qt::QueuedConnection);
        });
        const auto *pause = workspace.results().findChild<QTimer *>();
        QVERIFY(pause);
        QVERIFY(workspace.open(QString::fromStdString(id)).has_value());
        QTRY_VERIFY(pause->interval() >= 3 * showingMs);
    }

    void runsFailed() {
        show("outcome-failed", withDeaths({.repeats = 4, .firstRun = 161, .spread = 0.02}));
        QVERIFY2(seen().contains("failed"), qPrintable(seen().join('|')));
        QVERIFY2(sees(QStringLiteral("ank 0 on box1 was killed by SIGKILL after step 59")),
                 qPrintable(seen().join('|')));
        QVERIFY2(sees(QStringLiteral("Repeat 2 failed")), qPrintable(seen().join('|')));
        QVERIFY2(seen().contains("worth it"), qPrintable(seen().join('|'))); // what the other repeats tell
        QCOMPARE(m_window->verdictPage()->settleButtons().size(), 1);
        const QPushButton *again = m_window->verdictPage()->settleButtons().front();
        QCOMPARE(again->text(), QStringLiteral("Run again"));
        QVERIFY(again->isEnabled());
    }

    void ofAnExperimentInSlurmNoRunIsOfferedThatItsQueueWouldRefuse() {
        const std::string id = withDeaths({.repeats = 4, .firstRun = 441, .spread = 0.02});
        const core::SlurmRecord record{"12", {0}, {"20260102T030405Z-89abcdef"}};
        QVERIFY(core::writeSlurmRecord(id, record).has_value());
        show("outcome-slurm", id);
        QVERIFY2(seen().contains("failed"), qPrintable(seen().join('|')));
        QVERIFY(m_window->verdictPage()->settleButtons().isEmpty());
        QVERIFY2(m_workspace->suggested().whyNotTry().startsWith("Its queue is Slurm's: "),
                 qPrintable(m_workspace->suggested().whyNotTry()));
    }
};

QTEST_MAIN(OutcomesTest)
#include "outcomes_test.moc"

// SPDX-License-Identifier: MIT
// Verdict's advice: what it says of an experiment on disk, and that one press asks the queue for the run that would show more.
#include <QAbstractItemModelTester>
#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QRegularExpression>

#include "analysis/causes/dp_anatomy.h"
#include "analysis/causes/median_repeat.h"
#include "app/ui/charts/anatomy_view.h"
#include "app/ui/charts/bar_chart.h"
#include "app/ui/charts/stage_view.h"
#include "app/ui/charts/waterfall.h"
#include "app/ui/pages/verdict/accuracy_card.h"
#include "app/ui/pages/verdict/verdict_advice.h"
#include "app/ui/pages/verdict/verdict_anatomy.h"
#include "app/ui/pages/verdict/verdict_causes.h"
#include "app/ui/pages/verdict/verdict_controls.h"
#include "app/ui/pages/verdict/verdict_findings.h"
#include "app/ui/pages/verdict/verdict_page.h"
#include "app/ui/pages/verdict/verdict_stages.h"
#include "app/ui/pages/verdict/verdict_target.h"
#include "app/ui/pages/verdict/verdict_traffic.h"
#include "app/ui/shell/exporter.h"
#include "app/ui/shell/workspace.h"
#include "app/ui/theme/theme.h"
#include "experiment/recipe.h"
#include "ipc/unix_socket.h"
#include "models/judgement_model.h"
#include "models/roles.h"
#include "models/target_model.h"
#include "queue/queue_request.h"
#include "tests/app/asked_requests.h"
#include "tests/qt_test.h"
#include "ui_fixture.h"

using namespace lockstep;
using namespace lockstep::ui;

namespace {

core::Judgement unfair() {
    core::Judgement judgement;
    judgement.reference = "baseline";
    core::SuggestedRun control{"baseline, 4 workers", "What do the workers do by themselves?", {}};
    control.config.workers = 4;
    core::PairJudgement pair;
    pair.reference = "baseline";
    pair.run = "DDP on 2 devices";
    pair.fairness = {
        {"workers", "Loading workers", "0", "4", core::FairnessWeight::Decisive, "DDP loads with 4 workers.", control},
        {"seed", "Seed", "1", "2", core::FairnessWeight::Minor, "Other seeds.", std::nullopt}};
    judgement.pairs = {pair};
    judgement.bottlenecks = {{"baseline", core::Bound::Input, 0.5, "Loading takes half.", {control}}};
    return judgement;
}

core::PairJudgement pairOf(const std::string &run, double factor, double loadingS) {
    core::PairJudgement pair;
    pair.reference = "baseline";
    pair.run = run;
    pair.training =
        core::SpeedUp{factor, factor * 0.98, factor * 1.02, core::IntervalMethod::Welch, 0.001, 3, 3, 1, true};
    core::Attribution &found = pair.attribution.emplace();
    found.referenceS = 10;
    found.runS = found.referenceS + loadingS;
    found.bars = {{core::Cause::DataLoading, loadingS, {}, {}}};
    return pair;
}

QList<WaterfallBar> threeBars() {
    const QColor grey("#6b7280"), blue("#0072b2");
    return {{"baseline", 10, 0, 0, true, false, grey, {}},
            {"data loading", -6, -7, -5, false, false, blue, {}},
            {"DDP on 2 devices", 4, 0, 0, true, false, blue, {}}};
}

/// Columns from the first to the last pixel of that colour in the row of pixels.
std::pair<int, int> columnsOf(const QImage &image, int y, const QColor &color) {
    std::pair<int, int> found{-1, -1};
    const auto near = [](int a, int b) { return std::abs(a - b) <= 2; };
    for (int x = 0; x < image.width(); ++x)
        if (const QColor seen = image.pixelColor(x, y);
            near(seen.red(), color.red()) && near(seen.green(), color.green()) && near(seen.blue(), color.blue())) {
            found.first = found.first < 0 ? x : found.first;
            found.second = x;
        }
    return found;
}

/// Verdict, laid out as in a window, over an experiment on disk that is read as far as it goes. Its queue's owner is this process.
struct OpenVerdict {
    uitest::Home home;
    std::string id;
    Result<FileLock> owner;
    Workspace workspace;
    VerdictPage page;

    OpenVerdict(Theme &theme, const uitest::Shape &shape)
        : OpenVerdict(theme, [&] { return uitest::writeExperimentOnDisk(shape); }) {}
    /// An experiment of that recipe.
    OpenVerdict(Theme &theme, const char *recipe, const uitest::Shape &shape)
        : OpenVerdict(theme, [&] { return uitest::writeOnDisk(*core::loadRecipe(recipe), shape); }) {}

private:
    template <class Write>
    OpenVerdict(Theme &theme, const Write &write)
        : id(write()), owner(FileLock::acquire(core::experimentFolder(id).lock())), page(theme, workspace) {
        QVERIFY(owner.has_value());
        page.resize(1280, 800);
        page.show();
        const auto opened = workspace.open(QString::fromStdString(id));
        QVERIFY2(opened.has_value(), opened ? "" : opened.error().message().c_str());
        QTRY_VERIFY(workspace.complete() && workspace.settled());
    }
};

} // namespace

class VerdictTest : public QObject {
    Q_OBJECT
    Theme m_theme{ThemeMode::Light};

private Q_SLOTS:
    void theModelListsUnfairnessFirstThenWhatBoundsEachRun() {
        core::JudgementModel model;
        const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        model.setJudgement(unfair());
        QCOMPARE(model.rowCount(), 3);
        QCOMPARE(model.index(0).data(core::LevelRole).toString(), QStringLiteral("decisive"));
        QCOMPARE(model.index(0).data(core::ValueRole).toString(), QStringLiteral("DDP (2)"));
        QVERIFY(model.kindOf(1) == core::JudgementModel::Kind::Finding && model.suggestions(1).empty());
        QVERIFY(model.kindOf(2) == core::JudgementModel::Kind::Bottleneck);
        QCOMPARE(model.index(2).data().toString(), QStringLiteral("Loading takes half."));
        QCOMPARE(model.suggestions(2).front().config.workers, 4);
        QVERIFY(model.index(2).data(Qt::ToolTipRole).toString().contains("20 % of training time goes into loading"));
    }

    void findingsAreHeaviestFirstWhicheverPairTheyAreOf() {
        core::Judgement judgement;
        judgement.pairs = {pairOf("DP on 2 devices", 0.5, 4), pairOf("DDP on 2 devices", 2, -4)};
        const auto finding = [](core::FairnessWeight weight, const char *sentence) {
            return core::FairnessFinding{"key", "Label", "0", "1", weight, sentence, std::nullopt};
        };
        judgement.pairs[0].fairness = {finding(core::FairnessWeight::Notable, "notable of DP"),
                                       finding(core::FairnessWeight::Minor, "minor of DP")};
        judgement.pairs[1].fairness = {finding(core::FairnessWeight::Decisive, "decisive of DDP"),
                                       finding(core::FairnessWeight::Notable, "notable of DDP")};
        core::JudgementModel model;
        model.setJudgement(judgement);
        QStringList said;
        for (int row = 0; row < model.rowCount(); ++row)
            said.append(model.index(row).data().toString());
        QCOMPARE(said, QStringList({"decisive of DDP", "notable of DP", "notable of DDP", "minor of DP"}));
        QCOMPARE(fairnessFinding(judgement),
                 QStringLiteral("Unintended differences: 1 decisive, 1 notable in 2 comparisons, 1 minor"));
    }

    void thePairThatTheSentenceExplainsIsTheLargestGainElseTheLargestLoss() {
        core::JudgementModel model;
        QVERIFY(!model.explainedPair());
        core::Judgement judgement;
        judgement.pairs = {pairOf("DP on 2 devices", 0.5, 4), pairOf("DDP on 2 devices", 1.5, -3),
                           pairOf("DDP on 4 devices", 2, -4)};
        model.setJudgement(judgement);
        QCOMPARE(*model.explainedPair(), std::size_t(2));
        judgement.pairs[2].attribution.reset(); // nothing can be drawn of it
        model.setJudgement(judgement);
        QCOMPARE(*model.explainedPair(), std::size_t(1));
        judgement.pairs[1].training->different = false; // can't be told apart
        model.setJudgement(judgement);
        QCOMPARE(*model.explainedPair(), std::size_t(0));
        judgement.pairs.erase(judgement.pairs.begin());
        model.setJudgement(judgement);
        QCOMPARE(*model.explainedPair(), std::size_t(0)); // the first that was attributed
    }

    void theWaterfallsTitleSaysWhatItsBarsAddUpToAndLeavesTheReasonToTheHead() {
        core::PairJudgement pair = pairOf("DDP on 2 devices", 1.4, -3);
        core::Attribution &found = *pair.attribution;
        found.bars.push_back({core::Cause::Communication, 0.5, {}, {}});
        found.runS = 7.5;
        QCOMPARE(causeFinding(pair), QStringLiteral("3.0 s saved, 0.5 s added"));
        pair.wholeRun = core::SpeedUp{1.1, 0.9, 1.3, core::IntervalMethod::Welch, 0.3, 3, 3, 1, false};
        QVERIFY2(causeFinding(pair).endsWith(u"added, maybe chance"), qPrintable(causeFinding(pair)));
        found.bars = {{core::Cause::Communication, 2, {}, {}}};
        found.runS = 12;
        pair.wholeRun.reset();
        QCOMPARE(causeFinding(pair), QStringLiteral("2.0 s added"));
    }

    void aSettingsEffectIsALineAndTheRunsItRestsOnAreItsHint() {
        const core::FactorEffect effect{
            "lr", "lr 0.1 instead of 0.01", -1, -1.5, -0.5, {"baseline, lr 0.1", "DDP on 2 devices"}};
        QCOMPARE(factorLine(effect, 10),
                 QStringLiteral("lr 0.1 instead of 0.01: −1.00 s (−1.50 s to −0.50 s by the order of changes)"));
        QVERIFY(factorHelp({effect, effect}).endsWith(u"\nbaseline, lr 0.1\nDDP on 2 devices"));
    }

    void whatBoundsAllRunsAlikeIsSaidWithoutTheirNames() {
        core::Judgement judgement;
        judgement.bottlenecks = {{"baseline", core::Bound::Compute, 0.9, {}, {}},
                                 {"DDP on 2 devices", core::Bound::Compute, 0.8, {}, {}}};
        QCOMPARE(boundsFinding(judgement), QStringLiteral("All compute-bound"));
        judgement.bottlenecks[1].bound = core::Bound::Input;
        QCOMPARE(boundsFinding(judgement), QStringLiteral("Compute-bound: baseline. Input-bound: DDP (2)"));
    }

    void missingControlsAreOfferedUnderTheWaterfallEachWithItsKeys() {
        VerdictControls controls;
        QVERIFY(controls.isHidden());
        const core::SuggestedRun one{"baseline, 4 workers", "What do the workers do?", {}};
        controls.setRuns({one, {"b", "B?", {}}, {"c", "C?", {}}, {"d", "D?", {}}});
        QVERIFY(!controls.isHidden());
        QCOMPARE(controls.buttons().all().size(), 3); // the most telling ones
        QPushButton *button = controls.buttons().all().front();
        QCOMPARE(button->text(), QStringLiteral("Run baseline, 4 workers"));
        QVERIFY2(button->toolTip().contains("What do the workers do? (Ctrl+G, A)"), qPrintable(button->toolTip()));
        QString wanted;
        connect(&controls.buttons(), &SuggestionButtons::wanted, this,
                [&](const core::SuggestedRun &run) { wanted = QString::fromStdString(run.name); });
        button->click();
        QCOMPARE(wanted, QStringLiteral("baseline, 4 workers"));
        controls.buttons().setStartable(false, QStringLiteral("somebody else runs"));
        QVERIFY(!button->isEnabled());
        QCOMPARE(button->toolTip(), QStringLiteral("somebody else runs"));
        controls.setRuns({});
        QVERIFY(controls.isHidden() && controls.buttons().all().isEmpty());
    }

    void aLongNameOfAControlMakesThePageNoWider() {
        VerdictControls controls;
        QString name = QStringLiteral("DP on 2 devices");
        for (int setting = 0; setting < 20; ++setting)
            name += QStringLiteral(", setting %1").arg(setting);
        controls.setRuns({{name.toStdString(), "Why?", {}}});
        QCOMPARE(controls.buttons().all().front()->text(), QStringLiteral("Run ") + name);
        QVERIFY(controls.minimumSizeHint().width() < 300);
    }

    void aBarsHintHasTheWholeNameAndTheInterval() {
        BarChart chart(m_theme, QStringLiteral("speed-up"));
        chart.setBars(
            {{"baseline, workers 0, batch", QColor("#6b7280"), false, 1.74, "1.74×", "measured here", 1.7, 1.78},
             {"DDP <2>", QColor("#0072b2"), false, 2.0, "2.00×", "measured here"}});
        QCOMPARE(chart.hintOf(0),
                 QStringLiteral("<b>baseline, workers 0, batch</b> 1.74×<br>95 % interval 1.70-1.78<br>"
                                "measured here"));
        QCOMPARE(chart.hintOf(1), QStringLiteral("<b>DDP &lt;2&gt;</b> 2.00×<br>measured here"));
    }

    void eachAdviceHasAButtonThatSaysWhyAndNamesItsKeys() {
        core::JudgementModel model;
        VerdictAdvice advice(m_theme, model, core::JudgementModel::Kind::Finding);
        QCOMPARE(advice.count(), 0);
        model.setJudgement(unfair());
        QCOMPARE(advice.count(), 2);
        QCOMPARE(advice.buttons().all().size(), 1);
        QPushButton *button = advice.buttons().all().front();
        QCOMPARE(button->text(), QStringLiteral("Run baseline, 4 workers"));
        QVERIFY2(button->toolTip().contains("What do the workers do by themselves? (Ctrl+Y, A)"),
                 qPrintable(button->toolTip()));
        QString wanted;
        connect(&advice.buttons(), &SuggestionButtons::wanted, this,
                [&](const core::SuggestedRun &run) { wanted = QString::fromStdString(run.name); });
        button->click();
        QCOMPARE(wanted, QStringLiteral("baseline, 4 workers"));
        advice.buttons().setStartable(false, QStringLiteral("somebody else runs"));
        QVERIFY(!button->isEnabled());
        QCOMPARE(button->toolTip(), QStringLiteral("somebody else runs"));
    }

    void ofThousandsOfFindingsTheFirstHaveRows() {
        core::Judgement judgement = unfair();
        judgement.pairs.front().fairness.assign(1000, judgement.pairs.front().fairness.front());
        for (int number = 0; core::FairnessFinding & one : judgement.pairs.front().fairness)
            one.sentence += std::to_string(number++);
        core::JudgementModel model;
        model.setJudgement(judgement);
        VerdictAdvice advice(m_theme, model, core::JudgementModel::Kind::Finding);
        QCOMPARE(advice.count(), 1000);
        QCOMPARE(advice.buttons().all().size(), VerdictAdvice::mostRows);
        const auto labels = advice.findChildren<QLabel *>();
        QCOMPARE(labels.back()->text(), QStringLiteral("The first 20 of 1,000 are shown; an export has all"));
    }

    void aWaterfallStartsEachCauseWhereTheLastOneEnded() {
        Waterfall waterfall(m_theme, QStringLiteral("waterfall"));
        waterfall.setBars(threeBars());
        waterfall.resize(640, waterfall.sizeHint().height());
        const QImage image = waterfall.grab().toImage();
        const double row = double(waterfall.height() - 34) / 3;
        const auto total = columnsOf(image, int(std::min(row, 40.0) * 0.3), QColor("#6b7280"));
        const auto last = columnsOf(image, int(std::min(row, 40.0) * 2.3), QColor("#0072b2"));
        const QColor soft = mix(m_theme.palette().surface, QColor("#0072b2"), 0.74);
        const auto saved = columnsOf(image, int(std::min(row, 40.0) * 1.3), soft);
        QVERIFY(total.first >= 0 && last.first >= 0 && saved.first >= 0);
        QVERIFY2(std::abs(total.second - saved.second) <= 2, "the saving ends where the reference ended");
        QVERIFY2(std::abs(last.second - saved.first) <= 2, "the run ends where the saving began");
        QVERIFY(std::abs(double(last.second - last.first) / double(total.second - total.first) - 0.4) < 0.02);
        QVERIFY(waterfall.chartData().contains("data loading\t-6\t-7\t-5\tfalse"));
    }

    void theVerdictOfAnExperimentExplainsBoundsAndAsksItsQueueByOnePress() {
        OpenVerdict verdict(m_theme, {.epochs = 3, .repeats = 3, .loadShare = 0.3});
        VerdictPage &page = verdict.page;
        Workspace &workspace = verdict.workspace;
        QVERIFY2(page.sentence().contains("DDP on 2 devices: "), qPrintable(page.sentence()));
        const QList<WaterfallBar> &bars = page.waterfall()->bars();
        QCOMPARE(bars.size(), 8); // the reference, six causes, the run
        double sum = bars.front().seconds;
        for (qsizetype i = 1; i + 1 < bars.size(); ++i)
            sum += bars[i].seconds;
        QVERIFY(std::abs(sum - bars.back().seconds) < 1e-9);
        QComboBox *pairs = page.pairBox();
        QCOMPARE(pairs->count(), 2);
        QCOMPARE(pairs->currentText(), QStringLiteral("DDP on 2 devices")); // what the sentence explains first
        QCOMPARE(page.waterfall()->bars().back().name, pairs->currentText());
        pairs->setCurrentIndex(0);
        QCOMPARE(page.waterfall()->bars().back().name, QStringLiteral("DP on 2 devices"));
        Q_EMIT workspace.resultsChanged();
        QCOMPARE(pairs->currentText(), QStringLiteral("DP on 2 devices")); // a choice stays
        QCOMPARE(page.fairWord()->isVisibleTo(&page), page.fairness()->count() == 0);
        const auto speed = page.speedUps()->bars();
        QVERIFY(std::any_of(speed.begin(), speed.end(), [](const BarData &bar) { return bar.low && bar.high; }));
        const core::ResultModel &results = workspace.results().rows();
        for (int row = 0; row < results.rowCount(); ++row)
            if (results.rowAt(row).name == "DDP on 2 devices" && !results.rowAt(row).published) {
                const QModelIndex cell = results.index(row, core::ResultModel::SpeedUpTraining);
                QVERIFY2(cell.data().toString().contains(" ("), qPrintable(cell.data().toString()));
                QVERIFY2(cell.data(Qt::ToolTipRole).toString().contains("95 % interval"),
                         qPrintable(cell.data(Qt::ToolTipRole).toString()));
            }
        QCOMPARE(page.bottlenecks()->count(), 3);

        QPushButton *tip = nullptr;
        for (QPushButton *button : page.bottlenecks()->buttons().all())
            tip = tip ? tip : button;
        QVERIFY(tip && tip->isEnabled());
        const QString name = tip->text().mid(int(QStringLiteral("Try ").size()));
        tip->click();
        const auto asked = lockstep::test::takeRequests(core::experimentFolder(verdict.id));
        QCOMPARE(asked.size(), std::size_t(1));
        QVERIFY(asked[0].kind == core::QueueRequest::Kind::Add && asked[0].added);
        QCOMPARE(QString::fromStdString(asked[0].added->name), name);
        QCOMPARE(asked[0].added->repeats, 3); // as often as the reference

        page.controls()->setRuns({{"a control", "Why?", asked[0].added->config}});
        page.controls()->buttons().all().front()->click();
        const auto controls = lockstep::test::takeRequests(core::experimentFolder(verdict.id));
        QCOMPARE(controls.size(), std::size_t(1));
        QCOMPARE(controls[0].added->name, std::string("a control"));
    }

    void repeatsThatWereDisturbedAreQueuedAgainByOnePress() {
        const OpenVerdict verdict(m_theme, {.epochs = 2, .repeats = 3, .stolenOfDdp = 0.4});
        const QList<QPushButton *> offered = verdict.page.fairness()->buttons().all();
        const auto again = std::ranges::find_if(offered, [](const QPushButton *button) {
            return button->text() == QStringLiteral("Repeat DDP on 2 devices (when the host is quiet)");
        });
        QVERIFY2(again != offered.end() && (*again)->isEnabled(), "offered, and can be pressed");
        (*again)->click();
        const auto asked = lockstep::test::takeRequests(core::experimentFolder(verdict.id));
        QCOMPARE(asked.size(), std::size_t(3)); // each disturbed repeat, and no new run
        const auto experiment = core::readExperiment(verdict.id);
        QVERIFY(experiment.has_value());
        for (const core::QueueRequest &request : asked) {
            QVERIFY(request.kind == core::QueueRequest::Kind::Retry && !request.alone);
            QCOMPARE(experiment->entries[std::size_t(request.entry)].planned.name, std::string("DDP on 2 devices"));
        }
    }

    void headSpeedUpsAndWaterfallFitASmallWindowsFirstScreen() {
        OpenVerdict verdict(m_theme, {.epochs = 2, .repeats = 3, .loadShare = 0.3});
        verdict.page.resize(1200, 720); // of 1280 × 800, less rail, strip and console
        verdict.page.show();
        QTRY_VERIFY(verdict.page.waterfall()->isVisible());
        QTest::qWait(60); // the layout settles in the next turns of the loop
        for (QWidget *picture :
             {static_cast<QWidget *>(verdict.page.speedUps()), static_cast<QWidget *>(verdict.page.waterfall())}) {
            const QRect where(picture->mapTo(&verdict.page, QPoint(0, 0)), picture->size());
            QVERIFY2(where.bottom() <= verdict.page.height() && where.right() <= verdict.page.width(),
                     qPrintable(QStringLiteral("%1 by %2").arg(where.right()).arg(where.bottom())));
        }
    }

    void theRepeatsThatWouldSettleItAreQueuedByOnePressInTheSameExperiment() {
        OpenVerdict verdict(m_theme, {.epochs = 2, .repeats = 3, .ddpFactor = 1, .spread = 0.06});
        QVERIFY2(verdict.page.sentence().contains("DDP on 2 devices: can't tell yet"),
                 qPrintable(verdict.page.sentence()));
        QPushButton *button = verdict.page.settleButtons().front();
        QTRY_VERIFY(button->isVisibleTo(&verdict.page) && button->isEnabled()); // shown in the next turn of the loop
        const QRegularExpressionMatch words =
            QRegularExpression(QStringLiteral("^Add (\\d+) repeats?, about \\d+ .*s$")).match(button->text());
        QVERIFY2(words.hasMatch(), qPrintable(button->text()));
        const std::vector<std::string> reservations = verdict.workspace.results().table().reservations;
        const std::string command =
            "lockstepctl repeat " + verdict.id + " " + words.captured(1).toStdString() + " adds ";
        QVERIFY(std::ranges::any_of(reservations,
                                    [&](const std::string &each) { return each.find(command) != std::string::npos; }));
        button->click();
        const auto asked = lockstep::test::takeRequests(core::experimentFolder(verdict.id));
        QCOMPARE(asked.size(), std::size_t(1));
        QVERIFY(asked[0].kind == core::QueueRequest::Kind::Repeat);
        QCOMPARE(asked[0].rounds, words.captured(1).toInt());
    }

    void whatIsToldApartNeedsNoFurtherRepeats() {
        const OpenVerdict verdict(m_theme, {.epochs = 2, .repeats = 3});
        QVERIFY(verdict.page.settleButtons().isEmpty());
    }

    void accuraciesOfAnotherDataSetStandBesideOursWhenAskedForAndSaySo() {
        const OpenVerdict verdict(m_theme, {.epochs = 2});
        const AccuracyCard *card = verdict.page.accuracy();
        const auto published = [&] {
            const auto bars = card->chart()->bars();
            return std::ranges::any_of(bars, &BarData::outlined);
        };
        QVERIFY(card->publishedBox()->isVisibleTo(&verdict.page) && !card->publishedBox()->isChecked());
        QVERIFY(!card->chart()->bars().isEmpty() && !published());
        QCOMPARE(card->chart()->axisTitle(), QStringLiteral("test accuracy / %"));
        card->publishedBox()->click();
        QVERIFY(published());
        QCOMPARE(card->chart()->axisTitle(),
                 QStringLiteral("test accuracy / %; published: of MNIST, another data set"));
        card->publishedBox()->click();
        QVERIFY(!published());
    }

    void aPipelinesStepIsDrawnStageByStageWithWhatItsStagesIdle() {
        {
            OpenVerdict verdict(m_theme, "model-parallel", {.epochs = 2, .repeats = 3});
            const VerdictStages *card = verdict.page.stages();
            QVERIFY(card->isVisibleTo(&verdict.page));
            QCOMPARE(card->view()->bars().size(), 6); // 1, 4 and 8 micro-batches on two devices
            QStringList words;
            for (const QLabel *label : card->findChildren<QLabel *>())
                words.append(label->text());
            QVERIFY2(words.join(u'|').contains("pipeline (2), 1 micro-batch 50 % (50 %)"),
                     qPrintable(words.join(u'|')));
            uitest::picture(*verdict.page.stages(), m_theme, "verdict-stages");
        }
        OpenVerdict other(m_theme, {.epochs = 2});
        QVERIFY(!other.page.stages()->isVisibleTo(&other.page));
    }

    void whatRanksSendStandsBesideTheFormulaWhereRunsSendInDifferentWays() {
        {
            OpenVerdict verdict(m_theme, "allreduce-vs-server", {.epochs = 2, .repeats = 1, .traffic = true});
            const VerdictTraffic *card = verdict.page.traffic();
            QVERIFY(card->isVisibleTo(&verdict.page));
            QStringList rows;
            for (const BarData &bar : card->chart()->bars())
                rows.append(QStringLiteral("%1: %2; %3").arg(bar.name, bar.text, bar.hint));
            const QString all = rows.join(u'|');
            // 1,199,882 parameters of 4 bytes: with two ranks a ring sends 2 (N-1)/N of them, a server and its only client all.
            QVERIFY2(
                rows.contains("DDP on 2 devices, rank 0: 4.90 MB, formula 4.80 MB; by the formula 4.80 MB to rank 1"),
                qPrintable(all));
            QVERIFY2(rows.contains(
                         "server on 2 devices, rank 1: 4.80 MB, formula 4.80 MB; by the formula 4.80 MB to rank 0"),
                     qPrintable(all));
            uitest::picture(*verdict.page.traffic(), m_theme, "verdict-traffic");
        }
        OpenVerdict other(m_theme, {.epochs = 2, .traffic = true});
        QVERIFY(!other.page.traffic()->isVisibleTo(&other.page)); // DDP alone: all send alike
    }

    void theStepThatIsDrawnIsTheMedianRepeatsAndSaysWhich() {
        OpenVerdict verdict(m_theme, {.epochs = 2, .repeats = 3, .spread = 0.2});
        const auto &stores = verdict.workspace.runs().stores();
        std::vector<const core::RunStore *> ddp;
        for (const core::RunStore *store : stores)
            if (store->identity().method() == QStringLiteral("ddp"))
                ddp.push_back(store);
        QCOMPARE(ddp.size(), std::size_t(3));
        const auto steps = core::ddpAnatomies(*core::medianRepeat(ddp));
        const auto &drawn = verdict.page.anatomy()->view()->runs();
        QVERIFY(steps.contains(0) && std::ranges::any_of(drawn, [&](const AnatomyRun &run) {
                    return run.name == QStringLiteral("DDP on 2 devices") && run.anatomy == steps.at(0);
                }));
        const QString repeat = QString::number(core::medianRepeat(ddp)->record()->repeat);
        const QList<QLabel *> labels = verdict.page.anatomy()->findChildren<QLabel *>();
        QVERIFY(std::ranges::any_of(labels, [&](const QLabel *label) {
            return label->text().startsWith(u"median repeats: ") && label->text().contains("DDP (2) #" + repeat);
        }));
    }

    void dataParallelsStepIsDrawnBesideDdpsOnOneScaleAndInThePageThatIsExported() {
        OpenVerdict verdict(m_theme, {.epochs = 2});
        VerdictPage &page = verdict.page;
        Workspace &workspace = verdict.workspace;
        const AnatomyView *view = page.anatomy()->view();
        QVERIFY(view->isVisibleTo(&page));
        QCOMPARE(view->runs().size(), 3); // DP as a whole, DDP rank by rank
        const QString data = view->chartData();
        QVERIFY2(data.contains("DP on 2 devices\tcpu:0\tscatter\t") &&
                     !data.contains("DP on 2 devices\tcpu:1\tscatter"),
                 qPrintable(data));
        QVERIFY2(data.contains("DDP on 2 devices\tcpu:0\twait\t") && data.contains("\tcpu:1\texposed\t"),
                 qPrintable(data));
        for (const AnatomyRun &run : view->runs()) { // what is drawn adds up to a step
            double sum = 0;
            for (const core::DpStage &stage : run.anatomy.stages)
                sum += stage.seconds;
            QVERIFY(std::abs(sum - run.anatomy.stepS) < 1e-12);
        }
        QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("page.html"));
        QVERIFY(saveResults(workspace, page.charts(), path).has_value());
        QFile file(path);
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QByteArray html = file.readAll();
        QCOMPARE(html.count("aria-label=\"Where a step goes, device by device\""), 1);
        QVERIFY(html.contains("time within a step / ms"));
        // Without a run of DP nothing is done by one device alone.
        std::vector<const core::RunStore *> others(workspace.runs().stores().begin(), workspace.runs().stores().end());
        std::erase_if(others,
                      [](const core::RunStore *run) { return run->identity().method() == QLatin1String("dp"); });
        QVERIFY(!others.empty() && core::stepAnatomies(workspace.results().table(), others).empty());
    }

    void aTargetThatAllReachedIsOfferedAndATypedOneIsTaken() {
        OpenVerdict verdict(m_theme, {.epochs = 3, .repeats = 2});
        VerdictPage &page = verdict.page;
        core::TargetModel &model = verdict.workspace.results().targets();
        const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        QCOMPARE(model.rowCount(), 3);
        for (int row = 0; row < 3; ++row)
            QVERIFY2(model.index(row, core::TargetModel::Time).data(core::ValueRole).isValid(),
                     "the offered target is one that all reached");
        QLineEdit *field = page.target()->valueField();
        field->selectAll();
        QTest::keyClicks(field, "99.99");
        QCOMPARE(model.index(0, core::TargetModel::Time).data().toString(), QStringLiteral("-"));
        QVERIFY(model.index(0, core::TargetModel::How).data().toString().startsWith("not reached"));
        page.target()->kindBox()->setCurrentIndex(1);
        QVERIFY(model.target().kind == core::Target::Kind::Loss);
        QVERIFY(model.index(0, core::TargetModel::Time).data(core::ValueRole).isValid());
    }

    void runsWithoutAnAccuracyAreOfferedATargetForTheirLoss() {
        core::TargetModel model;
        VerdictTarget target(m_theme, model);
        core::RunOutcome run;
        for (int epoch = 1; epoch <= 2; ++epoch) {
            core::MergedEpoch &made = run.epochs.emplace_back();
            made.epoch = epoch;
            made.durationS = 1;
            made.loss = 1.0 / epoch;
            made.complete = true;
        }
        core::RepeatGroup group;
        group.name = "baseline";
        group.runs = {run};
        model.setGroups({group});
        target.refresh(QStringLiteral("a"));
        QVERIFY(model.target().kind == core::Target::Kind::Loss);
        QCOMPARE(model.index(0, core::TargetModel::Reached).data().toString(), QStringLiteral("1 of 1"));
        target.kindBox()->setCurrentIndex(0); // as a person does
        Q_EMIT target.kindBox()->activated(0);
        target.refresh(QStringLiteral("a"));
        QCOMPARE(target.kindBox()->currentIndex(), 0);
        QCOMPARE(model.index(0, core::TargetModel::Reached).data().toString(), QStringLiteral("-"));
        target.refresh(QStringLiteral("another"));
        QVERIFY(model.target().kind == core::Target::Kind::Loss);
    }

    void whatIsOpenedIsJudgedOnce() {
        const uitest::Home home;
        const std::string id = uitest::writeExperimentOnDisk();
        Workspace workspace;
        QSignalSpy judged(&workspace, &Workspace::resultsChanged);
        QVERIFY(workspace.open(QString::fromStdString(id)).has_value());
        QCOMPARE(judged.size(), 1);
        QVERIFY2(workspace.results().upToDate(), "nothing has changed since");
    }

    void aRunWithoutItsExperimentOffersNothingToPress() {
        const uitest::Home home;
        const std::string id = uitest::writeExperimentOnDisk();
        const auto experiment = core::readExperiment(id);
        Workspace workspace;
        VerdictPage page(m_theme, workspace);
        QVERIFY(workspace.openRun(QString::fromStdString(experiment->entries[0].run)).has_value());
        QTRY_VERIFY(workspace.complete() && workspace.settled());
        for (const QPushButton *button : page.bottlenecks()->buttons().all())
            QVERIFY(!button->isEnabled() && button->toolTip().contains("no queue"));
    }
};

QTEST_MAIN(VerdictTest)
#include "verdict_test.moc"

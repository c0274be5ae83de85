// SPDX-License-Identifier: MIT
// Verdict's rows of what is unfair: one for each sentence, with the runs of which it is true.
#include <QLabel>

#include <algorithm>

#include "app/ui/pages/verdict/verdict_advice.h"
#include "app/ui/theme/theme.h"
#include "models/roles.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::ui;

namespace {

/// Runs "run 1", "run 2", … with that finding each.
core::Judgement judgementOf(int runs, const core::FairnessFinding &finding) {
    core::Judgement out;
    out.reference = "baseline";
    for (int number = 1; number <= runs; ++number) {
        core::PairJudgement pair;
        pair.reference = out.reference;
        pair.run = "run " + std::to_string(number);
        pair.fairness = {finding};
        out.pairs.push_back(pair);
    }
    return out;
}

const core::FairnessFinding programs{
    "program",   "Program", "a.py", "b.py", core::FairnessWeight::Decisive, "Program b.py instead of a.py.",
    std::nullopt};

} // namespace

class AdviceTest : public QObject {
    Q_OBJECT
    Theme m_theme{ThemeMode::Light};

private Q_SLOTS:
    void whatIsTrueOfSeveralRunsIsOneRowThatNamesThem() {
        core::Judgement judgement = judgementOf(3, programs);
        core::FairnessFinding seed = programs;
        seed.sentence = "Seed 2 instead of 1.";
        seed.weight = core::FairnessWeight::Minor;
        judgement.pairs[1].fairness.push_back(seed);
        core::JudgementModel model;
        model.setJudgement(judgement);
        QCOMPARE(model.rowCount(), 2);
        QCOMPARE(model.index(0).data().toString(), QStringLiteral("Program b.py instead of a.py."));
        QCOMPARE(model.index(0).data(core::ValueRole).toString(), QStringLiteral("run 1, run 2, run 3"));
        QCOMPARE(model.index(1).data(core::ValueRole).toString(), QStringLiteral("run 2"));
    }

    void runsThatAreSettledByUnlikeControlsKeepARowAndAButtonEach() {
        core::Judgement judgement = judgementOf(3, programs);
        for (core::PairJudgement &pair : judgement.pairs) {
            pair.fairness[0].control.emplace();
            pair.fairness[0].control->name = pair.run == "run 3" ? "another control" : "a control";
        }
        core::JudgementModel model;
        model.setJudgement(judgement);
        VerdictAdvice advice(m_theme, model, core::JudgementModel::Kind::Finding);
        QCOMPARE(advice.count(), 2);
        QCOMPARE(advice.buttons().all().size(), 2);
        QCOMPARE(model.index(0).data(core::ValueRole).toString(), QStringLiteral("run 1, run 2"));
        QCOMPARE(model.index(1).data(core::ValueRole).toString(), QStringLiteral("run 3"));
    }

    void ofManyRunsARowNamesAFewAndItsHintMore() {
        core::JudgementModel model;
        model.setJudgement(judgementOf(300, programs));
        const VerdictAdvice advice(m_theme, model, core::JudgementModel::Kind::Finding);
        QCOMPARE(advice.count(), 1);
        const QList<QLabel *> labels = advice.findChildren<QLabel *>();
        const auto named = std::ranges::find_if(
            labels, [](const QLabel *label) { return label->text().startsWith(QStringLiteral("run 1, run 2")); });
        QVERIFY(named != labels.end());
        QVERIFY2((*named)->text().endsWith(QStringLiteral("run 6 and 294 more")), qPrintable((*named)->text()));
        QVERIFY((*named)->toolTip().contains(QStringLiteral("\nrun 7\n")));
    }
};

QTEST_MAIN(AdviceTest)
#include "advice_test.moc"

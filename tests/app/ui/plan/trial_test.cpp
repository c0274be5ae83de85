// SPDX-License-Identifier: MIT
// Plan's dialog that makes a trial of one setting of the chosen run.
#include <QComboBox>
#include <QLineEdit>
#include <QListView>
#include <QPushButton>
#include <QSpinBox>

#include "app/ui/pages/plan/plan_page.h"
#include "app/ui/pages/plan/trial_dialog.h"
#include "app/ui/shell/workspace.h"
#include "app/ui/theme/theme.h"
#include "models/plan_model.h"
#include "tests/qt_test.h"
#include "ui_fixture.h"

using namespace lockstep;
using namespace lockstep::ui;

class TrialTest : public QObject {
    Q_OBJECT
    uitest::Home m_home;
    Theme m_theme{ThemeMode::Light};
    std::unique_ptr<Workspace> m_workspace;
    std::unique_ptr<PlanPage> m_page;
    TrialDialog *m_dialog = nullptr;

    [[nodiscard]] int rowOf(const std::string &name) const {
        core::PlanModel &plan = m_page->plan();
        for (int row = 0; row < plan.rowCount(); ++row)
            if (plan.runAt(row).name == name)
                return row;
        return -1;
    }
    void choose(const std::string &name) {
        const int row = rowOf(name);
        QVERIFY2(row >= 0, name.c_str());
        for (auto *rows : m_page->findChildren<QListView *>())
            if (rows->model() == &m_page->plan())
                rows->setCurrentIndex(m_page->plan().index(row, 0));
    }
    void openFor(const std::string &name) {
        choose(name);
        QVERIFY(m_page->tryButton()->isEnabled());
        m_page->tryButton()->click();
        QVERIFY(!m_page->findChildren<TrialDialog *>().isEmpty());
        m_dialog = m_page->findChildren<TrialDialog *>().back();
    }
    [[nodiscard]] bool offers(const char *key) const { return m_dialog->settingBox()->findData(key) >= 0; }
    void set(const char *key) { m_dialog->settingBox()->setCurrentIndex(m_dialog->settingBox()->findData(key)); }

private Q_SLOTS:
    void init() {
        m_workspace = std::make_unique<Workspace>();
        m_page = std::make_unique<PlanPage>(m_theme, *m_workspace, uitest::twoCores());
        m_page->resize(1280, 760);
        m_page->show();
        QVERIFY(m_page->choose(QStringLiteral("lenet-dp-vs-ddp")));
    }
    void cleanup() { m_page.reset(); }

    void theChosenRunIsPlannedAsItIsAndWithEachValue() {
        openFor("DDP on 2 devices");
        QCOMPARE(m_dialog->settingBox()->currentData().toString(), QStringLiteral("bucket_mb"));
        QVERIFY(!m_dialog->planButton()->isEnabled()); // no values yet
        m_dialog->valuesField()->setText(QStringLiteral("1, 100"));
        QCOMPARE(m_dialog->state(), QString());
        m_dialog->stepsBox()->setValue(50);
        uitest::picture(*m_dialog, m_theme, "trial");
        uitest::picture(*m_page, m_theme, "trial-plan");
        m_dialog->planButton()->click();
        QTRY_VERIFY(rowOf("DDP on 2 devices, bucket mb 100") >= 0);
        QVERIFY(rowOf("DDP on 2 devices") >= 0 && rowOf("DDP on 2 devices, bucket mb 1") >= 0);
        QCOMPARE(rowOf("baseline"), -1);
        const core::PlannedRun &run = m_page->plan().runAt(rowOf("DDP on 2 devices, bucket mb 1"));
        QCOMPARE(run.config.trainSamples, 50 * 64);
        QCOMPARE(run.repeats, 3);
        QVERIFY(m_page->startButton()->isEnabled());
    }

    void whatCantBeTriedIsSaidAndWhatChangesNothingIsNotOffered() {
        openFor("baseline");
        QVERIFY(!offers("bucket_mb") && !offers("epochs") && offers("workers"));
        set("loader"); // the choices that it does not have already
        QCOMPARE(m_dialog->valuesField()->text(), QStringLiteral("item,device"));
        set("workers");
        QVERIFY(m_dialog->valuesField()->text().isEmpty());
        m_dialog->valuesField()->setText(QStringLiteral("0"));
        QVERIFY2(m_dialog->state().contains("no other value"), qPrintable(m_dialog->state()));
        m_dialog->valuesField()->setText(QStringLiteral("two"));
        QVERIFY2(m_dialog->state().contains("two"), qPrintable(m_dialog->state()));
        QVERIFY(!m_dialog->planButton()->isEnabled());
        m_dialog->reject();
        choose("DDP on 8 devices"); // which this machine lacks
        QVERIFY(!m_page->tryButton()->isEnabled());
    }
};

QTEST_MAIN(TrialTest)
#include "trial_test.moc"

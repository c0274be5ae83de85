// SPDX-License-Identifier: MIT
// Metrics that a script invented, in the window: Live's card, its choice, the crosshair, and the columns of Runs.
#include <QAction>
#include <QComboBox>
#include <QHeaderView>
#include <QLineEdit>
#include <QTableView>

#include "app/ui/charts/line_chart.h"
#include "app/ui/pages/live/live_page.h"
#include "app/ui/pages/live/live_side.h"
#include "app/ui/pages/live/metric_card.h"
#include "app/ui/pages/runs/runs_page.h"
#include "app/ui/shell/main_window.h"
#include "app/ui/shell/workspace.h"
#include "app/ui/theme/theme.h"
#include "base/format.h"
#include "models/roles.h"
#include "models/run_choice_model.h"
#include "models/run_list_model.h"
#include "tests/qt_test.h"
#include "window_fixture.h"

using namespace lockstep;
using namespace lockstep::ui;

class MetricCardTest : public QObject, uitest::WindowFixture {
    Q_OBJECT
    uitest::Home m_home;
    std::string m_id, m_plain;

    [[nodiscard]] MetricCard *card() const { return live()->metricCard(); }
    void choose(const char *metric) {
        QComboBox *box = card()->metricBox();
        box->setCurrentIndex(box->findData(QString::fromLatin1(metric)));
        Q_EMIT box->activated(box->currentIndex());
    }
    [[nodiscard]] const LineData *line(const QString &name) const {
        for (const LineData &one : card()->chart()->lines())
            if (one.name == name && !one.faint)
                return &one;
        return nullptr;
    }

private Q_SLOTS:
    void initTestCase() {
        m_plain = uitest::writeExperimentOnDisk({.epochs = 2, .firstRun = 40});
        m_id = uitest::writeExperimentOnDisk({.epochs = 2, .chairs = true});
        QVERIFY(!m_id.empty() && !m_plain.empty());
    }
    void init() { openWindow({1600, 1000}); }
    void cleanup() { closeWindow(); }

    void theCardOffersWhatTheRunsKnowAndDrawsTheChoice() {
        openAndDraw(m_id);
        QTRY_VERIFY(card()->isVisible());
        QVERIFY(card()->metricBox()->findData(QStringLiteral("chairs")) >= 0);
        choose("chairs");
        QTRY_COMPARE(card()->chart()->lines().isEmpty(), false);
        QTRY_VERIFY(line(QStringLiteral("DDP on 2 devices")) &&
                    !line(QStringLiteral("DDP on 2 devices"))->data->isEmpty());
        QTRY_COMPARE(line(QStringLiteral("DDP on 2 devices"))->data->first().y(), 3.5); // the mean over both ranks
        QCOMPARE(line(QStringLiteral("DDP on 2 devices"))->textAtEnd(), QStringLiteral("3.50"));
        choose("tables");
        QTRY_VERIFY(line(QStringLiteral("DDP on 2 devices")) &&
                    line(QStringLiteral("DDP on 2 devices"))->data->last().y() > 100);
        QVERIFY(card()->chart()->chartData().contains(QStringLiteral("tables")));
        // The smoothed line is the one that is labelled.
        QCOMPARE(line(QStringLiteral("DDP on 2 devices"))->textAtEnd(),
                 core::significant(line(QStringLiteral("DDP on 2 devices"))->curve->last().y()));
        uitest::picture(*m_window, m_theme, "live-metric");
    }

    void atTheEndOfARunsLossStandsTheMeanOfItsLastEpochAsInTheList() {
        openAndDraw(m_id);
        const core::RunChoiceModel &list = m_workspace->pictured().choice();
        for (int row = 0; row < list.rowCount(); ++row) {
            const QString run = list.index(row, 0).data(core::RunIdRole).toString(),
                          loss = list.index(row, core::RunChoiceModel::Loss).data().toString();
            QVERIFY(loss != QStringLiteral("-"));
            const auto atEnd = [&] {
                for (const LineData &one : live()->lossChart()->lines())
                    if (one.runId == run && !one.faint)
                        return one.textAtEnd();
                return QString();
            };
            QTRY_COMPARE(atEnd(), loss);
        }
    }

    void itGoesWithItsTickAndWithRunsThatKnowNone() {
        openAndDraw(m_id);
        QTRY_VERIFY(card()->isVisible());
        QAction *tick = live()->pictureActions().value(QStringLiteral("metric"));
        tick->trigger();
        QTRY_VERIFY(!card()->isVisible());
        tick->trigger();
        QTRY_VERIFY(card()->isVisible());
        openAndDraw(m_plain);
        QTRY_VERIFY(card()->metricBox()->findData(QStringLiteral("chairs")) < 0);
    }

    void oneCrosshairRunsThroughItAndTheLoss() {
        openAndDraw(m_id);
        QTRY_VERIFY(card()->isVisible());
        choose("chairs");
        QTRY_VERIFY(!card()->chart()->lines().isEmpty());
        Q_EMIT card()->chart()->crosshairMoved(1.0);
        QCOMPARE(live()->lossChart()->crosshair(), std::optional(1.0));
        QCOMPARE(card()->chart()->crosshair(), std::optional(1.0));
        live()->axisBox()->setCurrentIndex(live()->axisBox()->currentIndex() == 0 ? 1 : 0);
        QTRY_VERIFY(!card()->chart()->crosshair());
    }

    void runsHaveAColumnThatIsHiddenUntilItIsChosen() {
        m_window->showPage(Page::Runs);
        const QTableView *table = m_window->findChild<RunsPage *>()->table();
        auto *list = qobject_cast<core::RunListModel *>(table->model());
        QTRY_VERIFY(list->columnOf("chairs") >= 0);
        QVERIFY(table->isColumnHidden(list->columnOf("chairs")));
        int known = 0;
        for (int row = 0; row < list->rowCount(); ++row)
            known += list->index(row, list->columnOf("chairs")).data().toString() != QStringLiteral("-");
        QCOMPARE(known, 3);
    }
};

QTEST_MAIN(MetricCardTest)
#include "metric_card_test.moc"

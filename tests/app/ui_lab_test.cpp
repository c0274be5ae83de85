// The Lab page over files as lockstepctl writes them, and its buttons over a real (fake) lockstepctl.
#include <QComboBox>
#include <QFile>
#include <QLabel>
#include <QPushButton>
#include <QSignalSpy>
#include <QTableView>
#include <QtTest>

#include "analysis/lab_report.h"
#include "app/ui/charts/line_chart.h"
#include "app/ui/pages/lab_page.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/empty_state.h"
#include "launch/lab_job.h"
#include "models/lab_tables.h"
#include "models/roles.h"
#include "ui_fixture.h"

using namespace lockstep;
using namespace lockstep::ui;
using namespace lockstep::uitest;

namespace {

constexpr double mib = 1024 * 1024;

core::LabRecord lab() {
    core::LabRecord record;
    record.id = "20260102T030405Z-0000000a";
    record.host = "box";
    record.backend = "gloo";
    record.device = "cpu";
    record.scheduling = "batch";
    record.startWallUs = 1'767'323'045'000'000;
    record.notRun = {"nccl takes a GPU a rank: 2 ranks need 2, this machine has 0"};
    for (const char *name : {"send_recv", "all_reduce", "ring_all_reduce", "server_all_reduce"})
        for (double bytes = 4; bytes <= 64 * mib; bytes *= 2) {
            const double factor = std::string(name) == "server_all_reduce" ? 2.0 : 1.0;
            const double seconds = factor * (50e-6 + bytes / 2e9);
            record.rows.push_back({name, 2, bytes, bytes == 2 * mib, 5, 3, seconds, seconds, seconds, bytes / seconds,
                                   bytes / seconds, seconds});
        }
    return record;
}

core::ForecastRecord forecastOf(const core::LabRecord &record) {
    core::ForecastRecord out;
    out.id = "20260102T030505Z-0000000b";
    out.title = "DP against DDP, LeNet";
    out.lab = record.id;
    out.host = "box";
    out.startWallUs = record.startWallUs;
    out.config.method = Method::Ddp;
    out.input.batch = 64;
    out.input.samples = 60'000;
    out.input.parameterBytes = {246'824};
    out.input.devicesHere = 2;
    out.input.devices = {2, 4};
    out.input.probes = {{1, 64, 4e-3, 2e-3, 4e-3, {}}, {2, 32, 2.2e-3, 1.1e-3, 2.2e-3, {}}};
    out.forecast = *core::forecast(out.input, core::fitLab(record));
    return out;
}

QString cell(const QTableView *table, int row, int column) {
    return table->model()->index(row, column).data().toString();
}

/// A lockstepctl that does as this script says.
class FakeCtl {
public:
    explicit FakeCtl(const QByteArray &script) {
        QFile file(m_folder.filePath(QStringLiteral("lockstepctl")));
        if (file.open(QIODevice::WriteOnly))
            file.write("#!/bin/bash\n" + script);
        file.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
        qputenv("LOCKSTEP_CTL", file.fileName().toUtf8());
    }
    ~FakeCtl() { qunsetenv("LOCKSTEP_CTL"); }

private:
    QTemporaryDir m_folder;
};

} // namespace

class UiLabTest : public QObject {
    Q_OBJECT
    std::unique_ptr<Home> m_home;
    std::unique_ptr<Theme> m_theme;

private Q_SLOTS:
    void init() {
        m_home = std::make_unique<Home>();
        m_theme = std::make_unique<Theme>(ThemeMode::Light);
    }

    void withoutALabItOffersToMeasure() {
        LabPage page(*m_theme);
        page.show();
        QVERIFY(page.isEmpty());
        QVERIFY(page.emptyState()->isVisible());
        QCOMPARE(page.emptyState()->findChild<QPushButton *>()->text(), QStringLiteral("Measure this machine"));
        QVERIFY(page.charts().empty());
    }

    void aLabIsDrawnMeasuredAndPredicted() {
        QVERIFY(core::writeLab(lab()).has_value());
        LabPage page(*m_theme);
        page.resize(1280, 800);
        page.show();
        QVERIFY(!page.isEmpty());
        QCOMPARE(page.charts().size(), std::size_t(2));
        QStringList keys;
        for (const LineData &line : page.times()->lines())
            keys << line.key;
        for (const char *key : {"all_reduce", "all_reduce-fit", "ring_all_reduce", "server_all_reduce-fit",
                                "ring-formula", "server-formula"})
            QVERIFY2(keys.contains(QLatin1String(key)), key);
        QVERIFY(page.times()->isLogAxis());
        QCOMPARE(page.bandwidths()->lines().size(), qsizetype(4));
        QCOMPARE(page.fits()->model()->rowCount(), 4);
        QCOMPARE(cell(page.fits(), 0, 0), QStringLiteral("point to point"));
        QVERIFY(page.fits()->model()->index(0, 0).data(Qt::ToolTipRole).toString().contains(u"size ÷"));
        QVERIFY(page.ring()->model()->rowCount() > 3);
        bool says = false;
        for (const QLabel *label : page.findChildren<QLabel *>())
            says = says || label->text().contains(u"Not measured: nccl takes a GPU a rank");
        QVERIFY(says);
    }

    void theFitsFiguresAreTheReports() {
        const core::LabRecord record = lab();
        const core::CommunicationModel model = core::fitLab(record);
        const core::CellTable table = core::fitTable(record, model);
        const auto fits = core::labFits(record, model);
        QCOMPARE(table.rows.size(), fits.size());
        for (std::size_t i = 0; i < fits.size(); ++i)
            QCOMPARE(table.rows[i][7].value.toDouble(), *fits[i].heldOutWorst);
        const core::CellTable ring = core::ringTable(record, model, 2);
        // The formulas with this made-up pair: ring 2·p2p(K/2), server 2·p2p(K), at 64 KiB.
        QVERIFY(std::abs(ring.rows[0][1].value.toDouble() - 2 * (50e-6 + 32 * 1024 / 2e9)) < 1e-9);
        QVERIFY(std::abs(ring.rows[0][3].value.toDouble() - 2 * (50e-6 + 64 * 1024 / 2e9)) < 1e-9);
    }

    void aForecastShowsWhatItCannotTellAndItsGrade() {
        QVERIFY(core::writeLab(lab()).has_value());
        const core::ForecastRecord made = forecastOf(lab());
        QVERIFY(core::writeForecast(made).has_value());
        {
            LabPage page(*m_theme);
            page.show();
            QCOMPARE(cell(page.forecasts(), 0, 0), QStringLiteral("DDP ×2"));
            QCOMPARE(cell(page.forecasts(), 0, 6), QStringLiteral("-")); // not run yet
            QCOMPARE(cell(page.forecasts(), 1, 1), QStringLiteral("-"));
            QVERIFY(cell(page.forecasts(), 1, 2).startsWith(u"can't tell: 4 devices"));
            for (int row = 0; row < page.forecasts()->model()->rowCount(); ++row)
                if (cell(page.forecasts(), row, 0).startsWith(u"server") && cell(page.forecasts(), row, 1) != u"-")
                    QCOMPARE(cell(page.forecasts(), row, 6), QStringLiteral("not graded"));
            QVERIFY(core::hasUngradable(made));
            const QList<QLabel *> labels = page.findChildren<QLabel *>();
            QVERIFY(std::ranges::any_of(labels, [](const QLabel *label) {
                return label->text().contains(QStringLiteral("Server: no server strategy to grade it with yet."));
            }));
        }
        // Now it runs: the same work, on this host.
        core::PlannedRun planned;
        planned.name = "DDP ×2";
        planned.config = made.config;
        planned.config.devices = {"0", "1"};
        Shape shape;
        shape.stepsPerEpoch = 938;
        RunWriter writer(planned, "", 1, made.startWallUs, shape);
        writer.begin();
        for (int epoch = 1; epoch <= 3; ++epoch)
            writer.epoch(epoch);
        writer.end();
        const auto outcomes = core::outcomesOf(made);
        QCOMPARE(outcomes.front().runs, 1);
        QVERIFY(outcomes.front().grade.has_value());
        LabPage page(*m_theme);
        page.show();
        QVERIFY(cell(page.forecasts(), 0, 6) != QStringLiteral("-"));
        QCOMPARE(page.forecasts()->model()->index(0, 7).data(core::ValueRole).toDouble(),
                 outcomes.front().grade->error);
    }

    void aRunOfOtherWorkGradesNothing() {
        const core::ForecastRecord made = forecastOf(lab());
        core::PlannedRun planned;
        planned.config = made.config;
        planned.config.devices = {"0", "1"};
        planned.config.batchSize = 128;
        RunWriter writer(planned, "", 2, made.startWallUs, {});
        writer.begin();
        writer.epoch(1);
        writer.end();
        QCOMPARE(core::outcomesOf(made).front().runs, 0);
    }

    void aForecastIsWhatItWasAfterDisk() {
        const core::ForecastRecord made = forecastOf(lab());
        QVERIFY(core::writeForecast(made).has_value());
        const auto read = core::newestForecast();
        QVERIFY(read.has_value());
        QVERIFY(read->forecast.rows == made.forecast.rows);
        QVERIFY(read->input.probes == made.input.probes);
        QVERIFY(read->config == made.config);
        QVERIFY(!core::forecastRecordFromJson("{}").has_value());
    }

    void measuringRunsInTheBackgroundAndCanBeCancelled() {
        // Holds the lock as lockstepctl does, until it is asked to stop.
        const FakeCtl ctl(
            "mkdir -p $LOCKSTEP_HOME/labs\n"
            "cd $LOCKSTEP_HOME/labs\n"
            "echo '{\"fraction\":0.42,\"what\":\"2 ranks: our ring\",\"start_wall_us\":1}' > progress.json\n"
            "exec python3 - <<'END'\n"
            "import fcntl, os, sys, time\n"
            "lock = open('lab.lock', 'w')\n"
            "fcntl.lockf(lock, fcntl.LOCK_EX)\n"
            "while not os.path.exists('stop'): time.sleep(0.05)\n"
            "print('lockstepctl: the lab was stopped', file=sys.stderr)\n"
            "END\n");
        LabPage page(*m_theme);
        page.show();
        QSignalSpy failed(&page, &LabPage::failed);
        QTest::mouseClick(page.emptyState()->findChild<QPushButton *>(), Qt::LeftButton);
        QTRY_VERIFY_WITH_TIMEOUT(page.progressText().contains(u"42 %  2 ranks: our ring"), 10'000);
        QVERIFY(!page.emptyState()->isEnabled());
        QPushButton *cancel = nullptr;
        for (QPushButton *button : page.findChildren<QPushButton *>())
            if (button->isVisible() && button->text() == QStringLiteral("Cancel"))
                cancel = button;
        QVERIFY(cancel);
        QTest::mouseClick(cancel, Qt::LeftButton);
        QTRY_COMPARE_WITH_TIMEOUT(failed.count(), 1, 10'000);
        QVERIFY(failed.front().front().toString().contains(u"the lab was stopped"));
        QVERIFY(page.emptyState()->isEnabled());
    }

    void aLabThatEndsIsShownByItself() {
        QVERIFY(core::writeLab(lab()).has_value());
        const std::string file = core::labsFolder() + "/" + lab().id + ".json";
        const std::string kept = core::labsFolder() + "/kept";
        QVERIFY(QFile::rename(QString::fromStdString(file), QString::fromStdString(kept)));
        const FakeCtl ctl("cd $LOCKSTEP_HOME/labs\n"
                          "exec python3 - <<'END'\n"
                          "import fcntl, os, time\n"
                          "lock = open('lab.lock', 'w')\n"
                          "fcntl.lockf(lock, fcntl.LOCK_EX)\n"
                          "time.sleep(1.2)\n"
                          "os.rename('kept', '20260102T030405Z-0000000a.json')\n"
                          "END\n");
        LabPage page(*m_theme);
        page.show();
        QSignalSpy failed(&page, &LabPage::failed);
        QTest::mouseClick(page.emptyState()->findChild<QPushButton *>(), Qt::LeftButton);
        QTRY_VERIFY_WITH_TIMEOUT(!page.isEmpty(), 10'000);
        QCOMPARE(failed.count(), 0);
    }

    void theTablesModelsAreSound() {
        core::CellTableModel model;
        const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        model.setTable(core::fitTable(lab(), core::fitLab(lab())));
        QCOMPARE(model.rowCount(), 4);
        model.setTable({});
        QCOMPARE(model.rowCount(), 0);
    }
};

QTEST_MAIN(UiLabTest)
#include "ui_lab_test.moc"

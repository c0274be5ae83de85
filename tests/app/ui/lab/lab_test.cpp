// SPDX-License-Identifier: MIT
// The Lab page over files as lockstepctl writes them, and its buttons over a real (fake) lockstepctl.
#include <QComboBox>
#include <QFile>
#include <QLabel>
#include <QPushButton>
#include <QSignalSpy>
#include <QTableView>

#include "app/ui/charts/line_chart.h"
#include "app/ui/pages/lab/lab_forecast.h"
#include "app/ui/pages/lab/lab_lines.h"
#include "app/ui/pages/lab/lab_page.h"
#include "app/ui/pages/lab/lab_places.h"
#include "app/ui/pages/shared/device_picker.h"
#include "app/ui/pages/shared/node_picker.h"
#include "app/ui/pages/shared/place_switch.h"
#include "app/ui/pages/shared/plan_doctor.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/empty_state.h"
#include "base/format.h"
#include "base/machine_facts.h"
#include "experiment/run_names.h"
#include "lab/lab_job.h"
#include "lab/lab_report.h"
#include "models/lab_tables.h"
#include "models/roles.h"
#include "nodes/node_book.h"
#include "tests/qt_test.h"
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
    out.input.config.method = Method::Ddp;
    out.input.samples = 60'000;
    out.input.parameterBytes = {246'824};
    out.input.devicesHere = 2;
    out.input.runs = core::runsOf({{Method::Ddp}, {Method::PsSync}}, {2, 4});
    out.input.probes = {{1, 64, 4e-3, 2e-3, 4e-3, {}}, {2, 32, 2.2e-3, 1.1e-3, 2.2e-3, {}}};
    out.forecast = *core::forecast(out.input, core::fitLab(record));
    return out;
}

QString cell(const QTableView *table, int row, int column) {
    return table->model()->index(row, column).data().toString();
}

core::LabRecord labBetween(const char *nodes) {
    core::LabRecord record = lab();
    record.id = "20260102T030406Z-0000000b";
    record.nodes = *nodesFromText(nodes);
    record.notRun.clear();
    record.leftOut = {"all-reduce, 3 ranks: from 8.0 MiB on, since one takes over half a second"};
    return record;
}

/// Whether a label that can be seen says so.
bool shows(const QWidget &page, QStringView words) {
    const QList<QLabel *> labels = page.findChildren<QLabel *>();
    return std::any_of(labels.begin(), labels.end(),
                       [&](const QLabel *label) { return label->isVisible() && label->text().contains(words); });
}

/// The end of a script that holds the lock as lockstepctl does, until it is asked to stop.
const QByteArray holdTheLab = "exec python3 - <<'END'\n"
                              "import fcntl, os, sys, time\n"
                              "lock = open('lab.lock', 'w')\n"
                              "fcntl.lockf(lock, fcntl.LOCK_EX)\n"
                              "while not os.path.exists('stop'): time.sleep(0.05)\n"
                              "print('lockstepctl: the lab was stopped', file=sys.stderr)\n"
                              "END\n";

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

    /// Into the folder LOCKSTEP_SHOTS, light and dark, small and large; without it nothing.
    void picture(QWidget &page, const char *name) {
        const QString folder = qEnvironmentVariable("LOCKSTEP_SHOTS");
        if (folder.isEmpty())
            return;
        const QSize before = page.size();
        for (const auto &[words, size] : {std::pair("", QSize(1200, 720)), {"-large", QSize(2480, 1340)}}) {
            page.resize(size);
            for (const auto mode : {ThemeMode::Light, ThemeMode::Dark}) {
                m_theme->setMode(mode);
                QTest::qWait(150);
                (void)page.grab().save(
                    folder + u'/' + QString::fromLatin1(name) + QString::fromLatin1(words) +
                    (mode == ThemeMode::Dark ? QStringLiteral("-dark.png") : QStringLiteral(".png")));
            }
        }
        m_theme->setMode(ThemeMode::Light);
        page.resize(before);
    }

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

    void theFiguresAtTheEndsOfTheTimesAreMeasured() {
        core::LabRecord record = lab();
        core::LabRow &largest = record.rows.back(); // of the server, 64 MiB: half as much again as its fit says
        largest.medianS *= 1.5;
        const core::CommunicationModel model = core::fitLab(record);
        QStringList named;
        for (const LineData &line : sumLines(record, model, 2, m_theme->palette())) {
            if (line.labelled)
                named << line.name;
            QCOMPARE(line.name.endsWith(u", fit"), line.key.endsWith(u"-fit"));
            if (line.key == u"server_all_reduce")
                QCOMPARE(line.textAtEnd(), core::shortTime(largest.medianS));
        }
        QCOMPARE(named, QStringList({QStringLiteral("all-reduce"), QStringLiteral("our ring"), QStringLiteral("server"),
                                     QStringLiteral("2(N-1)K/N"), QStringLiteral("2(N-1)K")}));
    }

    void theFiguresAtTheEndsOfTheBandwidthsHaveTheUnitOfTheirAxis() {
        core::LabRecord record = lab();
        record.rows.back().busbwBytesS = 405e6; // of the server
        const QList<LineData> lines = bandwidthLines(record, 2);
        QCOMPARE(lines.size(), qsizetype(4));
        for (const LineData &line : lines) {
            QVERIFY2(line.textAtEnd().endsWith(QStringLiteral(" GB/s")), qPrintable(line.textAtEnd()));
            if (line.key == u"server_all_reduce")
                QCOMPARE(line.textAtEnd(), QStringLiteral("0.405 GB/s"));
        }
        QCOMPARE(core::schedulingText(record), std::string("batch scheduling"));
        record.scheduling = "other";
        QCOMPARE(core::schedulingText(record), std::string("usual scheduling"));
    }

    void theFitsErrorsAreOfTheSizesInTheirHead() {
        core::LabRecord record = lab();
        for (core::LabRow &row : record.rows)
            row.heldOut = row.bytes == mib || row.bytes == 16 * mib;
        QCOMPARE(core::fitTable(record, core::fitLab(record)).heads[6], QStringLiteral("Off by, 1 MiB to 16 MiB"));
        for (core::LabRow &row : record.rows)
            row.heldOut = false;
        QCOMPARE(core::fitTable(record, core::fitLab(record)).heads[6], QStringLiteral("Off by"));
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
            QTRY_VERIFY(!page.forecast()->reading());
            QCOMPARE(cell(page.forecasts(), 0, 0), QStringLiteral("DDP on 2 devices"));
            QCOMPARE(cell(page.forecasts(), 0, 6), QStringLiteral("-")); // not run yet
            QCOMPARE(cell(page.forecasts(), 1, 1), QStringLiteral("-"));
            QVERIFY(cell(page.forecasts(), 1, 2).startsWith(u"can't tell: 4 devices"));
        }
        // Now it runs: the same work, on this host, by both ways of summing up.
        for (const auto &[method, number] : {std::pair(Method::Ddp, 1), {Method::PsSync, 2}}) {
            core::PlannedRun planned;
            planned.config = made.input.config;
            planned.config.method = method;
            planned.config.devices = {"0", "1"};
            planned.name = core::runTitle(planned.config);
            Shape shape;
            shape.stepsPerEpoch = 938;
            RunWriter writer(planned, "", std::uint32_t(number), made.startWallUs, shape);
            writer.begin();
            for (int epoch = 1; epoch <= 3; ++epoch)
                writer.epoch(epoch);
            writer.end();
        }
        const auto outcomes = core::outcomesOf(made);
        for (std::size_t i = 0; i < outcomes.size(); ++i) {
            const core::ForecastRow &row = made.forecast.rows[i];
            QCOMPARE(outcomes[i].runs, row.devices == 2 ? 1 : 0);
            QCOMPARE(outcomes[i].grade.has_value(), row.devices == 2);
        }
        LabPage page(*m_theme);
        page.show();
        QTRY_VERIFY(!page.forecast()->reading());
        QVERIFY(cell(page.forecasts(), 0, 6) != QStringLiteral("-"));
        QCOMPARE(page.forecasts()->model()->index(0, 7).data(core::ValueRole).toDouble(),
                 outcomes.front().grade->error);
    }

    void runsFromBeforeTheForecastDoNotGradeIt() {
        QVERIFY(core::writeLab(lab()).has_value());
        const core::ForecastRecord made = forecastOf(lab());
        QVERIFY(core::writeForecast(made).has_value());
        core::PlannedRun planned;
        planned.config = made.input.config;
        planned.config.devices = {"0", "1"};
        planned.name = core::runTitle(planned.config);
        Shape shape;
        shape.stepsPerEpoch = 938;
        RunWriter writer(planned, "", 1, made.startWallUs - 840'000'000, shape); // 14 minutes earlier
        writer.begin();
        for (int epoch = 1; epoch <= 3; ++epoch)
            writer.epoch(epoch);
        writer.end();
        const core::ForecastOutcome outcome = core::outcomesOf(made).front();
        QCOMPARE(outcome.runs, 0);
        QCOMPARE(outcome.runsBefore, 1);
        QVERIFY(!outcome.measuredStepS && !outcome.grade);
        LabPage page(*m_theme);
        page.show();
        QTRY_VERIFY(!page.forecast()->reading());
        QCOMPARE(cell(page.forecasts(), 0, 6), QStringLiteral("-"));
    }

    void eachRecipesNewestForecastCanBeReached() {
        QVERIFY(core::writeLab(lab()).has_value());
        core::ForecastRecord first = forecastOf(lab()), second = forecastOf(lab());
        first.recipe = "lenet-dp-vs-ddp";
        second.id = "20260102T030506Z-0000000c"; // newer, of a recipe of one's own
        second.recipe = "my-own";
        second.title = "Mine";
        second.otherCores = 1.25;
        QVERIFY(core::writeForecast(first).has_value() && core::writeForecast(second).has_value());
        QCOMPARE(core::newestForecastOf("lenet-dp-vs-ddp")->id, first.id);
        QCOMPARE(core::newestForecastOf("my-own")->id, second.id);
        QCOMPARE(*core::newestForecastOf("my-own")->otherCores, 1.25);
        QVERIFY(!core::newestForecastOf("lenet-dp-vs-ddp")->otherCores);
        QVERIFY(!core::newestForecastOf("mnist-nodes").has_value());
        LabPage page(*m_theme);
        page.show();
        QTRY_VERIFY(!page.forecast()->reading());
        QComboBox *recipe = page.forecast()->recipe();
        QCOMPARE(recipe->currentText(), QStringLiteral("my-own")); // the newest, until somebody chooses
        QVERIFY(page.forecast()->sentence().startsWith(u"Mine, "));
        const auto choose = [recipe](const QString &name) {
            recipe->setCurrentText(name);
            Q_EMIT recipe->activated(recipe->currentIndex());
        };
        choose(QStringLiteral("lenet-dp-vs-ddp"));
        QVERIFY(page.forecast()->sentence().startsWith(u"DP against DDP, LeNet, "));
        QVERIFY(page.forecast()->sentence().contains(u" in 1 bucket."));
        choose(QStringLiteral("mnist-nodes"));
        QVERIFY(page.forecast()->sentence().startsWith(u"No forecast of this recipe yet"));
        QVERIFY(!page.forecasts()->isVisible());
    }

    void aRunOfOtherWorkGradesNothing() {
        const core::ForecastRecord made = forecastOf(lab());
        core::PlannedRun planned;
        planned.config = made.input.config;
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
        QVERIFY(read->input.config == made.input.config);
        QVERIFY(!core::forecastRecordFromJson("{}").has_value());
    }

    void measuringRunsInTheBackgroundAndCanBeCancelled() {
        const FakeCtl ctl(
            "mkdir -p $LOCKSTEP_HOME/labs\n"
            "cd $LOCKSTEP_HOME/labs\n"
            "echo '{\"fraction\":0.42,\"what\":\"2 ranks: our ring\",\"start_wall_us\":1}' > progress.json\n" +
            holdTheLab);
        LabPage page(*m_theme);
        page.show();
        QSignalSpy failed(&page, &LabPage::failed);
        QTest::mouseClick(page.emptyState()->findChild<QPushButton *>(), Qt::LeftButton);
        QTRY_VERIFY(page.progressText().contains(u"42 %  2 ranks: our ring"));
        QVERIFY(!page.emptyState()->button()->isEnabled());
        QPushButton *cancel = nullptr;
        for (QPushButton *button : page.findChildren<QPushButton *>())
            if (button->isVisible() && button->text() == QStringLiteral("Cancel"))
                cancel = button;
        QVERIFY(cancel);
        QTest::mouseClick(cancel, Qt::LeftButton);
        QTRY_COMPARE(failed.count(), 1);
        QVERIFY(failed.front().front().toString().contains(u"the lab was stopped"));
        QVERIFY(page.emptyState()->button()->isEnabled());
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
        QTRY_VERIFY(!page.isEmpty());
        QCOMPARE(failed.count(), 0);
    }

    void aLabBetweenNodesIsShownWhereItWasMeasuredAndOnlyThere() {
        addNode("hostA", "ssh", "hostA.invalid");
        addNode("hostB", "ssh", "hostB.invalid");
        QVERIFY(core::writeLab(lab()).has_value());
        QVERIFY(
            core::writeLab(labBetween("hostA.invalid%bond0:0,1 kind=cpu;hostB.invalid%eno1:0 kind=cpu")).has_value());
        LabPage page(*m_theme);
        page.resize(1200, 720);
        page.show();
        QVERIFY(shows(page, u"Lab of box"));
        QVERIFY(!shows(page, u"Lab over 2 nodes"));
        QTest::mouseClick(page.where()->where()->nodes(), Qt::LeftButton);
        QVERIFY(shows(page, u"Lab over 2 nodes")); // the newest over nodes, and its devices are chosen
        QVERIFY(!shows(page, u"Lab of box"));
        QVERIFY(shows(page, u"Measured between hostA.invalid (bond0): cpu:0, cpu:1 and hostB.invalid (eno1): cpu:0"));
        QVERIFY(shows(page, u"Left out: all-reduce, 3 ranks: from 8.0 MiB on"));
        QCOMPARE(page.where()->nodePicker()->row(QStringLiteral("hostA"))->part->text(),
                 QStringLiteral("node 0 · master · ranks 0-1"));
        QCOMPARE(page.where()->nodePicker()->row(QStringLiteral("hostB"))->part->text(),
                 QStringLiteral("node 1 · rank 2"));
        QVERIFY(page.ring()->model()->rowCount() > 3);
        picture(page, "lab-nodes-full");
        // Other devices: what was measured between these is not passed off as theirs.
        page.where()->show(*nodesFromText("hostA.invalid%bond0:0 kind=cpu;hostB.invalid%eno1:0 kind=cpu"));
        page.refresh();
        QVERIFY(page.isEmpty());
        QVERIFY(shows(page, u"Nothing measured between these devices yet"));
        picture(page, "lab-nodes-unmeasured");
        QTest::mouseClick(page.where()->where()->here(), Qt::LeftButton);
        QVERIFY(shows(page, u"Lab of box"));
    }

    void aForecastIsShownForThePlacesItWasMadeFor() {
        const auto nodes = *nodesFromText("hostA.invalid%bond0:0 kind=cpu;hostB.invalid%eno1:0 kind=cpu");
        core::ForecastRecord here = forecastOf(lab()), there = forecastOf(lab());
        there.id = "20260102T030506Z-0000000c"; // newer
        there.title = "over the cable";
        there.input.config.nodes = nodes;
        QVERIFY(core::writeForecast(here).has_value() && core::writeForecast(there).has_value());
        QCOMPARE(core::newestForecast()->title, there.title);
        QCOMPARE(core::newestForecastsFor({}).front().title, here.title);
        QCOMPARE(core::newestForecastsFor(nodes).front().title, there.title);
        QVERIFY(core::newestForecastsFor(*nodesFromText("hostC.invalid%eth0:0,1 kind=cpu")).empty());
    }

    void withoutANodeNodesOfferToAddOne() {
        LabPage page(*m_theme);
        page.resize(1200, 720);
        page.show();
        QTest::mouseClick(page.where()->where()->nodes(), Qt::LeftButton);
        QVERIFY(shows(page, u"No node yet"));
        picture(page, "lab-nodes-none");
        QSignalSpy wanted(&page, &LabPage::nodesWanted);
        QTest::mouseClick(page.emptyState()->button(), Qt::LeftButton);
        QCOMPARE(wanted.count(), 1);
    }

    // This machine as the node: real agent, real doctor; the lab itself is a script that says what it was started with.
    void devicesOfNodesAreChosenThenTheDoctorLooksThenItIsMeasuredFollowedAndStopped() {
        if (core::localMachineFacts().allowedCores.size() < 2)
            QSKIP("two ranks need two cores");
        qputenv("LOCKSTEP_AGENT", LOCKSTEP_BIN "/lockstep-agent");
        addNode("here", "local", "");
        const FakeCtl ctl("mkdir -p $LOCKSTEP_HOME/labs\n"
                          "cd $LOCKSTEP_HOME/labs\n"
                          "printf '%s\\n' \"$@\" > arguments\n"
                          "echo '{\"fraction\":0.42,\"what\":\"2 ranks: our ring\",\"nodes\":\".:0,1 kind=cpu\"}' > "
                          "progress.json\n" +
                          holdTheLab);
        LabPage page(*m_theme);
        page.resize(1200, 720);
        page.show();
        QTest::mouseClick(page.where()->where()->nodes(), Qt::LeftButton);
        QVERIFY(!page.emptyState()->button()->isEnabled());
        const auto boxes = [&] { return page.where()->nodePicker()->row(QStringLiteral("here"))->devices->boxes(); };
        QTRY_VERIFY(boxes().size() >= 2);
        QTest::mouseClick(boxes()[0], Qt::LeftButton);
        QVERIFY(!page.emptyState()->button()->isEnabled()); // one device has nobody to talk to
        QTest::mouseClick(boxes()[1], Qt::LeftButton);
        QVERIFY(page.emptyState()->button()->isEnabled());
        picture(page, "lab-nodes-chosen");
        page.emptyState()->button()->setFocus();
        QTest::keyClick(page.emptyState()->button(), Qt::Key_Space);
        QCOMPARE(page.emptyState()->button()->text(), QStringLiteral("Asking the doctor…"));
        QVERIFY(!core::runningLab().has_value());
        QTRY_VERIFY(page.where()->doctor()->asked());
        if (page.where()->doctor()->anyError()) { // of this very machine
            QCOMPARE(page.emptyState()->button()->text(), QStringLiteral("Measure anyway"));
            QTest::mouseClick(page.emptyState()->button(), Qt::LeftButton);
        }
        QTRY_COMPARE(page.progressText(), QStringLiteral("42 %  2 ranks: our ring"));
        QFile arguments(QString::fromStdString(core::labsFolder() + "/arguments"));
        QVERIFY(arguments.open(QIODevice::ReadOnly));
        QCOMPARE(QString::fromUtf8(arguments.readAll()),
                 QStringLiteral("lab\n--device\ncpu\n--quick\n--nodes\n.:0,1 kind=cpu\n"));
        picture(page, "lab-nodes-measuring");
        {
            LabPage later(*m_theme); // a window that is opened meanwhile shows what is measured
            later.show();
            QVERIFY(later.where()->overNodes());
            QCOMPARE(int(later.where()->places().size()), 1);
        }
        QTest::mouseClick(page.where()->where()->here(), Qt::LeftButton);
        QVERIFY2(page.progressText().contains(u", over this machine"), qPrintable(page.progressText()));
        QTest::mouseClick(page.where()->where()->nodes(), Qt::LeftButton);
        QSignalSpy failed(&page, &LabPage::failed);
        QTest::keyClick(&page, Qt::Key_X, Qt::ControlModifier | Qt::ShiftModifier);
        QTRY_COMPARE(failed.count(), 1);
        QVERIFY(failed.front().front().toString().contains(u"the lab was stopped"));
    }

    void aForecastOverNodesIsAskedForThemAndCanBeCancelled() {
        QVERIFY(core::writeLab(labBetween(".:0,1 kind=cpu")).has_value());
        const FakeCtl ctl("printf '%s\\n' \"$@\" > $LOCKSTEP_HOME/asked\n"
                          "exec sleep 60\n");
        LabPage page(*m_theme);
        page.resize(1200, 720);
        page.show();
        QTRY_VERIFY(!page.forecast()->reading());
        QTest::mouseClick(page.where()->where()->nodes(), Qt::LeftButton);
        QVERIFY(shows(page, u"Lab of this machine"));
        QSignalSpy failed(&page, &LabPage::failed);
        QTest::mouseClick(page.forecastButton(), Qt::LeftButton);
        QVERIFY2(failed.isEmpty(), failed.isEmpty() ? "" : qPrintable(failed[0][0].toString()));
        QCOMPARE(page.forecastButton()->text(), QStringLiteral("Cancel"));
        QFile asked(m_home->path() + "/asked");
        QTRY_VERIFY(asked.exists() && asked.size() > 0);
        QVERIFY(asked.open(QIODevice::ReadOnly));
        QCOMPARE(QString::fromUtf8(asked.readAll()),
                 QStringLiteral("forecast\nlenet-dp-vs-ddp\n--nodes\n.:0,1 kind=cpu\n"));
        page.forecastButton()->click();
        QTRY_COMPARE(page.forecastButton()->text(), QStringLiteral("Forecast"));
        QCOMPARE(failed.count(), 0); // a person's cancel is no failure
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
#include "lab_test.moc"

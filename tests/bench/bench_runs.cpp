// SPDX-License-Identifier: MIT
// What thousands of runs cost: real run folders in a home of their own, the real index and models, the real window.
//   bench_runs [RUNS] [REPEATS]        (10000, 7)
// Prints one JSON object a line: what was measured, under which key, and each time in ms. run_bench.py makes the table of
// them; nothing here is a test.
#include <QApplication>
#include <QElapsedTimer>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLineEdit>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <vector>

#include "analysis/compare/judgement.h"
#include "analysis/history/run_filter_completion.h"
#include "app/ui/pages/runs/runs_filter_line.h"
#include "app/ui/pages/runs/runs_page.h"
#include "app/ui/shell/main_window.h"
#include "app/ui/shell/workspace.h"
#include "app/ui/theme/theme.h"
#include "base/machine_facts.h"
#include "ipc/file_system.h"
#include "ipc/run_folder.h"
#include "models/run_list_model.h"
#include "store/run_notes.h"
#include "tests/bench/planted_run.h"

using namespace lockstep;
using namespace lockstep::ui;

namespace {

using Times = std::vector<double>;

void print(const char *key, const char *what, const Times &times) {
    QJsonArray ms;
    for (const double time : times)
        ms.append(time);
    const QJsonObject line{{QStringLiteral("key"), QLatin1String(key)},
                           {QStringLiteral("what"), QString::fromUtf8(what)},
                           {QStringLiteral("ms"), ms}};
    std::printf("%s\n", QJsonDocument(line).toJson(QJsonDocument::Compact).constData());
    std::fflush(stdout);
}

template <class Work> double timed(Work work) {
    QElapsedTimer timer;
    timer.start();
    work();
    return double(timer.nsecsElapsed()) / 1e6;
}

/// A finished run as agents leave it: config, result with its summary, sometimes notes. The log is not what lists read.
bool writeRun(int number) {
    static const char *const methods[] = {"baseline", "dp", "ddp"};
    char id[32];
    std::snprintf(id, sizeof id, "20260102T%02d%02d%02dZ-%08x", number / 3600 % 24, number / 60 % 60, number % 60,
                  unsigned(number));
    RunRecord record;
    record.run = id;
    record.name = number % 3 == 0 ? "baseline" : number % 3 == 1 ? "DP on 2 devices" : "DDP on 2 devices";
    record.recipe = number % 2 ? "lenet-dp-vs-ddp" : "mnist-backends";
    record.repeat = 1 + number / 3 % 5;
    RunConfig config;
    (void)findField("method")->set(config, methods[number % 3]);
    config.devices = number % 3 ? std::vector<std::string>{"0", "1"} : std::vector<std::string>{"0"};
    config.lr = 0.01 * (1 + number % 7);
    config.seed = std::uint64_t(number);
    config.workers = number % 4;
    record.config = config;
    record.deviceNames = {"cpu:0", "cpu:1"};
    MachineRecord machine;
    machine.host = "box";
    machine.os = "Debian GNU/Linux 12";
    machine.cpuModel = "a processor";
    record.machines = {machine};
    record.startWallUs = 1'767'323'045'000'000 + std::int64_t(number) * 60'000'000;
    RunResult result;
    result.run = id;
    result.state = number % 50 ? RunState::Done : RunState::Failed;
    result.exitCode = number % 50 ? 0 : 1;
    result.reason = number % 50 ? "" : "rank 1 was killed";
    result.runTimeS = 10 + number % 100;
    Summary summary;
    summary.method = methods[number % 3];
    for (int epoch = 1; epoch <= 10; ++epoch)
        summary.epochs.push_back({epoch, 1.0 / epoch, 1 + 0.01 * (number % 97), 60'000});
    summary.totalTrainingTimeS = 10 + 0.1 * (number % 97);
    summary.testAccuracy = 0.8 + 0.001 * (number % 150);
    summary.phasesS = {{"load", 0.5}, {"forward", 3}, {"backward", 5}, {"optimizer", 0.3}, {"other", 0.1}};
    result.summary = summary;
    return bench::plantRun(record, result) &&
           (number % 10 != 0 || bench::putFile(runFolder(id).notes(), "{\"tags\": [\"tenth\"], \"starred\": true}"));
}

void benchIndex(int repeats) {
    Times cold, warm, unchanged;
    for (int i = 0; i < std::min(3, repeats); ++i) {
        QFile::remove(QString::fromStdString(dataHome() + "/index.sqlite"));
        cold.push_back(timed([] {
            core::RunListModel model(std::make_unique<core::RunIndex>(*core::RunIndex::open()));
            (void)model.refresh();
        }));
    }
    print("listed_cold", "All listed, no index yet (every folder read)", cold);
    for (int i = 0; i < repeats; ++i)
        warm.push_back(timed([] {
            core::RunListModel model(std::make_unique<core::RunIndex>(*core::RunIndex::open()));
            (void)model.refresh();
        }));
    print("listed_warm", "All listed, index warm: opened, checked against the disk, read, in the model", warm);
    core::RunListModel model(std::make_unique<core::RunIndex>(*core::RunIndex::open()));
    for (int i = 0; i < repeats; ++i)
        unchanged.push_back(timed([&] { (void)model.index()->refresh(); }));
    print("unchanged", "A look at the disk that finds nothing new", unchanged);
}

void benchModel(int repeats) {
    core::RunListModel model(std::make_unique<core::RunIndex>(*core::RunIndex::open()));
    (void)model.refresh();
    Times filter, sort, group, complete;
    for (int i = 0; i < repeats; ++i) {
        filter.push_back(timed([&] {
            model.setFilter(
                *core::RunFilter::parse(QStringLiteral("method=ddp devices>=2 accuracy>0.%1").arg(85 + i % 9)));
        }));
        model.setFilter({});
        sort.push_back(timed([&] { model.sort(core::runColumn(i % 2 ? "name" : "training")); }));
        group.push_back(timed([&] { model.setGrouped(true); }));
        model.setGrouped(false);
        complete.push_back(timed([&] { (void)core::completeFilter(QStringLiteral("name="), 5, model.runs()); }));
    }
    print("filter", "Filter of three comparisons, the model alone", filter);
    print("sort", "Sorted by another column", sort);
    print("group", "Repeats grouped", group);
    print("values", "Values of a column offered", complete);
}

/// From the key's press to the repainted table.
void benchWindow(int repeats) {
    Theme theme(ThemeMode::Light);
    Workspace workspace;
    MainWindow window(theme, workspace, core::localMachineFacts());
    window.show();
    (void)QTest::qWaitForWindowExposed(&window);
    RunsPage *page = window.runsPage();
    Times list, key, star;
    QElapsedTimer timer;
    timer.start();
    window.showPage(Page::Runs);
    while (page->list().rowCount() == 0)
        QApplication::processEvents(QEventLoop::AllEvents, 5);
    window.repaint();
    list.push_back(double(timer.nsecsElapsed()) / 1e6);
    print("page", "The Runs page chosen to its rows painted, index warm", list);
    QTest::qWait(1500); // the disk has been read once
    page->filterLine()->setFocus();
    const QString line = QStringLiteral("method=ddp devices>=2 accuracy>0.88 tenth");
    for (int i = 0; i < repeats; ++i) {
        page->filterLine()->clear();
        QApplication::processEvents();
        for (const QChar c : line)
            key.push_back(timed([&] {
                QTest::keyClick(page->filterLine(), c.toLatin1());
                QApplication::processEvents();
                page->table()->viewport()->repaint();
            }));
    }
    print("filter_key", "A key in the filter line to the repainted table and offered completions", key);
    page->filterLine()->clear();
    page->table()->setFocus();
    page->table()->selectRow(3);
    for (int i = 0; i < repeats; ++i)
        star.push_back(timed([&] {
            const bool before = page->list().runAt(3).starred;
            QTest::keyClick(page->table(), Qt::Key_S);
            while (page->list().runAt(3).starred == before)
                QApplication::processEvents(QEventLoop::AllEvents, 2);
        }));
    print("star", "S pressed to the star shown, written to disk and index on the way", star);
}

/// 1,000 runs of 334 settings, three repeats each, as outcomes: intervals, fairness, causes and bottlenecks of them all.
void benchJudgement(int repeats) {
    std::vector<core::RunOutcome> runs;
    for (int i = 0; i < 1000; ++i) {
        const int group = i / 3;
        core::RunOutcome one;
        one.run = "run" + std::to_string(i);
        one.name = "group " + std::to_string(group);
        one.state = RunState::Done;
        one.config = RunConfig();
        one.config->workers = group / 60;
        one.config->batchSize = 32 * (1 + group % 60);
        one.phasesS = {{"load", 1 + 0.01 * group}, {"forward", 2}, {"backward", 2 + 0.01 * (i % 3)}};
        one.rankPhasesS[0] = one.phasesS;
        one.totalTrainingTimeS = 5.1 + 0.01 * group + 0.01 * (i % 3);
        one.runTimeS = *one.totalTrainingTimeS + 1;
        runs.push_back(std::move(one));
    }
    const core::ResultTable table = core::resultTable(runs);
    Times judged;
    for (int i = 0; i < repeats; ++i)
        judged.push_back(timed([&] { (void)core::judge(table, runs, {"workers"}); }));
    print("judge", "1,000 runs judged: intervals, fairness, causes, bottlenecks", judged);
}

} // namespace

int main(int argc, char **argv) {
    if (!qEnvironmentVariableIsSet("QT_QPA_PLATFORM"))
        qputenv("QT_QPA_PLATFORM", "offscreen");
    QApplication application(argc, argv);
    const QStringList arguments = QApplication::arguments();
    const int runs = arguments.size() > 1 ? arguments[1].toInt() : 10'000;
    const int repeats = arguments.size() > 2 ? arguments[2].toInt() : 7;
    if (runs < 10 || runs > 1'000'000 || repeats < 1) {
        std::fprintf(stderr, "bench_runs: give how many runs (10 to 1000000) and how many repeats\n");
        return 2;
    }
    QTemporaryDir home;
    qputenv("LOCKSTEP_HOME", home.path().toUtf8());
    for (int i = 0; i < runs; ++i)
        if (!writeRun(i)) {
            std::fprintf(stderr, "bench_runs: run %d can't be written into %s\n", i, qPrintable(home.path()));
            return 1;
        }
    benchIndex(repeats);
    benchModel(repeats);
    benchWindow(repeats);
    benchJudgement(repeats);
    return 0;
}

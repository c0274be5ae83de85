// SPDX-License-Identifier: MIT
// What is known and said of earlier runs: notes, trash, the list with its groups, the difference of two.
#include <QAbstractItemModelTester>
#include <QSignalSpy>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <thread>

#include "analysis/causes/watching.h"
#include "analysis/history/run_diff.h"
#include "core_support.h"
#include "ipc/unix_socket.h"
#include "models/roles.h"
#include "models/run_diff_model.h"
#include "models/run_list_model.h"
#include "store/load_run.h"
#include "store/run_history.h"
#include "store/run_index.h"
#include "store/run_notes.h"
#include "store/run_store.h"
#include "store/run_trash.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::core;
using namespace lockstep::test;

namespace {

constexpr auto strict = QAbstractItemModelTester::FailureReportingMode::QtTest;

RunFilter filter(const char *line) {
    const auto parsed = RunFilter::parse(QString::fromUtf8(line));
    return parsed ? *parsed : RunFilter();
}

std::string timedRun(std::uint32_t number, double trainingS, const std::string &method = "ddp",
                     const std::string &state = "done") {
    RunRecord record = ddpRecord("");
    if (method == "baseline") {
        record.name = "baseline";
        record.config->method = Method::Baseline;
        record.config->devices = {"0"};
    }
    record.config->seed = number; // repeats differ in it alone
    const std::string run = finishedRun(number, &record);
    RunResult result = doneResult(run, 10, trainingS + 1);
    if (state == "failed") {
        result.state = RunState::Failed;
        result.reason = "rank 1 died";
    }
    result.summary.emplace();
    result.summary->totalTrainingTimeS = trainingS;
    result.summary->testAccuracy = 0.9;
    result.summary->epochs = {{1, 0.5, trainingS, 1000}};
    write(runFolder(run).result(), toJson(result));
    return run;
}

std::vector<IndexedRun> listed() {
    auto index = RunIndex::open();
    (void)index->refresh();
    return index->runs();
}

QString cell(const QAbstractItemModel &model, int row, const char *column) {
    return model.index(row, runColumn(column)).data().toString();
}

QStringList names(const QAbstractItemModel &model) {
    QStringList out;
    for (int row = 0; row < model.rowCount(); ++row)
        out.append(cell(model, row, "name"));
    return out;
}

IndexedRun madeUp(int number) {
    IndexedRun run;
    char id[32];
    std::snprintf(id, sizeof id, "20260102T030405Z-%08x", unsigned(number));
    run.run = id;
    run.name = number % 3 ? "DDP on 2 devices" : "baseline";
    run.method = number % 3 ? "ddp" : "baseline";
    run.state = "done";
    run.startWallUs = 1'700'000'000'000'000 + number;
    run.totalTrainingTimeS = number % 7;
    return run;
}

} // namespace

class CoreHistoryTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void theSameWorkIsReportedByWhatARunDoesAndNotByHowItIsWritten() {
        const auto key = [](auto change) {
            RunConfig config;
            config.method = Method::Ddp;
            config.devices = {"0", "1"};
            config.workers = 1;
            config.workerCores = "2";
            config.checkpointDir = "/a";
            change(config);
            return workKey(config);
        };
        const std::string one = key([](RunConfig &) {});
        QCOMPARE(key([](RunConfig &c) { c.seed = 9; }), one);
        QCOMPARE(key([](RunConfig &c) { c.dataDir = "/copy"; }), one);
        QCOMPARE(key([](RunConfig &c) { c.checkpointDir = "/b"; }), one);
        QCOMPARE(key([](RunConfig &c) { c.workerCores = "3"; }), one);
        QCOMPARE(key([](RunConfig &c) { c.batchPerDevice = 32; }), one);       // two devices of 32 each
        QCOMPARE(key([](RunConfig &c) { c.dpReplicas = "persistent"; }), one); // ddp has no replicas
        QCOMPARE(key([](RunConfig &c) { c.backend = "gloo"; }), one);          // what auto takes here
        QVERIFY(key([](RunConfig &c) { c.checkpointDir.clear(); }) != one);
        QVERIFY(key([](RunConfig &c) { c.workerCores.clear(); }) != one);
        QVERIFY(key([](RunConfig &c) { c.bucketMb = 1; }) != one);
        QVERIFY(key([](RunConfig &c) { c.resume = true; }) != one); // does less
        QVERIFY(key([](RunConfig &c) { c.devices = {"0"}; }) != one);
    }

    void whatWatchingTookIsInTheListAsTheAgentRecordedIt() {
        const Home home;
        RunRecord record = ddpRecord("");
        record.freeCores = 0;
        const std::string watched = finishedRun(1, &record);
        RunResult result = doneResult(watched, 10, 20);
        result.watching = Watching{10, 0.56, 0.4, 0.1, 1.25};
        write(runFolder(watched).result(), toJson(result));
        finishedRun(2); // of an older version: it says nothing of watching
        RunListModel model(std::make_unique<RunIndex>(*RunIndex::open()));
        QVERIFY(model.refresh().has_value());
        QCOMPARE(model.rowCount(), 2);
        QCOMPARE(cell(model, 1, "watching"), QStringLiteral("0.06")); // cores
        QCOMPARE(cell(model, 1, "waited"), QStringLiteral("1.25"));
        QCOMPARE(cell(model, 1, "free_cores"), QStringLiteral("0"));
        for (const char *column : {"watching", "waited", "free_cores"})
            QCOMPARE(cell(model, 0, column), QStringLiteral("-"));
    }

    void whatElseTheMachineDidIsInTheListAndFiltered() {
        const Home home;
        const std::string disturbed = finishedRun(1);
        RunResult result = doneResult(disturbed, 10, 20);
        result.surroundings = Surroundings{20, 34.4, 0.6, 2.0, {"CPU quota", "processor too hot"}};
        write(runFolder(disturbed).result(), toJson(result));
        finishedRun(2); // of an older version: it says nothing of that
        RunListModel model(std::make_unique<RunIndex>(*RunIndex::open()));
        QVERIFY(model.refresh().has_value());
        QCOMPARE(cell(model, 1, "surroundings"), QStringLiteral("1.72"));
        QCOMPARE(cell(model, 1, "stolen"), QStringLiteral("0.03"));
        QCOMPARE(cell(model, 1, "throttled"), QStringLiteral("10.0"));
        QCOMPARE(cell(model, 1, "throttle"), QStringLiteral("CPU quota, processor too hot"));
        for (const char *column : {"surroundings", "stolen", "throttled", "throttle"})
            QCOMPARE(cell(model, 0, column), QStringLiteral("-"));
        const auto filter = RunFilter::parse(QStringLiteral("surroundings>150% and throttled>0"));
        QVERIFY(filter.has_value());
        QCOMPARE(std::ranges::count_if(model.runs(), [&](const IndexedRun &run) { return filter->accepts(run); }), 1);
    }

    void watchingIsReportedAsMeasuredAndItsCostAsInferred() {
        const Watching some{10, 0.56, 0.4, 0.2, 1.25};
        QCOMPARE(
            watchingText(some, 0, 20),
            QStringLiteral(
                "viewers took 0.056 cores for 10.0 s of the run's 20.0 s, no core was free of ranks, so "
                "training was slower by at most about 5.6 % meanwhile (inferred); the agent took 0.010 "
                "cores; the queue's process 0.020 cores; the ranks' threads waited 1.25 s for a core, for whatever "
                "ran there"));
        QVERIFY(watchingText(some, 1, 20).contains(QStringLiteral("1 core was free of ranks for that")));
        QVERIFY(watchingText(some, 3, 20).contains(QStringLiteral("3 cores were free of ranks for that")));
        QVERIFY(watchingText(some, std::nullopt, 20)
                    .contains(QStringLiteral("whether a core was free of ranks is unknown")));
        QCOMPARE(watchingText(Watching{}, 0, 20), QStringLiteral("nobody watched on its machine"));
        QVERIFY(watchingNowText(std::nullopt, 0).isEmpty());
        QCOMPARE(watchingNowText(0.05, 2),
                 QStringLiteral("Watching takes 0.050 cores; 2 cores are free of ranks for that"));
    }

    // --- notes ---
    void notesAreKeptInTheRunsFolderAndKnownToTheIndex() {
        const Home home;
        const std::string run = finishedRun(1);
        const RunFolder folder = runFolder(run);
        QVERIFY(*readRunNotes(folder) == RunNotes());
        const auto before = changeRunNotes(folder, [](RunNotes &notes) {
            notes.name = "the good one";
            notes.tags = {"b", "a", "b"};
            notes.note = "two\nlines";
            notes.starred = true;
        });
        QVERIFY(before && *before == RunNotes());
        const RunNotes now = *readRunNotes(folder);
        QCOMPARE(now.tags, (std::vector<std::string>{"a", "b"}));
        const IndexedRun row = listed().front();
        QCOMPARE(row.title(), std::string("the good one"));
        QCOMPARE(row.name, std::string("DDP on 2 devices"));
        QCOMPARE(row.tags, std::string("a, b"));
        QVERIFY(row.starred);
        const auto tooLong = changeRunNotes(folder, [](RunNotes &notes) { notes.note.assign(70'000, 'a'); });
        QVERIFY(!tooLong && tooLong.error().message().find("at most 65536") != std::string::npos);
        QCOMPARE(readRunNotes(folder)->note, std::string("two\nlines"));
        const std::string link = home.path() + "/runs/link";
        QCOMPARE(::symlink(folder.path.c_str(), link.c_str()), 0);
        QVERIFY(!changeRunNotes({link}, [](RunNotes &notes) { notes.note = "through a link"; }));
        QCOMPARE(readRunNotes(folder)->note, std::string("two\nlines"));
        QVERIFY(changeRunNotes(folder, [](RunNotes &notes) { notes = {}; }).has_value());
        QVERIFY(listed().front().tags.empty()); // a changed file is seen though config and result are as they were
    }

    void whatAnotherVersionNotedStays() {
        const Home home;
        const RunFolder folder = runFolder(finishedRun(1));
        write(folder.notes(), "{\"colour\": \"red\", \"tags\": [\"x\"]}");
        QVERIFY(changeRunNotes(folder, [](RunNotes &notes) { notes.starred = true; }).has_value());
        const std::string text = *realFileSystem().readAll(folder.notes());
        QVERIFY2(text.find("red") != std::string::npos, text.c_str());
        QVERIFY((readRunNotes(folder)->tags == std::vector<std::string>{"x"}));
    }

    void damagedNotesAreReportedAndNeverWrittenOver() {
        const Home home;
        const RunFolder folder = runFolder(finishedRun(1));
        for (const char *text : {"no json", "[1]", "{\"tags\": 3}"}) {
            write(folder.notes(), text);
            const auto changed = changeRunNotes(folder, [](RunNotes &notes) { notes.starred = true; });
            QVERIFY2(!changed, text);
            QVERIFY(changed.error().message().find("notes.json") != std::string::npos);
            QCOMPARE(*realFileSystem().readAll(folder.notes()), std::string(text));
            QCOMPARE(listed().size(), std::size_t(1)); // the run itself still shows
        }
    }

    void twoWhoChangeAtOnceLoseNothingOfEachOther() {
        const Home home;
        const RunFolder folder = runFolder(finishedRun(1));
        const auto add = [&folder](const std::string &prefix) {
            for (int i = 0; i < 20; ++i)
                (void)changeRunNotes(folder,
                                     [&](RunNotes &notes) { notes.tags.push_back(prefix + std::to_string(i)); });
        };
        std::thread other(add, "a");
        add("b");
        other.join();
        QCOMPARE(readRunNotes(folder)->tags.size(), std::size_t(40));
    }

    void aTagIsOneWord() {
        QCOMPARE(*tagsFrom(" b, a b\t"), (std::vector<std::string>{"a", "b"}));
        QVERIFY(tagsFrom("")->empty());
        QVERIFY(!tagsFrom("a\"b"));
        QVERIFY(!tagsFrom(std::string(65, 'x')));
    }

    // --- trash ---
    void aDeletedRunGoesWholeToTheTrashAndComesBackWhole() {
        const Home home;
        const std::string first = finishedRun(1), second = finishedRun(2);
        const std::string log = *realFileSystem().readAll(runFolder(first).log(0));
        const auto batch = trashRuns({first, first});
        QVERIFY2(batch.has_value(), batch ? "" : batch.error().message().c_str());
        QCOMPARE(batch->runs.size(), std::size_t(1));
        QCOMPARE(listed().size(), std::size_t(1));
        QCOMPARE(listTrash().size(), std::size_t(1));
        QVERIFY(restoreTrashed(batch->id).has_value());
        QCOMPARE(listed().size(), std::size_t(2));
        QCOMPARE(*realFileSystem().readAll(runFolder(first).log(0)), log);
        QVERIFY(listTrash().empty());
        QVERIFY(!restoreTrashed(batch->id));
    }

    void aRunThatLivesIsNotDeletedNorAreTheOthersNamedWithIt() {
        const Home home;
        const std::string done = finishedRun(1), live = finishedRun(2);
        std::remove(runFolder(live).result().c_str());
        auto lock = FileLock::acquire(runFolder(live).lock(0)); // as its agent holds it
        QVERIFY(lock.has_value());
        for (const std::string &path : {runFolder(live).log(0), runFolder(live).path}) // silent for long, and alive
            std::filesystem::last_write_time(path,
                                             std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
        const auto refused = trashRuns({done, live});
        QVERIFY(!refused);
        const std::string sentence = refused.error().message();
        QVERIFY2(sentence.find(live) != std::string::npos && sentence.find("running") != std::string::npos &&
                     sentence.find("stop it first") != std::string::npos,
                 sentence.c_str());
        QCOMPARE(listed().size(), std::size_t(2));
        QVERIFY(listTrash().empty());
        QVERIFY(!trashRuns({"20990101T000000Z-00000000"}));
        QVERIFY(!trashRuns({"../runs"}));
        QVERIFY(!trashRuns({}));
    }

    void theTrashIsEmptiedOnRequestOrAfterItsTime() {
        const Home home;
        const auto batch = trashRuns({finishedRun(1)});
        QVERIFY(batch.has_value());
        QCOMPARE(*emptyTrash(trashKept), 0); // a minute old
        const std::string old = trashFolder() + "/20200101T000000Z-00000000";
        QVERIFY(QFile::rename(QString::fromStdString(trashFolder() + "/" + batch->id), QString::fromStdString(old)));
        for (const std::string &folder : {old, old + "/" + batch->runs.front()}) {
            QCOMPARE(*emptyTrash(trashKept), 0); // deleted by a clock that was wrong
            std::filesystem::last_write_time(folder, std::filesystem::file_time_type::clock::now() - 2 * trashKept);
        }
        QCOMPARE(*emptyTrash(trashKept), 1);
        QVERIFY(listTrash().empty());
        QVERIFY(trashRuns({finishedRun(2)}).has_value());
        QCOMPARE(*emptyTrash(), 1);
    }

    // --- the list ---
    void theFirstRepeatHasItsNumberOnceThereIsASecond() {
        const Home home;
        const auto repeat = [](std::uint32_t number, int which, const std::string &name) {
            RunRecord record = ddpRecord("");
            record.name = name;
            record.experiment = "20260102T030400Z-0000abcd";
            record.repeat = which;
            return finishedRun(number, &record);
        };
        const auto titles = [] {
            std::vector<std::string> out;
            for (const IndexedRun &run : listed())
                out.push_back(run.title());
            std::sort(out.begin(), out.end());
            return out;
        };
        repeat(1, 1, "baseline");
        repeat(2, 1, "DDP on 2 devices");
        QCOMPARE(titles(), (std::vector<std::string>{"DDP on 2 devices", "baseline"}));
        const std::string second = repeat(3, 2, "DDP on 2 devices");
        QCOMPARE(titles(), (std::vector<std::string>{"DDP on 2 devices #1", "DDP on 2 devices #2", "baseline"}));
        RunHistory history;
        QSignalSpy told(&history, &RunHistory::listed);
        history.refresh();
        QTRY_COMPARE(told.size(), 1);
        history.trash({second});
        QTRY_COMPARE(told.size(), 2);
        const RunList left = told[1][0].value<RunList>();
        QCOMPARE(left->size(), std::size_t(2));
        QVERIFY(std::ranges::none_of(*left, &IndexedRun::repeated));
    }

    void repeatsStandTogetherWithTheirMeanAndDeviation() {
        const Home home;
        timedRun(1, 10, "ddp");
        timedRun(2, 12, "ddp");
        timedRun(3, 14, "ddp");
        timedRun(4, 99, "ddp", "failed"); // counted, and left out of the mean
        timedRun(5, 20, "baseline");
        RunListModel model(std::make_unique<RunIndex>(*RunIndex::open()));
        const QAbstractItemModelTester tester(&model, strict);
        QVERIFY(model.refresh().has_value());
        QCOMPARE(model.rowCount(), 5);
        model.setGrouped(true);
        model.sort(runColumn("training"), Qt::AscendingOrder);
        QCOMPARE(names(model), (QStringList{"DDP on 2 devices", "baseline"}));
        QCOMPARE(cell(model, 0, "training"), QStringLiteral("12.0 ± 2.0"));
        QCOMPARE(cell(model, 0, "state"), QStringLiteral("3 done, 1 failed"));
        QCOMPARE(cell(model, 1, "training"), QStringLiteral("20.0")); // one run has no deviation
        QCOMPARE(model.index(0, RunListModel::countColumn()).data().toInt(), 4);
        QVERIFY(model.index(0, runColumn("training")).data(Qt::ToolTipRole).toString().contains("3 done"));
        QCOMPARE(model.runsAt(0).size(), std::size_t(4));
        QSignalSpy reset(&model, &QAbstractItemModel::modelReset);
        model.setOpen(0, true);
        QCOMPARE(model.rowCount(), 6);
        QVERIFY(!model.isGroup(1));
        QVERIFY(model.index(1, 0).data(RunListModel::MemberRole).toBool());
        QCOMPARE(cell(model, 1, "training"), QStringLiteral("10.0"));
        model.setOpen(0, false);
        QCOMPARE(model.rowCount(), 2);
        QCOMPARE(reset.count(), 0);
    }

    void figuresOfAGroupAreTheTextbooks() {
        std::vector<IndexedRun> runs;
        for (const double value : {2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0}) {
            runs.push_back(madeUp(int(runs.size())));
            runs.back().totalTrainingTimeS = value;
        }
        std::vector<int> all = {0, 1, 2, 3, 4, 5, 6, 7};
        const GroupFigures found = figuresOf(runColumns()[std::size_t(runColumn("training"))], runs, all);
        QCOMPARE(found.count, 8);
        QCOMPARE(*found.mean, 5.0);
        QVERIFY(std::abs(*found.deviation - std::sqrt(32.0 / 7)) < 1e-12);
        QVERIFY(!figuresOf(runColumns()[std::size_t(runColumn("loss"))], runs, all).mean);
    }

    void theListIsSortedWithTheUnknownLastEitherWay() {
        RunListModel model(nullptr);
        const QAbstractItemModelTester tester(&model, strict);
        std::vector<IndexedRun> runs = {madeUp(2), madeUp(1), madeUp(3)};
        runs[2].totalTrainingTimeS.reset();
        model.setRuns(runs);
        for (const auto order : {Qt::AscendingOrder, Qt::DescendingOrder}) {
            model.sort(runColumn("training"), order);
            QCOMPARE(cell(model, 2, "training"), QStringLiteral("-"));
        }
        QCOMPARE(cell(model, 0, "training"), QStringLiteral("2.00"));
        const QPersistentModelIndex kept = model.index(0, 0);
        model.sort(runColumn("training"), Qt::AscendingOrder);
        QCOMPARE(kept.row(), 1); // a selection goes with its run
    }

    void rowsFollowTheFilterAndTheRunsWithoutLosingTheOthers() {
        RunListModel model(nullptr);
        const QAbstractItemModelTester tester(&model, strict);
        std::vector<IndexedRun> runs;
        for (int i = 0; i < 1000; ++i)
            runs.push_back(madeUp(i));
        model.setRuns(runs);
        model.setFilter(filter("method=baseline"));
        QCOMPARE(model.rowCount(), 334);
        QCOMPARE(model.matched(), 334);
        QSignalSpy reset(&model, &QAbstractItemModel::modelReset);
        const QPersistentModelIndex kept = model.index(100, 0);
        const QString id = kept.data(RunIdRole).toString();
        runs.erase(runs.begin() + 999);          // shown
        runs.erase(runs.begin() + 998);          // not shown
        runs.insert(runs.begin(), madeUp(3000)); // shown, the newest
        runs[500].tags = "changed";
        model.setRuns(runs);
        QCOMPARE(model.rowCount(), 334);
        QCOMPARE(kept.data(RunIdRole).toString(), id);
        QCOMPARE(reset.count(), 0);
        model.setFilter({});
        QCOMPARE(model.rowCount(), 999);
        model.setGrouped(true);
        QCOMPARE(model.rowCount(), 2);
        model.setOpen(1, true);
        model.setFilter(filter("tag=changed"));
        model.setRuns({});
        QCOMPARE(model.rowCount(), 0);
    }

    void aNameIsAskedForAndNotChangedByTheListItself() {
        RunListModel model(nullptr);
        model.setRuns({madeUp(1)});
        QSignalSpy asked(&model, &RunListModel::renameAsked);
        const QModelIndex name = model.index(0, runColumn("name"));
        QVERIFY(name.flags() & Qt::ItemIsEditable);
        QVERIFY(!(model.index(0, runColumn("state")).flags() & Qt::ItemIsEditable));
        QVERIFY(model.setData(name, name.data(Qt::EditRole))); // as it was
        QCOMPARE(asked.count(), 0);
        QVERIFY(model.setData(name, " mine "));
        QCOMPARE(asked.count(), 1);
        QCOMPARE(asked[0][1].toString(), QStringLiteral("mine"));
        QCOMPARE(cell(model, 0, "name"), QStringLiteral("DDP on 2 devices"));
    }

    void theIndexKnowsWhatARunWasConfiguredWith() {
        const Home home;
        RunRecord record = ddpRecord("");
        record.config->lr = 0.05;
        record.config->workers = 2;
        finishedRun(1, &record);
        const IndexedRun run = listed().front();
        QCOMPARE(run.setting(*findField("lr")).value_or(""), std::string("0.05"));
        QCOMPARE(run.setting(*findField("batch_size")).value_or(""), std::string("64")); // the default
        QVERIFY(filter("lr>0.04 workers=2 optimizer=sgd").accepts(run));
        RunRecord script = ddpRecord("");
        script.config.reset();
        script.command = {"python", "train.py"};
        script.startWallUs += 100;
        finishedRun(2, &script);
        const IndexedRun other = listed().front();
        QVERIFY(!other.setting(*findField("lr")));
        QVERIFY(!filter("lr>0").accepts(other));
        QVERIFY(groupKey(run) != groupKey(other));
    }

    // --- for the window ---
    void theHistorysThreadListsChangesAndUndoes() {
        const Home home;
        const std::string run = finishedRun(1);
        RunHistory history;
        QSignalSpy listed(&history, &RunHistory::listed), noted(&history, &RunHistory::noted),
            trashed(&history, &RunHistory::trashed), failed(&history, &RunHistory::failed),
            refreshed(&history, &RunHistory::refreshed), restored(&history, &RunHistory::restored);
        const auto latest = [&] { return *listed.constLast()[0].value<RunList>(); };
        history.refresh();
        history.refresh(); // once is enough
        QTRY_COMPARE(refreshed.count(), 1);
        QCOMPARE(latest().size(), std::size_t(1));
        history.change({run}, [](RunNotes &notes) { notes.starred = true; });
        QTRY_COMPARE(noted.count(), 1);
        QVERIFY(latest().front().starred);
        history.revert(noted[0][0].value<NotesBefore>());
        QTRY_VERIFY(!latest().front().starred);
        QCOMPARE(noted.count(), 1); // an undo is nothing to undo
        history.trash({run});
        QTRY_COMPARE(trashed.count(), 1);
        QVERIFY(latest().empty());
        history.trash({run});
        QTRY_COMPARE(failed.count(), 1);
        QVERIFY(failed[0][0].toString().contains(QString::fromStdString(run)));
        history.restore({}); // the last
        QTRY_COMPARE(restored.count(), 1);
        QCOMPARE(latest().size(), std::size_t(1));
        history.restore({});
        QTRY_COMPARE(failed.count(), 2);
    }

    void whatAnotherProcessReadIntoTheIndexIsListedToo() {
        const Home home;
        RunHistory history;
        QSignalSpy listedRuns(&history, &RunHistory::listed), refreshed(&history, &RunHistory::refreshed);
        finishedRun(1);
        history.refresh();
        QTRY_COMPARE(refreshed.count(), 1);
        finishedRun(2);
        QCOMPARE(listed().size(), std::size_t(2)); // by an index of its own, as lockstepctl has
        history.refresh();
        QTRY_COMPARE(refreshed.count(), 2);
        QCOMPARE(listedRuns.constLast()[0].value<RunList>()->size(), std::size_t(2));
        const auto times = listedRuns.count();
        history.refresh(); // nothing is new
        QTRY_COMPARE(refreshed.count(), 3);
        QCOMPARE(listedRuns.count(), times);
    }

    void whatWasAskedIsDoneThoughTheWindowCloses() {
        const Home home;
        const std::string run = finishedRun(1);
        {
            RunHistory history;
            history.change({run}, [](RunNotes &notes) { notes.note = "written while closing"; });
        }
        QCOMPARE(readRunNotes(runFolder(run))->note, std::string("written while closing"));
    }

    // --- the difference of two ---
    void twoRunsShowWhatDiffersFirstAndFoldWhatIsEqual() {
        const Home home;
        RunRecord other = ddpRecord("");
        other.config->lr = 0.5;
        other.machines.front().kernel = "6.1";
        const std::string first = finishedRun(1, nullptr, 2.0), second = finishedRun(2, &other, 3.0);
        RunStore a(QString::fromStdString(first)), b(QString::fromStdString(second));
        QVERIFY(loadRun(a, runFolder(first)).has_value() && loadRun(b, runFolder(second)).has_value());
        const RunDiff diff = diffRuns(a, b);
        RunDiffModel model;
        const QAbstractItemModelTester tester(&model, strict);
        model.setDiff(diff);
        QCOMPARE(model.index(0, 0).data().toString(), QStringLiteral("Configuration"));
        QCOMPARE(model.index(1, 0).data().toString(), QStringLiteral("Learning rate"));
        QCOMPARE(model.index(1, 1).data().toString(), QStringLiteral("0.01"));
        QCOMPARE(model.index(1, 2).data().toString(), QStringLiteral("0.5"));
        QVERIFY(model.index(2, 0).data(RunDiffModel::FoldRole).toBool());
        const int folded = model.rowCount();
        model.toggle(2);
        QVERIFY(model.rowCount() > folded + 20);
        model.setAllOpen(false);
        QCOMPARE(model.rowCount(), folded);
        const auto section = [&](const char *title) {
            return std::find_if(diff.sections.begin(), diff.sections.end(),
                                [&](const DiffSection &one) { return one.title == QLatin1String(title); });
        };
        QCOMPARE(section("Result")->differing(), 1); // the run time alone
        QCOMPARE(section("Result")->lines.front().change, QStringLiteral("1.50"));
        QCOMPARE(section("Machine")->lines.front().label, QStringLiteral("Kernel"));
        QCOMPARE(section("Where a step goes")->differing(), 0);
        QVERIFY(section("Timing") > section("Machine")); // nothing differs in it, so it comes after
        QVERIFY(model.text().contains(QStringLiteral("Learning rate\t0.01\t0.5\t")));
        QCOMPARE(diffRuns(a, a).sections.front().differing(), 0);
    }

    void anEpochThatIsNotDoneIsNotAmongTheTimes() {
        RunStore whole(QStringLiteral("a")), running(QStringLiteral("b"));
        int epochs = 0;
        for (const Frame &one : ddpRecording()) {
            const auto *done = std::get_if<EpochFrame>(&one.body);
            epochs += done ? 1 : 0;
            whole.take(one);
            if (!done || done->epoch < 2)
                running.take(one);
        }
        QCOMPARE(epochs, 4);
        const RunDiff diff = diffRuns(whole, running);
        const auto figure = [&](const char *key) {
            for (const DiffSection &section : diff.sections)
                for (const DiffLine &line : section.lines)
                    if (line.key == QLatin1String(key))
                        return line.figureB;
            return std::optional<double>(-1);
        };
        QCOMPARE(figure("epochs_done"), std::optional(1.0));
        QVERIFY(!figure("epoch_median_s")); // there is no later one
        QCOMPARE(figure("first_epoch_s"), std::optional(0.45));
    }
};

QTEST_GUILESS_MAIN(CoreHistoryTest)
#include "history_test.moc"

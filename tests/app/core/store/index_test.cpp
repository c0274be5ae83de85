// SPDX-License-Identifier: MIT
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sys/resource.h>
#include <unistd.h>
#include <utility>

#include <QSqlDatabase>
#include <QSqlQuery>

#include "analysis/history/run_rows.h"
#include "core_support.h"
#include "ipc/file_system.h"
#include "ipc/printable.h"
#include "ipc/run_title.h"
#include "ipc/scalars.h"
#include "store/load_run.h"
#include "store/run_index.h"
#include "store/run_notes.h"
#include "store/run_outcome.h"
#include "store/run_store.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::core;
using namespace lockstep::test;

namespace {

/// What another program does with a database.
void execute(const std::string &file, const QStringList &statements) {
    {
        QSqlDatabase other = QSqlDatabase::addDatabase(QStringLiteral("QSQLITE"), QStringLiteral("other"));
        other.setDatabaseName(QString::fromStdString(file));
        QVERIFY(other.open());
        QSqlQuery query(other);
        for (const QString &statement : statements)
            QVERIFY2(query.exec(statement), qPrintable(statement));
    }
    QSqlDatabase::removeDatabase(QStringLiteral("other"));
}

/// Puts a text of the same length in a file's place, without a trace: whoever goes by the file's stamp does not see it.
void rewriteUnseen(const std::string &file, const std::string &text) {
    const auto time = std::filesystem::last_write_time(file);
    QCOMPARE(std::filesystem::file_size(file), text.size());
    std::ofstream(file, std::ios::binary | std::ios::in | std::ios::out) << text;
    std::filesystem::last_write_time(file, time);
}

} // namespace

class CoreIndexTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void whatAnotherRunTrainedIsNoFigureOfOneThatOnlyTestedItsCheckpoint() {
        const Home home;
        for (const int firstEpoch : {3, 4}) { // of three
            RunRecord record = ddpRecord("");
            record.config->resume = true;
            RunResult result = doneResult(finishedRun(std::uint32_t(firstEpoch), &record), 0, 3.0);
            Summary &summary = result.summary.emplace();
            summary.epochs = {{1, 0.9, 1, 640}, {2, 0.8, 1, 640}, {3, 0.7, 1, 640}};
            summary.totalTrainingTimeS = 3.0;
            summary.firstEpoch = firstEpoch;
            summary.steps = 60;
            summary.testAccuracy = 0.8;
            summary.phasesS = {{"load", 1}, {"forward", 1}};
            write(runFolder(result.run).result(), toJson(result));
            auto index = RunIndex::open();
            QVERIFY(index->refresh().has_value());
            const IndexedRun run = *index->run(result.run);
            const bool trained = firstEpoch == 3;
            QCOMPARE(run.totalTrainingTimeS.has_value(), trained);
            QCOMPARE(run.samplesPerS.has_value() && run.samples.has_value() && run.steps.has_value(), trained);
            QCOMPARE(run.samplesPerS || run.samples || run.steps, trained);
            QCOMPARE(run.finalLoss.has_value(), trained);
            QCOMPARE(run.loadShare.has_value(), trained);
            QVERIFY(run.testAccuracy && run.runTimeS); // its own
        }
    }

    void runsThatSomebodyElseStartedAreOfOneWorkOnlyIfTheyReportTheSame() {
        const Home home;
        std::uint32_t number = 0;
        const auto listed = [&](int processes, const About &about) {
            RunRecord record = ddpRecord("");
            record.name = "train";
            record.config.reset();
            record.claims.known.emplace();
            record.about = about;
            record.processes = processes;
            record.deviceNames.clear();
            const std::string run = finishedRun(++number, &record);
            auto index = RunIndex::open();
            (void)index->refresh();
            return *index->run(run);
        };
        const About about = {{"method", "ddp"}, {"model", "Net"}, {"batch_size", "32"}, {"hidden", "8"}, {"seed", "1"}};
        const auto with = [&](const char *key, const char *value) {
            About out = about;
            out[key] = value;
            return out;
        };
        const IndexedRun one = listed(2, about);
        QCOMPARE(one.method, std::string("ddp"));
        QCOMPARE(one.model, std::string("Net"));
        QCOMPARE(groupKey(listed(2, about)), groupKey(one));
        QCOMPARE(groupKey(listed(2, with("seed", "2"))), groupKey(one)); // as of our own trainer's runs
        for (const auto &[key, value] :
             {std::pair{"model", "Other"}, {"batch_size", "64"}, {"hidden", "16"}, {"epochs", "9"}})
            QVERIFY2(groupKey(listed(2, with(key, value))) != groupKey(one), key);
        QVERIFY(groupKey(listed(4, about)) != groupKey(one));
    }

    void aScriptInAnotherFolderIsAnotherGroupAndTheTrainerIsNot() {
        const Home home;
        std::uint32_t number = 0;
        const auto keyOf = [&](const std::vector<std::string> &command, const std::string &folder) {
            RunRecord record = ddpRecord("");
            record.command = command;
            record.folder = folder;
            const std::string run = finishedRun(++number, &record);
            auto index = RunIndex::open();
            (void)index->refresh();
            return groupKey(*index->run(run));
        };
        const std::vector<std::string> script = {"python", "train.py"};
        QCOMPARE(keyOf(script, "/work/a"), keyOf(script, "/work/a"));
        QVERIFY(keyOf(script, "/work/a") != keyOf(script, "/work/b"));
        QCOMPARE(keyOf({}, "/work/a"), keyOf({}, "/work/b"));
    }

    void aScriptsDevicesAreAsManyAsItsProcesses() {
        const Home home;
        std::uint32_t number = 0;
        const auto devicesOf = [&](int processes, std::vector<std::string> given, const std::string &method) {
            RunRecord record = ddpRecord("");
            record.config.reset();
            record.command = {"python", "train.py"};
            record.processes = processes;
            record.deviceNames = std::move(given);
            RunResult result = doneResult(finishedRun(++number, &record), 0, 3.0);
            result.summary.emplace().method = method; // all that says it
            write(runFolder(result.run).result(), toJson(result));
            auto index = RunIndex::open();
            (void)index->refresh();
            return index->run(result.run)->devices;
        };
        QCOMPARE(devicesOf(2, {}, "ddp"), 2);
        QCOMPARE(devicesOf(4, {"cpu:0"}, "ddp"), 4);
        QCOMPARE(devicesOf(1, {"cuda:0", "cuda:1"}, "dp"), 2);
        QCOMPARE(devicesOf(1, {"cuda:0", "cuda:1"}, "baseline"), 1);
        QCOMPARE(devicesOf(1, {}, ""), 1);
    }

    void aMeasurementThatWasRecordedTwiceIsOneOfItsGroupsFigures() {
        const Home home;
        for (std::uint32_t number = 1; number <= 3; ++number) {
            RunRecord record = ddpRecord("");
            record.files = RecordedFiles{"rank 0 on box, at " + std::to_string(std::max(2u, number)) + " us", 100};
            finishedRun(number, &record);
        }
        auto index = RunIndex::open();
        QCOMPARE(*index->refresh(), 3);
        QCOMPARE(figuresOf(runColumns()[std::size_t(runColumn("run_time"))], index->runs(), {0, 1, 2}).count, 2);
    }

    void runsOfUnlikeAmountsOfWorkAreGroupsOfTheirOwn() {
        const Home home;
        const auto ran = [](std::uint32_t number, std::int64_t samples, std::int64_t steps, RunState state) {
            RunRecord record = ddpRecord("");
            record.name = "train.py";
            record.config.reset();
            record.command = {"python3", "train.py"};
            RunResult result = doneResult(finishedRun(number, &record), 0, 3.0);
            result.state = state;
            result.summary.emplace().epochs = {{1, 0.5, 1, samples}};
            result.summary->steps = steps;
            result.summary->totalTrainingTimeS = 1.0;
            write(runFolder(result.run).result(), toJson(result));
        };
        auto index = RunIndex::open();
        const auto groups = [&](bool newestFirst) {
            (void)index->refresh();
            const std::vector<IndexedRun> runs = index->runs();
            const RunOrder order{runColumns()[std::size_t(runColumn("started"))], newestFirst};
            std::set<std::pair<std::string, std::size_t>> out;
            for (const RunGroup &group : groupedRows(runs, sortedRuns(runs, order), {}, order, {}).groups)
                out.emplace(group.key, group.runs.size());
            return out;
        };
        ran(1, 6400, 100, RunState::Done);
        ran(2, 2000, 30, RunState::Stopped); // with the others while these had as much to do
        const auto one = groups(false);
        QCOMPARE(one.size(), std::size_t(1));
        const std::string key = one.begin()->first;
        ran(3, 3200, 50, RunState::Done);
        ran(4, 6400, 100, RunState::Done);
        const auto three = groups(false);
        QCOMPARE(three.size(), std::size_t(3));
        QVERIFY(three.contains({key, 2})); // an open group stays open
        QVERIFY(three == groups(true));
        QCOMPARE(*index->runs().front().samples, 6400.0);
        QCOMPARE(*index->runs().front().steps, 100.0);
    }

    void aRateIsUnknownWhereAnEpochsSamplesAre() {
        for (const std::int64_t second : {640, 0}) {
            const Home home;
            RunResult result = doneResult(finishedRun(1), 0, 3.0);
            result.summary.emplace().epochs = {{1, 0.5, 1, 640}, {2, 0.4, 1, second}};
            result.summary->totalTrainingTimeS = 2.0;
            write(runFolder(result.run).result(), toJson(result));
            auto index = RunIndex::open();
            QVERIFY(index->refresh().has_value());
            QCOMPARE(index->runs().front().samplesPerS, second > 0 ? std::optional(640.0) : std::nullopt);
        }
    }

    void runsInAFolderThatCannotBeWrittenAreListed() {
        const Home home;
        const std::string run = finishedRun(1);
        auto index = RunIndex::open(runsFolder(), "/proc/no-such-folder/index.sqlite");
        QVERIFY2(index.has_value(), index ? "" : index.error().message().c_str());
        QCOMPARE(*index->refresh(), 1);
        QCOMPARE(index->runs().front().run, run);
        QCOMPARE(*index->refresh(), 0);
    }

    void aRunWhoseResultCannotBeUsedIsNotListedAsFailed() {
        const Home home;
        const std::string large = finishedRun(1), other = finishedRun(2);
        std::error_code error;
        std::filesystem::resize_file(runFolder(large).result(), resultLimits.bytes + 1, error);
        if (error)
            QSKIP("there is no room for a long file");
        write(runFolder(other).result(), toJson(doneResult(large, 1)));
        auto index = RunIndex::open();
        QVERIFY(index->refresh().has_value());
        for (const std::string &run : {large, other}) {
            const auto row = index->run(run);
            QVERIFY(row && !row->runTimeS);
            QCOMPARE(row->state, std::string("unknown"));
            QVERIFY2(row->reason.find(run == large ? "larger than 16 MiB" : "that of run " + large) !=
                         std::string::npos,
                     row->reason.c_str());
            RunStore store(QString::fromStdString(run));
            QVERIFY(loadRun(store, runFolder(run)).has_value());
            QVERIFY2(store.state() == std::optional(RunState::Done) && !store.result(), "as its log says");
        }
    }

    void aCopiedFolderIsNoFurtherRun() {
        const Home home;
        const std::string run = finishedRun(1), copy = "20260102T030405Z-0000c0c0";
        std::error_code error;
        std::filesystem::copy(runFolder(run).path, runFolder(copy).path, error);
        QVERIFY2(!error, error.message().c_str());
        auto index = RunIndex::open();
        QVERIFY(index->refresh().has_value());
        QCOMPARE(index->runs().size(), std::size_t(1));
        RunStore store(QString::fromStdString(copy));
        const Result<void> loaded = loadRun(store, runFolder(copy));
        QVERIFY(!loaded && loaded.error().message().find("is a copy") != std::string::npos);
    }

    void aRefusedRecordIsNotReadAgainUntilItChanges() {
        const Home home;
        const std::string run = finishedRun(1), copy = "20260102T030405Z-0000c0c0";
        std::error_code error;
        std::filesystem::copy(runFolder(run).path, runFolder(copy).path, error);
        QVERIFY2(!error, error.message().c_str());
        auto index = RunIndex::open();
        QCOMPARE(*index->refresh(), 1);
        QCOMPARE(*index->refresh(), 0);
        RunRecord record = *readRunRecord(runFolder(run));
        record.run = copy;
        const std::string file = runFolder(copy).config();
        rewriteUnseen(file, toJson(record));
        QCOMPARE(*index->refresh(), 0);
        QCOMPARE(index->runs().size(), std::size_t(1));
        QVERIFY(!index->run(copy));
        QCOMPARE(index->refusedRuns(), std::vector<std::string>{copy});
        std::filesystem::last_write_time(file, std::filesystem::file_time_type::clock::now());
        QCOMPARE(*index->refresh(), 1);
        QCOMPARE(index->runs().size(), std::size_t(2));
        write(file, "{"); // refused again: it is shown no more
        QCOMPARE(*index->refresh(), 1);
        QCOMPARE(index->runs().size(), std::size_t(1));
        QVERIFY(QDir(QString::fromStdString(runFolder(copy).path)).removeRecursively());
        QCOMPARE(*index->refresh(), 0);
    }

    void aResultThatCannotBeUsedIsNotReadAgainUntilItChanges() {
        const Home home;
        const std::string run = finishedRun(1), other = "20260102T030405Z-0000c0c0", file = runFolder(run).result();
        const RunResult result = *readRunResult(runFolder(run));
        RunResult others = result;
        others.run = other;
        write(file, toJson(others));
        auto index = RunIndex::open();
        QVERIFY(index->refresh().has_value());
        QCOMPARE(index->run(run)->state, std::string("unknown"));
        rewriteUnseen(file, toJson(result));
        QCOMPARE(*index->refresh(), 0);
        QCOMPARE(index->run(run)->state, std::string("unknown"));
        std::filesystem::last_write_time(file, std::filesystem::file_time_type::clock::now());
        QCOMPARE(*index->refresh(), 1);
        QCOMPARE(index->run(run)->state, std::string("done"));
    }

    void anIndexFromElsewhereIsNotBelievedAndDoesNothing() {
        const Home home;
        finishedRun(1);
        const std::string file = home.path() + "/index.sqlite", victim = home.path() + "/victim.txt";
        (void)RunIndex::open()->refresh();
        const std::vector<IndexedRun> before = RunIndex::open()->runs();
        // As a copy of it would be, with another row.
        execute(file, {"UPDATE runs SET state = 'failed'", "PRAGMA wal_checkpoint(TRUNCATE)"});
        QVERIFY(RunIndex::open()->runs() != before);
        const std::string bytes = *realFileSystem().readAll(file);
        write(file, bytes); // by rename, so that it is another file
        {
            auto index = RunIndex::open();
            QVERIFY(index->refresh().has_value());
            QVERIFY(index->runs() == before);
        }
        // A journal that calls another file its super-journal makes SQLite remove that file (sqlite.org/fileformat2.html, section 3).
        const auto number = [](std::uint32_t value) {
            return std::string{char(value >> 24), char(value >> 16), char(value >> 8), char(value)};
        };
        const std::string magic = "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7";
        std::uint32_t sum = 0;
        for (const char c : victim)
            sum += std::uint32_t(c);
        std::string journal =
            magic + number(0) + number(1) + number(std::uint32_t(bytes.size() / 4096)) + number(512) + number(4096);
        journal.resize(512);
        journal += number(0x40000000 / 4096 + 1) + victim + number(std::uint32_t(victim.size())) + number(sum) + magic;
        write(victim, "another program's");
        write(file, bytes);
        write(file + "-journal", journal);
        QVERIFY(RunIndex::open()->refresh().has_value());
        QVERIFY(isThere(victim));
        QVERIFY(!isThere(file + "-journal"));
        // Nor is another program's database taken for an index because a link says so.
        write(victim, "");
        QVERIFY(QFile::remove(QString::fromStdString(file)));
        QCOMPARE(::symlink(victim.c_str(), file.c_str()), 0);
        QVERIFY(RunIndex::open()->refresh().has_value());
        QCOMPARE(realFileSystem().readAll(victim)->size(), std::size_t(0));
    }

    void anIndexWithTriggersOfItsOwnIsMadeAnewWhateverItsVersion() {
        const Home home;
        finishedRun(1);
        const std::string file = home.path() + "/index.sqlite";
        (void)RunIndex::open()->refresh();
        const std::vector<IndexedRun> before = RunIndex::open()->runs();
        const QString trigger = QStringLiteral("CREATE TRIGGER lies AFTER INSERT ON runs BEGIN "
                                               "UPDATE runs SET accuracy = 0.99, run_s = 0.1; END");
        for (const char *version : {"", "PRAGMA user_version=0"}) {
            QStringList statements = {trigger, QStringLiteral("UPDATE runs SET stamp = 'old'")};
            if (*version)
                statements << QString::fromLatin1(version);
            execute(file, statements);
            auto index = RunIndex::open();
            QVERIFY(index->refresh().has_value());
            QVERIFY2(index->runs() == before, version);
            QVERIFY(RunIndex::open()->runs() == before); // which is believed again
        }
    }

    void noExpressionOfAnIndexFromElsewhereIsEvaluated() { // which would take hours here
        const Home home;
        finishedRun(1);
        execute(home.path() + "/index.sqlite",
                {"CREATE TABLE slow (a INT, CHECK (length(printf('%.*c', 100000000 + a, 'a')) > 0))",
                 "PRAGMA ignore_check_constraints=1",
                 "WITH RECURSIVE n(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM n LIMIT 100000) "
                 "INSERT INTO slow SELECT a FROM n"});
        auto index = RunIndex::open();
        QCOMPARE(*index->refresh(), 1);
    }

    void aLargeSchemaFromElsewhereIsNotParsed() { // which would take 230 MB here
        const Home home;
        finishedRun(1);
        const auto mostMemoryMiB = [] {
            rusage usage{};
            ::getrusage(RUSAGE_SELF, &usage);
            return double(usage.ru_maxrss) / 1024;
        };
        const QString tables =
            QStringLiteral("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 40) "
                           "INSERT INTO sqlite_master SELECT 'table', 'x' || i, 'x' || i, 2, 'CREATE TABLE x' || i || "
                           "'(a, CHECK (a IN (1' || replace(hex(zeroblob(50000)), '00', ',1') || ')))' FROM n");
        for (const bool asIfEmpty : {false, true}) {
            const std::string file = home.path() + "/index.sqlite";
            (void)QFile::remove(QString::fromStdString(file));
            QStringList statements = {"CREATE TABLE t (a)", "PRAGMA writable_schema=1", tables};
            if (asIfEmpty)
                statements << QStringLiteral("PRAGMA schema_version=0");
            execute(file, statements);
            const double before = mostMemoryMiB();
            QCOMPARE(*RunIndex::open()->refresh(), 1);
            QVERIFY2(mostMemoryMiB() < before + 64, asIfEmpty ? "as if empty" : "");
        }
    }

    void whatElseIsCalledLikeOurFilesIsNotWrittenTo() {
        const Home home;
        finishedRun(1);
        const std::string file = home.path() + "/index.sqlite", victim = home.path() + "/victim.txt";
        for (const char *suffix : {"-wal", "-shm", ""})
            for (const auto link : {&::link, &::symlink}) {
                (void)RunIndex::open()->refresh();
                const std::string text = *suffix ? std::string(70'000, 'v') : std::string();
                write(victim, text);
                QFile::remove(QString::fromStdString(file + suffix));
                QCOMPARE(link(victim.c_str(), (file + suffix).c_str()), 0);
                QCOMPARE(*RunIndex::open()->refresh(), 1);
                QVERIFY2(*realFileSystem().readAll(victim) == text, suffix);
            }
    }

    void runsOfOneLongCommandAreOfOneWorkWithoutItsTextInTheIndex() {
        const Home home;
        RunRecord record = ddpRecord("");
        const std::vector<std::string> once = {"python3", "train.py", std::string(100'000, 'x'), "a"},
                                       other = {"python3", "train.py", std::string(100'000, 'x'), "b"};
        std::uint32_t number = 0;
        for (const auto &command : {once, once, other}) {
            record.command = command;
            ++number;
            finishedRun(number, &record, number);
        }
        auto index = RunIndex::open();
        QCOMPARE(*index->refresh(), 3);
        const std::vector<IndexedRun> runs = index->runs(); // newest first
        QCOMPARE(groupKey(runs[1]), groupKey(runs[2]));
        QVERIFY(groupKey(runs[0]) != groupKey(runs[1]));
        for (const IndexedRun &run : runs)
            QVERIFY(run.work.size() < 1'000);
        QCOMPARE(*index->estimate(*record.config, {"box", ""}, once), 1.5);
        QCOMPARE(*index->estimate(*record.config, {"box", ""}, other), 3.0);
    }

    void endlessNamesAreCutInTheIndex() {
        const Home home;
        RunRecord record = ddpRecord("");
        record.config.reset();
        record.about = {{"model", std::string(100'000, 'm')}};
        record.recipe.assign(100'000, 'r');
        finishedRun(1, &record);
        auto index = RunIndex::open();
        QCOMPARE(*index->refresh(), 1);
        QCOMPARE(index->runs().front().model.size(), longestText);
        QCOMPARE(index->runs().front().recipe.size(), longestText);
        QVERIFY(index->runs().front().work.size() < 1'000);
    }

    void aNameThatIsGivenInAFileIsCutAndTakesOneLine() {
        const Home home;
        const RunFolder folder = runFolder(finishedRun(1));
        write(folder.notes(), "{\"name\": \"a\\nb" + std::string(60'000, 'n') + "\"}");
        QCOMPARE(readRunNotes(folder)->name.size(), longestTitle);
        auto index = RunIndex::open();
        QCOMPARE(*index->refresh(), 1);
        QCOMPARE(index->runs().front().title().size(), longestTitle);
        QVERIFY(index->runs().front().title().starts_with("a bn"));
        QVERIFY(changeRunNotes(folder, [](RunNotes &notes) { notes.name.assign(1'000, 'm'); }).has_value());
        QCOMPARE(readRunNotes(folder)->name.size(), longestTitle);
    }

    void aSummarysMetricsAreAsManyAsARunHas() {
        const Home home;
        const std::string run = finishedRun(1);
        RunResult result = doneResult(run, 0, 3.0);
        result.summary.emplace();
        for (std::size_t i = 0; i < 10 * maxScalars; ++i)
            result.summary->metrics["m" + std::to_string(i)] = 1.5;
        write(runFolder(run).result(), toJson(result));
        auto index = RunIndex::open();
        QCOMPARE(*index->refresh(), 1);
        QCOMPARE(index->runs().front().metricNames().size(), maxScalars);
        RunStore store(QString::fromStdString(run));
        QVERIFY(loadRun(store, runFolder(run)));
        QCOMPARE(outcomeOf(store).metrics.size(), maxScalars);
    }

    void copiesOfAnOutcomeShareItsCommand() {
        RunRecord record = ddpRecord("r");
        record.command.assign(1'000, "");
        RunStore store(QStringLiteral("r"));
        store.setRecord(record);
        const std::vector<RunOutcome> copies(2, outcomeOf(store));
        const RunOutcome &outcome = copies[0], &copy = copies[1];
        QCOMPARE(copy.command.size(), qsizetype(1'000));
        QVERIFY(copy.command.isSharedWith(outcome.command));
    }

    void anIndexIsBelievedWhileAnotherProcessHasItOpen() {
        const Home home;
        finishedRun(1);
        auto first = RunIndex::open();
        QCOMPARE(*first->refresh(), 1);
        auto second = RunIndex::open();
        QCOMPARE(*second->refresh(), 0); // it has the first one's row
        finishedRun(2);
        QCOMPARE(*first->refresh(), 1);
        QCOMPARE(second->runs().size(), std::size_t(2));
    }

    void theIndexIsRebuiltFromTheRunsWhenItIsGoneOrDamaged() {
        const Home home;
        finishedRun(10);
        const std::string second = finishedRun(11, nullptr, 3.5);
        const std::string file = home.path() + "/index.sqlite";
        std::vector<IndexedRun> before;
        {
            auto index = RunIndex::open();
            QVERIFY2(index.has_value(), index ? "" : index.error().message().c_str());
            QCOMPARE(*index->refresh(), 2);
            QCOMPARE(*index->refresh(), 0); // nothing is read twice
            before = index->runs();
            QCOMPARE(before.size(), std::size_t(2));
            QCOMPARE(before[0].run, second); // newest first
            QCOMPARE(before[0].state, std::string("done"));
            const MachineName box{"box", ""};
            QCOMPARE(*index->estimate(*ddpRecord("").config, box), 3.0);
            // Another host's times, and those of another processor under the same name, say nothing here.
            QVERIFY(!index->estimate(*ddpRecord("").config, {"elsewhere", ""}));
            QVERIFY(!index->estimate(*ddpRecord("").config, {"box", "Another CPU"}));
            RunConfig other = *ddpRecord("").config;
            other.seed = 99; // the same work
            QCOMPARE(*index->estimate(other, box), 3.0);
            other.epochs = 9;
            QVERIFY(!index->estimate(other, box));
        }
        QVERIFY(QFile::remove(QString::fromStdString(file)));
        {
            auto index = RunIndex::open();
            QCOMPARE(*index->refresh(), 2);
            QVERIFY(index->runs() == before);
        }
        QFile::remove(QString::fromStdString(file + "-wal"));
        QFile damaged(QString::fromStdString(file));
        QVERIFY(damaged.open(QIODevice::ReadWrite));
        damaged.write(QByteArray(4096, 'x'));
        damaged.close();
        auto index = RunIndex::open();
        QVERIFY(index.has_value());
        QVERIFY(index->refresh().has_value());
        QVERIFY(index->runs() == before);
        QVERIFY(QDir(QString::fromStdString(runFolder(second).path)).removeRecursively());
        QCOMPARE(*index->refresh(), 1);
        QCOMPARE(index->runs().size(), std::size_t(1));
    }
};

QTEST_GUILESS_MAIN(CoreIndexTest)
#include "index_test.moc"

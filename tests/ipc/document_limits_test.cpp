// SPDX-License-Identifier: MIT
// What a run's documents may have of each thing.
#include <string>
#include <tuple>

#include "ipc/command_template.h"
#include "ipc/placement.h"
#include "ipc/printable.h"
#include "ipc/run_folder.h"
#include "tests/qt_test.h"

using namespace lockstep;

class DocumentLimitsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void aDocumentOfVeryManyKeysIsRefusedAtOnce() {
        std::string text = "{";
        for (int i = 0; i < 300'000; ++i)
            text += "\"k" + std::to_string(i) + "\":0,";
        const auto record = runRecordFromJson(text + "\"run\":\"x\"}");
        QVERIFY(!record);
        QVERIFY2(record.error().message().find("too many keys") != std::string::npos, record.error().message().c_str());
    }

    void aDocumentOfVeryManyValuesIsRefusedHoweverShortTheyAre() {
        const auto withValues = [](std::size_t count) {
            std::string text = "{\"state\":\"done\",\"pad\":[0";
            for (std::size_t i = 4; i < count;
                 ++i) // the object, the state, the list and its first item are values, too
                text += ",0";
            return text + "]}";
        };
        QVERIFY(runRecordFromJson(withValues(recordLimits.values)).has_value());
        QVERIFY(runResultFromJson(withValues(resultLimits.values)).has_value());
        const auto record = runRecordFromJson(withValues(recordLimits.values + 1));
        QVERIFY(!record);
        QVERIFY2(record.error().message().find("config.json has more than 200000 values") != std::string::npos,
                 record.error().message().c_str());
        const auto result = runResultFromJson(withValues(resultLimits.values + 1));
        QVERIFY(!result);
        QVERIFY2(result.error().message().find("result.json has more than 600000 values") != std::string::npos,
                 result.error().message().c_str());
    }

    void theLongestCommandAndTheMostEpochsThatARunCanHaveAreRead() {
        RunRecord record;
        record.command.assign(mostCommandWords, std::string(mostCommandBytes / mostCommandWords, 'x'));
        const std::string text = toJson(record);
        QVERIFY(text.size() <= recordLimits.bytes);
        QVERIFY(runRecordFromJson(text).has_value());
        RunResult result;
        result.state = RunState::Done;
        result.summary.emplace().epochs.assign(100'000,
                                               {100'000, -1.2345678901234567e-10, 1.2345678901234567e-5, 1'281'167});
        const auto read = runResultFromJson(toJson(result));
        QVERIFY2(read.has_value(), read ? "" : read.error().message().c_str());
        QCOMPARE(read->summary->epochs.size(), std::size_t(100'000));
    }

    void moreEpochsThanAResultHasRoomForAreLeftOut() {
        RunResult result;
        result.state = RunState::Done;
        result.summary.emplace().epochs.assign(resultLimits.values / 5 + 1,
                                               {1, 0.5, 0.5, 64}); // each has four values and is one
        const auto read = runResultFromJson(toJson(result));
        QVERIFY2(read.has_value(), read ? "" : read.error().message().c_str());
        QVERIFY(read->summary->epochs.empty());
        QVERIFY(read->warnings.front().find("too many for result.json") != std::string::npos);
    }

    void namesForWhichADocumentHasNoRoomAreLeftOut() {
        RunRecord record;
        record.name = "large";
        record.deviceNames.assign(50'000, std::string(200, '"'));
        const auto back = runRecordFromJson(toJson(record));
        QVERIFY2(back.has_value(), back ? "" : back.error().message().c_str());
        QCOMPARE(back->name, record.name);
        QVERIFY(back->deviceNames.empty());
        record.deviceNames.resize(1200);
        QCOMPARE(runRecordFromJson(toJson(record))->deviceNames.size(), std::size_t(1200));
        RunResult result;
        result.state = RunState::Done;
        result.ranks.resize(60'000);
        for (RankExit &rank : result.ranks)
            rank.host.assign(200, '"');
        const std::string text = toJson(result);
        QVERIFY(text.size() <= resultLimits.bytes);
        const auto read = runResultFromJson(text);
        QVERIFY2(read.has_value(), read ? "" : read.error().message().c_str());
        QCOMPARE(read->ranks.size(), result.ranks.size());
        QVERIFY(read->ranks.back().host.empty());
        QVERIFY(read->warnings.front().find("too long for result.json") != std::string::npos);
    }

    void listsThatNoRunCanHaveAreRefused() {
        const auto list = [](const std::string &key, const std::string &item, int items) {
            std::string out = "\"" + key + "\":[" + item;
            while (--items > 0)
                out += "," + item;
            return out + "]";
        };
        const auto whyNot = [](const std::string &key) {
            const auto record = runRecordFromJson("{" + key + "}");
            const auto result = runResultFromJson("{\"state\":\"done\"," + key + "}");
            return (record ? "" : record.error().message()) + (result ? "" : result.error().message());
        };
        for (const auto &[key, item, most] : {std::tuple{"machines", std::string("{}"), 4'096},
                                              {"machines", "{" + list("devices", "{}", 64) + "}", 1'024},
                                              {"device_names", "\"\"", 65'536},
                                              {"ranks", "{}", 65'536},
                                              {"command", "\"\"", 65'536},
                                              {"known", "\"\"", 512},
                                              {"warnings", "\"\"", 1'000}}) {
            QCOMPARE(whyNot(list(key, item, most)), std::string());
            QVERIFY2(whyNot(list(key, item, most + 1)).find("a list of at most") != std::string::npos, key);
        }
    }

    void aRecordWithMoreFlagsThanAScriptCanHaveIsRefused() {
        RunRecord record;
        for (std::size_t i = 0; i < mostFlags; ++i)
            record.claims.flags["f" + std::to_string(i)] = "1";
        const auto most = runRecordFromJson(toJson(record));
        QVERIFY2(most.has_value(), most ? "" : most.error().message().c_str());
        QCOMPARE(most->claims.flags.size(), mostFlags);
        record.claims.flags["further"] = "1";
        const auto more = runRecordFromJson(toJson(record));
        QVERIFY(!more);
        QVERIFY2(more.error().message().find("\"flags\" should be an object of at most 512 keys, not 513") !=
                     std::string::npos,
                 more.error().message().c_str());
    }

    void accuraciesOfMoreClassesThanAResultHasAreRefusedAndNotWritten() {
        RunResult result;
        result.state = RunState::Done;
        result.summary.emplace().testAccuracy = 0.5;
        for (const std::size_t classes : {10'000, 10'001}) {
            result.summary->perClassAccuracy.assign(classes, 0.5);
            const auto back = runResultFromJson(toJson(result));
            QVERIFY2(back.has_value(), back ? "" : back.error().message().c_str());
            QCOMPARE(back->summary->testAccuracy, std::optional(0.5));
            QCOMPARE(back->summary->perClassAccuracy.size(), classes == 10'000 ? classes : std::size_t(0));
        }
        std::string list = "0";
        for (int i = 0; i < 10'000; ++i)
            list += ",0";
        const auto back = runResultFromJson("{\"state\":\"done\",\"summary\":{\"per_class_accuracy\":[" + list + "]}}");
        QVERIFY(!back);
        QVERIFY2(back.error().message().find("a list of at most 10,000") != std::string::npos,
                 back.error().message().c_str());
    }

    void aNumberOfNodesIsOneThatARunMayHave() {
        for (const char *key : {"nodes", "nodes_unknown"})
            for (const int count : {-1, mostNodes, mostNodes + 1}) {
                const auto back = runResultFromJson("{\"state\":\"done\",\"surroundings\":{\"" + std::string(key) +
                                                    "\":" + std::to_string(count) + "}}");
                QCOMPARE(back.has_value(), count == mostNodes);
            }
        const auto back = runResultFromJson("{\"state\":\"done\",\"watching\":{\"nodes\":-1}}");
        QVERIFY(!back);
        QVERIFY2(back.error().message().find("a whole number from 0 to 4,096") != std::string::npos,
                 back.error().message().c_str());
    }

    void aFlagWithoutANameIsNone() {
        const auto record = runRecordFromJson("{\"flags\":{\"\":\"1\",\"amp\":\"on\"}}");
        QVERIFY2(record.has_value(), record ? "" : record.error().message().c_str());
        QCOMPARE(record->claims.flags.size(), std::size_t(1));
        QVERIFY(record->claims.flags.contains("amp"));
    }

    void endlessSentencesOfAResultAreCut() {
        RunResult result;
        result.state = RunState::Failed;
        result.reason.assign(longestText + 1, 'x');
        result.warnings = {result.reason};
        result.surroundings.emplace();
        result.surroundings->loadedNode = result.surroundings->heldNode = result.reason;
        result.surroundings->throttle.assign(mostThrottleReasons + 1, result.reason);
        const auto back = runResultFromJson(toJson(result));
        QVERIFY(back.has_value());
        QCOMPARE(back->surroundings->loadedNode.size(), longestReportedName);
        QCOMPARE(back->surroundings->heldNode.size(), longestReportedName);
        QCOMPARE(back->surroundings->throttle.size(), mostThrottleReasons);
        QCOMPARE(back->surroundings->throttle.back().size(), longestReportedName);
        QCOMPARE(back->reason.size(), longestText);
        QCOMPARE(back->warnings.at(0).size(), longestText);
    }
};

QTEST_GUILESS_MAIN(DocumentLimitsTest)
#include "document_limits_test.moc"

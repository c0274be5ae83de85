// SPDX-License-Identifier: MIT

#include "ipc/command_template.h"
#include "ipc/frames.h"
#include "ipc/run_folder.h"
#include "tests/qt_test.h"

using namespace lockstep;

class CommandTemplateTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void placesAreFilledAndDoubledBracesStay_data() {
        QTest::addColumn<QString>("word");
        QTest::addColumn<QString>("filled");
        QTest::newRow("none") << "--affine"
                              << "--affine";
        QTest::newRow("a field") << "{workers}"
                                 << "3";
        QTest::newRow("in the middle") << "w={workers},b={batch_size}!"
                                       << "w=3,b=64!";
        QTest::newRow("braces") << "{{workers}} }}{{"
                                << "{workers} }{";
        for (const char *bad : {"{workers", "workers}", "{wor{kers}", "{", "}", "{worker}", "{frames}", "{}"})
            QTest::newRow(bad) << bad << QString();
    }
    void placesAreFilledAndDoubledBracesStay() {
        QFETCH(QString, word);
        QFETCH(QString, filled);
        RunConfig config;
        config.workers = 3;
        const auto out = fillPlaceholders(word.toStdString(),
                                          [&](std::string_view name) { return configPlaceholder(config, name); });
        QCOMPARE(out.has_value(), !filled.isNull());
        if (out)
            QCOMPARE(QString::fromStdString(*out), filled);
        else
            QVERIFY(!out.error().wayOut.empty());
    }

    void anUnknownPlaceIsAnsweredWithTheNearest() {
        const auto checked = checkPlaceholders({"{python:torch,torchvision}", "{scripts}/x.py", "{wokers}"});
        QVERIFY(!checked.has_value());
        QVERIFY(checked.error().message().find("{wokers}") != std::string::npos);
        QVERIFY(checked.error().message().find("did you mean {workers}?") != std::string::npos);
        QVERIFY(checkPlaceholders({"{python}", "{recipe_folder}/x.py", "{lr}"}).has_value());
        QVERIFY(!checkPlaceholders({"{python:}"}).has_value());
        QVERIFY(!checkPlaceholders({"{python:os;import}"}).has_value());
    }

    void aShownCommandCanBeTypedAndLeavesEmptyOptionsOut() {
        const std::vector<std::string> command = {
            "{python:torch}",        "{scripts}/a.py", "--data-dir", "{data_dir}", "--seed={seed}",
            "--data-dir={data_dir}", "--workers",      "{workers}",  "--empty",    ""};
        RunConfig config;
        config.workers = 2;
        const std::string seed = "--seed=" + std::to_string(config.seed);
        QCOMPARE(shownCommand(command, config, "/opt/my python"),
                 (std::vector<std::string>{"python3", "/opt/my python/a.py", seed, "--workers", "2", "--empty", ""}));
        config.dataDir = "/data";
        QCOMPARE(shownCommand(command, config),
                 (std::vector<std::string>{"python3", "{scripts}/a.py", "--data-dir", "/data", seed, "--data-dir=/data",
                                           "--workers", "2", "--empty", ""}));
    }

    void aCommandIsNoLongerThanAProgramCanBeGiven() {
        RunConfig config;
        config.dataDir = "/" + std::string(99'999, 'a');
        const std::vector<std::string> one = {"python3", "{data_dir}"};
        QCOMPARE(*filledBytes(one, config), std::size_t(8 + 100'001));
        QCOMPARE(*filledBytes({"{python}", "{{}}"}, config), std::size_t(1 + 5)); // braces as they are written
        const std::string twice = "{data_dir}{data_dir}";
        const auto value = [&](std::string_view name) { return configPlaceholder(config, name); };
        QVERIFY(fillPlaceholders(twice, value).error().what.starts_with("a word of the command is longer"));
        QVERIFY(filledBytes({twice}, config).error().what.starts_with("a word of the command is longer"));
        QVERIFY(filledBytes({std::string(mostWordBytes, 'x')}, config).has_value());
        QVERIFY(!filledBytes({std::string(mostWordBytes + 1, 'x')}, config));
        const std::vector<std::string> many(20'000, "{data_dir}"); // 2 GB
        QVERIFY(filledBytes(many, config).error().what.starts_with("the command is longer than the 6291456 bytes"));
        QVERIFY(filledBytes(std::vector<std::string>(mostCommandWords, "x"), config).has_value());
        QVERIFY(filledBytes(std::vector<std::string>(mostCommandWords + 1, "x"), config)
                    .error()
                    .what.starts_with("the command has 65,537 words"));
        std::size_t shown = 0;
        for (const std::string &word : shownCommand(many, config))
            shown += word.size();
        QVERIFY(shown < 2 * mostCommandBytes);
    }

    void aCommandIsCalledByItsScript() {
        QCOMPARE(commandName({"/usr/bin/python3.11", "-u", "-W", "ignore", "/a/train.py", "--x"}),
                 std::string("train.py"));
        QCOMPARE(commandName({"python3", "-m", "pkg.train"}), std::string("python3"));
        QCOMPARE(commandName({"/bin/sh", "run.sh"}), std::string("sh"));
        QCOMPARE(commandName({"{python:torch}", "{scripts}/a.py"}), std::string("a.py"));
        QCOMPARE(commandName({}), std::string());
        RunRecord record;
        QVERIFY(!isScript(record));
        record.claims.known = {"method"}; // started elsewhere: lockstep-trainer would have said all its settings
        QVERIFY(isScript(record));
        record.claims.known.reset();
        record.command = {"/opt/bin/lockstep-trainer", "--epochs", "1"};
        QVERIFY(!isScript(record));
        record.command = {"python3", "train.py"};
        QVERIFY(isScript(record));
    }

    void aRunOfWhoseMachinesOnlyTheNamesAreKnownWasStartedElsewhere() {
        RunRecord record;
        QVERIFY(isStartedElsewhere(record)); // no rank has said yet where it is
        record.machines.resize(2);
        record.machines[0].host = "a";
        record.machines[1].host = "b";
        record.machines[1].node = 1;
        QVERIFY(isStartedElsewhere(record));
        record.machines[0].kernel = "6.1";
        QVERIFY(!isStartedElsewhere(record));
    }

    void aStateSaysWhatAScriptIsAndUnknownStaysUnknown() {
        Decoder decoder;
        const std::string head = R"({"type":"state","rank":0,"rseq":0,"mono_ns":1,"wall_us":2,"state":"init","about":)";
        const auto frame =
            decoder.decode(head + R"({"method":"ddp","workers":2,"affine":true,"lr":0.01,"seed":null}})");
        QVERIFY2(frame.has_value(), frame ? "" : frame.error().message().c_str());
        const About &about = std::get<StateFrame>(frame->body).about;
        QCOMPARE(about, (About{{"method", "ddp"}, {"workers", "2"}, {"affine", "true"}, {"lr", "0.01"}}));
        const auto again = decoder.decode(encode(*frame));
        QVERIFY(again.has_value() && *again == *frame);
        QVERIFY(!decoder.decode(head + R"({"method":["ddp"]}})").has_value());
        QVERIFY(!decoder.decode(head + R"("ddp"})").has_value());
    }

    void aSummaryOfAScriptKeepsWhatIsUnknownUnknown() {
        Summary summary;
        summary.method = "ddp";
        summary.workers = 0;
        const std::string text = toJson(summary);
        QVERIFY(text.find("batch_size") == std::string::npos);
        const auto back = summaryFromJson(text);
        QVERIFY(back && back->workers == 0 && !back->batchSize && !back->lr && !back->seed && !back->threads);
    }
};

QTEST_GUILESS_MAIN(CommandTemplateTest)
#include "command_template_test.moc"

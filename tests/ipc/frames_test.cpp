// SPDX-License-Identifier: MIT
#include <cmath>
#include <limits>
#include <set>

#include "ipc/reported_facts.h"
#include "sample_frames.h"
#include "tests/qt_test.h"

using namespace lockstep;

namespace {
std::string headed(const std::string &rest) {
    return R"({"type":"steps","rank":0,"rseq":1,"mono_ns":1,"wall_us":2)" + rest + "}";
}
std::string steps(const std::string &rest) {
    return headed(R"(,"epoch":1,"first_step":0,"last_step":12,"count":13,"samples":832)" + rest);
}
} // namespace

class FramesTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void everyTypeComesBackAsItWas() {
        Decoder decoder;
        std::set<std::string> types;
        for (const Frame &frame : test::sampleFrames()) {
            const std::string line = encode(frame);
            QVERIFY2(line.find('\n') == std::string::npos, line.c_str());
            const auto back = decoder.decode(line);
            QVERIFY2(back.has_value(), (line + " " + (back ? "" : back.error().message())).c_str());
            QVERIFY2(*back == frame, line.c_str());
            QCOMPARE(encode(*back), line);
            types.emplace(typeOf(frame));
        }
        QCOMPARE(types.size(), std::variant_size_v<FrameBody> - 1);
    }

    void theTimeOfALineIsReadWithoutTheRestOfIt() {
        const std::string spaced = "{\"type\": \"log\", \"wall_us\": 1700000000000000, \"mess"; // as Python has it
        const std::string quoted = "{\"message\":\"\\\"wall_us\\\":7\"}", torn = "{\"wall_us\"";
        QCOMPARE(wallUsOf(steps("")), std::int64_t(2));
        QCOMPARE(wallUsOf(spaced), std::int64_t(1'700'000'000'000'000));
        QCOMPARE(wallUsOf(quoted), std::int64_t(0));
        QCOMPARE(wallUsOf(torn), std::int64_t(0));
    }

    void keysOfANewerVersionAreKeptAndWrittenAgain() {
        const std::string line = steps(R"(,"staleness":{"mean":1.5,"list":[1,2e+300,null,"ü"]},"pushes":7)");
        const auto frame = Decoder().decode(line);
        QVERIFY(frame.has_value());
        QCOMPARE(frame->extra.size(), std::size_t{2});
        QCOMPARE(frame->extra[1].first, std::string("pushes"));
        QCOMPARE(encode(*frame), line);
    }

    void anUpdateIsCountedWhateverStalenessAnotherRankGivesIt() {
        using Limits = std::numeric_limits<std::int64_t>;
        const auto last = std::size_t(mostStaleness);
        for (const auto &[staleness, entry] : {std::pair(Limits::min(), std::size_t(0)),
                                               {-1, 0},
                                               {0, 0},
                                               {5, 5},
                                               {mostStaleness, last},
                                               {mostStaleness + 1, last},
                                               {Limits::max(), last}})
            QCOMPARE(entryOfStaleness(staleness), entry);
    }

    void typesOfANewerVersionAreKeptAsText() {
        const std::string line = R"({"type":"gossip","rank":2,"rseq":5,"mono_ns":1,"wall_us":2,"about":["rank 0"]})";
        const auto frame = Decoder().decode(line);
        QVERIFY(frame.has_value());
        QVERIFY(std::holds_alternative<UnknownFrame>(frame->body));
        QCOMPARE(typeOf(*frame), std::string_view("gossip"));
        QCOMPARE(encode(*frame), line);
    }

    void theLogsOwnKeysAreTheFramesHead() {
        const auto frame = Decoder().decode(
            R"({"type":"heartbeat","mono_ns":1,"wall_us":2,"node":3,"seq":18446744073709551615,"crc":"00000000"})");
        QVERIFY(frame.has_value());
        QVERIFY(!frame->rank && !frame->rseq);
        QCOMPARE(*frame->node, 3);
        QCOMPARE(*frame->seq, std::numeric_limits<std::uint64_t>::max());
        QVERIFY(frame->extra.empty());
    }

    void nonFiniteNumbersTravelAsTexts() {
        Frame frame;
        const double inf = std::numeric_limits<double>::infinity();
        frame.body = StepsFrame{1, 0, 0, 1, 64, LossWindow{-inf, std::nan(""), inf, 1}, {}};
        const std::string line = encode(frame);
        const std::string_view loss = R"("loss":{"min":"-Inf","mean":"NaN","max":"Inf","last":1})";
        QVERIFY(line.find(loss) != std::string::npos);
        const auto back = Decoder().decode(line);
        QVERIFY(back.has_value());
        const auto &window = *std::get<StepsFrame>(back->body).loss;
        QVERIFY(std::isnan(window.mean) && window.min == -inf && window.max == inf);
    }

    void realsComeBackBitForBit() {
        Decoder decoder;
        std::uint64_t state = 42;
        for (int i = 0; i < 20'000; ++i) {
            state = state * 6364136223846793005ull + 1442695040888963407ull;
            double number;
            static_assert(sizeof number == sizeof state);
            std::memcpy(&number, &state, sizeof number);
            if (!std::isfinite(number))
                continue;
            Frame frame;
            frame.body = EpochFrame{1, number, 0, 0, 0, 0, {}, {}};
            const auto back = decoder.decode(encode(frame));
            QVERIFY2(back.has_value(), encode(frame).c_str());
            QCOMPARE(std::memcmp(&*std::get<EpochFrame>(back->body).loss, &number, sizeof number), 0);
        }
    }

    void aMetricMayBeOneNumberAndLeaveOutWhatItsMeanSays() {
        const auto frame = Decoder().decode(
            steps(R"(,"scalars":{"temperature":0.7,"odd":"NaN","unknown":null,"rate":{"sum":6,"weight":1.5}})"));
        QVERIFY2(frame.has_value(), frame ? "" : frame.error().message().c_str());
        const Scalars &scalars = std::get<StepsFrame>(frame->body).scalars;
        QCOMPARE(scalars.size(), std::size_t{3});
        QVERIFY(scalars.at("temperature") == (ScalarWindow{0.7, 1, 0.7, 0.7, 0.7}));
        QVERIFY(scalars.at("rate") == (ScalarWindow{6, 1.5, 4, 4, 4}));
        QVERIFY(std::isnan(scalars.at("odd").last));
    }

    void whatARankSaysTurnsNoNumbersBesideIt() {
        const auto frame = Decoder().decode(
            "{\"type\":\"state\",\"rank\":0,\"mono_ns\":1,\"wall_us\":2,\"state\":\"init\",\"host\":\"a\xE2\x80\xAE\","
            "\"device\":\"\xE2\x81\xA6x\",\"about\":{\"model\":\"m\xE2\x80\xAD\"}}");
        QVERIFY2(frame.has_value(), frame ? "" : frame.error().message().c_str());
        const auto &state = std::get<StateFrame>(frame->body);
        QCOMPARE(state.host, std::string("a\xEF\xBF\xBD"));
        QCOMPARE(state.device, std::string("\xEF\xBF\xBDx"));
        QCOMPARE(state.about.at("model"), std::string("m\xEF\xBF\xBD"));
        const auto window = Decoder().decode(steps(",\"phases\":{\"lo\xE2\x80\xAE\":{\"sum_s\":1,\"max_s\":1}}"));
        QVERIFY2(window.has_value(), window ? "" : window.error().message().c_str());
        QVERIFY(std::get<StepsFrame>(window->body).phases.contains("lo\xEF\xBF\xBD"));
    }

    void ofMorePhasesThanAFrameMayHaveTheRestIsLeftOut() {
        std::string phases;
        for (int i = 0; i < 300; ++i)
            phases += "\"a" + std::to_string(i) + "\":{\"sum_s\":1},";
        const auto frame = Decoder().decode(steps(",\"phases\":{" + phases + "\"forward\":{\"sum_s\":2}}"));
        QVERIFY2(frame.has_value(), frame ? "" : frame.error().message().c_str());
        const PhaseTimes &kept = std::get<StepsFrame>(frame->body).phases;
        QCOMPARE(kept.size(), mostPhases + 1);
        QCOMPARE(kept.at("forward").sumS, 2.0); // it is a part of the step's time
    }

    void aFrameFullOfMetricsFits() {
        Frame frame;
        StepsFrame body{1, 0, 12, 13, 832, {}, {}};
        for (std::size_t i = 0; i < maxScalars; ++i) {
            std::string name = "_" + std::to_string(i);
            name.resize(maxScalarNameBytes, 'x');
            body.scalars[name] = {-1.2345678901234567e-300, 1.2345678901234567e-300, -1.2345678901234567e-300,
                                  1.2345678901234567e-300, 1.2345678901234567e-300};
        }
        frame.body = body;
        const std::string line = encode(frame);
        QVERIFY(line.size() < maxFrameBytes / 4);
        QVERIFY(Decoder().decode(line).has_value());
    }

    void theWorkOfAPipelinesStageComesBackAndAFrameFullOfItFits() {
        CommFrame body;
        body.stageSteps = 13;
        for (std::size_t i = 0; i < mostStageWork; ++i)
            body.stageWork.push_back({i % 2 ? "backward" : "forward", int(i / 2), 1.2345678901234567e-3 * double(i + 1),
                                      1.2345678901234567e-3 * double(i + 2)});
        Frame frame;
        frame.body = body;
        const std::string line = encode(frame);
        QVERIFY(line.size() < maxFrameBytes);
        const auto decoded = Decoder().decode(line);
        QVERIFY2(decoded.has_value(), decoded ? "" : decoded.error().message().c_str());
        QVERIFY(std::get<CommFrame>(decoded->body) == body);
        body.stageWork.push_back({"forward", 0, 0, 1});
        frame.body = body;
        QVERIFY(!Decoder().decode(encode(frame)));
    }

    void unknownIsAbsentAndNullIsUnknown() {
        const auto frame = Decoder().decode(steps(R"(,"loss":null,"phases":null)"));
        QVERIFY(frame.has_value());
        QVERIFY(!std::get<StepsFrame>(frame->body).loss);
        QVERIFY(encode(*frame).find("null") == std::string::npos);
    }

    void malformedFramesAreRefusedWithASentence_data() {
        QTest::addColumn<QByteArray>("line");
        QTest::addColumn<QByteArray>("says");
        const auto row = [](const char *name, const std::string &line, const char *says) {
            QTest::newRow(name) << QByteArray::fromStdString(line) << QByteArray(says);
        };
        row("empty", "", "JSON");
        row("spaces", "   ", "JSON");
        row("no JSON", "hello", "JSON");
        row("a list", "[]", "object");
        row("a number", "12", "object");
        row("a text", "\"steps\"", "object");
        row("cut off", steps("").substr(0, 60), "JSON");
        row("junk after it", steps("") + "x", "JSON");
        row("two objects", steps("") + steps(""), "JSON");
        row("NUL after it", steps("") + std::string(1, '\0'), "JSON");
        row("NUL inside a text", steps(std::string(",\"x\":\"a\0b\"", 9)), "JSON");
        row("bare NaN", steps(R"(,"loss":{"min":NaN})"), "JSON");
        row("single quotes", "{'type':'steps'}", "JSON");
        row("trailing comma", steps(R"(,"x":1,)"), "JSON");
        row("invalid UTF-8", steps(",\"x\":\"\xFF\""), "JSON");
        row("lone surrogate", steps(R"(,"x":"\ud800")"), "JSON");
        row("key twice", steps(R"(,"epoch":1)"), "twice");
        row("key twice, escaped", steps(R"(,"\u0065poch":1)"), "twice");
        row("unknown key twice", steps(R"(,"x":1,"x":2)"), "twice");
        row("key twice inside", steps(R"(,"loss":{"min":1,"min":1,"mean":1,"max":1,"last":1})"), "twice");
        row("key twice deep in an unknown key", steps(R"(,"x":[{"y":{"z":1,"z":2}}])"), "twice");
        row("nesting bomb", steps(",\"x\":" + std::string(20'000, '[') + std::string(20'000, ']')), "deep");
        row("object bomb", std::string(30'000, '{'), "JSON");
        row("too long", steps(",\"x\":\"" + std::string(maxFrameBytes, 'x') + "\""), "too long");
        row("number out of a double's range", steps(R"(,"x":1e999)"), "JSON");
        row("integer out of range", steps(R"(,"x":99999999999999999999999)"), "JSON");
        row("no type", R"({"mono_ns":1,"wall_us":2})", "type");
        row("empty type", R"({"type":"","mono_ns":1,"wall_us":2})", "type");
        row("type is a number", R"({"type":1,"mono_ns":1,"wall_us":2})", "type");
        row("no mono_ns", R"({"type":"heartbeat","wall_us":2})", "mono_ns");
        row("no wall_us", R"({"type":"heartbeat","mono_ns":2})", "wall_us");
        row("mono_ns is a real", R"({"type":"heartbeat","mono_ns":2.5,"wall_us":2})", "mono_ns");
        row("a monotonic clock before its start", R"({"type":"heartbeat","mono_ns":-9223372036854775808,"wall_us":2})",
            "mono_ns");
        row("a monotonic clock of 292 years", R"({"type":"heartbeat","mono_ns":9223372036854775807,"wall_us":2})",
            "mono_ns");
        row("a wall clock before 1970", R"({"type":"heartbeat","mono_ns":1,"wall_us":-9223372036854775808})",
            "wall_us");
        row("a wall clock after 9999", R"({"type":"heartbeat","mono_ns":1,"wall_us":9223372036854775807})", "wall_us");
        row("an epoch that no run reaches",
            R"({"type":"eval","mono_ns":1,"wall_us":2,"epoch":2147483647,)"
            R"("accuracy":0.8,"samples":1,"duration_s":1})",
            "epoch");
        row("a clock offset of a thousand years",
            R"({"type":"link","mono_ns":1,"wall_us":2,"of_node":1,"link":"up","clock_offset_s":-4e10})",
            "clock_offset_s");
        row("a node beyond a run's most", R"({"type":"heartbeat","node":4096,"mono_ns":1,"wall_us":2})", "node");
        row("a link's node beyond a run's most",
            R"({"type":"link","mono_ns":1,"wall_us":2,"of_node":4096,"link":"up"})", "of_node");
        row("negative rank", R"({"type":"heartbeat","rank":-1,"mono_ns":2,"wall_us":2})", "rank");
        row("huge rank", R"({"type":"heartbeat","rank":2000000000,"mono_ns":2,"wall_us":2})", "rank");
        row("rseq without rank", R"({"type":"heartbeat","rseq":1,"mono_ns":2,"wall_us":2})", "rank");
        row("negative rseq", R"({"type":"heartbeat","rank":1,"rseq":-1,"mono_ns":2,"wall_us":2})", "rseq");
        row("no steps", headed(R"(,"epoch":1)"), "first_step");
        row("epoch 0", headed(R"(,"epoch":0,"first_step":0,"last_step":0,"count":1,"samples":1)"), "epoch");
        row("steps backwards", headed(R"(,"epoch":1,"first_step":5,"last_step":4,"count":1,"samples":1)"), "last_step");
        row("loss is a text", steps(R"(,"loss":"high")"), "loss");
        row("loss lacks a key", steps(R"(,"loss":{"min":1,"mean":1,"max":1})"), "last");
        row("loss says nan", steps(R"(,"loss":{"min":"nan","mean":1,"max":1,"last":1})"), "min");
        row("phases is a list", steps(R"(,"phases":[])"), "phases");
        row("a phase is a number", steps(R"(,"phases":{"load":1})"), "phases");
        row("a phase lacks its sum", steps(R"(,"phases":{"load":{"max_s":1}})"), "sum_s");
        row("a metric is a text", steps(R"(,"scalars":{"x":"high"})"), "scalars");
        row("a metric's name has a blank", steps(R"(,"scalars":{"grad norm":1})"), "scalars");
        row("a metric's name is empty", steps(R"(,"scalars":{"":1})"), "scalars");
        row("a metric's name begins with a digit", steps(R"(,"scalars":{"1st":1})"), "scalars");
        row("a metric's name is long", steps(",\"scalars\":{\"" + std::string(49, 'x') + "\":1}"), "scalars");
        row("a metric lacks its sum", steps(R"(,"scalars":{"x":{"weight":1}})"), "sum");
        row("a metric of nothing", steps(R"(,"scalars":{"x":{"sum":1,"weight":0}})"), "weight");
        row("a metric twice", steps(R"(,"scalars":{"x":1,"x":2})"), "twice");
        std::string many;
        for (std::size_t i = 0; i <= maxScalars; ++i)
            many += (many.empty() ? "\"x" : ",\"x") + std::to_string(i) + "\":1";
        row("33 metrics", steps(",\"scalars\":{" + many + "}"), "scalars");
        std::string classes, devices;
        for (int i = 0; i <= 1024; ++i) {
            classes += i <= 1000 ? (i > 0 ? ",0" : "0") : "";
            devices += (i > 0 ? "," : "") + std::string("{\"device\":\"cpu:") + std::to_string(i) + "\"}";
        }
        row("1,001 classes",
            R"({"type":"eval","mono_ns":1,"wall_us":2,"epoch":1,"accuracy":0.8,"samples":1,"per_class_accuracy":[)" +
                classes + "]}",
            "per_class_accuracy\" should be at most 1,000 numbers");
        row("1,025 devices of an epoch",
            R"({"type":"epoch","mono_ns":1,"wall_us":2,"epoch":1,"duration_s":1,"samples":1,"steps":1,)"
            R"("start_mono_ns":1,"phases":{},"devices":[)" +
                devices + "]}",
            "devices\" should be at most 1,024 devices");
        row("unknown state", R"({"type":"state","mono_ns":1,"wall_us":2,"state":"dreaming"})", "state");
        row("accuracy in percent",
            R"({"type":"eval","mono_ns":1,"wall_us":2,"epoch":1,"accuracy":88,"samples":1,"duration_s":1})",
            "accuracy");
        row("negative duration",
            R"({"type":"eval","mono_ns":1,"wall_us":2,"epoch":1,"accuracy":0.8,"samples":1,"duration_s":-1})",
            "duration_s");
        row("a duration that is NaN",
            R"({"type":"eval","mono_ns":1,"wall_us":2,"epoch":1,"accuracy":0.8,"samples":1,"duration_s":"NaN"})",
            "0 or more, but is NaN");
        row("an accuracy that is NaN",
            R"({"type":"eval","mono_ns":1,"wall_us":2,"epoch":1,"accuracy":"NaN","samples":1,"duration_s":1})",
            "from 0 to 1, but is NaN");
        row("a negative phase", steps(R"(,"phases":{"load":{"sum_s":-1}})"),
            "phases.load.sum_s\" should be a duration in seconds, 0 or more, but is -1");
        row("more samples than there can be",
            headed(R"(,"epoch":1,"first_step":0,"last_step":0,"count":1,"samples":9223372036854775807)"), "samples");
        row("a device's power that is infinite",
            R"({"type":"device","mono_ns":1,"wall_us":2,"interval_s":1,"devices":[{"device":"a","power_w":"Inf"}]})",
            "power_w\" should be a finite number, but is infinite");
        row("device without a name", R"({"type":"device","mono_ns":1,"wall_us":2,"interval_s":1,"devices":[{}]})",
            "device");
        row("devices of numbers", R"({"type":"device","mono_ns":1,"wall_us":2,"interval_s":1,"devices":[1]})",
            "devices");
        row("log without a message", R"({"type":"log","mono_ns":1,"wall_us":2,"level":"info"})", "message");
        row("exit code is a text", R"({"type":"exit","mono_ns":1,"wall_us":2,"pid":1,"code":"0"})", "code");
    }
    void malformedFramesAreRefusedWithASentence() {
        QFETCH(QByteArray, line);
        QFETCH(QByteArray, says);
        Decoder decoder;
        const auto frame = decoder.decode(line.toStdString());
        QVERIFY(!frame.has_value());
        QVERIFY2(frame.error().message().find(says.toStdString()) != std::string::npos,
                 frame.error().message().c_str());
        QVERIFY(frame.error().message().size() < 300);
        // And the decoder lives on.
        QVERIFY(decoder.decode(steps("")).has_value());
    }

    void ofADevicesLongNameTheBeginningIsTaken() {
        Decoder decoder;
        std::string name(199, 'x');
        name += "\u00fc and more"; // its 200th byte is the first of two
        const std::string quoted = '"' + name + '"';
        const auto frame = decoder.decode(
            R"({"type":"device","mono_ns":1,"wall_us":2,"interval_s":1,"devices":[{"device":)" + quoted + "}]}");
        QVERIFY(frame.has_value());
        QCOMPARE(std::get<DeviceFrame>(frame->body).devices.at(0).device, std::string(199, 'x'));
        const auto epoch = decoder.decode(R"({"type":"epoch","mono_ns":1,"wall_us":2,"epoch":1,"duration_s":1,)"
                                          R"("samples":1,"steps":1,"start_mono_ns":1,"devices":[{"device":)" +
                                          quoted + "}]}");
        QVERIFY(epoch.has_value());
        QCOMPARE(std::get<EpochFrame>(epoch->body).devices.at(0).device, std::string(199, 'x'));
    }

    void aFrameIsNeverLongerThanTheLimit() {
        Decoder decoder;
        for (const std::string &unit : {std::string("x"), std::string("\x01"), std::string("ü"), std::string("\xFF")}) {
            std::string message;
            while (message.size() < 200'000)
                message += unit;
            for (const FrameBody &body :
                 {FrameBody(LogFrame{"info", message, "console"}), FrameBody(AlertFrame{"error", "k", message, {}})}) {
                Frame frame;
                frame.body = body;
                const std::string line = encode(frame);
                QVERIFY(line.size() < maxFrameBytes - 100);
                QVERIFY(line.size() > maxFrameBytes / 3); // no more is cut than must be
                QVERIFY(line.find(" bytes cut)") != std::string::npos);
                QVERIFY(decoder.decode(line).has_value());
            }
        }
    }

    void aLogMessageOfAnyBytesIsEncoded() {
        std::string message;
        for (int c = 0; c < 256; ++c)
            message += static_cast<char>(c);
        Frame frame;
        frame.body = LogFrame{"info", message, "console"};
        const auto back = Decoder().decode(encode(frame));
        QVERIFY(back.has_value());
        QVERIFY(std::get<LogFrame>(back->body).message.starts_with(message.substr(0, 128)));
    }

    void aDecoderMoves() {
        Decoder first;
        Decoder second = std::move(first);
        QVERIFY(second.decode(steps("")).has_value());
        first = Decoder();
        QVERIFY(first.decode(steps("")).has_value());
    }

    void mutatedFramesNeverCrashTheDecoder() {
        Decoder decoder;
        std::uint64_t state = 7;
        const auto random = [&](std::size_t below) {
            state = state * 6364136223846793005ull + 1442695040888963407ull;
            return static_cast<std::size_t>(state >> 33) % below;
        };
        for (const Frame &frame : test::sampleFrames()) {
            const std::string line = encode(frame);
            for (int i = 0; i < 2000; ++i) {
                std::string mutant = line;
                for (std::size_t n = 1 + random(3); n > 0 && !mutant.empty(); --n) {
                    const std::size_t at = random(mutant.size());
                    switch (random(3)) {
                    case 0:
                        mutant[at] = static_cast<char>(random(256));
                        break;
                    case 1:
                        mutant.erase(at, 1 + random(8));
                        break;
                    default:
                        mutant.insert(at, mutant.substr(random(mutant.size()), random(12)));
                    }
                }
                if (const auto back = decoder.decode(mutant))
                    QVERIFY(decoder.decode(encode(*back)).has_value()); // what is taken can be written and read again
            }
        }
    }

    void statesHaveNames() {
        for (const RunState state : {RunState::Init, RunState::Training, RunState::Evaluating, RunState::Checkpointing,
                                     RunState::Done, RunState::Failed, RunState::Stopped})
            QVERIFY(runStateFrom(toString(state)) == state);
        QVERIFY(!runStateFrom("paused"));
        QVERIFY(isFinal(RunState::Stopped) && !isFinal(RunState::Checkpointing));
        QCOMPARE(additivePhases().size(), std::size_t{7});
    }

    void factsOfLaterRanksMakeRoomForThoseOfEarlierOnes() {
        ReportedFacts told(2);
        told.take(1, 1, {{"a", "1"}, {"b", "1"}, {"c", "1"}});
        QCOMPARE(told.all(), (About{{"a", "1"}, {"b", "1"}}));
        told.take(0, 5, {{"b", "0"}, {"d", "0"}});
        QCOMPARE(told.all(), (About{{"b", "0"}, {"d", "0"}}));
        told.take(1, 0, {{"d", "1"}, {"e", "1"}});
        told.take(0, 5, {{"d", "again"}, {"e", "0"}});
        QCOMPARE(told.all(), (About{{"b", "0"}, {"d", "0"}}));
    }
};

QTEST_GUILESS_MAIN(FramesTest)
#include "frames_test.moc"

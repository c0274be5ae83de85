// SPDX-License-Identifier: MIT
// The traces of a run's ranks become one.
#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "ipc/file_system.h"
#include "tests/agent/agent_process.h"
#include "trainer/agent/log/trace_merge.h"

using namespace lockstep;
using namespace lockstep::agent;

TEST_CASE("the ranks' traces become one, once each has written a new one; what is no trace is refused") {
    const TestHome home;
    const auto write = [&](const std::string &name, const std::string &text) {
        REQUIRE(realFileSystem().writeAtomically(home.path() + "/" + name, text).has_value());
    };
    const auto trace = [](int rank) {
        const std::string pid = std::to_string(rank);
        return "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n{\"ph\":\"M\",\"pid\":" + pid +
               "},\n{\"ph\":\"X\",\"pid\":" + pid + "}\n]}\n";
    };
    const std::vector<RankTrace> two = {{0, {}, 0, {}}, {1, {}, 0, {}}};
    TraceMerge merge;
    CHECK(!*merge.poll(home.path(), two));
    write("rank-0.json", trace(0));
    CHECK(!*merge.poll(home.path(), two)); // rank 1 still records
    write("rank-1.json", trace(1));
    const auto merged = merge.poll(home.path(), two);
    REQUIRE(merged);
    REQUIRE(*merged);
    const auto all = nlohmann::json::parse(*realFileSystem().readAll((*merged)->path));
    CHECK(all.at("traceEvents").size() == 4);
    CHECK(all.at("traceEvents")[3].at("pid") == 1);
    CHECK(!*merge.poll(home.path(), two)); // nothing new
    std::filesystem::remove((*merged)->path);
    write("rank-1.json", "torn");
    CHECK(!merge.poll(home.path(), two));
}

TEST_CASE("a rank's file that is larger than any trace is not merged, and says so") {
    const TestHome home;
    const std::string own = home.path() + "/rank-0.json";
    REQUIRE(realFileSystem()
                .writeAtomically(own, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n{\"ph\":\"X\",\"pid\":0}\n]}\n")
                .has_value());
    std::filesystem::resize_file(own, 2 * largestTrace);
    TraceMerge merge;
    const auto merged = merge.poll(home.path(), {{0, {}, 0, {}}});
    REQUIRE(!merged);
    CHECK(merged.error().message() ==
          own + " has 128 MiB, more than the 64 that a rank's trace may have; trace fewer steps");
    CHECK_FALSE(std::filesystem::exists(home.path() + "/trace.json"));
}

TEST_CASE(
    "a trace whose times are none, or that becomes too large on another clock, is not merged and leaves nothing") {
    const TestHome home;
    const auto write = [&](const std::string &events) {
        REQUIRE(realFileSystem()
                    .writeAtomically(home.path() + "/rank-0.json",
                                     "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n" + events + "\n]}\n")
                    .has_value());
    };
    const auto refusal = [&](std::uint64_t most) {
        TraceMerge merge(std::chrono::seconds(30), most);
        const auto merged = merge.poll(home.path(), {{0, -1e8, 0.001, {}}});
        CHECK(!std::filesystem::exists(home.path() + "/trace.json"));
        CHECK(!std::filesystem::exists(home.path() + "/trace.json.part"));
        return merged ? "none" : merged.error().message();
    };
    const std::string noTime =
        home.path() + "/rank-0.json has a time that is no number of microseconds as the trainer writes it";
    for (const char *time : {"9e99", "nan", "-1.000", "\"1\"", "1000000000000000.0001", "2000000000000000.000", ""}) {
        CAPTURE(time);
        write("{\"ts\":" + std::string(time) + "}");
        CHECK(refusal(largestMergedTrace) == noTime);
    }
    std::string events = "{";
    for (int i = 0; i < 100'000; ++i)
        events += "\"ts\":0.000,";
    write(events + "\"pid\":0}");
    CHECK(refusal(2 << 20) ==
          "the traces of all ranks are larger than 2 MiB together, and stay in " + home.path() + "; trace fewer steps");
    CHECK(refusal(1 << 20).starts_with("the traces of all ranks are larger than 1 MiB"));
    events = "{";
    for (int i = 0; i <= 2'000'000; ++i)
        events += "\"ts\":0.000,";
    write(events + "\"pid\":0}");
    CHECK(refusal(largestMergedTrace) == home.path() + "/rank-0.json has more than 2000000 times; trace fewer steps");
}

TEST_CASE("a trace with an event of another rank, or with what is no event, is not merged and leaves nothing") {
    const TestHome home;
    const auto write = [&](int rank, const std::string &events) {
        REQUIRE(realFileSystem()
                    .writeAtomically(home.path() + "/rank-" + std::to_string(rank) + ".json",
                                     "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n" + events + "\n]}\n")
                    .has_value());
    };
    write(0, "{\"ph\":\"X\",\"pid\":0}");
    const std::string own = home.path() + "/rank-1.json", good = "{\"pid\":1,\"ts\":1.000}";
    const std::vector<std::string> wrong = {"{\"pid\":0}",
                                            "{\"pid\":-1}",
                                            "{\"pid\":1.0}",
                                            "{\"pid\":\"1\"}",
                                            "{\"pid\":1,\"pid\":0}",
                                            "{\"pid\":[1]}",
                                            "{\"ph\":\"X\"}",
                                            "{\"args\":{\"pid\":1}}",
                                            "{\"p\\u0069d\":0,\"pid\":1}",
                                            "1",
                                            "[{\"pid\":1}]",
                                            "{\"pid\":1",
                                            "{\"pid\":1},{\"pid\":0}",
                                            "{\"pid\":1}\n]} nonsense",
                                            "{\"pid\":1},",
                                            ""};
    for (const std::optional<double> ahead : {std::optional<double>(), std::optional(0.0)})
        for (const std::string &event : wrong) {
            CAPTURE(event);
            write(1, good + ",\n" + event);
            TraceMerge merge;
            const auto merged = merge.poll(home.path(), {{0, {}, 0, {}}, {1, ahead, 0.001, {}}});
            REQUIRE(!merged);
            CHECK(merged.error().message() == own + ", line 3 is no event of rank 1 as the trainer writes it");
            CHECK_FALSE(std::filesystem::exists(home.path() + "/trace.json"));
            CHECK_FALSE(std::filesystem::exists(home.path() + "/trace.json.part"));
        }
    const std::vector<RankTrace> two = {{0, {}, 0, {}}, {1, 0.0, 0.001, {}}};
    write(1, "");
    TraceMerge merge;
    CHECK(merge.poll(home.path(), two).error().message() == own + " is no trace of a rank");
    write(1, good + ",\n{\"tid\":7,\"args\":{\"pid\":0,\"list\":[0]},\"pid\":1}");
    TraceMerge another;
    const auto merged = another.poll(home.path(), two);
    REQUIRE(merged);
    REQUIRE(*merged);
    const auto all = nlohmann::json::parse(*realFileSystem().readAll((*merged)->path)).at("traceEvents");
    CHECK(all.size() == 4); // with what was subtracted from rank 1's times
}

TEST_CASE("a large trace is merged in pieces, and one that is given up leaves nothing") {
    const TestHome home;
    std::string events = "{\"ph\":\"X\",\"pid\":0,\"ts\":1000000.000,\"name\":\"" + std::string(40 << 20, 'x') + "\"}";
    REQUIRE(realFileSystem()
                .writeAtomically(home.path() + "/rank-0.json",
                                 "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n" + events + "\n]}\n")
                .has_value());
    const std::string merged = home.path() + "/trace.json";
    const std::vector<RankTrace> one = {{0, {}, 0, {}}};
    TraceMerge merge;
    for (int piece = 0; piece < 3; ++piece)
        REQUIRE_FALSE(merge.step(home.path(), one).has_value());
    CHECK(std::filesystem::exists(merged + ".part"));
    CHECK_FALSE(std::filesystem::exists(merged));
    merge.giveUp();
    CHECK_FALSE(std::filesystem::exists(merged + ".part"));
    const auto whole = merge.poll(home.path(), one);
    REQUIRE(whole.value());
    CHECK(nlohmann::json::parse(*realFileSystem().readAll(merged)).at("traceEvents").size() == 1);
    CHECK_FALSE(std::filesystem::exists(merged + ".part"));
}

TEST_CASE("a node's name stands in the trace as it is, whatever it holds") {
    const TestHome home;
    const std::string name = "no\"de}],\\x\n\xff" + std::string(400, 'x');
    REQUIRE(realFileSystem()
                .writeAtomically(home.path() + "/rank-0.json",
                                 "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n{\"ph\":\"X\",\"pid\":0}\n]}\n")
                .has_value());
    TraceMerge merge;
    const auto merged = merge.poll(home.path(), {{0, {}, 0, {}}, {1, {}, 0, "nothing came of it from " + name}});
    REQUIRE(merged);
    REQUIRE(*merged);
    const auto all = nlohmann::json::parse(*realFileSystem().readAll((*merged)->path)).at("traceEvents");
    REQUIRE(all.size() == 2);
    const std::string shown = all[1].at("args").at("name");
    CHECK(shown.starts_with("rank 1 is missing: nothing came of it from no\"de}],\\x\n\xef\xbf\xbdx"));
}

TEST_CASE("a trace that can't be written is told once, not read again at once, and written when it can be") {
    const TestHome home;
    const std::string merged = home.path() + "/trace.json", own = home.path() + "/rank-0.json";
    std::filesystem::create_directories(merged + "/in the way");
    REQUIRE(realFileSystem()
                .writeAtomically(own, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n{\"ph\":\"X\",\"pid\":0}\n]}\n")
                .has_value());
    const std::vector<RankTrace> one = {{0, {}, 0, {}}};
    TraceMerge patient, hasty(std::chrono::milliseconds(0));
    for (TraceMerge *merge : {&patient, &hasty}) {
        CHECK(!merge->poll(home.path(), one));
        const auto again = merge->poll(home.path(), one);
        REQUIRE(again);
        CHECK(!*again);
    }
    std::filesystem::remove_all(merged);
    CHECK(!*patient.poll(home.path(), one)); // its pause isn't over
    CHECK(*hasty.poll(home.path(), one));
    CHECK(std::filesystem::is_regular_file(merged));
}

TEST_CASE("a trace whose file is dated in the future, or before the last one, is merged once") {
    const TestHome home;
    const auto write = [&](int rank) {
        const std::string path = home.path() + "/rank-" + std::to_string(rank) + ".json";
        REQUIRE(realFileSystem()
                    .writeAtomically(path, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n{\"ph\":\"X\",\"pid\":" +
                                               std::to_string(rank) + "}\n]}\n")
                    .has_value());
        return path;
    };
    const auto now = std::filesystem::file_time_type::clock::now();
    const std::vector<RankTrace> two = {{0, {}, 0, {}}, {1, {}, 0, {}}};
    TraceMerge merge;
    for (const int seconds : {3600, 3601, -3600}) { // anew each time
        CAPTURE(seconds);
        for (int rank = 0; rank < 2; ++rank)
            std::filesystem::last_write_time(write(rank), now + std::chrono::seconds(seconds));
        const auto merged = merge.poll(home.path(), two);
        REQUIRE(merged);
        CHECK(*merged);
        CHECK(!*merge.poll(home.path(), two));
    }
}

TEST_CASE("a trace brings another node's times to our clock, names the ranks that are missing, and takes them in when "
          "they come") {
    const TestHome home;
    const auto write = [&](int rank, const std::string &times) {
        REQUIRE(realFileSystem()
                    .writeAtomically(home.path() + "/rank-" + std::to_string(rank) + ".json",
                                     "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n{\"ph\":\"X\",\"pid\":" +
                                         std::to_string(rank) + "," + times + "}\n]}\n")
                    .has_value());
    };
    const std::vector<RankTrace> ranks = {
        {0, {}, 0, {}}, {1, 5.25, 0.0001, {}}, {2, -1.0, 0.0001, "nothing came of it from hostB"}};
    TraceMerge merge;
    const auto events = [&] {
        return nlohmann::json::parse(*realFileSystem().readAll(home.path() + "/trace.json")).at("traceEvents");
    };
    write(0, "\"ts\":1000.500,\"dur\":2.000");
    CHECK(!*merge.poll(home.path(), ranks)); // rank 1's node is there
    write(1, "\"ts\":6250000.500,\"dur\":2.000,\"args\":{\"bytes\":7,\"ready\":6250001.000}");
    auto merged = merge.poll(home.path(), ranks);
    REQUIRE(merged.value());
    CHECK((*merged)->missing == "rank 2");
    auto all = events();
    REQUIRE(all.size() == 4);
    CHECK(all[0].at("ts") == 1000.5);
    CHECK(all[2].at("ts") == 1000000.5);
    CHECK(all[2].at("dur") == 2.0);
    CHECK(all[2].at("args").at("ready") == 1000001.0);
    CHECK(all[3].at("args").at("name") == "rank 2 is missing: nothing came of it from hostB");
    CHECK(!*merge.poll(home.path(), ranks));
    std::this_thread::sleep_for(std::chrono::milliseconds(20)); // the file system's clock ticks
    write(2, "\"ts\":1000.000,\"dur\":1.000");
    merged = merge.poll(home.path(), ranks);
    REQUIRE(merged.value());
    CHECK((*merged)->missing.empty());
    all = events();
    REQUIRE(all.size() == 5);
    CHECK(all[4].at("ts") == 1001000.0);
}

// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cmath>

#include <nlohmann/json.hpp>

#include "tests/trainer/trainer_process.h"
#include "trainer/lab/collectives.h"
#include "trainer/lab/lab_options.h"
#include "trainer/lab/sweep_spread.h"

using namespace lockstep;
using namespace lockstep::trainer;
using namespace lockstep::trainer::test;
using Json = nlohmann::json;

namespace {

/// The rows that a lab of so many ranks leaves, in their own folder.
struct Lab {
    TempFolder folder;
    Ended ended;
    std::vector<Json> lines;

    Lab(int ranks, std::vector<std::string> words) {
        std::vector<std::string> arguments{
            "run", "--nproc-per-node",          std::to_string(ranks), "--", trainerBinary(),
            "lab", "--out=" + (folder / "rows")};
        arguments.insert(arguments.end(), words.begin(), words.end());
        Process run(LOCKSTEP_BIN_DIR "/lockstep-agent", arguments, {{"LOCKSTEP_HOME", folder / "home"}});
        ended = run.wait();
        std::istringstream text(readFile(folder / "rows"));
        for (std::string line; std::getline(text, line);)
            lines.push_back(Json::parse(line));
    }
    [[nodiscard]] std::vector<Json> rows(const std::string &collective = {}) const {
        std::vector<Json> out;
        for (const Json &line : lines)
            if (line["type"] == "row" && (collective.empty() || line["collective"] == collective))
                out.push_back(line);
        return out;
    }
};

std::string firstMistake(const std::vector<std::string> &words) {
    const auto options = readLabOptions(words);
    return options ? std::string() : options.error().front().message();
}

} // namespace

TEST_SUITE("lab") {
    TEST_CASE("every operation is verified and measured at every size, on two ranks and on three that share cores") {
        for (const int ranks : {2, 3}) {
            CAPTURE(ranks);
            const Lab lab(
                ranks, {"--sizes=4,4096,100000", "--held-out=6000", "--sweeps=2", "--block-ms=0.5", "--oversubscribe"});
            CAPTURE(lab.ended.err);
            CAPTURE(lab.ended.out);
            REQUIRE(lab.ended.code == 0);
            CHECK(lab.lines.front()["type"] == "lab");
            CHECK(lab.lines.front()["ranks"] == ranks);
            CHECK(lab.lines.front()["scheduling"] == "other");
            CHECK(lab.rows().size() == collectiveNames().size() * 4);
            for (const Json &row : lab.rows()) {
                CAPTURE(row.dump());
                CHECK(row["ranks"] == ranks);
                CHECK(row["min_s"].get<double>() > 0);
                CHECK(row["min_s"].get<double>() <= row["median_s"].get<double>());
                CHECK(row["median_s"].get<double>() <= row["p90_s"].get<double>());
                CHECK(row["algbw_bytes_s"].get<double>() ==
                      doctest::Approx(row["bytes"].get<double>() / row["median_s"].get<double>()));
            }
        }
    }

    TEST_CASE("over nodes messages go between rank 0 and the first rank of another node, else rank 1") {
        CHECK(partnerOfRank0({0, 1}) == 1);
        CHECK(partnerOfRank0({0, 0}) == 1);
        CHECK(partnerOfRank0({0, 1, 2, 0, 1}) == 3);
        CHECK(partnerOfRank0({0, 1, 0, 1, 0}) == 2);
    }

    TEST_CASE("messages after work take as long as for the two ranks that exchange them, though a third is there") {
        const Lab lab(3, {"--sizes=4194304", "--collectives=send_recv_after_work", "--sweeps=1", "--block-ms=0.5",
                          "--oversubscribe"});
        CAPTURE(lab.ended.err);
        REQUIRE(lab.ended.code == 0);
        const Json row = lab.rows("send_recv_after_work").front();
        CAPTURE(row.dump());
        CHECK(row["partner"] == 1);
        CHECK(row["algbw_bytes_s"].get<double>() < 1e12); // no memory is as fast; a rank that does nothing seems to be
    }

    TEST_CASE("a ring's large shares are passed on in segments, and add up right") {
        for (const int ranks : {2, 3}) {
            CAPTURE(ranks);
            const Lab lab(ranks, {"--sizes=1572868,2000004,9000004", "--collectives=ring_all_reduce", "--sweeps=1",
                                  "--block-ms=0.5", "--oversubscribe"});
            CAPTURE(lab.ended.out);
            REQUIRE(lab.ended.code == 0); // every result is verified before it is measured
            CHECK(lab.rows("ring_all_reduce").size() == 3);
        }
    }

    TEST_CASE(
        "bus bandwidth is nccl-tests': 2(N-1)/N of an all-reduce's, (N-1)/N of a share-out's, a broadcast's own") {
        const Lab lab(2, {"--sizes=65536", "--sweeps=1", "--block-ms=0.5", "--oversubscribe"});
        REQUIRE(lab.ended.code == 0);
        for (const auto &[name, factor] :
             {std::pair("all_reduce", 1.0), std::pair("ring_all_reduce", 1.0), std::pair("server_all_reduce", 1.0),
              std::pair("reduce_scatter", 0.5), std::pair("all_gather", 0.5), std::pair("broadcast", 1.0),
              std::pair("send_recv", 1.0), std::pair("all_reduce_after_work", 1.0),
              std::pair("send_recv_after_work", 1.0)}) {
            CAPTURE(name);
            REQUIRE(lab.rows(name).size() == 1);
            const Json row = lab.rows(name).front();
            CHECK(row["busbw_bytes_s"].get<double>() == doctest::Approx(row["algbw_bytes_s"].get<double>() * factor));
        }
    }

    TEST_CASE("sizes that take longer than they may are left out, and a line says from which on") {
        const Lab lab(2, {"--sizes=4,4096,1048576,67108864", "--collectives=all_reduce,broadcast", "--most-s=0.0001",
                          "--sweeps=2", "--block-ms=0.5", "--oversubscribe"});
        CAPTURE(lab.ended.err);
        REQUIRE(lab.ended.code == 0);
        int leftOut = 0;
        for (const Json &line : lab.lines)
            if (line["type"] == "left_out") {
                ++leftOut;
                CHECK(line["estimate_s"].get<double>() > 0.0001);
                for (const Json &row : lab.rows(line["collective"]))
                    CHECK(row["bytes"].get<double>() < line["from_bytes"].get<double>());
            }
        CHECK(leftOut == 2);
        CHECK_FALSE(lab.rows("all_reduce").empty());
        for (const Json &row : lab.rows())
            CHECK(row["cpu_s"].get<double>() > 0);
    }
    TEST_CASE("ranks that reach each other and add up right report it in one line") {
        TempFolder folder;
        Process run(LOCKSTEP_BIN_DIR "/lockstep-agent",
                    {"run", "--nproc-per-node", "3", "--", trainerBinary(), "check", "--oversubscribe"},
                    {{"LOCKSTEP_HOME", folder / "home"}});
        const Ended ended = run.wait();
        CAPTURE(ended.err);
        CAPTURE(ended.out);
        CHECK(ended.code == 0);
        CHECK(ended.out.find("[rank 0] {\"type\":\"check\",\"ok\":true}") != std::string::npos);
    }
    TEST_CASE("a size that ranks can't share out evenly is rounded up, and the row says so") {
        const Lab lab(
            3, {"--sizes=4", "--sweeps=1", "--block-ms=0.5", "--oversubscribe", "--collectives=all_gather,all_reduce"});
        REQUIRE(lab.ended.code == 0);
        CHECK(lab.rows("all_gather").front()["bytes"] == 12);
        CHECK(lab.rows("all_reduce").front()["bytes"] == 4);
    }

    TEST_CASE("nccl is refused where there is no GPU a rank, with the reason and no other word from any rank") {
        const Lab lab(2, {"--backend=nccl", "--oversubscribe"});
        CHECK((lab.ended.out + lab.ended.err).find("lost the others") == std::string::npos);
        CHECK(lab.ended.code == 2);
        CHECK(lab.rows().empty());
        CHECK((lab.ended.out + lab.ended.err).find("nccl works on GPUs, and these ranks have CPU devices") !=
              std::string::npos);
    }

    TEST_CASE("one rank alone is shown how to start a lab") {
        const TempFolder folder;
        Process alone(trainerBinary(), {"lab"});
        const Ended ended = alone.wait();
        CHECK(ended.code == 2);
        CHECK(ended.sentences() == 1);
        CHECK(ended.err.find("lockstep-agent run --nproc-per-node 2 -- lockstep-trainer lab") != std::string::npos);
    }

    TEST_CASE("a lab's mistakes are one sentence each") {
        CHECK(firstMistake({"--sizes=4,x"}).find("\"x\" is not a size in bytes") != std::string::npos);
        CHECK(firstMistake({"--sizes=2"}).find("from 4 to") != std::string::npos);
        CHECK(firstMistake({"--collectives=all_reduce,gather"}).find("choose among send_recv") != std::string::npos);
        CHECK(firstMistake({"--sweeps=0"}).find("--sweeps") != std::string::npos);
        CHECK(firstMistake({"--backend=mpi"}).find("--backend") != std::string::npos);
    }

    TEST_CASE("a median is known by the values around it, and by fewer than six not at all") {
        CHECK(!medianUncertainty({}).has_value());
        CHECK(!medianUncertainty({1, 2, 3, 4, 5}).has_value());
        // Of six: from the smallest to the largest, which miss it once in 32.
        CHECK(medianUncertainty({8, 9, 10, 10, 11, 12}).value() == doctest::Approx(0.2));
        // Of eleven: from the second smallest to the second largest. One stalled sweep is no doubt.
        const std::vector<double> stalled{10, 10.1, 9.9, 10, 10, 10.1, 9.9, 10, 10, 10, 50};
        CHECK(medianUncertainty(stalled).value() == doctest::Approx(0.01));
    }

    TEST_CASE("what is held out lies between the sizes of the fit, from 64 KiB to 16 MiB") {
        const auto options = readLabOptions({});
        REQUIRE(options.has_value());
        CHECK(options->sizes.front() == 4);
        CHECK(options->sizes.back() == 64 * 1024 * 1024);
        CHECK(options->heldOut.size() == 8);
        for (const auto bytes : options->heldOut) {
            CHECK(bytes > 64 * 1024);
            CHECK(bytes < 16 * 1024 * 1024);
            CHECK(std::find(options->sizes.begin(), options->sizes.end(), bytes) == options->sizes.end());
        }
    }
}

#include <doctest/doctest.h>

#include <cmath>

#include <nlohmann/json.hpp>

#include "tests/trainer/trainer_process.h"
#include "trainer/data/safetensors.h"

using namespace lockstep;
using namespace lockstep::trainer::test;
using lockstep::trainer::readTensors;

namespace {

/// A Python that imports torch, or empty.
std::string pythonWithTorch() {
    for (const std::string python : {LOCKSTEP_SOURCE_DIR "/.venv/bin/python", "/usr/bin/python3"}) {
        if (::access(python.c_str(), X_OK) != 0)
            continue;
        Process probe(python, {"-c", "import torch"});
        if (probe.wait().code == 0)
            return python;
    }
    return {};
}

double largestDifference(const std::string &a, const std::string &b) {
    const auto left = readTensors(a), right = readTensors(b);
    REQUIRE(left.has_value());
    REQUIRE(right.has_value());
    REQUIRE(left->tensors.size() == right->tensors.size());
    double largest = 0;
    for (std::size_t i = 0; i < left->tensors.size(); ++i) {
        CHECK(left->tensors[i].first == right->tensors[i].first);
        const auto &x = left->tensors[i].second, &y = right->tensors[i].second;
        largest = std::max(largest, ((x - y).abs().max() / y.abs().max()).item<double>());
    }
    return largest;
}

/// One way to train, and the same in Python.
struct Case {
    const char *name;
    std::vector<std::string> trainer;
    int ranks;
    std::vector<std::string> optimizers;
};

std::vector<std::string> commonOptions(const char *optimizer) {
    return {"--precision=fp64",
            "--train-samples=640",
            "--epochs=1",
            "--batch-size=64",
            std::string("--optimizer=") + optimizer,
            std::string(optimizer) == "sgd" ? "--lr=0.05" : "--lr=0.002"};
}

void runTrainer(const Case &way, std::vector<std::string> options) {
    options.insert(options.end(), way.trainer.begin(), way.trainer.end());
    if (way.ranks > 1) {
        for (const Ended &ended : DdpRun(way.ranks, options).wait()) {
            CAPTURE(ended.err);
            REQUIRE(ended.code == 0);
        }
        return;
    }
    const Ended ended = Process(trainerBinary(), withSmallRun(options)).wait();
    CAPTURE(ended.err);
    REQUIRE(ended.code == 0);
}

} // namespace

TEST_SUITE("strategy_parity") {
    TEST_CASE("in fp64, baseline, DP and DDP walk the trajectory of PyTorch's own training") {
        const std::string python = pythonWithTorch();
        if (python.empty()) {
            MESSAGE("skipped: no Python that imports torch");
            return;
        }
        const Case ways[] = {
            {"baseline", {}, 1, {"sgd", "adam", "adamw"}},
            {"dp", {"--method=dp", "--devices=0,1"}, 1, {"sgd"}},
            {"dp persistent", {"--method=dp", "--devices=0,1", "--dp-replicas=persistent"}, 1, {"adam"}},
            {"ddp", {}, 2, {"sgd"}}};
        for (const char *optimizer : {"sgd", "adam", "adamw"}) {
            const TempFolder folder;
            std::vector<std::string> reference{LOCKSTEP_SOURCE_DIR "/tests/bench/reference.py", "--method=baseline",
                                               "--save-final=" + (folder / "python"), "--out=" + (folder / "losses")};
            for (const auto &option : commonOptions(optimizer))
                reference.push_back(option);
            const Ended ended = Process(python, reference).wait();
            CAPTURE(ended.err);
            REQUIRE(ended.code == 0);
            const auto told = nlohmann::json::parse(readFile(folder / "losses"));
            const std::vector<double> losses = told.at("losses");
            REQUIRE(losses.size() == 10);
            for (const Case &way : ways) {
                if (std::find(way.optimizers.begin(), way.optimizers.end(), optimizer) == way.optimizers.end())
                    continue;
                CAPTURE(way.name);
                CAPTURE(optimizer);
                const std::string weights = folder / "weights", frames = folder / (std::string(way.name) + ".frames");
                auto options = commonOptions(optimizer);
                options.insert(options.end(), {"--save-final=" + weights, "--frames=" + frames});
                runTrainer(way, options);
                CHECK(largestDifference(weights, folder / "python") < 1e-9);
                const auto seen = readFrames(frames);
                double mean = 0;
                for (const double loss : losses)
                    mean += loss / static_cast<double>(losses.size());
                CHECK(*bodiesOf<EpochFrame>(seen, 0).at(0).loss == doctest::Approx(mean).epsilon(1e-9));
                if (way.ranks > 1)
                    continue; // a rank's steps tell its own share's loss
                for (const auto &window : bodiesOf<StepsFrame>(seen))
                    CHECK(window.loss->last ==
                          doctest::Approx(losses.at(static_cast<std::size_t>(window.lastStep))).epsilon(1e-9));
            }
        }
    }

    TEST_CASE("every rank of a DDP run ends with the same bits, and two equal runs with the same again") {
        const TempFolder folder;
        std::vector<std::string> ends;
        for (const char *name : {"a", "b"}) {
            for (const Ended &ended : DdpRun(2, {"--frames=" + (folder / name)}).wait())
                REQUIRE(ended.code == 0);
            for (const int rank : {0, 1})
                for (const auto &line : bodiesOf<LogFrame>(readFrames(folder / name), rank))
                    if (line.message.starts_with("parameters sha256"))
                        ends.push_back(line.message);
        }
        REQUIRE(ends.size() == 4);
        for (const auto &end : ends)
            CHECK(end == ends.front());
    }
}

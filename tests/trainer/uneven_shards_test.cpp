// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <set>

#include <torch/torch.h>

#include "tests/trainer/peers.h"
#include "trainer/data/safetensors.h"

using namespace lockstep;
using namespace lockstep::trainer::test;

namespace {

/// Two ranks, of which the second takes eight times as long for a backward pass: more than a busy machine takes from the first.
struct Unlike {
    TempFolder folder;
    std::vector<double> samples[2];  ///< by rank, of each step
    std::vector<double> readings[2]; ///< of the metric, by rank, of each window
    std::vector<std::string> said;

    Unlike(const SmallData &data, const std::vector<std::string> &options) {
        std::vector<std::string> all{"--precision=fp64",
                                     "--batch-size=48",
                                     "--lr=0.05",
                                     "--epochs=2",
                                     "--train-samples=2005",
                                     data.option(),
                                     "--frames=" + (folder / "f"),
                                     "--save-final=" + (folder / "w"),
                                     "--summary=" + (folder / "s")};
        all.insert(all.end(), options.begin(), options.end());
        for (const Ended &ended :
             DdpRun(2, all, {{"LOCKSTEP_TEST_DELAY", "1:backward:8"}, {"LOCKSTEP_STEP_WINDOW_MS", "0"}}).wait()) {
            CAPTURE(ended.err);
            REQUIRE(ended.code == 0);
        }
        const auto frames = readFrames(folder / "f");
        for (const int rank : {0, 1}) {
            for (const auto &window : bodiesOf<StepsFrame>(frames, rank)) {
                samples[rank].push_back(static_cast<double>(window.samples));
                if (const auto found = window.scalars.find("shard_samples"); found != window.scalars.end())
                    readings[rank].push_back(found->second.last);
            }
            for (const auto &line : bodiesOf<LogFrame>(frames, rank))
                if (line.message.starts_with("shards: "))
                    said.push_back(line.message);
        }
    }
    [[nodiscard]] trainer::TensorFile weights() const { return *trainer::readTensors(folder / "w"); }
    [[nodiscard]] double epochLoss(int epoch) const {
        return readSummary(folder / "s").epochs.at(static_cast<std::size_t>(epoch)).loss.value();
    }
};

} // namespace

TEST_SUITE("uneven_shards") {
    TEST_CASE("a slower rank gets fewer samples, and the trajectory is that of even shards") {
        const SmallData data(2005);
        const Unlike even(data, {});
        CHECK(std::set<double>(even.samples[0].begin(), even.samples[0].end()).size() == 2); // whole and last batches
        CHECK(even.said.empty());
        CHECK(even.readings[0].empty());
        for (const std::vector<std::string> &options : {std::vector<std::string>{"--shards=measured"},
                                                        {"--shards=adaptive", "--workers=1"},
                                                        {"--shards=measured", "--method=ps-sync", "--accumulate=2"}}) {
            CAPTURE(options.back());
            const Unlike uneven(data, options);
            REQUIRE(uneven.samples[0].size() == even.samples[0].size());
            std::size_t apart = 0;
            for (std::size_t step = 0; step < uneven.samples[0].size(); ++step) {
                CHECK(uneven.samples[0][step] + uneven.samples[1][step] ==
                      even.samples[0][step] + even.samples[1][step]);
                apart += uneven.samples[0][step] > uneven.samples[1][step] ? 1 : 0;
            }
            CHECK(apart > 10);
            CHECK(relativeDifference(uneven.weights(), even.weights()) < 1e-9);
            for (const int epoch : {0, 1})
                CHECK(std::abs(uneven.epochLoss(epoch) / even.epochLoss(epoch) - 1) < 1e-9);
            // Rank 0 says it; what each rank took is a metric of each step, and the last shares are in the summary.
            REQUIRE(!uneven.said.empty());
            CAPTURE(uneven.said.front());
            CHECK(uneven.said.front().find("even shards waste ") != std::string::npos);
            const auto last = readSummary(uneven.folder / "s").replicaBatch;
            REQUIRE(last.size() == 2);
            CHECK(last[0] + last[1] == 48);
            CHECK(last[0] > last[1]);
            CHECK(uneven.readings[0].back() == static_cast<double>(last[0]));
            CHECK(uneven.readings[1].back() == static_cast<double>(last[1]));
        }
    }
}

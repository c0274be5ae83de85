// SPDX-License-Identifier: MIT
// The simplest distributed method must train as DDP does.
#include <doctest/doctest.h>

#include "tests/trainer/peers.h"
#include "trainer/data/safetensors.h"

using namespace lockstep;
using namespace lockstep::trainer::test;

TEST_SUITE("all_reduce_after") {
    TEST_CASE("one all-reduce after backward gives DDP's losses and parameters, bit by bit") {
        const SmallData data(650);
        const TempFolder folder;
        std::vector<std::vector<double>> losses;
        for (const std::string method : {"ddp", "all-reduce-after"}) {
            CAPTURE(method);
            DdpRun run(2, {"--method=" + method, data.option(), "--epochs=2", "--train-samples=650",
                           "--frames=" + (folder / (method + "-f")), "--summary=" + (folder / (method + "-s")),
                           "--save-final=" + (folder / (method + "-w"))});
            for (const Ended &ended : run.wait()) {
                CAPTURE(ended.err);
                REQUIRE(ended.code == 0);
            }
            losses.emplace_back();
            const auto frames = readFrames(folder / (method + "-f"));
            for (const auto &epoch : bodiesOf<EpochFrame>(frames, 0)) {
                losses.back().push_back(epoch.loss.value());
                for (const std::string_view name : findMethod(method)->phases)
                    CHECK((name.empty() || epoch.phases.contains(std::string(name))));
            }
            CHECK(readSummary(folder / (method + "-s")).epochs.at(1).samples == 650);
        }
        CHECK(losses[0].size() == 2);
        CHECK((losses[0] == losses[1]));
        const auto ddp = lockstep::trainer::readTensors(folder / "ddp-w"),
                   own = lockstep::trainer::readTensors(folder / "all-reduce-after-w");
        REQUIRE(ddp);
        REQUIRE(own);
        REQUIRE(ddp->tensors.size() == own->tensors.size());
        for (std::size_t i = 0; i < ddp->tensors.size(); ++i)
            CHECK(torch::equal(ddp->tensors[i].second, own->tensors[i].second));
    }
}

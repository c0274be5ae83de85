// SPDX-License-Identifier: MIT
#include <cmath>
#include <fstream>
#include <sstream>

#include <doctest/doctest.h>

#include "tests/trainer/peers.h"
#include "trainer/data/affine.h"
#include "trainer/data/loader.h"
#include "trainer/data/safetensors.h"

using namespace lockstep::trainer;
using namespace lockstep::trainer::test;

namespace {

int sourceAt(const AffineSources &sources, int row, int column) {
    return sources[static_cast<std::size_t>(row * imageSide + column)];
}

} // namespace

TEST_SUITE("affine") {
    TEST_CASE("no rotation, no shift and scale 1 leave every pixel where it is") {
        AffineSources sources;
        affineSources({}, sources);
        for (int i = 0; i < imagePixels; ++i)
            CHECK(sources[static_cast<std::size_t>(i)] == i);
    }

    TEST_CASE("a shift moves the image to the right and down and fills what it leaves") {
        AffineSources sources;
        affineSources({0, 2, -3, 1}, sources);
        CHECK(sourceAt(sources, 0, 2) == 3 * imageSide + 0); // result (row 0, column 2) shows source (row 3, column 0)
        CHECK(sourceAt(sources, 10, 20) == 13 * imageSide + 18);
        CHECK(sourceAt(sources, 10, 1) == -1);
        CHECK(sourceAt(sources, 25, 20) == -1);
    }

    TEST_CASE("every pixel is the one that torchvision's tensor path picks") {
        std::ifstream golden(LOCKSTEP_GOLDEN_DIR "/affine.txt");
        int images = 0, differing = 0;
        for (std::string line; std::getline(golden, line); ++images) {
            std::istringstream numbers(line);
            AffineDraw draw;
            double degrees = 0, scale = 0;
            numbers >> degrees >> draw.shiftX >> draw.shiftY >> scale;
            draw.degrees = static_cast<float>(degrees);
            draw.scale = static_cast<float>(scale);
            AffineSources sources;
            affineSources(draw, sources);
            for (const auto source : sources) {
                int expected = 0;
                REQUIRE(bool(numbers >> expected));
                differing += source != expected;
            }
        }
        CHECK(images == 40);
        CHECK(differing == 0);
    }

    TEST_CASE("10,000 images as the loader hands them out are torchvision's, given the draws: no pixel differs") {
        const std::string python = pythonWith("torchvision");
        if (python.empty()) {
            MESSAGE("skipped: LOCKSTEP_PEERS names no Python with torchvision");
            return;
        }
        const auto set = loadDataSet("fashion-mnist", "", Split::Train, 10000);
        REQUIRE(set.has_value());
        constexpr std::uint64_t seed = 77;
        constexpr std::int64_t epoch = 2;
        const auto order = sampleOrder(10000, 1, 0, seed, epoch).indices;
        auto degrees = torch::empty({10000}), scales = torch::empty({10000}),
             shifts = torch::empty({10000, 2}, torch::kInt64);
        for (std::int64_t i = 0; i < 10000; ++i) {
            const auto draw = drawAffine(seed, epoch, order[static_cast<std::size_t>(i)]);
            degrees[i] = draw.degrees;
            scales[i] = draw.scale;
            shifts[i][0] = draw.shiftX;
            shifts[i][1] = draw.shiftY;
        }
        LoaderOptions options;
        options.seed = seed;
        options.affine = true;
        options.workers = 1;
        Loader loader(*set, options);
        loader.startEpoch(epoch, epoch);
        std::vector<torch::Tensor> made;
        while (auto batch = loader.next())
            made.push_back(batch->inputs);
        const TempFolder folder;
        TensorFile file;
        file.tensors = {{"images", set->inputs.squeeze(1).index_select(0, torch::tensor(order))},
                        {"degrees", degrees},
                        {"scales", scales},
                        {"shifts", shifts},
                        {"made", torch::cat(made)}};
        REQUIRE(writeTensors(folder / "given", file).has_value());
        const Ended ended =
            Process(python, {LOCKSTEP_SOURCE_DIR "/tests/trainer/peer.py", "affine", folder / "given"}).wait();
        CAPTURE(ended.err);
        REQUIRE(ended.code == 0);
        CHECK(ended.out == "10000 7840000 0\n"); // images, pixels, differing ones
    }

    TEST_CASE("the draws are a pure function of seed, epoch and sample, and spread as torchvision's do") {
        constexpr int n = 20000;
        double degrees = 0, scale = 0, degreesSquared = 0;
        std::array<int, 7> shifts{};
        for (int sample = 0; sample < n; ++sample) {
            const auto draw = drawAffine(1, 3, sample);
            const auto again = drawAffine(1, 3, sample);
            REQUIRE(draw.degrees == again.degrees);
            REQUIRE(draw.shiftX == again.shiftX);
            REQUIRE(std::abs(draw.degrees) <= 15);
            REQUIRE(std::abs(draw.shiftX) <= 3);
            REQUIRE(std::abs(draw.shiftY) <= 3);
            REQUIRE(draw.scale >= 0.9F);
            REQUIRE(draw.scale <= 1.1F);
            degrees += draw.degrees;
            degreesSquared += static_cast<double>(draw.degrees) * draw.degrees;
            scale += draw.scale;
            ++shifts[static_cast<std::size_t>(draw.shiftX + 3)];
        }
        CHECK(degrees / n == doctest::Approx(0).epsilon(0.3));
        CHECK(degreesSquared / n == doctest::Approx(75).epsilon(0.02)); // 30²/12
        CHECK(scale / n == doctest::Approx(1).epsilon(0.001));
        CHECK(shifts[3] == doctest::Approx(n / 5.6).epsilon(0.05)); // 1 of 5.6 pixels' range rounds to 0
        CHECK(shifts[6] == doctest::Approx(n * 0.3 / 5.6).epsilon(0.1));
        CHECK(drawAffine(1, 3, 7).degrees != drawAffine(1, 4, 7).degrees);
        CHECK(drawAffine(1, 3, 7).degrees != drawAffine(2, 3, 7).degrees);
        CHECK(drawAffine(1, 3, 7).degrees != drawAffine(1, 7, 3).degrees);
    }
}

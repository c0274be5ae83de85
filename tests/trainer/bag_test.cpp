// SPDX-License-Identifier: MIT
// A model over sequences of tokens: every method, loader and precision takes samples that are no images.
#include <doctest/doctest.h>

#include "tests/trainer/trainer_process.h"

using namespace lockstep;
using namespace lockstep::trainer::test;

namespace {

std::string header(int dimensions, std::initializer_list<int> sizes) {
    std::string bytes{'\0', '\0', '\x08', static_cast<char>(dimensions)};
    for (const int size : sizes)
        for (const int shift : {24, 16, 8, 0})
            bytes += static_cast<char>(size >> shift & 0xff);
    return bytes;
}

/// Most tokens of a phrase are of its class, which is a token's remainder by 4.
class Phrases {
public:
    Phrases() {
        std::uint32_t number = 1;
        const auto random = [&] { return (number = number * 1664525 + 1013904223) >> 8; };
        for (const auto &[prefix, count] : {std::pair("train-", 640), std::pair("t10k-", 101)}) {
            std::string tokens = header(2, {count, 16}), labels = header(1, {count});
            for (int i = 0; i < count; ++i) {
                const std::uint32_t label = random() % 4;
                labels += static_cast<char>(label);
                for (int t = 0; t < 16; ++t)
                    tokens += static_cast<char>(random() % 64 * 4 + (random() % 3 ? label : random() % 4));
            }
            writeFile(m_folder / (std::string(prefix) + "tokens-idx2-ubyte"), tokens);
            writeFile(m_folder / (std::string(prefix) + "labels-idx1-ubyte"), labels);
        }
    }
    [[nodiscard]] std::vector<std::string> options() const {
        return {"--data-dir=" + m_folder.path(), "--model=bag", "--dataset=phrases", "--lr=0.5", "--epochs=4"};
    }

private:
    TempFolder m_folder;
};

/// What rank 0 tells of its epochs.
std::vector<double> lossesOf(const Phrases &phrases, int ranks, std::vector<std::string> more) {
    const TempFolder folder;
    auto options = phrases.options();
    more.push_back("--frames=" + (folder / "f"));
    options.insert(options.end(), more.begin(), more.end());
    const std::vector<Ended> all = ranks > 1
                                       ? DdpRun(ranks, options).wait()
                                       : std::vector<Ended>{Process(trainerBinary(), withSmallRun(options)).wait()};
    for (const Ended &ended : all) {
        CAPTURE(ended.err);
        REQUIRE(ended.code == 0);
    }
    std::vector<double> losses;
    const auto frames = readFrames(folder / "f");
    for (const auto &epoch : bodiesOf<EpochFrame>(frames, 0))
        losses.push_back(epoch.loss.value_or(0));
    const auto tests = bodiesOf<EvalFrame>(frames, 0);
    REQUIRE(tests.size() == 4);
    CHECK(tests.back().samples == 101);
    CHECK(tests.back().perClassAccuracy.size() == 4);
    CHECK(tests.back().accuracy > 0.6); // a guess: 0.25
    return losses;
}

} // namespace

TEST_SUITE("bag") {
    TEST_CASE("it learns to tell phrases apart, alike with every loader, method, order in memory and number format") {
        const Phrases phrases;
        const auto expected = lossesOf(phrases, 1, {});
        CHECK(expected.back() < 0.8 * expected.front());
        for (const char *option : {"--loader=item", "--loader=device", "--workers=1", "--channels-last"}) {
            CAPTURE(option);
            CHECK((lossesOf(phrases, 1, {option}) == expected));
        }
        const auto close = [&](const std::vector<double> &losses, double within) {
            REQUIRE(losses.size() == expected.size());
            for (std::size_t i = 0; i < losses.size(); ++i)
                CHECK(losses[i] == doctest::Approx(expected[i]).epsilon(within));
        };
        close(lossesOf(phrases, 1, {"--precision=fp64"}), 1e-4);
        close(lossesOf(phrases, 1, {"--precision=bf16"}), 0.1);
        close(lossesOf(phrases, 1, {"--method=dp", "--devices=0,1"}), 1e-4);
        close(lossesOf(phrases, 2, {}), 1e-4);
    }

    TEST_CASE("images' models and images' augmentation are refused in one sentence each") {
        const Phrases phrases;
        auto options = phrases.options();
        options.insert(options.end(), {"--augment=affine"});
        const Ended turned = Process(trainerBinary(), withSmallRun(options)).wait();
        CHECK(turned.code == 2);
        CAPTURE(turned.err);
        CHECK(turned.err.find("affine turns images of 28 × 28 pixels, and phrases holds sequences of 16 tokens") !=
              std::string::npos);
        CHECK(turned.sentences() == 1);
        const Ended other = Process(trainerBinary(), withSmallRun({"--dataset=phrases"})).wait();
        CHECK(other.code == 2);
        CAPTURE(other.err);
        CHECK(other.err.find("lenet takes images of 28 × 28 pixels in 10 classes, and phrases holds sequences of 16 "
                             "tokens in 4 classes") != std::string::npos);
        CHECK(other.err.find("use bag") != std::string::npos);
    }
}

// SPDX-License-Identifier: MIT
#include <fstream>
#include <functional>

#include <doctest/doctest.h>
#include <torch/torch.h>
#include <zlib.h>

#include "temp_folder.h"
#include "trainer/data/data_set.h"
#include "trainer/engine/evaluation.h"

using namespace lockstep;
using namespace lockstep::trainer;
using namespace lockstep::trainer::test;

namespace {

std::string bigEndian(std::uint32_t value) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8)
        bytes += static_cast<char>(value >> shift & 0xff);
    return bytes;
}

std::string imagesHeader(std::uint32_t n, std::uint32_t side = 28) {
    return bigEndian(0x803) + bigEndian(n) + bigEndian(side) + bigEndian(side);
}

std::string imagesIdx(std::uint32_t n, std::uint32_t side = 28) {
    std::string bytes = imagesHeader(n, side);
    for (std::uint32_t i = 0; i < n * side * side; ++i)
        bytes += static_cast<char>(i * 31 % 251);
    return bytes;
}

std::string labelsIdx(std::uint32_t n) {
    std::string bytes = bigEndian(0x801) + bigEndian(n);
    for (std::uint32_t i = 0; i < n; ++i)
        bytes += static_cast<char>(i % 10);
    return bytes;
}

std::string gzip(const std::string &bytes) {
    z_stream stream{};
    deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
    std::string packed(deflateBound(&stream, bytes.size()) + 64, '\0');
    stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
    stream.next_out = reinterpret_cast<Bytef *>(packed.data());
    stream.avail_out = static_cast<uInt>(packed.size());
    REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
    packed.resize(stream.total_out);
    deflateEnd(&stream);
    return packed;
}

/// A line of /proc/self/status, in kB.
std::int64_t statusOf(const std::string &name) {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;)
        if (std::int64_t number = 0; word == name && status >> number)
            return number;
    return 0;
}

const char *const imagesName = "train-images-idx3-ubyte", *const labelsName = "train-labels-idx1-ubyte";

void writeGood(const TempFolder &folder, std::uint32_t n = 20) {
    writeFile(folder / imagesName, imagesIdx(n));
    writeFile(folder / labelsName, labelsIdx(n));
}

} // namespace

TEST_SUITE("data_set") {
    TEST_CASE("packed and plain files give the same images and labels") {
        const TempFolder plain, packed;
        writeGood(plain);
        writeFile(packed / (std::string(imagesName) + ".gz"), gzip(imagesIdx(20)));
        writeFile(packed / (std::string(labelsName) + ".gz"), gzip(labelsIdx(20)));
        const auto a = loadDataSet("mnist", plain.path(), Split::Train);
        const auto b = loadDataSet("mnist", packed.path(), Split::Train);
        REQUIRE(a);
        REQUIRE(b);
        CHECK(a->size() == 20);
        CHECK(a->inputs.sizes() == torch::IntArrayRef{20, 1, 28, 28});
        CHECK(a->inputs.is_contiguous());
        CHECK(a->inputs[0][0][0][1].item<int>() == 31);
        CHECK(a->targets.dtype() == torch::kInt64);
        CHECK(a->targets[13].item<int>() == 3);
        CHECK(torch::equal(a->inputs, b->inputs));
        CHECK(torch::equal(a->targets, b->targets));
        CHECK(a->spec.mean == 0.1307);
        CHECK(a->spec.std == 0.3081);
        CHECK(a->sha256.count(imagesName) == 1);
        CHECK(b->sha256.count(std::string(imagesName) + ".gz") == 1);
        CHECK(a->sha256.at(labelsName).size() == 64);
    }

    TEST_CASE("a gzip file of several members is read as one") {
        const TempFolder folder;
        const auto bytes = imagesIdx(20);
        writeFile(folder / (std::string(imagesName) + ".gz"), gzip(bytes.substr(0, 1000)) + gzip(bytes.substr(1000)));
        writeFile(folder / labelsName, labelsIdx(20));
        const auto set = loadDataSet("mnist", folder.path(), Split::Train);
        REQUIRE(set);
        CHECK(set->inputs[19][0][27][27].item<int>() == (20 * 784 - 1) * 31 % 251);
    }

    TEST_CASE("a limit keeps the first samples") {
        const TempFolder folder;
        writeGood(folder);
        const auto all = loadDataSet("mnist", folder.path(), Split::Train);
        const auto some = loadDataSet("mnist", folder.path(), Split::Train, 7);
        REQUIRE(all);
        REQUIRE(some);
        CHECK(some->size() == 7);
        CHECK(torch::equal(some->inputs, all->inputs.narrow(0, 0, 7)));
        CHECK(torch::equal(some->targets, all->targets.narrow(0, 0, 7)));
    }

    TEST_CASE("with a limit a packed file is checked to its end, and takes no memory beyond what is kept") {
        const TempFolder folder;
        constexpr std::uint32_t many = 200'000; // 157 MB in 150 kB
        writeFile(folder / (std::string(imagesName) + ".gz"), gzip(imagesHeader(many) + std::string(many * 784, '\0')));
        writeFile(folder / labelsName, labelsIdx(many));
        writeFile("/proc/self/clear_refs", "5"); // the peak so far
        const std::int64_t before = statusOf("VmHWM:");
        const auto set = loadDataSet("mnist", folder.path(), Split::Train, 640);
        REQUIRE(set);
        CHECK(set->size() == 640);
        CHECK(set->inputs.storage().nbytes() == 640 * 784);
        CHECK(statusOf("VmHWM:") - before < 100 * 1024);

        auto torn = gzip(imagesIdx(20));
        torn.resize(torn.size() - 3);
        writeFile(folder / (std::string(imagesName) + ".gz"), torn);
        writeFile(folder / labelsName, labelsIdx(20));
        const auto cut = loadDataSet("mnist", folder.path(), Split::Train, 2);
        REQUIRE_FALSE(cut);
        CHECK(cut.error().message().find("torn: it ends after 15696 unpacked bytes") != std::string::npos);
        auto labels = labelsIdx(20);
        labels[8 + 13] = 10;
        writeGood(folder);
        writeFile(folder / labelsName, labels);
        const auto wrong = loadDataSet("mnist", folder.path(), Split::Train, 2);
        REQUIRE_FALSE(wrong);
        CHECK(wrong.error().message().find("label 13 is 10") != std::string::npos);
    }

    TEST_CASE("images that would take more than 512 MiB are refused by the header, and fewer of them are read") {
        const TempFolder folder;
        writeFile(folder / (std::string(imagesName) + ".gz"), gzip(imagesHeader(1'369'000)));
        writeFile(folder / labelsName, labelsIdx(20));
        const auto all = loadDataSet("mnist", folder.path(), Split::Train);
        REQUIRE_FALSE(all);
        CHECK(all.error().kind == ErrorKind::BadArgument);
        CHECK(all.error().message().find("1369000 of its samples (1369000x28x28 in all) take more than 536870912") !=
              std::string::npos);
        CHECK(all.error().wayOut.find("--train-samples") != std::string::npos);
        const auto some = loadDataSet("mnist", folder.path(), Split::Train, 640);
        REQUIRE_FALSE(some);
        CHECK(some.error().message().find("1369000x28x28 bytes of data, but 0 follow") != std::string::npos);
    }

    TEST_CASE("training and test images together take no more than 512 MiB, and fewer of them are read") {
        const TempFolder folder;
        writeGood(folder, 100);
        const std::string images = folder / "t10k-images-idx3-ubyte", labels = folder / "t10k-labels-idx1-ubyte";
        writeFile(labels, labelsIdx(20));
        writeFile(images + ".gz", gzip(imagesHeader(684'700))); // 536804800 bytes: alone they would do
        const auto together = loadDataSets("mnist", folder.path(), 0, 0);
        REQUIRE_FALSE(together);
        CHECK(together.error().kind == ErrorKind::BadArgument);
        CHECK(together.error().where == images + ".gz");
        CHECK(together.error().message().find(
                  "684700 of its samples (684700x28x28 in all) take more than 536792512 bytes, which the training "
                  "samples leave of the 536870912 that both may take") != std::string::npos);
        CHECK(together.error().wayOut.find("--test-samples") != std::string::npos);
        const auto fewTested = loadDataSets("mnist", folder.path(), 0, 20),
                   fewTrained = loadDataSets("mnist", folder.path(), 50, 0);
        for (const auto &few : {fewTested, fewTrained}) { // these fit: only that the file is cut short is wrong then
            REQUIRE_FALSE(few);
            CHECK(few.error().message().find("684700x28x28 bytes of data, but 0 follow") != std::string::npos);
        }
        std::filesystem::remove(images + ".gz");
        writeFile(images, imagesIdx(20));
        const auto both = loadDataSets("mnist", folder.path(), 0, 10);
        REQUIRE(both);
        CHECK(both->train.size() == 100);
        CHECK(both->test.size() == 10);
    }

    TEST_CASE("an evaluation keeps no copy of the images") {
        const TempFolder folder;
        writeGood(folder);
        const auto set = loadDataSet("mnist", folder.path(), Split::Train);
        REQUIRE(set);
        Communicator alone;
        const auto holders = set->inputs.storage().use_count();
        const Evaluator evaluator(*set, alone, torch::kCPU, torch::kFloat32);
        CHECK(set->inputs.storage().use_count() == holders + 1);
    }

    TEST_CASE("a packed file is read alike wherever its blocks and members end") {
        const TempFolder folder;
        const auto bytes = imagesIdx(1000); // more than is read and unpacked at once
        writeFile(folder / labelsName, labelsIdx(1000));
        writeFile(folder / imagesName, bytes);
        const auto plain = loadDataSet("mnist", folder.path(), Split::Train);
        REQUIRE(plain);
        std::filesystem::remove(folder / imagesName);
        for (const std::size_t end : {std::size_t{0}, std::size_t{10}, std::size_t{1} << 18, bytes.size()}) {
            CAPTURE(end);
            writeFile(folder / (std::string(imagesName) + ".gz"),
                      gzip(bytes.substr(0, end)) + gzip(bytes.substr(end)) + gzip({}));
            const auto set = loadDataSet("mnist", folder.path(), Split::Train);
            REQUIRE(set);
            CHECK(torch::equal(set->inputs, plain->inputs));
        }
    }

    TEST_CASE("tokens are read as whole numbers, and sequences of another length are refused") {
        DataSetSpec phrases;
        phrases.name = "phrases";
        phrases.title = "Phrases";
        phrases.sample = {.values = Values::Tokens, .sizes = {16}, .classes = 4};
        phrases.inputs = "tokens-idx2-ubyte";
        phrases.targets = "labels-idx1-ubyte";
        const TempFolder folder;
        const auto write = [&](std::uint32_t length) {
            std::string tokens = bigEndian(0x802) + bigEndian(20) + bigEndian(length),
                        labels = bigEndian(0x801) + bigEndian(20);
            for (std::uint32_t i = 0; i < 20; ++i) {
                labels += static_cast<char>(i % 4);
                for (std::uint32_t t = 0; t < length; ++t)
                    tokens += static_cast<char>((i + 13 * t) % 256);
            }
            writeFile(folder / "train-tokens-idx2-ubyte", tokens);
            writeFile(folder / labelsName, labels);
        };
        write(16);
        const auto set = loadDataSet(phrases, folder.path(), Split::Train);
        REQUIRE(set);
        CHECK(set->inputs.sizes() == torch::IntArrayRef{20, 16});
        CHECK(set->inputs.dtype() == torch::kInt64);
        CHECK(set->inputs[19][15].item<int>() == 19 + 13 * 15);
        CHECK(set->targets[7].item<int>() == 3);
        write(8);
        const auto other = loadDataSet(phrases, folder.path(), Split::Train);
        REQUIRE_FALSE(other);
        CHECK(other.error().message().find("its samples are 8, expected 16") != std::string::npos);
        CHECK(other.error().message().find("Phrases") != std::string::npos);
        const auto missing = loadDataSet(phrases, folder.path(), Split::Test);
        REQUIRE_FALSE(missing);
        CHECK(missing.error().wayOut == "give the folder of its four IDX files with --data-dir");
    }

    TEST_CASE("each damage is one sentence that names file, expectation, finding and way out") {
        struct Damage {
            const char *name;
            std::function<void(const TempFolder &)> apply;
            std::vector<const char *> says;
        };
        const std::vector<Damage> table{
            {"missing images",
             [](auto &f) { std::filesystem::remove(f / imagesName); },
             {"train-images-idx3-ubyte[.gz] of fashion-mnist is not in ", "apt install dataset-fashion-mnist",
              "--data-dir"}},
            {"missing labels",
             [](auto &f) { std::filesystem::remove(f / labelsName); },
             {"train-labels-idx1-ubyte[.gz] of fashion-mnist is not in "}},
            {"a folder instead of a file",
             [](auto &f) {
                 std::filesystem::remove(f / imagesName);
                 std::filesystem::create_directory(f / imagesName);
             },
             {imagesName, "no ordinary file"}},
            {"empty", [](auto &f) { writeFile(f / imagesName, ""); }, {imagesName, "too short: 0 bytes", "takes 16"}},
            {"header cut",
             [](auto &f) { writeFile(f / labelsName, labelsIdx(20).substr(0, 6)); },
             {labelsName, "too short: 6 bytes"}},
            {"labels where images should be",
             [](auto &f) { writeFile(f / imagesName, labelsIdx(20)); },
             {imagesName, "magic number is 0x00000801, expected 0x00000803"}},
            {"no IDX at all",
             [](auto &f) { writeFile(f / labelsName, "<html>404 not found</html>"); },
             {labelsName, "magic number is 0x3c68746d"}},
            {"cut short",
             [](auto &f) { writeFile(f / imagesName, imagesIdx(20).substr(0, 5000)); },
             {imagesName, "20x28x28 bytes", "4984 follow"}},
            {"bytes too many",
             [](auto &f) { writeFile(f / labelsName, labelsIdx(20) + "x"); },
             {labelsName, "20 bytes", "21 follow"}},
            {"an absurd count",
             [](auto &f) { writeFile(f / imagesName, bigEndian(0x803) + std::string(12, '\xff')); },
             {imagesName, "4294967295x4294967295x4294967295", "0 follow"}},
            {"torn gzip",
             [](auto &f) {
                 const auto packed = gzip(imagesIdx(20));
                 writeFile(f / imagesName, packed.substr(0, packed.size() / 2));
             },
             {imagesName, "torn"}},
            {"gzip without its end",
             [](auto &f) {
                 const auto packed = gzip(imagesIdx(20));
                 writeFile(f / imagesName, packed.substr(0, packed.size() - 3));
             },
             {imagesName, "torn"}},
            {"damaged gzip",
             [](auto &f) {
                 auto packed = gzip(imagesIdx(20));
                 packed[packed.size() - 6] ^= 1; // in the CRC
                 writeFile(f / imagesName, packed);
             },
             {imagesName, "damaged", "incorrect data check"}},
            {"counts differ",
             [](auto &f) { writeFile(f / labelsName, labelsIdx(19)); },
             {labelsName, "19 labels", "20 images"}},
            {"a label out of range",
             [](auto &f) {
                 auto bytes = labelsIdx(20);
                 bytes[8 + 13] = 10;
                 writeFile(f / labelsName, bytes);
             },
             {labelsName, "label 13 is 10, expected 0 to 9"}},
            {"images of another size",
             [](auto &f) { writeFile(f / imagesName, imagesIdx(20, 32)); },
             {imagesName, "32x32, expected 28x28"}},
            {"no images",
             [](auto &f) {
                 writeFile(f / imagesName, imagesIdx(0));
                 writeFile(f / labelsName, labelsIdx(0));
             },
             {imagesName, "holds no images"}},
        };
        for (const auto &damage : table) {
            CAPTURE(damage.name);
            const TempFolder folder;
            writeGood(folder);
            damage.apply(folder);
            const auto set = loadDataSet("fashion-mnist", folder.path(), Split::Train);
            REQUIRE_FALSE(set);
            const auto message = set.error().message();
            CAPTURE(message);
            for (const auto *part : damage.says)
                CHECK(message.find(part) != std::string::npos);
            CHECK(set.error().kind == ErrorKind::BadArgument);
            CHECK_FALSE(set.error().wayOut.empty());
            CHECK(message.find('\n') == std::string::npos);
        }
    }

    TEST_CASE("an unknown data set and a limit beyond the set are bad arguments") {
        const TempFolder folder;
        writeGood(folder);
        const auto unknown = loadDataSet("cifar", folder.path(), Split::Train);
        REQUIRE_FALSE(unknown);
        CHECK(unknown.error().message().find("'cifar'") != std::string::npos);
        const auto beyond = loadDataSet("mnist", folder.path(), Split::Train, 21);
        REQUIRE_FALSE(beyond);
        CHECK(beyond.error().kind == ErrorKind::BadArgument);
        CHECK(beyond.error().message().find("21") != std::string::npos);
    }

    TEST_CASE("mnist without a folder is looked for under Lockstep's data, and the error says where") {
        const TempFolder home;
        ::setenv("LOCKSTEP_HOME", home.path().c_str(), 1);
        const auto set = loadDataSet("mnist", "", Split::Test);
        ::unsetenv("LOCKSTEP_HOME");
        REQUIRE_FALSE(set);
        CHECK(set.error().message().find("t10k-images-idx3-ubyte[.gz] of mnist is not in " + home.path() +
                                         "/data/mnist") != std::string::npos);
    }

    TEST_CASE("the distribution's Fashion-MNIST is read whole") {
        if (!std::filesystem::exists("/usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz")) {
            MESSAGE("skipped: dataset-fashion-mnist is not installed");
            return;
        }
        const auto set = loadDataSet("fashion-mnist", "", Split::Test);
        REQUIRE(set);
        CHECK(set->size() == 10000);
        CHECK(set->targets.bincount().eq(1000).all().item<bool>()); // balanced
        CHECK(set->inputs.to(torch::kFloat64).div(255).mean().item<double>() == doctest::Approx(0.2868).epsilon(0.001));
        CHECK(set->sha256.at("t10k-labels-idx1-ubyte.gz").size() == 64);
    }
}

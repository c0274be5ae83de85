// SPDX-License-Identifier: MIT
#include <chrono>
#include <cstring>

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <torch/torch.h>
#include <unistd.h>

#include "ipc/sha256.h"
#include "temp_folder.h"
#include "trainer/data/safetensors.h"

using namespace lockstep;
using namespace lockstep::trainer;
using namespace lockstep::trainer::test;

namespace {

/// A file of that header and so many bytes of data; `claimed` replaces the header's true length.
std::string fileOf(const std::string &header, std::size_t dataBytes, std::optional<std::uint64_t> claimed = {}) {
    const std::uint64_t length = claimed.value_or(header.size());
    std::string bytes(8, '\0');
    std::memcpy(bytes.data(), &length, 8);
    return bytes + header + std::string(dataBytes, 'x');
}

} // namespace

TEST_SUITE("safetensors") {
    TEST_CASE("what is written is read: names, order, types, shapes, bits and metadata") {
        const TempFolder folder;
        TensorFile file;
        file.tensors = {{"z.weight", torch::randn({3, 5, 2})},
                        {"a.bias", torch::randn({7}, torch::kFloat64)},
                        {"steps", torch::tensor(std::int64_t{42})},
                        {"counts", torch::tensor({1, -2, 3}, torch::kInt32)},
                        {"rng", torch::randint(0, 256, {5056}, torch::kUInt8)},
                        {"flags", torch::tensor({true, false})},
                        {"empty", torch::empty({0, 4})},
                        {"transposed", torch::randn({4, 6}).t()},
                        {"odd", torch::tensor({NAN, INFINITY, -0.0F})}};
        file.metadata = {{"format", "pt"}, {"note", "\"quoted\" \xc3\xa9\n"}};
        REQUIRE(writeTensors(folder / "a.safetensors", file));
        const auto read = readTensors(folder / "a.safetensors");
        REQUIRE(read);
        CHECK(read->metadata == file.metadata);
        REQUIRE(read->tensors.size() == file.tensors.size());
        for (std::size_t i = 0; i < file.tensors.size(); ++i) {
            const auto &[name, tensor] = file.tensors[i];
            const auto &[readName, readTensor] = read->tensors[i];
            CHECK(readName == name);
            CHECK(readTensor.dtype() == tensor.dtype());
            REQUIRE(readTensor.sizes() == tensor.sizes());
            CHECK(readTensor.is_contiguous());
            const auto whole = tensor.contiguous();
            CHECK((whole.nbytes() == 0 ||
                   std::memcmp(readTensor.const_data_ptr(), whole.const_data_ptr(), whole.nbytes()) == 0));
        }
        REQUIRE(writeTensors(folder / "a.safetensors", *read)); // replaces
        CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
    }

    TEST_CASE("a file that PyTorch's side wrote is read") {
        const auto file = readTensors(LOCKSTEP_GOLDEN_DIR "/lenet.safetensors");
        REQUIRE(file);
        CHECK(file->tensors.at(0).first == "param.conv1.weight");
        CHECK(file->tensors.at(0).second.sizes() == torch::IntArrayRef{6, 1, 5, 5});
    }

    TEST_CASE("each malformed file is one sentence that names it") {
        const std::string good = R"({"t":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
        std::string ones = "1";
        for (int i = 0; i < 64; ++i)
            ones += ",1";
        struct Case {
            std::string bytes;
            const char *says;
        };
        const std::vector<Case> table{
            {"", "no safetensors file: 0 bytes"},
            {"short", "no safetensors file: 5 bytes"},
            {fileOf(good, 8, 100'000'001), "claims 100000001 bytes, at most 100000000"},
            {fileOf(good, 8, ~std::uint64_t{0}), "claims 18446744073709551615 bytes"},
            {fileOf(good, 0, 500), "torn: its header claims 500 bytes, 54 follow"},
            {fileOf("{not json", 0), "no JSON object"},
            {fileOf("[1,2]", 0), "no JSON object"},
            {fileOf(good, 4), "'t' ends at byte 8 of the data, but the file holds 4"},
            {fileOf(good, 9), "1 bytes at the end belong to no tensor"},
            {fileOf(R"({"t":7})", 0), "'t' lacks dtype, shape or data_offsets"},
            {fileOf(R"({"t":{"dtype":"F32","shape":[2]}})", 8), "'t' lacks"},
            {fileOf(R"({"t":{"dtype":4,"shape":[2],"data_offsets":[0,8]}})", 8), "wrong type"},
            {fileOf(R"({"t":{"dtype":"F8_E4M3","shape":[2],"data_offsets":[0,2]}})", 2), "dtype F8_E4M3"},
            {fileOf(R"({"t":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", 8), "no list of sizes"},
            {fileOf(R"({"t":{"dtype":"F32","shape":[1.5],"data_offsets":[0,8]}})", 8), "no list of sizes"},
            {fileOf(R"({"t":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8), "8 bytes of data, its shape"},
            {fileOf(R"({"t":{"dtype":"F32","shape":[281474976710656,281474976710656],"data_offsets":[0,8]}})", 8),
             "more than any file holds"},
            {fileOf(R"({"t":{"dtype":"U8","shape":[1,0,281474976710656,281474976710656],"data_offsets":[0,0]}})", 0),
             "more than any file holds"}, // no bytes, but torch multiplies the sizes for its strides
            {fileOf(R"({"t":{"dtype":"U8","shape":[)" + ones + R"(],"data_offsets":[0,1]}})", 1), "64 dimensions"},
            {fileOf(R"({"t":{"dtype":"F32","shape":[[2]],"data_offsets":[0,8]}})", 8), "no list of sizes"},
            {fileOf(R"({"t":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", 8), "end before they begin"},
            {fileOf(R"({"t":{"dtype":"F32","shape":[2],"data_offsets":[0]}})", 8), "no two numbers"},
            {fileOf(R"({"t":{"dtype":"F32","shape":[2],"data_offsets":[-8,0]}})", 8), "no two numbers"},
            {fileOf(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                    R"("b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
                    12),
             "'b' overlaps"},
            {fileOf(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                    R"("b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}})",
                    12),
             "hole of 4 bytes before tensor 'b'"},
            {fileOf(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                    R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
                    4),
             "'a' is there twice"},
            {fileOf(R"({"__metadata__":[]})", 0), "__metadata__ is no JSON object"},
            {fileOf(R"({"__metadata__":{},"__metadata__":{}})", 0), "__metadata__ is there twice"},
            {fileOf(good + "]", 8), "no JSON object"},
            {fileOf(std::string(1'000'000, '['), 0), "no JSON object"},
            {fileOf(R"({"__metadata__":{"x":1}})", 0), "'x' is no string"},
        };
        const TempFolder folder;
        const auto path = folder / "bad.safetensors";
        for (const auto &entry : table) {
            CAPTURE(entry.says);
            writeFile(path, entry.bytes);
            const auto read = readTensors(path);
            REQUIRE_FALSE(read);
            CAPTURE(read.error().message());
            CHECK(read.error().message().find(entry.says) != std::string::npos);
            CHECK(read.error().message().find(path) != std::string::npos);
            CHECK(read.error().kind == ErrorKind::BadArgument);
        }
        CHECK_FALSE(readTensors(folder / "missing.safetensors"));
    }

    TEST_CASE("a sparse file longer than any memory is refused by its header") {
        const TempFolder folder;
        const std::string good = fileOf(R"({"t":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8);
        for (const auto &[bytes, says] :
             {std::pair(std::string(), "no JSON object"), std::pair(good, "belong to no tensor")}) {
            writeFile(folder / "f", bytes);
            std::filesystem::resize_file(folder / "f", std::uintmax_t{1} << 40);
            const auto read = readTensors(folder / "f");
            REQUIRE_FALSE(read);
            CHECK(read.error().message().find(says) != std::string::npos);
        }
    }

    TEST_CASE("tensors are read from where the header says, in the header's order") {
        const TempFolder folder;
        const std::string header = R"({"b":{"dtype":"U8","shape":[2],"data_offsets":[3,5]},)"
                                   R"("e":{"dtype":"U8","shape":[0],"data_offsets":[3,3]},)"
                                   R"("a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}})";
        writeFile(folder / "f", fileOf(header, 0) + "aaabb");
        const auto read = readTensors(folder / "f");
        REQUIRE(read);
        REQUIRE(read->tensors.size() == 3);
        CHECK((read->tensors[0].first == "b" && read->tensors[1].first == "e" && read->tensors[2].first == "a"));
        CHECK((read->tensors[0].second == 'b').all().item<bool>());
        CHECK((read->tensors[2].second == 'a').all().item<bool>());
    }

    TEST_CASE("the time for a header grows with its size alone") {
        const auto many = [](int count, const std::string &before, const std::string &after) {
            std::string text;
            for (int i = 0; i < count; ++i)
                text += (i == 0 ? before : "," + before) + std::to_string(1'000'000 + i) + after;
            return text;
        };
        const std::string place = R"("dtype":"U8","shape":[0],"data_offsets":[0,0])";
        const TempFolder folder;
        const auto read = [&](const std::string &header) {
            writeFile(folder / "f", fileOf(header, 0));
            const auto begun = std::chrono::steady_clock::now();
            auto file = readTensors(folder / "f");
            CHECK(std::chrono::steady_clock::now() - begun < std::chrono::seconds(20)); // each took minutes
            return file;
        };
        const auto tensors = read("{" + many(100'000, "\"t", "\":{" + place + "}") + "}");
        REQUIRE(tensors);
        CHECK(tensors->tensors.size() == 100'000);
        CHECK(tensors->tensors.back().first == "t1099999");
        const auto keys = read("{\"t\":{" + many(150'000, "\"", "\":0") + "," + place + "}}");
        REQUIRE(keys);
        CHECK(keys->tensors.size() == 1);
        REQUIRE(read("{\"t\":{\"x\":[" + many(150'000, "{\"x\":", "}") + "]," + place + "}}"));
        REQUIRE_FALSE(read("{" + many(150'000, "\"t", "\":0") + "}"));
    }

    TEST_CASE("of a header with too many tensors or entries of metadata no more are looked at than are allowed") {
        const auto header = [](int count, const std::string &value, const std::string &rest) {
            std::string text = "{";
            for (int i = 0; i < count; ++i)
                text += "\"t" + std::to_string(i) + "\":" + value + ",";
            return text + rest;
        };
        const std::string empty = R"({"dtype":"U8","shape":[0],"data_offsets":[0,0]})",
                          end = R"("last":)" + empty + "}";
        const TempFolder folder;
        const auto says = [&](const std::string &text) {
            writeFile(folder / "f", fileOf(text, 0));
            const auto read = readTensors(folder / "f");
            return read ? std::string() : read.error().message();
        };
        CHECK(says(header(99'999, empty, end)).empty());
        const std::string tensors = "its header has more than the 100000 tensors that are allowed";
        CHECK(says(header(100'000, empty, end)).find(tensors) != std::string::npos);
        CHECK(says(header(100'000, empty, R"("last":nothing that JSON has)")).find(tensors) != std::string::npos);
        const auto metadata = [&](int count, const std::string &last) {
            return says("{\"__metadata__\":" + header(count, "\"\"", last + ",") + end);
        };
        const std::string entries = "its header has more than the 10000 entries of __metadata__ that are allowed";
        CHECK(metadata(9'999, R"("last":""})").empty());
        CHECK(metadata(10'000, R"("last":""})").find(entries) != std::string::npos);
        CHECK(metadata(10'000, R"("last":nothing that JSON has)").find(entries) != std::string::npos);
        TensorFile written;
        const torch::Tensor none = torch::empty({0});
        for (int i = 0; i <= 100'000; ++i)
            written.tensors.emplace_back("t" + std::to_string(i), none);
        const auto refused = writeTensors(folder / "g", written); // which could never be read again
        REQUIRE_FALSE(refused);
        CHECK(refused.error().message().find("100001 tensors") != std::string::npos);
    }

    TEST_CASE("a file of any prefix of a good one is refused") {
        const TempFolder folder;
        REQUIRE(writeTensors(folder / "good", {{{"t", torch::randn({5})}, {"u", torch::randn({3})}}, {}}));
        const auto bytes = readFile(folder / "good");
        for (std::size_t length = 0; length < bytes.size(); ++length) {
            writeFile(folder / "cut", std::string_view(bytes).substr(0, length));
            CAPTURE(length);
            CHECK_FALSE(readTensors(folder / "cut"));
        }
    }

    TEST_CASE("a sealed file is read as it was, and refused with any one bit changed") {
        const TempFolder folder;
        TensorFile file;
        file.tensors = {{"t", torch::randn({5})}};
        file.metadata = {{"note", R"("lockstep_sha256":"x")"}}; // no digest, though it reads like one
        file.sealed = true;
        REQUIRE(writeTensors(folder / "good", file));
        const auto read = readTensors(folder / "good");
        REQUIRE(read);
        CHECK(read->sealed);
        CHECK(read->metadata == file.metadata);
        CHECK(torch::equal(read->tensors[0].second, file.tensors[0].second));
        const std::string bytes = readFile(folder / "good");
        for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
            std::string flipped = bytes;
            flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
            writeFile(folder / "flipped", flipped);
            const auto bad = readTensors(folder / "flipped");
            CAPTURE(bit);
            CHECK((!bad || !bad->sealed)); // a bit of the key's name takes the seal off; who expects one sees it
        }
    }

    TEST_CASE("a file that can't be written leaves the one before whole and nothing beside it") {
        const TempFolder folder;
        const auto path = folder / "a.safetensors";
        REQUIRE(writeTensors(path, {{{"t", torch::ones({2})}}, {}}));
        const auto before = readFile(path);
        CHECK_FALSE(writeTensors(path, {{{"t", torch::ones({2})}, {"t", torch::ones({2})}}, {}})); // a name twice
        CHECK_FALSE(writeTensors(path, {{{"c", torch::ones({2}, torch::kComplexFloat)}}, {}}));
        CHECK_FALSE(writeTensors(folder / "no/such/folder", {{{"t", torch::ones({2})}}, {}}));
        CHECK(readFile(path) == before);
        CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
    }

    TEST_CASE("a model's fingerprint is that of its fp32 bytes, one parameter after the other") {
        const auto a = torch::randn({4, 3}), b = torch::randn({5});
        const auto together = torch::cat({a.flatten(), b});
        const auto expected = sha256Hex({static_cast<const char *>(together.const_data_ptr()), together.nbytes()});
        CHECK(parametersSha256({a, b}) == expected);
        CHECK(parametersSha256({a.to(torch::kFloat64), b}) == expected);
        CHECK(parametersSha256({a.t().contiguous().t(), b}) == expected);
        CHECK(parametersSha256({b, a}) != expected);
    }
}

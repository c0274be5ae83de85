// SPDX-License-Identifier: MIT
// Runs a fuzz target without libFuzzer: every seed as it is, then changed in so many ways, the same ones each time.
//   fuzz_NAME_replay CHANGES SEED_OR_FOLDER...
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size);

namespace {

namespace fs = std::filesystem;
using Random = std::mt19937_64;
constexpr std::size_t longest = 64 * 1024;

std::vector<std::string> seedsIn(const fs::path &place) {
    std::vector<fs::path> files;
    if (fs::is_regular_file(place))
        files.push_back(place);
    else
        for (const auto &entry : fs::directory_iterator(place))
            if (entry.is_regular_file())
                files.push_back(entry.path());
    std::ranges::sort(files);
    std::vector<std::string> seeds;
    for (const fs::path &file : files) {
        std::ifstream stream(file, std::ios::binary);
        seeds.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
    }
    return seeds;
}

/// One to eight changes: a bit, a byte, a piece left out, doubled or taken from another seed, an odd number in a number's place.
std::string changed(std::string text, const std::vector<std::string> &seeds, Random &random) {
    static const std::vector<std::string> odd = {
        "-1", "0",    "1e308",  "-9223372036854775808", "18446744073709551615", "null", "\"\"", "[]", "{",
        "\n", "\xff", "\"NaN\""};
    const auto below = [&](std::size_t n) { return n == 0 ? 0 : static_cast<std::size_t>(random() % n); };
    for (std::size_t times = 1 + below(8); times > 0; --times) {
        const std::size_t at = below(text.size()), length = std::min(below(32), text.size() - at);
        switch (below(6)) {
        case 0:
            if (!text.empty())
                text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
            break;
        case 1:
            text.insert(at, 1, static_cast<char>(random()));
            break;
        case 2:
            text.erase(at, length);
            break;
        case 3:
            text.insert(at, text.substr(at, length));
            break;
        case 4: {
            const std::string &other = seeds[below(seeds.size())];
            const std::size_t from = below(other.size());
            text.replace(at, length, other.substr(from, below(64)));
            break;
        }
        default:
            const std::size_t digit = std::min(text.find_first_of("0123456789", at), text.size());
            const std::size_t end = std::min(text.find_first_not_of("0123456789.eE+-", digit), text.size());
            text.replace(digit, end - digit, odd[below(odd.size())]);
        }
    }
    text.resize(std::min(text.size(), longest));
    return text;
}

void run(const std::string &bytes) {
    (void)LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t *>(bytes.data()), bytes.size());
}

} // namespace

int main(int argc, char **argv) {
    std::vector<std::string> seeds;
    for (int i = 2; i < argc; ++i)
        for (std::string &seed : seedsIn(argv[i]))
            seeds.push_back(std::move(seed));
    if (argc < 3 || seeds.empty()) {
        std::fputs("usage: fuzz_NAME_replay CHANGES SEED_OR_FOLDER...\n", stderr);
        return 2;
    }
    Random random(20260101);
    const long changes = std::atol(argv[1]);
    run({});
    for (const std::string &seed : seeds) {
        run(seed);
        for (long i = 0; i < changes; ++i)
            run(changed(seed, seeds, random));
    }
    std::printf("%zu seeds, each as it is and changed %ld times\n", seeds.size(), changes);
    return 0;
}

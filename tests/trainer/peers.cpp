// SPDX-License-Identifier: MIT
#include "tests/trainer/peers.h"

#include <unistd.h>

#include <map>

#include <doctest/doctest.h>

#include "trainer/data/data_set.h"

namespace lockstep::trainer::test {

namespace {

void writeIdx(const std::string &path, const torch::Tensor &data) {
    std::ofstream file(path, std::ios::binary);
    file << '\0' << '\0' << '\x08' << static_cast<char>(data.dim());
    for (const auto size : data.sizes())
        for (const int shift : {24, 16, 8, 0})
            file << static_cast<char>(size >> shift & 0xff);
    const auto bytes = data.to(torch::kUInt8).contiguous();
    file.write(static_cast<const char *>(bytes.const_data_ptr()), bytes.numel());
}

std::string searchPython(const std::string &module) {
    for (const std::string python : {LOCKSTEP_PEERS, LOCKSTEP_SOURCE_DIR "/.venv/bin/python", "/usr/bin/python3"})
        if (!python.empty() && ::access(python.c_str(), X_OK) == 0 &&
            Process(python,
                    {"-c", "import importlib.util, sys; sys.exit(not importlib.util.find_spec('" + module + "'))"})
                    .wait()
                    .code == 0)
            return python;
    return {};
}

} // namespace

std::string pythonWith(const std::string &module) {
    static std::map<std::string, std::string> found;
    const auto known = found.find(module);
    return known != found.end() ? known->second : found[module] = searchPython(module);
}

double relativeDifference(const TensorFile &file, const TensorFile &expected) {
    REQUIRE(file.tensors.size() == expected.tensors.size());
    double difference = 0;
    for (std::size_t i = 0; i < file.tensors.size(); ++i) {
        CHECK(file.tensors[i].first == expected.tensors[i].first);
        const auto x = file.tensors[i].second.to(torch::kFloat64), y = expected.tensors[i].second.to(torch::kFloat64);
        difference = std::max(difference, ((x - y).norm() / y.norm()).item<double>());
    }
    return difference;
}

void makeOwnModel(const std::string &python, const TempFolder &folder) {
    constexpr std::string_view begin = "```python\n", end = "```\n";
    const std::string page = readFile(LOCKSTEP_SOURCE_DIR "/docs/own-model.md");
    const std::size_t at = page.find(begin) + begin.size();
    writeFile(folder / "net.py", page.substr(at, page.find(end, at) - at));
    const Ended ended = Process("/bin/sh", {"-c", "cd \"$1\" && exec \"$0\" net.py", python, folder.path()}).wait();
    CAPTURE(ended.err);
    REQUIRE(ended.code == 0);
}

SmallData::SmallData(std::int64_t trainImages, std::int64_t testImages) {
    for (const auto &[split, prefix, count] :
         {std::tuple(Split::Train, "train", trainImages), std::tuple(Split::Test, "t10k", testImages)}) {
        const auto set = loadDataSet("fashion-mnist", "", split, count);
        REQUIRE(set.has_value());
        writeIdx(m_folder / (std::string(prefix) + "-images-idx3-ubyte"), set->inputs.squeeze(1));
        writeIdx(m_folder / (std::string(prefix) + "-labels-idx1-ubyte"), set->targets);
    }
}

void SmallData::changeTrainLabels() const {
    constexpr std::size_t header = 8;
    const std::string file = m_folder / "train-labels-idx1-ubyte";
    std::string bytes = readFile(file);
    for (std::size_t i = header; i < bytes.size(); ++i)
        bytes[i] = static_cast<char>((bytes[i] + 1) % 10);
    writeFile(file, bytes);
}

void SmallData::packTrainLabels() const {
    REQUIRE(Process("/bin/sh", {"-c", "exec gzip \"$0\"", m_folder / "train-labels-idx1-ubyte"}).wait().code == 0);
}

const std::string &smallDataOption() {
    static const SmallData data(19'200);
    static const std::string option = data.option();
    return option;
}

} // namespace lockstep::trainer::test

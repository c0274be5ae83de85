// SPDX-License-Identifier: MIT
#include "trainer/data/data_set.h"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <utility>

#include <torch/torch.h>

#include "ipc/sha256.h"
#include "trainer/data/idx_file.h"

namespace lockstep::trainer {
namespace {

/// Where the distribution's package puts it, else where a download goes.
std::string folderOf(const DataSetSpec &spec) {
    const std::string packaged = packagedDataFolder(spec.name), own = downloadedDataFolder(spec.download);
    std::error_code ignored;
    const bool hasOwn = std::filesystem::exists(own, ignored);
    return std::filesystem::exists(packaged, ignored) || (!hasOwn && !spec.package.empty()) ? packaged : own;
}

/// Where to get it.
std::string wayOutOf(const DataSetSpec &spec) {
    std::string text;
    if (!spec.package.empty())
        text += "apt install " + std::string(spec.package) + ", or ";
    if (!spec.download.empty())
        text += "lockstepctl get-data " + std::string(spec.download) + ", or ";
    return text + "give the folder of its four IDX files with --data-dir";
}

/// "28x28"
std::string sizesText(const std::int64_t *first, const std::int64_t *last) {
    std::string text;
    for (; first != last; ++first)
        text += (text.empty() ? "" : "x") + std::to_string(*first);
    return text;
}

/// IDX files of images with one channel don't say so: sizes of a sample, without a leading 1.
std::vector<std::int64_t> sizesInFile(const SampleSpec &sample) {
    std::vector<std::int64_t> sizes(sample.sizes.begin(), sample.sizes.begin() + sample.dimensions());
    if (sample.values == Values::Pixels && sizes.front() == 1)
        sizes.erase(sizes.begin());
    return sizes;
}

const char *plural(const SampleSpec &sample) {
    return sample.values == Values::Pixels ? "images" : "samples";
}

Result<void> checkInputs(const IdxFile &inputs, const DataSetSpec &spec) {
    const auto expected = sizesInFile(spec.sample);
    if (!std::equal(expected.begin(), expected.end(), inputs.sizes.begin() + 1, inputs.sizes.end()))
        return fail(
            Error::badArgument(std::string("its ") + plural(spec.sample) + " are " +
                                   sizesText(inputs.sizes.data() + 1, inputs.sizes.data() + inputs.sizes.size()) +
                                   ", expected " + sizesText(expected.data(), expected.data() + expected.size()),
                               "give " + std::string(spec.title) + "'s files", inputs.path));
    if (inputs.sizes[0] == 0)
        return fail(Error::badArgument(std::string("it holds no ") + plural(spec.sample),
                                       "copy or download the file again", inputs.path));
    return {};
}

Result<void> checkTargets(const IdxFile &targets, const IdxFile &inputs, const SampleSpec &sample) {
    if (targets.sizes[0] != inputs.sizes[0])
        return fail(Error::badArgument("it holds " + std::to_string(targets.sizes[0]) + " labels, but " + inputs.path +
                                           " holds " + std::to_string(inputs.sizes[0]) + " " + plural(sample),
                                       "give two files that belong together", targets.path));
    const auto *first = targets.data.const_data_ptr<std::uint8_t>();
    const auto *last = first + targets.data.numel();
    const auto *bad =
        std::find_if(first, last, [classes = sample.classes](std::uint8_t label) { return label >= classes; });
    if (bad != last)
        return fail(Error::badArgument("label " + std::to_string(bad - first) + " is " + std::to_string(int{*bad}) +
                                           ", expected 0 to " + std::to_string(sample.classes - 1),
                                       "copy or download the file again", targets.path));
    return {};
}

Result<IdxFile> readNamed(const std::string &folder, const std::string &name, int dimensions, const DataSetSpec &spec,
                          std::int64_t limit, std::int64_t room = mostSampleBytes) {
    auto file = readIdx(folder + "/" + name, dimensions, limit, room);
    if (!file && file.error().where.empty() && file.error().kind == ErrorKind::BadArgument)
        return fail(Error::badArgument(name + "[.gz] of " + std::string(spec.name) + " is not in " + folder,
                                       wayOutOf(spec), "data_dir"));
    return file;
}

/// As a batch takes them: every dimension of a sample, tokens as whole numbers.
torch::Tensor shaped(const torch::Tensor &data, const SampleSpec &sample) {
    std::vector<std::int64_t> sizes{data.size(0)};
    sizes.insert(sizes.end(), sample.sizes.begin(), sample.sizes.begin() + sample.dimensions());
    const auto inputs = data.view(sizes);
    return sample.values == Values::Tokens ? inputs.to(torch::kInt64) : inputs;
}

/// Gives all texts as rows that are as wide as the longest, some at a time.
template <class Take> void addPadded(const PackedTexts &texts, const Take &take) {
    std::vector<std::int64_t> all(texts.lengths().size());
    std::iota(all.begin(), all.end(), std::int64_t{0});
    constexpr std::size_t atOnce = 256;
    for (std::span<const std::int64_t> rest(all); !rest.empty(); rest = rest.subspan(std::min(atOnce, rest.size())))
        take(texts.padded(rest.first(std::min(atOnce, rest.size())), texts.longest()));
}

Result<DataSet> loadSplit(const DataSetSpec &spec, const std::string &given, Split split, std::int64_t limit,
                          std::int64_t room) {
    const auto folder = given.empty() ? folderOf(spec) : given;
    const std::string prefix = split == Split::Train ? "train-" : "t10k-";
    const int dimensions = 1 + static_cast<int>(sizesInFile(spec.sample).size());
    auto inputs = readNamed(folder, prefix + std::string(spec.inputs), dimensions, spec, limit, room);
    if (!inputs)
        return fail(inputs.error());
    if (auto good = checkInputs(*inputs, spec); !good)
        return fail(good.error());
    // All labels are checked; a file of more labels than there are samples is refused below.
    auto targets = readNamed(folder, prefix + std::string(spec.targets), 1, spec, inputs->sizes[0]);
    if (!targets)
        return fail(targets.error());
    if (auto good = checkTargets(*targets, *inputs, spec.sample); !good)
        return fail(good.error());
    if (limit > inputs->sizes[0])
        return fail(Error::badArgument(std::to_string(limit) + " samples are asked for, but " + inputs->path +
                                           " holds " + std::to_string(inputs->sizes[0]),
                                       "ask for at most that many, or for 0: all of them",
                                       split == Split::Train ? "train_samples" : "test_samples"));
    if (limit > 0)
        targets->data = targets->data.narrow(0, 0, limit);
    DataSet set;
    set.spec = spec;
    set.inputs = shaped(inputs->data, spec.sample);
    set.targets = targets->data.to(torch::kInt64).contiguous();
    for (const auto *file : {&*inputs, &*targets})
        set.sha256[std::filesystem::path(file->path).filename()] = file->sha256;
    return set;
}

Result<const DataSetSpec *> rowOfDataSet(std::string_view name) {
    const DataSetSpec *spec = findDataSet(name);
    if (!spec)
        return fail(
            Error::badArgument("no data set is named '" + std::string(name) + "'", "use " + dataSetNames(), "dataset"));
    return spec;
}

} // namespace

std::string contentSha256(const DataSet &set) {
    Sha256 sha256;
    const auto add = [&](const torch::Tensor &part) {
        sha256.add({static_cast<const char *>(part.const_data_ptr()), part.nbytes()});
    };
    if (set.texts.empty())
        add(set.inputs);
    else
        addPadded(set.texts, add);
    add(set.targets);
    return sha256.hex();
}

Result<DataSet> loadDataSet(const DataSetSpec &spec, const std::string &folder, Split split, std::int64_t limit) {
    return loadSplit(spec, folder, split, limit, mostSampleBytes);
}

Result<DataSet> loadDataSet(std::string_view name, const std::string &folder, Split split, std::int64_t limit) {
    const auto spec = rowOfDataSet(name);
    if (!spec)
        return fail(spec.error());
    return loadDataSet(**spec, folder, split, limit);
}

Result<DataSets> loadDataSets(std::string_view name, const std::string &folder, std::int64_t trainLimit,
                              std::int64_t testLimit) {
    const auto spec = rowOfDataSet(name);
    if (!spec)
        return fail(spec.error());
    auto train = loadDataSet(**spec, folder, Split::Train, trainLimit);
    if (!train)
        return fail(train.error());
    auto test = loadSplit(**spec, folder, Split::Test, testLimit, mostSampleBytes - train->inputs.numel());
    if (!test)
        return fail(test.error());
    return DataSets{std::move(*train), std::move(*test)};
}

} // namespace lockstep::trainer

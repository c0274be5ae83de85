// SPDX-License-Identifier: MIT
#include "trainer/engine/start_files.h"

#include <filesystem>
#include <fstream>
#include <vector>

#include "ipc/model_facts.h"
#include "ipc/models.h"
#include "ipc/run_config.h"
#include "ipc/sha256.h"

namespace lockstep::trainer {
namespace {

bool readsTexts(const RunConfig &config) {
    const DataSetSpec *spec = findDataSet(config.dataset);
    return spec && spec->sample.values == Values::Text;
}

/// Some at a time: parameters may take much of the memory.
void addFile(FileDigests &files, const std::string &setting, const std::string &path) {
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(path, ignored))
        return;
    constexpr std::size_t atOnce = std::size_t{1} << 20;
    std::ifstream file(path, std::ios::binary);
    std::vector<char> bytes(atOnce);
    Sha256 sha256;
    while (file.read(bytes.data(), std::ssize(bytes)) || file.gcount() > 0)
        sha256.add({bytes.data(), static_cast<std::size_t>(file.gcount())});
    if (file.eof())
        files[setting + "/" + std::filesystem::path(path).filename().string()] = sha256.hex();
}

} // namespace

FileDigests tokenizerFiles(const RunConfig &config) {
    FileDigests files;
    if (readsTexts(config))
        for (const char *name : {"vocab.txt", "tokenizer_config.json"})
            addFile(files, "bert_dir", bertFolderOf(config.bertDir) + "/" + name);
    return files;
}

FileDigests startFiles(const RunConfig &config) {
    FileDigests files = tokenizerFiles(config);
    if (readsTexts(config) && !isModelFile(config.model))
        for (const char *name : {"config.json", "model.safetensors"})
            addFile(files, "bert_dir", bertFolderOf(config.bertDir) + "/" + name);
    if (!config.init.empty())
        addFile(files, "init", config.init);
    return files;
}

} // namespace lockstep::trainer

// SPDX-License-Identifier: MIT
#include "trainer/engine/trainer_facts.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <vector>

#include <nlohmann/json.hpp>

#include "trainer/launcher/torch_version.h"

namespace lockstep::trainer {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> loadedLibraries() {
    std::vector<std::string> names;
    ::dl_iterate_phdr(
        [](dl_phdr_info *info, std::size_t, void *data) {
            if (info->dlpi_name && info->dlpi_name[0] == '/')
                static_cast<std::vector<std::string> *>(data)->emplace_back(info->dlpi_name);
            return 0;
        },
        &names);
    return names;
}

std::string torchFolderOf(const std::vector<std::string> &libraries) {
    const auto found = std::find_if(libraries.begin(), libraries.end(),
                                    [](const std::string &name) { return name.ends_with("/lib/libtorch_cpu.so"); });
    return found == libraries.end() ? std::string() : fs::path(*found).parent_path().parent_path().string();
}

/// The version of the NCCL beside torch: 22809 is 2.28.9.
std::string ncclVersion(const std::string &torch) {
    const std::string path = fs::path(torch).parent_path().string() + "/nvidia/nccl/lib/libnccl.so.2";
    void *library = ::dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (!library)
        return {};
    const auto ask = reinterpret_cast<int (*)(int *)>(::dlsym(library, "ncclGetVersion"));
    int code = 0;
    if (!ask || ask(&code) != 0 || code < 10'000)
        return {};
    return std::to_string(code / 10'000) + "." + std::to_string(code / 100 % 100) + "." + std::to_string(code % 100);
}

/// Libraries that CUDA's libraries load by name at first use, so nothing links against them: cuDNN's parts, needed by its first
/// convolution, and the run-time compiler.
std::vector<std::string> loadedByName(const std::vector<std::string> &libraries, const std::string &torch) {
    std::set<std::string> found;
    const auto take = [&](const fs::path &folder, std::string_view prefix) {
        std::error_code error;
        for (const auto &entry : fs::directory_iterator(folder, error))
            if (const std::string name = entry.path().filename().string();
                name.starts_with(prefix) && name.find(".so") != std::string::npos)
                found.insert(entry.path().string());
    };
    for (const std::string &library : libraries) {
        const fs::path path(library);
        if (path.filename().string().starts_with("libcudnn.so"))
            take(path.parent_path(), "libcudnn_");
        if (path.filename().string().starts_with("libcudart.so")) {
            take(path.parent_path(), "libnvrtc");
            take(path.parent_path().parent_path().parent_path() / "cuda_nvrtc/lib",
                 "libnvrtc"); // CUDA 12: a folder a part
        }
    }
    take(fs::path(torch) / "lib", "libcaffe2_nvrtc");
    return {found.begin(), found.end()};
}

/// The GPU module is next to the program; what it loads is found by comparing the loaded libraries before and after.
std::vector<std::string> cudaLibraries(const std::vector<std::string> &before, const std::string &torch) {
    std::error_code error;
    const fs::path self = fs::read_symlink("/proc/self/exe", error);
    const std::string module = (self.parent_path() / "lockstep-trainer-cuda.so").string();
    if (!fs::exists(module, error) || !::dlopen(module.c_str(), RTLD_LAZY | RTLD_LOCAL))
        return {};
    std::vector<std::string> all = loadedLibraries(), named = loadedByName(all, torch);
    all.insert(all.end(), named.begin(), named.end());
    std::set<std::string> known(before.begin(), before.end());
    std::erase_if(all, [&](const std::string &name) { return !known.insert(name).second; });
    return all;
}

} // namespace

std::string trainerFactsJson() {
    const std::vector<std::string> libraries = loadedLibraries();
    const std::string torch = torchFolderOf(libraries);
    std::error_code error;
    nlohmann::ordered_json json = {{"version", LOCKSTEP_VERSION},
                                   {"program", fs::read_symlink("/proc/self/exe", error).string()},
                                   {"torch", torchVersionIn(torch)},
                                   {"torch_folder", torch},
                                   {"libraries", libraries}};
    json["nccl"] = ncclVersion(torch);
    // Takes seconds for gigabytes of libraries, so only when they are packed.
    if (const char *all = std::getenv("LOCKSTEP_FACTS"); all && std::string(all) == "cuda")
        json["cuda_libraries"] = cudaLibraries(libraries, torch);
    return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

} // namespace lockstep::trainer

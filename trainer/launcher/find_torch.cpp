// SPDX-License-Identifier: MIT
#include "trainer/launcher/find_torch.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "ipc/python_guard.h"
#include "ipc/run_folder.h"
#include "trainer/launcher/torch_version.h"

namespace lockstep::trainer {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view supported = LOCKSTEP_TORCH_SUPPORTED; ///< "2.11": the line it was built for

/// find_spec of a name without a dot imports nothing, so it takes milliseconds.
const std::string askPython =
    "python3 -c '" + pythonGuard +
    "import importlib.util as u; s = u.find_spec(\"torch\"); "
    "print(s.submodule_search_locations[0] if s and s.origin else \"\")' 2>/dev/null </dev/null";

std::string torchFolder(const std::string &place) {
    for (const std::string &candidate : {place, place + "/torch"})
        if (fs::exists(candidate + "/lib/libtorch_cpu.so"))
            return candidate;
    return {};
}

/// Why the PyTorch in this folder can't be used; empty if it can.
std::string unfit(const std::string &torch) {
    const std::string read = torchVersionIn(torch), version = read.empty() ? "of an unknown version" : read;
    if (!version.starts_with(std::string(supported) + "."))
        return "PyTorch " + version + " in " + torch + " is not " + std::string(supported);
    return {};
}

std::string environmentTorch(const std::string &environment) {
    std::error_code error;
    for (const auto &entry : fs::directory_iterator(environment + "/lib", error))
        if (const std::string torch = torchFolder((entry.path() / "site-packages").string()); !torch.empty())
            return torch;
    return {};
}

} // namespace

TorchPlaces torchPlaces() {
    TorchPlaces places;
    places.own = dataHome() + "/" LOCKSTEP_TORCH_SYNCED;
    places.synced = dataHome() + "/sync/" LOCKSTEP_TORCH_SYNCED "/current";
    places.syncedFirst = fs::exists(dataHome() + "/sync/" LOCKSTEP_TORCH_SYNCED "/prefer");
    if (const char *named = std::getenv("LOCKSTEP_TORCH"); named && *named) {
        places.named = named;
        return places;
    }
    if (std::FILE *pipe = ::popen(askPython.c_str(), "r")) {
        char buffer[4096];
        const std::size_t size = std::fread(buffer, 1, sizeof buffer, pipe);
        ::pclose(pipe);
        const std::string_view text(buffer, size);
        places.imported = text.substr(0, text.find('\n'));
    }
    return places;
}

Result<std::string> findTorch(const TorchPlaces &places) {
    const std::string setUp = "run " LOCKSTEP_SETUP_TORCH;
    if (!places.named.empty()) {
        const std::string torch = torchFolder(places.named);
        const std::string why =
            torch.empty() ? places.named + " holds no torch with lib/libtorch_cpu.so" : unfit(torch);
        if (why.empty())
            return torch;
        return fail(Error::badArgument(
            why, "name the folder of a PyTorch " + std::string(supported) + ", or unset it and " + setUp,
            "LOCKSTEP_TORCH"));
    }
    const std::string synced = places.synced.empty() ? "" : torchFolder(places.synced);
    const bool syncedFits = !synced.empty() && unfit(synced).empty();
    if (syncedFits && places.syncedFirst)
        return synced;
    std::string why = "python3 imports none";
    if (const std::string torch = places.imported.empty() ? "" : torchFolder(places.imported); !torch.empty()) {
        why = unfit(torch);
        if (why.empty())
            return torch;
    }
    std::string own = places.own + " has none";
    if (const std::string torch = environmentTorch(places.own); !torch.empty()) {
        own = unfit(torch);
        if (own.empty())
            return torch;
    }
    if (syncedFits)
        return synced;
    return fail(Error::badArgument("no PyTorch " + std::string(supported) + " was found: " + why + ", and " + own,
                                   setUp + ", or name the folder of one in LOCKSTEP_TORCH"));
}

std::vector<std::string> libraryFolders(const std::string &torch) {
    std::vector<std::string> folders = {torch + "/lib"};
    std::error_code error;
    for (const auto &entry : fs::directory_iterator(fs::path(torch).parent_path() / "nvidia", error))
        if (fs::is_directory(entry.path() / "lib"))
            folders.push_back((entry.path() / "lib").string());
    std::sort(folders.begin() + 1, folders.end());
    // conda: PREFIX/lib/python3.N/site-packages/torch, with CUDA's libraries in PREFIX/lib.
    const fs::path shared = fs::path(torch).parent_path().parent_path().parent_path();
    for (const auto &entry : fs::directory_iterator(shared, error))
        if (entry.path().filename().string().starts_with("libcudart.so")) {
            folders.push_back(shared.string());
            break;
        }
    return folders;
}

} // namespace lockstep::trainer

// SPDX-License-Identifier: MIT
// The program that is installed as lockstep-trainer. It finds PyTorch's libraries, sets the library path, and calls
// exec on the real trainer in ../libexec/lockstep. A dynamic linker cannot search the places that findTorch() searches.
// With exec, its parent (agent, torchrun, srun) sees one process from start to end.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <unistd.h>

#include "trainer/engine/arguments.h"
#include "trainer/launcher/find_torch.h"

using namespace lockstep;
using namespace lockstep::trainer;

namespace {

constexpr std::string_view line = "line"; ///< value of LOCKSTEP_FACTS that asks only for the line of PyTorch

int refuse(const Error &error) {
    std::fprintf(stderr, "lockstep-trainer: %s\n", error.message().c_str());
    return exitBadArguments;
}

void setLibraryPath(const std::vector<std::string> &folders) {
    std::string path;
    for (const std::string &folder : folders)
        path += (path.empty() ? "" : ":") + folder;
    if (const char *before = std::getenv("LD_LIBRARY_PATH"); before && *before)
        path += ":" + std::string(before);
    ::setenv("LD_LIBRARY_PATH", path.c_str(), 1);
}

} // namespace

int main(int argc, char **argv) {
    const auto arguments = readArguments({argv + 1, argv + argc});
    if (arguments && !arguments->text.empty()) { // these options need no PyTorch
        std::cout << arguments->text;
        return exitDone;
    }
    if (const char *asked = std::getenv("LOCKSTEP_FACTS"); arguments && arguments->facts && asked && asked == line) {
        std::cout << R"({"version":")" LOCKSTEP_VERSION R"(","line":")" LOCKSTEP_TORCH_SUPPORTED "\"}" << std::endl;
        return exitDone; // the line that it was built for; this needs no PyTorch either
    }
    std::error_code error;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
    const std::string program = (self.parent_path().parent_path() / LOCKSTEP_LIBEXEC / "lockstep-trainer").string();
    if (::access(program.c_str(), X_OK) != 0)
        return refuse(Error::badArgument(program + " can't be run: " + std::strerror(errno), "install Lockstep again"));
    const auto torch = findTorch(torchPlaces());
    if (!torch)
        return refuse(torch.error());
    std::vector<std::string> folders = libraryFolders(*torch);
    if (const auto brought = self.parent_path().parent_path() / "lib/lockstep";
        std::filesystem::is_directory(brought, error))
        folders.push_back(brought.string()); // copied by a sync; searched after torch's own folders
    setLibraryPath(folders);
    ::execv(program.c_str(), argv);
    return refuse(Error::system(program + " can't be run", errno, "install Lockstep again"));
}

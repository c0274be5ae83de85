#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/error.h"
#include "nodes/local_lines.h"

namespace lockstep::core {

/// One file that travels: where it lies here, and where under the bundle's folder it goes.
struct SyncFile {
    std::string path;   ///< relative, plain characters
    std::string source; ///< absolute
    std::string sha256;
    std::int64_t bytes = 0;
    bool executable = false;
};

/// Files that are switched together: "programs", "torch", "data-mnist".
struct SyncBundle {
    std::string name;
    std::vector<SyncFile> files; ///< sorted by path
    [[nodiscard]] std::int64_t bytes() const;
    /// As `sha256sum -c` reads it: a line a file.
    [[nodiscard]] std::string manifest() const;
    /// 16 hex digits of the manifest's sha256: the same files have the same version.
    [[nodiscard]] std::string version() const;
};

/// Reads and hashes the files (bytes, sha256, executable are filled in), sorts them, refuses paths that leave the folder or
/// hold anything but letters, digits and ._+-/. Blocks: about 2 s a gigabyte.
[[nodiscard]] Result<SyncBundle> makeBundle(std::string name, std::vector<SyncFile> files);

/// What a trainer of this machine runs with (`lockstep-trainer --facts`); no folder where its PyTorch is not here.
struct LocalTrainer {
    std::string agent, program, torchVersion, torchFolder;
    std::vector<std::string> libraries, cudaLibraries;
};
/// What the line said of itself; with `cuda` the trainer is asked once more, for what GPUs want, which takes seconds.
[[nodiscard]] Result<LocalTrainer> localTrainer(const LocalLine &line, bool cuda);

/// Agent, launcher, trainer, its Python files, lockstepctl (so that a queue may live there) and the libraries they need that are
/// neither glibc's nor torch's. In one bundle, so that lockstepctl never meets an agent of another version.
[[nodiscard]] Result<SyncBundle> programBundle(const LocalTrainer &trainer);
/// The libraries of torch that the trainer loads: those for CPU devices, and with `cuda` all.
[[nodiscard]] Result<SyncBundle> torchBundle(const LocalTrainer &trainer, bool cuda);
/// A data set's files from where they lie here.
[[nodiscard]] Result<SyncBundle> dataBundle(const std::string &dataset);

/// The newest glibc that a file asks for, "2.34"; empty when it is no such program.
[[nodiscard]] std::string neededGlibc(const std::string &file);
[[nodiscard]] std::string neededGlibc(const SyncBundle &bundle);
/// -1, 0, 1 by dotted numbers: "2.9" is older than "2.34".
[[nodiscard]] int compareVersions(std::string_view a, std::string_view b);

} // namespace lockstep::core

// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/error.h"
#include "nodes/local_lines.h"

class QFile;

namespace lockstep::core {

/// One file to copy: its path here, and its path in the bundle's folder.
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
    /// As `sha256sum -c` reads it: one line per file.
    [[nodiscard]] std::string manifest() const;
    /// 16 hex digits of the manifest's sha256: the same files have the same version.
    [[nodiscard]] std::string version() const;
};

/// SHA-256 of a file's next bytes, as hex; empty if there are fewer or they can't be read.
[[nodiscard]] std::string sha256OfNext(QFile &source, std::int64_t bytes);

/// Reads, hashes and sorts the files (fills in bytes, sha256, executable). Refuses paths that leave the folder or
/// contain anything but letters, digits and ._+-/. Blocks: 0.6 s per gigabyte that the system has in memory.
[[nodiscard]] Result<SyncBundle> makeBundle(std::string name, std::vector<SyncFile> files);

/// The PyTorch of a trainer on this machine (`lockstep-trainer --facts`); no folder if that PyTorch is not here.
struct LocalTrainer {
    std::string agent, program, torchVersion, torchFolder;
    std::vector<std::string> libraries, cudaLibraries;
};
/// From the line's facts. With `cuda` the trainer runs once more to report what GPUs need, which takes seconds.
[[nodiscard]] Result<LocalTrainer> localTrainer(const LocalLine &line, bool cuda);

/// Agent, launcher, trainer, its Python files, lockstepctl (to run queues there) and the libraries they need that are
/// neither glibc's nor torch's. One bundle, so that lockstepctl never meets an agent of another version.
[[nodiscard]] Result<SyncBundle> programBundle(const LocalTrainer &trainer);
/// The libraries of torch that the trainer loads: those for CPU devices, and with `cuda` all.
[[nodiscard]] Result<SyncBundle> torchBundle(const LocalTrainer &trainer, bool cuda);
/// A data set's files from their folder here.
[[nodiscard]] Result<SyncBundle> dataBundle(const std::string &dataset);

/// The newest glibc that a file needs, "2.34"; empty if it needs none.
[[nodiscard]] std::string neededGlibc(const std::string &file);
[[nodiscard]] std::string neededGlibc(const SyncBundle &bundle);
/// -1, 0, 1 by dotted numbers: "2.9" is older than "2.34".
[[nodiscard]] int compareVersions(std::string_view a, std::string_view b);

} // namespace lockstep::core

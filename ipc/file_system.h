// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "ipc/error.h"

namespace lockstep {

/// One file open for appending. Not thread safe.
class AppendFile {
public:
    virtual ~AppendFile() = default;
    /// Appends everything. After an error the file is truncated back to its length before the call, if that can be done.
    virtual Result<void> append(std::string_view bytes) = 0;
    virtual Result<void> sync() = 0; ///< fdatasync
    virtual Result<void> truncate(std::uint64_t size) = 0;
    [[nodiscard]] virtual std::uint64_t size() const = 0;
};

/// The few file operations whose failure must be testable (disk full, short write, failed fsync). Thread safe.
class FileSystem {
public:
    virtual ~FileSystem() = default;
    virtual Result<std::unique_ptr<AppendFile>> openAppend(const std::string &path) = 0; ///< creates it, 0600
    virtual Result<std::string> readAll(const std::string &path) = 0;
    /// Write to a temporary beside it, fsync, rename, fsync the folder: whole or not at all.
    virtual Result<void> writeAtomically(const std::string &path, std::string_view bytes) = 0;
    virtual Result<void> makeFolders(const std::string &path) = 0; ///< 0700 for what it creates
};

/// The real one.
[[nodiscard]] FileSystem &realFileSystem();

} // namespace lockstep

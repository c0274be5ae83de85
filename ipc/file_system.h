// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "ipc/error.h"

namespace lockstep {

/// Whether something of that name is there and can be reached. A link that leads nowhere or in circles, and what lies in a folder that
/// may not be entered, is not. Never throws, as std::filesystem does.
[[nodiscard]] bool isThere(const std::string &path);

/// Differs once the file was written, or another took its place; empty: there is none.
[[nodiscard]] std::string fileStamp(const std::string &path);

/// A file that is open for appending. Not thread safe.
class AppendFile {
public:
    virtual ~AppendFile() = default;
    /// Appends everything. After an error the file is truncated back to its old length, if possible.
    virtual Result<void> append(std::string_view bytes) = 0;
    virtual Result<void> sync() = 0; ///< fdatasync
    virtual Result<void> truncate(std::uint64_t size) = 0;
    [[nodiscard]] virtual std::uint64_t size() const = 0;
};

/// What a document may hold at most; logs, traces and parameters may hold more.
inline constexpr std::uint64_t largestDocument = 64 * 1024 * 1024, anySize = UINT64_MAX;
/// The same of a document of a few names: who controls an experiment, where a run or a queue is.
inline constexpr std::uint64_t largestShortDocument = 64 * 1024;

/// The file operations whose failures tests must be able to cause (full disk, short write, failed fsync). Thread safe.
class FileSystem {
public:
    virtual ~FileSystem() = default;
    virtual Result<std::unique_ptr<AppendFile>> openAppend(const std::string &path) = 0; ///< creates it with mode 0600
    /// Of a regular file of at most `largest` bytes: a pipe, a device or a folder in its place is an error, and never waited for.
    virtual Result<std::string> readAll(const std::string &path, std::uint64_t largest = largestDocument) = 0;
    /// Writes a temporary file beside it, syncs and renames it, and syncs the folder: the new content is there in full
    /// or not at all.
    virtual Result<void> writeAtomically(const std::string &path, std::string_view bytes) = 0;
    virtual Result<void> makeFolders(const std::string &path) = 0; ///< creates folders with mode 0700
};

/// Removes what writeAtomically() left in `folder` where its process was killed: the temporary files of names that begin with
/// `prefix`, if their process is gone on this host or is this one, which must not be writing them now. What can't be removed
/// stays.
void removeLeftTemporaries(const std::string &folder, std::string_view prefix);

/// The operating system's file system.
[[nodiscard]] FileSystem &realFileSystem();

} // namespace lockstep

// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "ipc/file_system.h"

namespace lockstep::test {

/// Real files behind a disk that misbehaves on request, and that remembers what has been synced, so that a power loss can
/// be shown.
class FaultyFileSystem final : public FileSystem {
public:
    std::int64_t freeBytes = -1; ///< what still fits; -1: no limit
    int failAppend = 0;          ///< the n-th append from now fails (1: the next); 0: none
    std::size_t shortBytes = 0;  ///< so many bytes of a failing append reach the file
    bool failTruncate = false;   ///< and can't be taken back
    int failSync = 0;            ///< the n-th sync from now fails, and the pages are lost
    int appends = 0, syncs = 0;

    /// What a power loss may leave: what was synced, and some of what was not, the rest missing or zeros.
    void losePower(const std::function<std::size_t(std::size_t below)> &random);

    Result<std::unique_ptr<AppendFile>> openAppend(const std::string &path) override;
    Result<std::string> readAll(const std::string &path, std::uint64_t largest) override {
        return realFileSystem().readAll(path, largest);
    }
    Result<void> writeAtomically(const std::string &path, std::string_view bytes) override {
        return realFileSystem().writeAtomically(path, bytes);
    }
    Result<void> makeFolders(const std::string &path) override { return realFileSystem().makeFolders(path); }

private:
    class File;
    std::string m_path;
    std::uint64_t m_synced = 0;
};

} // namespace lockstep::test

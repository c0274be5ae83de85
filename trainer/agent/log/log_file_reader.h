// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep::agent {

/// Reads old lines from the files of logs, on a thread of its own ("lockstep-reader"): a disk that does not answer makes
/// those wait who want old lines, and nobody else. All calls from one thread; none waits for the disk.
class LogFileReader {
public:
    /// A log's file. The first read opens it, since another node's file may be created late.
    class File;
    struct Lines {
        std::string text;                      ///< whole lines with their newlines
        std::uint64_t nextSeq = 0, offset = 0; ///< of the line after them: its number, its place in the file
        bool found = false;                    ///< false: the file does not have these lines yet
    };

    LogFileReader();
    ~LogFileReader(); ///< leaves the thread behind if that waits for the disk
    LogFileReader(const LogFileReader &) = delete;
    LogFileReader &operator=(const LogFileReader &) = delete;

    [[nodiscard]] std::shared_ptr<File> file(std::string path) const;
    /// About `maxBytes` of lines from number `nextSeq` on. `offset`: where to look for it, at the start of a line.
    [[nodiscard]] std::future<Lines> read(std::shared_ptr<File> file, std::uint64_t nextSeq, std::uint64_t offset,
                                          std::size_t maxBytes);

    /// Becomes readable when lines were found, for the loop of those who wait for them.
    [[nodiscard]] int foundFd() const;
    void clearFound() const; ///< until lines are found again

private:
    struct State; ///< shared with the thread, which may outlive this
    std::shared_ptr<State> m_state;
};

/// The seq of a sealed line; absent when the line is not sealed.
[[nodiscard]] std::optional<std::uint64_t> seqOfSealedLine(std::string_view line);

} // namespace lockstep::agent

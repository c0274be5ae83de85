// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "ipc/unix_socket.h"
#include "trainer/agent/log/log_disk.h"
#include "trainer/agent/net/event_loop.h"

namespace lockstep::agent {

/// Reads one rank's console. Writes all bytes to console/rank-R.log, and passes whole lines on at a bounded rate.
class ConsoleTap {
public:
    enum class Stream { Out, Err };
    using OnLine = std::function<void(Stream, std::string_view line)>;
    static constexpr int linesPerSecond = 200;

    /// `onLine` gets valid UTF-8 without escape sequences, at most 4 KiB per line. Above linesPerSecond it gets one
    /// line that counts those left out. `onEvery` gets every line. Both are called on the loop's thread.
    ConsoleTap(EventLoop &loop, LogDisk &disk, std::string path, Fd out, Fd err, OnLine onLine, OnLine onEvery);
    ~ConsoleTap();
    ConsoleTap(const ConsoleTap &) = delete;
    ConsoleTap &operator=(const ConsoleTap &) = delete;

    void drain();  ///< reads what is available now
    void finish(); ///< drains, passes on unfinished lines, and stops reading
    /// Adds to the file a line that came another way: the trainer's log frames. What the process printed before stands before it.
    void appendText(std::string_view line);

    /// The last line that may say why the process ends: it has a letter or a digit, and is no warning. Without blanks around it.
    [[nodiscard]] const std::string &lastErrorLine() const { return m_last.errorLine; } ///< of stderr
    [[nodiscard]] const std::string &lastLine() const { return m_last.line; }           ///< of stdout or stderr
    [[nodiscard]] std::int64_t lastErrorNs() const { return m_last.errorNs; }           ///< CLOCK_MONOTONIC; 0: none

private:
    struct Source {
        Stream stream;
        Fd fd;
        EventLoop::Token token = 0;
        std::string partial;
    };
    /// Reads once; false at the end or when nothing waits.
    bool readOnce(Source &source);
    void take(Source &source, std::string_view bytes);
    void takeLine(Stream stream, std::string_view raw);
    void noteWords(Stream stream, const std::string &line);
    void close(Source &source);
    void flushLeftOut();

    EventLoop &m_loop;
    std::string m_path;
    LogDisk &m_disk;
    std::shared_ptr<LogDisk::Text> m_file;
    Source m_out, m_err;
    OnLine m_onLine, m_onEvery;
    EventLoop::Token m_timer = 0;
    int m_linesThisSecond = 0;
    std::uint64_t m_leftOut = 0;
    struct LastWords {
        std::string errorLine, line;
        std::int64_t errorNs = 0;
    };
    LastWords m_last;
    std::optional<LastWords> m_beforeWarning; ///< until the source line with which a warning's text ends
};

/// Makes valid UTF-8: invalid bytes become U+FFFD, and what is not printable() beyond ASCII; escape sequences and ASCII's control
/// characters are removed. Of a line that carriage returns redraw, the last version is kept.
[[nodiscard]] std::string cleanLine(std::string_view raw);
/// Whether a clean line is a warning as Python's module warnings prints it ("FILE:3: UserWarning: …", of which the next line may be the
/// source) or as PyTorch's log does ("[W1130 …", "[rank1]:[W1130 …", "W1130 …").
[[nodiscard]] bool isWarning(std::string_view line);

} // namespace lockstep::agent

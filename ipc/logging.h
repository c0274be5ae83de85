// SPDX-License-Identifier: MIT
#pragma once
// The only logger of every program. spdlog is hidden behind this header, since it does not compile beside torch's fmt.
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep {

enum class LogLevel { Debug, Info, Warning, Error };
[[nodiscard]] std::string_view toString(LogLevel level); ///< debug, info, warning, error

struct LoggingOptions {
    std::string program;           ///< shown in each line
    std::optional<int> rank, node; ///< shown in each line if set
    LogLevel level = LogLevel::Info;
    bool toStderr = true;
    /// Also log to this file; empty: none. Where it can't be written, or a link or a pipe is in its place, the log goes to stderr
    /// and begins with why.
    std::string file;
    /// Also call this function, on the thread that logs. It makes `log` frames.
    std::function<void(LogLevel, std::string_view)> sink;
};

/// Sets up the process's logger. Call it first in main, and again to change it. Thread safe against log().
void setUpLogging(const LoggingOptions &options);
void log(LogLevel level, std::string_view message);
inline void logDebug(std::string_view message) {
    log(LogLevel::Debug, message);
}
inline void logInfo(std::string_view message) {
    log(LogLevel::Info, message);
}
inline void logWarning(std::string_view message) {
    log(LogLevel::Warning, message);
}
inline void logError(std::string_view message) {
    log(LogLevel::Error, message);
}

} // namespace lockstep

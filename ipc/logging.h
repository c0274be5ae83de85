// SPDX-License-Identifier: MIT
#pragma once
// Every program's only logger. spdlog stays behind this header: it does not compile beside torch's fmt.
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep {

enum class LogLevel { Debug, Info, Warning, Error };
[[nodiscard]] std::string_view toString(LogLevel level); ///< debug, info, warning, error

struct LoggingOptions {
    std::string program;           ///< in the pattern
    std::optional<int> rank, node; ///< in the pattern when set
    LogLevel level = LogLevel::Info;
    bool toStderr = true;
    std::string file; ///< also to this file when not empty
    /// Also to this function (the sink that makes `log` frames); called on the logging thread.
    std::function<void(LogLevel, std::string_view)> sink;
};

/// Sets the process's logger up; call it first in main and again to change it. Thread safe against log().
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

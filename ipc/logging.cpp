// SPDX-License-Identifier: MIT
#include "ipc/logging.h"

#include <fcntl.h>
#include <unistd.h>

#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <cerrno>
#include <memory>
#include <mutex>
#include <utility>

#include "ipc/printable.h"
#include "ipc/regular_file.h"

namespace lockstep {

namespace {

spdlog::level::level_enum spdlogLevel(LogLevel level) {
    switch (level) {
    case LogLevel::Debug:
        return spdlog::level::debug;
    case LogLevel::Info:
        return spdlog::level::info;
    case LogLevel::Warning:
        return spdlog::level::warn;
    case LogLevel::Error:
        return spdlog::level::err;
    }
    return spdlog::level::info;
}

LogLevel fromSpdlog(spdlog::level::level_enum level) {
    if (level >= spdlog::level::err)
        return LogLevel::Error;
    if (level == spdlog::level::warn)
        return LogLevel::Warning;
    return level == spdlog::level::info ? LogLevel::Info : LogLevel::Debug;
}

/// Passes each message, without the pattern, to a function.
class FunctionSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
public:
    explicit FunctionSink(std::function<void(LogLevel, std::string_view)> function) : m_function(std::move(function)) {}

protected:
    void sink_it_(const spdlog::details::log_msg &message) override {
        // A sink that logs something itself (e.g. that it can't send) must not be called for that.
        thread_local bool inside = false;
        if (inside)
            return;
        inside = true;
        m_function(fromSpdlog(message.level), std::string_view(message.payload.data(), message.payload.size()));
        inside = false;
    }
    void flush_() override {}

private:
    std::function<void(LogLevel, std::string_view)> m_function;
};

/// Writes into an open file. spdlog's own sink opens a file by its path, whatever lies there.
class OpenFileSink final : public spdlog::sinks::base_sink<std::mutex> {
public:
    explicit OpenFileSink(Fd file) : m_file(std::move(file)) {}

protected:
    void sink_it_(const spdlog::details::log_msg &message) override {
        spdlog::memory_buf_t line;
        formatter_->format(message, line);
        std::string_view left(line.data(), line.size());
        while (!left.empty()) {
            const ssize_t n = ::write(m_file.get(), left.data(), left.size());
            if (n > 0)
                left.remove_prefix(static_cast<std::size_t>(n));
            else if (n == 0 || errno != EINTR)
                return; // a full disk must not end a run
        }
    }
    void flush_() override {}

private:
    Fd m_file;
};

std::string pattern(const LoggingOptions &options) {
    std::string head = options.program;
    if (options.node)
        head += " node " + std::to_string(*options.node);
    if (options.rank)
        head += " rank " + std::to_string(*options.rank);
    std::string escaped;
    for (const char c : head)
        escaped += c == '%' ? std::string("%%") : std::string(1, c);
    return "%Y-%m-%d %H:%M:%S.%e %L " + escaped + ": %v";
}

std::mutex loggerMutex;
std::shared_ptr<spdlog::logger> logger; // guarded by loggerMutex

std::shared_ptr<spdlog::logger> currentLogger() {
    const std::lock_guard guard(loggerMutex);
    if (!logger)
        logger = std::make_shared<spdlog::logger>("", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    return logger;
}

} // namespace

std::string_view toString(LogLevel level) {
    switch (level) {
    case LogLevel::Debug:
        return "debug";
    case LogLevel::Info:
        return "info";
    case LogLevel::Warning:
        return "warning";
    case LogLevel::Error:
        return "error";
    }
    return "info";
}

void setUpLogging(const LoggingOptions &options) {
    std::vector<spdlog::sink_ptr> sinks;
    std::string fileError;
    if (options.toStderr)
        sinks.push_back(std::make_shared<spdlog::sinks::stderr_sink_mt>());
    if (!options.file.empty()) {
        if (Result<Fd> file = openToWrite(options.file, O_WRONLY | O_APPEND)) {
            sinks.push_back(std::make_shared<OpenFileSink>(std::move(*file)));
        } else {
            fileError = file.error().message();
            if (!options.toStderr)
                sinks.push_back(std::make_shared<spdlog::sinks::stderr_sink_mt>());
        }
    }
    for (const auto &sink : sinks)
        sink->set_pattern(pattern(options));
    if (options.sink)
        sinks.push_back(std::make_shared<FunctionSink>(options.sink));
    auto fresh = std::make_shared<spdlog::logger>(options.program, sinks.begin(), sinks.end());
    fresh->set_level(spdlogLevel(options.level));
    fresh->flush_on(spdlog::level::debug);                // so that nothing is lost if the process is killed
    fresh->set_error_handler([](const std::string &) {}); // a full disk must not end a run
    {
        const std::lock_guard guard(loggerMutex);
        logger = std::move(fresh);
    }
    if (!fileError.empty())
        logWarning("can't log to " + options.file + ", so this log goes to stderr: " + fileError);
}

void log(LogLevel level, std::string_view message) {
    const std::string shown = printable(message); // it may quote what others say, and goes to a terminal
    // Passed as text, never as a format string.
    currentLogger()->log(spdlogLevel(level), spdlog::string_view_t(shown.data(), shown.size()));
}

} // namespace lockstep

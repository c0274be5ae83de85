// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <tl/expected.hpp>

namespace lockstep {

enum class ErrorKind { BadArgument, Failed };

/// One sentence about one failure: what went wrong, with its value, and what to do about it.
struct Error {
    std::string what;   ///< "batch size 63 can't be divided among 2 ranks"
    std::string wayOut; ///< "use 62 or 64"; may be empty
    ErrorKind kind = ErrorKind::Failed;
    std::string where; ///< the key, option, or file and line that the error is about; may be empty

    /// "where: what; wayOut" on one line, without a newline.
    [[nodiscard]] std::string message() const;

    static Error badArgument(std::string what, std::string wayOut = {}, std::string where = {});
    static Error failed(std::string what, std::string wayOut = {}, std::string where = {});
    /// Appends strerror(errnoValue) to `what`.
    static Error system(std::string what, int errnoValue, std::string wayOut = {});
};

template <class T = void> using Result = tl::expected<T, Error>;

/// Exit codes of all our programs.
inline constexpr int exitDone = 0, exitFailed = 1, exitBadArguments = 2, exitStopped = 130;
[[nodiscard]] inline int exitCodeOf(const Error &error) {
    return error.kind == ErrorKind::BadArgument ? exitBadArguments : exitFailed;
}

inline tl::unexpected<Error> fail(Error error) {
    return tl::unexpected<Error>(std::move(error));
}

} // namespace lockstep

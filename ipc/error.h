// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <tl/expected.hpp>

namespace lockstep {

/// What kind of failure it is.
enum class ErrorKind { BadArgument, Failed };

/// One clear sentence about one failure: what went wrong (naming the thing and the value) and the way out.
struct Error {
    std::string what;   ///< "batch size 63 can't be divided among 2 ranks"
    std::string wayOut; ///< "use 62 or 64"; may be empty
    ErrorKind kind = ErrorKind::Failed;
    std::string where; ///< key, flag, or file and line the error belongs to; may be empty

    /// "where: what; wayOut" as one line without a newline.
    [[nodiscard]] std::string message() const;

    static Error badArgument(std::string what, std::string wayOut = {}, std::string where = {});
    static Error failed(std::string what, std::string wayOut = {}, std::string where = {});
    /// Appends strerror(errnoValue) to `what`.
    static Error system(std::string what, int errnoValue, std::string wayOut = {});
};

template <class T = void> using Result = tl::expected<T, Error>;

/// How each of our programs ends.
inline constexpr int exitDone = 0, exitFailed = 1, exitBadArguments = 2, exitStopped = 130;
[[nodiscard]] inline int exitCodeOf(const Error &error) {
    return error.kind == ErrorKind::BadArgument ? exitBadArguments : exitFailed;
}

inline tl::unexpected<Error> fail(Error error) {
    return tl::unexpected<Error>(std::move(error));
}

} // namespace lockstep

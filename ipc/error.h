#pragma once
#include <string>
#include <tl/expected.hpp>

namespace lockstep {

/// What kind of failure it is; programs turn it into an exit code (bad argument 2, failed 1).
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

inline tl::unexpected<Error> fail(Error error) {
    return tl::unexpected<Error>(std::move(error));
}

} // namespace lockstep

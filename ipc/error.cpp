// SPDX-License-Identifier: MIT
#include "ipc/error.h"

#include <cstring>
#include <system_error>

namespace lockstep {

std::string Error::message() const {
    std::string text;
    if (!where.empty())
        text += where + ": ";
    text += what;
    if (!wayOut.empty())
        text += "; " + wayOut;
    for (char &c : text)
        if (c == '\n' || c == '\r')
            c = ' ';
    return text;
}

Error Error::badArgument(std::string what, std::string wayOut, std::string where) {
    return Error{std::move(what), std::move(wayOut), ErrorKind::BadArgument, std::move(where)};
}

Error Error::failed(std::string what, std::string wayOut, std::string where) {
    return Error{std::move(what), std::move(wayOut), ErrorKind::Failed, std::move(where)};
}

Error Error::system(std::string what, int errnoValue, std::string wayOut) {
    // std::generic_category is thread safe, strerror is not.
    return failed(std::move(what) + ": " + std::generic_category().message(errnoValue), std::move(wayOut));
}

} // namespace lockstep

// SPDX-License-Identifier: MIT
#include "output.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include <unistd.h>

#include <nlohmann/json.hpp>
#include <QSysInfo>

#include "base/format.h"
#include "base/whole_file.h"
#include "commands.h"
#include "ipc/printable.h"

namespace lockstep::cli {
namespace {

std::size_t width(const std::string &text) {
    return std::size_t(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

constexpr std::size_t mostPadded = 400; ///< a single longer name does not widen all rows

bool printingFailed = false; ///< of print()

bool numeric(const std::string &text) {
    return text == "-" || (!text.empty() && text.find_first_not_of("0123456789.,×±+−-% s") == std::string::npos);
}

} // namespace

std::string dump(const nlohmann::ordered_json &json) {
    return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string number(std::optional<double> value) {
    return text(core::significant(value));
}

int complain(const Error &error) {
    std::fprintf(stderr, "lockstepctl: %s\n", printable(error.message()).c_str());
    return exitCodeOf(error);
}

int complain(const std::vector<Error> &errors) {
    for (const Error &error : errors)
        std::fprintf(stderr, "lockstepctl: %s\n", printable(error.message()).c_str());
    return BadArguments;
}

void print(std::string_view text) {
    const std::string shown = ::isatty(::fileno(stdout)) ? printable(text) : std::string(text);
    errno = 0;
    if (std::fwrite(shown.data(), 1, shown.size(), stdout) == shown.size() && std::fflush(stdout) == 0)
        return;
    const int why = errno;
    if (why == EPIPE || std::exchange(printingFailed, true))
        return;
    complain(Error::system("the output can't be written", why));
}

int exitCodeAfterPrinting(int exitCode) {
    return printingFailed && exitCode == Done ? int(Failed) : exitCode;
}

std::string whoAsks() {
    return "lockstepctl on " + QSysInfo::machineHostName().toStdString();
}

std::string aligned(std::vector<std::vector<std::string>> rows) {
    for (auto &row : rows)
        std::ranges::transform(row, row.begin(), onOneLine); // a line is a row
    std::vector<std::size_t> widths;
    std::vector<bool> right;
    for (std::size_t r = 0; r < rows.size(); ++r)
        for (std::size_t c = 0; c < rows[r].size(); ++c) {
            if (c >= widths.size()) {
                widths.push_back(0);
                right.push_back(true);
            }
            widths[c] = std::max(widths[c], std::min(width(rows[r][c]), mostPadded));
            if (r > 0 && !numeric(rows[r][c]))
                right[c] = false;
        }
    std::string out;
    for (const auto &row : rows) {
        std::string line;
        for (std::size_t c = 0; c < row.size(); ++c) {
            const std::string gap(widths[c] - std::min(width(row[c]), widths[c]), ' ');
            line += (c > 0 ? "  " : "") + (right[c] ? gap + row[c] : row[c] + gap);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        out += line + "\n";
    }
    return out;
}

Result<void> writeFile(const std::string &path, const std::string &text) {
    if (const std::string why = core::writeWhole(path, text); !why.empty())
        return fail(Error::badArgument(path + " can't be written: " + why, "choose another place"));
    return {};
}

} // namespace lockstep::cli

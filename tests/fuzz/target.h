// SPDX-License-Identifier: MIT
#pragma once
// What the fuzz targets share. A target is a file whose name ends in _fuzz, with LLVMFuzzerTestOneInput(): any bytes must be taken or refused, never
// crash, hang or grow. CMakeLists.txt lists them.
#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/error.h"
#include "ipc/frames.h"

namespace lockstep::fuzz {

inline void require(bool truth) {
    if (!truth)
        std::abort();
}

inline void requireOneSentence(const Error &error) {
    require(!error.message().empty() && error.message().find('\n') == std::string::npos);
}
inline void requireOneSentence(const std::vector<Error> &errors) {
    require(!errors.empty());
    for (const Error &error : errors)
        requireOneSentence(error);
}

/// What is taken is written in a form that is taken, and that no longer changes; what is refused, with a sentence.
template <class Read, class Write> void requireStable(std::string_view bytes, const Read &read, const Write &write) {
    const auto first = read(bytes);
    if (!first)
        return requireOneSentence(first.error());
    const std::string written = write(*first);
    const auto again = read(written);
    require(again.has_value());
    require(write(*again) == written);
}

/// The same of a frame. Encoding may take six bytes for one, so what outgrows the limit is not read again. Returns what was written;
/// empty: refused.
inline std::string requireFrameStable(Decoder &decoder, std::string_view line) {
    const auto frame = decoder.decode(line);
    if (!frame) {
        requireOneSentence(frame.error());
        return {};
    }
    std::string written = encode(*frame);
    if (written.size() < maxFrameBytes) {
        const auto again = decoder.decode(written);
        require(again.has_value());
        require(encode(*again) == written);
    }
    return written;
}

/// A file in memory with the input's bytes, for what reads files.
class InputFile {
public:
    explicit InputFile(std::string_view bytes) : m_path("/dev/shm/lockstep-fuzz-" + std::to_string(::getpid())) {
        const int fd = ::open(m_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        require(fd >= 0 && ::write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
        ::close(fd);
    }
    ~InputFile() { ::unlink(m_path.c_str()); }
    InputFile(const InputFile &) = delete;
    InputFile &operator=(const InputFile &) = delete;
    [[nodiscard]] const std::string &path() const { return m_path; }

private:
    std::string m_path;
};

inline std::string_view textOf(const std::uint8_t *data, std::size_t size) {
    return {reinterpret_cast<const char *>(data), size};
}

} // namespace lockstep::fuzz

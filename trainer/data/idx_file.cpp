// SPDX-License-Identifier: MIT
#include "trainer/data/idx_file.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <optional>
#include <span>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <torch/torch.h>
#include <zlib.h>

#include "ipc/sha256.h"
#include "ipc/unix_socket.h"

namespace lockstep::trainer {
namespace {

constexpr std::int64_t mostUnpackedBytes = std::int64_t{1} << 30; ///< a few packed bytes can stand for any number
constexpr std::size_t bytesAtOnce = std::size_t{1} << 18;

const char *const getAgain = "copy or download the file again";

std::string count(std::int64_t n) {
    return std::to_string(n);
}

std::int64_t bigEndian32(const std::uint8_t *p) {
    return std::int64_t{p[0]} << 24 | std::int64_t{p[1]} << 16 | std::int64_t{p[2]} << 8 | std::int64_t{p[3]};
}

std::string hex32(std::int64_t value) {
    static const char *digits = "0123456789abcdef";
    std::string text = "0x";
    for (int shift = 28; shift >= 0; shift -= 4)
        text += digits[value >> shift & 0xf];
    return text;
}

/// Takes an IDX file's unpacked bytes as they come, and keeps those of the samples that are wanted.
class IdxParser {
public:
    /// `length`: of the file, if it isn't packed.
    IdxParser(const std::string &path, int dimensions, std::int64_t limit, std::int64_t room,
              std::optional<std::int64_t> length)
        : m_dimensions(dimensions), m_limit(limit), m_room(room), m_length(length),
          m_header(4 + 4 * std::size_t(dimensions)), m_file{path, {}, {}, {}} {}

    [[nodiscard]] std::int64_t taken() const { return m_taken; }

    Result<void> add(std::span<const std::uint8_t> bytes) {
        m_taken += std::ssize(bytes);
        if (m_taken > mostUnpackedBytes)
            return refuse("it unpacks to more than " + count(mostUnpackedBytes) + " bytes");
        if (m_headerTaken < m_header.size()) {
            const auto part = bytes.first(std::min(bytes.size(), m_header.size() - m_headerTaken));
            std::ranges::copy(part, m_header.begin() + std::ptrdiff_t(m_headerTaken));
            bytes = bytes.subspan(part.size());
            if ((m_headerTaken += part.size()) < m_header.size())
                return {};
            if (auto read = readHeader(); !read)
                return read;
        }
        const auto wanted = bytes.first(std::size_t(std::min(std::ssize(bytes), m_file.data.numel() - m_kept)));
        std::ranges::copy(wanted, m_file.data.data_ptr<std::uint8_t>() + m_kept);
        m_kept += std::ssize(wanted);
        return {};
    }

    /// No more bytes follow.
    Result<IdxFile> finish() {
        if (m_headerTaken < m_header.size())
            return refuse("it is too short: " + count(m_taken) + " bytes where an IDX header takes " +
                          count(std::ssize(m_header)));
        if (auto good = checkLength(m_taken); !good)
            return fail(good.error());
        if (m_kept > 0) {
            auto sizes = m_file.sizes;
            sizes.front() = m_samples;
            m_file.data = m_file.data.view(sizes);
        }
        return std::move(m_file);
    }

private:
    [[nodiscard]] tl::unexpected<Error> refuse(std::string what, const char *way = getAgain) const {
        return fail(Error::badArgument(std::move(what), way, m_file.path));
    }

    [[nodiscard]] Result<void> checkLength(std::int64_t length) const {
        const std::int64_t found = length - std::ssize(m_header);
        if (found != m_expected)
            return refuse("its header says " + m_shape + " bytes of data, but " + count(found) + " follow");
        return {};
    }

    Result<void> readHeader() {
        const std::int64_t expected = 0x0800 + m_dimensions, magic = bigEndian32(m_header.data());
        if (magic != expected)
            return refuse("its magic number is " + hex32(magic) + ", expected " + hex32(expected),
                          "give MNIST's IDX files (images idx3, labels idx1, unsigned bytes)");
        std::int64_t sampleBytes = 1;
        for (int i = 0; i < m_dimensions; ++i) {
            const std::int64_t size = bigEndian32(m_header.data() + 4 + 4 * i);
            m_file.sizes.push_back(size);
            m_shape += (i ? "x" : "") + count(size);
            // Clamped, here and below: four sizes of 32 bits overflow 64.
            sampleBytes = i == 0 ? 1 : std::min(sampleBytes * size, mostUnpackedBytes + 1);
        }
        const std::int64_t samples = m_file.sizes.front();
        m_expected = std::min(samples * sampleBytes, mostUnpackedBytes + 1);
        if (m_length)
            if (auto good = checkLength(*m_length); !good)
                return good;
        m_samples = m_limit > 0 ? std::min(m_limit, samples) : samples;
        const std::int64_t bytes = m_samples * sampleBytes;
        if (bytes > m_room)
            return refuse(count(m_samples) + " of its samples (" + m_shape + " in all) take more than " +
                              count(m_room) + " bytes" +
                              (m_room < mostSampleBytes ? ", which the training samples leave of the " +
                                                              count(mostSampleBytes) + " that both may take"
                                                        : ""),
                          "ask for fewer with --train-samples and --test-samples, or give a smaller file");
        m_file.data = torch::empty({bytes}, torch::kUInt8);
        return {};
    }

    const int m_dimensions;
    const std::int64_t m_limit; ///< of samples; 0: all
    const std::int64_t m_room;  ///< bytes of samples
    const std::optional<std::int64_t> m_length;
    std::vector<std::uint8_t> m_header;
    std::size_t m_headerTaken = 0;
    std::string m_shape; ///< as the header has it: "60000x28x28"
    std::int64_t m_taken = 0, m_expected = 0, m_samples = 0, m_kept = 0;
    IdxFile m_file;
};

/// Unpacks a gzip file's bytes as they come.
class Unpacker {
public:
    explicit Unpacker(const std::string &path) : m_path(path) {}
    ~Unpacker() { inflateEnd(&m_stream); }
    Unpacker(const Unpacker &) = delete;
    Unpacker &operator=(const Unpacker &) = delete;

    Result<void> add(std::span<std::uint8_t> packed, IdxParser &into) {
        if (!m_ready)
            return fail(Error::failed("zlib can't start", "free some memory", m_path));
        m_stream.next_in = packed.data();
        m_stream.avail_in = static_cast<uInt>(packed.size());
        bool more = true;
        while (more) {
            if (m_ended)
                inflateReset(&m_stream); // a gzip file may have several members
            m_stream.next_out = m_out.data();
            m_stream.avail_out = static_cast<uInt>(m_out.size());
            const int code = inflate(&m_stream, Z_NO_FLUSH);
            m_ended = code == Z_STREAM_END;
            if (auto added = into.add(std::span(m_out).first(m_out.size() - m_stream.avail_out)); !added)
                return added;
            if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) // the last: it waits for more bytes
                return fail(Error::badArgument("its gzip data is damaged after " + count(into.taken()) +
                                                   " unpacked bytes (" + (m_stream.msg ? m_stream.msg : "unknown") +
                                                   ")",
                                               getAgain, m_path));
            more = m_stream.avail_in > 0 || (m_stream.avail_out == 0 && !m_ended);
        }
        return {};
    }

    /// No more bytes follow.
    [[nodiscard]] Result<void> finish(const IdxParser &into) const {
        if (!m_ended)
            return fail(Error::badArgument(
                "its gzip data is torn: it ends after " + count(into.taken()) + " unpacked bytes", getAgain, m_path));
        return {};
    }

private:
    const std::string &m_path;
    z_stream m_stream{};
    bool m_ready = inflateInit2(&m_stream, 15 + 16) == Z_OK; // 16: gzip header and its CRC
    bool m_ended = false;                                    ///< a member of the file
    std::vector<std::uint8_t> m_out = std::vector<std::uint8_t>(bytesAtOnce);
};

/// A file to be read from its beginning to its end.
class FileBytes {
public:
    explicit FileBytes(const std::string &path) : m_path(path) {}

    Result<void> open() {
        m_fd =
            Fd(::open(m_path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)); // a pipe opens at once, and is refused below
        struct stat info {};
        if (!m_fd.valid() || ::fstat(m_fd.get(), &info) != 0) {
            auto error = Error::system("can't read it", errno, "give a readable file");
            error.kind = ErrorKind::BadArgument;
            error.where = m_path;
            return fail(error);
        }
        if (!S_ISREG(info.st_mode))
            return fail(Error::badArgument("it is no ordinary file", "give a folder that holds the IDX files", m_path));
        if (info.st_size > mostUnpackedBytes)
            return fail(Error::badArgument("it holds " + count(info.st_size) + " bytes, and at most " +
                                               count(mostUnpackedBytes) + " are read",
                                           getAgain, m_path));
        m_length = info.st_size;
        return {};
    }

    [[nodiscard]] std::int64_t length() const { return m_length; }

    /// The next bytes, good until the next call; none at the end.
    Result<std::span<std::uint8_t>> next() {
        const auto wanted = std::min(m_length - m_done, std::ssize(m_bytes));
        std::int64_t got = 0;
        while (got < wanted) {
            const auto more = ::read(m_fd.get(), m_bytes.data() + got, static_cast<std::size_t>(wanted - got));
            if (more < 0 && errno == EINTR)
                continue;
            if (more < 0)
                return fail(Error::system("can't read " + m_path, errno));
            if (more == 0) // the file shrank while it was read
                return fail(Error::badArgument(
                    "it ended after " + count(m_done + got) + " of " + count(m_length) + " bytes", getAgain, m_path));
            got += more;
        }
        m_done += got;
        return std::span(m_bytes).first(static_cast<std::size_t>(got));
    }

private:
    const std::string &m_path;
    Fd m_fd;
    std::int64_t m_length = 0, m_done = 0;
    std::vector<std::uint8_t> m_bytes = std::vector<std::uint8_t>(bytesAtOnce);
};

bool isGzip(std::span<const std::uint8_t> bytes) {
    return bytes.size() >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

Result<IdxFile> readFound(const std::string &path, int dimensions, std::int64_t limit, std::int64_t room) {
    FileBytes file(path);
    if (auto opened = file.open(); !opened)
        return fail(opened.error());
    auto bytes = file.next();
    if (!bytes)
        return fail(bytes.error());
    const bool packed = isGzip(*bytes);
    IdxParser parser(path, dimensions, limit, room, packed ? std::nullopt : std::optional(file.length()));
    Unpacker unpacker(path);
    Sha256 sha256;
    while (!bytes->empty()) {
        sha256.add({reinterpret_cast<const char *>(bytes->data()), bytes->size()});
        if (auto added = packed ? unpacker.add(*bytes, parser) : parser.add(*bytes); !added)
            return fail(added.error());
        if (bytes = file.next(); !bytes)
            return fail(bytes.error());
    }
    if (auto whole = packed ? unpacker.finish(parser) : Result<void>(); !whole)
        return fail(whole.error());
    auto idx = parser.finish();
    if (idx)
        idx->sha256 = sha256.hex();
    return idx;
}

} // namespace

Result<IdxFile> readIdx(const std::string &path, int dimensions, std::int64_t limit, std::int64_t room) {
    std::string found = path;
    if (::access(found.c_str(), F_OK) != 0 && ::access((found += ".gz").c_str(), F_OK) != 0)
        return fail(Error::badArgument(path + " is missing, packed (.gz) or not"));
    return readFound(found, dimensions, limit, room);
}

} // namespace lockstep::trainer

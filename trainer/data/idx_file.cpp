// SPDX-License-Identifier: MIT
#include "trainer/data/idx_file.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <torch/torch.h>
#include <zlib.h>

#include "ipc/sha256.h"
#include "ipc/unix_socket.h"

namespace lockstep::trainer {
namespace {

constexpr std::int64_t maxUnpackedBytes = std::int64_t{1} << 30; // a damaged length must not use up the memory

const char *const getAgain = "copy or download the file again";

std::string count(std::int64_t n) {
    return std::to_string(n);
}

Result<torch::Tensor> readWhole(const std::string &path) {
    Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)); // a pipe opens at once, and is refused below
    struct stat info {};
    if (!fd.valid() || ::fstat(fd.get(), &info) != 0) {
        auto error = Error::system("can't read it", errno, "give a readable file");
        error.kind = ErrorKind::BadArgument;
        error.where = path;
        return fail(error);
    }
    if (!S_ISREG(info.st_mode))
        return fail(Error::badArgument("it is no ordinary file", "give a folder that holds the IDX files", path));
    if (info.st_size > maxUnpackedBytes)
        return fail(Error::badArgument("it holds " + count(info.st_size) + " bytes, more than any IDX file read here",
                                       getAgain, path));
    auto bytes = torch::empty({info.st_size}, torch::kUInt8);
    std::int64_t done = 0;
    while (done < info.st_size) {
        const auto got = ::read(fd.get(), bytes.data_ptr<std::uint8_t>() + done, info.st_size - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail(Error::system("can't read " + path, errno));
        if (got == 0) // the file shrank while it was read
            return fail(Error::badArgument("it ended after " + count(done) + " of " + count(info.st_size) + " bytes",
                                           getAgain, path));
        done += got;
    }
    return bytes;
}

bool isGzip(const torch::Tensor &bytes) {
    const auto *p = bytes.const_data_ptr<std::uint8_t>();
    return bytes.numel() >= 2 && p[0] == 0x1f && p[1] == 0x8b;
}

/// The unpacked length that a gzip file states in its last four bytes: only a hint, it may be wrong.
std::int64_t claimedLength(const torch::Tensor &bytes) {
    const auto n = bytes.numel();
    if (n < 18)
        return 4096;
    const auto *p = bytes.const_data_ptr<std::uint8_t>() + n - 4;
    const auto claimed =
        std::int64_t{p[0]} | std::int64_t{p[1]} << 8 | std::int64_t{p[2]} << 16 | std::int64_t{p[3]} << 24;
    return std::clamp<std::int64_t>(claimed, 4096, 4096 + n * 40); // IDX pixels never pack forty to one
}

/// Ends zlib's stream on every return path.
struct Inflater {
    z_stream stream{};
    bool ready = inflateInit2(&stream, 15 + 16) == Z_OK; // 16: gzip header and its CRC
    ~Inflater() { inflateEnd(&stream); }
};

Result<torch::Tensor> unpack(const std::string &path, const torch::Tensor &packed) {
    Inflater inflater;
    if (!inflater.ready)
        return fail(Error::failed("zlib can't start", "free some memory", path));
    auto &stream = inflater.stream;
    auto out = torch::empty({claimedLength(packed)}, torch::kUInt8);
    stream.next_in = const_cast<Bytef *>(packed.const_data_ptr<std::uint8_t>()); // zlib only reads it
    stream.avail_in = static_cast<uInt>(packed.numel());
    std::int64_t done = 0;
    for (;;) {
        if (done == out.numel())
            out = torch::cat({out, torch::empty({out.numel()}, torch::kUInt8)});
        stream.next_out = out.data_ptr<std::uint8_t>() + done;
        stream.avail_out = static_cast<uInt>(out.numel() - done);
        const int code = inflate(&stream, Z_NO_FLUSH);
        done = out.numel() - stream.avail_out;
        if (code == Z_STREAM_END) {
            if (stream.avail_in == 0)
                return out.narrow(0, 0, done);
            inflateReset(&stream); // a gzip file may have several members
        } else if (code == Z_BUF_ERROR || (code == Z_OK && stream.avail_in == 0 && stream.avail_out > 0)) {
            return fail(Error::badArgument("its gzip data is torn: it ends after " + count(done) + " unpacked bytes",
                                           getAgain, path));
        } else if (code != Z_OK) {
            return fail(Error::badArgument("its gzip data is damaged after " + count(done) + " unpacked bytes (" +
                                               (stream.msg ? stream.msg : "unknown") + ")",
                                           getAgain, path));
        }
        if (done > maxUnpackedBytes)
            return fail(
                Error::badArgument("it unpacks to more than " + count(maxUnpackedBytes) + " bytes", getAgain, path));
    }
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

Result<IdxFile> parse(const std::string &path, const torch::Tensor &bytes, int dimensions) {
    const std::int64_t headerBytes = 4 + 4 * dimensions;
    const auto *p = bytes.const_data_ptr<std::uint8_t>();
    if (bytes.numel() < headerBytes)
        return fail(Error::badArgument("it is too short: " + count(bytes.numel()) +
                                           " bytes where an IDX header takes " + count(headerBytes),
                                       getAgain, path));
    const std::int64_t expected = 0x0800 + dimensions, magic = bigEndian32(p);
    if (magic != expected)
        return fail(Error::badArgument("its magic number is " + hex32(magic) + ", expected " + hex32(expected),
                                       "give MNIST's IDX files (images idx3, labels idx1, unsigned bytes)", path));
    IdxFile file{path, {}, {}, {}};
    std::int64_t expectedBytes = 1;
    std::string shape;
    for (int i = 0; i < dimensions; ++i) {
        file.sizes.push_back(bigEndian32(p + 4 + 4 * i));
        shape += (i ? "x" : "") + count(file.sizes.back());
        // Clamped: four sizes of 32 bits overflow 64.
        expectedBytes = std::min(expectedBytes * file.sizes.back(), maxUnpackedBytes + 1);
    }
    const auto found = bytes.numel() - headerBytes;
    if (found != expectedBytes)
        return fail(Error::badArgument("its header says " + shape + " bytes of data, but " + count(found) + " follow",
                                       getAgain, path));
    file.data = bytes.narrow(0, headerBytes, found).view(file.sizes);
    return file;
}

} // namespace

Result<IdxFile> readIdx(const std::string &path, int dimensions) {
    std::string found = path;
    if (::access(found.c_str(), F_OK) != 0 && ::access((found += ".gz").c_str(), F_OK) != 0)
        return fail(Error::badArgument(path + " is missing, packed (.gz) or not"));
    auto bytes = readWhole(found);
    if (!bytes)
        return fail(bytes.error());
    const std::string sha256 = sha256Hex({reinterpret_cast<const char *>(bytes->const_data_ptr<std::uint8_t>()),
                                          static_cast<std::size_t>(bytes->numel())});
    if (isGzip(*bytes)) {
        bytes = unpack(found, *bytes);
        if (!bytes)
            return fail(bytes.error());
    }
    auto file = parse(found, *bytes, dimensions);
    if (file)
        file->sha256 = sha256;
    return file;
}

} // namespace lockstep::trainer

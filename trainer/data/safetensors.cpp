// SPDX-License-Identifier: MIT
#include "trainer/data/safetensors.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>
#include <torch/torch.h>

#include "ipc/file_system.h"
#include "ipc/regular_file.h"
#include "ipc/sha256.h"

namespace lockstep::trainer {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::uint64_t maxHeaderBytes = 100'000'000;
constexpr std::size_t mostTensors = 100'000, mostMetadata = 10'000; ///< of a file
constexpr std::size_t mostDimensions = 64;                          ///< that torch computes with

struct DtypeName {
    const char *name;
    torch::Dtype dtype;
};
constexpr DtypeName dtypeNames[] = {{"F64", torch::kFloat64}, {"F32", torch::kFloat32}, {"I64", torch::kInt64},
                                    {"I32", torch::kInt32},   {"U8", torch::kUInt8},    {"BOOL", torch::kBool}};

/// The range of one tensor in the data.
struct Entry {
    std::string name;
    torch::Dtype dtype;
    std::vector<std::int64_t> shape;
    std::uint64_t begin, end;
};

tl::unexpected<Error> damaged(const std::string &path, std::string what) {
    return fail(Error::badArgument(std::move(what), "give a whole safetensors file", path));
}

std::string numberText(std::uint64_t n) {
    return std::to_string(n);
}

Error tooMany(const std::string &path, std::size_t most, const std::string &what) {
    return Error::badArgument("its header has more than the " + numberText(most) + " " + what + " that are allowed",
                              "give a file of fewer", path);
}

/// Bytes of a tensor of that shape, or nothing when they don't fit 62 bits. Torch multiplies the sizes for its strides also where one
/// of them is 0 and the tensor has no bytes.
std::optional<std::uint64_t> bytesOf(const std::vector<std::int64_t> &shape, std::size_t itemBytes) {
    unsigned __int128 bytes = itemBytes;
    bool empty = false;
    for (const auto size : shape) {
        empty = empty || size == 0;
        bytes *= static_cast<std::uint64_t>(std::max<std::int64_t>(size, 1));
        if (bytes > (std::uint64_t{1} << 62))
            return std::nullopt;
    }
    return empty ? 0 : static_cast<std::uint64_t>(bytes);
}

/// A list as a header has it: its whole numbers, as far as they can be of any use.
struct Numbers {
    std::vector<std::uint64_t> first;
    bool others = false; ///< something else is in it, too
    bool more = false;
};

/// What a header says of one tensor. Absent: it says nothing of that type.
struct Described {
    std::optional<std::string> dtype;
    std::optional<Numbers> shape, offsets;
    bool hasDtype = false, hasShape = false, hasOffsets = false;
};

Result<Entry> entryOf(const std::string &path, const std::string &name, const Described &said) {
    const auto bad = [&](const std::string &what) { return damaged(path, "tensor '" + name + "' " + what); };
    if (!said.hasDtype || !said.hasShape || !said.hasOffsets)
        return bad("lacks dtype, shape or data_offsets");
    if (!said.dtype || !said.shape || !said.offsets)
        return bad("has a dtype, shape or data_offsets of the wrong type");
    const auto *known = std::find_if(std::begin(dtypeNames), std::end(dtypeNames),
                                     [&](const DtypeName &d) { return *said.dtype == d.name; });
    if (known == std::end(dtypeNames))
        return bad("has dtype " + *said.dtype + ", known are F64 F32 I64 I32 U8 BOOL");
    Entry entry{name, known->dtype, {}, 0, 0};
    for (const auto size : said.shape->first) {
        if (size > (std::uint64_t{1} << 48))
            return bad("has a shape that is no list of sizes");
        entry.shape.push_back(static_cast<std::int64_t>(size));
    }
    if (said.shape->others)
        return bad("has a shape that is no list of sizes");
    if (said.shape->more)
        return bad("has more than " + numberText(mostDimensions) + " dimensions");
    if (said.offsets->others || said.offsets->first.size() != 2)
        return bad("has data_offsets that are no two numbers");
    entry.begin = said.offsets->first[0];
    entry.end = said.offsets->first[1];
    if (entry.begin > entry.end)
        return bad("has data_offsets that end before they begin");
    const auto bytes = bytesOf(entry.shape, c10::elementSize(entry.dtype));
    if (!bytes || *bytes != entry.end - entry.begin)
        return bad("has " + numberText(entry.end - entry.begin) + " bytes of data, its shape and dtype need " +
                   (bytes ? numberText(*bytes) : "more than any file holds"));
    return entry;
}

/// Every byte of the data belongs to exactly one tensor, as the format demands: the entries' numbers, in the data's order.
Result<std::vector<std::size_t>> checkLayout(const std::string &path, const std::vector<Entry> &entries,
                                             std::uint64_t dataBytes) {
    std::vector<std::size_t> order(entries.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {},
                             [&](std::size_t number) { return std::pair(entries[number].begin, entries[number].end); });
    std::uint64_t at = 0;
    for (const std::size_t number : order) {
        const Entry &entry = entries[number];
        if (entry.end > dataBytes)
            return damaged(path, "tensor '" + entry.name + "' ends at byte " + numberText(entry.end) +
                                     " of the data, but the file holds " + numberText(dataBytes));
        if (entry.begin < at)
            return damaged(path, "tensor '" + entry.name + "' overlaps the one before it");
        if (entry.begin > at)
            return damaged(path, "there is a hole of " + numberText(entry.begin - at) + " bytes before tensor '" +
                                     entry.name + "'");
        at = entry.end;
    }
    if (at != dataBytes)
        return damaged(path, numberText(dataBytes - at) + " bytes at the end belong to no tensor");
    return order;
}

/// Takes the header while it is parsed, and keeps nothing else of it: as a value of JSON, 100 MB of keys would take hours, for each new
/// key is compared with all before it, and many times their memory.
class HeaderParser final : public nlohmann::json_sax<Json> {
public:
    HeaderParser(const std::string &path, TensorFile &file) : m_path(path), m_file(file) {}

    /// The tensors, in the header's order; the strings of `__metadata__` are the file's from now on.
    Result<std::vector<Entry>> parse(std::string_view text) {
        if (!Json::sax_parse(text.begin(), text.end(), this))
            return fail(*m_error);
        std::vector<std::string_view> names;
        for (const Entry &entry : m_entries)
            names.push_back(entry.name);
        std::sort(names.begin(), names.end());
        if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end())
            return damaged(m_path, "tensor '" + std::string(*twice) + "' is there twice");
        return std::move(m_entries);
    }

    bool null() override { return unexpected(); }
    bool boolean(bool) override { return unexpected(); }
    bool number_integer(Json::number_integer_t) override { return unexpected(); }
    bool number_float(Json::number_float_t, const std::string &) override { return unexpected(); }
    bool binary(Json::binary_t &) override { return unexpected(); }
    bool number_unsigned(Json::number_unsigned_t number) override {
        if (!m_list || m_depth != inList)
            return unexpected();
        if (m_list->first.size() < mostDimensions)
            m_list->first.push_back(number);
        else
            m_list->more = true;
        return true;
    }
    bool string(std::string &text) override {
        if (m_depth == inTensor && m_isMetadata)
            m_file.metadata[m_field] = std::move(text);
        else if (m_depth == inTensor && m_field == "dtype")
            m_said.dtype = std::move(text);
        else
            return unexpected();
        return true;
    }
    bool start_object(std::size_t) override {
        if (m_depth >= inTensor && !unexpected())
            return false;
        ++m_depth;
        return true;
    }
    bool start_array(std::size_t) override {
        if (m_depth == inTensor && !m_isMetadata && m_field == "shape")
            m_list = &m_said.shape.emplace();
        else if (m_depth == inTensor && !m_isMetadata && m_field == "data_offsets")
            m_list = &m_said.offsets.emplace();
        else if (!unexpected())
            return false;
        ++m_depth;
        return true;
    }
    bool key(std::string &text) override {
        if (m_depth == inHeader)
            return beginPart(std::move(text));
        if (m_depth == inTensor) {
            m_field = std::move(text);
            if (m_isMetadata && m_file.metadata.size() == mostMetadata)
                return refuse(tooMany(m_path, mostMetadata, "entries of __metadata__"));
            if (m_field == "dtype") { // of a key that is given twice the last counts
                m_said.hasDtype = true;
                m_said.dtype.reset();
            } else if (m_field == "shape") {
                m_said.hasShape = true;
                m_said.shape.reset();
            } else if (m_field == "data_offsets") {
                m_said.hasOffsets = true;
                m_said.offsets.reset();
            }
        }
        return true;
    }
    bool end_object() override {
        if (--m_depth != inHeader || m_isMetadata)
            return true;
        auto entry = entryOf(m_path, m_name, m_said);
        if (!entry)
            return refuse(std::move(entry.error()));
        m_entries.push_back(std::move(*entry));
        return true;
    }
    bool end_array() override {
        if (--m_depth == inTensor)
            m_list = nullptr;
        return true;
    }
    bool parse_error(std::size_t, const std::string &, const nlohmann::detail::exception &) override {
        return refuse(noObject());
    }

private:
    static constexpr std::size_t inHeader = 1, inTensor = 2, inList = 3; ///< how many objects and lists are open

    Error noObject() const { return damaged(m_path, "its header is no JSON object").value(); }
    bool refuse(Error error) {
        m_error = std::move(error);
        return false;
    }
    bool beginPart(std::string name) {
        m_name = std::move(name);
        m_isMetadata = m_name == "__metadata__";
        m_said = Described();
        if (m_isMetadata && std::exchange(m_hadMetadata, true))
            return refuse(damaged(m_path, "its __metadata__ is there twice").value());
        if (!m_isMetadata && m_entries.size() == mostTensors)
            return refuse(tooMany(m_path, mostTensors, "tensors"));
        return true;
    }
    /// A value of a type that is of no use where it stands.
    bool unexpected() {
        if (m_depth < inHeader)
            return refuse(noObject());
        if (m_depth == inHeader && m_isMetadata)
            return refuse(damaged(m_path, "its __metadata__ is no JSON object").value());
        if (m_depth == inHeader)
            return refuse(entryOf(m_path, m_name, {}).error());
        if (m_depth == inTensor && m_isMetadata)
            return refuse(damaged(m_path, "its __metadata__ '" + m_field + "' is no string").value());
        if (m_list)
            m_list->others = true;
        return true;
    }

    const std::string &m_path;
    TensorFile &m_file;
    std::vector<Entry> m_entries;
    std::optional<Error> m_error;
    std::size_t m_depth = 0;
    std::string m_name, m_field; ///< the keys under way, of the header and of a tensor or the metadata
    Described m_said;
    Numbers *m_list = nullptr; ///< that is open
    bool m_isMetadata = false, m_hadMetadata = false;
};

std::string_view dtypeName(torch::Dtype dtype) {
    for (const auto &known : dtypeNames)
        if (known.dtype == dtype)
            return known.name;
    return {};
}

constexpr const char *digestKey = "lockstep_sha256";
constexpr std::size_t digestLength = 64;

/// The digest's position in the header's text; 0: none. Inside a string the quotes would be escaped, so this finds the key.
std::size_t placeOfDigest(std::string_view header) {
    const std::string before = std::string("\"") + digestKey + "\":\"";
    const auto found = header.find(before);
    return found == std::string_view::npos || header.size() - found - before.size() < digestLength
               ? 0
               : found + before.size();
}

/// A file to be read from its beginning on, and how long it is.
struct OpenFile {
    Fd fd;
    const std::string &path;
    std::uint64_t length = 0;

    static Result<OpenFile> open(const std::string &path) {
        auto fd = openRegular(path);
        struct stat status {};
        if (!fd || ::fstat(fd->get(), &status) != 0) {
            Error error = fd ? Error::system("can't read " + path, errno) : fd.error();
            error.kind = ErrorKind::BadArgument;
            return fail(error);
        }
        return OpenFile{std::move(*fd), path, static_cast<std::uint64_t>(status.st_size)};
    }

    /// Its next bytes.
    Result<void> read(void *into, std::uint64_t bytes) const {
        for (auto *at = static_cast<char *>(into); bytes > 0;) {
            const ssize_t got = ::read(fd.get(), at, bytes);
            if (got < 0 && errno == EINTR)
                continue;
            if (got < 0)
                return damaged(path, std::string("it can't be read: ") + std::strerror(errno));
            if (got == 0)
                return damaged(path, "it was cut while it was read");
            at += got;
            bytes -= static_cast<std::uint64_t>(got);
        }
        return {};
    }
};

/// What a sealed file says, and that of its bytes so far.
struct Seal {
    std::string digest;
    Sha256 own;
};

/// Takes the digest out of the metadata; nothing: the file isn't sealed. Its own begins with the header, zeros in the digest's place.
Result<std::optional<Seal>> beginSeal(const std::string &path, std::string lengthAndHeader, TensorFile &file) {
    const auto found = file.metadata.find(digestKey);
    if (found == file.metadata.end())
        return std::optional<Seal>();
    const std::size_t at = placeOfDigest(std::string_view(lengthAndHeader).substr(8));
    if (at == 0 || found->second.size() != digestLength)
        return damaged(path, "its sha256 is no digest");
    std::optional<Seal> seal(Seal{std::move(found->second), {}});
    file.metadata.erase(found);
    file.sealed = true;
    lengthAndHeader.replace(8 + at, digestLength, digestLength, '0');
    seal->own.add(lengthAndHeader);
    return seal;
}

} // namespace

Result<TensorFile> readTensors(const std::string &path, const std::function<Result<void>(const TensorFile &)> &judge) {
    const auto opened = OpenFile::open(path);
    if (!opened)
        return fail(opened.error());
    if (opened->length < 8)
        return damaged(path, "it is no safetensors file: " + numberText(opened->length) + " bytes");
    std::string header(8, '\0'); // its length first
    if (auto read = opened->read(header.data(), 8); !read)
        return fail(read.error());
    std::uint64_t headerBytes = 0; // little-endian on disk, as on every machine LibTorch runs on
    std::memcpy(&headerBytes, header.data(), 8);
    const std::uint64_t rest = opened->length - 8;
    if (headerBytes > maxHeaderBytes)
        return damaged(path, "its header claims " + numberText(headerBytes) + " bytes, at most " +
                                 numberText(maxHeaderBytes) + " are allowed");
    if (headerBytes > rest)
        return damaged(path, "it is torn: its header claims " + numberText(headerBytes) + " bytes, " +
                                 numberText(rest) + " follow");
    header.resize(8 + headerBytes);
    if (auto read = opened->read(header.data() + 8, headerBytes); !read)
        return fail(read.error());
    TensorFile file;
    auto parsed = HeaderParser(path, file).parse(std::string_view(header).substr(8));
    if (!parsed)
        return fail(parsed.error());
    const auto order = checkLayout(path, *parsed, rest - headerBytes);
    if (!order)
        return fail(order.error());
    auto sealed = beginSeal(path, std::move(header), file);
    if (!sealed)
        return fail(sealed.error());
    if (auto good = judge ? judge(file) : Result<void>(); !good)
        return fail(good.error());
    // Only now is memory taken for the data: a sparse file of a few bytes may be longer than any memory.
    std::optional<Seal> &seal = *sealed;
    for (const Entry &entry : *parsed)
        file.tensors.emplace_back(entry.name, torch::empty(entry.shape, entry.dtype));
    for (const std::size_t next : *order) {
        auto &tensor = file.tensors[next].second;
        auto *bytes = static_cast<char *>(tensor.data_ptr());
        if (auto read = opened->read(bytes, tensor.nbytes()); !read)
            return fail(read.error());
        if (seal)
            seal->own.add({bytes, tensor.nbytes()});
    }
    if (const std::string own = seal ? seal->own.hex() : std::string(); seal && own != seal->digest)
        return damaged(path, "its bytes have changed since it was written: it says sha256 " +
                                 seal->digest.substr(0, 12) + "…, they give " + own.substr(0, 12) + "…");
    return file;
}

Result<void> writeTensors(const std::string &path, const TensorFile &file) {
    if (file.tensors.size() > mostTensors) // nobody could read it again
        return fail(Error::failed(numberText(file.tensors.size()) +
                                      " tensors can't be written into one file: at most " + numberText(mostTensors) +
                                      " are allowed",
                                  "use a model of fewer", path));
    Json header = Json::object();
    if (!file.metadata.empty())
        header["__metadata__"] = file.metadata;
    if (file.sealed)
        header["__metadata__"][digestKey] = std::string(digestLength, '0');
    std::vector<torch::Tensor> tensors;
    std::uint64_t at = 0;
    for (const auto &[name, tensor] : file.tensors) {
        const auto dtype = dtypeName(tensor.scalar_type());
        if (dtype.empty() || name == "__metadata__" || header.contains(name))
            return fail(Error::failed("tensor '" + name + "' can't be written: its dtype or name is not allowed",
                                      "use distinct names and F64, F32, I64, I32, U8 or BOOL", path));
        tensors.push_back(tensor.detach().to(torch::kCPU).contiguous());
        header[name] = {
            {"dtype", dtype}, {"shape", tensor.sizes().vec()}, {"data_offsets", {at, at + tensor.nbytes()}}};
        at += tensor.nbytes();
    }
    auto text = header.dump();
    text.append((8 - text.size() % 8) % 8, ' '); // keeps the data aligned, as the reference writer does
    std::string bytes(8, '\0');
    const std::uint64_t headerBytes = text.size();
    std::memcpy(bytes.data(), &headerBytes, 8);
    bytes.reserve(8 + text.size() + at);
    bytes += text;
    for (const auto &tensor : tensors)
        bytes.append(static_cast<const char *>(tensor.const_data_ptr()), tensor.nbytes());
    if (file.sealed)
        bytes.replace(8 + placeOfDigest(text), digestLength, sha256Hex(bytes));
    return realFileSystem().writeAtomically(path, bytes);
}

} // namespace lockstep::trainer

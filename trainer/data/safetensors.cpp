// SPDX-License-Identifier: MIT
#include "trainer/data/safetensors.h"

#include <algorithm>
#include <cstring>
#include <set>

#include <nlohmann/json.hpp>
#include <torch/torch.h>

#include "ipc/file_system.h"
#include "ipc/sha256.h"

namespace lockstep::trainer {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::uint64_t maxHeaderBytes = 100'000'000;

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

/// Bytes of a tensor of that shape, or nothing when they don't fit 62 bits.
std::optional<std::uint64_t> bytesOf(const std::vector<std::int64_t> &shape, std::size_t itemBytes) {
    unsigned __int128 bytes = itemBytes;
    for (const auto size : shape) {
        bytes *= static_cast<std::uint64_t>(size);
        if (bytes > (std::uint64_t{1} << 62))
            return std::nullopt;
    }
    return static_cast<std::uint64_t>(bytes);
}

Result<Entry> parseEntry(const std::string &path, const std::string &name, const Json &value) {
    const auto bad = [&](const std::string &what) { return damaged(path, "tensor '" + name + "' " + what); };
    if (!value.is_object() || !value.contains("dtype") || !value.contains("shape") || !value.contains("data_offsets"))
        return bad("lacks dtype, shape or data_offsets");
    if (!value["dtype"].is_string() || !value["shape"].is_array() || !value["data_offsets"].is_array())
        return bad("has a dtype, shape or data_offsets of the wrong type");
    const auto dtypeText = value["dtype"].get<std::string>();
    const auto *known = std::find_if(std::begin(dtypeNames), std::end(dtypeNames),
                                     [&](const DtypeName &d) { return dtypeText == d.name; });
    if (known == std::end(dtypeNames))
        return bad("has dtype " + dtypeText + ", known are F64 F32 I64 I32 U8 BOOL");
    Entry entry{name, known->dtype, {}, 0, 0};
    for (const auto &size : value["shape"]) {
        if (!size.is_number_unsigned() || size.get<std::uint64_t>() > (std::uint64_t{1} << 48))
            return bad("has a shape that is no list of sizes");
        entry.shape.push_back(size.get<std::int64_t>());
    }
    const auto &offsets = value["data_offsets"];
    if (offsets.size() != 2 || !offsets[0].is_number_unsigned() || !offsets[1].is_number_unsigned())
        return bad("has data_offsets that are no two numbers");
    entry.begin = offsets[0].get<std::uint64_t>();
    entry.end = offsets[1].get<std::uint64_t>();
    if (entry.begin > entry.end)
        return bad("has data_offsets that end before they begin");
    const auto bytes = bytesOf(entry.shape, c10::elementSize(entry.dtype));
    if (!bytes || *bytes != entry.end - entry.begin)
        return bad("has " + numberText(entry.end - entry.begin) + " bytes of data, its shape and dtype need " +
                   (bytes ? numberText(*bytes) : "more than any file holds"));
    return entry;
}

/// Every byte of the data belongs to exactly one tensor, as the format demands.
Result<void> checkLayout(const std::string &path, std::vector<Entry> entries, std::uint64_t dataBytes) {
    std::stable_sort(entries.begin(), entries.end(), [](const Entry &a, const Entry &b) {
        return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
    });
    std::uint64_t at = 0;
    for (const auto &entry : entries) {
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
    return {};
}

/// Parses the header. Refuses duplicate names, which the JSON library alone would accept.
Result<Json> parseHeader(const std::string &path, std::string_view text) {
    std::set<std::string> names;
    std::string twice;
    const auto watch = [&](int depth, Json::parse_event_t event, Json &parsed) {
        if (event == Json::parse_event_t::key && depth == 1 && !names.insert(parsed.get<std::string>()).second)
            twice = parsed.get<std::string>();
        return true;
    };
    auto header = Json::parse(text, watch, false);
    if (header.is_discarded() || !header.is_object())
        return damaged(path, "its header is no JSON object");
    if (!twice.empty())
        return damaged(path, "tensor '" + twice + "' is there twice");
    return header;
}

Result<void> readMetadata(const std::string &path, const Json &value, TensorFile &file) {
    if (!value.is_object())
        return damaged(path, "its __metadata__ is no JSON object");
    for (const auto &[key, text] : value.items()) {
        if (!text.is_string())
            return damaged(path, "its __metadata__ '" + key + "' is no string");
        file.metadata[key] = text.get<std::string>();
    }
    return {};
}

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

/// Compares the digest in the file with that of its bytes, and removes it from the metadata.
Result<void> checkSeal(const std::string &path, std::string &bytes, std::string_view header, TensorFile &file) {
    const auto digest = file.metadata.find(digestKey);
    if (digest == file.metadata.end())
        return {};
    const std::size_t at = placeOfDigest(header);
    if (at == 0 || digest->second.size() != digestLength)
        return damaged(path, "its sha256 is no digest");
    bytes.replace(8 + at, digestLength, digestLength, '0');
    const std::string own = sha256Hex(bytes);
    if (own != digest->second)
        return damaged(path, "its bytes have changed since it was written: it says sha256 " +
                                 digest->second.substr(0, 12) + "…, they give " + own.substr(0, 12) + "…");
    file.metadata.erase(digest);
    file.sealed = true;
    return {};
}

} // namespace

Result<TensorFile> readTensors(const std::string &path) {
    auto bytes = realFileSystem().readAll(path, anySize);
    if (!bytes) {
        auto error = bytes.error();
        error.kind = ErrorKind::BadArgument;
        return fail(error);
    }
    if (bytes->size() < 8)
        return damaged(path, "it is no safetensors file: " + numberText(bytes->size()) + " bytes");
    std::uint64_t headerBytes = 0; // little-endian on disk, as on every machine LibTorch runs on
    std::memcpy(&headerBytes, bytes->data(), 8);
    if (headerBytes > maxHeaderBytes)
        return damaged(path, "its header claims " + numberText(headerBytes) + " bytes, at most " +
                                 numberText(maxHeaderBytes) + " are allowed");
    if (headerBytes > bytes->size() - 8)
        return damaged(path, "it is torn: its header claims " + numberText(headerBytes) + " bytes, " +
                                 numberText(bytes->size() - 8) + " follow");
    const auto header = parseHeader(path, std::string_view(*bytes).substr(8, headerBytes));
    if (!header)
        return fail(header.error());
    TensorFile file;
    std::vector<Entry> entries;
    for (const auto &[name, value] : header->items()) {
        if (name == "__metadata__") {
            if (auto good = readMetadata(path, value, file); !good)
                return fail(good.error());
            continue;
        }
        auto entry = parseEntry(path, name, value);
        if (!entry)
            return fail(entry.error());
        entries.push_back(std::move(*entry));
    }
    if (auto good = checkLayout(path, entries, bytes->size() - 8 - headerBytes); !good)
        return fail(good.error());
    if (auto good = checkSeal(path, *bytes, std::string_view(*bytes).substr(8, headerBytes), file); !good)
        return fail(good.error());
    for (const auto &entry : entries) {
        auto tensor = torch::empty(entry.shape, entry.dtype);
        if (entry.end > entry.begin)
            std::memcpy(tensor.data_ptr(), bytes->data() + 8 + headerBytes + entry.begin, entry.end - entry.begin);
        file.tensors.emplace_back(entry.name, std::move(tensor));
    }
    return file;
}

Result<void> writeTensors(const std::string &path, const TensorFile &file) {
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

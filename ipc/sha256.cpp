// SPDX-License-Identifier: MIT
#include "ipc/sha256.h"

#include <openssl/evp.h>

#include <stdexcept>

namespace lockstep {

void Sha256::Free::operator()(evp_md_ctx_st *context) const {
    EVP_MD_CTX_free(context);
}

Sha256::Sha256() : m_context(EVP_MD_CTX_new()) {
    if (!m_context || EVP_DigestInit_ex(m_context.get(), EVP_sha256(), nullptr) != 1)
        throw std::runtime_error("OpenSSL has no SHA-256 here");
}

Sha256::Sha256(Sha256 &&) noexcept = default;
Sha256 &Sha256::operator=(Sha256 &&) noexcept = default;
Sha256::~Sha256() = default;

void Sha256::add(std::string_view bytes) {
    if (EVP_DigestUpdate(m_context.get(), bytes.data(), bytes.size()) != 1)
        throw std::runtime_error("OpenSSL can't compute SHA-256");
}

Sha256::Digest Sha256::digest() const {
    Digest digest{};
    const std::unique_ptr<EVP_MD_CTX, Free> copy(EVP_MD_CTX_new());
    if (!copy || EVP_MD_CTX_copy_ex(copy.get(), m_context.get()) != 1 ||
        EVP_DigestFinal_ex(copy.get(), digest.data(), nullptr) != 1)
        throw std::runtime_error("OpenSSL can't compute SHA-256");
    return digest;
}

std::string Sha256::hex() const {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (const unsigned char byte : digest()) {
        text += digits[byte >> 4];
        text += digits[byte & 15];
    }
    return text;
}

std::string sha256Hex(std::string_view bytes) {
    Sha256 hash;
    hash.add(bytes);
    return hash.hex();
}

} // namespace lockstep

// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <memory>
#include <string>
#include <string_view>

struct evp_md_ctx_st;

namespace lockstep {

/// SHA-256 (FIPS 180-4) of bytes that come in pieces, by OpenSSL, which uses the processor's instructions for it. Throws
/// std::runtime_error where OpenSSL can't compute it, which no healthy system meets. Not thread safe.
class Sha256 {
public:
    using Digest = std::array<unsigned char, 32>;
    Sha256();
    Sha256(Sha256 &&) noexcept;
    Sha256 &operator=(Sha256 &&) noexcept;
    ~Sha256();

    void add(std::string_view bytes);
    [[nodiscard]] Digest digest() const;   ///< of what was added so far; more may follow
    [[nodiscard]] std::string hex() const; ///< the same in lower-case digits

private:
    struct Free {
        void operator()(evp_md_ctx_st *context) const;
    };
    std::unique_ptr<evp_md_ctx_st, Free> m_context;
};

[[nodiscard]] std::string sha256Hex(std::string_view bytes);

} // namespace lockstep

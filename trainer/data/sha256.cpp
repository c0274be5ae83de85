// SPDX-License-Identifier: MIT
#include <memory>
#include <stdexcept>

#include <openssl/evp.h>
#include <torch/torch.h>

#include "trainer/data/safetensors.h"

namespace lockstep::trainer {
namespace {

class Sha256 {
public:
    Sha256() : m_context(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
        if (!m_context || EVP_DigestInit_ex(m_context.get(), EVP_sha256(), nullptr) != 1)
            throw std::runtime_error("libcrypto has no SHA-256");
    }
    void add(const void *data, std::size_t bytes) { EVP_DigestUpdate(m_context.get(), data, bytes); }
    std::string hex() {
        unsigned char digest[EVP_MAX_MD_SIZE];
        unsigned length = 0;
        EVP_DigestFinal_ex(m_context.get(), digest, &length);
        static const char *digits = "0123456789abcdef";
        std::string text;
        for (unsigned i = 0; i < length; ++i) {
            text += digits[digest[i] >> 4];
            text += digits[digest[i] & 15];
        }
        return text;
    }

private:
    std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> m_context;
};

} // namespace

std::string sha256Hex(const void *data, std::size_t bytes) {
    Sha256 hash;
    hash.add(data, bytes);
    return hash.hex();
}

std::string parametersSha256(const std::vector<torch::Tensor> &parameters) {
    Sha256 hash;
    for (const auto &parameter : parameters) {
        const auto values = parameter.detach().to(torch::kCPU, torch::kFloat32).contiguous();
        hash.add(values.const_data_ptr(), values.nbytes());
    }
    return hash.hex();
}

} // namespace lockstep::trainer

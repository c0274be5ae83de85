// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <new>
#include <type_traits>
#include <vector>

#include <ATen/ops/zeros.h>
#include <torch/types.h>

namespace lockstep::trainer {

/// What c10d sends from rank to rank as one message: a header of a few numbers, then a tensor. CPU only. Both sides must agree on
/// the type and the sizes.
template <class Header> class Message {
    static constexpr std::int64_t headerBytes = 64; ///< keeps the tensor aligned
    static_assert(sizeof(Header) <= headerBytes && std::is_trivially_copyable_v<Header>);

public:
    Message(const std::vector<std::int64_t> &sizes, torch::Dtype dtype) {
        const std::int64_t whole = bytes(sizes, dtype);
        m_bytes = at::zeros({whole}, torch::kUInt8);
        m_content = m_bytes.narrow(0, headerBytes, whole - headerBytes).view(dtype).view(sizes);
        m_tensors = {m_bytes};
        new (m_bytes.data_ptr()) Header();
    }

    /// Of such a message.
    [[nodiscard]] static std::int64_t bytes(const std::vector<std::int64_t> &sizes, torch::Dtype dtype) {
        std::int64_t content = static_cast<std::int64_t>(c10::elementSize(dtype));
        for (const std::int64_t size : sizes)
            content *= size;
        return headerBytes + content;
    }
    [[nodiscard]] Header &header() { return *static_cast<Header *>(m_bytes.data_ptr()); }
    [[nodiscard]] const torch::Tensor &content() const { return m_content; }
    [[nodiscard]] std::vector<torch::Tensor> &tensors() { return m_tensors; } ///< what c10d sends

private:
    torch::Tensor m_bytes, m_content;
    std::vector<torch::Tensor> m_tensors;
};

} // namespace lockstep::trainer

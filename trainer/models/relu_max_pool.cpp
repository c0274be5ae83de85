// SPDX-License-Identifier: MIT
#include "trainer/models/relu_max_pool.h"

#include <torch/torch.h>

#include "trainer/models/pool_kernels.h"

namespace lockstep::trainer {
namespace {

class ReluMaxPool2 : public torch::autograd::Function<ReluMaxPool2> {
public:
    static torch::Tensor forward(torch::autograd::AutogradContext *context, const torch::Tensor &input) {
        const auto in = input.contiguous();
        const auto n = in.size(0), channels = in.size(1), height = in.size(2), width = in.size(3);
        auto out = torch::empty({n, channels, height / 2, width / 2}, in.options());
        auto pick = torch::empty(out.sizes(), torch::kUInt8);
        const auto rowPairs = n * channels * (height / 2);
        if (in.scalar_type() == torch::kFloat64)
            run<double>(in, out, pick, rowPairs, width);
        else
            run<float>(in, out, pick, rowPairs, width);
        context->save_for_backward({pick});
        return out;
    }

    static torch::autograd::tensor_list backward(torch::autograd::AutogradContext *context,
                                                 torch::autograd::tensor_list gradients) {
        const auto gradient = gradients[0].contiguous();
        const auto pick = context->get_saved_variables()[0];
        const auto n = gradient.size(0), channels = gradient.size(1), height = gradient.size(2),
                   width = gradient.size(3);
        auto result = torch::empty({n, channels, 2 * height, 2 * width}, gradient.options());
        const auto rowPairs = n * channels * height;
        if (gradient.scalar_type() == torch::kFloat64)
            runBack<double>(gradient, pick, result, rowPairs, 2 * width);
        else
            runBack<float>(gradient, pick, result, rowPairs, 2 * width);
        return {result};
    }

private:
    template <class T>
    static void run(const torch::Tensor &in, torch::Tensor &out, torch::Tensor &pick, std::int64_t rowPairs,
                    std::int64_t width) {
        reluMaxPool2Forward(in.const_data_ptr<T>(), out.data_ptr<T>(), pick.data_ptr<std::uint8_t>(), rowPairs, width);
    }
    template <class T>
    static void runBack(const torch::Tensor &gradient, const torch::Tensor &pick, torch::Tensor &result,
                        std::int64_t rowPairs, std::int64_t width) {
        reluMaxPool2Backward(gradient.const_data_ptr<T>(), pick.const_data_ptr<std::uint8_t>(), result.data_ptr<T>(),
                             rowPairs, width);
    }
};

} // namespace

torch::Tensor reluMaxPool2(const torch::Tensor &input) {
    const auto type = input.scalar_type();
    const bool ours = input.device().is_cpu() && input.is_contiguous() && input.dim() == 4 && input.size(2) % 2 == 0 &&
                      input.size(3) % 2 == 0 && (type == torch::kFloat32 || type == torch::kFloat64);
    return ours ? ReluMaxPool2::apply(input) : torch::max_pool2d(torch::relu(input), 2);
}

} // namespace lockstep::trainer

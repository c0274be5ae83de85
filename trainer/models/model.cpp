#include "trainer/models/model.h"

#include "trainer/models/convnet.h"
#include "trainer/models/lenet.h"

namespace lockstep::trainer {

torch::Tensor Model::drop(const torch::Tensor &input, double rate) const {
    if (!m_generator || !is_training() || rate == 0)
        return at::dropout(input, rate, is_training());
    return input * at::empty_like(input).bernoulli_(1 - rate, m_generator).div_(1 - rate);
}

Result<std::shared_ptr<Model>> makeModel(const std::string &name, std::optional<double> dropout) {
    if (dropout && !(*dropout >= 0 && *dropout < 1))
        return fail(Error::badArgument("dropout " + std::to_string(*dropout) + " is no rate",
                                       "use 0 (off) or more, below 1", "dropout"));
    if (name == "lenet")
        return std::make_shared<LeNet>();
    if (name == "convnet")
        return std::make_shared<ConvNet>(dropout);
    return fail(Error::badArgument("no model is named '" + name + "'", "use lenet or convnet", "model"));
}

} // namespace lockstep::trainer

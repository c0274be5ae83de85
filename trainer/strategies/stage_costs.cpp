// SPDX-License-Identifier: MIT
#include "trainer/strategies/stage_costs.h"

#include <algorithm>

#include "trainer/strategies/layer_costs.h"
#include "trainer/strategies/message_costs.h"

namespace lockstep::trainer {
namespace {

/// What messages of these sizes cost between this stage and the next one; of the last stage zeros. First every other pair of neighbours
/// measures, then the rest.
std::vector<double> messagesToNext(Communicator &communicator, int stages, const std::vector<std::int64_t> &bytes) {
    const int stage = communicator.rank() % stages;
    std::vector<double> seconds(bytes.size());
    for (const int first : {0, 1}) {
        const bool sends = stage % 2 == first;
        if (sends ? stage + 1 == stages : stage == 0)
            continue;
        const auto own = messageSeconds(*communicator.group(), communicator.rank() + (sends ? 1 : -1), bytes);
        if (sends)
            seconds = own;
    }
    return seconds;
}

/// All stages' numbers; of several pipelines the greatest.
std::vector<std::vector<double>> greatestByStage(Communicator &communicator, int stages,
                                                 const std::vector<double> &own) {
    const auto ofRanks = communicator.gather(own);
    std::vector<std::vector<double>> out(ofRanks.begin(), ofRanks.begin() + stages);
    for (std::size_t rank = out.size(); rank < ofRanks.size(); ++rank)
        std::ranges::transform(ofRanks[rank], out[rank % out.size()], out[rank % out.size()].begin(),
                               [](double one, double other) { return std::max(one, other); });
    return out;
}

} // namespace

CutCosts measuredCosts(Model &model, Communicator &communicator, int stages, const torch::Tensor &input, bool oneNode) {
    std::vector<double> forwardS, backwardS;
    std::vector<std::int64_t> bytes;
    for (const LayerCost &layer : layerCosts(model, input)) {
        forwardS.push_back(layer.time.forwardS);
        backwardS.push_back(layer.time.backwardS);
        bytes.push_back(layer.outputBytes);
    }
    const auto forwardOf = greatestByStage(communicator, stages, forwardS);
    const auto backwardOf = greatestByStage(communicator, stages, backwardS);
    CutCosts costs{.layers = {}, .messageS = {}, .messagesAreWork = oneNode};
    for (std::size_t stage = 0; stage < forwardOf.size(); ++stage) {
        costs.layers.emplace_back();
        for (std::size_t layer = 0; layer < bytes.size(); ++layer)
            costs.layers.back().push_back({forwardOf[stage][layer], backwardOf[stage][layer]});
    }
    costs.messageS = greatestByStage(communicator, stages, messagesToNext(communicator, stages, bytes));
    costs.messageS.pop_back(); // the last stage sends none
    return costs;
}

} // namespace lockstep::trainer

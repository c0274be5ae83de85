#include "trainer/comm/backend_choice.h"

#include <set>
#include <unistd.h>

#include "ipc/logging.h"
#include "trainer/comm/listen_socket.h"

namespace lockstep::trainer {

Result<std::string> chooseBackend(Communicator &communicator, const std::string &wanted, c10::Device device,
                                  const std::string &deviceName) {
    // Every rank asks, whatever its own device: one of several nodes may have CPU devices, and others GPUs.
    auto gpus = communicator.exchange("gpus", device.is_cuda() ? deviceName : "");
    const std::size_t ranks = gpus.size(), without = std::erase(gpus, "");
    if (without > 0) {
        const std::string some = std::to_string(without) + " of " + std::to_string(ranks) + " ranks";
        if (wanted == "nccl") {
            communicator.part();
            return fail(Error::badArgument("nccl works on GPUs, and " + (without == ranks ? "these ranks" : some) +
                                               " have CPU devices",
                                           "use gloo or auto", "--backend"));
        }
        if (without < ranks)
            logInfo("backend gloo: " + some + " have CPU devices, which nccl does not reach");
        return std::string("gloo");
    }
    const std::set<std::string> distinct(gpus.begin(), gpus.end());
    const bool enough = distinct.size() == gpus.size();
    const std::string counts = std::to_string(gpus.size()) + " ranks share " + std::to_string(distinct.size()) +
                               " GPU" + (distinct.size() == 1 ? "" : "s");
    if (wanted == "nccl" && !enough) {
        communicator.part();
        return fail(Error::badArgument("nccl takes one rank a GPU, but " + counts, "use gloo or auto", "--backend"));
    }
    if (wanted == "auto" && !enough)
        logInfo("backend gloo: " + counts + ", and nccl takes one rank a GPU");
    return wanted == "gloo" || !enough ? std::string("gloo") : std::string("nccl");
}

GlooPlace glooPlaceOf(const RankEnvironment &env, const std::string &interface) {
    if (!interface.empty())
        return {interface, {}, {}};
    if (env.localWorldSize == env.worldSize)
        return {{}, "127.0.0.1", {}};
    const std::string towards = env.masterAddress.empty() ? "" : localAddressTowards(env.masterAddress, env.masterPort);
    if (!towards.empty())
        return {{}, towards, {}};
    char name[256] = {};
    ::gethostname(name, sizeof name - 1);
    return {{}, name, {}};
}

} // namespace lockstep::trainer

#include "trainer/comm/backend_choice.h"

#include <set>
#include <unistd.h>

#include "ipc/logging.h"
#include "trainer/comm/listen_socket.h"

namespace lockstep::trainer {

Result<std::string> chooseBackend(Communicator &communicator, const std::string &wanted, c10::Device device,
                                  const std::string &deviceName) {
    if (!device.is_cuda())
        return wanted == "nccl" ? fail(Error::badArgument("nccl works on GPUs, and these ranks have CPU devices",
                                                          "use gloo or auto", "--backend"))
                                : Result<std::string>("gloo");
    const auto gpus = communicator.exchange("gpus", deviceName);
    const std::set<std::string> distinct(gpus.begin(), gpus.end());
    const bool enough = distinct.size() == gpus.size();
    const std::string counts = std::to_string(gpus.size()) + " ranks share " + std::to_string(distinct.size()) +
                               " GPU" + (distinct.size() == 1 ? "" : "s");
    if (wanted == "nccl" && !enough)
        return fail(Error::badArgument("nccl takes one rank a GPU, but " + counts, "use gloo or auto", "--backend"));
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

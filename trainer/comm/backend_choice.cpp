// SPDX-License-Identifier: MIT
#include "trainer/comm/backend_choice.h"

#include <algorithm>
#include <set>
#include <unistd.h>
#include <vector>

#include "ipc/backend_rule.h"
#include "ipc/logging.h"
#include "trainer/comm/listen_socket.h"

namespace lockstep::trainer {
namespace {

std::string someOf(const std::vector<std::string> &gpus) {
    return std::to_string(std::ranges::count(gpus, std::string())) + " of " + std::to_string(gpus.size()) + " ranks";
}

std::string countsOf(const std::vector<std::string> &gpus) {
    const std::size_t distinct = std::set<std::string>(gpus.begin(), gpus.end()).size();
    return std::to_string(gpus.size()) + " ranks share " + std::to_string(distinct) + " GPU" +
           (distinct == 1 ? "" : "s");
}

} // namespace

Result<std::string> chooseBackend(Communicator &communicator, const std::string &wanted, c10::Device device,
                                  const std::string &deviceName) {
    // Every rank takes part, whatever its own device is: some nodes may have CPU devices and others GPUs.
    const auto gpus = communicator.exchange("gpus", device.is_cuda() ? deviceName : "");
    const BackendRule possible = backendFor("auto", gpus);
    if (wanted == "nccl" && possible.name != wanted) {
        communicator.part();
        return fail(
            Error::badArgument(possible.reason == BackendReason::SharedGpu
                                   ? "nccl allows one rank per GPU, but " + countsOf(gpus)
                                   : "nccl works on GPUs, and " +
                                         (possible.reason == BackendReason::CpuDevices ? "these ranks" : someOf(gpus)) +
                                         " have CPU devices",
                               "use gloo or auto", "--backend"));
    }
    if (possible.reason == BackendReason::SomeCpuDevices)
        logInfo("backend gloo: " + someOf(gpus) + " have CPU devices, which nccl does not reach");
    if (wanted == "auto" && possible.reason == BackendReason::SharedGpu)
        logInfo("backend gloo: " + countsOf(gpus) + ", and nccl allows one rank per GPU");
    return wanted == "auto" ? possible.name : wanted;
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

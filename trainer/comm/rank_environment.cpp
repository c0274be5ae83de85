// SPDX-License-Identifier: MIT
#include "trainer/comm/rank_environment.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "ipc/launcher_variables.h"

namespace lockstep::trainer {

namespace {

Result<int> number(const char *name, const std::string &text, int least) {
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < least)
        return fail(Error::badArgument(std::string(name) + "=" + text + " is not a whole number of at least " +
                                           std::to_string(least),
                                       "unset it, or start the ranks with lockstep-agent run or torchrun"));
    return value;
}

Result<void> take(const GetEnv &get, const char *name, int least, int &into) {
    if (const auto text = get(name)) {
        const auto value = number(name, *text, least);
        if (!value)
            return fail(value.error());
        into = *value;
    }
    return {};
}

/// The host of task 0, which is the first in SLURM_STEP_NODELIST: n[1-2], n1,n2, gpu-[003,007].
std::string firstHost(const std::string &list) {
    const auto bracket = list.find('['), comma = list.find(',');
    if (bracket == std::string::npos || (comma != std::string::npos && comma < bracket))
        return list.substr(0, comma);
    const auto end = list.find_first_of(",-]", bracket);
    if (end == std::string::npos)
        return {};
    return list.substr(0, bracket) + list.substr(bracket + 1, end - bracket - 1);
}

/// The entry of a node (from 0) in SLURM_STEP_TASKS_PER_NODE, e.g. "2(x3),1".
std::optional<int> tasksOfNode(std::string_view list, int node) {
    while (!list.empty() && node >= 0) {
        const std::string_view entry = list.substr(0, list.find(','));
        list.remove_prefix(std::min(list.size(), entry.size() + 1));
        int tasks = 0, times = 1;
        const auto [end, error] = std::from_chars(entry.data(), entry.data() + entry.size(), tasks);
        if (error != std::errc())
            return std::nullopt;
        const std::string_view rest(end, entry.size() - static_cast<std::size_t>(end - entry.data()));
        if (rest.starts_with("(x"))
            std::from_chars(rest.data() + 2, rest.data() + rest.size(), times);
        if (node < times)
            return tasks;
        node -= times;
    }
    return std::nullopt;
}

/// How many tasks srun started on this node. SLURM_NTASKS_PER_NODE holds only what was requested, if anything.
void readTasksOfNode(RankEnvironment &env, const GetEnv &get) {
    int node = -1;
    if (const auto text = get("SLURM_NODEID"))
        std::from_chars(text->data(), text->data() + text->size(), node);
    if (const auto list = get("SLURM_STEP_TASKS_PER_NODE"))
        if (const auto tasks = tasksOfNode(*list, node); tasks && *tasks > env.localRank)
            env.localWorldSize = *tasks;
}

Result<void> readNumbers(RankEnvironment &env, const GetEnv &get) {
    for (const LauncherVariables &names : launcherVariables) {
        if (!get(names.rank) || !get(names.worldSize))
            continue;
        env.launched = true;
        env.launcher = names.launcher;
        if (auto ok = take(get, names.worldSize, 1, env.worldSize); !ok)
            return ok;
        if (auto ok = take(get, names.rank, 0, env.rank); !ok)
            return ok;
        env.localWorldSize = env.worldSize;
        env.localRank = env.rank;
        if (auto ok = take(get, names.localRank, 0, env.localRank); !ok)
            return ok;
        if (auto ok = take(get, names.localWorldSize, 1, env.localWorldSize); !ok)
            return ok;
        if (env.launcher == "Slurm")
            readTasksOfNode(env, get);
        if (env.rank >= env.worldSize)
            return fail(Error::badArgument(std::string(names.rank) + "=" + std::to_string(env.rank) + " is not below " +
                                               names.worldSize + "=" + std::to_string(env.worldSize),
                                           "ranks count from 0"));
        return {};
    }
    return {};
}

Result<void> readMaster(RankEnvironment &env, const GetEnv &get) {
    if (const auto address = get("MASTER_ADDR"))
        env.masterAddress = *address;
    if (auto ok = take(get, "MASTER_PORT", 1, env.masterPort); !ok)
        return ok;
    if (env.launcher == "Slurm" && env.masterAddress.empty()) {
        env.masterAddress = firstHost(get("SLURM_STEP_NODELIST").value_or(get("SLURM_NODELIST").value_or("")));
        if (env.masterPort == 0) { // the same port on every node, but different ones for different jobs
            int job = 0;
            if (auto ok = take(get, "SLURM_JOB_ID", 0, job); !ok)
                return ok;
            env.masterPort = 29500 + job % 10000;
        }
    }
    env.storeRuns = get("TORCHELASTIC_USE_AGENT_STORE").value_or("") == "True";
    if (auto ok = take(get, "TORCHELASTIC_RESTART_COUNT", 0, env.attempt); !ok)
        return ok;
    if (auto ok = take(get, "TORCHELASTIC_MAX_RESTARTS", 0, env.maxRestarts); !ok)
        return ok;
    if (const auto run = get("LOCKSTEP_RUN")) {
        int requeues = 0;
        if (auto ok = take(get, "SLURM_RESTART_COUNT", 0, requeues); !ok)
            return ok;
        env.attempt += requeues;
        env.launch = run->substr(run->rfind('-') + 1); // a requeued job's run keeps only the digits after the dash
    } else if (const auto id = get("TORCHELASTIC_RUN_ID"); id && *id != "none") // torchrun's, where it was given no id
        env.launch = *id;
    if (const auto fd = get("LOCKSTEP_MASTER_LISTEN_FD"); fd && env.rank == 0) {
        const auto value = number("LOCKSTEP_MASTER_LISTEN_FD", *fd, 0);
        if (!value)
            return fail(value.error());
        env.listenFd = *value;
    }
    return {};
}

Result<void> applyInitMethod(RankEnvironment &env, const std::string &method) {
    if (method.empty() || method == "env://")
        return {};
    env.storeRuns = false;
    env.listenFd.reset();
    if (method.starts_with("file://") && method.size() > 7) {
        env.storeFile = method.substr(7);
        return {};
    }
    const auto colon = method.rfind(':');
    if (method.starts_with("tcp://") && colon > 6) {
        const auto port = number("the port of --init-method", method.substr(colon + 1), 1);
        if (!port || *port > 65535)
            return fail(Error::badArgument("--init-method " + method + " has no port from 1 to 65535",
                                           "write tcp://HOST:PORT"));
        env.masterAddress = method.substr(6, colon - 6);
        if (env.masterAddress.starts_with('[') && env.masterAddress.ends_with(']')) // tcp://[::1]:29500
            env.masterAddress = env.masterAddress.substr(1, env.masterAddress.size() - 2);
        env.masterPort = *port;
        return {};
    }
    return fail(Error::badArgument("--init-method " + method + " is none of env://, tcp://HOST:PORT, file:///PATH",
                                   "use one of them"));
}

} // namespace

GetEnv processEnvironment() {
    return [](const char *name) -> std::optional<std::string> {
        if (const char *value = std::getenv(name); value && *value)
            return value;
        return {};
    };
}

Result<RankEnvironment> readRankEnvironment(const std::string &initMethod, const GetEnv &get) {
    RankEnvironment env;
    if (auto ok = readNumbers(env, get); !ok)
        return fail(ok.error());
    if (auto ok = readMaster(env, get); !ok)
        return fail(ok.error());
    if (auto ok = applyInitMethod(env, initMethod); !ok)
        return fail(ok.error());
    const bool hasPlace = !env.storeFile.empty() || (!env.masterAddress.empty() && env.masterPort > 0);
    if (env.worldSize > 1 && !hasPlace)
        return fail(Error::badArgument("WORLD_SIZE is " + std::to_string(env.worldSize) +
                                           " but MASTER_ADDR and MASTER_PORT don't say where the ranks meet",
                                       "set both, or start the ranks with lockstep-agent run or torchrun"));
    return env;
}

} // namespace lockstep::trainer

// SPDX-License-Identifier: MIT
#include "trainer/comm/store.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "ipc/logging.h"
#include "trainer/comm/listen_socket.h"
#include "trainer/comm/torch_compat.h"

namespace lockstep::trainer {

namespace {

int portOf(int fd) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    if (::getsockname(fd, reinterpret_cast<sockaddr *>(&address), &size) != 0)
        return 0;
    return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6 &>(address).sin6_port
                                               : reinterpret_cast<sockaddr_in &>(address).sin_port);
}

Result<Fd> listeningSocket(const RankEnvironment &env) {
    if (env.listenFd) {
        if (portOf(*env.listenFd) == 0)
            return fail(Error::badArgument("LOCKSTEP_MASTER_LISTEN_FD=" + std::to_string(*env.listenFd) +
                                               " is not a listening socket",
                                           "unset it"));
        return Fd(*env.listenFd);
    }
    bool everywhere = false;
    auto fd = listenOn(env.masterAddress, env.masterPort, everywhere);
    if (fd && everywhere)
        logWarning(env.masterAddress + " is not an address of this machine: the store listens on every address");
    return fd;
}

Result<c10::intrusive_ptr<c10d::Store>> openTcp(const RankEnvironment &env, std::chrono::milliseconds limit) {
    c10d::TCPStoreOptions options;
    options.port = static_cast<std::uint16_t>(env.masterPort);
    options.waitWorkers = false;
    options.timeout = limit;
    if (env.rank == 0 && !env.storeRuns) {
        auto fd = listeningSocket(env);
        if (!fd)
            return fail(fd.error());
        options.isServer = true;
        options.port = static_cast<std::uint16_t>(portOf(fd->get()));
        options.masterListenFd = fd->release();
        options.useLibUV = libuvTakesListener;
    }
    try {
        return c10::make_intrusive<c10d::TCPStore>(env.masterAddress, options);
    } catch (const std::exception &) {
        return fail(Error::failed("rank " + std::to_string(env.rank) + " found no rank 0 at " + env.masterAddress +
                                      " port " + std::to_string(env.masterPort) + " within " +
                                      std::to_string(limit.count() / 1000) + " s",
                                  "start rank 0, or check MASTER_ADDR and MASTER_PORT"));
    }
}

} // namespace

Result<c10::intrusive_ptr<c10d::Store>> openStore(const RankEnvironment &env, std::chrono::milliseconds limit) {
    c10::intrusive_ptr<c10d::Store> store;
    if (!env.storeFile.empty()) {
        store = c10::make_intrusive<c10d::FileStore>(env.storeFile, env.worldSize);
    } else if (env.masterAddress.empty()) {
        store = c10::make_intrusive<c10d::HashStore>();
    } else {
        auto tcp = openTcp(env, limit);
        if (!tcp)
            return tcp;
        store = *tcp;
    }
    store->setTimeout(limit);
    return c10::make_intrusive<c10d::PrefixStore>("lockstep/attempt_" + std::to_string(env.attempt), store);
}

} // namespace lockstep::trainer

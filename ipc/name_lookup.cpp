// SPDX-License-Identifier: MIT
#include "ipc/name_lookup.h"

#include <pthread.h>

#include <csignal>
#include <system_error>
#include <thread>
#include <utility>

namespace lockstep {

NameLookup::NameLookup(std::string address, Resolve how) : m_address(std::move(address)), m_how(std::move(how)) {}

std::optional<NetAddresses> NameLookup::take(std::chrono::steady_clock::time_point until) {
    if (!m_answer.valid()) {
        if (auto numeric = resolveNumeric(m_address))
            return numeric;
        try {
            begin();
        } catch (const std::system_error &error) {
            m_answer = {};
            return fail(Error::failed("'" + m_address + "' can't be looked up: no thread (" + error.what() + ")"));
        }
    }
    if (m_answer.wait_until(until) != std::future_status::ready)
        return std::nullopt;
    return m_answer.get();
}

void NameLookup::begin() {
    std::promise<NetAddresses> answer;
    m_answer = answer.get_future();
    sigset_t all, before; // the program's signals are for its other threads
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
        std::thread([answer = std::move(answer), how = m_how, address = m_address]() mutable {
            ::pthread_setname_np(::pthread_self(), "lockstep-names");
            answer.set_value(how(address));
        }).detach();
    } catch (...) {
        ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
        throw;
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

} // namespace lockstep

// SPDX-License-Identifier: MIT
#include "ipc/methods.h"

#include <algorithm>

namespace lockstep {
namespace {

constexpr bool rowsFollowTheEnumerators() {
    for (std::size_t i = 0; i < methodTable.size(); ++i)
        if (static_cast<std::size_t>(methodTable[i].id) != i)
            return false;
    return true;
}
static_assert(rowsFollowTheEnumerators(), "methodTable's rows stand in the order of Method");

} // namespace

const MethodSpec *findMethod(std::string_view name) {
    const auto *const found = std::ranges::find(methodTable, name, &MethodSpec::name);
    return found == methodTable.end() ? nullptr : found;
}

bool isDistributed(std::string_view method) {
    const MethodSpec *found = findMethod(method);
    return found && found->processPerDevice;
}

bool knowsKey(Method method, std::string_view key) {
    return knowsKey(methodTable, specOf(method), key);
}

const MethodSpec &methodOf(Traffic traffic) {
    return *std::ranges::find(methodTable, traffic, &MethodSpec::traffic);
}

std::string_view sentenceOf(Traffic traffic) {
    switch (traffic) {
    case Traffic::None:
        break;
    case Traffic::Ring:
        return "ring all-reduce: each rank sends 2(N-1)/N of the gradients to the next one";
    case Traffic::Server:
        return "parameter server: every rank sends all gradients to rank 0 and gets their sum back";
    case Traffic::Push:
        return "asynchronous parameter server: every rank sends its gradients to the servers and gets the parameters "
               "back, without "
               "waiting for the others";
    case Traffic::Stages:
        return "pipeline: every rank sends its layers' output to the next one, and its gradient back";
    }
    return "no traffic between ranks";
}

std::string_view methodColorName(std::string_view method) {
    if (const MethodSpec *found = findMethod(method))
        return found->color;
    return specOf(Method::Baseline).color;
}

std::string methodsInWords() {
    std::string text;
    for (const MethodSpec &method : methodTable) {
        text += text.empty() ? "" : &method == &methodTable.back() ? " or " : ", ";
        text += std::string(method.name) + (method.longName.empty() ? "" : " (" + std::string(method.longName) + ")");
    }
    return text;
}

} // namespace lockstep

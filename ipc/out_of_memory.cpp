// SPDX-License-Identifier: MIT
#include "ipc/out_of_memory.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>

namespace lockstep {

namespace {

const char *nameOfProgram = "";
std::terminate_handler former = nullptr;

/// Allocates nothing.
[[noreturn]] void end() {
    char text[256];
    const int size =
        std::snprintf(text, sizeof text,
                      "%s: the memory ran out, and the program ends; what it had written stays. Give it more memory "
                      "(ulimit -v, the limit of its control group), or close other programs\n",
                      nameOfProgram);
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text, static_cast<std::size_t>(size));
    ::_exit(EXIT_FAILURE);
}

/// What allocates by malloc does not ask for this program's handler: libraries throw std::bad_alloc then, and Qt terminates.
[[noreturn]] void terminated() {
    const bool outOfMemory = errno == ENOMEM; // what malloc left
    if (const auto thrown = std::current_exception()) {
        try {
            std::rethrow_exception(thrown);
        } catch (const std::bad_alloc &) {
            end();
        } catch (...) { // the former handler says what it is
        }
    } else if (outOfMemory) {
        end();
    }
    if (former)
        former();
    std::abort();
}

} // namespace

void endWhenOutOfMemory(const char *program) {
    nameOfProgram = program;
    std::set_new_handler(end);
    former = std::set_terminate(terminated);
}

} // namespace lockstep

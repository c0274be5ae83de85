// SPDX-License-Identifier: MIT
// What a rank prints and what its trainer logs: one file, in the order in which it happened.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "tests/agent/agent_process.h"
#include "trainer/agent/log/log_disk.h"
#include "trainer/agent/net/event_loop.h"
#include "trainer/agent/ranks/console_tap.h"

using namespace lockstep;
using namespace lockstep::agent;

namespace {

struct ConsolePipe {
    ConsolePipe() {
        int ends[2];
        REQUIRE(::pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
        read = Fd(ends[0]);
        write = Fd(ends[1]);
    }
    void print(std::string_view text) const {
        CHECK(::write(write.get(), text.data(), text.size()) == ssize_t(text.size()));
    }
    Fd read, write;
};

} // namespace

TEST_CASE(
    "what a rank printed before its trainer logs a line stands before that line, though the loop has read none of it") {
    const TestHome home;
    const std::string path = home.path() + "/rank-0.log";
    {
        EventLoop loop;
        LogDisk disk;
        ConsolePipe out, err;
        ConsoleTap tap(
            loop, disk, path, std::move(out.read), std::move(err.read), [](auto, auto) {}, [](auto, auto) {});
        out.print("hello\n");
        err.print("careful\n");
        tap.appendText("info: ready");
        out.print("bye\n");
        tap.finish();
    }
    std::ifstream file(path);
    CHECK(std::string(std::istreambuf_iterator<char>(file), {}) == "hello\ncareful\ninfo: ready\nbye\n");
}

// SPDX-License-Identifier: MIT
// What an agent says of its node, and TCP between two of them: real processes, real sockets.
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "agent_process.h"
#include "ipc/clock.h"
#include "tests/agent/dripping_stranger.h"
#include "trainer/agent/net/net_talk.h"
#include "trainer/agent/nodes/gathered_node_facts.h"

using namespace lockstep;
using namespace lockstep::agent;
using Json = nlohmann::json;
using namespace std::chrono_literals;

namespace {

Json nextLine(Child &child, std::chrono::milliseconds patience = 10s) {
    const auto line = child.readLine(patience);
    return line ? Json::parse(*line, nullptr, false) : Json();
}

/// A listener on 127.0.0.1 and where it listens.
struct Listening {
    Child child{{agentBinary(), "net", "listen"}};
    int port = 0;
    explicit Listening(const std::string &token, int wanted = 0) {
        child.write(Json({{"token", token}, {"addresses", {"127.0.0.1"}}, {"port", wanted}}).dump() + "\n");
        said = nextLine(child);
        port = said["sockets"][0].value("port", 0);
    }
    Json said;
};

Json connected(const Json &target) {
    Child child({agentBinary(), "net", "connect"});
    child.write(Json({{"targets", {target}}}).dump() + "\n");
    const Json answer = nextLine(child, 30s);
    CHECK(child.wait() == 0);
    return answer.is_object() ? answer["results"][0] : Json::object();
}

} // namespace

TEST_CASE("an agent reports the state of its node, and why its trainer reports nothing") {
    const TestHome home;
    Child child({agentBinary(), "node"}, {{"LOCKSTEP_TRAINER", "/bin/false"}});
    const Json node = nextLine(child);
    REQUIRE(node.is_object());
    CHECK(child.wait() == 0);
    CHECK(node["disk"]["home"] == home.path());
    CHECK(node["disk"]["free_bytes"].get<double>() > 0);
    CHECK(node["memory"]["total_bytes"].get<double>() > node["memory"]["available_bytes"].get<double>());
    CHECK(node["limits"]["nofile"]["soft"].is_number());
    CHECK(node["glibc"].get<std::string>().starts_with("2."));
    CHECK(node["trainer"]["torch"] == "");
    CHECK(node["trainer"]["problem"].get<std::string>().find("/bin/false") != std::string::npos);
    bool loopback = false;
    for (const Json &one : node["interfaces"])
        loopback = loopback || (one["name"] == "lo" && one["loopback"] == true && one["mtu"].is_number());
    CHECK(loopback);
}

TEST_CASE("strangers that hold connections open keep nobody from measuring, and no listener alive") {
    const TestHome home;
    Listening listening("secret");
    std::vector<Fd> silent;
    for (int i = 0; i < 300; ++i) {
        const auto where = netAddress("127.0.0.1", listening.port);
        REQUIRE(where);
        Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        REQUIRE(::connect(fd.get(), where->get(), where->length) == 0);
        (void)writeAll(fd.get(), "L");
        silent.push_back(std::move(fd));
    }
    const Json result = connected({{"address", "127.0.0.1"}, {"port", listening.port}, {"token", "secret"}});
    CHECK(result.value("ok", false));
    listening.child.closeInput();
    CHECK(listening.child.wait() == 0); // although the strangers are still there
}

TEST_CASE("live lines come by themselves, a ping is answered with the clock, and the end of stdin ends it") {
    const TestHome home;
    Child child({agentBinary(), "node", "--every", "0.2"},
                {{"LOCKSTEP_TRAINER", "/bin/false"}, {"LOCKSTEP_TEST_CLOCK_OFFSET_S", "100"}});
    CHECK(nextLine(child)["type"] == "node");
    const Json second = nextLine(child);
    CHECK(second["type"] == "node");
    CHECK(second["cpu_busy"].is_number()); // known from the second line on
    child.write("ping 7\n");
    Json pong;
    while ((pong = nextLine(child)).is_object() && pong["type"] != "pong") {
    }
    REQUIRE(pong.is_object());
    CHECK(pong["ping"] == "7");
    const double ahead = (pong["wall_us"].get<double>() - static_cast<double>(SystemClock().wallUs())) / 1e6;
    CHECK(ahead > 98);
    CHECK(ahead < 101);
    child.closeInput();
    CHECK(child.wait() == 0);
}

TEST_CASE("NVML's word on PCIe lanes and on what GPUs reach of each other is passed on") {
    const TestHome home;
    Child child({agentBinary(), "node"}, {{"LOCKSTEP_TRAINER", "/bin/false"}, {"LD_LIBRARY_PATH", FAKE_NVML_FOLDER}});
    const Json node = nextLine(child);
    REQUIRE(node["gpus"].size() == 2);
    CHECK(node["gpus"][0]["pcie_width"] == 8);
    CHECK(node["gpus"][0]["pcie_width_max"] == 16);
    CHECK(node["gpus"][0]["peer_to_peer"][0].is_null());
    CHECK(node["gpus"][0]["peer_to_peer"][1] == false);
    CHECK(node["gpu_driver"] == "999.1");
}

TEST_CASE("two agents measure the way between them") {
    Listening listening("secret");
    REQUIRE(listening.port > 0);
    const Json result = connected(
        {{"address", "127.0.0.1"}, {"port", listening.port}, {"token", "secret"}, {"pings", 20}, {"bulk_s", 0.2}});
    CHECK(result["ok"] == true);
    CHECK(result["round_trip_s"].get<double>() > 0);
    CHECK(result["round_trip_s"].get<double>() < 0.5);
    CHECK(result["bandwidth_bytes_s"].get<double>() > 1e6);
    CHECK(result["segment_bytes"].get<int>() > 500);
    listening.child.closeInput();
    CHECK(listening.child.wait() == 0);
}

TEST_CASE("who does not know the token is let go without a word") {
    Listening listening("secret");
    const Json result = connected({{"address", "127.0.0.1"}, {"port", listening.port}, {"token", "Secret"}});
    CHECK(result["ok"] == false);
    CHECK(result["error"] == "somebody_else");
}

TEST_CASE("a stranger whose answer never ends is taken for somebody else") {
    const DrippingStranger stranger;
    const Json result =
        connected({{"address", "127.0.0.1"}, {"port", stranger.port()}, {"token", "x"}, {"patience_ms", 200}});
    CHECK(result["ok"] == false);
    CHECK(result["error"] == "somebody_else");
}

TEST_CASE("a port that nobody listens on refuses, and one in use is reported with its holder") {
    Listening listening("secret");
    const Listening second("other", listening.port);
    CHECK(second.said["sockets"][0]["in_use"] == true);
    CHECK(second.said["sockets"][0]["holder"].get<std::string>().find("pid " + std::to_string(listening.child.pid())) ==
          0);
    const int port = listening.port;
    listening.child.closeInput();
    listening.child.wait();
    CHECK(connected({{"address", "127.0.0.1"}, {"port", port}, {"token", "x"}})["error"] == "refused");
}

TEST_CASE("names are resolved as the node itself would") {
    Child child({agentBinary(), "net", "resolve"});
    child.write(R"({"names":["localhost","no-such-host.invalid"]})"
                "\n");
    const Json answer = nextLine(child, 20s);
    CHECK(answer["names"][0]["addresses"].size() > 0);
    CHECK(answer["names"][1]["error"].is_string());
}

TEST_CASE("a request that is none is refused with what is wanted") {
    for (const char *command : {"listen", "connect", "resolve"}) {
        Child child({agentBinary(), "net", command});
        child.write("nonsense\n");
        CHECK(child.wait() == 2);
        CHECK(child.errors().find("stdin") != std::string::npos);
    }
}

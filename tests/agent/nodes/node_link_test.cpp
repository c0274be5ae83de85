// SPDX-License-Identifier: MIT
// The link of a further node's agent: to an agent 0 that it knows by a name, and while much waits on it.
#include <doctest/doctest.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ipc/clock.h"
#include "ipc/file_system.h"
#include "ipc/name_lookup.h"
#include "tests/agent/agent_process.h"
#include "trainer/agent/net/net_talk.h"
#include "trainer/agent/nodes/node_link.h"
#include "trainer/agent/nodes/node_listener.h"
#include "trainer/agent/ranks/node_plan.h"

using namespace lockstep;
using namespace lockstep::agent;
using namespace std::chrono_literals;

namespace {

/// A port of 127.0.0.1 that refuses connections: it is bound, and nobody listens until listen() is called.
class RefusingPort {
public:
    RefusingPort() : m_fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        const auto any = netAddress("127.0.0.1", 0);
        REQUIRE(any);
        REQUIRE(::bind(m_fd.get(), any->get(), any->length) == 0);
    }
    void listen() const { REQUIRE(::listen(m_fd.get(), 1) == 0); }
    [[nodiscard]] NetAddress address() const { return netAddress("127.0.0.1", portOf(m_fd.get())).value(); }

private:
    Fd m_fd;
};

/// What a name server would say of any name here.
NetAddresses thisMachine(const std::string &address) {
    return resolve("127.0.0.1" + address.substr(address.rfind(':')));
}

/// Agent 0 of a run, and the link of another node's agent to it.
class NamedRun {
public:
    explicit NamedRun(NameLookup::Resolve lookUp)
        : m_listener(NodeListener::open(loop, m_clock, optionsOf(m_run))),
          m_journal(RunJournal::open(realFileSystem(), m_clock, m_home.path() + "/node-1.ndjson", 1, m_run, "hostB")) {
        REQUIRE(m_listener);
        REQUIRE(m_journal);
        (*m_listener)
            ->start({[this](int, const Hello &, std::shared_ptr<LineSocket> socket) { welcome(std::move(socket)); },
                     [](const std::string &) {}});
        NodeLink::Options own;
        own.runId = m_run;
        own.host = "hostB";
        own.token = (*m_listener)->token();
        const std::string address = (*m_listener)->address();
        own.address = "node0.test" + address.substr(address.rfind(':'));
        own.join.what = NodeMessage::What::Join;
        own.lookUp = std::move(lookUp);
        m_link = std::make_unique<NodeLink>(loop, m_clock, **m_journal, std::move(own));
    }
    void run(std::function<void()> onJoined, std::function<void()> onBack) {
        m_link->start({std::move(onJoined), [this](const Error &) { loop.quit(); }, [](const NodeMessage &) {},
                       [](const std::string &) {}, std::move(onBack)});
        loop.after(lockstep::test::hangLimit, [this] { loop.quit(); });
        loop.run();
    }
    void cut() { m_taken->close(); }

    EventLoop loop;

private:
    static NodeListener::Options optionsOf(const std::string &run) {
        NodeListener::Options options;
        options.address = "127.0.0.1";
        options.runId = run;
        return options;
    }
    void welcome(std::shared_ptr<LineSocket> socket) {
        m_taken = std::move(socket);
        m_taken->setHandlers({[](std::string_view) {}, [](const std::string &) {}, {}});
        Hello answer;
        answer.role = "agent";
        answer.run = m_run;
        answer.node = 0;
        answer.live = true;
        m_taken->send(encode(answer) + "\n");
    }

    const TestHome m_home;
    const SystemClock m_clock;
    const std::string m_run = makeRunId();
    Result<std::unique_ptr<NodeListener>> m_listener;
    Result<std::unique_ptr<RunJournal>> m_journal;
    std::shared_ptr<LineSocket> m_taken;
    std::unique_ptr<NodeLink> m_link;
};

} // namespace

TEST_CASE("a node that joins goes on with its work while no name server answers") {
    std::promise<void> release;
    const auto late = std::make_shared<std::atomic<bool>>(false);
    NamedRun run([late, answers = release.get_future().share()](const std::string &address) {
        if (answers.wait_for(lockstep::test::hangLimit) != std::future_status::ready)
            *late = true;
        return thisMachine(address);
    });
    run.loop.after(1ms, [&] { release.set_value(); });
    bool joined = false;
    run.run(
        [&] {
            joined = true;
            run.loop.quit();
        },
        [] {});
    CHECK(joined);
    CHECK_FALSE(*late);
}

TEST_CASE("a link tries each address of a name, and comes back by the one it knows though no name server answers") {
    const RefusingPort nobody;
    const auto asked = std::make_shared<std::atomic<int>>(0);
    NamedRun run([asked, refusing = nobody.address()](const std::string &address) -> NetAddresses {
        if (++*asked > 1)
            return fail(Error::failed("no name server answers"));
        auto both = thisMachine(address);
        both->insert(both->begin(), refusing);
        return both;
    });
    bool back = false;
    run.run([&] { run.cut(); },
            [&] {
                back = true;
                run.loop.quit();
            });
    CHECK(back);
    CHECK(*asked == 1);
}

TEST_CASE("whoever waits for agent 0 can be ended between two addresses of its name") {
    const RefusingPort nobody, agent0;
    agent0.listen();
    const std::vector<NetAddress> both = {nobody.address(), agent0.address()};
    const auto patient = somebodyListens(both, [] { return std::nullopt; });
    REQUIRE(patient.has_value());
    CHECK(*patient);
    const auto ended = somebodyListens(both, [] { return std::optional(Error::failed("stopped by signal 15")); });
    REQUIRE_FALSE(ended.has_value());
    CHECK(ended.error().what == "stopped by signal 15");
}

TEST_CASE("a node's report of its end follows traces that are larger than what may wait on the link") {
    using What = NodeMessage::What;
    const TestHome home;
    const SystemClock clock;
    EventLoop loop;
    const std::string run = makeRunId();
    NodeListener::Options options;
    options.address = "127.0.0.1";
    options.runId = run;
    auto listener = NodeListener::open(loop, clock, options);
    REQUIRE(listener);
    const std::string path = home.path() + "/node-1.ndjson";
    auto journal = RunJournal::open(realFileSystem(), clock, path, 1, run, "hostB");
    REQUIRE(journal);

    std::shared_ptr<LineSocket> taken;
    std::size_t traced = 0;
    bool over = false;
    const auto onLine = [&](std::string_view line) {
        const auto message = decodeNodeMessage(line);
        if (!isNodeMessage(line) || !message)
            return;
        traced += message->text.size();
        NodeMessage ack; // so that the link is not taken for a silent one
        ack.what = What::Ack;
        if (message->what == What::TracePart && traced % (1 << 20) == 0)
            taken->send(encode(ack) + "\n");
        over = message->what == What::Over;
        if (over)
            loop.quit();
    };
    (*listener)->start({[&](int, const Hello &, std::shared_ptr<LineSocket> socket) {
                            taken = std::move(socket);
                            taken->setHandlers({onLine, [](const std::string &) {}, {}});
                            Hello answer;
                            answer.role = "agent";
                            answer.run = run;
                            answer.node = 0;
                            answer.live = true;
                            taken->send(encode(answer) + "\n");
                        },
                        [](const std::string &) {}});

    NodeLink::Options own;
    own.runId = run;
    own.host = "hostB";
    own.token = (*listener)->token();
    own.address = (*listener)->address();
    own.join.what = What::Join;
    NodeLink link(loop, clock, **journal, own);
    std::vector<std::string> lost;
    const std::size_t size = 3 * LineSocket::mostWaitingBytes;
    link.start({[&] {
                    link.sendTrace(1, std::string(size, 'x'));
                    NodeMessage end;
                    end.what = What::Over;
                    end.state = "done";
                    link.say(end);
                },
                [&](const Error &why) { lost.push_back(why.message()); }, [](const NodeMessage &) {},
                [&](const std::string &why) { lost.push_back(why); }, [] {}});
    loop.after(lockstep::test::hangLimit, [&] { loop.quit(); });
    loop.run();
    CHECK(over);
    CHECK(traced == size);
    CHECK(lost.empty());
}

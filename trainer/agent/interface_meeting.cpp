#include "trainer/agent/interface_meeting.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>

#include <nlohmann/json.hpp>

#include "ipc/clock.h"
#include "ipc/file_system.h"
#include "ipc/frames.h"
#include "ipc/placement.h"
#include "trainer/agent/event_loop.h"
#include "trainer/agent/line_socket.h"
#include "trainer/agent/machine.h"
#include "trainer/agent/master_port.h"
#include "trainer/agent/net_talk.h"
#include "trainer/agent/node_facts.h"
#include "trainer/agent/node_hub.h"
#include "trainer/agent/rank_process.h"

namespace lockstep::agent {

namespace {

using Json = nlohmann::ordered_json;
using std::chrono::milliseconds;
constexpr milliseconds tryLimit{2000}, answerLimit{1000}, invitationLook{100}, betweenTries{1000};
constexpr std::size_t mostCallers = 4096;
constexpr int tries = 5;

struct Offer {
    std::string interface, address, proof;
    int port = 0;
    [[nodiscard]] std::string title() const { return address + " (" + interface + ")"; }
};

/// Every interface of this node that has an address, the likeliest first: a real device before a bridge or a tunnel, the faster
/// one first, loopback last, for nodes that are one machine.
std::vector<Offer> ownAddresses() {
    std::vector<InterfaceFacts> facts = interfaceFacts();
    std::erase_if(facts, [](const InterfaceFacts &one) { return one.addresses.empty() || one.state == "down"; });
    std::stable_sort(facts.begin(), facts.end(), [](const InterfaceFacts &a, const InterfaceFacts &b) {
        if (a.loopback != b.loopback)
            return b.loopback;
        if (a.real != b.real)
            return a.real;
        return a.speedMbit.value_or(0) > b.speedMbit.value_or(0);
    });
    std::vector<Offer> offers;
    for (const InterfaceFacts &one : facts)
        if (auto address = addressOfInterface(one.name)) // the one at which the run will listen
            offers.push_back({one.name, *address, makeToken(), 0});
    return offers;
}

/// The interface that has this address.
std::string interfaceOf(const std::string &address) {
    for (const auto &[interface, own] : networkInterfaces())
        if (own == address)
            return interface;
    return {};
}

std::string ownAddressOf(int fd) {
    sockaddr_storage own{};
    socklen_t length = sizeof own;
    if (::getsockname(fd, reinterpret_cast<sockaddr *>(&own), &length) != 0)
        return {};
    return numericAddress(reinterpret_cast<const sockaddr *>(&own), length);
}

Json parsed(std::string_view line) {
    Json json = Json::parse(line, nullptr, false);
    return json.is_object() ? json : Json::object();
}

std::string textOf(const Json &json, const char *key) {
    return json.contains(key) && json[key].is_string() ? json[key].get<std::string>() : std::string();
}

int numberOf(const Json &json, const char *key) {
    return json.contains(key) && json[key].is_number_integer() ? json[key].get<int>() : 0;
}

std::string quoted(const Json &json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Error stoppedEarly() {
    return Error::failed("stopped by a signal before the nodes had found the network between them");
}

/// "--nodes=…" of the command, or nothing.
std::string *nodesWord(std::vector<std::string> &command) {
    for (std::size_t i = 0; i < command.size(); ++i) {
        if (command[i].starts_with("--nodes="))
            return &command[i];
        if (command[i] == "--nodes" && i + 1 < command.size())
            return &command[i + 1];
    }
    return nullptr;
}

void take(CommandOptions &options, const std::vector<std::string> &interfaces) {
    options.interface = interfaces[static_cast<std::size_t>(options.nodeRank)];
    std::string *word = nodesWord(options.command);
    if (!word)
        return;
    const std::string flag = word->starts_with("--nodes=") ? "--nodes=" : "";
    auto places = nodesFromText(std::string_view(*word).substr(flag.size()));
    if (!places || places->size() != interfaces.size())
        return; // the plan says what is wrong with them
    for (std::size_t node = 0; node < places->size(); ++node)
        if ((*places)[node].interface.empty())
            (*places)[node].interface = interfaces[node];
    *word = flag + toText(*places);
}

// --- node 0 ------------------------------------------------------------------------------------------------------

class Meeting {
public:
    Meeting(const CommandOptions &options, std::vector<Offer> offers)
        : m_options(options), m_offers(std::move(offers)), m_token(makeToken()) {}
    ~Meeting() {
        std::error_code ignored;
        std::filesystem::remove(meetingFile(m_options.runId), ignored);
    }

    Result<std::vector<std::string>> hold();
    [[nodiscard]] std::string sentence() const { return m_sentence; }

private:
    struct Caller {
        std::shared_ptr<LineSocket> socket;
        std::size_t offer = 0;
    };
    struct Reached {
        std::string host;
        std::vector<int> offers;
        std::vector<std::string> by;
        std::shared_ptr<LineSocket> socket;
    };
    Result<void> listen();
    void accept(int listener, std::size_t offer);
    void takeLine(const std::shared_ptr<LineSocket> &socket, std::size_t offer, std::string_view line);
    void takeReached(const std::shared_ptr<LineSocket> &socket, const Json &json);
    void decide();
    void tellAll(const Json &answer);
    [[nodiscard]] std::string absent() const;

    const CommandOptions &m_options;
    std::vector<Offer> m_offers;
    std::string m_token, m_sentence;
    SystemClock m_clock;
    EventLoop m_loop;
    std::vector<MasterPort> m_ports;
    std::vector<Caller> m_callers;
    std::map<int, Reached> m_reached;
    std::vector<std::string> m_interfaces;
    std::optional<Error> m_error;
};

Result<void> Meeting::listen() {
    Json offers = Json::array();
    for (std::size_t i = 0; i < m_offers.size(); ++i) {
        auto port = bindMasterPort(m_offers[i].address, 0);
        if (!port)
            continue; // an address that can't be listened at is none
        m_offers[i].port = port->port;
        const int fd = port->listener.get();
        ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
        m_loop.watch(fd, EPOLLIN, [this, fd, i](std::uint32_t) { accept(fd, i); });
        m_ports.push_back(std::move(*port));
    }
    if (m_ports.empty())
        return fail(Error::failed("this node has no network address at which the other nodes could find it",
                                  "see ip address, or give --interface IF"));
    for (const Offer &offer : m_offers)
        offers.push_back(
            {{"interface", offer.interface}, {"address", offer.address}, {"port", offer.port}, {"proof", offer.proof}});
    const Json file = {{"token", m_token}, {"offers", offers}};
    if (const auto made = realFileSystem().makeFolders(dataHome()); !made)
        return made;
    return realFileSystem().writeAtomically(meetingFile(m_options.runId), file.dump() + "\n");
}

void Meeting::accept(int listener, std::size_t offer) {
    for (int i = 0; i < 64; ++i) {
        Fd fd(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!fd.valid())
            return;
        std::erase_if(m_callers, [](const Caller &caller) { return !caller.socket->open(); });
        if (m_callers.size() >= mostCallers)
            continue;
        auto socket = LineSocket::open(m_loop, m_clock, std::move(fd), {});
        const std::weak_ptr<LineSocket> weak = socket;
        socket->setHandlers({[this, weak, offer](std::string_view line) {
                                 if (const auto self = weak.lock())
                                     takeLine(self, offer, line);
                             },
                             [](const std::string &) {},
                             {}});
        m_callers.push_back({std::move(socket), offer});
    }
}

void Meeting::takeLine(const std::shared_ptr<LineSocket> &socket, std::size_t offer, std::string_view line) {
    const Json json = parsed(line);
    const std::string what = textOf(json, "what");
    if (what == "try")
        return socket->send(quoted({{"what", "proof"}, {"proof", m_offers[offer].proof}}));
    if (what == "reached" && textOf(json, "token") == m_token)
        return takeReached(socket, json);
    socket->close(); // none of ours
}

void Meeting::takeReached(const std::shared_ptr<LineSocket> &socket, const Json &json) {
    const int node = numberOf(json, "node");
    if (node < 1 || node >= m_options.nodes)
        return socket->close();
    Reached reached{textOf(json, "host"), {}, {}, socket};
    if (json.contains("offers") && json.contains("by") && json["offers"].is_array() && json["by"].is_array() &&
        json["offers"].size() == json["by"].size())
        for (std::size_t i = 0; i < json["offers"].size(); ++i)
            if (json["offers"][i].is_number_integer() && json["by"][i].is_string()) {
                reached.offers.push_back(json["offers"][i].get<int>());
                reached.by.push_back(json["by"][i].get<std::string>());
            }
    m_reached[node] = std::move(reached);
    if (static_cast<int>(m_reached.size()) == m_options.nodes - 1)
        decide();
}

void Meeting::decide() {
    std::vector<std::vector<int>> lists;
    std::string told;
    for (const auto &[node, reached] : m_reached) {
        lists.push_back(reached.offers);
        told += (told.empty() ? "" : "; ") + reached.host + " reaches ";
        for (std::size_t i = 0; i < reached.offers.size(); ++i)
            if (const auto offer = static_cast<std::size_t>(reached.offers[i]); offer < m_offers.size())
                told += (i > 0 ? ", " : "") + m_offers[offer].title();
    }
    const int chosen = commonOffer(static_cast<int>(m_offers.size()), lists);
    if (chosen < 0) {
        m_error = Error::failed("no address of " + hostName() + ", which is node 0, is reached by all nodes: " + told,
                                "join them by one network, or give --interface IF");
        tellAll({{"what", "error"}, {"message", m_error->message()}});
        return m_loop.quit();
    }
    const Offer &offer = m_offers[static_cast<std::size_t>(chosen)];
    m_interfaces = {offer.interface};
    m_sentence =
        "the network between the nodes was found by trying: " + hostName() + " is reached by all at " + offer.title();
    for (const auto &[node, reached] : m_reached) {
        const auto at = std::find(reached.offers.begin(), reached.offers.end(), chosen) - reached.offers.begin();
        m_interfaces.push_back(reached.by[static_cast<std::size_t>(at)]);
        m_sentence += ", " + reached.host + " goes by " + m_interfaces.back();
    }
    tellAll({{"what", "interfaces"}, {"interfaces", m_interfaces}});
    m_loop.quit();
}

void Meeting::tellAll(const Json &answer) {
    for (auto &[node, reached] : m_reached)
        reached.socket->send(quoted(answer)); // fits the socket's buffer: it leaves at once
}

std::string Meeting::absent() const {
    std::string text;
    for (int node = 1; node < m_options.nodes; ++node)
        if (!m_reached.contains(node))
            text += (text.empty() ? "node " : ", node ") + std::to_string(node);
    return text;
}

Result<std::vector<std::string>> Meeting::hold() {
    if (const auto listening = listen(); !listening)
        return fail(listening.error());
    const sigset_t signals = endingSignals();
    const Fd signalFd(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
    m_loop.watch(signalFd.get(), EPOLLIN, [this](std::uint32_t) {
        m_error = stoppedEarly();
        m_loop.quit();
    });
    m_loop.after(milliseconds(static_cast<std::int64_t>(m_options.joinLimitS * 1000)), [this] {
        std::string offers;
        for (const Offer &offer : m_offers)
            offers += (offers.empty() ? "" : ", ") + offer.title();
        m_error = Error::failed(absent() + " did not find " + hostName() + ", which is node 0, within " +
                                    std::to_string(static_cast<int>(m_options.joinLimitS)) + " s at any of " + offers,
                                "see what its agent says; or give --interface IF");
        m_loop.quit();
    });
    m_loop.run();
    for (const Caller &caller : m_callers)
        caller.socket->close();
    if (m_error)
        return fail(*m_error);
    return m_interfaces;
}

// --- another node ------------------------------------------------------------------------------------------------

struct Tried {
    Fd fd;
    std::string problem;
};

/// Connects to all at once: those that will not answer cost their time together.
std::vector<Tried> connectToAll(const std::vector<Offer> &offers) {
    std::vector<Tried> all(offers.size());
    std::vector<pollfd> polls(offers.size(), pollfd{-1, POLLOUT, 0});
    for (std::size_t i = 0; i < offers.size(); ++i) {
        const auto address = netAddress(offers[i].address, offers[i].port);
        if (!address || offers[i].port == 0) {
            all[i].problem = "is no address";
            continue;
        }
        all[i].fd = Fd(::socket(address->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        if (::connect(all[i].fd.get(), address->get(), address->length) != 0 && errno != EINPROGRESS)
            all[i].problem = std::strerror(errno);
        else
            polls[i].fd = all[i].fd.get();
    }
    const auto until = std::chrono::steady_clock::now() + tryLimit;
    while (std::any_of(polls.begin(), polls.end(), [](const pollfd &one) { return one.fd >= 0; })) {
        const auto left = std::chrono::duration_cast<milliseconds>(until - std::chrono::steady_clock::now()).count();
        if (left <= 0 || ::poll(polls.data(), polls.size(), static_cast<int>(left)) == 0)
            break;
        for (std::size_t i = 0; i < polls.size(); ++i)
            if (polls[i].fd >= 0 && polls[i].revents != 0) {
                int error = 0;
                socklen_t length = sizeof error;
                ::getsockopt(polls[i].fd, SOL_SOCKET, SO_ERROR, &error, &length);
                all[i].problem = error != 0 ? std::strerror(error) : "";
                polls[i].fd = -1;
            }
    }
    for (std::size_t i = 0; i < polls.size(); ++i)
        if (polls[i].fd >= 0)
            all[i].problem = "no answer within 2 s";
    return all;
}

/// Whether agent 0 of this run is at the other end.
bool proves(int fd, std::size_t number, const Offer &offer) {
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    setSocketPatience(fd, answerLimit);
    if (!writeAll(fd, quoted({{"what", "try"}, {"offer", number}})))
        return false;
    const auto line = readNetLine(fd, maxFrameBytes);
    return line && textOf(parsed(*line), "proof") == offer.proof;
}

struct Found {
    Fd fd; ///< to the first that was reached
    std::vector<int> offers;
    std::vector<std::string> by;
    std::string problems;
};

Found tryAll(const std::vector<Offer> &offers) {
    Found found;
    std::vector<Tried> all = connectToAll(offers);
    for (std::size_t i = 0; i < offers.size(); ++i) {
        if (all[i].problem.empty() && !proves(all[i].fd.get(), i, offers[i]))
            all[i].problem = "somebody else answers";
        const std::string by = all[i].problem.empty() ? interfaceOf(ownAddressOf(all[i].fd.get())) : std::string();
        if (by.empty()) {
            found.problems += (found.problems.empty() ? "" : "; ") + offers[i].title() + ": " + all[i].problem;
            continue;
        }
        found.offers.push_back(static_cast<int>(i));
        found.by.push_back(by);
        if (!found.fd.valid())
            found.fd = std::move(all[i].fd);
    }
    return found;
}

struct Invitation {
    std::string token;
    std::vector<Offer> offers;
};

std::optional<Invitation> readInvitation(const std::string &run) {
    const auto text = realFileSystem().readAll(meetingFile(run));
    const Json json = text ? parsed(*text) : Json::object();
    if (!json.contains("offers") || !json["offers"].is_array())
        return std::nullopt;
    Invitation invitation{textOf(json, "token"), {}};
    for (const Json &one : json["offers"])
        if (one.is_object())
            invitation.offers.push_back(
                {textOf(one, "interface"), textOf(one, "address"), textOf(one, "proof"), numberOf(one, "port")});
    return invitation;
}

/// What agent 0 has decided, once every node has told it what it reaches.
Result<std::vector<std::string>> hearInterfaces(int fd, double limitS) {
    const sigset_t signals = endingSignals();
    const Fd signalFd(::signalfd(-1, &signals, SFD_CLOEXEC));
    pollfd both[] = {{fd, POLLIN, 0}, {signalFd.get(), POLLIN, 0}};
    ::poll(both, 2, static_cast<int>(limitS * 1000));
    if (both[1].revents != 0)
        return fail(stoppedEarly());
    const auto line = both[0].revents != 0 ? readNetLine(fd, maxFrameBytes) : std::nullopt;
    const Json json = line ? parsed(*line) : Json::object();
    if (textOf(json, "what") == "error")
        return fail(Error::failed(textOf(json, "message")));
    std::vector<std::string> interfaces;
    if (json.contains("interfaces") && json["interfaces"].is_array())
        for (const Json &one : json["interfaces"])
            interfaces.push_back(one.is_string() ? one.get<std::string>() : std::string());
    if (interfaces.empty())
        return fail(Error::failed("agent 0 ended before all nodes had found it", "look why, then start the run again"));
    return interfaces;
}

/// False: a signal of a session came meanwhile.
bool pause(milliseconds time) {
    const sigset_t signals = endingSignals();
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time);
    const timespec left{seconds.count(), std::chrono::nanoseconds(time - seconds).count()};
    return ::sigtimedwait(&signals, nullptr, &left) <= 0;
}

/// The file may be one that an agent 0 which was killed has left, until its successor (a requeued job's) writes it anew.
Result<std::vector<std::string>> attend(const CommandOptions &options, Invitation invitation) {
    Found found;
    for (int i = 0; i < tries && found.offers.empty(); ++i) {
        if (i > 0 && !pause(betweenTries))
            return fail(stoppedEarly());
        if (auto fresh = readInvitation(options.runId))
            invitation = std::move(*fresh);
        found = tryAll(invitation.offers);
    }
    if (found.offers.empty())
        return fail(
            Error::failed("node 0 is reached from " + hostName() + " at none of its addresses: " + found.problems,
                          "join them by one network and open its firewall, or give --interface IF"));
    const Json told = {{"what", "reached"},  {"node", options.nodeRank}, {"token", invitation.token},
                       {"host", hostName()}, {"offers", found.offers},   {"by", found.by}};
    if (!writeAll(found.fd.get(), quoted(told)))
        return fail(Error::failed("agent 0 ended before all nodes had found it", "look why, then start the run again"));
    return hearInterfaces(found.fd.get(), options.joinLimitS);
}

} // namespace

bool meetsByTrying(const CommandOptions &options) {
    return options.joins() && options.interface.empty() && options.join.empty();
}

std::string meetingFile(const std::string &run) {
    return dataHome() + "/meeting-" + run + ".json";
}

int commonOffer(int count, const std::vector<std::vector<int>> &reached) {
    for (int offer = 0; offer < count; ++offer)
        if (std::all_of(reached.begin(), reached.end(), [&](const std::vector<int> &list) {
                return std::find(list.begin(), list.end(), offer) != list.end();
            }))
            return offer;
    return -1;
}

Result<std::string> findInterfaces(CommandOptions &options) {
    if (!isRunId(options.runId) || options.nodeRank < 0 || options.nodeRank >= options.nodes)
        return std::string(); // the plan says what is wrong
    if (options.nodeRank == 0) {
        Meeting meeting(options, ownAddresses());
        const auto interfaces = meeting.hold();
        if (!interfaces)
            return fail(interfaces.error());
        take(options, *interfaces);
        return meeting.sentence();
    }
    const auto until =
        std::chrono::steady_clock::now() + milliseconds(static_cast<std::int64_t>(options.joinLimitS * 1000));
    for (;;) {
        if (auto invitation = readInvitation(options.runId)) {
            const auto interfaces = attend(options, std::move(*invitation));
            if (!interfaces)
                return fail(interfaces.error());
            if (interfaces->size() != static_cast<std::size_t>(options.nodes))
                return fail(Error::badArgument("agent 0 counts " + std::to_string(interfaces->size()) +
                                                   " nodes, --nnodes says " + std::to_string(options.nodes),
                                               "give all nodes the same number"));
            take(options, *interfaces);
            return std::string();
        }
        std::error_code ignored;
        if (std::filesystem::exists(runFolder(options.runId).join(), ignored))
            return std::string(); // agent 0 was told where to listen
        if (std::chrono::steady_clock::now() > until)
            return std::string(); // waitForAgent0 says it
        if (!pause(invitationLook))
            return fail(stoppedEarly());
    }
}

} // namespace lockstep::agent

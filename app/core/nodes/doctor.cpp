// SPDX-License-Identifier: MIT
#include "nodes/doctor.h"

#include <algorithm>
#include <set>
#include <sys/prctl.h>
#include <sys/random.h>

#include <nlohmann/json.hpp>
#include <QMetaObject>

#include "data/dataset_source.h"
#include "ipc/documents.h"
#include "nodes/local_lines.h"

namespace lockstep::core {
namespace {

using Json = nlohmann::ordered_json;
using namespace std::chrono_literals;

/// 128 random bits as hex, a secret that every connection must present.
std::string makeToken() {
    unsigned char bytes[16] = {};
    if (::getrandom(bytes, sizeof bytes, 0) != ssize_t(sizeof bytes))
        std::abort(); // the kernel's random source does not fail once it is initialized
    std::string text;
    for (const unsigned char byte : bytes) {
        text += "0123456789abcdef"[byte >> 4];
        text += "0123456789abcdef"[byte & 15];
    }
    return text;
}

struct Socket {
    std::string address;
    int port = 0;
    bool named = false;
};

/// `net listen` on one node, serving until its stdin is closed.
struct Listening {
    std::unique_ptr<QProcess> process;
    std::string token = makeToken();
    std::vector<Socket> sockets;
};

class Round {
public:
    Round(const DoctorOptions &options, const SshAnswers &answers,
          const std::function<void(const std::string &)> &progress, std::stop_token stop)
        : m_options(options), m_answers(answers), m_progress(progress), m_stop(std::move(stop)) {}

    DoctorSnapshot run(const std::vector<NodeEntry> &nodes) {
        m_snapshot.ownVersion = LOCKSTEP_VERSION;
        m_snapshot.port = m_options.port;
        m_snapshot.dataset = m_options.dataset;
        m_snapshot.neededBytes = m_options.neededBytes;
        m_snapshot.builtLines = versionsOf(localLines());
        for (const NodeEntry &node : nodes)
            meet(node);
        m_snapshot.choices.resize(nodes.size());
        if (usable() >= 2 && !m_stop.stop_requested()) {
            resolveNames();
            tryAddresses();
            m_snapshot.choices = chooseInterfaces(m_snapshot);
            measureLinks();
        }
        if (!m_options.dataset.empty())
            examineData();
        return std::move(m_snapshot);
    }

private:
    void report(const std::string &what) const {
        if (m_progress)
            m_progress(what);
    }

    [[nodiscard]] std::size_t usable() const {
        return std::size_t(std::count_if(m_snapshot.nodes.begin(), m_snapshot.nodes.end(),
                                         [](const NodeSnapshot &node) { return node.usable(); }));
    }

    void meet(const NodeEntry &node) {
        report("examining " + node.name);
        auto shell = NodeShell::open(node, m_answers, m_stop);
        m_snapshot.nodes.push_back(shell ? probeNode(**shell) : failedProbe(node, shell.error()));
        m_shells.push_back(shell ? std::move(*shell) : nullptr);
    }

    static std::optional<double> numberIn(const Json &result, const char *key) {
        const double number = documents::valueIn(result, key, -1.0);
        return number >= 0 ? std::optional(number) : std::nullopt;
    }

    /// The agent's one line of JSON to a request on stdin.
    Json ask(std::size_t node, const std::vector<std::string> &arguments, const Json &request,
             std::chrono::milliseconds limit) {
        const Said said = m_shells[node]->agent(arguments, request.dump() + "\n", limit);
        Json json = documents::objectOrNull(said.out);
        return json.is_object() ? json : Json::object();
    }

    void resolveNames() {
        report("resolving names");
        Json names = Json::array();
        for (const NodeSnapshot &node : m_snapshot.nodes)
            if (node.usable())
                names.push_back(node.facts->host);
        for (std::size_t i = 0; i < m_snapshot.nodes.size(); ++i) {
            if (!m_snapshot.nodes[i].usable())
                continue;
            const Json answer = ask(i, {"net", "resolve"}, {{"names", names}}, 30s);
            Json said = documents::valueIn(answer, "names", Json::array());
            if (said.size() > names.size()) // more than it was asked for
                said = Json::array();
            for (const Json &one : said)
                m_snapshot.names.push_back({i, documents::valueIn(one, "name", ""),
                                            documents::valueIn(one, "addresses", std::vector<std::string>()),
                                            documents::valueIn(one, "error", "")});
        }
    }

    static std::vector<std::string> addressesOf(const NodeFacts &facts) {
        std::vector<std::string> addresses;
        for (const NodeFacts::Interface &interface : facts.interfaces)
            if (!interface.loopback)
                addresses.insert(addresses.end(), interface.addresses.begin(), interface.addresses.end());
        return addresses;
    }

    void listen(std::size_t node, std::optional<int> port, std::vector<Listening> &all) {
        Listening one;
        one.process = m_shells[node]->startAgent({"net", "listen"});
        const std::vector<std::string> addresses = addressesOf(*m_snapshot.nodes[node].facts);
        const Json request = {{"token", one.token}, {"addresses", addresses}, {"port", port.value_or(0)}};
        one.process->write(QByteArray::fromStdString(request.dump() + "\n"));
        one.process->waitForBytesWritten(3000);
        const Json said = documents::objectOrNull(m_shells[node]->readLine(*one.process, 15s).value_or(""));
        std::multiset<std::string> asked(addresses.begin(), addresses.end());
        for (const Json &socket : documents::valueIn(said, "sockets", Json::array())) {
            const std::string address = documents::valueIn(socket, "address", "");
            const auto answered = asked.find(address);
            if (answered == asked.end())
                continue;
            asked.erase(answered); // each once
            if (!socket.contains("error"))
                one.sockets.push_back({address, documents::valueIn(socket, "port", 0), port.has_value()});
            else if (port)
                m_snapshot.ports.push_back({node, address, documents::valueIn(socket, "holder", ""),
                                            documents::valueIn(socket, "error", ""),
                                            documents::valueIn(socket, "in_use", false)});
        }
        all.push_back(std::move(one));
    }

    static void endListening(std::vector<Listening> &all) {
        for (Listening &one : all)
            one.process->closeWriteChannel();
        for (Listening &one : all)
            if (!one.process->waitForFinished(3000)) {
                one.process->kill();
                one.process->waitForFinished(1000);
            }
        all.clear();
    }

    /// Every node to every address of every other one, at a free port and at the run's.
    void tryAddresses() {
        report("testing which interfaces reach each other");
        std::vector<Listening> all;
        std::vector<std::size_t> of;
        for (std::size_t i = 0; i < m_snapshot.nodes.size(); ++i)
            if (m_snapshot.nodes[i].usable()) {
                listen(i, std::nullopt, all);
                of.push_back(i);
                if (m_options.port) {
                    listen(i, m_options.port, all);
                    of.push_back(i);
                }
            }
        for (std::size_t from = 0; from < m_snapshot.nodes.size(); ++from) {
            if (!m_snapshot.nodes[from].usable())
                continue;
            Json targets = Json::array();
            std::vector<NetTry> tries;
            for (std::size_t k = 0; k < all.size(); ++k)
                for (const Socket &socket : all[k].sockets) {
                    if (of[k] == from)
                        continue;
                    targets.push_back({{"address", socket.address},
                                       {"port", socket.port},
                                       {"token", all[k].token},
                                       {"pings", 3},
                                       {"patience_ms", 2500}});
                    NetTry one;
                    one.from = from;
                    one.to = of[k];
                    one.address = socket.address;
                    one.named = socket.named;
                    tries.push_back(one);
                }
            const Json answer = ask(from, {"net", "connect"}, {{"targets", targets}}, 30s);
            const Json results = documents::valueIn(answer, "results", Json::array());
            for (std::size_t i = 0; i < tries.size(); ++i) {
                const Json result = i < results.size() ? results[i] : Json::object();
                tries[i].ok = documents::valueIn(result, "ok", false);
                tries[i].error = documents::valueIn(result, "error", tries[i].ok ? "" : "the agent did not answer");
                tries[i].roundTripS = numberIn(result, "round_trip_s");
                m_snapshot.tries.push_back(tries[i]);
            }
        }
        endListening(all);
    }

    [[nodiscard]] bool hasWay(std::size_t node) const {
        return m_snapshot.nodes[node].usable() && !m_snapshot.choices[node].address.empty();
    }

    /// One direction of one pair at a time, so that no measurement disturbs another.
    void measureLinks() {
        for (std::size_t to = 0; to < m_snapshot.nodes.size(); ++to) {
            if (!hasWay(to))
                continue;
            std::vector<Listening> listening;
            listen(to, std::nullopt, listening);
            for (std::size_t from = 0; from < m_snapshot.nodes.size() && !m_stop.stop_requested(); ++from)
                if (from != to && hasWay(from))
                    measure(from, to, listening.front());
            endListening(listening);
        }
    }

    void measure(std::size_t from, std::size_t to, const Listening &listening) {
        report("measuring " + m_snapshot.nodes[from].node.name + " → " + m_snapshot.nodes[to].node.name);
        LinkMeasure link;
        link.from = from;
        link.to = to;
        link.interface = m_snapshot.choices[from].interface;
        link.address = m_snapshot.choices[to].address;
        const auto socket = std::find_if(listening.sockets.begin(), listening.sockets.end(),
                                         [&](const Socket &one) { return one.address == link.address; });
        if (socket == listening.sockets.end()) {
            link.error = "cannot listen at " + link.address;
            m_snapshot.links.push_back(link);
            return;
        }
        Json target = {
            {"address", link.address}, {"port", socket->port},           {"token", listening.token},   {"pings", 50},
            {"patience_ms", 3000},     {"bulk_s", m_options.bandwidthS}, {"interface", link.interface}};
        const bool sameFamily = (m_snapshot.choices[from].address.find(':') == std::string::npos) ==
                                (link.address.find(':') == std::string::npos);
        if (sameFamily)
            target["source"] = m_snapshot.choices[from].address;
        const Json answer = ask(from, {"net", "connect"}, {{"targets", Json::array({target})}},
                                std::chrono::milliseconds(30'000 + int(m_options.bandwidthS * 1000)));
        const Json results = documents::valueIn(answer, "results", Json::array());
        const Json result = results.empty() ? Json::object() : results[0];
        link.ok = documents::valueIn(result, "ok", false);
        link.stalled = documents::valueIn(result, "stalled", false);
        link.error = documents::valueIn(result, "error", link.ok ? "" : "the agent did not answer");
        link.roundTripS = numberIn(result, "round_trip_s");
        link.bandwidthBytesS = numberIn(result, "bandwidth_bytes_s");
        if (const int bytes = documents::valueIn(result, "segment_bytes", 0); bytes > 0)
            link.segmentBytes = bytes;
        m_snapshot.links.push_back(link);
    }

    void examineData() {
        // Prints "DIR folder", then sha256sum's lines, for the first folder that holds files.
        constexpr const char *hashes = R"(home="${LOCKSTEP_HOME:-${XDG_DATA_HOME:-$HOME/.local/share}/lockstep}"
name=$1; shift
for d in "$@" "$home/data/$name"; do
  [ -n "$d" ] && cd "$d" 2>/dev/null || continue
  set -- *; [ -f "$1" ] || continue
  echo "DIR $d"; sha256sum -- * 2>/dev/null; exit 0
done; exit 0)";
        const auto source = findDataset(knownDatasets(), m_options.dataset);
        if (source)
            for (const DatasetFile &file : source->files)
                m_snapshot.knownSha256[file.name] = file.sha256;
        const std::string folder = source ? source->name : m_options.dataset;
        for (std::size_t i = 0; i < m_snapshot.nodes.size() && !m_stop.stop_requested(); ++i) {
            if (!m_shells[i])
                continue;
            report("comparing " + m_options.dataset + " on " + m_snapshot.nodes[i].node.name);
            std::vector<std::string> arguments = {folder};
            if (!m_options.dataFolder.empty())
                arguments.push_back(m_options.dataFolder);
            arguments.push_back(packagedDataFolder(folder));
            const Said said = m_shells[i]->script(hashes, arguments, {}, 10min);
            NodeData found;
            found.node = i;
            for (const QString &line : QString::fromStdString(said.out).split(u'\n', Qt::SkipEmptyParts)) {
                if (line.startsWith(u"DIR "))
                    found.folder = line.mid(4).toStdString();
                else if (line.size() > 66)
                    found.sha256[line.mid(66).toStdString()] = line.left(64).toStdString();
            }
            m_snapshot.data.push_back(std::move(found));
        }
    }

    const DoctorOptions &m_options;
    const SshAnswers &m_answers;
    const std::function<void(const std::string &)> &m_progress;
    std::stop_token m_stop;
    DoctorSnapshot m_snapshot;
    std::vector<std::unique_ptr<NodeShell>> m_shells; ///< one per node; null if not connected
};

} // namespace

DoctorSnapshot examineNodes(const std::vector<NodeEntry> &nodes, const DoctorOptions &options,
                            const SshAnswers &answers, const std::function<void(const std::string &)> &progress,
                            std::stop_token stop) {
    return Round(options, answers, progress, std::move(stop)).run(nodes);
}

Result<void> keepChoices(const DoctorSnapshot &snapshot) {
    return changeNodes([&](std::vector<NodeEntry> &nodes) -> Result<void> {
        for (std::size_t i = 0; i < snapshot.choices.size(); ++i)
            for (NodeEntry &node : nodes)
                if (node.name == snapshot.nodes[i].node.name && !node.interfacePinned &&
                    !snapshot.choices[i].interface.empty())
                    node.interface = snapshot.choices[i].interface;
        return {};
    });
}

DoctorJob::DoctorJob(QObject *parent) : QObject(parent) {
    qRegisterMetaType<DoctorSnapshot>();
    qRegisterMetaType<std::vector<Finding>>();
}

DoctorJob::~DoctorJob() = default; // requests a stop and joins the thread

void DoctorJob::stop() {
    m_thread.request_stop();
}

void DoctorJob::start(std::vector<NodeEntry> nodes, DoctorOptions options, SshAnswers answers) {
    m_thread = std::jthread([this, nodes = std::move(nodes), options = std::move(options),
                             answers = std::move(answers)](std::stop_token stop) {
        ::prctl(PR_SET_NAME, "lockstep-nodes");
        const DoctorSnapshot snapshot = examineNodes(
            nodes, options, answers,
            [this](const std::string &what) {
                Q_EMIT progressed(QString::fromStdString(what)); // queued: the receiver lives in another thread
            },
            stop);
        Q_EMIT finished(snapshot, findingsOf(snapshot));
    });
}

} // namespace lockstep::core

#include "moc_doctor.cpp"

// SPDX-License-Identifier: MIT
// Which nodes and devices a run is put on, as a person presses them, and the picture of a run over nodes.

#include "ipc/metrics.h"
#include "models/run_topology.h"
#include "models/run_traffic.h"
#include "nodes/node_choice.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::core;

namespace {

NodeEntry node(const char *name, const char *interface, const char *how = "ssh") {
    NodeEntry entry;
    entry.name = name;
    entry.how = how;
    entry.host = entry.how == "local" ? "" : name;
    entry.interface = interface;
    entry.agent = "/opt/lockstep-agent";
    return entry;
}

Frame linkFrame(const char *state) {
    LinkFrame body;
    body.ofNode = 1;
    body.host = "hostB";
    body.link = state;
    body.roundTripS = 2e-4;
    if (std::string_view(state) == "lost")
        body.reason = "nothing was heard for 6 s";
    Frame frame;
    frame.body = body;
    return frame;
}

/// 2 + 1 devices on hostA and hostB.
RunRecord record() {
    RunRecord record;
    RunConfig config;
    config.method = Method::Ddp;
    config.model = "convnet";
    config.nodes = *nodesFromText("hostA%bond0:0,1 kind=cpu;hostB%eno1:0 kind=cpu");
    record.config = config;
    MachineRecord first, second;
    first.host = "hostA";
    first.interfaces = {{"bond0", "10.0.0.1"}};
    second.node = 1;
    second.host = "hostB";
    record.machines = {first, second};
    return record;
}

} // namespace

class CoreNodeChoiceTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void whyALineOfPyTorchWasChosenIsSaidOnceOrByNode() {
        std::vector<NodeEntry> book = {node("hostA", "bond0"), node("hostB", "eno1"), node("hostC", "eth0")};
        const auto places = *nodesFromText("hostA%bond0:0;hostB%eno1:0");
        QCOMPARE(torchReasonOf(places, book), std::string());
        book[0].lineReason = book[1].lineReason = "PyTorch 2.11.0 (CUDA 13.0): the newest";
        book[2].lineReason = "not of this run";
        QCOMPARE(torchReasonOf(places, book), std::string("PyTorch 2.11.0 (CUDA 13.0): the newest"));
        book[1].lineReason = "another";
        QCOMPARE(torchReasonOf(places, book),
                 std::string("hostA: PyTorch 2.11.0 (CUDA 13.0): the newest; hostB: another"));
        book[1].lineReason.clear(); // its agent was named by hand: what one sync chose says nothing of it
        QCOMPARE(torchReasonOf(places, book), std::string("hostA: PyTorch 2.11.0 (CUDA 13.0): the newest"));
    }

    void theFirstChosenIsTheMasterAndKeepsItsTurn() {
        const NodeEntry a = node("hostA", "bond0"), b = node("hostB", "eno1");
        auto places = withDevices({}, b, "cpu", {"0"});
        places = withDevices(places, a, "cuda", {"GPU-1"});
        places = withDevices(places, b, "cpu", {"0", "1"});
        QCOMPARE(toText(places), std::string("hostB%eno1:0,1 kind=cpu agent=/opt/lockstep-agent;hostA%bond0:GPU-1 "
                                             "kind=cuda agent=/opt/lockstep-agent"));
        places = withDevices(places, b, "cpu", {});
        QCOMPARE(int(places.size()), 1);
        QCOMPARE(placeOf(places, a), &places[0]);
        QVERIFY(!placeOf(places, b));
    }

    void thisMachineIsANodeToo() {
        const auto places = withDevices({}, node("here", "eth0", "local"), "cpu", {"0"});
        QCOMPARE(places[0].host, std::string());
        QCOMPARE(places[0].interface, std::string("eth0"));
    }

    void whatAPersonWroteOfAPlaceStays() {
        const NodeEntry a = node("hostA", "bond0");
        auto places = *nodesFromText("hostA%eth7:0 data=/srv/mnist cores=2");
        places = withDevices(places, a, "cpu", {"0", "1"});
        QCOMPARE(toText(places), std::string("hostA%eth7:0,1 kind=cpu cores=2 data=/srv/mnist"));
        NodeEntry found = a;
        found.interface = "bond1";
        places = followBook(places, {a}, {found});
        QCOMPARE(places[0].interface, std::string("eth7"));
        const auto entries = entriesOf(places, {found});
        QCOMPARE(entries[0].interface, std::string("eth7"));
        QVERIFY(entries[0].interfacePinned); // the doctor is to judge that one
    }

    void anInterfaceThatTheDoctorFoundReachesTheRun() {
        const std::vector<NodeEntry> before = {node("hostA", ""), node("hostB", "")};
        std::vector<NodeEntry> now = {node("hostA", "bond0"), node("hostB", "eno1")};
        auto places = withDevices(withDevices({}, before[0], "cpu", {"0"}), before[1], "cpu", {"0"});
        QVERIFY(lacksInterface(places, before));
        places = followBook(places, before, now);
        QVERIFY(!lacksInterface(places, now));
        QCOMPARE(places[1].interface, std::string("eno1"));
        now[1].interface = "bond9"; // chosen anew on Nodes
        places = followBook(places, {node("hostA", "bond0"), node("hostB", "eno1")}, now);
        QCOMPARE(places[1].interface, std::string("bond9"));
    }

    void aNodeThatSlurmLendsIsReachedByAJob() {
        NodeEntry lent = node("n1", "", "slurm");
        lent.partition = "gpu";
        QVERIFY(whyNotChosen(lent).find("--partition gpu") != std::string::npos);
        QVERIFY(whyNotChosen(node("hostA", "")).empty());
    }

    void aRunsPictureHasItsOwnNodesRanksAndLinks() {
        RunStore run(QStringLiteral("20260102T030405Z-00000001"));
        run.setRecord(record());
        run.take(linkFrame("up"));
        const Topology topology = topologyOf(run);
        QCOMPARE(int(topology.nodes.size()), 2);
        QCOMPARE(topology.worldSize(), 3);
        QCOMPARE(topology.nodes[0].address, std::string("10.0.0.1"));
        QCOMPARE(topology.nodes[1].ranks[0].rank, 2);
        QCOMPARE(topology.nodes[1].ranks[0].device, std::string("cpu:0"));
        QCOMPARE(topology.links[0].state, TopologyLink::State::Up);
        QCOMPARE(*topology.links[0].roundTripS, 2e-4);
        QVERIFY(!topology.links[0].bandwidthThereBytesS); // nobody measured it in the run
        QCOMPARE(topology.links[0].bytesThere, 2.0 * 2 / 3 * 4'799'528);
        QCOMPARE(linksLine(run), QStringLiteral("Links: all up"));
    }

    void whatABertOfAnyFolderSendsIsUnknown() {
        RunStore run(QStringLiteral("20260102T030405Z-00000001"));
        RunRecord bert = record();
        bert.config->model = "bert";
        run.setRecord(bert);
        QCOMPARE(topologyOf(run).links[0].bytesThere, 2.0 * 2 / 3 * 4 * 22'714'371);
        bert.config->bertDir = "/models/large";
        run.setRecord(bert);
        QCOMPARE(topologyOf(run).links[0].bytesThere, 0.0);
    }

    void whatTheStagesOfAPipelineSendEachOtherIsToldFromWhatEachOfThemSent() {
        RunStore run(QStringLiteral("20260102T030405Z-00000001"));
        RunRecord pipeline = record();
        pipeline.config->method = Method::Pipeline;
        run.setRecord(pipeline);
        QVERIFY(topologyOf(run).flows.empty()); // nothing was counted yet
        const std::vector<double> sentMb = {1.0, 1.5, 0.5};
        for (int rank = 0; rank < 3; ++rank) {
            StepsFrame body;
            body.epoch = 1;
            body.lastStep = 9;
            body.count = 10;
            add(body.scalars, "sent_mb", sentMb[std::size_t(rank)]);
            Frame frame;
            frame.rank = rank;
            frame.body = body;
            run.take(frame);
        }
        run.flush();
        const Topology topology = topologyOf(run);
        std::vector<std::tuple<int, int, double>> flows;
        for (const TopologyFlow &flow : topology.flows)
            flows.emplace_back(flow.from, flow.to, flow.bytes);
        QVERIFY(flows ==
                (std::vector<std::tuple<int, int, double>>{{0, 1, 1e6}, {1, 0, 1e6}, {1, 2, 5e5}, {2, 1, 5e5}}));
        QCOMPARE(topology.links[0].bytesThere, 5e5);
        QCOMPARE(topology.links[0].bytesBack, 5e5);
        for (const RankTraffic &traffic : trafficOf(run))
            QVERIFY(!traffic.formula && !traffic.flows.empty());
    }

    void aLostLinkIsNotTheRunsState() {
        RunStore run(QStringLiteral("20260102T030405Z-00000001"));
        run.setRecord(record());
        run.take(linkFrame("up"));
        run.take(linkFrame("lost"));
        const Topology topology = topologyOf(run);
        QCOMPARE(topology.links[0].state, TopologyLink::State::Lost);
        QVERIFY(topology.nodes[0].heard && !topology.nodes[1].heard);
        QVERIFY(linksLine(run).contains(QStringLiteral("hostB lost, its training state unknown")));
        QVERIFY(!run.lifecycle().sentence().contains(QStringLiteral("lost")));
    }

    void ofHundredsOfNodesOnlyTheLinksOfNode0AreKept() {
        RunRecord many = record();
        for (int i = 2; i < 300; ++i)
            many.config->nodes.push_back({"h" + std::to_string(i), "eth0", {"0"}, {}, 0, {}, {}, {}});
        RunStore run(QStringLiteral("20260102T030405Z-00000001"));
        run.setRecord(many);
        run.take(linkFrame("up"));
        const Topology topology = topologyOf(run);
        QVERIFY(!topology.isDrawable());
        QCOMPARE(topology.worldSize(), 301);
        QCOMPARE(topology.links.size(), std::size_t(299));
        QCOMPARE(topology.links[0].state, TopologyLink::State::Up);
        QVERIFY(topology.links[0].bytesThere > 0 && topology.links[298].bytesBack > 0); // the ring's first and last
        QCOMPARE(topology.links[1].bytesThere + topology.links[1].bytesBack, 0.0);
        many.config->method = Method::PsSync;
        many.config->servers = 400; // more than there are ranks, as no run of ours has
        run.setRecord(many);
        QVERIFY(topologyOf(run).links.size() == 299);
    }

    void aRunOnOneMachineHasNoSuchPicture() {
        RunStore run;
        RunRecord one;
        one.config = RunConfig();
        run.setRecord(one);
        QVERIFY(!hasSeveralNodes(run));
        QVERIFY(topologyOf(run).nodes.empty());
    }
};

QTEST_GUILESS_MAIN(CoreNodeChoiceTest)
#include "node_choice_test.moc"

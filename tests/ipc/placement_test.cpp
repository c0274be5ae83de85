// SPDX-License-Identifier: MIT
// Where a run's processes go: the text of --nodes, prefix sums of ranks, and what is refused.

#include "ipc/node_messages.h"
#include "ipc/run_config.h"
#include "tests/qt_test.h"

using namespace lockstep;

namespace {

RunConfig withNodes(const char *text) {
    RunConfig config;
    config.method = Method::Ddp;
    config.nodes = nodesFromText(text).value();
    return config;
}

std::string joined(const std::vector<Error> &errors) {
    std::string text;
    for (const Error &error : errors)
        text += error.message() + "\n";
    return text;
}

} // namespace

class PlacementTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void aTextNamesHostInterfaceAndDevices() {
        const auto nodes = nodesFromText("hostA%eth0:0,1; me@[fe80::1]%bond0:2 kind=cuda cores=3 data=/a%20b%3Bc ;:0");
        QVERIFY2(nodes.has_value(), nodes ? "" : nodes.error().message().c_str());
        QCOMPARE(nodes->size(), std::size_t{3});
        QCOMPARE((*nodes)[0], (NodePlace{"hostA", "eth0", {"0", "1"}, "", 0, "", "", ""}));
        QCOMPARE((*nodes)[1].dataDir, std::string("/a b;c"));
        QCOMPARE((*nodes)[1].device, std::string("cuda"));
        QCOMPARE((*nodes)[2], (NodePlace{"", "", {"0"}, "", 0, "", "", ""}));
        QVERIFY(*nodesFromText(toText(*nodes)) == *nodes);
        QVERIFY(nodesFromText("")->empty());
    }

    void whatCannotBeMeantIsRefusedWithTheNodeAndTheWayOut_data() {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QByteArray>("sentence");
        const auto row = [](const char *text, const char *sentence) {
            QTest::newRow(text) << QByteArray(text) << QByteArray(sentence);
        };
        row("hostA", "names no devices");
        row("hostA:0;", "node 1");
        row("-oProxyCommand=x:0", "begins with '-'");
        row("host;$(x):0", "names no devices");
        row("ho'st:0", "letters, digits");
        row("a:x", "device numbers");
        row("a%eth0/1:0", "no network interface");
        row("a:0 cores=0", "1 to 4096");
        row("a:0 kind=tpu", "cpu or cuda");
        row("a:0 colour=red", "not known");
        row("a:0 data=%0A", "control character");
    }
    void whatCannotBeMeantIsRefusedWithTheNodeAndTheWayOut() {
        QFETCH(QByteArray, text);
        QFETCH(QByteArray, sentence);
        const auto nodes = nodesFromText(text.toStdString());
        QVERIFY(!nodes);
        QVERIFY2(nodes.error().message().find(sentence.toStdString()) != std::string::npos,
                 nodes.error().message().c_str());
        QVERIFY(nodes.error().kind == ErrorKind::BadArgument);
    }

    void aRunHasAtMostSoManyNodes() {
        std::string text = "a%e:0";
        for (int i = 1; i < mostNodes; ++i)
            text += ";a%e:0";
        QVERIFY(nodesFromText(text));
        const auto more = nodesFromText(text + ";a%e:0");
        QVERIFY(!more && more.error().message().find("4097 nodes are given") != std::string::npos);
    }

    void aRunHasAtMostSoManyDevices() {
        std::string list = "0";
        for (std::size_t i = 1; i < mostDevicesOfRun / 2; ++i)
            list += ",0";
        RunConfig config;
        QVERIFY(findField("devices")->set(config, list + "," + list));
        const Result<void> many = findField("devices")->set(config, list + "," + list + ",0");
        QVERIFY(!many && many.error().message().find("65537 are more than the 65536") != std::string::npos);
        QCOMPARE(config.devices.size(), mostDevicesOfRun);
        QVERIFY(nodesFromText("a%e:" + list + ";b%e:" + list));
        const auto more = nodesFromText("a%e:" + list + ";b%e:" + list + ";c%e:0");
        QVERIFY(!more && more.error().message().find(
                             "the first 3 nodes have 65537 devices, and a run has at most 65536") != std::string::npos);
    }

    void ranksOfUnlikeNodesArePrefixSums() {
        using Ints = std::vector<int>;
        QCOMPARE(firstRanks(Ints{2, 3}), (Ints{0, 2}));
        QCOMPARE(firstRanks(Ints{3, 2}), (Ints{0, 3})); // never nproc times node_rank: that would be 2
        QCOMPARE(firstRanks(Ints{4, 4}), (Ints{0, 4}));
        QCOMPARE(firstRanks(Ints{4, 4, 4}), (Ints{0, 4, 8}));
        const RunConfig config = withNodes("a%e:0,1;b%e:0,1,2");
        QCOMPARE(processesOfNodes(config), (Ints{2, 3}));
        QCOMPARE(deviceCount(config), 5);
        QCOMPARE(processCount(config), 5);
    }

    void batchAndMethodCountAllNodesTogether() {
        RunConfig config = withNodes("a%e:0,1;b%e:0");
        config.batchSize = 63;
        QVERIFY2(validate(config).empty(), joined(validate(config)).c_str());
        config.batchPerDevice = 0;
        config.batchSize = 64;
        QVERIFY(joined(validate(config)).find("among 3 devices") != std::string::npos);
        config.batchSize = 63;
        config.method = Method::Dp;
        QVERIFY(joined(validate(config)).find("can't reach over 2 nodes") != std::string::npos);
        config.method = Method::Ddp;
        config.nodes[1].device = "cuda";
        QVERIFY2(validate(config).empty(), joined(validate(config)).c_str());
        QCOMPARE(configOfNode(config, 0).backend, std::string("gloo")); // cpu with cuda
        config.backend = "nccl";
        QVERIFY(joined(validate(config)).find("nccl needs GPUs on every node") != std::string::npos);
        config.backend = "auto";
        config.nodes[1].interface.clear();
        QVERIFY(joined(validate(config)).find("over loopback no other host reaches it") != std::string::npos);
    }

    void aNodesOwnConfigKeepsTheBatchOfAll() {
        RunConfig config = withNodes("a%eth0:0,1 cores=2;b%bond0:3 data=/d");
        config.batchSize = 63;
        const RunConfig own = configOfNode(config, 1);
        QCOMPARE(own.devices, std::vector<std::string>{"3"});
        QCOMPARE(own.interface, std::string("bond0"));
        QCOMPARE(own.dataDir, std::string("/d"));
        QCOMPARE(own.coresPerDevice, 1);
        QCOMPARE(configOfNode(config, 0).coresPerDevice, 2);
        QCOMPARE(deviceCount(own), 3);
        QVERIFY(validate(own).empty());
    }

    void aMessageOfTheLinkTravels() {
        NodeMessage join;
        join.what = NodeMessage::What::Join;
        join.processes = 3;
        join.shared = true;
        join.devices = {"node1/cpu:0"};
        join.machine.emplace();
        join.machine->host = "box \"2\"";
        join.machine->node = 1;
        const std::string line = encode(join);
        QVERIFY(isNodeMessage(line));
        const auto back = decodeNodeMessage(line);
        QVERIFY2(back.has_value(), back ? "" : back.error().message().c_str());
        QVERIFY(back->what == NodeMessage::What::Join && back->shared && back->processes == 3);
        QVERIFY(*back->machine == *join.machine);
        QCOMPARE(back->devices, join.devices);
        QVERIFY(!decodeNodeMessage("{\"type\":\"node\",\"what\":\"dance\"}"));
        QVERIFY(!isNodeMessage("{\"type\":\"log\",\"message\":\"{\\\"type\\\":\\\"node\\\"\"}"));
    }

    void aNodesLastMessageSaysWhatWentOnThereAndAnOlderAgentsSaysNothingOfIt() {
        NodeMessage over;
        over.what = NodeMessage::What::Over;
        over.state = "done";
        over.watching = Watching{0, {}, {}, 0.5, 14.4};
        over.surroundings = Surroundings{10, 8.37, 0.0, 2.0, {"CPU quota"}};
        over.surroundings->freeCores = 2;
        const auto back = decodeNodeMessage(encode(over));
        QVERIFY2(back.has_value(), back ? "" : back.error().message().c_str());
        QVERIFY(back->watching == over.watching && back->surroundings == over.surroundings);
        const auto older = decodeNodeMessage("{\"type\":\"node\",\"what\":\"over\",\"state\":\"done\"}");
        QVERIFY(older.has_value());
        QVERIFY(!older->watching && !older->surroundings);
    }

    void aMessageThatCountsWhatNoRunCanHaveMadeIsRefused() {
        const auto made = [](const std::string &what, const std::string &epochs, const std::string &steps) {
            return decodeNodeMessage("{\"type\":\"node\",\"what\":\"" + what + "\",\"number\":0,\"epochs\":" + epochs +
                                     ",\"steps\":" + steps + "}");
        };
        for (const std::string what : {"gone", "go"}) {
            QVERIFY(made(what, "0", "0"));
            QVERIFY(made(what, "10000000", "1000000000000"));
            for (const auto &[epochs, steps] : {std::pair<std::string, std::string>{"-5", "0"},
                                                {"10000001", "0"},
                                                {"2", "-9000000000000000000"},
                                                {"2", "9000000000000000000"}})
                QVERIFY(!made(what, epochs, steps));
        }
        QCOMPARE(
            made("gone", "-5", "3").error().message(),
            std::string("a node's message 'gone' says that -5 epochs and 3 steps were made, which no run can have"));
    }

    void theFirstSoManyDevicesAreThoseOfTheFirstNodes() {
        const auto nodes = *nodesFromText("hostA%eth0:0,1;hostB%bond0:3 agent=/a;hostC%eth0:0");
        QCOMPARE(toText(firstDevices(nodes, 1)), std::string("hostA%eth0:0"));
        QCOMPARE(toText(firstDevices(nodes, 3)), std::string("hostA%eth0:0,1;hostB%bond0:3 agent=/a"));
        QCOMPARE(firstDevices(nodes, 9), nodes);
        QCOMPARE(placesOf(nodes), std::string("hostA%eth0:0,1;hostB%bond0:3;hostC%eth0:0"));
    }
};

QTEST_GUILESS_MAIN(PlacementTest)
#include "placement_test.moc"

// SPDX-License-Identifier: MIT
// Nodes without a network: the book, ssh's words, what the doctor concludes from a snapshot, pasted torchrun lines.

#include "base/command_prefix.h"
#include "core_support.h"
#include "nodes/doctor.h"
#include "nodes/known_places.h"
#include "nodes/node_book.h"
#include "nodes/node_shell.h"
#include "nodes/sync.h"
#include "nodes/torchrun_lines.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::core;

namespace {

NodeFacts::Interface interface(const char *name, const char *address, int mtu = 1500, std::optional<int> speed = {},
                               bool real = true) {
    NodeFacts::Interface one;
    one.name = name;
    one.state = "up";
    one.addresses = {address};
    one.mtu = mtu;
    one.speedMbit = speed;
    one.real = real;
    return one;
}

NodeSnapshot node(const char *name, std::vector<NodeFacts::Interface> interfaces) {
    NodeSnapshot snapshot;
    snapshot.node = {name, "ssh", name, {}, {}, {}, false, {}};
    snapshot.agentVersion = "0.1.0";
    NodeFacts facts;
    facts.host = name;
    facts.arch = "x86_64";
    facts.agent = "0.1.0";
    facts.torch = "2.11.0";
    facts.home = "/home/a/.local/share/lockstep";
    facts.diskFreeBytes = 100e9;
    facts.nofile = {1024, 1048576};
    facts.interfaces = std::move(interfaces);
    snapshot.facts = facts;
    snapshot.clock = ClockView{0.001, 0.0005};
    return snapshot;
}

NetTry tried(std::size_t from, std::size_t to, const char *address, bool ok, bool named = false,
             const char *error = "no_answer") {
    NetTry one;
    one.from = from;
    one.to = to;
    one.address = address;
    one.named = named;
    one.ok = ok;
    one.error = ok ? "" : error;
    return one;
}

LinkMeasure link(std::size_t from, std::size_t to, const char *address, double bandwidth) {
    LinkMeasure one;
    one.from = from;
    one.to = to;
    one.address = address;
    one.interface = "eth0";
    one.ok = true;
    one.roundTripS = 1e-4;
    one.bandwidthBytesS = bandwidth;
    return one;
}

/// Two nodes that are as they should be: bond0 here, eno1 there, a Docker bridge on both.
DoctorSnapshot goodSnapshot() {
    DoctorSnapshot snapshot;
    snapshot.ownVersion = "0.1.0";
    snapshot.nodes = {node("node1", {interface("docker0", "172.17.0.1", 1500, {}, false),
                                     interface("bond0", "10.0.0.1", 1500, 1000)}),
                      node("node2", {interface("docker0", "172.17.0.1", 1500, {}, false),
                                     interface("eno1", "10.0.0.2", 1500, 1000)})};
    snapshot.tries = {tried(0, 1, "10.0.0.2", true), tried(1, 0, "10.0.0.1", true),
                      tried(0, 1, "172.17.0.1", false, false, "somebody_else"),
                      tried(1, 0, "172.17.0.1", false, false, "refused")};
    snapshot.choices = chooseInterfaces(snapshot);
    snapshot.links = {link(0, 1, "10.0.0.2", 1.1e8), link(1, 0, "10.0.0.1", 1.1e8)};
    return snapshot;
}

QStringList codes(const std::vector<Finding> &findings) {
    QStringList out;
    for (const Finding &one : findings) {
        out << QString::fromStdString(one.code);
        if (one.fix.empty() || one.what.empty() || one.where.empty())
            out << QStringLiteral("INCOMPLETE");
    }
    return out;
}

std::vector<Finding> pasted(std::initializer_list<const char *> commands, const DoctorSnapshot *snapshot = nullptr) {
    std::vector<TorchrunLine> lines;
    for (const char *command : commands)
        lines.push_back(*readTorchrun(command));
    return torchrunFindings(lines, snapshot);
}

} // namespace

class CoreNodesTest : public QObject {
    Q_OBJECT
    test::Home m_home;

private Q_SLOTS:
    void theBookKeepsNodesAndRefusesNamesThatCouldReachAShell() {
        NodeEntry entry{"node1", "ssh", "lab.example",   {}, "/opt/it's here/lockstep-agent",
                        "bond0", true,  "2.11.0 by sync"};
        QVERIFY(addNode(entry));
        QVERIFY(!addNode(entry));
        QCOMPARE(*readNodes(), std::vector<NodeEntry>{entry});
        entry.interface = "eno1";
        QVERIFY(replaceNode(entry));
        QCOMPARE(readNodes()->front().interface, std::string("eno1"));
        for (const char *name : {"", "-x", "a b", "a;b", "a\nb", "$(id)", "..", "a/b", "'a'"})
            QVERIFY2(!checkNode({name, "ssh", "h", {}, {}, {}, false, {}}), name);
        for (const char *host : {"", "-oProxyCommand=x", "a b", "a;b", "a\nb", "$(id)", "`id`", "a'b"})
            QVERIFY2(!checkNode({"n", "ssh", host, {}, {}, {}, false, {}}), host);
        for (const char *name : {"eth0;id", "a b", "an_interface_too_long", "$x"})
            QVERIFY2(!checkNode({"n", "ssh", "h", {}, {}, name, false, {}}), name);
        QVERIFY(!chosenNodes({"node1", "nobody"}));
        QVERIFY(removeNode("node1"));
        QVERIFY(readNodes()->empty());
    }

    void aBookThatIsBrokenIsSaidSoAndNotOverwritten() {
        const std::string path = m_home.path() + "/nodes.json";
        QVERIFY(realFileSystem().writeAtomically(path, "{\"nodes\":[{\"name\":"));
        QVERIFY(!readNodes());
        QVERIFY(!addNode({"n", "ssh", "h", {}, {}, {}, false, {}}));
        QCOMPARE(*realFileSystem().readAll(path), std::string("{\"nodes\":[{\"name\":"));
        QVERIFY(QFile::remove(QString::fromStdString(path)));
    }

    void aDocumentThatTheDiskDoesNotGiveIsNotTakenForAnEmptyOne() {
        for (const std::string &path : {nodesFile(), dataHome() + "/known_places.json"}) {
            (void)QFile::remove(QString::fromStdString(path));
            QVERIFY(QFile::link(QStringLiteral("/proc/self/mem"), QString::fromStdString(path))); // answers EIO
            QVERIFY(!addNode({"n", "ssh", "h", {}, {}, {}, false, {}}) || path != nodesFile());
            QVERIFY(!rememberPlace(prefixFor("hostA", "/opt/lockstep-agent").value()) || path == nodesFile());
            QCOMPARE(QFile::symLinkTarget(QString::fromStdString(path)), QStringLiteral("/proc/self/mem"));
            QVERIFY(QFile::remove(QString::fromStdString(path)));
        }
    }

    void aChangeThatTheBookCouldNotBeReadAfterIsRefused() {
        QVERIFY(addNode({"mine", "ssh", "h", {}, {}, "eth0", false, {}}));
        const std::string before = *realFileSystem().readAll(nodesFile());
        const auto changed = [](const std::function<void(NodeEntry &)> &change) {
            return changeNodes([&](std::vector<NodeEntry> &nodes) -> Result<void> {
                change(nodes.back());
                return {};
            });
        };
        for (const std::string &name : {std::string("eth0 of another machine"), std::string(15, '\xff')})
            QVERIFY2(!changed([&](NodeEntry &one) { one.interface = name; }), name.c_str());
        QVERIFY(!changed([](NodeEntry &one) { one.agent = "/home/a\tb/lockstep-agent"; }));
        QVERIFY(!changed([](NodeEntry &one) { one.agent = "/" + std::string(5000, 'a'); }));
        QVERIFY(!changed([](NodeEntry &one) { one.lineReason.assign(largestDocument, 'a'); }));
        QCOMPARE(*realFileSystem().readAll(nodesFile()), before);
        DoctorSnapshot snapshot = goodSnapshot();
        snapshot.nodes[0].node.name = "mine";
        snapshot.choices[0].interface = "eth0 of another machine";
        const auto kept = keepChoices(snapshot);
        QVERIFY2(!kept && kept.error().what.find("'eth0 of another machine', the interface of mine,") == 0,
                 kept ? "" : kept.error().what.c_str());
        QCOMPARE(readNodes()->back().interface, std::string("eth0"));
        QVERIFY(removeNode("mine"));
    }

    void ofAChangedHostKeyNothingIsOpenedThatSshsOutputNames() {
        QTemporaryDir folder;
        const std::string file = folder.filePath(QStringLiteral("known")).toStdString();
        QVERIFY(realFileSystem().writeAtomically(file, "box ssh-ed25519 AAAA\n"));
        const std::string said = "@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\n"
                                 "The fingerprint for the ED25519 key sent by the remote host is\nSHA256:abc+/1.\n"
                                 "Offending ED25519 key in " +
                                 file + ":1\n";
        const NodeError unknown = sshError("box", said);
        QCOMPARE(unknown.trouble, NodeTrouble::HostKeyChanged);
        QVERIFY2(unknown.error.what.find("it sent SHA256:abc+/1, known is what this prints: ssh-keygen -l -F box") !=
                     std::string::npos,
                 unknown.error.what.c_str());
        QVERIFY2(unknown.error.what.find(file) == std::string::npos, unknown.error.what.c_str());
        const NodeError known = sshError("box", said, "SHA256:def");
        QVERIFY2(known.error.what.find("known is SHA256:def") != std::string::npos, known.error.what.c_str());
    }

    void theKnownKeyIsFoundInTheFilesThatSshIsConfiguredWith() {
        for (const char *program : {"ssh", "ssh-keygen"})
            if (QStandardPaths::findExecutable(QString::fromLatin1(program)).isEmpty())
                QSKIP(qPrintable(QString::fromLatin1(program) + QStringLiteral(" is not installed")));
        QTemporaryDir folder;
        const std::string known = folder.filePath(QStringLiteral("known")).toStdString(),
                          config = folder.filePath(QStringLiteral("config")).toStdString();
        QVERIFY(realFileSystem().writeAtomically(
            known, "[127.0.0.1]:2222 ssh-ed25519 "
                   "AAAAC3NzaC1lZDI1NTE5AAAAIHtDmyXMpVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVV\n"));
        QVERIFY(realFileSystem().writeAtomically(
            config, "Host box\n HostName 127.0.0.1\n Port 2222\n UserKnownHostsFile " + known +
                        "\n GlobalKnownHostsFile /dev/null\nHost other\n UserKnownHostsFile /dev/null\n"
                        " GlobalKnownHostsFile /dev/null\n"));
        qputenv("LOCKSTEP_SSH_OPTIONS", ("-F " + config).c_str());
        const auto box = prefixFor("box"), other = prefixFor("other");
        qunsetenv("LOCKSTEP_SSH_OPTIONS");
        QCOMPARE(knownFingerprints(*box), std::string("SHA256:U823oOjrVJtUfUUcj+RlM7edfkAOwTgjz2ZP92ylKXI"));
        QCOMPARE(knownFingerprints(*other), std::string());
    }

    void wordsForSrunArriveAsTheyAreAndForSshQuoted() {
        const auto slurm = prefixFor(NodeEntry{"n1", "slurm", "n1", "gpu", "/a b/agent", {}, false, {}});
        QVERIFY(slurm);
        QCOMPARE(agentCommand(*slurm, {"node"}).back(), std::string("node"));
        QCOMPARE(*(agentCommand(*slurm, {"node"}).end() - 2), std::string("/a b/agent"));
        const auto ssh = prefixFor(NodeEntry{"n1", "ssh", "n1", {}, "/a b/agent", {}, false, {}});
        QCOMPARE(*(agentCommand(*ssh, {"node"}).end() - 2), std::string("'/a b/agent'"));
    }

    void sshsQuestionsAreUnderstood() {
        const SshQuestion key = sshQuestion(
            "The authenticity of host '[box]:22 ([10.0.0.1]:22)' can't be established.\nED25519 key fingerprint is "
            "SHA256:abc+/1.\nThis key is not known by any other names.\nAre you sure you want to continue connecting "
            "(yes/no/[fingerprint])? ");
        QCOMPARE(key.kind, SshQuestion::Kind::HostKey);
        QCOMPARE(key.fingerprint, std::string("SHA256:abc+/1"));
        QCOMPARE(key.keyType, std::string("ED25519"));
        const SshQuestion passphrase = sshQuestion("Enter passphrase for key '/home/a/.ssh/id_ed25519': ");
        QCOMPARE(passphrase.kind, SshQuestion::Kind::Passphrase);
        QCOMPARE(passphrase.keyFile, std::string("/home/a/.ssh/id_ed25519"));
        QVERIFY(passphrase.secret() && !key.secret());
        QCOMPARE(sshQuestion("a@box's password: ").kind, SshQuestion::Kind::Password);
        QCOMPARE(sshQuestion("Verification code: ").kind, SshQuestion::Kind::Other);
    }

    void aWindowAnswersSshByASocketOrRefuses() {
        qputenv("LOCKSTEP_CTL", LOCKSTEP_BIN "/lockstepctl");
        SshQuestionServer server;
        const auto answers = server.start();
        QVERIFY(answers);
        const auto environment = answers->environment();
        QVERIFY(environment);
        for (const bool willing : {true, false}) {
            QSignalSpy asked(&server, &SshQuestionServer::asked);
            QProcess askpass;
            QProcessEnvironment variables = QProcessEnvironment::systemEnvironment();
            for (const auto &[name, value] : *environment)
                variables.insert(QString::fromStdString(name), QString::fromStdString(value));
            askpass.setProcessEnvironment(variables);
            askpass.start(QString::fromStdString(environment->at("SSH_ASKPASS")),
                          {QStringLiteral("Enter passphrase for key '/k': ")});
            QTRY_COMPARE(asked.size(), 1);
            const int id = asked.front().front().toInt();
            QCOMPARE(asked.front().at(1).value<SshQuestion>().keyFile, std::string("/k"));
            if (willing)
                server.answer(id, QStringLiteral("it's \"$secret\"; \\ ü"));
            else
                server.refuse(id);
            QTRY_COMPARE(askpass.state(), QProcess::NotRunning);
            QCOMPARE(askpass.exitCode(), willing ? 0 : 1);
            QCOMPARE(QString::fromUtf8(askpass.readAllStandardOutput()),
                     willing ? QStringLiteral("it's \"$secret\"; \\ ü\n") : QString());
        }
    }

    void aClockIsReadFromTheMiddleOfItsRoundTrip() {
        const ClockView view = clockView(1'000'000, 3'500'000, 1'200'000);
        QCOMPARE(view.offsetS, 2.4);
        QCOMPARE(view.errorS, 0.1);
    }

    void nodesThatAreAsTheyShouldBeGiveNoFinding() {
        const DoctorSnapshot snapshot = goodSnapshot();
        QCOMPARE(codes(findingsOf(snapshot)), QStringList());
        QCOMPARE(snapshot.choices[0].interface, std::string("bond0"));
        QCOMPARE(snapshot.choices[1].interface, std::string("eno1"));
        QCOMPARE(snapshot.choices[1].address, std::string("10.0.0.2"));
    }

    void ofANodesInterfacesAndAddressesAsManyAreTakenAsEveryNodeCanTry() {
        QString list;
        for (int i = 0; i < 100; ++i)
            list += QStringLiteral("%1{\"name\":\"eth%2\",\"addresses\":[\"10.0.%2.1\",\"10.0.%2.2\",\"10.0.%2.3\","
                                   "\"10.0.%2.4\",\"10.0.%2.5\"]}")
                        .arg(i > 0 ? QStringLiteral(",") : QString())
                        .arg(i);
        list += QStringLiteral(",{\"name\":\"eth0 of another machine\",\"addresses\":[\"10.0.0.9\"]}");
        const auto facts = nodeFactsFromJson(
            QStringLiteral("{\"type\":\"node\",\"host\":\"n\",\"interfaces\":[%1]}").arg(list).toStdString());
        QVERIFY(facts);
        QCOMPARE(facts->interfaces.size(), std::size_t(64));
        QCOMPARE(facts->interfacesLeftOut, std::size_t(37));
        QCOMPARE(facts->addressesLeftOut, std::size_t(64 * 5 - 256));
        QCOMPARE(facts->interfaces.front().addresses.size(), std::size_t(5));
        for (const qsizetype gpus : {256, 257}) {
            const QString cards = QStringLiteral("{},").repeated(gpus).chopped(1);
            const auto node = nodeFactsFromJson("{\"type\":\"node\",\"gpus\":[" + cards.toStdString() + "]}");
            QCOMPARE(node.has_value(), gpus == 256);
            QVERIFY(node || node.error().message().find("257 GPUs, and a node has 256 at most") != std::string::npos);
        }
        QVERIFY(facts->interfaces.back().addresses.empty());
        DoctorSnapshot snapshot = goodSnapshot();
        snapshot.nodes[0].facts->interfacesLeftOut = 1;
        QCOMPARE(codes(findingsOf(snapshot)), QStringList{QStringLiteral("many_interfaces")});
    }

    void anAddressThatOneNodeDoesNotReachIsNotChosen() {
        DoctorSnapshot snapshot = goodSnapshot();
        snapshot.nodes.push_back(node("node3", {interface("eth0", "10.0.0.3", 1500, 1000)}));
        snapshot.tries.push_back(tried(2, 0, "10.0.0.1", true));
        snapshot.tries.push_back(tried(2, 1, "10.0.0.2", true, true)); // at the run's port only
        QCOMPARE(chooseInterfaces(snapshot)[0].interface, std::string("bond0"));
        QCOMPARE(chooseInterfaces(snapshot)[1].interface, std::string());
        QVERIFY(reachedByAll(snapshot, 0, "10.0.0.1") && !reachedByAll(snapshot, 1, "10.0.0.2"));
        snapshot.tries.push_back(tried(0, 1, "10.0.0.2", true)); // twice by one node is not by two
        QVERIFY(!reachedByAll(snapshot, 1, "10.0.0.2"));
    }

    void aFasterRealInterfaceGoesBeforeASlowerOneAndABridge() {
        DoctorSnapshot snapshot = goodSnapshot();
        snapshot.nodes[0].facts->interfaces.push_back(interface("ib0", "10.1.0.1", 2044, 100000));
        snapshot.nodes[0].facts->interfaces.push_back(interface("br0", "10.2.0.1", 1500, 400000, false));
        snapshot.tries.push_back(tried(1, 0, "10.1.0.1", true));
        snapshot.tries.push_back(tried(1, 0, "10.2.0.1", true));
        QCOMPARE(chooseInterfaces(snapshot)[0].interface, std::string("ib0"));
        snapshot.nodes[0].node.interface = "br0";
        snapshot.nodes[0].node.interfacePinned = true;
        QCOMPARE(chooseInterfaces(snapshot)[0].interface, std::string("br0"));
    }

    void everyTroubleIsNamed_data() {
        QTest::addColumn<QString>("code");
        QTest::addColumn<std::function<void(DoctorSnapshot &)>>("spoil");
        const auto row = [](const char *code, std::function<void(DoctorSnapshot &)> spoil) {
            QTest::newRow(code) << QString::fromLatin1(code) << std::move(spoil);
        };
        row("wrong_interface", [](DoctorSnapshot &snapshot) {
            snapshot.nodes[1].node.interface = "docker0";
            snapshot.nodes[1].node.interfacePinned = true;
            snapshot.choices = chooseInterfaces(snapshot);
        });
        row("no_interface", [](DoctorSnapshot &snapshot) {
            snapshot.tries[0].ok = false;
            snapshot.choices = chooseInterfaces(snapshot);
            snapshot.links.clear();
        });
        row("closed_port", [](DoctorSnapshot &snapshot) {
            snapshot.port = 29500;
            snapshot.tries.push_back(tried(0, 1, "10.0.0.2", false, true));
            snapshot.tries.push_back(tried(1, 0, "10.0.0.1", true, true));
        });
        row("port_in_use", [](DoctorSnapshot &snapshot) {
            snapshot.port = 29500;
            snapshot.ports = {{0, "10.0.0.1", "pid 4711 (python3)", "Address already in use", true}};
        });
        row("one_way", [](DoctorSnapshot &snapshot) {
            snapshot.links[0].ok = false;
            snapshot.links[0].error = "no_answer";
        });
        row("large_packets", [](DoctorSnapshot &snapshot) {
            snapshot.links[0].stalled = true;
            snapshot.links[0].bandwidthBytesS.reset();
        });
        row("mtu_differs", [](DoctorSnapshot &snapshot) { snapshot.nodes[1].facts->interfaces[1].mtu = 9000; });
        row("slow_link", [](DoctorSnapshot &snapshot) {
            snapshot.links[0].bandwidthBytesS = snapshot.links[1].bandwidthBytesS = 1.1e7;
        });
        row("unlike_ways", [](DoctorSnapshot &snapshot) {
            for (NodeSnapshot &node : snapshot.nodes)
                node.facts->interfaces[1].speedMbit.reset();
            snapshot.links[0].bandwidthBytesS = 4e7;
        });
        row("disk_full", [](DoctorSnapshot &snapshot) { snapshot.nodes[0].facts->diskFreeBytes = 1e6; });
        row("disk_little", [](DoctorSnapshot &snapshot) { snapshot.nodes[0].facts->diskFreeBytes = 1e9; });
        row("disk_read_only", [](DoctorSnapshot &snapshot) { snapshot.nodes[0].facts->homeWritable = false; });
        row("few_files", [](DoctorSnapshot &snapshot) { snapshot.nodes[0].facts->nofile = {1024, 1024}; });
        row("memlock", [](DoctorSnapshot &snapshot) {
            snapshot.nodes[0].facts->rdma = {"mlx5_0"};
            snapshot.nodes[0].facts->memlock = {65536, 65536};
        });
        row("clock", [](DoctorSnapshot &snapshot) { snapshot.nodes[0].clock->offsetS = 3; });
        row("old_agent", [](DoctorSnapshot &snapshot) { snapshot.nodes[1].agentVersion = "0.0.9"; });
        row("no_trainer", [](DoctorSnapshot &snapshot) { snapshot.nodes[1].facts->torch.clear(); });
        row("torch_differs", [](DoctorSnapshot &snapshot) { snapshot.nodes[1].facts->torch = "2.7.1"; });
        row("arch_differs", [](DoctorSnapshot &snapshot) { snapshot.nodes[1].facts->arch = "aarch64"; });
        row("nccl_differs", [](DoctorSnapshot &snapshot) {
            for (NodeSnapshot &node : snapshot.nodes)
                node.facts->gpus.resize(1);
            snapshot.nodes[0].facts->nccl = "2.28.9";
            snapshot.nodes[1].facts->nccl = "2.26.2";
        });
        row("driver_differs", [](DoctorSnapshot &snapshot) {
            snapshot.nodes[0].facts->gpuDriver = "580.1";
            snapshot.nodes[1].facts->gpuDriver = "590.2";
        });
        row("pcie_width", [](DoctorSnapshot &snapshot) {
            NodeFacts::Gpu gpu;
            gpu.pcieWidth = 8;
            gpu.pcieWidthMax = 16;
            snapshot.nodes[0].facts->gpus = {gpu};
        });
        row("no_peer_to_peer", [](DoctorSnapshot &snapshot) {
            NodeFacts::Gpu gpu;
            gpu.peerToPeer = {std::nullopt, false};
            snapshot.nodes[0].facts->gpus = {gpu};
        });
        row("own_name_loopback", [](DoctorSnapshot &snapshot) { snapshot.names = {{0, "node1", {"127.0.1.1"}, {}}}; });
        row("name_resolution", [](DoctorSnapshot &snapshot) {
            snapshot.names = {{0, "node2", {}, "Name or service not known"}};
        });
        row("data_missing", [](DoctorSnapshot &snapshot) {
            snapshot.dataset = "mnist";
            snapshot.data = {{0, "/d", {{"a", "1"}}}, {1, {}, {}}};
        });
        row("data_differs", [](DoctorSnapshot &snapshot) {
            snapshot.dataset = "mine";
            snapshot.data = {{0, "/d", {{"a", "1"}}}, {1, "/d", {{"a", "2"}}}};
        });
        row("data_repacked", [](DoctorSnapshot &snapshot) {
            snapshot.dataset = "mnist";
            snapshot.knownSha256["a"] = "1";
            snapshot.data = {{0, "/d", {{"a", "2"}}}, {1, "/d", {{"a", "2"}}}};
        });
        row("data_damaged", [](DoctorSnapshot &snapshot) {
            snapshot.dataset = "mnist";
            snapshot.knownSha256["a"] = "1";
            snapshot.data = {{0, "/d", {{"a", "1"}}}, {1, "/d", {{"a", "2"}}}};
        });
        const std::pair<const char *, NodeTrouble> troubles[] = {
            {"unreachable", NodeTrouble::Unreachable},         {"name_unknown", NodeTrouble::NameUnknown},
            {"key_refused", NodeTrouble::KeyRefused},          {"host_key_unknown", NodeTrouble::HostKeyUnknown},
            {"host_key_changed", NodeTrouble::HostKeyChanged}, {"no_agent", NodeTrouble::NoAgent}};
        for (const auto &[code, trouble] : troubles)
            row(code, [trouble = trouble](DoctorSnapshot &snapshot) {
                NodeSnapshot lost;
                lost.node = snapshot.nodes[1].node;
                lost.trouble = trouble;
                lost.problem = "it is not there";
                lost.wayOut = "look";
                snapshot.nodes[1] = lost;
                snapshot.choices.assign(2, {});
                snapshot.links.clear();
            });
    }
    void everyTroubleIsNamed() {
        QFETCH(QString, code);
        QFETCH(std::function<void(DoctorSnapshot &)>, spoil);
        DoctorSnapshot snapshot = goodSnapshot();
        spoil(snapshot);
        const QStringList found = codes(findingsOf(snapshot));
        QVERIFY2(found.contains(code), qPrintable(found.join(u' ')));
        QVERIFY(!found.contains(QStringLiteral("INCOMPLETE")));
        QVERIFY2(found.size() <= 2, qPrintable(found.join(u' '))); // and little else: one cause, one sentence
    }

    void aWrongInterfaceIsAnsweredWithTheOneThatWorks() {
        DoctorSnapshot snapshot = goodSnapshot();
        snapshot.nodes[1].node.interface = "docker0";
        snapshot.nodes[1].node.interfacePinned = true;
        snapshot.choices = chooseInterfaces(snapshot);
        const Finding said = findingsOf(snapshot).front();
        QVERIFY2(said.fix.find("--interface eno1") != std::string::npos, said.fix.c_str());
        QVERIFY2(said.fix.find("NCCL_SOCKET_IFNAME=eno1") != std::string::npos, said.fix.c_str());
        QVERIFY2(said.what.find("not reached from node1") != std::string::npos, said.what.c_str());
    }

    void commandsThatAgreeGiveNoFinding() {
        QCOMPARE(codes(pasted({"torchrun --nnodes 2 --nproc_per_node=2 --node-rank 0 --master_addr=node1 "
                               "--master_port=1234 train.py --epochs 3",
                               "GLOO_SOCKET_IFNAME=eno1 python3 -m torch.distributed.run --nnodes=2 --node_rank=1 "
                               "--nproc-per-node=3 \\\n --master_addr node1 --master_port "
                               "1234 train.py"})),
                 QStringList());
    }

    void contradictionsOfPastedCommandsAreNamed_data() {
        QTest::addColumn<QString>("first");
        QTest::addColumn<QString>("second");
        QTest::addColumn<QStringList>("found");
        const QString base =
            QStringLiteral("torchrun --nnodes=2 --node_rank=%1 --master_addr=%2 --master_port=%3 train.py");
        QTest::newRow("two masters") << base.arg(0).arg(QStringLiteral("node1")).arg(1234)
                                     << base.arg(1).arg(QStringLiteral("node2")).arg(1234)
                                     << QStringList{QStringLiteral("master_differs")};
        QTest::newRow("two ports") << base.arg(0).arg(QStringLiteral("node1")).arg(1234)
                                   << base.arg(1).arg(QStringLiteral("node1")).arg(12345)
                                   << QStringList{QStringLiteral("port_differs")};
        QTest::newRow("one rank twice") << base.arg(0).arg(QStringLiteral("node1")).arg(1)
                                        << base.arg(0).arg(QStringLiteral("node1")).arg(1)
                                        << QStringList{QStringLiteral("node_rank_twice")};
        QTest::newRow("rank past the end")
            << base.arg(0).arg(QStringLiteral("node1")).arg(1) << base.arg(2).arg(QStringLiteral("node1")).arg(1)
            << QStringList{QStringLiteral("node_rank")};
        QTest::newRow("loopback") << base.arg(0).arg(QStringLiteral("127.0.0.1")).arg(1)
                                  << base.arg(1).arg(QStringLiteral("127.0.0.1")).arg(1)
                                  << QStringList{QStringLiteral("master_loopback")};
        QTest::newRow("too few nodes")
            << base.arg(0).arg(QStringLiteral("node1")).arg(1)
            << QStringLiteral("torchrun --nnodes=3 --node_rank=1 --master_addr=node1 --master_port=1 train.py")
            << QStringList{QStringLiteral("nodes_count")};
        QTest::newRow("two programs")
            << base.arg(0).arg(QStringLiteral("node1")).arg(1)
            << QStringLiteral("torchrun --nnodes=2 --node_rank=1 --master_addr=node1 --master_port=1 other.py")
            << QStringList{QStringLiteral("script_differs")};
        QTest::newRow("two endpoints")
            << QStringLiteral("torchrun --nnodes=2 --node_rank=0 --rdzv-id=7 --rdzv-endpoint=node1:29400 t.py")
            << QStringLiteral("torchrun --nnodes=1:2 --node_rank=1 --rdzv_id=8 --rdzv_endpoint=node1:29401 t.py")
            << QStringList{QStringLiteral("port_differs"), QStringLiteral("rendezvous_differs")};
        const QString meeting =
            QStringLiteral("torchrun --nnodes=2 --rdzv-backend=c10d --rdzv-id=7 --rdzv-endpoint=node1:29400 t.py");
        QTest::newRow("numbered by torchrun") << meeting << meeting << QStringList();
    }
    void contradictionsOfPastedCommandsAreNamed() {
        QFETCH(QString, first);
        QFETCH(QString, second);
        QFETCH(QStringList, found);
        QCOMPARE(codes(pasted({first.toUtf8().constData(), second.toUtf8().constData()})), found);
    }

    void commandsAreHeldAgainstTheNodesTheyRunOn() {
        const DoctorSnapshot snapshot = goodSnapshot();
        const char *zero =
            "NCCL_SOCKET_IFNAME=bond0 torchrun --nnodes=2 --node_rank=0 --master_addr=10.0.0.1 --master_port=1 t.py";
        const char *one = "export NCCL_SOCKET_IFNAME=eno GLOO_SOCKET_IFNAME=eno1; torchrun --nnodes=2 --node_rank=1 "
                          "--master_addr=10.0.0.1 --master_port=1 t.py";
        QCOMPARE(codes(pasted({zero, one}, &snapshot)), QStringList()); // NCCL takes a beginning of the name
        const char *wrong =
            "GLOO_SOCKET_IFNAME=bond0 torchrun --nnodes=2 --node_rank=1 --master_addr=10.0.0.1 --master_port=1 t.py";
        const auto found = pasted({zero, wrong}, &snapshot);
        QCOMPARE(codes(found), QStringList{QStringLiteral("wrong_interface")});
        QCOMPARE(found.front().fix, std::string("GLOO_SOCKET_IFNAME=eno1 on node2"));
        const char *elsewhere = "torchrun --nnodes=2 --node_rank=0 --master_addr=node2 --master_port=1 t.py";
        const char *also = "torchrun --nnodes=2 --node_rank=1 --master_addr=node2 --master_port=1 t.py";
        QCOMPARE(codes(pasted({elsewhere, also}, &snapshot)), QStringList{QStringLiteral("master_elsewhere")});
        QVERIFY(!readTorchrun("python train.py"));
        QVERIFY(!readTorchrun("torchrun --nnodes=two train.py"));
    }

    void wordsAreSplitAsAShellSplitsThem() {
        QCOMPARE(shellWords("a 'b c' \"d \\\" e\" f\\ g \\\n h;i"),
                 (std::vector<std::string>{"a", "b c", "d \" e", "f g", "h", ";", "i"}));
    }

    void anotherProcessorOrAnOlderGlibcIsReportedBeforeAnythingIsCopied() {
        SyncSurvey node;
        node.arch = "x86_64";
        node.glibc = "2.31";
        node.tar = true;
        QVERIFY(fits(node, "x86_64", "2.17", "n"));
        QVERIFY(!fits(node, "x86_64", "2.34", "n"));
        QVERIFY(!fits(node, "aarch64", "2.17", "n"));
        QVERIFY(fits(node, "aarch64", "2.17", "n").error().what.find("aarch64") != std::string::npos);
        QCOMPARE(compareVersions("2.9", "2.34"), -1);
        QCOMPARE(compareVersions("2.34", "2.34"), 0);
        QCOMPARE(compareVersions("2.36", "2.4.9"), 1);
        const std::string needed = neededGlibc(LOCKSTEP_BIN "/lockstep-agent");
        QVERIFY2(compareVersions(needed, "2.14") > 0 && compareVersions(needed, "2.60") < 0, needed.c_str());
        QVERIFY(neededGlibc("/etc/os-release").empty());
    }

    void aBundlesVersionIsThatOfItsContents() {
        QTemporaryDir folder;
        const std::string file = folder.filePath(QStringLiteral("f")).toStdString();
        QVERIFY(realFileSystem().writeAtomically(file, "one"));
        const auto first = makeBundle("b", {{"bin/x", file, {}, 0, false}, {"a", file, {}, 0, false}});
        QVERIFY(first);
        QCOMPARE(first->files.front().path, std::string("a"));
        QVERIFY(realFileSystem().writeAtomically(file, "two"));
        const auto second = makeBundle("b", {{"bin/x", file, {}, 0, false}, {"a", file, {}, 0, false}});
        QVERIFY(first->version() != second->version());
        for (const char *path : {"../x", "a/../../x", "/x", "a b", "a\nb", "-x", ""})
            QVERIFY2(!makeBundle("b", {{path, file, {}, 0, false}}), path);
    }
};

QTEST_GUILESS_MAIN(CoreNodesTest)
#include "nodes_test.moc"

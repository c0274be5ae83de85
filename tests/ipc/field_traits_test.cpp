// SPDX-License-Identifier: MIT
// What each field of a config says of itself: whether it applies, its value in effect, what another value changes.

#include "ipc/backend_rule.h"
#include "ipc/run_config.h"
#include "tests/qt_test.h"

using namespace lockstep;

namespace {

RunConfig made(std::initializer_list<std::pair<const char *, const char *>> values) {
    RunConfig config;
    for (const auto &[key, value] : values)
        if (!findField(key) || !findField(key)->set(config, value))
            qFatal("%s=%s is no setting", key, value);
    return config;
}

bool applies(const char *key, std::initializer_list<std::pair<const char *, const char *>> values) {
    return appliesTo(*findField(key), made(values));
}

std::string effective(const char *key, std::initializer_list<std::pair<const char *, const char *>> values) {
    return effectiveValue(*findField(key), made(values));
}

} // namespace

class FieldTraitsTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void aFieldAppliesWhereItsValueCanChangeSomething() {
        QVERIFY(!applies("bucket_mb", {}) && applies("bucket_mb", {{"method", "ps-sync"}}));
        QVERIFY(!applies("dp_replicas", {{"method", "ddp"}}) && applies("dp_replicas", {{"method", "dp"}}));
        QVERIFY(applies("momentum", {}) && !applies("momentum", {{"optimizer", "adam"}}));
        QVERIFY(!applies("pin_memory", {}) && applies("pin_memory", {{"device", "cuda"}}));
        QVERIFY(!applies("pin_memory", {{"device", "cuda"}, {"loader", "device"}})); // no batch is copied
        QVERIFY(applies("cuda_graph", {{"device", "cuda"}}));
        QVERIFY(!applies("cuda_graph", {}) && !applies("cuda_graph", {{"method", "ddp"}, {"device", "cuda"}}));
        QVERIFY(applies("cores_per_device", {}) && !applies("cores_per_device", {{"device", "cuda"}}));
        QVERIFY(applies("cores_per_device", {{"device", "cuda"}, {"nodes", "a%e:0;b%e:0 kind=cpu"}}));
        QVERIFY(!applies("dropout", {{"model", "lenet"}}) && applies("dropout", {{"model", "convnet"}}));
        QVERIFY(!applies("worker_cores", {}) && applies("worker_cores", {{"workers", "1"}}));
    }

    void whatTwoConfigsSayInOtherWordsIsOneValueInEffect() {
        QCOMPARE(effective("batch_size", {{"batch_per_device", "32"}, {"devices", "0,1"}, {"method", "ddp"}}),
                 effective("batch_size", {{"batch_size", "64"}, {"devices", "0,1"}, {"method", "ddp"}}));
        QCOMPARE(effective("batch_per_device", {{"batch_per_device", "32"}}), std::string());
        QCOMPARE(effective("lr", {{"lr", "0.25"}, {"lr_rule", "linear"}, {"devices", "0,1"}, {"method", "ddp"}}),
                 effective("lr", {{"lr", "0.5"}, {"devices", "0,1"}, {"method", "ddp"}}));
        QCOMPARE(effective("lr", {{"lr", "0.25"},
                                  {"lr_rule", "linear"},
                                  {"devices", "0,1,2"},
                                  {"method", "ps-async"},
                                  {"server_devices", "1"}}),
                 std::string("0.5"));
        QCOMPARE(effective("lr", {{"lr", "0.25"},
                                  {"lr_rule", "linear"},
                                  {"batch_per_device", "32"},
                                  {"devices", "0,1"},
                                  {"method", "pipeline"}}),
                 std::string("0.25")); // the two devices are one pipeline
        QVERIFY(findField("lr_rule")->help.find("in pipeline by the pipelines") != std::string_view::npos);
        QCOMPARE(effective("threads", {{"cores_per_device", "3"}}), std::string("3"));
        QCOMPARE(effective("threads", {{"cores_per_device", "3"}, {"threads", "1"}}), std::string("1"));
        QCOMPARE(effective("threads", {{"device", "cuda"}}), std::string());
        QCOMPARE(effective("checkpoint_dir", {{"checkpoint_dir", "/a"}}),
                 effective("checkpoint_dir", {{"checkpoint_dir", "/b"}}));
        QCOMPARE(effective("worker_cores", {{"workers", "1"}, {"worker_cores", "2"}}),
                 effective("worker_cores", {{"workers", "1"}, {"worker_cores", "3"}}));
        QCOMPARE(effective("backend", {{"method", "ddp"}}), std::string("gloo"));
        QCOMPARE(effective("backend", {{"method", "ddp"}, {"device", "cuda"}, {"devices", "0,1"}}),
                 std::string("nccl"));
        QCOMPARE(effective("backend", {}), std::string());                                     // nothing is sent
        QCOMPARE(effective("non_blocking", {{"non_blocking", "true"}}), std::string("false")); // nothing is copied
    }

    void autoIsNcclWhereEachRankHasAGpuOfItsOwn() {
        const auto rule = [](std::vector<std::string> gpus, const char *wanted = "auto") {
            const BackendRule found = backendFor(wanted, gpus);
            return found.name + " " + std::to_string(int(found.reason));
        };
        const auto expected = [](const char *name, BackendReason reason) {
            return std::string(name) + " " + std::to_string(int(reason));
        };
        QCOMPARE(rule({"GPU-a", "GPU-b"}), expected("nccl", BackendReason::GpuEach));
        QCOMPARE(rule({"GPU-a", "GPU-a"}), expected("gloo", BackendReason::SharedGpu));
        QCOMPARE(rule({"GPU-a", ""}), expected("gloo", BackendReason::SomeCpuDevices));
        QCOMPARE(rule({"", ""}), expected("gloo", BackendReason::CpuDevices));
        QCOMPARE(rule({"GPU-a", "GPU-b"}, "gloo"), expected("gloo", BackendReason::AsChosen));
        // Number 0 of two nodes is two GPUs; the nodes' own kinds count, not the config's.
        QCOMPARE(backendInEffect(made({{"method", "ddp"}, {"nodes", "a%e:0 kind=cuda;b%e:0 kind=cuda"}})).name,
                 std::string("nccl"));
        QVERIFY(
            backendInEffect(made({{"method", "ddp"}, {"device", "cuda"}, {"nodes", "a%e:0;b%e:0 kind=cpu"}})).reason ==
            BackendReason::SomeCpuDevices);
    }

    void whatALauncherGivesToEachProcessChangesNothingOfTheRun() {
        for (const FieldSpec &field : runConfigFields())
            QVERIFY2(!field.perProcess || field.effect == FieldEffect::None, std::string(field.key).c_str());
    }
};

QTEST_GUILESS_MAIN(FieldTraitsTest)
#include "field_traits_test.moc"

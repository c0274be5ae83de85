// SPDX-License-Identifier: MIT
#include <cmath>
#include <set>

#include "ipc/run_config.h"
#include "tests/qt_test.h"

using namespace lockstep;

namespace {

/// A config in which every field differs from its default. A field that is new and not here fails the tests below.
RunConfig changed() {
    RunConfig config;
    config.method = Method::Ddp;
    config.dpReplicas = "persistent";
    config.model = "convnet";
    config.dataset = "mnist";
    config.dataDir = "/data/with space";
    config.trainSamples = 12800;
    config.testSamples = 100;
    config.bertDir = "/models/bert";
    config.textColumn = "review, \"long\"";
    config.labelColumn = "stars";
    config.maxTokens = 64;
    config.padding = "full";
    config.device = "cuda";
    config.devices = {"1", "GPU-0a1b2c3d-0000-1111-2222-333344445555"};
    config.coresPerDevice = 3;
    config.backend = "gloo";
    config.interface = "eth0";
    config.nodes = {{"hostA", "eth0", {"0", "1"}, "cuda", 2, "/data dir;50%", "/opt/x/lockstep-agent", "10.0.0.1"},
                    {"", "", {"1"}, "", 0, "", "", ""}};
    config.threads = 5;
    config.epochs = 7;
    config.batchSize = 128;
    config.batchPerDevice = 32;
    config.lr = 0.1 + 0.2;
    config.lrRule = "linear";
    config.lrSchedule = "linear";
    config.warmupSteps = 10;
    config.clipGradNorm = 1.5;
    config.momentum = 0.5;
    config.weightDecay = 1e-5;
    config.decayBiases = false;
    config.optimizer = "adamw";
    config.dropout = 0.0;
    config.seed = 18446744073709551615ull;
    config.workers = 4;
    config.workerCores = "2-3";
    config.loader = "item";
    config.augment = "affine";
    config.pinMemory = true;
    config.nonBlocking = true;
    config.precision = "fp64";
    config.channelsLast = true;
    config.cudaGraph = true;
    config.bucketMb = 0.25;
    config.allReduce = "ring";
    config.compressGradients = "bf16";
    config.accumulate = 4;
    config.shards = "measured";
    config.servers = 2;
    config.serverDevices = 1;
    config.maxStaleness = 3;
    config.stages = 2;
    config.microBatches = 8;
    config.pipelineSchedule = "gpipe";
    config.stageLayers = "2,3";
    config.scheduling = "batch";
    config.init = "a.safetensors";
    config.saveFinal = "-odd=name.safetensors";
    config.checkpointDir = "ck\"pt";
    config.onNonfinite = "rollback";
    config.hangAfter = 12.5;
    config.maxRestarts = 2;
    config.resume = true;
    config.initMethod = "tcp://127.0.0.1:29500";
    config.oversubscribe = true;
    config.trace = 20;
    config.frames = "-";
    config.summary = "s.json";
    return config;
}

/// As a program reads its arguments: --key=value or, for switches, --key.
RunConfig parseArguments(const std::vector<std::string> &arguments) {
    RunConfig config;
    for (const std::string &argument : arguments) {
        const auto equals = argument.find('=');
        for (const FieldSpec &field : runConfigFields())
            if (flagOf(field) == argument.substr(0, equals))
                [&] {
                    QVERIFY(field.set(
                        config, equals == std::string::npos ? "true" : std::string_view(argument).substr(equals + 1)));
                }();
    }
    return config;
}

std::string messages(const std::vector<Error> &errors) {
    std::string text;
    for (const Error &error : errors)
        text += error.message() + "\n";
    return text;
}

RunConfig with(const std::function<void(RunConfig &)> &change) {
    RunConfig config;
    change(config);
    return config;
}

} // namespace

class RunConfigTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void theTableHasEveryFieldOfTheStruct() {
        // A structured binding fails to compile when a member is added: add its row to the table, then a name here.
        const auto &[method, dpReplicas, model, dataset, dataDir, trainSamples, testSamples, bertDir, textColumn,
                     labelColumn, maxTokens, padding, device, devices, coresPerDevice, backend, interface, nodes,
                     threads, epochs, batchSize, batchPerDevice, lr, lrRule, lrSchedule, warmupSteps, clipGradNorm,
                     momentum, weightDecay, decayBiases, optimizer, dropout, seed, workers, workerCores, loader,
                     augment, pinMemory, nonBlocking, precision, channelsLast, cudaGraph, bucketMb, allReduce,
                     compressGradients, accumulate, shards, servers, serverDevices, maxStaleness, stages, microBatches,
                     pipelineSchedule, stageLayers, scheduling, init, saveFinal, checkpointDir, maxRestarts,
                     onNonfinite, hangAfter, resume, initMethod, oversubscribe, trace, frames, summary] = RunConfig{};
        static_cast<void>(summary);
        QCOMPARE(runConfigFields().size(), std::size_t{67});
    }

    void everyRowReadsWhatItWrites() {
        const RunConfig defaults, other = changed();
        std::set<std::string_view> keys;
        for (const FieldSpec &field : runConfigFields()) {
            const std::string key(field.key);
            QVERIFY2(keys.insert(field.key).second, key.c_str());
            QVERIFY2(field.get(defaults) != field.get(other), (key + " has its default in changed()").c_str());
            RunConfig config;
            QVERIFY2(field.set(config, field.get(other)), key.c_str());
            QCOMPARE(field.get(config), field.get(other));
            QVERIFY2(!(config == defaults), key.c_str());
            QVERIFY(field.set(config, field.get(defaults)));
            QVERIFY2(config == defaults, key.c_str());
            QVERIFY2(!field.label.empty() && field.help.ends_with('.'), key.c_str());
            QCOMPARE(field.type == FieldType::Choice, !field.choices.empty());
            for (const std::string_view choice : field.choices)
                QVERIFY2(field.set(config, choice), key.c_str());
            QVERIFY(findField(field.key) == &field);
        }
        for (const char *key : {"frames", "summary", "init_method"})
            QVERIFY(findField(key)->perProcess);
        QVERIFY(!findField("resume")->perProcess);
        QVERIFY(!findField("nonsense"));
    }

    void jsonAndBack() {
        for (const RunConfig &config : {RunConfig{}, changed()}) {
            const auto back = runConfigFromJson(toJson(config));
            QVERIFY2(back.has_value(), back ? "" : messages(back.error()).c_str());
            QVERIFY(*back == config);
        }
        const std::string text = toJson(RunConfig{});
        QVERIFY(text.find("\"dropout\":null") != std::string::npos);
        QVERIFY(text.find("\"devices\":[\"0\"]") != std::string::npos);
        QVERIFY(text.find("\"batch_size\":64,") != std::string::npos);
        QVERIFY(text.find("\"pin_memory\":false") != std::string::npos);
        QVERIFY(*runConfigFromJson("{}") == RunConfig{});
    }

    void argumentsAndBack() {
        QVERIFY(parseArguments(toArguments(changed())) == changed());
        QVERIFY(toArguments(RunConfig{}) == std::vector<std::string>{"--method=baseline"});
        const auto arguments = toArguments(with([](RunConfig &c) { c.pinMemory = true; }));
        QVERIFY(arguments == (std::vector<std::string>{"--method=baseline", "--pin-memory"}));
    }

    void aSingleValueOutOfRangeIsRefusedWithTheWayOut_data() {
        QTest::addColumn<QByteArray>("key");
        QTest::addColumn<QByteArray>("value");
        const std::pair<const char *, std::vector<const char *>> rows[] = {
            {"method", {"", "DDP", "mpi"}},
            {"devices", {"", "0,", "a", "-1", "0,,1", "GPU-", "GPU-z;rm", "0 1", "1e3"}},
            {"cores_per_device", {"0", "-1", "5000", "1.5", ""}},
            {"epochs", {"0", "-3", "ten", "1e3", "99999999999999999999", " 3", "3 "}},
            {"batch_size", {"0", "64.0"}},
            {"batch_per_device", {"-1"}},
            {"workers", {"-1", "257"}},
            {"lr", {"0", "-0.1", "nan", "inf", "", "0,1", "1e999"}},
            {"momentum", {"-0.1", "1.1", "nan"}},
            {"weight_decay", {"-1e-9"}},
            {"dropout", {"1", "-0.1", "x"}},
            {"seed", {"-1", "18446744073709551616"}},
            {"bucket_mb", {"0", "-1"}},
            {"all_reduce", {"nccl"}},
            {"accumulate", {"0"}},
            {"compress_gradients", {"fp8"}},
            {"shards", {"odd", "2,1"}},
            {"servers", {"0"}},
            {"server_devices", {"-1"}},
            {"max_staleness", {"-2"}},
            {"loader", {"stream"}},
            {"precision", {"fp8"}},
            {"scheduling", {"fifo"}},
            {"pin_memory", {"maybe", ""}},
            {"data_dir", {"a\nb"}},
            {"train_samples", {"-1"}}};
        for (const auto &[key, values] : rows)
            for (const char *value : values)
                QTest::newRow(qPrintable(QString("%1=%2").arg(key, value))) << QByteArray(key) << QByteArray(value);
    }
    void aSingleValueOutOfRangeIsRefusedWithTheWayOut() {
        QFETCH(QByteArray, key);
        QFETCH(QByteArray, value);
        RunConfig config;
        const auto set = findField(key.toStdString())->set(config, value.toStdString());
        QVERIFY(!set);
        QVERIFY(config == RunConfig{}); // unchanged
        QCOMPARE(set.error().where, key.toStdString());
        QVERIFY(set.error().kind == ErrorKind::BadArgument);
        QVERIFY(set.error().wayOut.starts_with("give "));
        QVERIFY(set.error().message().find('\n') == std::string::npos);
    }

    void mistakesAreReportedWithTheirKey_data() {
        QTest::addColumn<QByteArray>("json");
        QTest::addColumn<QByteArray>("where");
        QTest::addColumn<QByteArray>("says");
        const auto row = [](const char *json, const char *where, const char *says) {
            QTest::newRow(json) << QByteArray(json) << QByteArray(where) << QByteArray(says);
        };
        row(R"({"method":"ddp","devices":[0,1],"batch_size":63})", "batch_size",
            "batch size 63 can't be divided among 2 devices; use 62 or 64");
        row(R"({"method":"dp","devices":[0,1,2],"batch_size":2})", "batch_size", "use 3");
        row(R"({"batch_size":128,"batch_per_device":32})", "batch_per_device", "not both");
        row(R"({"method":"dp","device":"cuda","devices":[0,1],"backend":"nccl"})", "backend",
            "dp runs in one process and uses no backend");
        row(R"({"devices":[0,1]})", "devices", "baseline trains on one device, 2 are given");
        row(R"({"method":"ddp","devices":[0,1],"backend":"nccl"})", "backend", "nccl needs GPUs");
        row(R"({"method":"ps-sync","device":"cuda","devices":[0,1]})", "method", "between CPU devices");
        row(R"({"method":"ps-async","devices":[0,1],"servers":3})", "servers",
            "3 servers can't be shared out among 2 devices");
        row(R"({"method":"ps-async","devices":[0,1],"server_devices":2})", "server_devices",
            "2 server devices of 2 devices leave none to train");
        row(R"({"method":"ps-async","devices":[0,1,2],"servers":2,"server_devices":1})", "servers",
            "servers that also train, and devices that only serve, are both given");
        row(R"({"method":"ddp","device":"cuda","devices":[0,1],"all_reduce":"ring"})", "all_reduce",
            "between CPU devices");
        row(R"({"method":"ddp","devices":[0,1],"accumulate":33})", "accumulate",
            "a device's share of a batch, 32 samples, can't be cut into 33 parts; use 32 or fewer");
        row(R"({"method":"ddp","device":"cuda","devices":[0,1],"shards":"measured"})", "shards",
            "ranks on GPUs don't know each other's times yet");
        row(R"({"cuda_graph":true,"device":"cuda","accumulate":2})", "cuda_graph", "a whole batch");
        row(R"({"method":"pipeline","device":"cuda","devices":[0,1]})", "method", "between CPU devices");
        row(R"({"method":"pipeline","devices":[0,1,2,3,4],"model":"convnet"})", "devices",
            "convnet has 4 layers for 5 devices; use 4 devices or fewer");
        row(R"({"method":"pipeline","devices":[0,1],"batch_size":3})", "micro_batches",
            "a batch of 3 can't be cut into 4 micro-batches");
        row(R"({"method":"pipeline","devices":[0,1],"stage_layers":"2,2"})", "stage_layers",
            "\"2,2\" doesn't share out the 5 layers of lenet among 2 devices; give 2 numbers that add up to 5");
        row(R"({"method":"pipeline","devices":[0,1],"stage_layers":"2,x"})", "stage_layers", "is no list of layers");
        row(R"({"method":"pipeline","devices":[0,1,2,3],"stages":3})", "stages",
            "4 devices can't be pipelines of 3 stages each; use 0, or a number from 2 on that divides 4");
        row(R"({"method":"pipeline","devices":[0,1],"stages":1})", "stages",
            "2 devices can't be pipelines of 1 stage each");
        row(R"({"method":"pipeline","devices":[0,1,2,3],"stages":2,"batch_size":63})", "batch_size",
            "batch size 63 can't be divided among 2 pipelines; use 62 or 64");
        row(R"({"method":"pipeline","devices":[0,1,2,3],"stages":2,"batch_size":8,"micro_batches":5})", "micro_batches",
            "a batch of 4 can't be cut into 5 micro-batches");
        row(R"({"method":"pipeline","devices":[0,1,2,3],"stages":2,"stage_layers":"1,1,1,2"})", "stage_layers",
            "\"1,1,1,2\" doesn't share out the 5 layers of lenet among 2 stages; give 2 numbers that add up to 5");
        row(R"({"model":"bert"})", "model", "bert takes texts, and fashion-mnist holds images");
        row(R"({"dataset":"sentiment"})", "model", "sentiment holds texts in 3 classes; use bert");
        row(R"({"model":"bert","dataset":"text"})", "data_dir", "no file of texts is named; give a CSV or TSV file");
        row(R"({"model":"bert","dataset":"sentiment","loader":"device"})", "loader", "texts differ in length");
        row(R"({"model":"bert","dataset":"sentiment","augment":"affine"})", "augment", "sentiment holds texts");
        row(R"({"model":"bert","dataset":"sentiment","method":"pipeline","devices":[0,1],"stage_layers":"3,3"})",
            "stage_layers",
            "\"3,3\" doesn't share out the 9 layers of bert among 2 devices; give 2 numbers that add up to 9");
        row(R"({"method":"ps-async","devices":[0,1],"clip_grad_norm":1})", "clip_grad_norm",
            "no rank of ps-async has all averaged gradients to clip");
        row(R"({"method":"ps-async","devices":[0,1],"weight_decay":0.1,"decay_biases":false})", "decay_biases",
            "don't tell biases from other parameters");
        row(R"({"cuda_graph":true,"device":"cuda","lr_schedule":"linear"})", "cuda_graph", "holds one learning rate");
        row(R"({"method":"ddp","devices":[0,0]})", "devices", "given twice");
        row(R"({"method":"ddp","devices":["0","00"]})", "devices", "given twice");
        row(R"({"method":"ddp","device":"cuda","devices":[1,1],"backend":"nccl","oversubscribe":true})", "devices",
            "one rank a GPU");
        row(R"({"devices":["GPU-0a1b2c3d"]})", "devices", "is a GPU");
        row(R"({"worker_cores":"2-","workers":1})", "worker_cores", "not a list of cores");
        row(R"({"loader":"device","workers":2})", "workers", "has no use for 2 workers; use 0 workers");
        row(R"({"cuda_graph":true})", "cuda_graph", "the device kind is cpu; use the device kind cuda");
        row(R"({"cuda_graph":true,"device":"cuda","method":"dp","devices":[0,1]})", "cuda_graph",
            "dp's devices wait for each other on the host");
        row(R"({"cuda_graph":true,"device":"cuda","method":"ddp","devices":[0,1],"backend":"gloo"})", "cuda_graph",
            "gloo sends ddp's gradients from the host");
        row(R"({"cuda_graph":true,"device":"cuda","method":"ddp","devices":[0,1]})", "cuda_graph",
            "not recorded in a CUDA graph yet; use the method baseline");
        row(R"({"resume":true})", "resume", "checkpoint");
        row(R"({"on_nonfinite":"rollback"})", "on_nonfinite", "checkpoint_dir");
        row("{\"init_method\":\"tcp://box\"}", "init_method", "tcp://HOST:PORT");
        row("{\"init_method\":\"tcp://box:99999\"}", "init_method", "tcp://HOST:PORT");
        row("{\"interface\":\"eth0/../x\"}", "interface", "ip link");
        row(R"({"save_final":"out/"})", "save_final", "folder");
        row(R"({"frames":"unix:"})", "frames", "unix:PATH");
        row(R"({"frames":"-","summary":"-"})", "summary", "stdout");
    }
    void mistakesAreReportedWithTheirKey() {
        QFETCH(QByteArray, json);
        QFETCH(QByteArray, where);
        QFETCH(QByteArray, says);
        const auto config = runConfigFromJson(json.toStdString());
        QVERIFY2(config.has_value(), config ? "" : messages(config.error()).c_str());
        const auto errors = validate(*config);
        QVERIFY2(errors.size() == 1, messages(errors).c_str());
        QCOMPARE(errors[0].where, where.toStdString());
        QVERIFY2(errors[0].message().find(says.toStdString()) != std::string::npos, messages(errors).c_str());
        QVERIFY(!errors[0].wayOut.empty());
    }

    void whatIsFineIsFine() {
        QVERIFY(validate(RunConfig{}).empty());
        for (const char *json :
             {R"({"method":"ddp","devices":[0,1,2,3],"batch_size":64})",
              R"({"method":"dp","device":"cuda","devices":["GPU-0a1b2c3d-00","MIG-1f"],"batch_size":64})",
              R"({"model":"bert","dataset":"sentiment","save_final":"tuned/"})",
              R"({"model":"bert","dataset":"text","data_dir":"reviews.csv","decay_biases":false,"weight_decay":0.01})",
              R"({"method":"ddp","devices":[0,0],"oversubscribe":true})", R"({"optimizer":"adam","momentum":0.9})",
              R"({"cuda_graph":true,"device":"cuda","model":"convnet","precision":"bf16"})",
              R"({"method":"ddp","devices":[0,1,2],"batch_per_device":21})", "{\"init_method\":\"tcp://[::1]:29500\"}",
              "{\"resume\":true,\"checkpoint_dir\":\"x\",\"init_method\":\"file:///tmp/x\"}"}) {
            const auto errors = validate(*runConfigFromJson(json));
            QVERIFY2(errors.empty(), (json + messages(errors)).c_str());
        }
    }

    void aScheduleIsTransformersOwn() { // get_linear_schedule_with_warmup(optimizer, 4, 20) in Python
        RunConfig config;
        QCOMPARE(lrShare(config, 0, 20), 1.0);
        QCOMPARE(lrShare(config, 19, 20), 1.0);
        config.warmupSteps = 4;
        QCOMPARE(lrShare(config, 0, 20), 0.0);
        QCOMPARE(lrShare(config, 3, 20), 0.75);
        QCOMPARE(lrShare(config, 4, 20), 1.0);
        QCOMPARE(lrShare(config, 19, 20), 1.0);
        config.lrSchedule = "linear";
        QCOMPARE(lrShare(config, 2, 20), 0.5);
        QCOMPARE(lrShare(config, 4, 20), 1.0);
        QCOMPARE(lrShare(config, 12, 20), 0.5);
        QCOMPARE(lrShare(config, 20, 20), 0.0);
        config.warmupSteps = 100; // longer than the run
        QCOMPARE(lrShare(config, 19, 20), 0.19);
    }

    void everyMistakeIsReportedAtOnce() {
        RunConfig config;
        config.method = Method::Ddp;
        config.devices = {"0", "0"};
        config.batchSize = 63;
        config.backend = "nccl";
        config.epochs = 0;
        config.lr = std::nan("");
        config.resume = true;
        config.workerCores = "x";
        const auto errors = validate(config);
        std::set<std::string> keys;
        for (const Error &error : errors)
            keys.insert(error.where);
        QVERIFY2(keys == (std::set<std::string>{"devices", "batch_size", "backend", "epochs", "lr", "resume",
                                                "worker_cores"}),
                 messages(errors).c_str());
        config = RunConfig{};
        config.devices.clear();
        QCOMPARE(messages(validate(config)), std::string("devices: there are no devices; give at least one, like 0\n"));
    }

    // Fault 25.
    void aFilesMistakesNameLineKeyAndTheNearestValidValue() {
        const auto config = runConfigFromJson("{\n  \"batch-sise\": 64,\n  \"epochs\": \"ten\",\n  \"lr\": 0,\n"
                                              "  \"model\": \"lenett\",\n  \"seed\": 1.5,\n  \"devices\": 0,\n"
                                              "  \"pin_memory\": 1,\n  \"seed\": 2\n}");
        QVERIFY(!config);
        const std::string text = messages(config.error());
        for (const char *says : {"line 2, batch-sise: there is no such key; did you mean batch_size?",
                                 "line 3, epochs: \"ten\" should be a whole number; the default is 10",
                                 "line 4, lr: \"0\" is not allowed; give a number above 0",
                                 "line 5, model: \"lenett\" is not allowed; give lenet, convnet, mlp or bert, or a "
                                 "TorchScript file like net.pt",
                                 "line 6, seed: the key is given twice",
                                 "line 7, devices: 0 should be a list of device numbers or GPU UUIDs",
                                 "line 8, pin_memory: 1 should be true or false"})
            QVERIFY2(text.find(says) != std::string::npos, (text + "\nlacks " + says).c_str());
        for (const Error &error : config.error())
            QVERIFY(error.kind == ErrorKind::BadArgument);
    }

    void textThatIsNoConfigIsRefused() {
        for (const char *text : {"", "{", "[]", "7", "{\"lr\": 1e999}", "{\"seed\": 99999999999999999999}",
                                 "{\"epochs\": null}", "{\"a\": \xFF}", "{\"dropout\": \"0\"}"}) {
            const auto config = runConfigFromJson(text);
            QVERIFY2(!config.has_value(), text);
            QVERIFY(!config.error().empty());
        }
        QVERIFY(!runConfigFromJson(std::string(100'000, '[')));
        QVERIFY(!runConfigFromJson("{\"x\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}"));
        const auto torn = runConfigFromJson("{\n\"epochs\": 3,\n\"lr\" 0.1}");
        QVERIFY(torn.error().front().message().find("line 3") != std::string::npos);
    }

    void theNearestKeyIsFound() {
        QVERIFY(nearestKey("batchsize") == "batch_size");
        QVERIFY(nearestKey("--batch-size") == "batch_size");
        QVERIFY(nearestKey("epoch") == "epochs");
        for (const char *other : {"foo", "nosuch", "frob", "learning_rate"})
            QVERIFY2(nearestKey(other).empty(), nearestKey(other).c_str());
        QCOMPARE(keyInstead("batchsize", "\""), std::string("did you mean \"batch_size\"?"));
        QCOMPARE(keyInstead("foo"), std::string("`lockstep-trainer --help` lists the keys as flags"));
        QVERIFY(flagOf(*findField("lr_rule")) == "--lr-rule");
    }

    void processesAndBatchesFollowFromTheMethod() {
        RunConfig config;
        config.devices = {"0", "1"};
        config.method = Method::Ddp;
        QCOMPARE(processCount(config), 2);
        config.method = Method::Dp;
        QCOMPARE(processCount(config), 1);
        QCOMPARE(deviceCount(config), 2);
        QCOMPARE(globalBatch(config), std::int64_t{64});
        config.batchPerDevice = 50;
        QCOMPARE(globalBatch(config), std::int64_t{100});
        QVERIFY(toString(Method::Dp) == "dp");
    }

    void aMachineWithTooFewDevicesSaysHowManyItHas() {
        RunConfig config;
        config.method = Method::Ddp;
        config.devices = {"0", "1", "2", "3", "4", "5", "6", "7"};
        const MachineFacts two{{0, 1}, {}};
        auto errors = checkMachine(config, two);
        QCOMPARE(errors.size(), std::size_t{1});
        QCOMPARE(errors[0].what, std::string("needs 8, has 2"));
        config.device = "cuda";
        errors = checkMachine(config, two);
        QCOMPARE(errors[0].what, std::string("this machine has no GPU that this build can use"));
        config.device = "cpu";
        config.devices = {"0", "1"};
        QVERIFY(checkMachine(config, two).empty());
        config.coresPerDevice = 2;
        QCOMPARE(checkMachine(config, two)[0].what, std::string("needs 2, has 1"));
        config.oversubscribe = true;
        QVERIFY(checkMachine(config, two).empty());
    }

    void aDeviceOrCoreThatIsNotThereIsNamed() {
        RunConfig config;
        config.devices = {"5"};
        auto errors = checkMachine(config, {{0, 1}, {}});
        QCOMPARE(errors.size(), std::size_t{1});
        QVERIFY(errors[0].message().find("there is no cpu:5 here") != std::string::npos);
        QVERIFY(errors[0].wayOut == "use 0 to 1");
        config = RunConfig{};
        config.workerCores = "1-3";
        errors = checkMachine(config, {{0, 1}, {}});
        QCOMPARE(errors.size(), std::size_t{1});
        QVERIFY(errors[0].message().find("cores 2-3 may not be used here") != std::string::npos);
        config = RunConfig{};
        config.device = "cuda";
        config.devices = {"GPU-bb"};
        QVERIFY(checkMachine(config, {{0}, {"GPU-aa-1", "GPU-bb-2"}}).empty()); // a prefix that only one has
        config.devices = {"GPU-cc"};
        QVERIFY(checkMachine(config, {{0}, {"GPU-aa-1"}})[0].message().find("no GPU GPU-cc") != std::string::npos);
        config.devices = {"0", "GPU-aa-1"};
        config.method = Method::Ddp;
        QVERIFY(checkMachine(config, {{0}, {"GPU-aa-1", "GPU-bb-2"}})[0].message().find("already given") !=
                std::string::npos);
    }

    void devicesHaveNames() {
        RunConfig config;
        config.devices = {"0", "1"};
        QVERIFY(deviceNames(config, {}) == (std::vector<std::string>{"cpu:0", "cpu:1"}));
        config.device = "cuda";
        QVERIFY(deviceNames(config, {}) == (std::vector<std::string>{"cuda:0", "cuda:1"}));
        QVERIFY(deviceNames(config, {{}, {"GPU-a", "GPU-b"}}) == (std::vector<std::string>{"GPU-a", "GPU-b"}));
        config.devices = {"GPU-zz"};
        QVERIFY(deviceNames(config, {}) == std::vector<std::string>{"GPU-zz"});
    }
};

QTEST_GUILESS_MAIN(RunConfigTest)
#include "run_config_test.moc"

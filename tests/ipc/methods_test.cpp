// SPDX-License-Identifier: MIT
// The table of methods: names lead to rows, keys have owners, and every row can be shown and explained.
#include <set>

#include "ipc/frames.h"
#include "ipc/run_config.h"
#include "tests/qt_test.h"

using namespace lockstep;

class MethodsTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void aNameLeadsToItsRowAndBack() {
        for (const MethodSpec &method : methodTable) {
            QCOMPARE(findMethod(method.name), &method);
            QCOMPARE(&specOf(method.id), &method);
        }
        QVERIFY(!findMethod("fsdp") && !isDistributed("fsdp") && !findMethod(""));
        QVERIFY(isDistributed("ddp") && isDistributed("ps-sync") && !isDistributed("dp") && !isDistributed("baseline"));
    }

    void everyRowHasNamesAColourAndAWordOnHowItTrains() {
        std::set<std::string_view> names, titles, labels, colors;
        for (const MethodSpec &method : methodTable) {
            QVERIFY(!method.about.empty());
            QVERIFY(method.color.size() == 7 && method.color.starts_with('#'));
            names.insert(method.name);
            titles.insert(method.title);
            labels.insert(method.label);
            colors.insert(method.color);
            QVERIFY(!method.processPerDevice || method.severalDevices);
            QVERIFY(method.processPerDevice || method.traffic == Traffic::None); // traffic is between ranks
        }
        for (const auto *words : {&names, &titles, &labels, &colors})
            QCOMPARE(words->size(), methodTable.size());
    }

    void aKeyThatSomeMethodsNameMeansNothingToTheOthers() {
        for (const char *key : {"backend", "interface"})
            for (const MethodSpec &method : methodTable)
                QCOMPARE(knowsKey(method.id, key), method.processPerDevice);
        for (const Method method : {Method::Baseline, Method::Dp, Method::Ddp, Method::PsSync})
            QCOMPARE(knowsKey(method, "bucket_mb"), isDistributed(method));
        QVERIFY(knowsKey(Method::PsAsync, "max_staleness") && !knowsKey(Method::PsAsync, "bucket_mb"));
        QVERIFY(knowsKey(Method::Ddp, "all_reduce") && !knowsKey(Method::PsSync, "all_reduce"));
        QVERIFY(knowsKey(Method::Dp, "dp_replicas") && !knowsKey(Method::Ddp, "dp_replicas"));
        QVERIFY(knowsKey(Method::Baseline, "cuda_graph") && !knowsKey(Method::Dp, "cuda_graph"));
        for (const MethodSpec &method : methodTable) {
            QVERIFY(knowsKey(method.id, "batch_size"));
            for (const std::string_view key : method.keys)
                QVERIFY2(key.empty() || findField(key), std::string(key).c_str());
        }
    }

    void helpNamesEveryMethod() {
        for (const MethodSpec &method : methodTable)
            QVERIFY(findField("method")->help.find(method.name) != std::string_view::npos);
        QVERIFY(
            methodsInWords().starts_with("baseline, dp (data parallel, one process), ddp (distributed data parallel)"));
        QVERIFY(methodsInWords().find(" or " + std::string(methodTable.back().name) + " (") != std::string::npos);
    }
};

QTEST_GUILESS_MAIN(MethodsTest)
#include "methods_test.moc"

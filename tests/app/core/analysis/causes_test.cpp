// SPDX-License-Identifier: MIT
// Causes planted into the real trainer, slowed down in one phase by LOCKSTEP_TEST_DELAY.

#include "analysis/causes/bottleneck.h"
#include "analysis/causes/phase_parts.h"
#include "causes_support.h"
#include "ipc/median.h"

#include <QDir>
#include <QRandomGenerator>

using namespace lockstep;
using namespace lockstep::core;
using namespace lockstep::test;

namespace {

double secondsIn(const RepeatGroup &group, int rank, std::string_view phase) {
    std::vector<double> values;
    for (const RunOutcome &run : group.runs)
        values.push_back(phaseOf(run, rank, phase));
    return median(std::move(values)).value_or(0);
}

/// Images of noise for the real trainer, no more than it trains on: only time is measured.
void writeImages(const QString &folder) {
    QDir().mkpath(folder);
    QRandomGenerator random(1);
    for (const auto &[name, count] : {std::pair("train", 4096), std::pair("t10k", 300)}) {
        QByteArray labels = QByteArray::fromHex("00000801"), images = QByteArray::fromHex("00000803");
        for (QByteArray *file : {&labels, &images})
            file->append(char(0)).append(char(0)).append(char(count >> 8)).append(char(count & 0xff));
        images.append(QByteArray::fromHex("0000001c0000001c"));
        for (int i = 0; i < count; ++i) {
            labels.append(char(i % 10));
            for (int pixel = 0; pixel < 28 * 28; ++pixel)
                images.append(char(random.bounded(256)));
        }
        for (const auto &[kind, bytes] :
             {std::pair("-labels-idx1-ubyte", labels), std::pair("-images-idx3-ubyte", images)}) {
            QFile file(folder + u'/' + QString::fromLatin1(name) + QString::fromLatin1(kind));
            QVERIFY(file.open(QIODevice::WriteOnly) && file.write(bytes) == bytes.size());
        }
    }
}

} // namespace

class CoreCausesTest : public QObject {
    Q_OBJECT
    Home m_home;

    void expectTrainer() {
        for (const char *name : {"lockstepctl", "lockstep-agent", "lockstep-trainer"})
            if (!QFile::exists(bin + u'/' + QString::fromLatin1(name)))
                QSKIP(qPrintable(QString::fromLatin1(name) + QStringLiteral(" is not built in ") + bin));
        for (const char *name : {"LOCKSTEP_TRAINER", "LOCKSTEP_AGENT", "LOCKSTEP_TEST_DELAY"})
            qunsetenv(name);
    }

private Q_SLOTS:
    void cleanupTestCase() { endAll(); }

    void theRealTrainersDelaysComeBackAsCauses_data() {
        QTest::addColumn<QString>("keys");
        QTest::addColumn<QByteArray>("delay");
        QTest::addColumn<int>("cause");
        const QString alone = QStringLiteral("\"method\":\"baseline\"");
        const QString two = QStringLiteral("\"method\":\"ddp\",\"devices\":2");
        QTest::newRow("loading") << alone << QByteArray("0:load:40") << int(Cause::DataLoading);
        // At batch 4 a forward after 12 ms of waiting starts cold: it and backward really take longer, and stand in the same bar.
        QTest::newRow("the optimizer") << alone + QStringLiteral(
                                                      ",\"optimizer\":\"adamw\",\"batch_size\":4,\"train_samples\":256")
                                       << QByteArray("0:optimizer:100") << int(Cause::Compute);
        QTest::newRow("backward of one rank") << two << QByteArray("1:backward:30") << int(Cause::Imbalance);
    }
    /// A delay makes its phase F times as long, so (F - 1) / F of what was measured in it was planted. Computing is forward and
    /// backward too: what these changed by, measured, was not planted, is in the bar rightly, and is expected there.
    void theRealTrainersDelaysComeBackAsCauses() {
        expectTrainer();
        QFETCH(QString, keys);
        QFETCH(QByteArray, delay);
        QFETCH(int, cause);
        const QString samples =
            keys.contains(QStringLiteral("train_samples")) ? QString() : QStringLiteral(",\"train_samples\":4096");
        const QString data = QString::fromStdString(m_home.path()) + QStringLiteral("/images");
        if (!QFile::exists(data))
            writeImages(data);
        const QString all =
            keys + samples +
            QStringLiteral(",\"data_dir\":\"%1\",\"epochs\":1,\"augment\":\"affine\",\"loader\":\"batch\"").arg(data);
        const RepeatGroup reference = measured(QStringLiteral("plain"), all);
        qputenv("LOCKSTEP_TEST_DELAY", delay);
        const RepeatGroup slow = measured(QStringLiteral("slow"), all);
        qunsetenv("LOCKSTEP_TEST_DELAY");
        QVERIFY(!reference.runs.empty() && !slow.runs.empty());
        QCOMPARE(reference.runs.size(), slow.runs.size());
        const QList<QByteArray> parts = delay.split(':');
        const double factor = parts[2].toDouble();
        std::vector<double> errors, unattributed;
        for (std::size_t i = 0; i < slow.runs.size();
             ++i) { // each its own: a busy machine delays each by another amount
            const RepeatGroup plainOne{"plain", {reference.runs[i]}, false}, slowOne{"slow", {slow.runs[i]}, false};
            const double planted = secondsIn(slowOne, parts[0].toInt(), parts[1].toStdString()) * (factor - 1) / factor;
            double expected = planted;
            if (cause == int(Cause::Compute))
                for (const std::string_view phase : {"forward", "backward"})
                    expected += secondsIn(slowOne, 0, phase) - secondsIn(plainOne, 0, phase);
            const auto found = attribute(plainOne, slowOne, {});
            QVERIFY(found);
            errors.push_back(std::fabs(found->secondsOf(Cause(cause)) - expected) / planted);
            unattributed.push_back(std::fabs(found->secondsOf(Cause::Unattributed)) / planted);
            qInfo("planted %.3f s, expected %.3f s, error %.1f %%, unattributed %.1f %%; %s", planted, expected,
                  errors.back() * 100, unattributed.back() * 100, qPrintable(textOf(*found)));
        }
        const auto found = attribute(reference, slow, {});
        QVERIFY(found);
        qInfo("of all repeats together: %s", qPrintable(textOf(*found)));
        QVERIFY(int(largest(*found)) == cause);
        QVERIFY(*median(errors) <= 0.05);
        QVERIFY(*median(unattributed) <= 0.05);
        if (cause == int(Cause::Imbalance)) {
            const Bottleneck bottleneck = bottleneckOf(slow, {});
            QVERIFY2(bottleneck.bound == Bound::Straggler &&
                         bottleneck.evidence.find("rank 1 spends") != std::string::npos,
                     bottleneck.evidence.c_str());
        }
    }
};

QTEST_GUILESS_MAIN(CoreCausesTest)
#include "causes_test.moc"

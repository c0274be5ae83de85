// SPDX-License-Identifier: MIT
// lockstepctl forecast, where it is refused before anything is trained.
#include "core_support.h"
#include "lab/lab_record.h"
#include "tests/app/cli/control.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::core;
using namespace lockstep::test;

class CliForecastTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void aForecastOfOneDeviceAloneIsRefusedAsThatWhateverTheMachineHas() {
        const Home home;
        LabRecord lab;
        lab.id = "20260101T000000Z-00000001";
        lab.device = "cpu";
        QVERIFY(writeLab(lab).has_value());
        const Said said = control({"forecast", "lenet-dp-vs-ddp", "--lab", id(lab.id), "--devices", "1"});
        QCOMPARE(said.code, 2);
        QVERIFY2(said.error.contains(u"two devices or more") && said.error.contains(u"--devices asks for 1"),
                 qPrintable(said.error));
    }
};

QTEST_GUILESS_MAIN(CliForecastTest)
#include "cli_forecast_test.moc"

// SPDX-License-Identifier: MIT
// The notice on Plan that gets a data set which is not here.
#include <QComboBox>
#include <QLabel>
#include <QPushButton>
#include <QSignalSpy>

#include "app/ui/pages/plan/config_form.h"
#include "app/ui/pages/plan/data_notice.h"
#include "app/ui/pages/plan/plan_page.h"
#include "app/ui/shell/workspace.h"
#include "app/ui/theme/theme.h"
#include "http_server.h"
#include "models/plan_model.h"
#include "tests/qt_test.h"
#include "ui_fixture.h"

using namespace lockstep;
using namespace lockstep::ui;
using lockstep::test::HttpServer;
using lockstep::test::sourceOf;

class DataNoticeTest : public QObject {
    Q_OBJECT
    std::unique_ptr<uitest::Home> m_home;
    Theme m_theme{ThemeMode::Light};
    const QByteArray m_path = qgetenv("PATH");

private Q_SLOTS:
    void init() {
        m_home = std::make_unique<uitest::Home>();
        qputenv("PATH", m_path);
    }

    void oneClickGetsTheDataAndTheNoticeGoes() {
        HttpServer server;
        server.bodies = {{QStringLiteral("images.gz"), QByteArray(200'000, 'x')}};
        DataNotice notice(m_theme);
        notice.setSources({sourceOf(server, {server.url()})});
        QVERIFY(!notice.check(QString()));
        QVERIFY(!notice.isVisible());
        QVERIFY(notice.check(QStringLiteral("digits")));
        QCOMPARE(notice.sentence()->text(), QStringLiteral("Digits is not on this machine."));
        QCOMPARE(notice.button()->text(), QStringLiteral("Download (0.2 MB)"));
        QSignalSpy arrived(&notice, &DataNotice::arrived);
        QTest::mouseClick(notice.button(), Qt::LeftButton);
        QVERIFY(arrived.wait(test::hangLimitMs));
        QVERIFY(!notice.isVisible());
        QVERIFY(!notice.check(QStringLiteral("digits")));
    }

    void withoutNetworkItSaysSoAndCanBeTriedAgain() {
        HttpServer server;
        server.bodies = {{QStringLiteral("images.gz"), QByteArray(1000, 'x')}};
        DataNotice notice(m_theme);
        notice.setSources({sourceOf(server, {"http://127.0.0.1:1/"})});
        QVERIFY(notice.check(QStringLiteral("digits")));
        QTest::mouseClick(notice.button(), Qt::LeftButton);
        QTRY_VERIFY(notice.sentence()->text().contains(QStringLiteral("can't be downloaded")));
        QVERIFY(notice.sentence()->text().contains(QStringLiteral("check the network")));
        QVERIFY(notice.button()->text().startsWith(QStringLiteral("Download")));
        notice.setSources({sourceOf(server, {server.url()})});
        QVERIFY(notice.check(QStringLiteral("digits")));
        QSignalSpy arrived(&notice, &DataNotice::arrived);
        QTest::mouseClick(notice.button(), Qt::LeftButton);
        QVERIFY(arrived.wait(test::hangLimitMs));
    }

    void aDataSetOfAnotherSourceIsOfferedByItsOwnName() {
        DataNotice notice(m_theme); // what is known to come as Python packages
        QVERIFY(notice.check(QStringLiteral("sentiment")));
        QCOMPARE(notice.sentence()->text(), QStringLiteral("BERT with its texts is not on this machine."));
        QCOMPARE(notice.button()->text(), QStringLiteral("Download (85.1 MB)"));
        QVERIFY(notice.button()->toolTip().contains(QStringLiteral("5 files into ")));
        qputenv("PATH", "/nonexistent");
        QTest::mouseClick(notice.button(), Qt::LeftButton);
        QTRY_VERIFY(notice.sentence()->text().contains(QStringLiteral("apt install python3-pip")));
        QVERIFY(notice.button()->text().startsWith(QStringLiteral("Download")));
    }

    void planStartsOnlyWithItsData() {
        Workspace workspace;
        PlanPage page(m_theme, workspace, uitest::twoCores());
        page.resize(1280, 760);
        page.show();
        QVERIFY(page.choose(QStringLiteral("free")));
        auto *dataset = qobject_cast<QComboBox *>(page.form()->field(QStringLiteral("dataset"))->editor);
        QVERIFY(dataset != nullptr);
        dataset->setCurrentText(QStringLiteral("mnist"));
        QVERIFY(page.dataNotice()->isVisible());
        QVERIFY(!page.startButton()->isEnabled());
        for (int row = 0; row < page.plan().rowCount(); ++row)
            QCOMPARE(page.plan().index(row, core::PlanModel::State).data().toString(),
                     QStringLiteral("not run: MNIST is not on this machine"));
        QVERIFY(page.choose(QStringLiteral("lenet-dp-vs-ddp")));
        const bool here = QFile::exists(QStringLiteral("/usr/share/datasets/fashion-mnist"));
        QCOMPARE(page.dataNotice()->isVisible(), !here);
        QCOMPARE(page.startButton()->isEnabled(), here);
    }
};

QTEST_MAIN(DataNoticeTest)
#include "data_test.moc"

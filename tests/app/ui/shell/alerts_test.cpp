// SPDX-License-Identifier: MIT
// Alerts are acknowledged for every window, and reach the desktop while this one is in the background.
#include <QCheckBox>
#include <QDBusConnection>
#include <QHeaderView>
#include <QProcess>
#include <QPushButton>
#include <QStandardItemModel>
#include <QTableView>
#include <QToolButton>

#include "app/ui/shell/console_drawer.h"
#include "app/ui/shell/desktop_notifier.h"
#include "app/ui/widgets/tables.h"
#include "ipc/alerts.h"
#include "store/run_notes.h"
#include "window_fixture.h"

using namespace lockstep;
using namespace lockstep::ui;

namespace {

/// What a desktop offers, as the specification has it.
class Notifications : public QObject {
    Q_OBJECT
    Q_CLASSINFO("D-Bus Interface", "org.freedesktop.Notifications")
public:
    struct Shown {
        QString title, body;
        QVariantMap hints;
    };
    std::vector<Shown> shown;

public Q_SLOTS:
    // NOLINTNEXTLINE(readability-identifier-naming): the specification's name
    uint Notify(const QString &, uint, const QString &, const QString &title, const QString &body, const QStringList &,
                const QVariantMap &hints, int) {
        shown.push_back({title, body, hints});
        return uint(shown.size());
    }
Q_SIGNALS:
    // NOLINTNEXTLINE(readability-identifier-naming)
    void ActionInvoked(uint id, const QString &action);
};

} // namespace

class AlertsTest : public QObject, uitest::WindowFixture {
    Q_OBJECT
    uitest::Home m_home;
    std::string m_id;
    QProcess m_bus;

    /// The tool button of the drawer that says how many alerts there are.
    [[nodiscard]] QString head() const {
        for (const QToolButton *button : m_window->drawer()->findChildren<QToolButton *>())
            if (button->text().contains(u"alert"))
                return button->text();
        return {};
    }
    [[nodiscard]] QString firstRun() const { return m_workspace->runs().at(0)->runId(); }

private Q_SLOTS:
    void initTestCase() { m_id = uitest::writeExperimentOnDisk({.epochs = 3, .repeats = 1, .marks = true}); }
    void init() {
        openWindow({1280, 800});
        openOnLive(m_id);
    }
    void cleanup() { closeWindow(); }
    void cleanupTestCase() {
        m_bus.kill();
        m_bus.waitForFinished();
    }

    void acknowledgedAlertsStayInGreyForEveryWindowAndNewOnesCount() {
        const int all = m_workspace->alerts().rowCount();
        QVERIFY(all > 1);
        QCOMPARE(m_workspace->alerts().unseen(), all);
        QTest::keyClick(m_window.get(), Qt::Key_J, Qt::ControlModifier | Qt::ShiftModifier);
        QPushButton *seen = m_window->drawer()->seenButton();
        QTRY_VERIFY(seen->isVisible() && seen->isEnabled());
        uitest::picture(*m_window, m_theme, "alerts-new");
        QTest::mouseClick(seen, Qt::LeftButton);
        QTRY_VERIFY(!seen->isEnabled());
        QCOMPARE(m_workspace->alerts().rowCount(), all);
        QCOMPARE(m_workspace->alerts().index(0, 0).data(core::LevelRole).toString(), QStringLiteral("debug"));
        uitest::picture(*m_window, m_theme, "alerts-seen");
        QTRY_VERIFY(core::readRunNotes(runFolder(firstRun().toStdString()))->alertsSeenUs > 0);

        closeWindow();
        openWindow({1280, 800});
        openOnLive(m_id);
        QTRY_COMPARE(m_workspace->alerts().unseen(), 0);
        core::RunStore *store = m_workspace->runs().at(0);
        Frame frame;
        frame.wallUs = m_workspace->alerts().newest().at(store->runId()) + 1;
        frame.body = makeAlert("disk_low", "the disk has 3 % left");
        store->take(frame);
        store->flush();
        QTRY_COMPARE(head(), QStringLiteral("1 new of %1 alerts").arg(all + 1));
    }

    void aLongMessageTakesTwoLinesAndARunsNameKeepsItsRepeat() {
        const auto linesOf = [](const QTableView *table, int column, const QString &text, int width) {
            QStandardItemModel model(1, 5);
            model.setData(model.index(0, column), text);
            const auto *delegate = qobject_cast<const CellDelegate *>(table->itemDelegate());
            const QSize room(width, table->verticalHeader()->defaultSectionSize());
            return delegate ? delegate->linesOf(model.index(0, column), table->font(), room) : QStringList();
        };
        const QTableView *alerts = m_window->drawer()->alertTable(), *console = m_window->drawer()->table();
        const QString message =
            QStringLiteral("training stopped because the loss of rank 0 is NaN since step 2 (the first "
                           "tensor that is not finite: the output of layer conv2)");
        const int width = QFontMetrics(alerts->font()).horizontalAdvance(message);
        const QStringList lines = linesOf(alerts, core::AlertModel::Message, message, width * 2 / 3);
        QCOMPARE(lines.size(), 2);
        QCOMPARE(lines.join(u' '), message);
        const QString name = QStringLiteral("training of the network with eight loading workers and large buckets #12");
        for (const QTableView *table : {alerts, console}) {
            const int column = table == alerts ? int(core::AlertModel::Run) : int(core::ConsoleModel::Run);
            const QStringList shown = linesOf(table, column, name, 120);
            QVERIFY(!shown.isEmpty());
            QVERIFY2(shown.last().endsWith(QStringLiteral(" #12")), qPrintable(shown.join(u'|')));
        }
    }

    void anAlertReachesTheDesktopAndAPressOnItLeadsToIt() {
        m_bus.start(QStringLiteral("dbus-daemon"), {QStringLiteral("--session"), QStringLiteral("--nofork"),
                                                    QStringLiteral("--nopidfile"), QStringLiteral("--print-address")});
        if (!m_bus.waitForStarted())
            QSKIP("there is no dbus-daemon");
        QVERIFY(m_bus.waitForReadyRead());
        const QByteArray address = m_bus.readLine().trimmed();
        qputenv("DBUS_SESSION_BUS_ADDRESS", address);
        Notifications desktop;
        QDBusConnection bus = QDBusConnection::connectToBus(QString::fromUtf8(address), QStringLiteral("desktop"));
        QVERIFY(bus.registerObject(QStringLiteral("/org/freedesktop/Notifications"), &desktop,
                                   QDBusConnection::ExportAllSlots | QDBusConnection::ExportAllSignals));
        QVERIFY(bus.registerService(QStringLiteral("org.freedesktop.Notifications")));

        auto *notifier = m_window->findChild<DesktopNotifier *>();
        QVERIFY(notifier->isEnabled());
        m_window->drawer()->notifyBox()->setChecked(false);
        QVERIFY(!notifier->isEnabled());
        m_window->drawer()->notifyBox()->setChecked(true);
        notifier->show({firstRun(), QStringLiteral("DDP on 2 devices"),
                        makeAlert("straggler", "rank 1 <b>is</b> slow & late"), 2});
        QTRY_COMPARE(desktop.shown.size(), std::size_t(1));
        QCOMPARE(desktop.shown[0].title, QStringLiteral("DDP on 2 devices"));
        QVERIFY2(desktop.shown[0].body.startsWith(
                     u"rank 1 &lt;b&gt;is&lt;/b&gt; slow &amp; late (and 2 more of this kind)\nLook at its device"),
                 qPrintable(desktop.shown[0].body));
        QCOMPARE(desktop.shown[0].hints.value(QStringLiteral("urgency")).toInt(), 1);
        QVERIFY(!m_window->drawer()->isUnfolded());
        const auto press = [&] { // again until the answer with the notification's number has come
            Q_EMIT desktop.ActionInvoked(1, QStringLiteral("default"));
            return m_window->drawer()->isUnfolded();
        };
        QTRY_VERIFY(press());
        QCOMPARE(m_window->drawer()->alertTable()->currentIndex().data(core::RunIdRole).toString(), firstRun());
        QDBusConnection::disconnectFromBus(QStringLiteral("desktop"));
    }
};

QTEST_MAIN(AlertsTest)
#include "alerts_test.moc"

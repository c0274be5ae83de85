// SPDX-License-Identifier: MIT
// Names and messages that look like HTML are shown as they are.
#include <QHelpEvent>
#include <QLabel>
#include <QStandardItemModel>
#include <QTableView>
#include <QTextDocumentFragment>
#include <QToolTip>

#include "app/ui/widgets/elided_label.h"
#include "app/ui/widgets/plain_hints.h"
#include "app/ui/widgets/tables.h"
#include "window_fixture.h"

using namespace lockstep;
using namespace lockstep::ui;

class HintsTest : public QObject, uitest::WindowFixture {
    Q_OBJECT
    uitest::Home m_home;

    static void pointAt(QWidget *widget, const QPoint &at) {
        QHelpEvent event(QEvent::ToolTip, at, widget->mapToGlobal(at));
        QApplication::sendEvent(widget, &event);
    }
    /// What a person reads.
    static QString shown() {
        for (const QWidget *widget : QApplication::topLevelWidgets())
            if (const auto *label = qobject_cast<const QLabel *>(widget); label && label->inherits("QTipLabel"))
                return Qt::mightBeRichText(label->text()) ? QTextDocumentFragment::fromHtml(label->text()).toPlainText()
                                                          : label->text();
        return {};
    }

private Q_SLOTS:
    void init() { openWindow({1280, 800}); }
    void cleanup() { closeWindow(); }

    void aTablesHintIsItsModelsWords() {
        const QString name = QStringLiteral("<b>DDP</b> <img src=\"file:///etc/passwd\">");
        QStandardItemModel model(1, 1);
        model.setData(model.index(0, 0), name, Qt::ToolTipRole);
        QTableView *table = makeTable(m_theme, m_window.get());
        table->setModel(&model);
        table->resize(400, 200);
        table->show();
        pointAt(table->viewport(), table->visualRect(model.index(0, 0)).center());
        QTRY_COMPARE(shown(), name);
    }

    void aLabelThatIsCutShowsItsWholeTextAsItIs() {
        const QString name = QStringLiteral("<i>a</i> ") + QString(200, u'x');
        auto *label = new ElidedLabel("muted", 40, m_window.get());
        label->setText(name);
        label->resize(60, 20);
        label->show();
        pointAt(label, label->rect().center());
        QTRY_COMPARE(shown(), name);
    }

    void aLabelThatFitsShowsItsHintAsItIs() {
        const QString hint = QStringLiteral("<b>DDP</b>, compared with baseline");
        auto *label = new ElidedLabel("muted", 40, m_window.get());
        label->setText(QStringLiteral("DDP"));
        label->setToolTip(hint);
        label->resize(400, 20);
        label->show();
        pointAt(label, label->rect().center());
        QTRY_COMPARE(shown(), hint);
    }

    void aLabelWhoseLeastWidthStaysAsksForNoLayout() {
        struct Requests : QObject {
            bool eventFilter(QObject *, QEvent *event) override {
                count += event->type() == QEvent::LayoutRequest ? 1 : 0;
                return false;
            }
            int count = 0;
        } requests;
        QWidget box;
        auto *label = new ElidedLabel("muted", 40, &box);
        box.show();
        QCoreApplication::sendPostedEvents();
        box.installEventFilter(&requests);
        label->setLeastWidth(40);
        QCoreApplication::sendPostedEvents(&box, QEvent::LayoutRequest);
        QCOMPARE(requests.count, 0);
        label->setLeastWidth(60);
        QCoreApplication::sendPostedEvents(&box, QEvent::LayoutRequest);
        QCOMPARE(requests.count, 1);
    }
};

QTEST_MAIN(HintsTest)
#include "hints_test.moc"

// SPDX-License-Identifier: MIT
// The Runs page in the real window, over runs that lie on disk as real ones do, with real mouse and keys.
#include <algorithm>

#include <QAbstractItemView>
#include <QApplication>
#include <QClipboard>
#include <QCompleter>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QRegularExpression>
#include <QSettings>
#include <QTableView>

#include "app/ui/charts/line_chart.h"
#include "app/ui/charts/phase_bars.h"
#include "app/ui/pages/plan/config_form.h"
#include "app/ui/pages/plan/plan_page.h"
#include "app/ui/pages/runs/runs_columns.h"
#include "app/ui/pages/runs/runs_details.h"
#include "app/ui/pages/runs/runs_diff.h"
#include "app/ui/pages/runs/runs_filter_line.h"
#include "app/ui/pages/runs/runs_page.h"
#include "app/ui/shell/main_window.h"
#include "app/ui/shell/workspace.h"
#include "app/ui/theme/theme.h"
#include "ipc/run_folder.h"
#include "models/roles.h"
#include "models/run_list_model.h"
#include "store/run_notes.h"
#include "tests/qt_test.h"
#include "window_fixture.h"

using namespace lockstep;
using namespace lockstep::ui;

class RunsTest : public QObject, uitest::WindowFixture {
    Q_OBJECT
    std::unique_ptr<uitest::Home> m_home;
    std::string m_experiment;

    RunsPage *page() { return m_window->runsPage(); }
    core::RunListModel &list() { return page()->list(); }
    QTableView *table() { return page()->table(); }
    QString cell(int row, const char *column) { return list().index(row, core::runColumn(column)).data().toString(); }
    std::string idAt(int row) { return list().runAt(row).run; }
    core::RunNotes notesOf(const std::string &run) {
        return core::readRunNotes(runFolder(run)).value_or(core::RunNotes{});
    }

    void click(int row, Qt::KeyboardModifiers keys = {}) {
        const QModelIndex index = list().index(row, core::runColumn("state"));
        table()->scrollTo(index);
        QTest::mouseClick(table()->viewport(), Qt::LeftButton, keys, table()->visualRect(index).center());
    }
    void write(const QString &line) {
        QTest::keyClick(table(), Qt::Key_Slash);
        QTRY_COMPARE(QApplication::focusWidget(), page()->filterLine());
        QTest::keyClicks(page()->filterLine(), line);
    }
    QLabel *labelWith(const QString &text) {
        for (QLabel *label : page()->findChildren<QLabel *>())
            if (label->text().contains(text) && label->isVisible())
                return label;
        return nullptr;
    }
    QPushButton *buttonWith(const QString &text) {
        for (QPushButton *button : page()->findChildren<QPushButton *>())
            if (button->text() == text && button->isVisible())
                return button;
        return nullptr;
    }
    void openRuns() {
        openWindow();
        m_window->showPage(Page::Runs);
    }

private Q_SLOTS:
    void init() {
        m_home = std::make_unique<uitest::Home>();
        m_experiment = uitest::writeExperimentOnDisk({.epochs = 2, .stepsPerEpoch = 12, .repeats = 2});
        openRuns();
        QTRY_COMPARE(list().rowCount(), 6);
        table()->setFocus();
    }
    void cleanup() {
        closeWindow();
        m_home.reset();
    }

    void theFilterLineNarrowsTheTableWithEveryKey() {
        write("method=ddp");
        QCOMPARE(list().rowCount(), 2);
        QVERIFY(labelWith("2 of 6 runs"));
        QTest::keyClicks(page()->filterLine(), " repeat=1");
        QCOMPARE(list().rowCount(), 1);
        QTest::keyClick(page()->filterLine(), Qt::Key_Escape);
        QTRY_COMPARE(QApplication::focusWidget(), table());
        QCOMPARE(list().rowCount(), 1); // leaving the line keeps it
    }

    void aFailedRunHasARedBadge() {
        core::PlannedRun planned;
        planned.name = "DDP on 2 devices";
        planned.config.method = Method::Ddp;
        planned.config.devices = {"0", "1"};
        uitest::RunWriter writer(planned, {}, 71, 1'767'900'000'000'000, {.epochs = 2, .stepsPerEpoch = 12});
        writer.begin();
        writer.epoch(1);
        writer.died(1, "rank 1 on box1 was killed by SIGKILL");
        closeWindow();
        openRuns();
        QTRY_COMPARE(list().rowCount(), 7);
        int failed = 0;
        while (failed < 7 && idAt(failed) != writer.run)
            ++failed;
        const auto badged = [this](int row) {
            const QModelIndex state = list().index(row, core::runColumn("state"));
            table()->scrollTo(state);
            const QRect place = table()->visualRect(state);
            const QImage picture = table()->viewport()->grab(place).toImage();
            return picture.pixelColor(4, picture.height() / 2) == m_theme.palette().wrongSoft; // before the word
        };
        table()->clearSelection();
        QTRY_VERIFY(badged(failed));
        QVERIFY(!badged(failed == 0 ? 1 : 0));
        const int column = core::runColumn("state"); // though it came last, its state is read whole
        QVERIFY(table()->columnWidth(column) >= static_cast<QAbstractItemView *>(table())->sizeHintForColumn(column));
        uitest::picture(*m_window, m_theme, "runs-failed");
    }

    void aNameTooLongForItsColumnTakesTheRoomThatTheOthersLeave() {
        core::PlannedRun planned;
        planned.name = "分布式数据并行，两个设备，四个加载线程，混合精度，通道在后 (DDP, 4 workers, bf16)";
        uitest::RunWriter writer(planned, {}, 70, 1'767'000'000'000'000, {.epochs = 1, .stepsPerEpoch = 4});
        writer.begin();
        writer.end();
        closeWindow();
        openRuns();
        QTRY_COMPARE(list().rowCount(), 7);
        const int name = core::runColumn("name");
        m_window->resize(2560, 1000);
        QTRY_VERIFY(table()->columnWidth(name) >= static_cast<QAbstractItemView *>(table())->sizeHintForColumn(name));
        QVERIFY(table()->horizontalHeader()->length() <= table()->viewport()->width());
        m_window->resize(1280, 800);
        QTRY_VERIFY(table()->columnWidth(name) <= 300); // and gives it back
    }

    void aNameThatComesLaterIsReadThoughTheTableIsWiderThanItsView() {
        m_window->resize(1280, 800);
        const int name = core::runColumn("name");
        QTRY_VERIFY(table()->horizontalHeader()->length() > table()->viewport()->width());
        const int before = table()->columnWidth(name);
        core::PlannedRun planned;
        planned.name = "DDP on 2 devices, lr 0.05, 4 workers";
        uitest::RunWriter writer(planned, {}, 70, 1'767'900'000'000'000, {.epochs = 1, .stepsPerEpoch = 4});
        writer.begin();
        writer.end();
        page()->refresh();
        QTRY_COMPARE(list().rowCount(), 7);
        QTRY_VERIFY(table()->columnWidth(name) > before);
        const int wanted = static_cast<QAbstractItemView *>(table())->sizeHintForColumn(name);
        QTRY_COMPARE(table()->columnWidth(name), std::min(wanted, 300));
    }

    void aMistakeIsMarkedWithItsPlaceAndTheTableStaysAsItWas() {
        write("method=ddp");
        QTest::keyClicks(page()->filterLine(), " devces=2");
        QCOMPARE(list().rowCount(), 2);
        QVERIFY(page()->filterLine()->property("mistake").toBool());
        QVERIFY(labelWith("at 12: there is no column \"devces\"; did you mean devices?"));
    }

    void keysAndValuesAreCompletedInTheLine() {
        write("meth");
        QAbstractItemView *popup = page()->filterLine()->completions()->popup();
        QTRY_VERIFY(popup->isVisible());
        QTest::keyClick(popup, Qt::Key_Down);
        QTest::keyClick(popup, Qt::Key_Return);
        QCOMPARE(page()->filterLine()->text(), QStringLiteral("method="));
        QTRY_VERIFY(popup->isVisible()); // its values at once
        const int values = popup->model()->rowCount();
        QCOMPARE(values, int(methodTable.size()));
        QTest::keyClick(popup, Qt::Key_Down);
        QTest::keyClick(popup, Qt::Key_Return);
        QVERIFY2(QRegularExpression("^method=(baseline|dp|ddp|ps-sync|ps-async) $")
                     .match(page()->filterLine()->text())
                     .hasMatch(),
                 qPrintable(page()->filterLine()->text()));
        QCOMPARE(list().rowCount(), 2);
    }

    void nothingFoundOffersToClearTheFilter() {
        write("resnet");
        QCOMPARE(list().rowCount(), 0);
        QTRY_VERIFY(labelWith("No run matches"));
        QPushButton *clear = buttonWith("Clear the filter");
        QVERIFY(clear);
        QTest::mouseClick(clear, Qt::LeftButton);
        QCOMPARE(list().rowCount(), 6);
        QVERIFY(page()->filterLine()->text().isEmpty());
    }

    void sStarsTheChosenRunsAndCtrlZTakesItBack() {
        click(1);
        click(3, Qt::ControlModifier);
        const std::string first = idAt(1), second = idAt(3);
        QTest::keyClick(table(), Qt::Key_S);
        QTRY_COMPARE(cell(1, "star"), QStringLiteral("★"));
        QVERIFY(notesOf(first).starred && notesOf(second).starred);
        QTRY_COMPARE(page()->chosen().size(), std::size_t(2)); // still chosen
        QTest::keyClick(table(), Qt::Key_Z, Qt::ControlModifier);
        QTRY_COMPARE(cell(3, "star"), QString());
        QVERIFY(!notesOf(first).starred);
    }

    void f2RenamesInPlace() {
        click(0);
        const std::string run = idAt(0);
        QTest::keyClick(table(), Qt::Key_F2);
        auto *editor = table()->findChild<QLineEdit *>();
        QTRY_VERIFY((editor = table()->findChild<QLineEdit *>()));
        QTest::keyClicks(editor, "the good one");
        QTest::keyClick(editor, Qt::Key_Return);
        QTRY_COMPARE(cell(0, "name"), QStringLiteral("the good one"));
        QCOMPARE(notesOf(run).name, std::string("the good one"));
        QTest::keyClick(table(), Qt::Key_Z, Qt::ControlModifier);
        QTRY_VERIFY(cell(0, "name") != QStringLiteral("the good one"));
    }

    void tagsAndANoteAreWrittenBesideTheTable() {
        click(0);
        const std::string run = idAt(0);
        QTest::keyClick(table(), Qt::Key_T);
        QTRY_COMPARE(QApplication::focusWidget(), page()->details()->tagsLine());
        QTest::keyClicks(page()->details()->tagsLine(), "slow, kept");
        QTest::keyClick(page()->details()->tagsLine(), Qt::Key_Return);
        QTRY_COMPARE(cell(0, "tags"), QStringLiteral("kept, slow"));
        page()->details()->note()->setFocus();
        QTest::keyClicks(page()->details()->note(), "remember");
        click(1); // choosing another run keeps what was written
        QTRY_COMPARE(notesOf(run).note, std::string("remember"));
        QCOMPARE(page()->details()->note()->toPlainText(), QString());
        click(0);
        QTRY_COMPARE(page()->details()->note()->toPlainText(), QStringLiteral("remember"));
    }

    void idsAreReadWholeBesideTheTable() {
        click(0);
        const auto cut = [&] { // labels of ids, and how many of them lack room
            std::pair<int, int> out;
            for (const QLabel *label : page()->details()->findChildren<QLabel *>())
                if (isRunId(label->text().toStdString())) {
                    ++out.first;
                    out.second += label->width() < label->fontMetrics().horizontalAdvance(label->text());
                }
            return out;
        };
        QTRY_VERIFY(cut().first > 0);
        QTRY_COMPARE(cut().second, 0);
    }

    void whatLockstepctlNotesShowsHere() {
        const std::string run = idAt(2);
        QVERIFY(core::changeRunNotes(runFolder(run), [](core::RunNotes &notes) { notes.tags = {"outside"}; }));
        QTRY_COMPARE(cell(2, "tags"), QStringLiteral("outside"));
    }

    void deleteMovesToTheTrashAndUndoPutsBack() {
        click(0);
        click(2, Qt::ShiftModifier);
        const std::string first = idAt(0);
        QTest::keyClick(table(), Qt::Key_Delete);
        QTRY_COMPARE(list().rowCount(), 3);
        QVERIFY(!QFile::exists(QString::fromStdString(runFolder(first).path)));
        QVERIFY(labelWith("3 runs deleted. Deleted runs stay in the trash for 30 days."));
        QPushButton *undo = buttonWith("Undo");
        QVERIFY(undo);
        QTest::mouseClick(undo, Qt::LeftButton);
        QTRY_COMPARE(list().rowCount(), 6);
        QVERIFY(QFile::exists(QString::fromStdString(runFolder(first).config())));
        QTRY_COMPARE(page()->chosen().size(), std::size_t(3)); // what came back is chosen
    }

    void whatWasTakenBackIsMadeAgainByCtrlShiftZ() {
        const auto press = [this](Qt::KeyboardModifiers keys) { QTest::keyClick(table(), Qt::Key_Z, keys); };
        const auto redo = Qt::ControlModifier | Qt::ShiftModifier;
        click(0);
        QTest::keyClick(table(), Qt::Key_S);
        QTRY_COMPARE(cell(0, "star"), QStringLiteral("★"));
        QTest::keyClick(table(), Qt::Key_Delete);
        QTRY_COMPARE(list().rowCount(), 5);
        press(Qt::ControlModifier);
        QTRY_COMPARE(list().rowCount(), 6);
        QTRY_COMPARE(cell(0, "star"), QStringLiteral("★"));
        press(Qt::ControlModifier);
        QTRY_COMPARE(cell(0, "star"), QString());
        press(redo);
        QTRY_COMPARE(cell(0, "star"), QStringLiteral("★"));
        press(redo); // the second thing taken back is still there to be made again
        QTRY_COMPARE(list().rowCount(), 5);
        press(Qt::ControlModifier);
        QTRY_COMPARE(list().rowCount(), 6);
        QPushButton *again = buttonWith("Redo");
        QVERIFY(again);
        QTest::mouseClick(again, Qt::LeftButton);
        QTRY_COMPARE(list().rowCount(), 5);
        press(redo);
        QTRY_VERIFY(labelWith("Nothing to redo."));
        press(Qt::ControlModifier);
        QTRY_COMPARE(list().rowCount(), 6);
        click(1);
        QTest::keyClick(table(), Qt::Key_S); // something new ends what could be made again
        QTRY_COMPARE(cell(1, "star"), QStringLiteral("★"));
        QTest::qWait(50);
        press(redo);
        QTRY_VERIFY(labelWith("Nothing to redo."));
        QCOMPARE(list().rowCount(), 6);
    }

    void aRunDeletedEarlierComesBackAfterARestart() {
        click(0);
        QTest::keyClick(table(), Qt::Key_Delete);
        QTRY_COMPARE(list().rowCount(), 5);
        closeWindow();
        openRuns();
        QTRY_COMPARE(list().rowCount(), 5);
        QTest::keyClick(table(), Qt::Key_Z, Qt::ControlModifier);
        QTRY_COMPARE(list().rowCount(), 6);
    }

    void theExperimentOfADeletedRunOpensStill() {
        click(0);
        QTest::keyClick(table(), Qt::Key_Delete);
        QTRY_COMPARE(list().rowCount(), 5);
        const auto opened = m_workspace->open(QString::fromStdString(m_experiment));
        QVERIFY2(opened, opened ? "" : opened.error().message().c_str());
        QTRY_VERIFY(m_workspace->complete() && m_workspace->settled());
        QCOMPARE(m_workspace->runs().count(), 5);
        QVERIFY(m_workspace->results().rows().rowCount() >= 3);
    }

    void twoRunsAreComparedWithTheirCurvesOverlaid() {
        write("repeat=1 not method=baseline");
        QTest::keyClick(page()->filterLine(), Qt::Key_Return);
        QCOMPARE(list().rowCount(), 2);
        click(0);
        click(1, Qt::ControlModifier);
        QTest::keyClick(table(), Qt::Key_D);
        QTRY_VERIFY(page()->diff()->isVisible());
        QTRY_COMPARE(page()->diff()->chart()->lines().size(), 2);
        QTRY_VERIFY(page()->diff()->chart()->lines()[1].size() > 0);
        QTRY_VERIFY(std::ranges::all_of(page()->diff()->chart()->lines(), [](const LineData &line) {
            return line.data && line.curve != line.data &&
                   !line.endText.isEmpty(); // smoothed, with the last epoch's mean
        }));
        const core::RunDiffModel &model = page()->diff()->model();
        QTRY_VERIFY(model.diff().sections.size() >= 4);
        // Where a step of each goes stands as bars, A above B, each in its method's colour and a step's own order.
        PhaseBars *bars = page()->diff()->phases();
        QTRY_COMPARE(bars->bars().size(), 2);
        QVERIFY(bars->isVisible() && bars->height() >= bars->minimumSizeHint().height());
        QVERIFY(bars->bars()[0].label.startsWith("A ") && bars->bars()[1].label.startsWith("B "));
        QVERIFY(bars->bars()[0].color != bars->bars()[1].color);
        for (const PhaseBar &bar : bars->bars()) {
            QCOMPARE(bar.parts.first().phase, QStringLiteral("load"));
            QCOMPARE(bar.parts.last().phase, QStringLiteral("other"));
            QVERIFY(!bar.nested.isEmpty());
            for (const PhasePart &part : bar.nested)
                QVERIFY(part.phase != "comm");
        }
        QCOMPARE(model.headerData(core::RunDiffModel::B, Qt::Horizontal, Qt::ToolTipRole).toString(),
                 model.diff().nameB); // the head may be too narrow for it
        QCOMPARE(model.headerData(core::RunDiffModel::Change, Qt::Horizontal).toString(), QStringLiteral("B ÷ A"));
        QCOMPARE(model.index(1, 0).data().toString(), QStringLiteral("Method")); // what differs first
        QCOMPARE(model.index(1, 1).data().toString(), QStringLiteral("dp"));     // the earlier one is A
        int fold = 0;
        while (!model.index(fold, 0).data(core::RunDiffModel::FoldRole).toBool())
            ++fold;
        const int folded = model.rowCount();
        QTest::mouseClick(page()->diff()->table()->viewport(), Qt::LeftButton, {},
                          page()->diff()->table()->visualRect(model.index(fold, 0)).center());
        QVERIFY(model.rowCount() > folded);
        QTest::keyClick(m_window.get(), Qt::Key_W, Qt::ControlModifier);
        QTRY_VERIFY(page()->details()->isVisible());
    }

    void onlyRepeatsHaveAMeanAndOtherRunsTheirRange() {
        table()->selectAll();
        QTRY_VERIFY(labelWith("6 runs") && !labelWith(" ± "));
        static const QRegularExpression range(QStringLiteral("^[\\d.]+ to [\\d.]+"));
        QVERIFY(std::ranges::any_of(page()->details()->findChildren<QLabel *>(),
                                    [](const QLabel *label) { return label->text().contains(range); }));
    }

    void repeatsAreGroupedAndOpenedByKeyboard() {
        QTest::keyClick(table(), Qt::Key_G);
        QCOMPARE(list().rowCount(), 3);
        QVERIFY(cell(0, "training").contains("±"));
        table()->setCurrentIndex(list().index(0, core::runColumn("name")));
        QTest::keyClick(table(), Qt::Key_Right);
        QCOMPARE(list().rowCount(), 5);
        QTest::keyClick(table(), Qt::Key_Left);
        QCOMPARE(list().rowCount(), 3);
        const QRect head = table()->visualRect(list().index(0, core::runColumn("name")));
        QTest::mouseClick(table()->viewport(), Qt::LeftButton, {}, {head.left() + 36, head.center().y()});
        QCOMPARE(list().rowCount(), 5);
        QTest::keyClick(table(), Qt::Key_G);
        QCOMPARE(list().rowCount(), 6);
    }

    void chosenColumnsSortingAndGroupingAreKept() {
        const QString file = m_home->path() + "/window.ini";
        m_window->restore(file);
        page()->columns()->show("lr", true);
        page()->columns()->show("recipe", false);
        table()->sortByColumn(core::runColumn("training"), Qt::AscendingOrder);
        QTest::mouseClick(buttonWith("Group"), Qt::LeftButton);
        closeWindow();
        openRuns();
        m_window->restore(file);
        QTRY_COMPARE(list().rowCount(), 3);
        QVERIFY(page()->columns()->shown().contains("lr"));
        QVERIFY(!page()->columns()->shown().contains("recipe"));
        QVERIFY(!table()->isColumnHidden(core::runColumn("lr")));
        double before = 0;
        for (int row = 0; row < 3; ++row) {
            const double mean = list().index(row, core::runColumn("training")).data(core::ValueRole).toDouble();
            QVERIFY(mean >= before);
            before = mean;
        }
        page()->columns()->reset();
        const QStringList usual = page()->columns()->shown();
        QCOMPARE(usual.indexOf("recipe"), usual.indexOf("name") + 1);
    }

    void aRunIsDuplicatedIntoPlan() {
        write("method=dp repeat=1");
        QTest::keyClick(page()->filterLine(), Qt::Key_Return);
        click(0);
        const std::string run = idAt(0);
        QTest::keyClick(m_window.get(), Qt::Key_D, Qt::ControlModifier);
        QTRY_COMPARE(m_window->page(), Page::Plan);
        core::PlanModel &plan = m_window->planPage()->plan();
        QCOMPARE(plan.rowCount(), 1);
        const auto record = runRecordFromJson(*realFileSystem().readAll(runFolder(run).config()));
        QVERIFY(record && record->config);
        QVERIFY(plan.runAt(0).config == *record->config);
        QVERIFY(m_window->planPage()->startButton()->isEnabled());
    }

    void everyActionOfTheTableHasItsKeyInTheMenu() {
        QStringList without;
        for (const QAction *action : table()->actions())
            if (!action->isSeparator() && action->shortcut().isEmpty())
                without.append(action->text());
        QCOMPARE(without, QStringList{"Empty the trash…"}); // it asks, and is not for a slip of the hand
    }

    void noTwoActionsOfATableHaveOneKey() {
        const QList<QTableView *> tables = m_window->findChildren<QTableView *>();
        QVERIFY(tables.contains(table()) && tables.contains(page()->diff()->table()));
        for (const QTableView *one : tables) {
            QStringList keys;
            for (const QAction *action : one->actions())
                if (!action->shortcut().isEmpty())
                    keys.append(action->shortcut().toString());
            QVERIFY2(keys.removeDuplicates() == 0, qPrintable(one->accessibleName()));
        }
    }

    void ctrlCCopiesTheChosenRows() {
        QGuiApplication::clipboard()->clear();
        click(0);
        QTest::keyClick(table(), Qt::Key_C, Qt::ControlModifier);
        QTRY_VERIFY(QGuiApplication::clipboard()->text().contains(cell(0, "name")));
        QVERIFY(QGuiApplication::clipboard()->text().startsWith(QChar(u'★')));
    }
};

QTEST_MAIN(RunsTest)
#include "runs_test.moc"

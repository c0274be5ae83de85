// SPDX-License-Identifier: MIT
// Plan's dialog for a script of the person's own: its flags are offered, one step is tried, and it becomes a recipe. The script is a
// real process of Python; it computes nothing, and says by itself what lockstep.auto says of a real one.
#include <QComboBox>
#include <QDir>
#include <QLineEdit>
#include <QPushButton>
#include <QSpinBox>

#include "app/ui/pages/plan/config_form.h"
#include "app/ui/pages/plan/plan_page.h"
#include "app/ui/pages/plan/recipe_list.h"
#include "app/ui/pages/plan/script_dialog.h"
#include "app/ui/shell/workspace.h"
#include "app/ui/theme/theme.h"
#include "models/plan_model.h"
#include "tests/qt_test.h"
#include "ui_fixture.h"

using namespace lockstep;
using namespace lockstep::ui;

namespace {

constexpr const char *trains = R"(
import argparse, os
parser = argparse.ArgumentParser()
parser.add_argument("--num-workers", type=int, default=0)
parser.add_argument("--twice", action="store_true")
parser.add_argument("--mode", choices=["fast", "slow"])
parser.parse_args()
world = os.environ.get("WORLD_SIZE", "1")
print("lockstep: the script ends after 1 step, as it was asked to; its first step had 32 samples in each of "
      + world + " processes that train together")
)";

} // namespace

class ScriptTest : public QObject {
    Q_OBJECT
    uitest::Home m_home;
    QTemporaryDir m_folder;
    Theme m_theme{ThemeMode::Light};
    std::unique_ptr<Workspace> m_workspace;
    std::unique_ptr<PlanPage> m_page;
    ScriptDialog *m_dialog = nullptr;

    void write(const QString &name, const QByteArray &text) {
        QVERIFY(QDir().mkpath(QFileInfo(m_folder.filePath(name)).path()));
        QFile file(m_folder.filePath(name));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(text);
    }

    void openDialog() {
        for (QPushButton *button : m_page->findChildren<QPushButton *>())
            if (button->text() == QStringLiteral("Your script…") && button->isVisible())
                button->click();
        QVERIFY(!m_page->findChildren<ScriptDialog *>().isEmpty());
        m_dialog = m_page->findChildren<ScriptDialog *>().back();
    }

private Q_SLOTS:
    void initTestCase() {
        write(QStringLiteral("train.py"), trains);
        write(QStringLiteral("modules/torch/__init__.py"), ""); // what the agent looks for in a Python
        qputenv("LOCKSTEP_PYTHON", "/usr/bin/python3");
        qputenv("PYTHONPATH", m_folder.filePath(QStringLiteral("modules")).toUtf8());
    }
    void init() {
        if (!QFile::exists(QStringLiteral("/usr/bin/python3")))
            QSKIP("there is no /usr/bin/python3");
        m_workspace = std::make_unique<Workspace>();
        m_page = std::make_unique<PlanPage>(m_theme, *m_workspace, uitest::twoCores());
        m_page->resize(1280, 760);
        m_page->show();
        openDialog();
        QVERIFY(!m_dialog->tryButton()->isEnabled());
        m_dialog->scriptField()->setText(m_folder.filePath(QStringLiteral("train.py")));
        QVERIFY(m_dialog->tryButton()->isEnabled());
    }
    void cleanup() {
        m_page.reset();
        m_workspace.reset();
    }

    void theScriptsFlagsAreOfferedWithTheirValues() {
        QComboBox *flag = m_dialog->varied().front().flag;
        QTRY_COMPARE_WITH_TIMEOUT(flag->count(), 3, 60'000);
        QCOMPARE(flag->itemText(0), QStringLiteral("num-workers"));
        flag->setCurrentIndex(1);
        QCOMPARE(m_dialog->varied().front().values->text(), QStringLiteral("off,on"));
        m_dialog->varied()[1].flag->setCurrentIndex(2);
        QCOMPARE(m_dialog->varied()[1].values->text(), QStringLiteral("fast,slow"));
    }

    void aScriptThatTakesItsFlagsBecomesAPlan() {
        m_dialog->varied().front().flag->setCurrentText(QStringLiteral("twice"));
        m_dialog->varied().front().values->setText(QStringLiteral("off, on"));
        m_dialog->tryButton()->click();
        QTRY_VERIFY_WITH_TIMEOUT(m_page->recipes()->currentName() == QStringLiteral("train"), 120'000);
        QStringList names;
        for (int row = 0; row < m_page->plan().rowCount(); ++row)
            for (int column = 0; column < m_page->plan().columnCount(); ++column)
                names << m_page->plan().index(row, column).data().toString();
        QVERIFY2(names.join(u'|').contains(QStringLiteral("DDP on 2 devices, twice on")), qPrintable(names.join(u'|')));
        const core::Recipe recipe = m_page->draft().effective();
        QVERIFY(std::ranges::find(recipe.runs.front().command, std::string("--max-samples")) !=
                recipe.runs.front().command.end());
        QVERIFY2(recipe.notes[1].starts_with("Weak scaling"), recipe.notes[1].c_str());
        // The form has what is known of a script: where it runs.
        QVERIFY(!m_page->form()->field(QStringLiteral("model"))->row->isVisibleTo(m_page->form()));
        QVERIFY(m_page->form()->field(QStringLiteral("method"))->row->isVisibleTo(m_page->form()));
        QVERIFY(m_page->choose(QStringLiteral("lenet-dp-vs-ddp")));
        QVERIFY(m_page->form()->field(QStringLiteral("model"))->row->isVisibleTo(m_page->form()));
    }

    void aScriptThatFailsIsShownWithWhatItPrinted() {
        m_dialog->argumentsField()->setText(QStringLiteral("--depth 3"));
        m_dialog->tryButton()->click();
        QTRY_VERIFY_WITH_TIMEOUT(m_dialog->state().contains(QStringLiteral("train.py fails in its first step")),
                                 120'000);
        QVERIFY2(m_dialog->state().contains(QStringLiteral("unrecognized arguments: --depth 3")),
                 qPrintable(m_dialog->state()));
        QVERIFY2(m_dialog->printed().startsWith(QStringLiteral("usage: train.py")), qPrintable(m_dialog->printed()));
        QVERIFY(m_dialog->tryButton()->isEnabled());
        QCOMPARE(m_dialog->focusWidget(), m_dialog->tryButton());
        QVERIFY(m_page->recipes()->currentName() != QStringLiteral("train"));
    }

    void mistakesAreSaidBeforeAnythingStarts() {
        m_dialog->processesField()->setText(QStringLiteral("1,one"));
        QVERIFY(!m_dialog->tryButton()->isEnabled() && !m_dialog->planButton()->isEnabled());
        QVERIFY2(m_dialog->state().contains(QStringLiteral("are not numbers of processes")),
                 qPrintable(m_dialog->state()));
        m_dialog->processesField()->setText(QStringLiteral("1"));
        QVERIFY(m_dialog->tryButton()->isEnabled());
        m_dialog->varied().front().flag->setCurrentText(QStringLiteral("twice"));
        QCOMPARE(m_dialog->state(), QStringLiteral("twice has no values; type them beside it, e.g. 0,2"));
        m_dialog->varied().front().values->setText(QStringLiteral("off,on"));
        m_dialog->pythonField()->setText(QStringLiteral("/nowhere/python"));
        QCOMPARE(m_dialog->state(), QStringLiteral("there is no Python /nowhere/python; type the path of one"));
        m_dialog->pythonField()->setText(QStringLiteral("/usr/bin/python3"));
        QVERIFY(m_dialog->tryButton()->isEnabled());
    }

    void aScriptsRunIsDuplicatedWithItsCommandAndNotAsATrainingOfOurs() {
        RunRecord record;
        record.name = "DDP on 2 devices, twice on";
        record.config.emplace();
        record.config->method = Method::Ddp;
        record.config->devices = {"0", "1"};
        record.command = {"/usr/bin/python3", "-m", "lockstep", "train.py", "--depth", "{3}", "--twice"};
        record.claims.flags = {{"twice", "on"}};
        m_page->fillIn(record, QStringLiteral("DDP on 2 devices, twice on"));
        const core::Recipe recipe = m_page->draft().effective();
        QCOMPARE(recipe.runs.size(), std::size_t(1));
        std::vector<std::string> command = record.command;
        command[5] = "{{3}}"; // as a recipe writes it
        QCOMPARE(recipe.runs.front().command, command);
        QCOMPARE(recipe.runs.front().claims.flags, record.claims.flags);
        QCOMPARE(m_page->plan().rowCount(), 1);
        QVERIFY(!m_page->form()->field(QStringLiteral("model"))->row->isVisibleTo(m_page->form()));
        QVERIFY(m_page->form()->field(QStringLiteral("method"))->row->isVisibleTo(m_page->form()));
    }

    void aPlanWithoutATrialLimitsStepsAndItsEntriesAreThereToBeChanged() {
        m_dialog->stepsBox()->setValue(50);
        m_dialog->pythonField()->setText(QStringLiteral("/usr/bin/python3"));
        m_dialog->varied().front().flag->setCurrentText(QStringLiteral("twice"));
        m_dialog->varied().front().values->setText(QStringLiteral("off,on"));
        m_dialog->planButton()->click();
        QTRY_COMPARE(m_page->recipes()->currentName(), QStringLiteral("train"));
        const std::vector<std::string> command = m_page->draft().effective().runs.front().command;
        QCOMPARE(command.front(), std::string("/usr/bin/python3"));
        QVERIFY(std::ranges::find(command, std::string("--max-steps")) != command.end());
        openDialog();
        QCOMPARE(m_dialog->scriptField()->text(), m_folder.filePath(QStringLiteral("train.py")));
        QCOMPARE(m_dialog->stepsBox()->value(), 50);
        QCOMPARE(m_dialog->varied().front().flag->currentText(), QStringLiteral("twice"));
        QCOMPARE(m_dialog->varied().front().values->text(), QStringLiteral("off,on"));
        QVERIFY(m_dialog->tryButton()->isEnabled());
    }
};

QTEST_MAIN(ScriptTest)
#include "script_test.moc"

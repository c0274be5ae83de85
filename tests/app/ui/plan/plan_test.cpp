// SPDX-License-Identifier: MIT
// The Plan page: the form is the field table, and mistakes stand at their field.
#include <QApplication>
#include <QCheckBox>
#include <QComboBox>
#include <QFileDialog>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QListWidget>
#include <QPainter>
#include <QPushButton>
#include <QSignalSpy>
#include <QStandardPaths>
#include <QStyleOptionViewItem>
#include <QTextBrowser>
#include <QTimer>
#include <QToolButton>

#include "app/ui/pages/plan/config_form.h"
#include "app/ui/pages/plan/plan_page.h"
#include "app/ui/pages/plan/recipe_list.h"
#include "app/ui/pages/plan/recipe_reader_dialog.h"
#include "app/ui/pages/plan/recipes_card.h"
#include "app/ui/pages/shared/device_picker.h"
#include "app/ui/shell/workspace.h"
#include "app/ui/theme/theme.h"
#include "experiment/recipe_shelf.h"
#include "ipc/file_system.h"
#include "ipc/model_facts.h"
#include "models/plan_model.h"
#include "tests/qt_test.h"
#include "ui_fixture.h"

using namespace lockstep;
using namespace lockstep::ui;

namespace {

QString key(const FieldSpec &field) {
    return QString::fromUtf8(field.key.data(), qsizetype(field.key.size()));
}

} // namespace

class PlanTest : public QObject {
    Q_OBJECT
    uitest::Home m_home;
    Theme m_theme{ThemeMode::Light};
    std::unique_ptr<Workspace> m_workspace;
    std::unique_ptr<PlanPage> m_page;

    QLineEdit *line(const char *name) { return qobject_cast<QLineEdit *>(m_page->form()->field(name)->editor); }
    void type(const char *name, const char *text) {
        line(name)->setFocus();
        line(name)->selectAll();
        QTest::keyClicks(line(name), text);
    }

private Q_SLOTS:
    void init() {
        m_workspace = std::make_unique<Workspace>();
        m_page = std::make_unique<PlanPage>(m_theme, *m_workspace, uitest::twoCores());
        m_page->resize(1280, 760);
        m_page->show();
        m_page->activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(m_page.get()));
    }
    void cleanup() {
        m_page.reset();
        m_workspace.reset();
    }

    void everyFlagAPersonCanSetHasAField() {
        for (const FieldSpec &field : runConfigFields())
            QCOMPARE(m_page->form()->keys().contains(key(field)), !field.perProcess);
    }

    void everyFieldHasAFlag() {
        for (const QString &name : m_page->form()->keys())
            QVERIFY2(findField(name.toStdString()) != nullptr, qPrintable(name));
        // Nor is there an editor that is not in the table.
        for (const QWidget *editor : m_page->form()->findChildren<QWidget *>())
            if (editor->objectName().startsWith("field_"))
                QVERIFY2(findField(editor->objectName().mid(6).toStdString()) != nullptr,
                         qPrintable(editor->objectName()));
    }

    void everyFieldTakesAValueAndReachesTheRunConfig() {
        QVERIFY(m_page->choose("free"));
        const std::map<std::string, std::string> values = {{"data_dir", "/data"},
                                                           {"train_samples", "640"},
                                                           {"test_samples", "320"},
                                                           {"bert_dir", "/bert"},
                                                           {"text_column", "review"},
                                                           {"label_column", "stars"},
                                                           {"max_tokens", "64"},
                                                           {"warmup_steps", "10"},
                                                           {"clip_grad_norm", "1"},
                                                           {"devices", "0,1"},
                                                           {"cores_per_device", "2"},
                                                           {"interface", "eth0"},
                                                           {"nodes", "hostA%eth0:0,1;hostB%bond0:0"},
                                                           {"threads", "3"},
                                                           {"epochs", "4"},
                                                           {"batch_size", "32"},
                                                           {"batch_per_device", "16"},
                                                           {"lr", "0.5"},
                                                           {"momentum", "0.25"},
                                                           {"weight_decay", "0.125"},
                                                           {"dropout", "0.5"},
                                                           {"seed", "7"},
                                                           {"workers", "2"},
                                                           {"worker_cores", "1"},
                                                           {"bucket_mb", "4"},
                                                           {"accumulate", "4"},
                                                           {"servers", "2"},
                                                           {"server_devices", "1"},
                                                           {"max_staleness", "3"},
                                                           {"stages", "2"},
                                                           {"micro_batches", "8"},
                                                           {"stage_layers", "2,3"},
                                                           {"init", "/a.safetensors"},
                                                           {"save_final", "/b.safetensors"},
                                                           {"checkpoint_dir", "/c"},
                                                           {"hang_after", "12.5"},
                                                           {"max_restarts", "2"},
                                                           {"trace", "5"}};
        for (const FieldSpec &field : runConfigFields()) {
            if (field.perProcess || field.key == "method")
                continue;
            QWidget *editor = m_page->form()->field(key(field))->editor;
            std::string wanted;
            if (auto *box = qobject_cast<QComboBox *>(editor)) {
                box->setCurrentIndex(box->count() - 1);
                wanted = box->currentText().toStdString();
            } else if (auto *tick = qobject_cast<QCheckBox *>(editor)) {
                tick->setChecked(true);
                wanted = "true";
            } else {
                QVERIFY2(values.contains(std::string(field.key)),
                         qPrintable("give the test a value for " + key(field)));
                wanted = values.at(std::string(field.key));
                type(key(field).toUtf8().constData(), wanted.c_str());
            }
            const core::Recipe recipe = m_page->draft().effective();
            for (const core::RunSpec &run : recipe.runs)
                QCOMPARE(QString::fromStdString(field.get(run.config)),
                         field.key == "devices" && run.config.method == Method::Baseline
                             ? QString("0")
                             : QString::fromStdString(wanted));
        }
    }

    void whatStartHandsOverIsARecipeThatLockstepctlReads() {
        for (const char *name : {"free", "lenet-dp-vs-ddp"}) {
            QVERIFY(m_page->choose(name));
            const auto read = core::recipeFromJson(core::toJson(m_page->draft().effective()));
            QVERIFY2(read.has_value(), read ? "" : core::joinErrors(read.error()).c_str());
        }
    }

    void opensWithDpAgainstDdpReadyToStart() {
        QCOMPARE(m_page->draft().recipe().name, std::string("lenet-dp-vs-ddp"));
        QVERIFY(m_page->startButton()->isEnabled());
        QStringList names;
        for (int row = 0; row < m_page->plan().rowCount(); ++row)
            names.append(QString::fromStdString(m_page->plan().runAt(row).name));
        QVERIFY(names.contains("baseline") && names.contains("DP on 2 devices") && names.contains("DDP on 2 devices"));
        QVERIFY(names.contains("DDP on 8 devices"));
        QCOMPARE(QString::fromStdString(m_page->plan().runAt(m_page->plan().rowCount() - 1).notRunReason).left(8),
                 QString("not run:"));
        QStringList words;
        for (const QLabel *label : m_page->findChildren<QLabel *>())
            words.append(label->text());
        QVERIFY(words.join('\n').contains("DDP over gloo: nccl needs GPUs"));
    }

    void startAsksForTheRecipeAsItStands() {
        QSignalSpy asked(m_page.get(), &PlanPage::startRequested);
        QTest::mouseClick(m_page->startButton(), Qt::LeftButton);
        QCOMPARE(asked.count(), 1);
        const auto request = asked[0][0].value<core::StartRequest>();
        QCOMPARE(request.recipe, m_page->draft().recipe());
        QVERIFY(!request.quick);
    }

    void aMissingPythonIsKnownBeforeStartAndNoLongerOnceItIsThere() {
        qputenv("LOCKSTEP_AGENT", LOCKSTEP_BIN "/lockstep-agent");
        const QTemporaryDir folder;
        const QString python = folder.filePath(QStringLiteral("python3"));
        QFile script(folder.filePath(QStringLiteral("train.py")));
        QVERIFY(script.open(QIODevice::WriteOnly));
        script.close();
        core::Recipe recipe;
        recipe.name = "mine";
        recipe.title = "Mine";
        core::RunSpec spec;
        spec.name = "own script";
        spec.config.method = Method::Baseline;
        spec.config.devices = {"0"};
        spec.autoDevice = false;
        spec.command = {python.toStdString(), script.fileName().toStdString()};
        recipe.runs = {spec};
        m_page->recipes()->addAndChoose(PlanDraft(recipe), QStringLiteral("copy"));
        const auto state = [this] { return m_page->plan().index(0, core::PlanModel::State).data().toString(); };
        QTRY_VERIFY_WITH_TIMEOUT(state().startsWith(u"not run: "), test::hangLimitMs);
        QVERIFY2(state().contains(python), qPrintable(state()));
        QCOMPARE(m_page->plan().rowCount(), 1);
        QVERIFY(!m_page->startButton()->isEnabled());
        QVERIFY2(m_page->mistakes().startsWith(u"Nothing here can run on this machine: ") &&
                     m_page->mistakes().contains(python),
                 qPrintable(m_page->mistakes()));
        uitest::picture(*m_page, m_theme, "plan-no-python");
        QVERIFY(QFile::link(QStandardPaths::findExecutable(QStringLiteral("python3")), python));
        QTRY_COMPARE_WITH_TIMEOUT(state(), QStringLiteral("will run"), test::hangLimitMs);
        QVERIFY(m_page->startButton()->isEnabled());
        QCOMPARE(m_page->mistakes(), QString());
        QCOMPARE(m_page->plan().index(0, core::PlanModel::Estimate).data(Qt::ToolTipRole).toString(),
                 QStringLiteral("unknown: this command has not run here before"));
    }

    void eachStartHasAnOrderOfItsOwnTheOneThatWasShown() {
        QSignalSpy asked(m_page.get(), &PlanPage::startRequested);
        std::vector<std::uint64_t> seeds;
        for (int i = 0; i < 2; ++i) {
            const std::uint64_t shown = m_page->draft().orderSeed;
            QTest::mouseClick(m_page->startButton(), Qt::LeftButton);
            QCOMPARE(asked.count(), i + 1);
            seeds.push_back(asked[i][0].value<core::StartRequest>().orderSeed.value_or(0));
            QCOMPARE(seeds.back(), shown);
        }
        QVERIFY(seeds[0] != seeds[1]);
    }

    void startWorksByKeyboardAlone() {
        QSignalSpy asked(m_page.get(), &PlanPage::startRequested);
        QTest::keyClick(m_page.get(), Qt::Key_Return, Qt::ControlModifier);
        QTRY_COMPARE(asked.count(), 1); // a shortcut presses its button visibly, for a moment
    }

    void aModelInAFileIsChosenShownByItsNameAndHandedOver() {
        const std::string file = m_home.path().toStdString() + "/net.pt";
        QVERIFY(realFileSystem().writeAtomically(file, "a module"));
        auto *box = qobject_cast<QComboBox *>(m_page->form()->field("model")->editor);
        auto *button = m_page->form()->findChild<QPushButton *>("file_model");
        const int names = box->count();
        for (const bool accepts : {false, true}) {
            QTimer::singleShot(0, m_page.get(), [&] {
                auto *dialog = qobject_cast<QFileDialog *>(QApplication::activeModalWidget());
                QVERIFY(dialog);
                dialog->selectFile(QString::fromStdString(file));
                accepts ? static_cast<QDialog *>(dialog)->accept() : dialog->reject();
            });
            QTest::mouseClick(button, Qt::LeftButton);
            QCOMPARE(box->count(), accepts ? names + 1 : names);
        }
        QCOMPARE(box->currentText(), QStringLiteral("net.pt"));
        QTRY_COMPARE(m_page->plan().runAt(0).config.model, file);
        const auto why = [this] { return m_page->plan().runAt(0).notRunReason; };
        QTRY_VERIFY2(why().find("net.json: No such file") != std::string::npos, why().c_str());
        QVERIFY(realFileSystem().writeAtomically(descriptionOf(file), "{\"clases\": 10}"));
        m_page->form()->edited("epochs", "3"); // the page reads the description with each change
        QLabel *mistake = m_page->form()->field("model")->mistake;
        QTRY_VERIFY2(mistake->text().contains("did you mean \"classes\"?"), qPrintable(mistake->text()));
        QVERIFY(realFileSystem().writeAtomically(
            descriptionOf(file), R"({"input": {"values": "pixels", "shape": [1, 28, 28]}, "classes": 10})"));
        m_page->form()->edited("epochs", "4");
        QTRY_VERIFY(mistake->text().isEmpty() && m_page->plan().runAt(0).config.epochs == 4);
        box->setCurrentIndex(box->findText("convnet"));
        QTRY_COMPARE(m_page->plan().runAt(0).config.model, std::string("convnet"));
    }

    void quickIsOnePress() {
        QTest::keyClick(m_page.get(), Qt::Key_Q, Qt::AltModifier);
        QTRY_VERIFY(m_page->quickBox()->isChecked());
        QCOMPARE(m_page->plan().runAt(0).config.epochs, 3);
        QCOMPARE(m_page->plan().runAt(0).repeats, 3);
    }

    void quickFillsTheFieldsAndAnEditUnticksIt() {
        const QString images = line("train_samples")->text(), epochs = line("epochs")->text();
        m_page->quickBox()->click();
        QCOMPARE(line("epochs")->text(), QStringLiteral("3"));
        QCOMPARE(line("train_samples")->text(), QStringLiteral("12800"));
        m_page->quickBox()->click();
        QCOMPARE(line("epochs")->text(), epochs);
        QCOMPARE(line("train_samples")->text(), images);
        type("epochs", "7");
        m_page->quickBox()->click();
        QCOMPARE(m_page->plan().runAt(0).config.epochs, 3);
        QVERIFY(m_page->choose(QStringLiteral("mnist-backends"))); // stays for another recipe
        QVERIFY(m_page->quickBox()->isChecked());
        QVERIFY(m_page->choose(QStringLiteral("lenet-dp-vs-ddp")));
        type("epochs", "8"); // what is typed is what runs
        QVERIFY(!m_page->quickBox()->isChecked());
        QCOMPARE(m_page->plan().runAt(0).config.epochs, 8);
        QCOMPARE(m_page->plan().runAt(0).config.trainSamples, 12800);
        QSignalSpy asked(m_page.get(), &PlanPage::startRequested);
        m_page->startButton()->click();
        QVERIFY(!asked.front().front().value<core::StartRequest>().quick);
    }

    void aMistakeIsMarkedAtItsFieldInWordsAndNothingCanStart() {
        type("batch_size", "63");
        const FormField *field = m_page->form()->field("batch_size");
        QVERIFY(field->mistake->isVisibleTo(m_page.get()));
        QVERIFY2(field->mistake->text().contains("63"), qPrintable(field->mistake->text()));
        QVERIFY(field->editor->property("mistake").toBool());
        QVERIFY(!m_page->startButton()->isEnabled());
        type("batch_size", "64");
        QVERIFY(!field->mistake->isVisibleTo(m_page.get()));
        QVERIFY(m_page->startButton()->isEnabled());
    }

    void whileTheFormIsWrongThePlanBeforeHasNeitherACommandNorTimes() {
        QPushButton *copy = nullptr;
        for (QPushButton *button : m_page->findChildren<QPushButton *>())
            if (button->text() == QStringLiteral("Copy"))
                copy = button;
        QVERIFY(copy && copy->isEnabled() && !m_page->commandText().isEmpty());
        QListView *rows = nullptr;
        for (QListView *view : m_page->findChildren<QListView *>())
            if (view->accessibleName() == QStringLiteral("What will run"))
                rows = view;
        QVERIFY(rows);
        const auto row = [&] { // of the second run, which is not the current one
            QStyleOptionViewItem option;
            option.rect = {0, 0, 400, 60};
            option.font = rows->font();
            option.state = rows->isEnabled() ? QStyle::State_Enabled : QStyle::State_None;
            QImage image(400, 60, QImage::Format_RGB32);
            image.fill(Qt::white);
            QPainter painter(&image);
            rows->itemDelegate()->paint(&painter, option, rows->model()->index(1, 0));
            return image;
        };
        const QImage right = row();
        type("batch_size", "63");
        QCOMPARE(m_page->commandText(), QString());
        QVERIFY(!copy->isEnabled());
        QVERIFY(row() != right);
        type("batch_size", "64");
        QVERIFY(copy->isEnabled() && !m_page->commandText().isEmpty());
        QVERIFY(row() == right);
    }

    void aMistakeInAFoldedGroupUnfoldsIt() {
        const FormField *field = m_page->form()->field("momentum");
        QVERIFY(!field->editor->isVisibleTo(m_page.get()));
        QVERIFY(m_page->draft().value(*field->spec).has_value());
        Q_EMIT m_page->form()->edited("momentum", "7");
        QVERIFY(field->mistake->isVisibleTo(m_page.get()));
        QVERIFY(!m_page->startButton()->isEnabled());
    }

    void everyMistakeShowsAtOnce() {
        type("batch_size", "63");
        type("epochs", "ten");
        for (const char *name : {"batch_size", "epochs"})
            QVERIFY2(m_page->form()->field(name)->mistake->isVisibleTo(m_page.get()), name);
    }

    void lettersWhereANumberBelongsAreReportedInWords() {
        type("epochs", "ten");
        QVERIFY2(m_page->form()->field("epochs")->mistake->text().contains("whole number"),
                 qPrintable(m_page->form()->field("epochs")->mistake->text()));
    }

    void aMethodsBoxStandsApartFromTheNameBeforeIt() {
        const QCheckBox *left = m_page->form()->methodBox(Method::PsAsync);
        const QCheckBox *right = m_page->form()->methodBox(Method::Pipeline);
        QVERIFY(left && right);
        QVERIFY(right->x() - (left->x() + left->width()) >= 8);
    }

    void aRecipesNameThatIsOneLongWordGoesOnInASecondLine() {
        QStyleOptionViewItem option;
        option.rect = {0, 0, 120, 60};
        option.font = m_page->recipes()->font();
        QImage image(120, 60, QImage::Format_RGB32);
        image.fill(Qt::white);
        QListWidget list;
        list.addItem(QStringLiteral("train_cifar_resnet_variation.py"));
        {
            QPainter painter(&image);
            m_page->recipes()->itemDelegate()->paint(&painter, option, list.model()->index(0, 0));
        }
        bool goesOn = false;
        for (int y = 30; y < image.height(); ++y) // below the first line
            for (int x = 0; x < image.width(); ++x)
                goesOn = goesOn || image.pixelColor(x, y) != QColor(Qt::white);
        QVERIFY(goesOn);
    }

    void methodsAreTickedOffAndOn() {
        m_page->form()->methodBox(Method::Dp)->click();
        for (int row = 0; row < m_page->plan().rowCount(); ++row)
            QVERIFY(m_page->plan().runAt(row).config.method != Method::Dp);
        m_page->form()->methodBox(Method::Baseline)->click();
        m_page->form()->methodBox(Method::Ddp)->click();
        QVERIFY(!m_page->startButton()->isEnabled());
        QVERIFY(!m_page->form()->field("method")->mistake->text().isEmpty());
    }

    void aRecipeOfOnesOwnIsSavedFoundAgainAndRemoved() {
        type("epochs", "4");
        const int before = m_page->recipes()->count();
        QVERIFY(m_page->recipes()->save(m_page->draft().effective(), QStringLiteral("Four epochs"), false).has_value());
        QCOMPARE(m_page->recipes()->count(), before + 1);
        QCOMPARE(m_page->draft().recipe().name, std::string("four-epochs"));
        QVERIFY(!m_page->draft().isChanged()); // it is the recipe now
        QCOMPARE(m_page->plan().runAt(0).config.epochs, 4);
        QVERIFY(
            !m_page->recipes()->save(m_page->draft().effective(), QStringLiteral("four epochs"), false).has_value());
        {
            PlanPage later(m_theme, *m_workspace, uitest::twoCores());
            QVERIFY(later.choose(QStringLiteral("four-epochs")));
            QCOMPARE(later.plan().runAt(0).config.epochs, 4);
        }
        QVERIFY(m_page->recipes()->isSaved());
        QVERIFY(m_page->recipes()->remove().has_value());
        QCOMPARE(m_page->recipes()->count(), before);
        QVERIFY(!m_page->choose(QStringLiteral("four-epochs")));
        QVERIFY(!m_page->recipes()->isSaved()); // another one is chosen
    }

    void aRecipeOnTheShelfIsReadWhenItIsChosen() {
        const QString name = QStringLiteral("four-epochs"), other = QStringLiteral("lenet-dp-vs-ddp");
        type("epochs", "4");
        QVERIFY(core::saveRecipe(m_page->draft().effective(), "Four epochs", false).has_value());
        RecipeList list(m_theme);
        std::vector<int> epochs;
        connect(&list, &RecipeList::draftChosen, this,
                [&](const PlanDraft &draft) { epochs.push_back(draft.recipe().runs.front().config.epochs); });
        QSignalSpy unreadable(&list, &RecipeList::unreadable);
        list.load();
        QVERIFY(list.choose(name));
        QCOMPARE(epochs.back(), 4);
        QVERIFY(list.choose(other));
        type("epochs", "7");
        QVERIFY(core::saveRecipe(m_page->draft().effective(), "Four epochs", true).has_value());
        QVERIFY(list.choose(name));
        QCOMPARE(epochs.back(), 7);
        QVERIFY(list.choose(other));

        const int before = list.count();
        QVERIFY(core::removeSavedRecipe("four-epochs").has_value());
        QCOMPARE(unreadable.size(), 0);
        QVERIFY(list.choose(name));
        QCOMPARE(unreadable.size(), 1);
        QCOMPARE(unreadable[0][0].toString(), name);
        QVERIFY(!unreadable[0][1].toString().isEmpty());
        const std::size_t told = epochs.size();
        list.forget(name);
        QCOMPARE(list.count(), before - 1);
        QVERIFY(!list.choose(name));
        QCOMPARE(epochs.size(), told + 1); // its neighbour's
    }

    void everyMistakeOfARecipeFileHasALineOfItsOwn() {
        const QString path = m_home.path() + "/wrong.json";
        QVERIFY(realFileSystem().writeAtomically(path.toStdString(), R"({"name": "wrong", "title": "Wrong", "colour": 1,
            "runs": [{"method": "ddp", "epochs": "many"}]})"));
        const auto opened = m_page->recipes()->openFile(path);
        QVERIFY(!opened.has_value());
        const QStringList lines =
            QString::fromStdString(core::joinErrors(opened.error())).split('\n'); // as the box shows them
        QVERIFY2(lines.size() >= 2, qPrintable(lines.join('\n')));
        QVERIFY(lines.filter(QStringLiteral("colour")).size() == 1 &&
                lines.filter(QStringLiteral("epochs")).size() == 1);
    }

    void whatTheChosenRecipeIsAboutStandsBelowTheListAndNothingOfTheOthers() {
        const auto shown = [this] {
            QStringList texts;
            for (const QLabel *label : m_page->findChild<RecipesCard *>()->findChildren<QLabel *>())
                if (label->isVisibleTo(m_page.get()))
                    texts.append(label->text());
            return texts.join(QLatin1Char('\n'));
        };
        for (const std::string &name : core::builtInRecipes()) {
            QVERIFY(m_page->choose(QString::fromStdString(name)));
            for (const std::string &other : core::builtInRecipes()) {
                const auto recipe = core::loadRecipe(other);
                QVERIFY(recipe.has_value());
                QVERIFY2(shown().contains(QString::fromStdString(recipe->summary)) == (other == name), other.c_str());
            }
        }
        QVERIFY(m_page->choose(QStringLiteral("lenet-dp-vs-ddp")));
        QVERIFY2(shown().contains(QStringLiteral("Published, 8 × H100: baseline 73.0 s")), qPrintable(shown()));
        QVERIFY(m_page->choose(QStringLiteral("free")));
        QVERIFY2(!shown().contains(QStringLiteral("Published")), qPrintable(shown()));
    }

    void everyBuiltInRecipeHasAPageThatOpensByOneKey() {
        for (const std::string &name : core::builtInRecipes())
            QVERIFY2(RecipeReaderDialog::hasPage(QString::fromStdString(name)), name.c_str());
        QVERIFY(m_page->choose(QStringLiteral("lenet-why-faster")));
        QTest::keyClick(m_page.get(), Qt::Key_F1, Qt::ShiftModifier);
        QTRY_VERIFY(m_page->findChild<RecipeReaderDialog *>() != nullptr);
        auto *dialog = m_page->findChild<RecipeReaderDialog *>();
        QVERIFY(dialog->isVisible());
        const auto words = [&] { return dialog->text()->toPlainText(); };
        QVERIFY(words().contains(QStringLiteral("As published")));
        QVERIFY(words().contains(QStringLiteral("What came out here")));
        dialog->text()->setSource(dialog->text()->source().resolved(QUrl(QStringLiteral("../results.md"))));
        QVERIFY2(words().contains(QStringLiteral("Two nodes")), qPrintable(words())); // its links lead on
        QVERIFY(m_page->choose(QStringLiteral("free")));
        QVERIFY(!RecipeReaderDialog::hasPage(m_page->recipes()->currentName()));
    }

    void theMachinesDevicesAreBoxesToChooseFrom() {
        const auto device = [](const char *name, const char *kind, std::optional<double> busy) {
            core::SeenDevice seen;
            seen.device = name;
            seen.kind = kind;
            seen.name = "a processor";
            seen.cores = std::string(name).substr(4);
            seen.busy = busy;
            return seen;
        };
        auto busy = device("cpu:1", "cpu", 0.96);
        busy.users = {{77, "cc1plus", 0.9, {}}};
        m_page->devicePicker()->showDevices({device("cpu:0", "cpu", 0.01), busy});
        const auto &boxes = m_page->devicePicker()->boxes();
        QCOMPARE(boxes.size(), std::size_t(2));
        QVERIFY(boxes[0]->isChecked() && boxes[1]->isChecked()); // the recipe takes all there are
        QCOMPARE(boxes[0]->use(), QStringLiteral("free"));
        QCOMPARE(boxes[1]->use(), QStringLiteral("96 % busy: cc1plus"));
        QVERIFY(boxes[1]->toolTip().contains(QStringLiteral("pid 77 cc1plus, 90 % of it")));
        QTest::mouseClick(boxes[1], Qt::LeftButton);
        QVERIFY(!boxes[1]->isChecked());
        QCOMPARE(line("devices")->text(), QStringLiteral("0"));
        const auto plan = m_page->draft().plan(uitest::twoCores(), {});
        QVERIFY(plan.has_value());
        for (const core::PlannedRun &run : plan->runs)
            QCOMPARE(run.config.devices, std::vector<std::string>{"0"});
        QTest::mouseClick(boxes[0], Qt::LeftButton); // the last one stays
        QVERIFY(boxes[0]->isChecked());
        QTest::mouseClick(boxes[1], Qt::LeftButton);
        QCOMPARE(line("devices")->text(), QStringLiteral("0,1"));
    }

    void resetGoesBackToTheRecipe() {
        type("epochs", "4");
        QCOMPARE(m_page->plan().runAt(0).config.epochs, 4);
        QTest::keyClick(m_page.get(), Qt::Key_R, Qt::AltModifier);
        QTRY_COMPARE(m_page->plan().runAt(0).config.epochs, 10);
        QCOMPARE(m_page->draft().effective(), m_page->draft().recipe());
    }

    void everyButtonHasAShortcutAndAHint() {
        for (const QPushButton *button : m_page->findChildren<QPushButton *>()) {
            QVERIFY2(!button->shortcut().isEmpty(), qPrintable(button->text()));
            QVERIFY2(!button->toolTip().isEmpty(), qPrintable(button->text()));
        }
    }

    void everyEditorIsReachedByTab() {
        for (QToolButton *head : m_page->form()->findChildren<QToolButton *>("fold"))
            head->setChecked(true);
        QSet<QWidget *> reached;
        m_page->activateWindow();
        m_page->setFocus();
        QWidget *first = nullptr;
        for (int i = 0; i < 200; ++i) {
            QTest::keyClick(QApplication::focusWidget() ? QApplication::focusWidget() : m_page.get(), Qt::Key_Tab);
            QWidget *now = QApplication::focusWidget();
            if (!first)
                first = now;
            else if (now == first)
                break;
            reached.insert(now);
        }
        reached.insert(first);
        for (const QString &name : m_page->form()->keys()) {
            QWidget *editor = m_page->form()->field(name)->editor;
            QVERIFY2(reached.contains(editor->focusProxy() ? editor->focusProxy() : editor), qPrintable(name));
        }
        QVERIFY(reached.contains(m_page->startButton()));
    }
};

QTEST_MAIN(PlanTest)
#include "plan_test.moc"

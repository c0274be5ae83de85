// SPDX-License-Identifier: MIT
#include "app/ui/pages/plan/script_dialog.h"

#include <QAbstractItemView>
#include <QComboBox>
#include <QCompleter>
#include <QDialogButtonBox>
#include <QFileDialog>
#include <QFileInfo>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QProcess>
#include <QPushButton>
#include <QSpinBox>
#include <QStandardPaths>
#include <QTimer>
#include <QToolButton>
#include <QVBoxLayout>

#include "app/ui/theme/theme.h"
#include "app/ui/widgets/card.h"
#include "app/ui/widgets/dialog_frame.h"
#include "experiment/script_flags.h"
#include "experiment/script_help.h"

namespace lockstep::ui {
namespace {

constexpr int variedRows = 3, askAfterMs = 600;

/// The configuration in which --help runs: one device, as the first trial.
core::PlannedRun helpRun(const core::Study &study, const MachineFacts &facts) {
    core::Recipe recipe;
    recipe.runs = {core::trialsOf(study, false).front()};
    core::RunSpec &spec = recipe.runs.front();
    spec.command = {spec.command.front(), core::literalWord(study.script), "--help"};
    const auto plan = core::expand(recipe, facts);
    return plan && plan->runs.front().runnable() ? plan->runs.front() : core::PlannedRun();
}

/// A form's label for a row of several widgets.
QLabel *labelFor(QWidget *editor, const QString &words) {
    auto *label = new QLabel(words, editor->parentWidget());
    label->setBuddy(editor);
    return label;
}

} // namespace

ScriptDialog::ScriptDialog(MachineFacts facts, const ScriptEntries &entries, QWidget *parent)
    : QDialog(parent), m_facts(std::move(facts)) {
    setWindowTitle(tr("Your script"));
    setMinimumWidth(76 * grid);
    QVBoxLayout *layout = frameDialog(this, 3 * grid);
    layout->setSpacing(grid);
    layout->addWidget(makeLabel(tr("Is data parallelism worth it for your script?"), "title", this));
    QLabel *about =
        makeLabel(tr("It runs unchanged, as one process and as several ranks, like torchrun's."), "secondary", this);
    about->setWordWrap(true);
    layout->addWidget(about);
    m_fields = new QWidget(this);
    auto *form = new QFormLayout(m_fields);
    form->setContentsMargins(0, 0, 0, 0);
    form->setSpacing(grid);
    m_script = new QLineEdit(entries.script, m_fields);
    m_script->setPlaceholderText(tr("train.py"));
    auto *browseButton = new QPushButton(tr("&Browse…"), m_fields);
    connect(browseButton, &QPushButton::clicked, this, &ScriptDialog::browse);
    auto *file = new QHBoxLayout;
    file->addWidget(m_script, 1);
    file->addWidget(browseButton);
    form->addRow(labelFor(m_script, tr("&Script")), file);
    m_python = new QLineEdit(entries.python, m_fields);
    m_python->setPlaceholderText(tr("the one with torch: of the activated environment, else in PATH"));
    m_python->setToolTip(tr("A path or a name in PATH, of a Python that has what the script imports"));
    form->addRow(tr("P&ython"), m_python);
    m_arguments = new QLineEdit(entries.arguments, m_fields);
    m_arguments->setPlaceholderText(tr("given in every run, e.g. --epochs 2"));
    form->addRow(tr("&Arguments"), m_arguments);
    m_processes = new QLineEdit(entries.processes, m_fields);
    m_processes->setToolTip(tr("One process is the baseline"));
    form->addRow(tr("&Processes"), m_processes);
    auto *rows = new QVBoxLayout;
    rows->setSpacing(grid / 2);
    for (int row = 0; row < variedRows; ++row) {
        auto *line = new QHBoxLayout;
        auto *flag = new QComboBox(m_fields);
        flag->setEditable(true);
        const auto before = entries.varied.value(row);
        flag->setCurrentText(before.first);
        flag->completer()->setFilterMode(Qt::MatchContains);
        flag->completer()->setCompletionMode(QCompleter::PopupCompletion);
        flag->lineEdit()->setPlaceholderText(row == 0 ? tr("flag, e.g. num-workers") : tr("flag"));
        flag->setAccessibleName(tr("Flag to vary"));
        auto *values = new QLineEdit(before.second, m_fields);
        values->setPlaceholderText(row == 0 ? tr("values, e.g. 0,2 or off,on") : tr("values"));
        values->setAccessibleName(tr("Values of the flag"));
        line->addWidget(flag, 3);
        line->addWidget(values, 4);
        rows->addLayout(line);
        m_varied.push_back({flag, values});
        connect(flag, &QComboBox::currentTextChanged, this, [this, flag, values] {
            const QStringList offered = flag->currentData().toStringList();
            if (values->text().isEmpty() && !offered.isEmpty() &&
                flag->currentText() == flag->itemText(flag->currentIndex()))
                values->setText(offered.join(u','));
            check();
        });
        connect(values, &QLineEdit::textChanged, this, &ScriptDialog::check);
    }
    form->addRow(labelFor(m_varied.front().flag, tr("&Vary")), rows);
    m_steps = new QSpinBox(m_fields);
    m_steps->setRange(0, 1'000'000);
    m_steps->setValue(entries.steps);
    m_steps->setToolTip(tr("0: when the script ends"));
    m_steps->setSpecialValueText(tr("when the script ends"));
    m_steps->setButtonSymbols(QAbstractSpinBox::NoButtons);
    m_steps->setSuffix(tr(" steps of the first run, others after as many samples"));
    form->addRow(tr("&End after"), m_steps);
    m_repeats = new QSpinBox(m_fields);
    m_repeats->setButtonSymbols(QAbstractSpinBox::NoButtons);
    m_repeats->setRange(1, 100);
    m_repeats->setValue(entries.repeats);
    form->addRow(tr("&Repeats"), m_repeats);
    layout->addWidget(m_fields);
    m_state = makePlainLabel({}, "secondary", this);
    layout->addWidget(m_state);
    m_printed = new QPlainTextEdit(this);
    m_printed->setReadOnly(true);
    m_printed->setFont(Theme::figures(Type::Small));
    m_printed->setFixedHeight(11 * grid);
    m_printed->setAccessibleName(tr("What the script printed last"));
    m_printed->hide();
    layout->addWidget(m_printed);
    auto *buttons = new QDialogButtonBox(QDialogButtonBox::Cancel, this);
    m_plan = buttons->addButton(tr("Plan without a &trial"), QDialogButtonBox::ActionRole);
    m_try = buttons->addButton(tr("Try one step, then plan"), QDialogButtonBox::ActionRole);
    m_try->setDefault(true);
    layout->addSpacing(grid);
    layout->addStretch(1);
    layout->addWidget(buttons);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    connect(m_plan, &QPushButton::clicked, this, [this] {
        if (const auto planned = study())
            plan(*planned, {});
    });
    connect(m_try, &QPushButton::clicked, this, &ScriptDialog::tryIt);
    m_asking = new QTimer(this);
    m_asking->setSingleShot(true);
    connect(m_asking, &QTimer::timeout, this, &ScriptDialog::askForFlags);
    connect(m_script, &QLineEdit::textChanged, this, [this] {
        m_asking->start(askAfterMs);
        check();
    });
    for (QLineEdit *field : {m_python, m_arguments, m_processes})
        connect(field, &QLineEdit::textChanged, this, &ScriptDialog::check);
    connect(m_python, &QLineEdit::textChanged, m_asking, [this] { m_asking->start(askAfterMs); });
    check();
    if (!entries.script.isEmpty())
        m_asking->start(0);
    m_script->setFocus();
}

ScriptDialog::~ScriptDialog() {
    core::endWithoutWaiting(std::move(m_help));
}

QString ScriptDialog::state() const {
    return m_state->text();
}

QString ScriptDialog::printed() const {
    return m_printed->toPlainText();
}

void ScriptDialog::browse() {
    const QString file = QFileDialog::getOpenFileName(this, tr("Your script"), {}, tr("Python scripts (*.py)"));
    if (!file.isEmpty())
        m_script->setText(file);
}

ScriptEntries ScriptDialog::entries() const {
    ScriptEntries out{m_script->text(), m_python->text(),  m_arguments->text(), m_processes->text(), {},
                      m_steps->value(), m_repeats->value()};
    for (const Varied &row : m_varied)
        out.varied.append({row.flag->currentText(), row.values->text()});
    return out;
}

Result<std::string> ScriptDialog::python() const {
    const QString typed = m_python->text().trimmed();
    if (typed.isEmpty())
        return std::string();
    const QString found =
        typed.contains(u'/') ? QFileInfo(typed).absoluteFilePath() : QStandardPaths::findExecutable(typed);
    if (const QFileInfo file(found); !file.isFile() || !file.isExecutable())
        return fail(Error::badArgument("there is no Python " + typed.toStdString(), "type the path of one"));
    return found.toStdString();
}

Result<core::Study> ScriptDialog::study() const {
    core::Study study;
    const QFileInfo script(m_script->text().trimmed());
    if (!script.isFile())
        return fail(
            Error::badArgument("there is no script " + m_script->text().trimmed().toStdString(), "choose a file"));
    study.script = script.absoluteFilePath().toStdString();
    auto python = this->python();
    if (!python)
        return fail(python.error());
    study.python = std::move(*python);
    for (const QString &word : QProcess::splitCommand(m_arguments->text()))
        study.arguments.push_back(word.toStdString());
    auto processes = core::processCountsFrom(m_processes->text().trimmed().toStdString());
    if (!processes)
        return fail(Error::badArgument(processes.error().what, processes.error().wayOut));
    study.processes = std::move(*processes);
    for (const Varied &row : m_varied) {
        const QString flag = row.flag->currentText().trimmed(), values = row.values->text().remove(u' ');
        if (flag.isEmpty() && values.isEmpty())
            continue;
        if (values.isEmpty())
            return fail(Error::badArgument(flag.toStdString() + " has no values", "type them beside it, e.g. 0,2"));
        if (const auto added = core::addVaried(study, (flag + u'=' + values).toStdString()); !added)
            return fail(Error::badArgument(added.error().what, added.error().wayOut));
    }
    if (m_steps->value() > 0)
        study.maxSteps = m_steps->value();
    study.repeats = m_repeats->value();
    if (const auto right = core::checkStudy(study); !right)
        return fail(Error::badArgument(right.error().what, right.error().wayOut));
    return study;
}

void ScriptDialog::say(const QString &sentence, bool wrong, const QString &printed) {
    m_state->setText(sentence);
    setStyleProperty(m_state, "role", wrong ? QStringLiteral("wrong") : QStringLiteral("secondary"));
    m_printed->setPlainText(printed);
    m_printed->setVisible(!printed.isEmpty());
    m_printed->moveCursor(QTextCursor::End); // why it failed stands there
    layout()->activate();
    const int wanted = layout()->hasHeightForWidth() ? layout()->heightForWidth(width()) : sizeHint().height();
    resize(width(), std::max(height(), wanted)); // nothing is squeezed
}

void ScriptDialog::setTrying(bool trying) {
    m_fields->setEnabled(!trying);
    m_try->setEnabled(!trying);
    m_plan->setEnabled(!trying);
}

void ScriptDialog::check() {
    if (m_trial)
        return;
    const bool empty = m_script->text().trimmed().isEmpty();
    const auto right = study();
    m_try->setEnabled(right.has_value());
    m_plan->setEnabled(right.has_value());
    say(empty || right ? QString() : QString::fromStdString(right.error().message()), !empty && !right);
}

/// Starts the script with --help, on this machine, to offer its flags.
void ScriptDialog::askForFlags() {
    const auto asked = study();
    if (!asked || m_trial)
        return;
    const core::PlannedRun run = helpRun(*asked, m_facts);
    if (run.command.empty())
        return;
    m_helpText.clear();
    core::endWithoutWaiting(std::move(m_help));
    m_help = std::make_unique<core::AttendedRun>();
    connect(m_help.get(), &core::AttendedRun::said, this,
            [this](int, const QByteArray &line) { m_helpText += line.toStdString() + "\n"; });
    connect(m_help.get(), &core::AttendedRun::ended, this, &ScriptDialog::takeFlags);
    m_help->start(run.config, run.command, run.name);
}

void ScriptDialog::takeFlags() {
    for (const Varied &row : m_varied) {
        const QString typed = row.flag->currentText();
        const QSignalBlocker quiet(row.flag);
        row.flag->clear();
        for (const core::ScriptFlag &flag : core::flagsFromHelp(m_helpText)) {
            QStringList values;
            if (!flag.takesValue)
                values = {QStringLiteral("off"), QStringLiteral("on")};
            for (const std::string &choice : flag.choices)
                values << QString::fromStdString(choice);
            row.flag->addItem(QString::fromStdString(flag.name), values);
        }
        const int widest = row.flag->view()->sizeHintForColumn(0) + 4 * grid; // no flag's name is cut
        row.flag->view()->setMinimumWidth(widest);
        row.flag->completer()->popup()->setMinimumWidth(widest);
        row.flag->setCurrentIndex(-1);
        row.flag->setCurrentText(typed);
    }
}

void ScriptDialog::tryIt() {
    const auto tried = study();
    if (!tried)
        return;
    core::endWithoutWaiting(std::move(m_help));
    m_trial = std::make_unique<core::StudyTrialJob>(*tried, m_facts, core::CommandPrefix());
    setTrying(true);
    connect(m_trial.get(), &core::StudyTrialJob::trying, this,
            [this](const QString &what) { say(tr("Trying one step: %1…").arg(what), false); });
    connect(m_trial.get(), &core::StudyTrialJob::finished, this, [this, study = *tried] {
        const core::StudyTrials trials = m_trial->trials();
        m_trial.release()->deleteLater();
        plan(study, trials);
    });
    connect(m_trial.get(), &core::StudyTrialJob::failed, this, [this](const std::vector<Error> &errors) {
        QString printed;
        for (const std::string &line : m_trial->lastLines())
            printed += QString::fromStdString(line) + u'\n';
        m_trial.release()->deleteLater();
        setTrying(false);
        m_try->setFocus(); // Enter would press Cancel, which alone was enabled
        check();
        say(QString::fromStdString(core::joinErrors(errors)), true, printed.trimmed());
    });
    m_trial->start();
}

void ScriptDialog::plan(const core::Study &study, const core::StudyTrials &trials) {
    m_recipe = core::recipeOf(study, trials);
    accept();
}

} // namespace lockstep::ui

#include "moc_script_dialog.cpp"

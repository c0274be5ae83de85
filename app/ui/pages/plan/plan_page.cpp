// SPDX-License-Identifier: MIT
#include "app/ui/pages/plan/plan_page.h"

#include <QAction>
#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QListView>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QScrollArea>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

#include "app/ui/pages/plan/config_form.h"
#include "app/ui/pages/plan/data_notice.h"
#include "app/ui/pages/plan/plan_rows.h"
#include "app/ui/pages/plan/queue_place.h"
#include "app/ui/pages/plan/recipe_list.h"
#include "app/ui/pages/plan/recipe_reader_dialog.h"
#include "app/ui/pages/shared/device_picker.h"
#include "app/ui/pages/shared/node_picker.h"
#include "app/ui/pages/shared/plan_doctor.h"
#include "app/ui/shell/workspace.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/card.h"
#include "base/format.h"
#include "experiment/planned_backend.h"
#include "launch/torchrun_command.h"

namespace lockstep::ui {

namespace {

/// Breaks a long command before its flags, so that it can be read and still be pasted into a shell.
QString wrapLine(const QString &command) {
    constexpr qsizetype longest = 40;
    QString out;
    qsizetype width = 0;
    for (const QString &word : command.split(QLatin1Char(' '))) {
        if (width > 0 && width + 1 + word.size() > longest && word.startsWith(QLatin1String("--"))) {
            out += QStringLiteral(" \\\n  ");
            width = 2;
        } else if (width > 0) {
            out += QLatin1Char(' ');
            ++width;
        }
        out += word;
        width += word.size();
    }
    return out;
}

/// Over nodes a command stands for each, and a comment above it says which.
QString wrapCommand(const QString &commands, const RunConfig &config) {
    const QStringList lines = commands.split(QLatin1Char('\n'));
    QStringList out;
    for (qsizetype i = 0; i < lines.size(); ++i) {
        if (lines.size() > 1 && lines.size() == qsizetype(config.nodes.size()))
            out << QStringLiteral("# node %1: %2")
                       .arg(i)
                       .arg(QString::fromStdString(titleOf(config.nodes[std::size_t(i)])));
        out << wrapLine(lines[i]);
    }
    return out.join(QLatin1Char('\n'));
}

} // namespace

PlanPage::PlanPage(Theme &theme, Workspace &workspace, MachineFacts facts, QWidget *parent)
    : QWidget(parent), m_theme(theme), m_workspace(workspace), m_facts(std::move(facts)) {
    setObjectName(QStringLiteral("page"));
    auto *layout = new QHBoxLayout(this);
    layout->setContentsMargins(2 * grid, 2 * grid, 2 * grid, 2 * grid);
    layout->setSpacing(2 * grid);
    layout->addWidget(buildRecipes(), 7);
    layout->addWidget(buildForm(), 12);
    layout->addWidget(buildPlan(), 9);
    connect(&m_workspace.starter(), &ExperimentStarter::changed, this, &PlanPage::restyle);
    connect(&m_workspace, &Workspace::opened, this, &PlanPage::refresh);
    connect(&m_workspace.runHistory(), &core::RunHistory::looked, this,
            &PlanPage::refresh, // estimates may be known now
            Qt::SingleShotConnection);
    connect(&m_theme, &Theme::changed, this, &PlanPage::restyle);
    m_recipes->load();
    restyle();
}

QWidget *PlanPage::buildRecipes() {
    auto *card = new Card(tr("Recipes"), this);
    card->setMinimumWidth(32 * grid);
    card->setMaximumWidth(52 * grid);
    m_recipes = new RecipeList(m_theme, card);
    connect(m_recipes, &RecipeList::draftChosen, this, &PlanPage::takeDraft);
    card->body()->addWidget(m_recipes);
    const auto addTool = [&](const QString &name, const QKeySequence &keys, const QString &tip,
                             void (PlanPage::*act)()) {
        auto *button = new QToolButton(card);
        button->setAccessibleName(name);
        button->setShortcut(keys);
        button->setToolTip(tip);
        connect(button, &QToolButton::clicked, this, act);
        card->addTool(button);
        return button;
    };
    m_about = addTool(tr("About the recipe"), QKeySequence(Qt::SHIFT | Qt::Key_F1),
                      tr("What it shows, what was published and what came out elsewhere (Shift+F1)"),
                      &PlanPage::tellAboutRecipe);
    m_openFile = addTool(tr("Open a recipe's file"), QKeySequence(QKeySequence::Open),
                         tr("Opens a recipe that somebody gave you (Ctrl+O)"), &PlanPage::openRecipe);
    m_save = addTool(tr("Save as a recipe"), QKeySequence(QKeySequence::Save),
                     tr("Saves these settings as a recipe of your own (Ctrl+S)"), &PlanPage::saveRecipe);
    const auto addAction = [&](const QString &name, void (PlanPage::*act)()) {
        auto *action = new QAction(name, m_recipes);
        connect(action, &QAction::triggered, this, act);
        m_recipes->addAction(action);
        return action;
    };
    addAction(tr("Duplicate"), &PlanPage::duplicateRecipe);
    addAction(tr("Share as a file…"), &PlanPage::shareRecipe);
    m_remove = addAction(tr("Remove"), &PlanPage::removeRecipe);
    return card;
}

QWidget *PlanPage::buildForm() {
    auto *card = new Card(tr("Settings"), this);
    m_head = makeLabel({}, "secondary", card);
    m_head->setWordWrap(true);
    card->body()->addWidget(m_head);
    m_quick = new QCheckBox(tr("Quick"), card);
    m_quick->setShortcut(QKeySequence(Qt::ALT | Qt::Key_Q));
    connect(m_quick, &QCheckBox::toggled, this, [this](bool on) {
        m_draft.quick = on;
        refresh();
    });
    card->body()->addWidget(m_quick);
    m_repeats = new QComboBox(card);
    m_repeats->setAccessibleName(tr("Repeats"));
    m_repeats->addItem(tr("as the recipe says"), 0);
    for (const int count : {1, 3, 5, 10})
        m_repeats->addItem(count == 1 ? tr("1 repeat") : tr("%1 repeats").arg(count), count);
    m_repeats->setToolTip(
        tr("How often each run is repeated, in turns (A B C A B C), so that differences can be told from noise"));
    connect(m_repeats, &QComboBox::currentIndexChanged, this, [this] {
        const int count = m_repeats->currentData().toInt();
        m_draft.repeats = count ? std::optional(count) : std::nullopt;
        refresh();
    });
    auto *options = new QHBoxLayout;
    options->setSpacing(grid);
    options->setContentsMargins(0, 0, grid, 0);
    auto *repeats = new QLabel(tr("Repeats"), card);
    repeats->setFixedWidth(22 * grid);
    repeats->setToolTip(m_repeats->toolTip());
    options->addWidget(repeats);
    m_repeats->setMaximumWidth(64 * grid);
    options->addWidget(m_repeats, 4);
    m_sideBySide = new QComboBox(card);
    m_sideBySide->setAccessibleName(tr("Runs at once"));
    for (const int count : {1, 2, 4, 8})
        m_sideBySide->addItem(count == 1 ? tr("one at a time") : tr("%1 side by side").arg(count), count);
    m_sideBySide->setToolTip(tr(
        "How many runs may go at once, each on devices and cores that no other one has; one that finds no room waits. "
        "It is over sooner, but they share the memory, the caches and the clock, so that each takes longer than "
        "alone"));
    connect(m_sideBySide, &QComboBox::currentIndexChanged, this, [this] {
        m_draft.sideBySide = m_sideBySide->currentData().toInt();
        refresh();
    });
    m_sideBySide->setMaximumWidth(64 * grid);
    options->addWidget(m_sideBySide, 4);
    options->addStretch(0);
    card->body()->addLayout(options);
    m_reset = new QPushButton(tr("Reset"), card);
    m_reset->setShortcut(QKeySequence(Qt::ALT | Qt::Key_R));
    m_reset->setToolTip(tr("Back to the recipe's own settings (Alt+R)"));
    connect(m_reset, &QPushButton::clicked, this, [this] {
        m_draft.reset();
        m_overNodes = false;
        m_form->show(m_draft);
        refresh();
    });
    card->addTool(m_reset);
    m_data = new DataNotice(m_theme, card);
    connect(m_data, &DataNotice::arrived, this, &PlanPage::refresh);
    card->body()->addWidget(m_data);
    m_devices = new DevicePicker(m_theme, card);
    connect(m_devices, &DevicePicker::chosen, this, [this](const QString &kind, const QStringList &devices) {
        m_draft.set(*findField("device"), kind.toStdString());
        m_draft.set(*findField("devices"), devices.join(QLatin1Char(',')).toStdString());
        refresh();
    });
    card->body()->addWidget(buildWhere(card));
    card->body()->addWidget(m_devices);
    // Nodes may be many: they scroll with the form.
    auto *scrolled = new QWidget(card);
    scrolled->setObjectName(QStringLiteral("scrolled"));
    auto *rows = new QVBoxLayout(scrolled);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setSpacing(grid + grid / 2);
    buildNodes(scrolled);
    rows->addWidget(m_nodes);
    rows->addWidget(m_queuePlace);
    rows->addWidget(m_doctor);
    m_form = new ConfigForm(m_theme, scrolled);
    rows->addWidget(m_form, 1);
    connect(m_form, &ConfigForm::edited, this, [this](const QString &key, const QString &value) {
        if (const FieldSpec *field = findField(key.toStdString()))
            m_draft.set(*field, value.toStdString());
        refresh();
    });
    connect(m_form, &ConfigForm::methodChosen, this, [this](Method method, bool on) {
        m_draft.setMethod(method, on);
        refresh();
    });
    auto *area = new QScrollArea(card);
    area->setWidgetResizable(true);
    area->setFrameShape(QFrame::NoFrame);
    area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    area->setFocusPolicy(Qt::NoFocus);
    area->setWidget(scrolled);
    card->body()->addWidget(area, 1);
    return card;
}

QWidget *PlanPage::buildPlan() {
    auto *card = new Card(tr("What will run"), this);
    card->setMinimumWidth(40 * grid);
    m_rows = new QListView(card);
    m_rows->setModel(&m_model);
    m_rows->setItemDelegate(new PlanRowDelegate(m_theme, m_rows));
    m_rows->setFrameShape(QFrame::NoFrame);
    m_rows->setMouseTracking(true);
    m_rows->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_rows->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    m_rows->setAccessibleName(tr("What will run"));
    connect(m_rows->selectionModel(), &QItemSelectionModel::currentChanged, this, &PlanPage::showCommand);
    card->body()->addWidget(m_rows, 1);
    m_notes = makeLabel({}, "muted", card);
    m_notes->setWordWrap(true);
    card->body()->addWidget(m_notes);
    card->body()->addWidget(makeLine(card));
    auto *head = new QHBoxLayout;
    auto *title = makeLabel(tr("The same with torchrun"), "small", card);
    title->setToolTip(tr("What a shell would run for the chosen row: the trainer works under torchrun as it is"));
    head->addWidget(title);
    head->addStretch(1);
    m_copy = new QPushButton(tr("Copy"), card);
    m_copy->setShortcut(QKeySequence(Qt::ALT | Qt::Key_C));
    m_copy->setToolTip(tr("Copies the command (Alt+C)"));
    connect(m_copy, &QPushButton::clicked, this,
            [this] { QGuiApplication::clipboard()->setText(m_command->toPlainText()); });
    head->addWidget(m_copy);
    card->body()->addLayout(head);
    m_command = new QPlainTextEdit(card);
    m_command->setReadOnly(true);
    m_command->setFrameShape(QFrame::NoFrame);
    m_command->setFont(Theme::mono(Type::Small));
    m_command->setFixedHeight(80);
    m_command->setTabChangesFocus(true);
    m_command->setAccessibleName(tr("Command"));
    card->body()->addWidget(m_command);
    card->body()->addWidget(makeLine(card));
    m_mistakes = makeLabel({}, "wrong", card);
    m_mistakes->setWordWrap(true);
    m_mistakes->hide();
    card->body()->addWidget(m_mistakes);
    m_summary = makeLabel({}, "secondary", card);
    m_summary->setWordWrap(true);
    card->body()->addWidget(m_summary);
    m_start = new QPushButton(tr("Start"), card);
    m_start->setObjectName(QStringLiteral("primary"));
    m_start->setIconSize({20, 20});
    m_start->setShortcut(QKeySequence(Qt::CTRL | Qt::Key_Return));
    m_start->setToolTip(tr("Starts these runs; they go on when the window is closed (Ctrl+Enter)"));
    connect(m_start, &QPushButton::clicked, this, &PlanPage::start);
    card->body()->addWidget(m_start);
    return card;
}

void PlanPage::fillIn(const RunConfig &config, const QString &name) {
    m_quick->setChecked(false); // it would change what was duplicated
    m_recipes->addAndChoose(PlanDraft::ofRun(config, name.toStdString()), QStringLiteral("copy"));
}

bool PlanPage::choose(const QString &recipe) {
    return m_recipes->choose(recipe);
}

void PlanPage::takeDraft(PlanDraft draft) {
    const bool quick = m_quick->isChecked();
    const std::string nodes = m_draft.value(*findField("nodes")).value_or("");
    m_draft = std::move(draft);
    if (!nodes.empty() && m_draft.value(*findField("nodes")).value_or("").empty())
        m_draft.set(*findField("nodes"), nodes); // another recipe, the same machines
    m_draft.quick = quick;
    m_draft.sideBySide = m_sideBySide->currentData().toInt();
    m_draft.repeats.reset();
    m_repeats->setCurrentIndex(0);
    const core::QuickVariant variant = m_draft.recipe().quick.value_or(core::QuickVariant{});
    setWords(m_quick, tr("Quick: %L1 images, %2 epochs, %3 repeats")
                          .arg(variant.trainSamples)
                          .arg(variant.epochs)
                          .arg(variant.repeats));
    m_quick->setToolTip(tr("A smaller run for a first answer within minutes; the whole test set is used (Alt+Q)"));
    m_remove->setEnabled(m_recipes->isSaved());
    m_about->setEnabled(RecipeReaderDialog::hasPage(m_recipes->currentName()));
    m_head->setText(QString::fromStdString(m_draft.recipe().question));
    m_head->setVisible(!m_draft.recipe().question.empty());
    m_form->show(m_draft);
    refresh();
}

void PlanPage::refresh() {
    core::EstimateSource estimate;
    if (core::RunIndex *index = m_workspace.history().index())
        estimate = [index, here = core::thisMachine()](const RunConfig &config,
                                                       const std::vector<std::string> &command) {
            return index->estimate(config, here, command);
        };
    const auto plan = m_draft.plan(m_facts, estimate);
    showNodes(plan ? &*plan : nullptr);
    const QString noNodes = whyNoNodes();
    m_valid = !dataMissing() && plan.has_value() && plan->runnableCount() > 0 && noNodes.isEmpty();
    m_reset->setEnabled(m_draft.isChanged());
    std::vector<Error> wrong = plan ? std::vector<Error>() : plan.error();
    if (m_doctor->looking()) // it may bring the interface that lacks
        std::erase_if(wrong, [](const Error &error) { return error.where == "nodes"; });
    std::vector<Error> rest = m_form->setMistakes(wrong);
    m_form->show(m_draft);
    QStringList sentences;
    if (!noNodes.isEmpty())
        sentences.append(noNodes);
    for (const Error &error : rest)
        sentences.append(QString::fromStdString(error.message()));
    if (!plan) {
        sentences.append(wrong.empty()  ? tr("The doctor looks for each node's interface …")
                         : rest.empty() ? tr("Some settings can't run: they are marked where they stand.")
                                        : QString());
        sentences.removeAll(QString());
        m_summary->clear();
    } else if (!noNodes.isEmpty()) { // what stands there would run here
        m_model.setPlan({});
        m_summary->clear();
        m_notes->hide();
    } else {
        m_model.setPlan(*plan);
        showChosenDevices(*plan);
        m_rows->setCurrentIndex(
            m_model.index(std::max(0, std::min(m_rows->currentIndex().row(), m_model.rowCount() - 1)), 0));
        const int runs = plan->runnableCount();
        const int strangers = int(std::ranges::count_if(
            plan->runs, [](const core::PlannedRun &run) { return run.runnable() && !run.estimateS; }));
        const QString atOnce = m_draft.sideBySide == 1 ? QString()
                               : plan->mostAtOnce > 1
                                   ? QStringLiteral(" · ") + tr("up to %1 at once").arg(plan->mostAtOnce)
                                   : QStringLiteral(" · ") + tr("no two of them find room side by side");
        m_summary->setText((runs == 1 ? tr("1 run") : tr("%1 runs").arg(runs)) + atOnce + QStringLiteral(" · ") +
                           (plan->estimateS ? tr("about %1").arg(core::timeLeft(plan->estimateS))
                                            : core::timeUnknown(strangers, runs)));
        QStringList notes;
        const auto note = [&notes](const QString &text) {
            if (!text.isEmpty() && !notes.contains(text))
                notes.append(text);
        };
        for (const core::PlannedRun &run : plan->runs) {
            if (!run.runnable()) {
                if (run.config.nodes.size() > 1) // the row has no room for it
                    note(QString::fromStdString(run.name + ": " + run.notRunReason));
                continue;
            }
            note(QString::fromStdString(run.note));
            if (const core::BackendChoice backend = core::backendOf(run); !backend.name.empty())
                note(tr("DDP over %1: %2")
                         .arg(QString::fromStdString(backend.name), QString::fromStdString(backend.reason)));
        }
        m_notes->setText(notes.join(QLatin1Char('\n')));
        m_notes->setVisible(!notes.isEmpty());
        if (runs == 0)
            sentences.append(m_overNodes ? tr("Nothing here can run on these nodes.")
                                         : tr("Nothing here can run on this machine."));
    }
    m_mistakes->setText(sentences.join(QLatin1Char('\n')));
    m_mistakes->setVisible(!sentences.isEmpty());
    m_summary->setVisible(!m_summary->text().isEmpty());
    m_rows->setEnabled(plan.has_value());
    showCommand();
    restyle();
}

/// What the runs that can run use; and CPU devices are blocks of as many cores as the plan says.
void PlanPage::showChosenDevices(const core::Plan &plan) {
    QString kind;
    QStringList devices;
    for (const core::PlannedRun &run : plan.runs) {
        if (!run.runnable())
            continue;
        kind = QString::fromStdString(run.config.device);
        m_devices->setCoresPerDevice(run.config.coresPerDevice);
        for (const std::string &device : run.config.devices)
            if (const QString name = QString::fromStdString(device); !devices.contains(name))
                devices << name;
    }
    m_devices->setChosen(kind, devices);
}

/// A folder of the person's own is looked into by the trainer, which knows what it needs.
bool PlanPage::dataMissing() {
    const FieldSpec *dataset = findField("dataset"), *folder = findField("data_dir");
    const bool own = (folder && !m_draft.value(*folder).value_or("").empty()) || !reachesThisMachine();
    const auto name = dataset && !own ? m_draft.value(*dataset) : std::nullopt;
    return m_data->look(name ? QString::fromStdString(*name) : QString());
}

void PlanPage::showCommand() {
    int row = m_rows->currentIndex().row();
    if (row < 0 || row >= m_model.rowCount())
        return m_command->clear();
    const core::PlannedRun &run = m_model.runAt(row);
    m_command->setPlainText(wrapCommand(QString::fromStdString(core::torchrunCommand(run)), run.config));
}

QString PlanPage::mistakes() const {
    return m_mistakes->text();
}

QString PlanPage::commandText() const {
    return m_command->toPlainText();
}

void PlanPage::start() {
    if (!m_valid || m_workspace.starter().starting() || !mayStart())
        return;
    core::StartRequest request;
    request.recipe = m_draft.effective();
    request.quick = m_draft.quick;
    request.repeats = m_draft.repeats;
    if (!m_draft.recipe().orderSeed)
        request.orderSeed =
            std::exchange(m_draft.orderSeed, core::newOrderSeed()); // as shown; the next start has its own
    request.sideBySide = m_draft.sideBySide;
    request.queueOn = m_queuePlace->host().toStdString();
    Q_EMIT startRequested(request);
}

void PlanPage::restyle() {
    const Palette &p = m_theme.palette();
    m_start->setEnabled(m_valid && !m_workspace.starter().starting() && !m_startWhenAsked);
    setWords(m_start, startWords());
    m_theme.setIcon(m_start, QStringLiteral("play"), p.onAccent);
    m_theme.setIcon(m_copy, QStringLiteral("copy"), p.textSecondary);
    m_about->setIcon(m_theme.icon(QStringLiteral("info"), p.textSecondary));
    m_openFile->setIcon(m_theme.icon(QStringLiteral("open"), p.textSecondary));
    m_save->setIcon(m_theme.icon(QStringLiteral("save"), p.textSecondary));
}

} // namespace lockstep::ui

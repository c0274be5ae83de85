// SPDX-License-Identifier: MIT
// Every page, at the sizes that people have and in the states that it is met in: no words are cut off, nothing scrolls sideways. With
// LOCKSTEP_SHOTS each is a picture, light and dark; QT_SCALE_FACTOR gives those of other scales.
#include <QAbstractButton>
#include <QLabel>
#include <QScrollArea>
#include <QScrollBar>

#include "app/ui/charts/lane_view.h"
#include "app/ui/shell/page.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/elided_label.h"
#include "ipc/unix_socket.h"
#include "window_fixture.h"

using namespace lockstep;
using namespace lockstep::ui;

namespace {

constexpr const char *chinese =
    R"({"name": "long", "title": "数据并行在这台机器上值得吗？分布式训练与单设备训练的比较", "base": {"batch_size": 64},
        "reference": "基线，单个设备，不用加载线程的普通训练",
        "runs": [{"name": "基线，单个设备，不用加载线程的普通训练", "method": "baseline"},
                 {"name": "数据并行，两个设备，四个加载线程，混合精度训练", "method": "dp", "devices": 2},
                 {"name": "分布式数据并行，两个设备，四个加载线程，混合精度训练", "method": "ddp", "devices": 2}]})";

std::string ofRecipe(const char *text, const uitest::Shape &shape) {
    const auto recipe = core::recipeFromJson(text);
    return recipe ? uitest::writeOnDisk(*recipe, shape) : std::string();
}

/// DDP's rank died in the first epoch.
std::string failed() {
    const std::string id = uitest::writeExperimentOnDisk({.repeats = 3, .firstRun = 300});
    auto experiment = core::readExperiment(id);
    std::uint32_t number = 340;
    for (core::ExperimentEntry &entry : experiment->entries)
        if (entry.planned.config.method == Method::Ddp && entry.planned.runnable()) {
            uitest::RunWriter writer(entry.planned, id, number++, 1'767'400'000'000'000, {});
            writer.begin();
            writer.epoch(1);
            writer.died(1, "rank 1 on box1 was killed by SIGKILL");
            entry.run = writer.run;
            entry.state = core::EntryState::Failed;
            entry.reason = "rank 1 on box1 was killed by SIGKILL";
        }
    (void)core::writeExperiment(*experiment);
    return id;
}

QString said(const QWidget *widget) {
    const auto *label = qobject_cast<const QLabel *>(widget);
    const auto *button = qobject_cast<const QAbstractButton *>(widget);
    return label ? label->text() : button ? button->text() : widget->metaObject()->className();
}

bool isCut(const QWidget *widget) {
    const QSize has = widget->size();
    if (const auto *label = qobject_cast<const QLabel *>(widget)) {
        if (qobject_cast<const ElidedLabel *>(label) || label->text().isEmpty())
            return false; // it says all in its tooltip
        return label->wordWrap() ? has.height() < label->heightForWidth(has.width())
                                 : has.width() < label->minimumSizeHint().width();
    }
    const auto *button = qobject_cast<const QAbstractButton *>(widget);
    return button && !button->text().isEmpty() && has.width() < button->minimumSizeHint().width();
}

} // namespace

class SizesTest : public QObject, uitest::WindowFixture {
    Q_OBJECT
    uitest::Home m_home;
    std::optional<FileLock> m_owner;
    bool m_namesFit = true; ///< false: names of 30 characters and more

    /// What is cut off on the page that shows; empty: nothing.
    [[nodiscard]] QString cutOff() const {
        for (const QScrollArea *area : m_window->findChildren<QScrollArea *>())
            if (area->isVisible() && area->widget()) {
                if (area->horizontalScrollBarPolicy() != Qt::ScrollBarAlwaysOff) {
                    if (area->horizontalScrollBar()->maximum() > 0)
                        return QStringLiteral("scrolls sideways by %1").arg(area->horizontalScrollBar()->maximum());
                    continue;
                }
                // Whatever is folded out: the bar may come.
                const int room = area->width() - area->verticalScrollBar()->sizeHint().width();
                if (area->widget()->minimumSizeHint().width() > room)
                    return QStringLiteral("%1 px wide in %2 beside the scroll bar")
                        .arg(area->widget()->minimumSizeHint().width())
                        .arg(room);
            }
        for (const LaneView *lanes : m_window->findChildren<LaneView *>())
            if (const QStringList names = lanes->cutNames(); m_namesFit && lanes->isVisible() && !names.isEmpty())
                return QStringLiteral("lane of \"%1\"").arg(names.front());
        for (const QWidget *widget : m_window->findChildren<QWidget *>())
            if (widget->isVisible() && isCut(widget))
                return QStringLiteral("\"%1\" has %2 × %3, wants %4 × %5")
                    .arg(said(widget))
                    .arg(widget->width())
                    .arg(widget->height())
                    .arg(widget->minimumSizeHint().width())
                    .arg(widget->hasHeightForWidth() ? widget->heightForWidth(widget->width())
                                                     : widget->minimumSizeHint().height());
        return {};
    }

private Q_SLOTS:
    void cleanup() {
        closeWindow();
        m_owner.reset();
    }

    void noWordsAreCutOff_data() {
        QTest::addColumn<QString>("state");
        QTest::addColumn<QSize>("size");
        for (const char *state : {"empty", "finished", "running", "failed", "matrix", "chinese"})
            for (const QSize size : {QSize(1280, 800), QSize(1920, 1080), QSize(2560, 1440)})
                QTest::addRow("%s, %d", state, size.width()) << QString::fromLatin1(state) << size;
        // What 200 % leaves of 2560 x 1440, and 150 % of 1920 x 1080.
        QTest::addRow("finished, low") << QStringLiteral("finished") << QSize(1280, 720);
        QTest::addRow("finished, least") << QStringLiteral("finished") << QSize(1024, 640); // of a window
    }
    void noWordsAreCutOff() {
        QFETCH(const QString, state);
        QFETCH(const QSize, size);
        m_namesFit = state != "chinese";
        static std::map<QString, std::string> made;
        if (!made.contains(state))
            made[state] = state == "finished"  ? uitest::writeExperimentOnDisk({.repeats = 3, .spread = 0.02})
                          : state == "running" ? uitest::writeUnfinishedExperiment({.firstRun = 100})
                          : state == "failed"  ? failed()
                          : state == "matrix"
                              ? ofRecipe(uitest::gridRecipe, {.epochs = 2, .stepsPerEpoch = 12, .firstRun = 400})
                          : state == "chinese" ? ofRecipe(chinese, {.repeats = 3, .firstRun = 500, .spread = 0.02})
                                               : std::string();
        const std::string &id = made[state];
        if (state == "running") {
            auto lock = FileLock::acquire(core::experimentFolder(id).lock());
            QVERIFY(lock.has_value());
            m_owner.emplace(std::move(*lock));
        }
        openWindow(size / qApp->devicePixelRatio());
        if (!id.empty()) {
            QVERIFY(m_workspace->open(QString::fromStdString(id)).has_value());
            QTRY_VERIFY(m_workspace->settled());
        }
        QStringList cut;
        for (const PageSpec &spec : pageTable) {
            m_window->showPage(spec.page);
            QTest::qWait(120); // what a page draws at its first turn, and what follows from it
            // The list of runs is read on a thread: a layout may be under way.
            if (!QTest::qWaitFor([this] { return cutOff().isEmpty(); }))
                cut.append(QString::fromLatin1(spec.name) + QStringLiteral(": ") + cutOff());
            uitest::picture(
                *m_window, m_theme,
                qPrintable(QStringLiteral("%1-%2-%3x%4").arg(spec.name, state).arg(size.width()).arg(size.height())));
        }
        QVERIFY2(cut.isEmpty(), qPrintable(cut.join(QLatin1Char('\n'))));
    }
};

QTEST_MAIN(SizesTest)
#include "sizes_test.moc"

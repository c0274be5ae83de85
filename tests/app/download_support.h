// SPDX-License-Identifier: MIT
#pragma once
// What the tests of downloads share.
#include <memory>
#include <string>

#include <QFile>
#include <QSignalSpy>

#include "data/data_download.h"
#include "tests/qt_test.h"

namespace lockstep::test {

/// The error's sentence; empty when it went well.
inline QString download(const core::DatasetSource &source, const std::string &folder) {
    const auto download = core::DataDownload::make(source, folder);
    QSignalSpy finished(download.get(), &core::DataDownload::finished),
        failed(download.get(), &core::DataDownload::failed);
    download->start();
    if (!QTest::qWaitFor([&] { return !finished.isEmpty() || !failed.isEmpty(); }, hangLimitMs))
        return QStringLiteral("timed out");
    return finished.isEmpty() ? QString::fromStdString(failed[0][0].value<Error>().message()) : QString();
}

inline QByteArray contents(const std::string &path) {
    QFile file(QString::fromStdString(path));
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

} // namespace lockstep::test

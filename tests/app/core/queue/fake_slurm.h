// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include <QFile>
#include <QTemporaryDir>

#include "core_support.h"
#include "ipc/file_system.h"
#include "tests/qt_test.h"

namespace lockstep::test {

/// Programs of Slurm's names, first in the path of this process.
class FakeSlurm {
public:
    FakeSlurm() : m_path(qgetenv("PATH")) { qputenv("PATH", m_folder.path().toUtf8() + ':' + m_path); }
    ~FakeSlurm() { qputenv("PATH", m_path); }
    FakeSlurm(const FakeSlurm &) = delete;
    FakeSlurm &operator=(const FakeSlurm &) = delete;
    /// What they write into $DIR/said can be read.
    void program(const char *name, const std::string &script) const {
        const std::string path = file(name);
        write(path, "#!/bin/sh\nDIR=" + m_folder.path().toStdString() + "\n" + script + "\n");
        QVERIFY(QFile::setPermissions(QString::fromStdString(path),
                                      QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner));
    }
    [[nodiscard]] std::string said() const { return realFileSystem().readAll(file("said")).value_or(""); }

private:
    [[nodiscard]] std::string file(const char *name) const {
        return m_folder.filePath(QString::fromLatin1(name)).toStdString();
    }
    QTemporaryDir m_folder;
    QByteArray m_path;
};

} // namespace lockstep::test

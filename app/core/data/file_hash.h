// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <memory>

#include <QFile>
#include <QObject>
#include <QTimer>

#include "ipc/sha256.h"

namespace lockstep::core {

/// Computes a file's sha256 from the event loop, a megabyte at a time, so that a large file holds no window up. One file
/// at a time.
class FileHash : public QObject {
    Q_OBJECT
public:
    /// Null: the file can't be read. The hash can be fed further.
    using Done = std::function<void(std::unique_ptr<Sha256> hash)>;

    explicit FileHash(QObject *parent = nullptr);
    void start(const QString &path, Done done); ///< `done` is never called from inside start()
    void stop();                                ///< `done` won't be called

private:
    void readOn();

    QTimer m_timer;
    QFile m_file;
    std::unique_ptr<Sha256> m_hash;
    Done m_done;
};

} // namespace lockstep::core

// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <QObject>
#include <QString>

#include "data/dataset_source.h"
#include "data/file_hash.h"
#include "ipc/error.h"
#include "ipc/sha256.h"
#include "ipc/unix_socket.h"

namespace lockstep::core {

/// Gets the files of a data set into a folder. A file has its name there only when its sha256 is right: a correct one is
/// not fetched again, a damaged one is kept as NAME.damaged. One download at a time in a folder. Event loop only, never
/// blocks; one use.
class DataDownload : public QObject {
    Q_OBJECT
public:
    /// From mirrors or as Python packages: whichever the source names.
    [[nodiscard]] static std::unique_ptr<DataDownload> make(DatasetSource source, std::string folder);
    ~DataDownload() override;
    void start();
    void cancel(); ///< failed() follows

Q_SIGNALS:
    void progressed(const QString &what, qint64 received, qint64 total); ///< bytes of all that is downloaded
    void finished();
    void failed(const lockstep::Error &error);

protected:
    DataDownload(DatasetSource source, std::string folder, QObject *parent);

    virtual void fetch() = 0;                             ///< gets what isMissing(), then calls end()
    virtual void stop() = 0;                              ///< ends what is under way, then calls cancelled()
    [[nodiscard]] virtual std::string afterwards() = 0;   ///< what a start after a cancelled download does
    void cancelled();                                     ///< ends with the sentence that says so
    void end(std::optional<Error> error);                 ///< once; nothing: all went well
    void hash(const QString &path, FileHash::Done whole); ///< `whole` is not called after the end
    /// Gives a checked file its name; ends the download if it can't.
    [[nodiscard]] bool place(const QString &checked, const DatasetFile &file);

    [[nodiscard]] bool isOver() const { return m_over; }
    [[nodiscard]] bool isMissing(std::size_t file) const { return m_missing[file]; }
    [[nodiscard]] const DatasetSource &source() const { return m_source; }
    [[nodiscard]] const std::string &folder() const { return m_folder; }
    [[nodiscard]] QString pathOf(const DatasetFile &file) const;
    /// "or copy the 4 files into FOLDER yourself"
    [[nodiscard]] std::string byHand() const;

private:
    void checkNext();
    void checked(const std::unique_ptr<Sha256> &hash);
    void putAside();
    [[nodiscard]] std::int64_t spaceNeeded() const;

    DatasetSource m_source;
    std::string m_folder;
    std::optional<FileLock> m_lock;
    FileHash m_hash;
    std::vector<bool> m_missing; ///< by file, as far as they have been checked
    bool m_stopping = false, m_over = false;
};

} // namespace lockstep::core

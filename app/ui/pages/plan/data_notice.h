// SPDX-License-Identifier: MIT
#pragma once
#include <QFrame>

#include <memory>
#include <string>
#include <vector>

#include "data/dataset_source.h"

class QLabel;
class QPushButton;

namespace lockstep::core {
class DataDownload;
}

namespace lockstep::ui {
class ProgressBar;
class Theme;

/// Shows that a data set is not on this machine, and downloads it: size, progress, cancel, error. Hidden while the
/// data is here.
class DataNotice : public QFrame {
    Q_OBJECT
public:
    explicit DataNotice(const Theme &theme, QWidget *parent = nullptr);
    ~DataNotice() override;
    /// Checks for a data set; an empty name, or a set that can't be downloaded, hides the notice. True when it is missing.
    bool check(const QString &dataset);
    /// "Fashion-MNIST is not on this machine"; empty: it is, or it can't be downloaded.
    [[nodiscard]] std::string whyMissing(const std::string &dataset) const;
    /// Replaces the known data sets (a manifest of the person's own, tests).
    void setSources(std::vector<core::DatasetSource> sources) { m_sources = std::move(sources); }
    [[nodiscard]] QPushButton *button() const { return m_button; }
    [[nodiscard]] QLabel *sentence() const { return m_sentence; }

Q_SIGNALS:
    void arrived(); ///< the data is here now

private:
    void press();
    void over(const QString &why);
    void refresh();

    const Theme &m_theme;
    std::vector<core::DatasetSource> m_sources;
    core::DatasetSource m_wanted;
    std::unique_ptr<core::DataDownload> m_download;
    QString m_why;
    QLabel *m_sentence;
    ProgressBar *m_bar;
    QPushButton *m_button;
};

} // namespace lockstep::ui

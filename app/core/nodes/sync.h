// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <QObject>

#include "nodes/node_shell.h"
#include "nodes/sync_bundle.h"
#include "nodes/torch_line.h"

namespace lockstep::core {

/// Facts about a node that its shell reports, without any of our programs.
struct SyncSurvey {
    std::string arch, glibc, home; ///< home: its LOCKSTEP_HOME, absolute
    bool rsync = false, tar = false, gpus = false;
    std::string torchFolder, torchVersion; ///< its own PyTorch, if it has one
    std::string driver;                    ///< NVIDIA's driver
    std::vector<LineFacts::Gpu> cards;     ///< as nvidia-smi lists them
    std::optional<double> freeBytes;
};
/// Refuses a node whose words are no plain text. Blocks.
[[nodiscard]] Result<SyncSurvey> survey(NodeShell &shell);

/// The error says why our programs would not run there: another processor, an older glibc. Call it before copying.
[[nodiscard]] Result<void> fits(const SyncSurvey &node, const std::string &ownArch, const std::string &neededGlibc,
                                const std::string &name);

struct SyncProgress {
    std::string node, bundle;
    std::string what;                     ///< "comparing", "copying", "verifying", "switching"
    double doneBytes = 0, totalBytes = 0; ///< of the bytes to copy
};
using SyncListener = std::function<void(const SyncProgress &)>;

struct SyncReport {
    std::string node, bundle, version;
    std::string by;     ///< "rsync", "tar", or empty when nothing had to be copied
    std::string folder; ///< its folder on the node
    std::size_t files = 0, movedFiles = 0;
    double bytes = 0, movedBytes = 0; ///< movedBytes: file contents sent over the link
};

enum class SyncWay { Best, Tar }; ///< Best: rsync where both have it

/// Copies one bundle to HOME/sync/BUNDLE/versions/VERSION. Points HOME/sync/BUNDLE/current there, by one rename, once
/// every file's sha256 is right. Files that the previous version has are linked, not sent. An interrupted sync is
/// resumed. The previous version stays until the next one; older ones are removed. Blocks.
[[nodiscard]] Result<SyncReport> syncBundle(NodeShell &shell, const SyncSurvey &node, const SyncBundle &bundle,
                                            const SyncListener &progressed = {}, SyncWay way = SyncWay::Best);

struct SyncOptions {
    std::vector<std::string> datasets;
    bool ownTorch = true; ///< use a node's own PyTorch of the right version; false: copy ours
    std::string line;     ///< version of the line, set by a person; empty: chosen automatically
    SyncWay way = SyncWay::Best;
};
/// `done` is called once per node.
struct SyncEvents {
    SyncListener progressed;
    std::function<void(const LineChoice &)> chosen; ///< before anything is copied
    std::function<void(const std::string &node, const Result<std::vector<SyncReport>> &)> done;
};
/// Surveys all nodes, chooses the line of PyTorch that all of them can use, then copies to one node after another:
/// programs, PyTorch unless the node has its own, and data sets. This machine only gets the line. The list of nodes
/// then records where each agent is, which torch it uses and why. Blocks.
void syncNodes(const std::vector<NodeEntry> &nodes, const SyncOptions &options, const SshAnswers &answers,
               const SyncEvents &events, std::stop_token stop = {});

/// Runs a sync in its own thread ("lockstep-nodes"), for a window. One use.
class SyncJob : public QObject {
    Q_OBJECT
public:
    explicit SyncJob(QObject *parent = nullptr);
    ~SyncJob() override; ///< stops and waits for the thread; what has arrived is kept for the next sync
    void start(std::vector<NodeEntry> nodes, SyncOptions options, SshAnswers answers);
    void stop();

Q_SIGNALS:
    void progressed(const lockstep::core::SyncProgress &progress);
    void lineChosen(const QString &reason);
    void nodeDone(const QString &node, const std::vector<lockstep::core::SyncReport> &reports);
    void nodeFailed(const QString &node, const lockstep::Error &error);
    void finished();

private:
    std::jthread m_thread;
};

} // namespace lockstep::core

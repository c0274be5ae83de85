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

/// What a node says of itself by its shell alone, before anything of ours is there.
struct SyncSurvey {
    std::string arch, glibc, home; ///< home: its data home, absolute
    bool rsync = false, tar = false, gpus = false;
    std::string torchFolder, torchVersion; ///< its own PyTorch, where there is one
    std::string driver;                    ///< NVIDIA's
    std::vector<LineFacts::Gpu> cards;     ///< as nvidia-smi lists them
    std::optional<double> freeBytes;
};
[[nodiscard]] Result<SyncSurvey> survey(NodeShell &shell);

/// Why nothing may be brought there: another processor, an older glibc. Nothing is copied before this is asked.
[[nodiscard]] Result<void> fits(const SyncSurvey &node, const std::string &ownArch, const std::string &neededGlibc,
                                const std::string &name);

struct SyncProgress {
    std::string node, bundle;
    std::string what;                     ///< "comparing", "copying", "verifying", "switching"
    double doneBytes = 0, totalBytes = 0; ///< of what has to travel
};
using SyncTold = std::function<void(const SyncProgress &)>;

struct SyncReport {
    std::string node, bundle, version;
    std::string by;     ///< "rsync", "tar", or empty when nothing had to travel
    std::string folder; ///< where it lies there
    std::size_t files = 0, movedFiles = 0;
    double bytes = 0, movedBytes = 0; ///< movedBytes: sent over the link, files' contents
};

enum class SyncWay { Best, Tar }; ///< Best: rsync where both have it

/// Brings one bundle to HOME/sync/BUNDLE/versions/VERSION and points HOME/sync/BUNDLE/current there, by one rename, once
/// every file's sha256 is right. Files that the version before has are linked, not sent. What a cut link left behind is
/// gone on with. The version before stays until the next one; older ones go. Blocks.
[[nodiscard]] Result<SyncReport> syncBundle(NodeShell &shell, const SyncSurvey &node, const SyncBundle &bundle,
                                            const SyncTold &told = {}, SyncWay way = SyncWay::Best);

struct SyncOptions {
    std::vector<std::string> datasets;
    bool ownTorch = true; ///< use a node's own PyTorch of the right version; false: bring ours
    std::string line;     ///< version of the line to use, a person's wish; empty: chosen
    SyncWay way = SyncWay::Best;
};
struct SyncEvents {
    SyncTold progressed;
    std::function<void(const LineChoice &)> chosen; ///< before anything is copied
    std::function<void(const std::string &node, const Result<std::vector<SyncReport>> &)> done; ///< each node, once
};
/// Looks at all nodes, chooses the line of PyTorch that all of them can use, and brings to one after another its programs,
/// its PyTorch where the node has none of its own, and data sets. Of this machine only the line is settled. The book learns
/// where each agent lies, which torch it uses and why. Blocks.
void syncNodes(const std::vector<NodeEntry> &nodes, const SyncOptions &options, const SshAnswers &answers,
               const SyncEvents &events, std::stop_token stop = {});

/// The same on a thread of its own ("lockstep-nodes"), for a window. One use.
class SyncJob : public QObject {
    Q_OBJECT
public:
    explicit SyncJob(QObject *parent = nullptr);
    ~SyncJob() override; ///< stops and waits for the thread; what arrived stays for the next time
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

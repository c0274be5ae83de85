// SPDX-License-Identifier: MIT
#include "nodes/sync.h"

#include <algorithm>
#include <sys/prctl.h>

#include <QDeadlineTimer>
#include <QFile>
#include <QStandardPaths>

#include "base/command_prefix.h"
#include "ipc/printable.h"
#include "ipc/run_folder.h"
#include "nodes/node_probe.h"
#include "nodes/sync_scripts.h"
#include "nodes/sync_transfer.h"

namespace lockstep::core {
namespace {

using namespace std::chrono_literals;

constexpr auto hashingLimit = 30min; ///< a slow disk may read several gigabytes

std::string value(const QString &text, const char *key) {
    for (const QString &line : text.split(u'\n'))
        if (line.startsWith(QString::fromLatin1(key) + u'='))
            return line.section(u'=', 1).trimmed().toStdString();
    return {};
}

/// Its words go into the list of nodes, into scripts and into messages.
Result<void> checkWords(const SyncSurvey &survey, const std::string &node) {
    constexpr std::size_t longest = 1024;
    std::vector<std::pair<const char *, std::string_view>> words = {
        {"data folder", survey.home},     {"processor", survey.arch},
        {"glibc", survey.glibc},          {"PyTorch's folder", survey.torchFolder},
        {"PyTorch", survey.torchVersion}, {"GPU driver", survey.driver}};
    for (const LineFacts::Gpu &card : survey.cards)
        words.emplace_back("GPU", card.name);
    for (const auto &[what, word] : words)
        if (!isPlainWord(word, longest))
            return fail(Error::badArgument(node + " says of its " + what + " '" + printableName(word) +
                                               "', which is longer than " + std::to_string(longest) +
                                               " bytes or contains a control character",
                                           "change it on that node"));
    return {};
}

std::string gigabytes(double bytes) {
    return bytes >= 1e9 ? QString::number(bytes / 1e9, 'f', 1).toStdString() + " GB"
                        : QString::number(bytes / 1e6, 'f', 1).toStdString() + " MB";
}

/// The files that the node reports as missing.
Result<SyncPlan> makePlan(NodeShell &shell, const SyncSurvey &node, const SyncBundle &bundle) {
    const Said said =
        shell.script(scripts::plan, {node.home, bundle.name, bundle.version()}, bundle.manifest(), hashingLimit);
    const QStringList lines = QString::fromStdString(said.out).split(u'\n', Qt::SkipEmptyParts);
    if (said.code != 0 || lines.isEmpty() || (lines.back() != u"planned" && lines.back() != u"present"))
        return fail(interrupted(shell, "comparing " + bundle.name + " on ", said.err));
    SyncPlan plan;
    plan.present = lines.back() == u"present";
    const auto find = [&](const QString &path) {
        return std::find_if(bundle.files.begin(), bundle.files.end(),
                            [&](const SyncFile &file) { return file.path == path.toStdString(); });
    };
    for (const QString &line : lines) {
        const QStringList words = line.split(u' ');
        if (words.size() == 2 && words[0] == u"missing") {
            if (const auto file = find(words[1]); file != bundle.files.end())
                plan.missing.push_back({*file, 0});
        } else if (words.size() == 4 && words[0] == u"part") {
            const auto file = find(words[3]);
            if (file == bundle.files.end())
                continue;
            const std::int64_t there = words[1].toLongLong();
            const bool same =
                there > 0 && there < file->bytes && beginningSha256(file->source, there) == words[2].toStdString();
            plan.missing.push_back({*file, same ? there : 0});
        }
    }
    return plan;
}

Result<void> checkSpace(const SyncSurvey &node, const SyncPlan &plan, const std::string &name) {
    constexpr double margin = 1e6;
    if (node.freeBytes && *node.freeBytes < plan.bytes() + margin)
        return fail(Error::badArgument("the disk of " + name + " has " + gigabytes(*node.freeBytes) + " left in " +
                                           node.home + ", and " + gigabytes(plan.bytes() + margin) + " are needed",
                                       "free some there, or set LOCKSTEP_HOME on it to a folder on another disk"));
    return {};
}

Result<void> finish(NodeShell &shell, const SyncSurvey &node, const SyncBundle &bundle) {
    std::string executables;
    for (const SyncFile &file : bundle.files)
        if (file.executable)
            executables += file.path + "\n";
    const Said said =
        shell.script(scripts::finish, {node.home, bundle.name, bundle.version()}, executables, hashingLimit);
    if (said.code == 0 && QString::fromStdString(said.out).trimmed().endsWith(u"switched"))
        return {};
    const QString wrong = QString::fromStdString(said.out).section(u'\n', 0, 0);
    if (wrong.startsWith(u"wrong "))
        return fail(Error::failed(wrong.mid(6).toStdString() + " arrived damaged on " + shell.node().name +
                                      "; the previous version stays in use",
                                  "start it again: only that file is sent"));
    return fail(interrupted(shell, "verifying " + bundle.name + " on ", said.err));
}

} // namespace

double SyncPlan::bytes() const {
    double sum = 0;
    for (const SyncPiece &piece : missing)
        sum += double(piece.file.bytes - piece.there);
    return sum;
}

Result<SyncSurvey> survey(NodeShell &shell) {
    const Said said = shell.script(scripts::survey);
    const QString text = QString::fromStdString(said.out);
    SyncSurvey out;
    out.arch = value(text, "arch");
    out.home = value(text, "home");
    if (out.arch.empty() || !out.home.starts_with('/'))
        return fail(agentError(shell.node(), said).error);
    out.glibc = value(text, "glibc");
    out.rsync = value(text, "rsync") == "yes";
    out.tar = value(text, "tar") == "yes";
    out.gpus = value(text, "gpus") == "yes";
    out.torchFolder = value(text, "torch");
    out.torchVersion = value(text, "torch_version");
    out.driver = value(text, "driver");
    for (const QString &line : text.split(u'\n'))
        if (line.startsWith(u"card=")) {
            const QStringList words = line.mid(5).split(QStringLiteral(", "));
            out.driver = words.value(0).toStdString();
            out.cards.push_back({words.value(2).toStdString(), capabilityFromText(words.value(1).toStdString())});
        }
    bool known = false;
    const double kib = QString::fromStdString(value(text, "free_kib")).toDouble(&known);
    if (known)
        out.freeBytes = kib * 1024;
    if (auto plain = checkWords(out, shell.node().name); !plain)
        return fail(plain.error());
    return out;
}

Result<void> fits(const SyncSurvey &node, const std::string &ownArch, const std::string &neededGlibc,
                  const std::string &name) {
    if (node.arch != ownArch)
        return fail(Error::badArgument(name + " is " + node.arch + ", but this machine's programs are for " + ownArch,
                                       "build Lockstep on " + name + " and set its agent: lockstepctl nodes set " +
                                           name + " --agent PATH"));
    if (!neededGlibc.empty() && compareVersions(node.glibc, neededGlibc) < 0)
        return fail(Error::badArgument(name + " has " + (node.glibc.empty() ? "no glibc" : "glibc " + node.glibc) +
                                           ", but this machine's programs need " + neededGlibc,
                                       "build Lockstep on the machine with the oldest system, and sync from there"));
    if (!node.tar)
        return fail(Error::badArgument(name + " has no tar or no sha256sum", "install tar and coreutils there"));
    return {};
}

Result<SyncReport> syncBundle(NodeShell &shell, const SyncSurvey &node, const SyncBundle &bundle,
                              const SyncListener &progressed, SyncWay way) {
    SyncProgress progress{shell.node().name, bundle.name, "comparing", 0, 0};
    const auto showStep = [&](const char *what) {
        progress.what = what;
        if (progressed)
            progressed(progress);
    };
    showStep("comparing");
    const auto plan = makePlan(shell, node, bundle);
    if (!plan)
        return fail(plan.error());
    SyncReport report;
    report.node = shell.node().name;
    report.bundle = bundle.name;
    report.version = bundle.version();
    report.folder = node.home + "/sync/" + bundle.name + "/current";
    report.files = bundle.files.size();
    report.bytes = double(bundle.bytes());
    report.movedFiles = plan->missing.size();
    if (!plan->missing.empty()) {
        if (auto enough = checkSpace(node, *plan, shell.node().name); !enough)
            return fail(enough.error());
        progress.totalBytes = plan->bytes();
        const auto moved = [&](double bytes) {
            progress.doneBytes = std::min(bytes, progress.totalBytes);
            showStep("copying");
        };
        const bool byRsync = way == SyncWay::Best && mayRsync(shell, node);
        report.by = byRsync ? "rsync" : "tar";
        const Transfer transfer{shell, node, bundle, *plan, moved};
        const auto sent = byRsync ? sendByRsync(transfer) : sendByTar(transfer);
        if (!sent)
            return fail(sent.error());
        report.movedBytes = *sent;
    }
    showStep("verifying");
    if (auto done = finish(shell, node, bundle); !done)
        return fail(done.error());
    showStep("switched");
    return report;
}

SyncJob::SyncJob(QObject *parent) : QObject(parent) {
    qRegisterMetaType<SyncProgress>();
    qRegisterMetaType<std::vector<SyncReport>>();
    qRegisterMetaType<lockstep::Error>();
}

SyncJob::~SyncJob() = default; // requests a stop and joins the thread

void SyncJob::stop() {
    m_thread.request_stop();
}

void SyncJob::start(std::vector<NodeEntry> nodes, SyncOptions options, SshAnswers answers) {
    m_thread = std::jthread([this, nodes = std::move(nodes), options = std::move(options),
                             answers = std::move(answers)](std::stop_token stop) {
        ::prctl(PR_SET_NAME, "lockstep-nodes");
        SyncEvents events;
        events.progressed = [this](const SyncProgress &progress) { Q_EMIT progressed(progress); };
        events.chosen = [this](const LineChoice &line) { Q_EMIT lineChosen(QString::fromStdString(line.reason)); };
        events.done = [this](const std::string &node, const Result<std::vector<SyncReport>> &reports) {
            const QString name = QString::fromStdString(node);
            if (reports)
                Q_EMIT nodeDone(name, *reports);
            else
                Q_EMIT nodeFailed(name, reports.error());
        };
        syncNodes(nodes, options, answers, events, stop);
        Q_EMIT finished();
    });
}

} // namespace lockstep::core

#include "moc_sync.cpp"

// SPDX-License-Identifier: MIT
#pragma once
// The table of alerts: what each kind means and what a person does about it. docs/alerts.md shows it to users.
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "ipc/frames.h"

namespace lockstep {

struct AlertKind {
    std::string_view kind;     ///< in frames
    std::string_view severity; ///< warning | error
    std::string_view from;     ///< who raises it: rank | script | agent | viewer, several joined by commas
    std::string_view when;     ///< the condition, with its threshold
    std::string_view advice;   ///< what to do: whole sentences
};

/// To add an alert: a row here, and AlertName("its_kind") where its cause is known.
inline constexpr std::array alertTable = std::to_array<AlertKind>({
    // Ranks
    {"rank_died", "error", "agent", "a rank is ended by a signal",
     "Read its last console lines. SIGKILL that nobody sent is usually the kernel's out-of-memory killer: `dmesg` says "
     "so."},
    {"rank_failed", "error", "agent", "a rank ends with an exit code other than 0",
     "Read the last console lines of the rank that failed first; the others only lost it."},
    {"start_failed", "error", "agent", "the ranks can't be started", "Fix what the alert names, and start again."},
    {"out_of_memory", "error", "rank", "memory of a rank's device, or of its machine, runs out",
     "Take a smaller batch, or compute it in parts (`--accumulate`), and go on from the checkpoint that the alert "
     "names."},
    {"restart", "warning", "agent",
     "all ranks are started again (`max_restarts`), or their command has started them again",
     "Read why in the alert. Steps after the last checkpoint are made again; what was lost counts in the run time "
     "alone."},
    {"stopped_by_kill", "warning", "agent", "a rank still runs after the time it has to stop",
     "Its newest checkpoint may be older than its last step."},
    {"rank_gone", "warning", "agent", "the connection of a rank that was started elsewhere closes before its end",
     "Wait: it may reconnect. If it doesn't, check its process."},
    {"ranks_fewer", "warning", "agent", "ranks that were started elsewhere are started again, and are fewer",
     "Nothing, if that was meant: the run has as many ranks as were started last."},
    {"rank_doubled", "warning", "agent",
     "two processes report as one rank at the same time, as two trainings do that one script starts side by side",
     "Its numbers are a mixture, and some are dropped. Start the two one after another, or each as a run of its own."},
    {"version_differs", "warning", "agent", "a rank reports with another version of Lockstep than its agent's",
     "Install one version on both sides: what one of them doesn't know is not shown."},
    {"rank_cut", "warning", "agent", "a rank sends endless data that isn't frames",
     "Use this version's package in the script. The rank is no longer shown."},
    {"straggler", "warning", "rank, agent",
     "a rank's gradients are ready later than the others', over 20 steps and more; of scripts, over 20 windows of "
     "steps and more",
     "Look at its device and its neighbours on Live. On unlike devices, `--shards measured` gives it fewer samples."},
    {"hang", "error", "agent",
     "ranks wait in a collective for five median steps, at least 10 s, or for five minutes where they may be busy",
     "Read in the console where each rank is, then stop the run."},
    {"hang_over", "warning", "agent", "the collective of a hang has ended after all", "Nothing: the ranks go on."},
    {"ranks_differ", "error", "rank", "ranks end with different parameters",
     "Don't use the result. Look for what changes parameters outside the optimizer, or for ranks with other code or "
     "data."},
    {"trains_alone", "warning", "script", "one of several processes has no process group at its first backward",
     "Call torch.distributed.init_process_group() and wrap the model, or start one process."},
    {"loads_in_thread", "warning", "script", "batches are fetched in a thread that does not train",
     "Let DataLoader's workers fetch ahead (num_workers), which is followed, or report with lockstep.Run."},
    {"gpu_lost", "error", "agent", "the driver reports a GPU as lost",
     "`dmesg` names the reason (Xid). The GPU comes back when the machine is restarted."},
    {"test_delay", "warning", "rank", "LOCKSTEP_TEST_DELAY slows a rank on purpose", "Unset it for runs that count."},
    // What training computes
    {"non_finite_loss", "warning", "rank, script, agent", "a loss is NaN or infinite",
     "Lower the learning rate, warm it up or clip gradients; the alert names the first tensor. `--on-nonfinite` "
     "decides what follows."},
    {"non_finite_metric", "warning", "agent", "a metric of a script is NaN or infinite",
     "Look at how the script computes it."},
    {"checkpoint_skipped", "warning", "rank", "a checkpoint would hold NaN or infinity",
     "Nothing is lost: the last good checkpoint is kept."},
    {"rollback", "warning", "rank", "training goes back to the last good checkpoint (`--on-nonfinite rollback`)",
     "If it happens again, lower the learning rate."},
    {"resumed_otherwise", "warning", "rank",
     "a training goes on with other settings (loader, devices, servers, …) than its earlier epochs were made with",
     "Nothing, if that was meant: times of the whole run are of both. Compare epochs that were made alike."},
    {"refused_metric", "warning", "script", "a metric has a name or value that can't be shown",
     "Fix what the alert names."},
    {"refused_time", "warning", "script", "a phase is given a time that is none", "Fix what the alert names."},
    {"refused_phase", "warning", "script", "a script names more phases than a run keeps (256, or 52 KiB of names)",
     "Give phases of all steps the same names."},
    {"refused_frame", "warning", "script", "a script sends more in one frame than its 64 KiB", "Send less in one."},
    // The log and the disk
    {"disk_low", "warning", "agent", "less than 5 % of the disk under the run's folder is free, and less than 10 GiB",
     "Free some space: a checkpoint may fail."},
    {"disk_silent", "error", "agent", "the disk under the run's folder doesn't answer",
     "Check the disk or its server. Training goes on; the log waits in memory."},
    {"disk_answers", "warning", "agent", "it answers again", "Nothing: the log is written."},
    {"log_behind", "error", "agent", "the log can't be written",
     "Free some space, or make the folder writable. Up to 64 MiB wait in memory."},
    {"log_caught_up", "warning", "agent", "it is complete again", "Nothing."},
    {"log_unsynced", "error", "agent", "the disk can't sync the log",
     "Check the disk: the newest lines are lost if the machine goes down now."},
    {"log_synced", "warning", "agent", "it is safe again", "Nothing."},
    {"log_lost", "error", "agent", "lines are dropped, since memory for them is full",
     "Free some space. The gap is shown where it is."},
    {"record_unwritten", "warning", "agent",
     "config.json can't be written again, or has no room for all names that ranks report",
     "The run is right; its record lacks what the alert names."},
    {"result_unwritten", "error", "agent", "result.json can't be written",
     "Free some space: it is tried again for ten minutes."},
    {"run_folder_removed", "error", "agent", "the run's folder is removed while it runs",
     "Nothing of this run is left to keep."},
    {"malformed_frame", "warning", "agent, viewer", "a rank sends a line that is no frame, or a log holds one",
     "Use the same version of Lockstep's package in the script as here."},
    {"frames_lost", "warning", "agent", "frames of a rank are missing",
     "Its times and steps are counted without them, and shown as incomplete."},
    {"frames_begun_anew", "warning", "agent", "a file of frames is begun anew",
     "Nothing, if the script was started again."},
    {"other_log", "error", "viewer", "a log in a run's folder begins as another run's, or as a newer Lockstep's",
     "None of it counts. Put the run's own log there, or upgrade this Lockstep."},
    {"gap", "warning", "viewer", "numbers are missing in a log", "Figures of that time are shown as incomplete."},
    {"agent_died", "error", "viewer", "the agent has ended without recording an end",
     "Start the run again. Its log is readable to the last second."},
    {"keeper_gone", "warning", "agent", "the process that ends the ranks if the agent is killed has died",
     "Nothing: another one was started."},
    {"keeper_lost", "error", "agent", "it has died, and another one can't be started",
     "Don't kill the agent now: its ranks' children would be left behind."},
    // Nodes
    {"connection_refused", "warning", "agent", "a stranger, or a process with another token, connects",
     "If it was a rank or node of yours, start it with this run's token."},
    {"node_absent", "error", "agent", "a node doesn't join in time",
     "Run `lockstepctl doctor`: it says which way is closed."},
    {"torch_differs", "error", "agent", "nodes have different lines of PyTorch",
     "Bring one to all: `lockstepctl nodes sync HOST`."},
    {"link_lost", "warning", "agent", "the link to another node's agent is lost",
     "Wait: it is tried again, and nothing is lost meanwhile. The ranks may train on."},
    {"node_gone", "error", "agent", "neither agent nor ranks of a node answer", "Check that machine."},
    {"node_alive", "warning", "agent", "only the link between the agents is lost", "Wait: it is tried again."},
    {"node_lost", "error", "agent", "a link doesn't come back before the run ends",
     "How that node's ranks ended is in its own run folder."},
    {"lease_over", "error", "agent", "a node hasn't reached the first one for too long",
     "Its ranks have been ended. Check the network."},
    {"node_refused", "error", "agent", "the first node takes another agent for this node, or has been started anew",
     "The node's ranks have been ended. Start the whole run again."},
    {"node_oversteps", "warning", "agent",
     "a node's agent reports what is not its own to report, lists more devices than a node may have, joins again "
     "otherwise than before, sends traces that nobody asked for, or asks all ranks again and again",
     "None of that counts. Use one version of Lockstep on all nodes, and look who else has the run's token."},
});

/// The kind's place in alertTable; its size: it is not there.
[[nodiscard]] constexpr std::size_t placeOfAlert(std::string_view kind) {
    std::size_t place = 0;
    while (place < alertTable.size() && alertTable[place].kind != kind)
        ++place;
    return place;
}

[[nodiscard]] constexpr const AlertKind *findAlert(std::string_view kind) {
    const std::size_t place = placeOfAlert(kind);
    return place < alertTable.size() ? &alertTable[place] : nullptr;
}

/// A kind of alert that is in the table: any other does not compile.
class AlertName {
public:
    // NOLINTNEXTLINE(google-explicit-constructor): a literal is the kind
    consteval AlertName(const char *kind) : m_place(placeOfAlert(kind)) {
        if (m_place == alertTable.size()) // a pointer is no constant to GCC with UndefinedBehaviorSanitizer
            throw "this kind of alert is not in alertTable";
    }
    [[nodiscard]] constexpr const AlertKind &row() const { return alertTable[m_place]; }

private:
    std::size_t m_place;
};

/// All ranks of a run are started again after a failure.
inline constexpr AlertName ranksRestarted = "restart";
/// Those that say that frames are missing from a log.
inline constexpr AlertName malformedFrame = "malformed_frame", framesLost = "frames_lost";
inline constexpr AlertName otherLog = "other_log";
/// A rank's loss; its agent says it of a script that says nothing itself.
inline constexpr AlertName nonFiniteLoss = "non_finite_loss";

/// `message`: one sentence.
[[nodiscard]] AlertFrame makeAlert(AlertName name, std::string message, std::optional<std::int64_t> step = {});

/// Whether it says that ranks were started again after a failure.
[[nodiscard]] bool isRestart(const AlertFrame &alert);

/// What to do about alerts of that kind; empty for a kind that a script invents.
[[nodiscard]] std::string adviceFor(std::string_view kind);

} // namespace lockstep

// SPDX-License-Identifier: MIT
#pragma once
#include <map>
#include <optional>
#include <string>

/// Orders to a fake rank in FAKE_RANK: "key" or "key=value", separated by ';'. FAKE_RANK_<R> adds to or replaces it
/// for rank R alone.
///
///   steps=N epochs=N step_ms=N     how long it trains: steps an epoch (10), epochs (--epochs, else 2), a step (10 ms)
///   phases=load:3,forward:5        a step is these parts, in ms, reported as set (wait counts as exposed too)
///   first_epoch=N                  the number of its first epoch (1)
///   start_ms=N                     waits before it connects
///   burn                           spins through its steps instead of sleeping
///   no_connect | no_hello          never connects | connects and says nothing
///   ignore_term | ignore_control   SIGTERM | a stop on the socket is not heard (ignore_term: neither)
///   leave_group                    moves into its agent's process group
///   exit=N                         exit code at the end
///   exit_at=S | crash_at=S | kill_at=S | hang_at=S   at step S: exits with `exit` (1), aborts, SIGKILLs itself, hangs
///   load_at=S | wait_at=S          at step S: stays in its load | in its collective, and says so in heartbeats
///   last_words=TEXT linger_ms=N    with exit_at: a line to stderr, then N ms till it exits, whatever it is sent
///   again                          executes itself once at its end, without another number
///   first_time                     the four above only until it is started again (TORCHELASTIC_RESTART_COUNT)
///   trace_at=S                     at step S it writes a trace of one span that begins now
///   say=TEXT | complain=TEXT       a line to stdout | to stderr before it trains
///   print=N                        N lines to stdout as fast as they go
///   flood=N                        N log frames as fast as they go
///   malformed=N | huge | gap | wrong_rank   N bad lines | a line of 80 KiB | an rseq left out | another's number
///   like_python                    frames are spelt as Python does it, with a blank after a colon
///   nan_at=S                       a loss that is not a number
///   child | stray                  starts a child that ignores SIGTERM and sleeps | in a session of its own; prints "child PID"
///   leaves_pauses_out              says that its durations are without the pauses of a run that takes turns
///   tally=FOLDER                   a file there gets the time of each frame (Wire::keepTally)
///   show_environment               prints what it was given: environment, cores, arguments
class Behaviour {
public:
    static Behaviour fromEnvironment(int rank);

    [[nodiscard]] bool has(const std::string &key) const { return m_values.contains(key); }
    [[nodiscard]] std::string text(const std::string &key) const;
    [[nodiscard]] long number(const std::string &key, long otherwise) const;
    /// Whether `key` names this step.
    [[nodiscard]] bool at(const std::string &key, long step) const { return has(key) && number(key, 0) == step; }

private:
    void read(const char *list);
    std::map<std::string, std::string> m_values;
};

// SPDX-License-Identifier: MIT
#include "trainer/agent/log/trace_merge.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "ipc/file_system.h"
#include "ipc/json_writer.h"
#include "ipc/sound_values.h"

namespace lockstep::agent {

namespace {

namespace fs = std::filesystem;
constexpr std::string_view head = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[", tail = "]}";
constexpr std::string_view tsKey = "\"ts\":", readyKey = "\"ready\":";
constexpr std::size_t mergedPieceBytes = 16 << 20;
constexpr std::ptrdiff_t longestTime = 20; ///< digits with the point: latestMonoNs in microseconds has 20
constexpr int mostTimes = 2'000'000;       ///< of a rank: the trainer's shortest event that has one takes over 40 bytes

std::string fileOf(const std::string &folder, int rank) {
    return folder + "/rank-" + std::to_string(rank) + ".json";
}

/// The events in a rank's trace: all lines but the first and the last.
Result<std::string> eventsOf(const std::string &path) {
    auto text = readTrace(path);
    if (!text)
        return text;
    const auto first = text->find('\n'), last = text->rfind("\n]}");
    if (!text->starts_with(head) || first == std::string::npos || last == std::string::npos || last <= first + 1)
        return fail(Error::failed(path + " is no trace of a rank"));
    text->resize(last);
    text->erase(0, first + 1);
    return text;
}

/// Looks whether a text is one event of a rank: an object with that rank's number as its "pid", by which it is drawn.
class EventCheck final : public nlohmann::json_sax<nlohmann::json> {
public:
    explicit EventCheck(int rank) : m_rank(rank) {}

    [[nodiscard]] bool holds(std::string_view event) {
        m_depth = 0;
        m_atPid = m_hasPid = false;
        return nlohmann::json::sax_parse(event.begin(), event.end(), this) && m_hasPid;
    }

    bool null() override { return value(false); }
    bool boolean(bool) override { return value(false); }
    bool number_integer(number_integer_t) override { return value(false); } // below zero
    bool number_unsigned(number_unsigned_t number) override { return value(std::cmp_equal(number, m_rank)); }
    bool number_float(number_float_t, const string_t &) override { return value(false); }
    bool string(string_t &) override { return value(false); }
    bool binary(binary_t &) override { return value(false); }
    bool start_object(std::size_t) override { return value(false, true) && ++m_depth; }
    bool start_array(std::size_t) override { return value(false) && ++m_depth; }
    bool end_object() override { return m_depth-- > 0; }
    bool end_array() override { return m_depth-- > 0; }
    bool key(string_t &name) override {
        m_atPid = m_depth == 1 && name == "pid";
        return true;
    }
    bool parse_error(std::size_t, const std::string &, const nlohmann::detail::exception &) override { return false; }

private:
    bool value(bool isRank, bool isObject = false) {
        if (m_depth == 0)
            return isObject;
        const bool isPid = std::exchange(m_atPid, false);
        m_hasPid = m_hasPid || isPid;
        return isRank || !isPid;
    }

    int m_rank;
    std::size_t m_depth = 0;
    bool m_atPid = false; ///< the next value is the event's "pid"
    bool m_hasPid = false;
};

std::string note(int rank, const char *name, const char *key, const std::string &text) {
    JsonWriter json;
    json.beginObject().field("ph", "M").field("name", name).field("pid", rank);
    json.key("args").beginObject().field(key, text).endObject().endObject();
    return json.take();
}

std::string clockWords(const RankTrace &rank) {
    char text[160];
    std::snprintf(text, sizeof text, "times are on node 0's clock: %.6f s were subtracted, correct to %.6f s",
                  *rank.aheadS, rank.unsureS);
    return text;
}

Error tooLarge(const std::string &folder, std::uint64_t most) {
    return Error::failed("the traces of all ranks are larger than " + std::to_string(most >> 20) +
                             " MiB together, and stay in " + folder,
                         "trace fewer steps");
}

} // namespace

/// A rank's events, piece by piece, on node 0's clock.
class TraceMerge::Events {
public:
    /// `lessUs`: is subtracted from every time, i.e. the microseconds after `"ts":` and `"ready":`. Absent: none is looked for.
    Events(std::string path, std::string text, int rank, std::optional<double> lessUs)
        : m_path(std::move(path)), m_text(std::move(text)), m_rank(rank), m_own(rank), m_lessUs(lessUs),
          m_ts(m_text.find(tsKey)), m_ready(m_text.find(readyKey)) {}

    [[nodiscard]] bool over() const { return m_from == m_text.size(); }

    [[nodiscard]] Result<std::string> piece() {
        std::string out;
        if (!m_lessUs) {
            out = m_text.substr(m_from, mergedPieceBytes);
            m_from += out.size();
        }
        while (m_lessUs && out.size() < mergedPieceBytes && !over())
            if (auto taken = takeTime(out); !taken)
                return fail(taken.error());
        if (auto own = checkLines(); !own)
            return fail(own.error());
        return out;
    }

private:
    /// Checks the lines that the pieces so far have brought to their end.
    Result<void> checkLines() {
        for (std::size_t end = m_checked; end < m_from; m_checked = end + 1) {
            end = std::min(m_text.find('\n', m_checked), m_text.size());
            if (end > m_from)
                break;
            std::string_view event(m_text.data() + m_checked, end - m_checked);
            const bool last = end == m_text.size();
            ++m_line;
            if (event.ends_with(',') == last || !m_own.holds(event.substr(0, event.size() - (last ? 0 : 1))))
                return fail(Error::failed(m_path + ", line " + std::to_string(m_line) + " is no event of rank " +
                                          std::to_string(m_rank) + " as the trainer writes it"));
        }
        return {};
    }

    /// Appends what stands before the next time, and that time.
    Result<void> takeTime(std::string &out) {
        const std::size_t key = std::min(m_ts, m_ready);
        const std::size_t number = key == std::string::npos ? m_text.size() : m_text.find(':', key) + 1;
        out.append(m_text, m_from, number - m_from);
        m_from = number;
        if (over())
            return {};
        if (++m_times > mostTimes)
            return fail(
                Error::failed(m_path + " has more than " + std::to_string(mostTimes) + " times", "trace fewer steps"));
        const char *begin = m_text.data() + number, *end = m_text.data() + m_text.size();
        double us = 0;
        const auto [rest, error] = std::from_chars(begin, std::min(end, begin + std::min(longestTime, end - begin)), us,
                                                   std::chars_format::fixed);
        const bool goesOn = rest != end && std::string_view("0123456789.eE").find(*rest) != std::string_view::npos;
        if (error != std::errc() || goesOn || !isDuration(us * 1e-6))
            return fail(
                Error::failed(m_path + " has a time that is no number of microseconds as the trainer writes it"));
        char text[64];
        const auto written = std::to_chars(text, text + sizeof text, us - *m_lessUs, std::chars_format::fixed, 3);
        out.append(text, written.ptr);
        m_from = static_cast<std::size_t>(rest - m_text.data());
        // Only the one that was used: the other may be far away, or nowhere.
        (key == m_ts ? m_ts : m_ready) = m_text.find(key == m_ts ? tsKey : readyKey, m_from);
        return {};
    }

    std::string m_path, m_text;
    int m_rank;
    EventCheck m_own;
    std::optional<double> m_lessUs;
    std::size_t m_from = 0, m_ts, m_ready; ///< `m_ts`, `m_ready`: the next ones
    std::size_t m_checked = 0;             ///< where the first line begins that is not checked yet
    int m_times = 0, m_line = 1;           ///< `m_line`: the last one that was checked; the first has no event
};

/// A merge that is going on. What it has written is removed unless it is finished.
class TraceMerge::Work {
public:
    Work(std::string folder, std::vector<RankTrace> ranks, std::map<int, bool> leftOut, Times times,
         std::uint64_t mostBytes)
        : m_folder(std::move(folder)), m_mostBytes(mostBytes), m_ranks(std::move(ranks)), m_leftOut(std::move(leftOut)),
          m_times(std::move(times)) {}
    ~Work() {
        std::error_code ignored;
        if (m_file)
            fs::remove(m_part, ignored);
    }
    Work(const Work &) = delete;
    Work &operator=(const Work &) = delete;

    struct Failure {
        Error why;
        bool ofDisk = false; ///< the traces themselves can be merged
    };
    /// Absent: a piece is done. `over()` says whether it was the last one.
    [[nodiscard]] std::optional<Failure> step() {
        if (!m_file)
            return open();
        if (m_events && !m_events->over()) {
            auto piece = m_events->piece();
            return piece ? put(*piece) : std::optional(Failure{piece.error()});
        }
        if (m_next < m_ranks.size())
            return beginRank(m_ranks[m_next++]);
        return finish();
    }
    [[nodiscard]] bool over() const { return m_over; }
    [[nodiscard]] const Merged &merged() const { return m_merged; }
    [[nodiscard]] const Times &times() const { return m_times; }
    [[nodiscard]] const std::map<int, bool> &leftOut() const { return m_leftOut; }

private:
    std::optional<Failure> open() {
        std::uint64_t bytes = 0;
        std::error_code absent;
        for (const RankTrace &rank : m_ranks)
            if (const auto size = fs::file_size(fileOf(m_folder, rank.rank), absent);
                !absent && !m_leftOut.contains(rank.rank))
                bytes += std::min<std::uint64_t>(size, largestTrace + 1); // one that is larger is reported on its own
        if (bytes > m_mostBytes + largestTrace)
            return Failure{tooLarge(m_folder, m_mostBytes)};
        auto file = realFileSystem().openAppend(m_part);
        if (!file)
            return Failure{file.error(), true};
        m_file = std::move(*file);
        if (auto emptied = m_file->truncate(0); !emptied) // a killed agent may have left it
            return Failure{emptied.error(), true};
        return put(std::string(head) + "\n");
    }

    std::optional<Failure> beginRank(const RankTrace &rank) {
        const std::string separator = m_file->size() > head.size() + 1 ? ",\n" : "";
        if (m_leftOut.contains(rank.rank)) {
            m_merged.missing += (m_merged.missing.empty() ? "rank " : ", rank ") + std::to_string(rank.rank);
            return put(separator + note(rank.rank, "process_name", "name",
                                        "rank " + std::to_string(rank.rank) + " is missing: " + rank.missing));
        }
        const std::string path = fileOf(m_folder, rank.rank);
        auto own = eventsOf(path);
        if (!own)
            return Failure{own.error()};
        m_events.emplace(path, std::move(*own), rank.rank,
                         rank.aheadS ? std::optional(*rank.aheadS * 1e6) : std::nullopt);
        return put(rank.aheadS ? separator + note(rank.rank, "process_labels", "labels", clockWords(rank)) + ",\n"
                               : separator);
    }

    /// Synced at once: one sync of everything could keep the disk for long.
    std::optional<Failure> put(const std::string &bytes) {
        if (m_file->size() + bytes.size() > m_mostBytes)
            return Failure{tooLarge(m_folder, m_mostBytes)};
        auto written = m_file->append(bytes);
        if (written && bytes.size() >= mergedPieceBytes)
            written = m_file->sync();
        return written ? std::nullopt : std::optional(Failure{written.error(), true});
    }

    std::optional<Failure> finish() {
        m_events.reset();
        if (auto failure = put("\n" + std::string(tail) + "\n"))
            return failure;
        if (auto synced = m_file->sync(); !synced)
            return Failure{synced.error(), true};
        std::error_code error;
        fs::rename(m_part, m_merged.path, error);
        if (error)
            return Failure{Error::system("can't write " + m_merged.path, error.value()), true};
        m_file.reset();
        m_over = true;
        return std::nullopt;
    }

    std::string m_folder;
    std::uint64_t m_mostBytes;
    std::vector<RankTrace> m_ranks;
    std::map<int, bool> m_leftOut;
    Times m_times;
    Merged m_merged{m_folder + "/trace.json", {}};
    std::string m_part = m_merged.path + ".part";
    std::unique_ptr<AppendFile> m_file; ///< from the first step to the last one
    std::optional<Events> m_events;     ///< of the rank before `m_next`
    std::size_t m_next = 0;
    bool m_over = false;
};

TraceMerge::TraceMerge(std::chrono::milliseconds pause, std::uint64_t mostBytes)
    : m_pause(pause), m_mostBytes(mostBytes) {}
TraceMerge::~TraceMerge() = default;

void TraceMerge::giveUp() {
    m_work.reset();
}

Result<std::string> readTrace(const std::string &path) {
    std::error_code absent;
    const auto size = fs::file_size(path, absent);
    if (!absent && size > largestTrace)
        return fail(Error::failed(path + " has " + std::to_string(size >> 20) + " MiB, more than the " +
                                      std::to_string(largestTrace >> 20) + " that a rank's trace may have",
                                  "trace fewer steps"));
    return realFileSystem().readAll(path, largestTrace);
}

TraceMerge::Outcome TraceMerge::poll(const std::string &folder, const std::vector<RankTrace> &ranks) {
    for (;;)
        if (auto outcome = step(folder, ranks))
            return *outcome;
}

std::optional<TraceMerge::Outcome> TraceMerge::step(const std::string &folder, const std::vector<RankTrace> &ranks) {
    if (!m_work && !begin(folder, ranks))
        return Outcome(std::nullopt);
    if (auto failure = m_work->step()) {
        const bool reported = m_work->times() == m_refused;
        m_refused = m_work->times();
        m_tryAgain.reset();
        if (failure->ofDisk)
            m_tryAgain = std::chrono::steady_clock::now() + m_pause;
        m_work.reset();
        return reported && failure->ofDisk ? Outcome(std::nullopt) : Outcome(fail(failure->why));
    }
    if (!m_work->over())
        return std::nullopt;
    m_refused.clear();
    m_leftOut = m_work->leftOut();
    m_merged = m_work->times();
    Outcome merged(m_work->merged());
    m_work.reset();
    return merged;
}

/// Whether there is anything to merge.
bool TraceMerge::begin(const std::string &folder, const std::vector<RankTrace> &ranks) {
    std::error_code absent;
    const bool none = !fs::exists(folder + "/trace.json", absent);
    std::map<int, bool> leftOut;
    bool any = false, late = false;
    Times times;
    for (const RankTrace &rank : ranks) {
        const auto written = fs::last_write_time(fileOf(folder, rank.rank), absent);
        const auto known = m_merged.find(rank.rank);
        // Another time, not a later one: the clock may have been set back.
        const bool isNew = !absent && (none || known == m_merged.end() || known->second != written);
        if (!absent)
            times[rank.rank] = written;
        any = any || isNew;
        late = late || (isNew && m_leftOut.contains(rank.rank));
        if (!isNew)
            leftOut[rank.rank] = true;
    }
    if (late) // traces that were missing have come; the other ranks keep those of the last merge
        std::erase_if(leftOut, [&](const auto &one) { return !m_leftOut.contains(one.first); });
    for (const RankTrace &rank : ranks)
        if (!any || (leftOut.contains(rank.rank) && rank.missing.empty()))
            return false;
    if (times == m_refused && (!m_tryAgain || std::chrono::steady_clock::now() < *m_tryAgain))
        return false;
    m_work = std::make_unique<Work>(folder, ranks, std::move(leftOut), std::move(times), m_mostBytes);
    return true;
}

} // namespace lockstep::agent

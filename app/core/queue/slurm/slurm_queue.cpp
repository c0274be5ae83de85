// SPDX-License-Identifier: MIT
#include "queue/slurm/slurm_queue.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <sstream>
#include <utility>

#include <QProcess>
#include <QProcessEnvironment>
#include <QRandomGenerator>

#include "base/command_request.h"
#include "ipc/json_writer.h"
#include "ipc/thousands.h"

namespace lockstep::core {
namespace {

constexpr int answerLimitMs = 20'000;
constexpr std::size_t fields = 10;

std::optional<long long> numberIn(std::string_view text) {
    long long number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

bool isJobNumber(std::string_view text) {
    return numberIn(text).value_or(0) > 0;
}

/// A longer one is cut: it goes into the experiment's document.
std::string cut(std::string_view text) {
    constexpr std::size_t longest = 200;
    return std::string(text.substr(0, utf8Boundary(text, longest)));
}

/// Maps Slurm's words for "none" to an empty text.
std::string known(std::string_view text) {
    return text == "N/A" || text == "n/a" || text == "None" || text == "(null)" ? std::string() : cut(text);
}

/// The words of a line in squeueFormat().
using SqueueLine = std::array<std::string_view, fields>;

std::optional<SqueueLine> wordsOfLine(std::string_view line) {
    SqueueLine words;
    for (std::string_view &word : std::span(words).first<fields - 1>()) {
        const auto bar = line.find('|');
        if (bar == std::string_view::npos)
            return std::nullopt;
        word = line.substr(0, bar);
        line.remove_prefix(bar + 1);
    }
    words.back() = line; // the reason may contain anything
    return words;
}

/// Whether the job with that id, of that array, is what a user means by `asked`: one job or a whole array.
bool isAskedFor(std::string_view id, std::string_view array, std::string_view asked) {
    return array == asked || id == asked;
}

std::optional<SlurmJob> jobFromWords(const SqueueLine &words) {
    SlurmJob job;
    job.id = cut(words[0]);
    job.rawId = cut(words[1]);
    job.array = cut(words[2]);
    if (const auto task = numberIn(words[3]); task && job.id != job.rawId) {
        if (*task < 0 || !std::in_range<int>(*task))
            return std::nullopt; // cut to fit, it would be another task
        job.task = int(*task);
    }
    job.state = cut(words[4]);
    job.node = known(words[5]);
    job.start = known(words[6]);
    job.priority = numberIn(words[7]);
    job.partition = cut(words[8]);
    job.reason = known(words.back());
    if (!isJobNumber(job.rawId))
        return std::nullopt;
    return job;
}

/// Why a program of Slurm's gave no answer.
struct Unanswered {
    enum class Why { NotStarted, Silent, Refused };
    Why why;
    Error error;
};
using Answer = tl::expected<QByteArray, Unanswered>;

Answer unanswered(Unanswered::Why why, Error error) {
    return tl::unexpected(Unanswered{why, std::move(error)});
}

/// The variables that say to sbatch who pays, and where, how long and with how much memory: the only ones of a person's
/// that count, and only where the script says nothing about it. sbatch would let each of them override the script.
struct Preference {
    const char *variable;
    std::vector<std::string_view> options; ///< of the script that decide the same
};
const std::vector<Preference> &preferences() {
    // They exclude each other.
    static const std::vector<std::string_view> memory = {"--mem", "--mem-per-cpu", "--mem-per-gpu"};
    static const std::vector<Preference> all = {{"SBATCH_ACCOUNT", {"-A", "--account"}},
                                                {"SBATCH_CLUSTERS", {"-M", "--clusters"}},
                                                {"SBATCH_CONSTRAINT", {"-C", "--constraint"}},
                                                {"SBATCH_EXCLUSIVE", {"--exclusive"}},
                                                {"SBATCH_MEM_PER_CPU", memory},
                                                {"SBATCH_MEM_PER_GPU", memory},
                                                {"SBATCH_MEM_PER_NODE", memory},
                                                {"SBATCH_PARTITION", {"-p", "--partition"}},
                                                {"SBATCH_QOS", {"-q", "--qos"}},
                                                {"SBATCH_RESERVATION", {"--reservation"}},
                                                {"SBATCH_TIMELIMIT", {"-t", "--time"}},
                                                {"SBATCH_WCKEY", {"--wckey"}}};
    return all;
}

/// Whether a word of an #SBATCH line gives the option, which sbatch lets a person shorten.
bool gives(std::string_view word, std::string_view option) {
    const std::string_view name = word.substr(0, word.find('='));
    if (option.starts_with("--"))
        return name.size() > 2 && option.starts_with(name);
    return word.starts_with(option);
}

bool scriptGives(const std::string &script, const std::vector<std::string_view> &options) {
    std::istringstream lines(script);
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with("#SBATCH"))
            continue;
        std::istringstream words(line);
        for (std::string word; words >> word;)
            if (std::ranges::any_of(options, [&](std::string_view option) { return gives(word, option); }))
                return true;
    }
    return false;
}

/// What Slurm's programs get: a person's own filters would leave jobs out, cancel others, or change what is submitted.
QProcessEnvironment environmentFor(const std::string &script) {
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    std::set<QString> kept;
    for (const Preference &one : preferences())
        if (!scriptGives(script, one.options))
            kept.insert(QString::fromLatin1(one.variable));
    for (const QString &name : environment.keys()) {
        const bool ofSbatch = name.startsWith(QStringLiteral("SBATCH_"));
        if ((ofSbatch && !kept.contains(name)) || name.startsWith(QStringLiteral("SQUEUE_")) ||
            name.startsWith(QStringLiteral("SCANCEL_")))
            environment.remove(name);
    }
    return environment;
}

/// With these words each of Slurm's programs ends where neither slurm.conf nor DNS names the cluster's controller.
constexpr const char *noConfiguration = "Could not establish a configuration source";

/// Runs one of Slurm's programs. `input` is the script, of sbatch. Returns what it printed; a refusal carries its stderr.
Answer ask(const char *program, const QStringList &words, const std::string &input = {}) {
    using enum Unanswered::Why;
    QProcess process;
    boundOutput(process, mostAnswerBytes);
    process.setProcessEnvironment(environmentFor(input));
    process.start(QString::fromLatin1(program), words);
    if (!process.waitForStarted(answerLimitMs))
        return unanswered(NotStarted, Error::badArgument(std::string(program) + " can't be started: " +
                                                             process.errorString().toStdString(),
                                                         "run this where Slurm's programs are, or load their module"));
    process.write(QByteArray::fromStdString(input));
    process.closeWriteChannel();
    if (!process.waitForFinished(answerLimitMs)) {
        process.kill();
        process.waitForFinished(1000);
        return unanswered(
            Silent, Error::failed(std::string(program) + " did not answer within 20 s", "ask Slurm: scontrol ping"));
    }
    if (process.exitStatus() != QProcess::NormalExit || process.exitCode() != 0) {
        const std::string said = QString::fromUtf8(endOfStderr(process)).simplified().toStdString();
        if (said.find(noConfiguration) != std::string::npos)
            return unanswered(NotStarted, Error::badArgument("Slurm is not configured here: " + std::string(program) +
                                                                 " finds no configuration",
                                                             "run this on a machine of the cluster"));
        const std::string begin = std::string(program) + ": ";
        return unanswered(Refused,
                          Error::failed(said.starts_with(begin) ? said : begin + (said.empty() ? "failed" : said)));
    }
    return process.readAllStandardOutput();
}

std::string_view textOfAnswer(const Answer &answer) {
    return {answer->constData(), std::size_t(answer->size())};
}

/// squeue's option for this user's jobs only: others may give theirs any name and comment, and make any number of them.
QString ownJobs() {
    return QStringLiteral("--user=") + QString::number(::getuid());
}

/// Takes the first line off the text.
std::string_view nextLine(std::string_view &text) {
    const auto end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    return line;
}

/// What decides which of a partition's waiting jobs comes first.
struct QueueRank {
    long long priority = 0, array = 0, task = 0;
    [[nodiscard]] bool before(const QueueRank &other) const {
        return priority != other.priority ? priority > other.priority
                                          : std::pair(array, task) < std::pair(other.array, other.task);
    }
};

QueueRank rankOf(const SlurmJob &job) {
    return {job.priority.value_or(0), numberIn(job.array).value_or(0), job.task.value_or(0)};
}

/// Of a line of waitingFormat(): the rank and the partition.
std::optional<std::pair<QueueRank, std::string_view>> rankFromLine(std::string_view line) {
    std::array<long long, 3> numbers{};
    for (long long &number : numbers) {
        const auto bar = line.find('|');
        if (bar == std::string_view::npos)
            return std::nullopt;
        number = numberIn(line.substr(0, bar)).value_or(0); // a job that is no array has no task
        line.remove_prefix(bar + 1);
    }
    return std::pair(QueueRank{numbers[0], numbers[1], numbers[2]}, line);
}

} // namespace

std::string squeueFormat() {
    return "%i|%A|%F|%K|%T|%B|%S|%Q|%P|%r";
}

std::string waitingFormat() {
    return "%Q|%F|%K|%P";
}

std::string SlurmJobs::leftOut() const {
    return more ? "squeue shows more than " + thousands(std::int64_t(mostSlurmJobs)) +
                      " jobs of yours: only the first " + thousands(std::int64_t(mostSlurmJobs)) + " are looked at"
                : std::string();
}

SlurmJobs jobsFromSqueue(std::string_view text, std::string_view array) {
    SlurmJobs out;
    while (!text.empty() && !out.more) {
        const auto words = wordsOfLine(nextLine(text));
        if (!words || (!array.empty() && !isAskedFor((*words)[0], (*words)[2], array)))
            continue;
        auto job = jobFromWords(*words);
        if (job && out.jobs.size() < mostSlurmJobs)
            out.jobs.push_back(std::move(*job));
        else
            out.more = job.has_value();
    }
    return out;
}

void numberPlaces(std::vector<SlurmJob> &jobs, std::string_view waiting) {
    std::map<std::string, std::vector<SlurmJob *>, std::less<>> numbered;
    for (SlurmJob &job : jobs)
        if (job.waits()) {
            numbered[job.partition].push_back(&job);
            job.place = 0;
        }
    for (auto &[partition, list] : numbered)
        std::ranges::stable_sort(list,
                                 [](const SlurmJob *a, const SlurmJob *b) { return rankOf(*a).before(rankOf(*b)); });
    while (!waiting.empty()) {
        const auto other = rankFromLine(nextLine(waiting));
        const auto list = other ? numbered.find(other->second) : numbered.end();
        if (list == numbered.end())
            continue;
        const auto next = std::ranges::upper_bound(
            list->second, other->first, [](const QueueRank &a, const QueueRank &b) { return a.before(b); },
            [](const SlurmJob *job) { return rankOf(*job); });
        if (next != list->second.end())
            ++*(*next)->place; // so far: those between the numbered job before it and itself
    }
    for (auto &[partition, list] : numbered) {
        int before = 0;
        for (SlurmJob *job : list)
            job->place = (before += *job->place) + 1;
    }
}

std::string reasonInWords(std::string_view reason) {
    static const std::map<std::string_view, const char *> words = {
        {"Resources", "it waits for free nodes"},
        {"Priority", "jobs of higher priority come first"},
        {"PartitionConfig", "the partition never has that many nodes, or not for that long: request less"},
        {"PartitionNodeLimit", "the partition allows fewer nodes or a shorter time: request less"},
        {"PartitionTimeLimit", "its time is longer than the partition allows: request less"},
        {"PartitionDown", "the partition is down"},
        {"ReqNodeNotAvail", "a node that it needs is down or reserved"},
        {"BeginTime", "it has a later begin time, or was requeued"},
        {"Dependency", "it waits for another job"},
        {"JobHeldUser", "it is held: scontrol release frees it"},
        {"JobHeldAdmin", "an administrator holds it"},
        {"JobArrayTaskLimit", "the array's limit of tasks at a time is reached"},
        {"QOSMaxCpuPerUserLimit", "your limit of cores is reached"},
        {"AssocGrpCpuLimit", "your account's limit of cores is reached"},
    };
    const auto found = words.find(reason.substr(0, reason.find(',')));
    return found == words.end() ? std::string() : found->second;
}

Result<SlurmJobs> slurmJobs(std::string_view array) {
    auto answer = ask("squeue", {QStringLiteral("-h"), QStringLiteral("-r"), ownJobs(), QStringLiteral("-o"),
                                 QString::fromStdString(squeueFormat())});
    if (!answer)
        return fail(answer.error().error);
    SlurmJobs out = jobsFromSqueue(textOfAnswer(answer), array);
    if (std::ranges::none_of(out.jobs, &SlurmJob::waits))
        return out;
    answer->clear(); // the next one may be as long
    const auto waiting = ask("squeue", {QStringLiteral("-h"), QStringLiteral("-r"), QStringLiteral("--states=PENDING"),
                                        QStringLiteral("-o"), QString::fromStdString(waitingFormat())});
    if (waiting) // else the places are unknown
        numberPlaces(out.jobs, textOfAnswer(waiting));
    return out;
}

std::vector<SlurmJob> jobsOf(const std::vector<SlurmJob> &jobs, std::string_view array) {
    std::vector<SlurmJob> out;
    std::copy_if(jobs.begin(), jobs.end(), std::back_inserter(out),
                 [&](const SlurmJob &job) { return isAskedFor(job.id, job.array, array); });
    return out;
}

namespace {

/// The numbers of this user's jobs with that --comment.
Result<std::set<std::string>> jobsMarked(const std::string &mark) {
    // squeue prints the newlines of a comment, and what follows one looks like another job's line. The lines of jobs are known by a number
    // at both ends that nobody could know before.
    const QString edge = QString::number(QRandomGenerator::system()->generate64());
    const auto answer =
        ask("squeue", {QStringLiteral("-h"), ownJobs(), QStringLiteral("-o"), edge + QStringLiteral(" %F %k ") + edge});
    if (!answer)
        return fail(answer.error().error);
    const std::string begin = edge.toStdString() + " ", end = " " + mark + " " + edge.toStdString();
    std::set<std::string> out;
    for (std::string_view text = textOfAnswer(answer); !text.empty();) {
        std::string_view line = nextLine(text);
        if (!line.starts_with(begin) || !line.ends_with(end) || line.size() < begin.size() + end.size())
            continue;
        line = line.substr(begin.size(), line.size() - begin.size() - end.size());
        if (isJobNumber(line))
            out.emplace(line);
    }
    return out;
}

} // namespace

Result<std::string> slurmJobMarked(const std::string &mark) {
    const auto jobs = jobsMarked(mark);
    if (!jobs)
        return fail(jobs.error());
    if (jobs->size() > 1)
        return fail(Error::failed("several of your jobs have the comment " + mark + ": " + *jobs->begin() + ", " +
                                      *std::next(jobs->begin()) + (jobs->size() > 2 ? ", …" : ""),
                                  "end all but one of them with scancel"));
    return jobs->empty() ? std::string() : *jobs->begin();
}

Result<bool> isSlurmJobMarked(const std::string &job, const std::string &mark) {
    const auto jobs = jobsMarked(mark);
    if (!jobs)
        return fail(jobs.error());
    return jobs->contains(job);
}

namespace {

/// Of a job that sbatch reports with its cluster's name: squeue and scancel, as they are asked here, may not know it.
Submitted onlyHere(const std::string &job, const std::string &cluster, const std::string &mark) {
    Submitted out;
    if (isSlurmJobMarked(job, mark).value_or(false)) {
        out.job = job;
        return out;
    }
    const auto cancelled =
        ask("scancel", {QStringLiteral("-M"), QString::fromStdString(cluster), QString::fromStdString(job)});
    out.error = Error::badArgument("Slurm gave it to its cluster " + cluster + " as job " + job +
                                       (cancelled ? ", which was cancelled" : "") +
                                       ": only jobs of this cluster can be followed",
                                   std::string(cancelled ? "" : "cancel it: scancel -M " + cluster + " " + job + "; ") +
                                       "submit it on that cluster, or without --clusters and SBATCH_CLUSTERS");
    return out;
}

} // namespace

Submitted submitToSlurm(const std::string &script, const std::string &log, const std::string &mark) {
    const Answer answer =
        ask("sbatch", {QStringLiteral("--parsable"), QStringLiteral("--output"), QString::fromStdString(log)}, script);
    Submitted out;
    if (answer) {
        std::string_view said = textOfAnswer(answer);
        const std::string line(nextLine(said));
        out.job = line.substr(0, line.find(';'));
        if (isJobNumber(out.job))
            return line == out.job ? out : onlyHere(out.job, line.substr(out.job.size() + 1), mark);
        out.error = Error::failed("sbatch answered \"" + out.job.substr(0, 80) + "\" instead of a job's number");
    } else {
        out.error = answer.error().error;
    }
    out.job.clear();
    if (!answer && answer.error().why == Unanswered::Why::NotStarted)
        return out;
    const Result<std::string> taken = slurmJobMarked(mark); // a busy controller may take a job and answer too late
    if (taken)
        out.job = *taken;
    const bool silent = !answer && answer.error().why == Unanswered::Why::Silent;
    out.unknown = !taken || (taken->empty() && silent);
    return out;
}

Result<void> cancelSlurmJob(const std::string &job) {
    const auto answer = ask("scancel", {QString::fromStdString(job)});
    return answer ? Result<void>() : fail(answer.error().error);
}

} // namespace lockstep::core

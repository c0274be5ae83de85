// SPDX-License-Identifier: MIT
#include "trainer/lab/lab_options.h"

#include <algorithm>
#include <charconv>
#include <map>

#include <CLI/CLI.hpp>

namespace lockstep::trainer {

namespace {

constexpr std::int64_t kib = 1024, mib = 1024 * kib, largest = 1024 * mib;

/// Fields that mean the same as in a training run.
constexpr const char *sharedFields[] = {"device",    "devices",    "cores_per_device", "threads",    "backend",
                                        "interface", "scheduling", "oversubscribe",    "init_method"};

/// Sizes grow ×4 up to 16 KiB, then ×2, plus three between them at the size of gradients: there the time leaves a straight line,
/// because messages outgrow one cache after the other. The three are not powers of two, as gradients are not: buffers of such
/// sizes evict each other from the caches.
std::vector<std::int64_t> defaultSizes() {
    std::vector<std::int64_t> sizes;
    for (std::int64_t bytes = 4; bytes < 16 * kib; bytes *= 4)
        sizes.push_back(bytes);
    for (std::int64_t bytes = 16 * kib; bytes <= 64 * mib; bytes *= 2) {
        sizes.push_back(bytes);
        for (const double part : {1.19, 1.41, 1.68})
            if (bytes >= 64 * kib && bytes < 16 * mib)
                sizes.push_back(static_cast<std::int64_t>(part * static_cast<double>(bytes)) / 4 * 4);
    }
    return sizes;
}

/// Sizes from 64 KiB to 16 MiB that are kept out of fits: each power of two plus a quarter.
std::vector<std::int64_t> defaultHeldOut() {
    std::vector<std::int64_t> sizes;
    for (std::int64_t bytes = 80 * kib; bytes < 16 * mib; bytes *= 2)
        sizes.push_back(bytes);
    return sizes;
}

std::vector<std::string> words(const std::string &list) {
    std::vector<std::string> out;
    for (std::size_t from = 0; from <= list.size();) {
        const auto comma = std::min(list.find(',', from), list.size());
        if (comma > from)
            out.push_back(list.substr(from, comma - from));
        from = comma + 1;
    }
    return out;
}

Result<std::vector<std::int64_t>> readSizes(const std::string &list, const char *flag) {
    std::vector<std::int64_t> sizes;
    for (const std::string &word : words(list)) {
        std::int64_t bytes = 0;
        const auto read = std::from_chars(word.data(), word.data() + word.size(), bytes);
        if (read.ec != std::errc() || read.ptr != word.data() + word.size() || bytes < 4 || bytes > largest)
            return fail(Error::badArgument("\"" + word.substr(0, 40) + "\" is not a size in bytes from 4 to " +
                                               std::to_string(largest),
                                           "write whole numbers with commas, e.g. 4,1024,1048576", flag));
        sizes.push_back(bytes);
    }
    std::sort(sizes.begin(), sizes.end());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    return sizes;
}

Result<void> checkNames(const std::vector<std::string> &names) {
    const auto &known = collectiveNames();
    for (const std::string &name : names)
        if (std::find(known.begin(), known.end(), name) == known.end()) {
            std::string all;
            for (const std::string &one : known)
                all += (all.empty() ? "" : ", ") + one;
            return fail(Error::badArgument("\"" + name.substr(0, 40) + "\" is no collective of the lab",
                                           "choose among " + all, "--collectives"));
        }
    return {};
}

} // namespace

const std::vector<std::string> &collectiveNames() {
    static const std::vector<std::string> names = {
        "send_recv",  "all_reduce", "ring_all_reduce",       "server_all_reduce",   "reduce_scatter",
        "all_gather", "broadcast",  "all_reduce_after_work", "send_recv_after_work"};
    return names;
}

tl::expected<LabOptions, std::vector<Error>> readLabOptions(const std::vector<std::string> &arguments) {
    LabOptions options;
    options.config.method = Method::Ddp; // one rank per device
    options.config.batchPerDevice = 1;   // nothing is trained, so no batch is split
    CLI::App app("Measures how fast the ranks of this launch talk to each other: start it as any rank, e.g.\n"
                 "lockstep-agent run --nproc-per-node 2 -- lockstep-trainer lab",
                 "lockstep-trainer lab");
    std::map<const FieldSpec *, std::string> given;
    std::map<const FieldSpec *, CLI::Option *> fields;
    for (const char *key : sharedFields) {
        const FieldSpec *field = findField(key);
        fields[field] = app.add_option(flagOf(*field), given[field], std::string(field->help));
        if (field->type == FieldType::Switch)
            fields[field]->expected(0, 1);
    }
    std::string sizes, heldOut, collectives;
    auto *sizesOption = app.add_option("--sizes", sizes, "Bytes, with commas; left out: 4 to 64 MiB");
    auto *heldOption =
        app.add_option("--held-out", heldOut, "Sizes in bytes that are measured to check a fit, but not used for it");
    app.add_option("--collectives", collectives, "Collectives to measure, with commas; left out: all");
    app.add_option("--sweeps", options.sweeps,
                   "Sweeps over all sizes; from 6 on, up to twice as many until the medians have settled")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    double blockMs = options.blockS * 1e3;
    app.add_option("--block-ms", blockMs, "Milliseconds a block of repetitions should take")
        ->check(CLI::Range(0.1, 1000.0))
        ->capture_default_str();
    app.add_option("--most-s", options.mostS,
                   "Skip sizes for which one operation takes longer than this many seconds; 0: none")
        ->check(CLI::Range(0.0, 3600.0))
        ->capture_default_str();
    app.add_option("--limit-s", options.limitS,
                   "Begin no sweep after this many seconds, but make at least three; 0: no limit")
        ->check(CLI::Range(0.0, 86400.0))
        ->capture_default_str();
    app.add_flag("--progress", options.progress, "Report the progress on stdout even if rows go there too");
    app.add_option("--out", options.out, "Where rank 0 writes the rows, one JSON object per line; - is stdout")
        ->capture_default_str();
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend()); // CLI11 reads them from the back
    try {
        app.parse(reversed);
    } catch (const CLI::CallForHelp &) {
        options.text = app.help();
        return options;
    } catch (const CLI::ParseError &error) {
        return tl::unexpected(std::vector{Error::badArgument(error.what(), "see lockstep-trainer lab --help")});
    }
    options.blockS = blockMs / 1e3;
    std::vector<Error> mistakes;
    for (const auto &[field, option] : fields) {
        if (option->count() == 0)
            continue;
        const bool bare = field->type == FieldType::Switch && given[field].empty();
        if (auto set = field->set(options.config, bare ? "true" : given[field]); !set) {
            set.error().where = flagOf(*field);
            mistakes.push_back(set.error());
        }
    }
    options.sizes = defaultSizes();
    options.heldOut = sizesOption->count() > 0 ? std::vector<std::int64_t>() : defaultHeldOut();
    for (const auto &[option, text, flag, target] :
         {std::tuple(sizesOption, &sizes, "--sizes", &options.sizes),
          std::tuple(heldOption, &heldOut, "--held-out", &options.heldOut)}) {
        if (option->count() == 0)
            continue;
        if (auto read = readSizes(*text, flag))
            *target = *read;
        else
            mistakes.push_back(read.error());
    }
    if (options.sizes.empty())
        mistakes.push_back(Error::badArgument("no size is left to measure", "name one in bytes", "--sizes"));
    options.collectives = collectives.empty() ? collectiveNames() : words(collectives);
    if (auto known = checkNames(options.collectives); !known)
        mistakes.push_back(known.error());
    if (!mistakes.empty())
        return tl::unexpected(mistakes);
    return options;
}

} // namespace lockstep::trainer

// SPDX-License-Identifier: MIT
#include "trainer/engine/ranks_alike.h"

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>
#include <vector>

#include "ipc/file_system.h"
#include "ipc/model_facts.h"
#include "ipc/sha256.h"
#include "trainer/engine/rank_session.h"
#include "trainer/engine/start_files.h"
#include "trainer/models/bert_folder.h"

namespace lockstep::trainer {

namespace {

using RankFacts = std::map<std::string, std::string>; ///< a setting's flag → its value; a file's name → its sha256

constexpr char factsEnd = '\0'; // in no argument and no file's name

std::string factsText(const RankFacts &facts) {
    std::string text;
    for (const auto &[name, value] : facts)
        text += name + factsEnd + value + factsEnd;
    return text;
}

RankFacts factsFrom(const std::string &text) {
    RankFacts facts;
    std::istringstream words(text);
    std::string name, value;
    while (std::getline(words, name, factsEnd) && std::getline(words, value, factsEnd))
        facts[name] = value;
    return facts;
}

std::string valueOrNone(const std::string &value) {
    return value.empty() ? std::string("not given") : value;
}

struct FactsDifference {
    std::string name, first, other; ///< the values; empty: absent
};

std::optional<FactsDifference> differenceOf(const RankFacts &first, const RankFacts &other) {
    const auto valueIn = [](const RankFacts &facts, const std::string &name) {
        const auto found = facts.find(name);
        return found == facts.end() ? std::string() : found->second;
    };
    for (const RankFacts *names : {&first, &other})
        for (const auto &[name, ignored] : *names)
            if (const std::string a = valueIn(first, name), b = valueIn(other, name); a != b)
                return FactsDifference{name, a, b};
    return std::nullopt;
}

/// The first rank whose text is not rank 0's; 0: there is none.
std::size_t firstOtherRank(const std::vector<std::string> &all) {
    const auto other = std::ranges::find_if(all, [&](const std::string &one) { return one != all.front(); });
    return other == all.end() ? 0 : static_cast<std::size_t>(other - all.begin());
}

/// All ranks decide it alike, from what they have exchanged.
Result<void> refuseTogether(Session &session, Error why) {
    session.communicator->part();
    return fail(std::move(why));
}

/// Whether a setting must have one value on all ranks: those that change what is trained, its length and its start; the test
/// samples, since ranks share them out. Where files lie may differ.
bool isSharedSetting(const FieldSpec &field) {
    return (field.fixedOnResume && field.key != "bert_dir") || field.effect == FieldEffect::Length ||
           field.effect == FieldEffect::Start || field.key == "test_samples";
}

RankFacts sharedSettings(const RunConfig &config) {
    RankFacts settings;
    for (const FieldSpec &field : runConfigFields())
        if (isSharedSetting(field))
            settings[flagOf(field)] = field.get(config);
    if (isModelFile(config.model)) // its content is compared
        settings[flagOf(*findField("model"))] = "a file";
    settings[flagOf(*findField("checkpoint_dir"))] = config.checkpointDir.empty() ? "" : "a folder";
    return settings;
}

Result<void> compareSettings(Session &session) {
    const auto all = session.communicator->exchange("settings", factsText(sharedSettings(session.config)));
    const std::size_t rank = firstOtherRank(all);
    if (rank == 0)
        return {};
    const auto found = differenceOf(factsFrom(all.front()), factsFrom(all[rank])).value_or(FactsDifference());
    return refuseTogether(session,
                          Error::badArgument(found.name + " is " + valueOrNone(found.first) + " on rank 0 and " +
                                                 valueOrNone(found.other) + " on rank " + std::to_string(rank),
                                             "start all ranks with the same value"));
}

/// A tokenizer's files are named with their setting (tokenizerFiles()), files of data are not.
RankFacts withoutTokenizer(RankFacts files) {
    std::erase_if(files, [](const auto &file) { return file.first.find('/') != std::string::npos; });
    return files;
}

/// By the files, of texts also those of the tokenizer; where their digests differ, by the samples: files may be packed or not, and a
/// tokenizer's files may differ in what changes no token.
Result<void> compareData(Session &session) {
    RankFacts files(session.train.sha256.begin(), session.train.sha256.end());
    files.insert(session.test.sha256.begin(), session.test.sha256.end());
    for (const auto &[file, sha256] : tokenizerFiles(session.config))
        files.emplace(file, sha256);
    const auto all = session.communicator->exchange("data_files", factsText(files));
    if (firstOtherRank(all) == 0)
        return {};
    const std::size_t rank = firstOtherRank(
        session.communicator->exchange("data", contentSha256(session.train) + contentSha256(session.test)));
    if (rank == 0)
        return {};
    const RankFacts first = factsFrom(all.front()), other = factsFrom(all[rank]);
    auto found = differenceOf(withoutTokenizer(first), withoutTokenizer(other));
    const bool otherData = found.has_value();
    if (!otherData)
        found = differenceOf(first, other).value_or(FactsDifference());
    const auto shown = [](const std::string &sha256) { return sha256.empty() ? "none" : sha256.substr(0, 12) + "…"; };
    const std::string at = std::to_string(rank);
    return refuseTogether(
        session, Error::badArgument("rank " + at + (otherData ? " reads other data" : " makes other tokens") +
                                        " than rank 0: " + found->name + " has sha256 " + shown(found->first) +
                                        " on rank 0 and " + shown(found->other) + " on rank " + at,
                                    otherData ? "give all ranks the same data" : "give all ranks the same BERT folder",
                                    otherData ? "data_dir" : "bert_dir"));
}

/// A rank's own sizes, dropouts and normalisation would hold on it, whatever parameters it gets from rank 0.
Result<void> compareBertConfigs(Session &session) {
    if (isModelFile(session.config.model) || session.train.spec.sample.values != Values::Text)
        return {};
    const auto facts = bertConfigFacts(bertFolderOf(session.config.bertDir));
    if (!facts)
        return fail(facts.error());
    const auto all = session.communicator->exchange("bert_config", factsText(*facts));
    const std::size_t rank = firstOtherRank(all);
    if (rank == 0)
        return {};
    const auto found = differenceOf(factsFrom(all.front()), factsFrom(all[rank])).value_or(FactsDifference());
    return refuseTogether(session, Error::badArgument("BERT's config.json has " + found.name + " " +
                                                          valueOrNone(found.first) + " on rank 0 and " +
                                                          valueOrNone(found.other) + " on rank " + std::to_string(rank),
                                                      "give all ranks the same BERT folder", "bert_dir"));
}

/// DDP would give all ranks rank 0's parameters, whatever their own files hold.
Result<void> compareModelFiles(Session &session) {
    const std::string &file = session.config.model;
    if (!isModelFile(file))
        return {};
    std::string own;
    for (const std::string &path : {file, descriptionOf(file)}) {
        const auto bytes = realFileSystem().readAll(path, anySize);
        if (!bytes)
            return fail(bytes.error());
        own += sha256Hex(*bytes);
    }
    const std::size_t rank = firstOtherRank(session.communicator->exchange("model_file", own));
    if (rank == 0)
        return {};
    return refuseTogether(session, Error::badArgument(file + " or its description is another file on rank " +
                                                          std::to_string(rank) + " than on rank 0",
                                                      "copy both files to every node", "model"));
}

} // namespace

Result<void> checkRanksAlike(Session &session) {
    if (session.communicator->worldSize() == 1)
        return {};
    for (const auto compare : {compareSettings, compareData, compareBertConfigs, compareModelFiles})
        if (auto alike = compare(session); !alike)
            return alike;
    return {};
}

} // namespace lockstep::trainer

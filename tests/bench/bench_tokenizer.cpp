// SPDX-License-Identifier: MIT
// What BERT's tokens cost: bench_tokenizer [VOCABULARY FILE COLUMN], texts of a CSV or TSV file's column; without arguments its own.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <string>
#include <vector>

#include "ipc/file_system.h"
#include "trainer/data/delimited_text.h"
#include "trainer/data/word_piece.h"

using namespace lockstep;
using namespace lockstep::trainer;

namespace {

constexpr std::size_t maxTokens = 512;

struct Corpus {
    std::string vocabulary, name = "its own vocabulary";
    std::vector<std::string> texts;
};

/// Words of two or three syllables, of which a third are no piece of their own.
Corpus ownCorpus() {
    const char *const syllables[] = {"the", "in", "er", "on", "ing", "st", "al", "en", "com", "ver", "a", "o"};
    Corpus corpus;
    corpus.vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n.\n,\n";
    std::vector<std::string> words;
    for (const std::string one : syllables) {
        corpus.vocabulary += one + "\n##" + one + "\n";
        for (const std::string two : syllables) {
            words.insert(words.end(), {one + two, one + two + "s"});
            corpus.vocabulary += one + two + "\n";
        }
    }
    corpus.vocabulary += "##s\n";
    unsigned random = 1;
    for (int text = 0; text < 2000; ++text) {
        std::string &line = corpus.texts.emplace_back();
        for (int word = 0; word < 20; ++word) {
            random = random * 1664525 + 1013904223;
            line += words[(random >> 8) % words.size()] + (word % 7 == 6 ? ", " : " ");
        }
        line.front() -= 'a' - 'A';
        line += ".";
    }
    return corpus;
}

Result<Corpus> corpusOf(const std::string &vocabulary, const std::string &texts, const std::string &column) {
    auto read = realFileSystem().readAll(vocabulary);
    if (!read)
        return fail(read.error());
    auto columns = readColumns(texts, {column});
    if (!columns)
        return fail(columns.error());
    return Corpus{std::move(*read), vocabulary, std::move(columns->front())};
}

void encodeTexts(benchmark::State &state, const WordPiece &words, const std::vector<std::string> &texts) {
    std::vector<std::int32_t> tokens;
    std::size_t bytes = 0;
    for (const auto &text : texts)
        bytes += text.size();
    for (auto _ : state) {
        tokens.clear();
        for (const auto &text : texts)
            words.encode(text, maxTokens, tokens);
        benchmark::DoNotOptimize(tokens.data());
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(texts.size()));
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes));
    state.counters["tokens"] = static_cast<double>(tokens.size());
}

void makeTokenizer(benchmark::State &state, const Corpus &corpus) {
    for (auto _ : state)
        benchmark::DoNotOptimize(WordPiece::ofVocabulary(corpus.vocabulary, {}, corpus.name));
}

} // namespace

int main(int argc, char **argv) {
    benchmark::Initialize(&argc, argv);
    if (argc != 1 && argc != 4) {
        std::fputs("bench_tokenizer [VOCABULARY FILE COLUMN] [--benchmark_...]\n", stderr);
        return exitBadArguments;
    }
    const auto corpus = argc == 4 ? corpusOf(argv[1], argv[2], argv[3]) : ownCorpus();
    if (!corpus) {
        std::fprintf(stderr, "bench_tokenizer: %s\n", corpus.error().message().c_str());
        return exitCodeOf(corpus.error());
    }
    const auto words = WordPiece::ofVocabulary(corpus->vocabulary, {}, corpus->name);
    if (!words) {
        std::fprintf(stderr, "bench_tokenizer: %s\n", words.error().message().c_str());
        return exitCodeOf(words.error());
    }
    benchmark::RegisterBenchmark("encodeTexts", encodeTexts, *words, corpus->texts)->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark("makeTokenizer", makeTokenizer, *corpus)->Unit(benchmark::kMillisecond);
    benchmark::RunSpecifiedBenchmarks();
    return exitDone;
}

// SPDX-License-Identifier: MIT
// Files that a training reads: safetensors, IDX (packed or not), tables of texts, a vocabulary and the texts that it cuts up.
#include <torch/torch.h>

#include "tests/fuzz/target.h"
#include "trainer/data/delimited_text.h"
#include "trainer/data/idx_file.h"
#include "trainer/data/safetensors.h"
#include "trainer/data/word_piece.h"

using namespace lockstep;
using namespace lockstep::fuzz;

namespace {

void tokenize(std::string_view vocabulary, std::string_view text) {
    const auto words = trainer::WordPiece::ofVocabulary(vocabulary, {}, "vocab.txt");
    if (!words)
        return requireOneSentence(words.error());
    for (const std::int32_t token : words->encode(text, 64))
        require(token >= 0 && token < words->size());
}

void readTable(std::string_view bytes) {
    const auto columns = trainer::columnsOf(bytes, "texts.csv", {"text", "label"});
    if (!columns)
        return requireOneSentence(columns.error());
    for (std::size_t record = 0; record < columns->records(); ++record)
        for (const std::size_t column : {0, 1})
            require(columns->field(column, record).size() <= bytes.size());
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    const std::string_view bytes = textOf(data, size);
    const InputFile file(bytes);
    if (const auto tensors = trainer::readTensors(file.path()); !tensors)
        requireOneSentence(tensors.error());
    for (const int dimensions : {1, 3})
        if (const auto idx = trainer::readIdx(file.path(), dimensions); !idx)
            requireOneSentence(idx.error());
    readTable(bytes);
    tokenize(bytes.substr(0, size / 2), bytes.substr(size / 2));
    tokenize("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n##a\n##b\n", bytes);
    return 0;
}

// SPDX-License-Identifier: MIT
#include <array>
#include <chrono>
#include <fstream>
#include <map>
#include <random>
#include <span>
#include <sstream>
#include <thread>
#include <utility>

#include <doctest/doctest.h>

#include "tests/trainer/peers.h"
#include "trainer/data/piece_trie.h"
#include "trainer/data/word_piece.h"

using namespace lockstep;
using namespace lockstep::trainer;
using namespace lockstep::trainer::test;

namespace {

constexpr std::string_view smallVocabulary =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nun\n##aff\n##able\nhello\nworld\n,\n!\n[\n]\nsep\n"
    "##s\nHello\n\xe4\xb8\xad\n\xe5\x9b\xbd\nresume\nr\xc3\xa9sum\xc3\xa9\n#\n##\n"
    "a\n##a\n";

/// Tokens as the lines of smallVocabulary, with a space between them.
std::string pieces(std::string_view text, const TokenizerRules &rules = {}, std::size_t most = 64) {
    static const std::vector<std::string> lines = [] {
        std::istringstream all{std::string(smallVocabulary)};
        std::vector<std::string> found;
        for (std::string line; std::getline(all, line);)
            found.push_back(line);
        return found;
    }();
    const auto words = WordPiece::ofVocabulary(smallVocabulary, rules, "vocab.txt");
    REQUIRE(words);
    std::string joined;
    for (const std::int32_t token : words->encode(text, most))
        joined += (joined.empty() ? "" : " ") + lines.at(static_cast<std::size_t>(token));
    return joined;
}

void appendUtf8(std::string &text, char32_t point) {
    if (point < 0x80)
        text += static_cast<char>(point);
    else if (point < 0x800)
        text += static_cast<char>(0xc0 | point >> 6);
    else if (point < 0x10000)
        text += static_cast<char>(0xe0 | point >> 12);
    else
        text += static_cast<char>(0xf0 | point >> 18);
    for (int shift = point < 0x80 ? -6 : point < 0x800 ? 0 : point < 0x10000 ? 6 : 12; shift >= 0; shift -= 6)
        text += static_cast<char>(0x80 | (point >> shift & 0x3f));
}

struct Script {
    char32_t first, last;
};
/// Latin, combining marks, Greek, Cyrillic, Hebrew, Arabic, Devanagari, Telugu, Thai, Balinese, kana, Chinese, Hangul, musical
/// signs (whose marks are kept and sorted), emoji
constexpr Script scripts[] = {{0xa0, 0x24f},      {0x300, 0x36f},   {0x370, 0x3ff},     {0x400, 0x52f},
                              {0x5d0, 0x5ea},     {0x600, 0x6ff},   {0x8d4, 0x96f},     {0xc00, 0xc7f},
                              {0xe01, 0xe5b},     {0x1b00, 0x1bff}, {0x1100, 0x1200},   {0x302a, 0x30ff},
                              {0x4e00, 0x4fff},   {0xac00, 0xacff}, {0x1d15e, 0x1d1c0}, {0x1e000, 0x1e02a},
                              {0x1f300, 0x1f64f}, {0x2010, 0x2060}, {0x1e00, 0x1eff},   {0xf900, 0xfaff}};
const char *const syllables[] = {"the", "in",  "er",  "re", "on", "tion", "ing", "st", "al", "en", "ed", "ti", "or",
                                 "is",  "ver", "com", "a",  "i",  "o",    "s",   "t",  "e",  "n",  "un", "7",  "20"};

/// Some thousands of pieces: the scripts' characters and English syllables and pairs of them, each also within a word.
std::string manyPieces() {
    std::string text = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
    const auto add = [&text](const std::string &piece) { text += piece + "\n##" + piece + "\n"; };
    for (char32_t point = '!'; point <= '~'; ++point)
        add(std::string(1, static_cast<char>(point)));
    for (const auto [first, last] : scripts)
        for (char32_t point = first; point <= last; ++point) {
            std::string piece;
            appendUtf8(piece, point);
            if (point % 7 != 3) // so that some are unknown
                add(piece);
        }
    for (const std::string one : syllables)
        for (const std::string two : syllables)
            add(one + two);
    return text;
}

/// Lines of everything that may stand in a text, or should not.
class Texts {
public:
    std::string next() {
        std::string text;
        for (unsigned parts = pick(24); parts > 0; --parts)
            addPart(text);
        return text;
    }

private:
    unsigned pick(unsigned below) { return static_cast<unsigned>(m_random() % below); }

    void addPart(std::string &text) {
        static const char *const special[] = {"[SEP]", "[MASK]", "[CLS]",   "[PAD]",  "[UNK]",
                                              "[sep]", "[SEP",   "[[SEP]]", "[ SEP ]"};
        static const char *const broken[] = {
            "\x80",     "\xc3", "\xe4\xb8",         "\xf0\x9f\x98", "\xed\xa0\x80",
            "\xc0\xaf", "\xff", "\xf4\x90\x80\x80", "\xe0\x81\x81", "\xf0\x81\x81\x81"};
        static const char *const spaces[] = {" ",        "  ",           "\t",           "\n",      "\r\n",
                                             "\xc2\xa0", "\xe3\x80\x80", "\xe2\x80\xa8", "\xc2\x85"};
        switch (pick(16)) {
        case 0:
            return appendUtf8(text, static_cast<char32_t>(pick(0x80)));
        case 1:
            return appendUtf8(text, anyPoint());
        case 2:
            text += special[pick(std::size(special))];
            return;
        case 3:
            text += broken[pick(std::size(broken))];
            for (unsigned bytes = pick(4); bytes > 0; --bytes)
                text += static_cast<char>(0x80 + pick(0x80));
            return;
        case 4: // a word that may be too long
            if (pick(8) == 0)
                for (unsigned letters = 90 + pick(20), kind = pick(2); letters > 0; --letters)
                    kind == 0 ? appendUtf8(text, 'a' + pick(26)) : appendUtf8(text, 0x3b1 + pick(20));
            return;
        case 5: // marks upon marks
            for (unsigned marks = pick(5); marks > 0; --marks)
                appendUtf8(text, fromScript(scripts[std::array{1, 6, 11, 14, 15}[pick(5)]]));
            return;
        case 6:
        case 7:
        case 8: {
            const Script script = scripts[pick(std::size(scripts))];
            for (unsigned letters = 1 + pick(8); letters > 0; --letters)
                appendUtf8(text, fromScript(script));
            return;
        }
        case 9:
        case 10:
        case 11:
            text += spaces[pick(std::size(spaces))];
            return;
        default:
            for (unsigned left = 1 + pick(4); left > 0; --left) {
                const std::string syllable = syllables[pick(std::size(syllables))];
                for (const char letter : syllable)
                    text += static_cast<char>(pick(6) == 0 && letter >= 'a' ? letter - 'a' + 'A' : letter);
            }
            if (pick(2))
                text += " .,!?'-"[pick(7)];
        }
    }

    char32_t fromScript(Script script) { return script.first + pick(script.last - script.first + 1); }
    char32_t anyPoint() {
        const char32_t point = pick(3) ? pick(0x3100) : pick(0x110000 - 0x800);
        return point < 0xd800 ? point : point + 0x800;
    }

    std::mt19937 m_random{30522};
};

/// What a BERT's tokenizer may be asked for, with and without accents as lower case has them, and against it.
const std::array<TokenizerRules, 5> allRules{{{},
                                              {.lowerCase = false},
                                              {.stripAccents = false},
                                              {.lowerCase = false, .stripAccents = true},
                                              {.splitChinese = false}}};

/// "1 - 0": lower case, accents stripped, Chinese characters split, as peer.py reads it.
std::string inWords(const TokenizerRules &rules) {
    return std::string(rules.lowerCase ? "1 " : "0 ") +
           (!rules.stripAccents   ? "- "
            : *rules.stripAccents ? "1 "
                                  : "0 ") +
           (rules.splitChinese ? "1" : "0");
}

/// The words that "a", the character and "b" are, a space between two.
std::string wordsAround(const BertCharacters &characters, char32_t point) {
    std::string word = "a";
    const auto [kind, becomes] = characters.of(point);
    switch (kind) {
    case BertCharacters::Kind::Kept:
    case BertCharacters::Kind::Moved:
        appendUtf8(word, becomes);
        break;
    case BertCharacters::Kind::Dropped:
    case BertCharacters::Kind::Ending:
        break;
    case BertCharacters::Kind::Space:
        return "a b";
    case BertCharacters::Kind::Alone:
        word += ' ';
        appendUtf8(word, becomes);
        return word + " b";
    case BertCharacters::Kind::Several:
        for (const char32_t part : BertCharacters::parts(point))
            if (part != 0)
                appendUtf8(word, part);
    }
    return word + "b";
}

/// So many texts by all rules, the first of them also cut off early.
void compareTexts(std::size_t count) {
    constexpr std::size_t cutOff = 10'000;
    const std::string python = pythonWith("transformers");
    if (python.empty()) {
        MESSAGE("skipped: no Python that imports transformers");
        return;
    }
    const TempFolder folder;
    const std::string vocabulary = manyPieces();
    writeFile(folder / "vocab.txt", vocabulary);
    Texts texts;
    std::vector<std::string> lines(count);
    std::ofstream hex(folder / "texts"), tokens(folder / "tokens", std::ios::binary);
    for (auto &line : lines) {
        line = texts.next();
        hex << hexOf(line) << '\n';
    }
    std::ofstream ruleLines(folder / "rules");
    for (const TokenizerRules &rules : allRules) {
        ruleLines << inWords(rules) << '\n';
        const auto words = WordPiece::ofVocabulary(vocabulary, rules, "vocab.txt");
        REQUIRE(words);
        for (const auto &[most, count] : std::map<std::size_t, std::size_t>{{12, cutOff}, {512, count}})
            for (const auto &line : std::span(lines).first(count)) {
                const std::vector<std::int32_t> own = words->encode(line, most);
                const auto size = static_cast<std::int32_t>(own.size());
                tokens.write(reinterpret_cast<const char *>(&size), sizeof size);
                tokens.write(reinterpret_cast<const char *>(own.data()), size * std::streamsize{sizeof size});
            }
    }
    hex.close();
    ruleLines.close();
    tokens.close();
    const Ended ended = Process(python, {LOCKSTEP_SOURCE_DIR "/tests/trainer/peer.py", "words", folder.path()})
                            .wait(std::chrono::minutes(5));
    CAPTURE(ended.err);
    REQUIRE(ended.code == 0);
    CHECK(ended.out == std::to_string(allRules.size() * (cutOff + count)) + "\n");
}

} // namespace

TEST_SUITE("word_piece") {
    TEST_CASE("a word is cut into the longest pieces that there are, and is unknown as a whole if one is missing") {
        CHECK(pieces("hello unaffable worlds") == "[CLS] hello un ##aff ##able world ##s [SEP]");
        CHECK(pieces("hello unaffablex world") == "[CLS] hello [UNK] world [SEP]");
        CHECK(pieces("") == "[CLS] [SEP]");
        CHECK(pieces("\t \n") == "[CLS] [SEP]");
    }

    TEST_CASE("signs and Chinese characters are words of their own") {
        CHECK(pieces("hello,world!!") == "[CLS] hello , world ! ! [SEP]");
        CHECK(pieces("hello\xe4\xb8\xad\xe5\x9b\xbdworld") == "[CLS] hello \xe4\xb8\xad \xe5\x9b\xbd world [SEP]");
        CHECK(pieces("##s") == "[CLS] # # [UNK] [SEP]");
    }

    TEST_CASE("in lower case accents go; a cased vocabulary keeps both") {
        CHECK(pieces("HELLO R\xc3\x89SUM\xc3\x89 re\xcc\x81sume\xcc\x81") == "[CLS] hello resume resume [SEP]");
        CHECK(pieces("Hello hello r\xc3\xa9sum\xc3\xa9 re\xcc\x81sume\xcc\x81", {.lowerCase = false}) ==
              "[CLS] Hello hello r\xc3\xa9sum\xc3\xa9 [UNK] [SEP]");
    }

    TEST_CASE("accents, capitals and Chinese characters are each read as the rules say") {
        const std::string resume = "r\xc3\xa9sum\xc3\xa9", middle = "\xe4\xb8\xad", land = "\xe5\x9b\xbd";
        CHECK(pieces("Hello " + resume, {.stripAccents = false}) == "[CLS] hello " + resume + " [SEP]");
        CHECK(pieces("Hello " + resume, {.lowerCase = false, .stripAccents = true}) == "[CLS] Hello resume [SEP]");
        CHECK(pieces(middle + land + " " + middle, {.splitChinese = false}) == "[CLS] [UNK] " + middle + " [SEP]");
    }

    TEST_CASE("a tokenizer_config.json says the rules, and what other tokenizers have in it is refused by its key") {
        const auto rules = tokenizerRulesFrom(
            R"({"do_lower_case": false, "strip_accents": true, "tokenize_chinese_chars": false})", "settings");
        REQUIRE(rules);
        CHECK_FALSE(rules->lowerCase);
        CHECK(rules->stripsAccents());
        CHECK_FALSE(rules->splitChinese);
        const auto usual = tokenizerRulesFrom(
            R"({"do_lower_case": true, "strip_accents": null, "tokenize_chinese_chars": true, "never_split": null,
                "do_basic_tokenize": true, "tokenizer_class": "BertTokenizerFast", "unk_token": "[UNK]",
                "mask_token": {"content": "[MASK]", "lstrip": false}, "extra_special_tokens": {},
                "added_tokens_decoder": {"0": {"content": "[PAD]", "special": true}}, "model_max_length": 512})",
            "settings");
        REQUIRE(usual);
        CHECK(usual->lowerCase);
        CHECK(usual->stripsAccents());
        CHECK(usual->splitChinese);
        for (const auto &[text, says] :
             {std::pair(R"({"tokenizer_class": "BertJapaneseTokenizer"})",
                        "settings: its tokenizer_class is \"BertJapaneseTokenizer\", and only BertTokenizer is "
                        "supported; name another BERT folder with --bert-dir"),
              std::pair(R"({"do_basic_tokenize": false})",
                        "settings: its do_basic_tokenize is false, and only true is supported"),
              std::pair(R"({"cls_token": "<s>"})", "settings: its cls_token is \"<s>\", and only [CLS] is supported"),
              std::pair(R"({"added_tokens_decoder": {"9": {"content": "[URL]"}}})",
                        "settings: its added_tokens_decoder has \"[URL]\", and tokens beside the vocabulary's are not"),
              std::pair("{", "settings: it is not valid JSON from line 1 on")}) {
            const auto refused = tokenizerRulesFrom(text, "settings");
            REQUIRE_FALSE(refused);
            CHECK(refused.error().kind == ErrorKind::BadArgument);
            CAPTURE(refused.error().message());
            CHECK(refused.error().message().starts_with(says));
        }
    }

    TEST_CASE("controls and bytes that are not UTF-8 are not there") {
        CHECK(pieces(std::string("he\0l\x07lo\xff wor\xe4\xb8ld", 16)) == "[CLS] hello world [SEP]");
        CHECK(pieces("hel\xe2\x80\x8blo\xef\xbf\xbd") == "[CLS] hello [SEP]");
    }

    TEST_CASE("a special token written in the text is that token") {
        CHECK(pieces("hello[SEP]world [MASK][PAD]") == "[CLS] hello [SEP] world [MASK] [PAD] [SEP]");
        CHECK(pieces("[sep] [SEP") == "[CLS] [ sep ] [ sep [SEP]");
    }

    TEST_CASE("a word of more than 100 characters is unknown") {
        std::string hundred = "[CLS] a";
        for (int i = 1; i < 100; ++i)
            hundred += " ##a";
        CHECK(pieces(std::string(100, 'A'), {}, 512) == hundred + " [SEP]");
        CHECK(pieces(std::string(101, 'A') + " a", {}, 512) == "[CLS] [UNK] a [SEP]");
        CHECK(pieces(std::string(100'000, 'a') + "!") == "[CLS] [UNK] ! [SEP]");
        std::string accents;
        for (int i = 0; i < 100; ++i)
            accents += "\xc3\xa4"; // ä: two bytes
        CHECK(pieces(accents, {}, 512) == hundred + " [SEP]");
    }

    TEST_CASE("a text is cut off where the tokens would be too many") {
        CHECK(pieces("hello unaffable world", {}, 5) == "[CLS] hello un ##aff [SEP]");
        CHECK(pieces("hello", {}, 3) == "[CLS] hello [SEP]");
        for (const std::size_t most : {0, 1, 2})
            CHECK(pieces("hello", {}, most) == "[CLS] [SEP]");
        std::vector<std::int32_t> tokens{99};
        const auto words = WordPiece::ofVocabulary(smallVocabulary, {}, "vocab.txt");
        words->encode("hello hello hello", 4, tokens);
        CHECK(tokens == std::vector<std::int32_t>{99, 2, 8, 8, 3});
    }

    TEST_CASE("a vocabulary's lines may end as in any system; of equal lines the last counts") {
        const auto words = WordPiece::ofVocabulary("[CLS]\r\n[SEP]\r\n[UNK]\r\n[PAD]\r\na\r\n\r\na", {}, "vocab.txt");
        REQUIRE(words);
        CHECK(words->size() == 7);
        CHECK(words->padding() == 3);
        CHECK(words->encode("a b [MASK]", 8) == std::vector<std::int32_t>{0, 6, 2, 2, 2, 2, 1});
    }

    TEST_CASE("a file that is no vocabulary is refused in one sentence") {
        const auto without = WordPiece::ofVocabulary("[PAD]\n[CLS]\n[SEP]\n", {}, "model/vocab.txt");
        REQUIRE(!without);
        CHECK(without.error().kind == ErrorKind::BadArgument);
        CHECK(without.error().message() ==
              "model/vocab.txt: none of its 3 lines is [UNK]; give the vocab.txt of a BERT model: "
              "a piece a line, among them [PAD], [UNK], [CLS] and [SEP]");
        const auto broken = WordPiece::ofVocabulary("[PAD]\n\xff\n", {}, "vocab.txt");
        REQUIRE(!broken);
        CHECK(broken.error().message() ==
              "vocab.txt: byte 6 is not UTF-8; give the vocab.txt that belongs to the model, or download it again");
        for (const char lineEnd : {'\n', '\r'}) {
            const std::string most = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n" + std::string(largestVocabulary - 4, lineEnd);
            CHECK(WordPiece::ofVocabulary(most, {}, "vocab.txt"));
            const auto endless = WordPiece::ofVocabulary(most + lineEnd, {}, "vocab.txt");
            REQUIRE(!endless);
            CHECK(
                endless.error().message().starts_with("vocab.txt: it has more than 2000000 lines; give the vocab.txt"));
        }
    }

    TEST_CASE("the time for a vocabulary grows with its size alone, and each of its words is found") {
        std::string letters;
        for (char letter = '0'; letter < '0' + 65; ++letter)
            letters += letter;
        // No two nodes with 65 children each fit into 128 units, and 63 stay free beside each.
        const auto wordOf = [&letters](std::size_t number) {
            std::string word(4, ' ');
            for (std::size_t at = 4; at-- > 0; number /= letters.size())
                word[at] = letters[number % letters.size()];
            return word;
        };
        std::vector<std::string> words(300'000);
        for (std::size_t i = 0; i < words.size(); ++i)
            words[i] = wordOf(i);
        PieceTrie::Words numbered;
        std::map<std::string_view, std::int32_t> last;
        for (const auto &word : words) {
            last[word] = static_cast<std::int32_t>(numbered.size());
            numbered.emplace_back(word, last[word]);
        }
        const auto begun = std::chrono::steady_clock::now();
        const PieceTrie trie(numbered);
        CHECK(std::chrono::steady_clock::now() - begun < std::chrono::seconds(10)); // it took half a minute
        bool all = true;
        for (const auto &[word, number] : last)
            all = all && trie.piece(trie.walk(PieceTrie::root, word)) == number;
        CHECK(all);
        for (std::size_t i = words.size(); i < 2 * words.size(); ++i)
            all = all && trie.walk(PieceTrie::root, wordOf(i)) == PieceTrie::none;
        CHECK(all);
    }

    TEST_CASE("threads that encode at once get what one gets") {
        const auto words = WordPiece::ofVocabulary(manyPieces(), {}, "vocab.txt");
        REQUIRE(words);
        Texts texts;
        std::vector<std::string> lines(2000);
        for (auto &line : lines)
            line = texts.next();
        std::vector<std::vector<std::int32_t>> tokens(4);
        std::vector<std::thread> threads;
        for (auto &own : tokens)
            threads.emplace_back([&words, &lines, &own] {
                for (const auto &line : lines)
                    words->encode(line, 64, own);
            });
        for (auto &thread : threads)
            thread.join();
        for (const auto &own : tokens)
            CHECK(own == tokens.front());
    }

    TEST_CASE("every code point becomes what BertNormalizer and BertPreTokenizer make of it") {
        const std::string python = pythonWith("transformers");
        if (python.empty()) {
            MESSAGE("skipped: no Python that imports transformers");
            return;
        }
        const TempFolder folder;
        std::ofstream out(folder / "words");
        for (const TokenizerRules &rules : allRules) {
            const BertCharacters characters(rules);
            out << inWords(rules) << '\n';
            std::string line;
            for (char32_t point = 0; point < 0x110000; ++point) {
                if (point < 0xd800 || point > 0xdfff)
                    line += (line.empty() ? "" : " ") + wordsAround(characters, point);
                if (point % 1024 == 1023 && !line.empty()) // the surrogates, which are left out, fill whole lines
                    out << hexOf(std::exchange(line, {})) << '\n';
            }
        }
        out.close();
        const Ended ended =
            Process(python, {LOCKSTEP_SOURCE_DIR "/tests/trainer/peer.py", "characters", folder / "words"})
                .wait(std::chrono::minutes(5));
        CAPTURE(ended.err);
        REQUIRE(ended.code == 0);
        CHECK(ended.out == std::to_string(allRules.size() * 1'112'064) + "\n");
    }

    TEST_CASE("20000 texts of many scripts become the tokens of BertTokenizerFast; 10000 of them are cut off where it "
              "does") {
        compareTexts(20'000);
    }
    TEST_CASE("100000 more" * doctest::skip()) { // word_piece_whole
        compareTexts(100'000);
    }
}

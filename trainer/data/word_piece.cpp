// SPDX-License-Identifier: MIT
#include "trainer/data/word_piece.h"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>

namespace lockstep::trainer {
namespace {

constexpr std::size_t longestWord = 100;                          ///< characters; a longer word is unknown
constexpr std::size_t mostBytes = 4;                              ///< of a character
constexpr std::size_t longestPiece = longestWord * mostBytes + 2; ///< bytes, with "##"; no word holds a longer one
constexpr char32_t replacement = 0xfffd;
constexpr const char *vocabularyWanted =
    "give the vocab.txt of a BERT model: a piece a line, among them [PAD], [UNK], [CLS] and [SEP]";

/// The first character of a text, and how many bytes it takes; of invalid bytes U+FFFD for each maximal subpart (Unicode 3.9),
/// as Python's decode(errors="replace") has it.
struct Decoded {
    char32_t point;
    std::size_t bytes;
};

Decoded decode(std::string_view text) {
    const auto byte = [text](std::size_t at) { return static_cast<unsigned char>(text[at]); };
    const unsigned lead = byte(0);
    if (lead < 0x80)
        return {lead, 1};
    if (lead < 0xc2 || lead > 0xf4)
        return {replacement, 1};
    const std::size_t length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    // The second byte keeps out overlong forms, surrogates and what is past U+10FFFF.
    unsigned low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    unsigned high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    char32_t point = lead & (0xffU >> (length + 1));
    for (std::size_t at = 1; at < length; ++at, low = 0x80, high = 0xbf) {
        if (at == text.size() || byte(at) < low || byte(at) > high)
            return {replacement, at};
        point = point << 6 | (byte(at) & 0x3fU);
    }
    return {point, length};
}

/// Writes a character that is no surrogate; returns its bytes.
std::size_t encodeTo(char *out, char32_t point) {
    if (point < 0x80) {
        *out = static_cast<char>(point);
        return 1;
    }
    const std::size_t length = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    for (std::size_t at = length - 1; at > 0; --at, point >>= 6)
        out[at] = static_cast<char>(0x80 | (point & 0x3f));
    out[0] = static_cast<char>((0xf0U << (4 - length)) | point);
    return length;
}

/// As Python reads lines: "\r\n" and "\r" end one too. Of more than largestVocabulary one more is given.
std::vector<std::string_view> linesOf(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty() && lines.size() <= largestVocabulary) {
        const std::size_t ends = text.find_first_of("\r\n");
        lines.push_back(text.substr(0, ends));
        if (ends == std::string_view::npos)
            break;
        text.remove_prefix(ends + (text.substr(ends, 2) == "\r\n" ? 2 : 1));
    }
    return lines;
}

PieceTrie::Words numbered(const std::vector<std::string_view> &lines) {
    PieceTrie::Words pieces;
    for (const std::string_view line : lines)
        pieces.emplace_back(line.size() <= longestPiece ? line : std::string_view(), pieces.size());
    return pieces;
}

std::optional<std::size_t> firstInvalidByte(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
        const auto [point, bytes] = decode(text.substr(at));
        if (point == replacement && bytes < 3)
            return at;
        at += bytes;
    }
    return {};
}

/// Made when first asked for, and kept: it has an entry for every code point.
const BertCharacters &charactersOf(const TokenizerRules &rules) {
    static std::mutex guard;
    static std::map<std::tuple<bool, bool, bool>, BertCharacters> made;
    const std::lock_guard lock(guard);
    return made.try_emplace({rules.lowerCase, rules.stripsAccents(), rules.splitChinese}, rules).first->second;
}

} // namespace

/// One text on its way into tokens: takes its characters one by one, and turns each word into pieces as it ends.
class WordPiece::Encoding {
public:
    Encoding(const WordPiece &words, std::size_t most, std::vector<std::int32_t> &tokens)
        : m_words(words), m_tokens(tokens), m_full(tokens.size() + most) {}

    void add(std::string_view text) {
        while (!text.empty() && m_tokens.size() < m_full) {
            if (const std::size_t plain = addPlain(text); plain > 0) {
                text.remove_prefix(plain);
                continue;
            }
            if (text.front() == '[') {
                if (const std::size_t bytes = addSpecial(text); bytes > 0) {
                    text.remove_prefix(bytes);
                    continue;
                }
            }
            const auto [point, bytes] = decode(text);
            addCharacter(point);
            text.remove_prefix(bytes);
        }
        endWord();
        m_tokens.resize(std::min(m_tokens.size(), m_full));
    }

private:
    /// The letters and digits that most texts consist of, as long as they last; returns their bytes.
    std::size_t addPlain(std::string_view text) {
        const std::size_t room = std::min(text.size(), m_word.size() - m_bytes);
        std::size_t at = 0;
        for (; at < room; ++at) {
            const char letter = m_words.m_plain[static_cast<unsigned char>(text[at])];
            if (letter == 0)
                break;
            m_word[m_bytes + at] = letter;
        }
        if (at > 0) {
            m_bytes += at;
            m_characters += at;
            m_firstMark = m_bytes;
        }
        return at;
    }

    std::size_t addSpecial(std::string_view text) {
        for (const auto &[name, token] : m_words.m_special)
            if (text.substr(0, name.size()) == name) {
                endWord();
                m_tokens.push_back(token);
                return name.size();
            }
        return 0;
    }

    void addCharacter(char32_t point) {
        const auto [kind, becomes] = m_words.m_characters->of(point);
        switch (kind) {
        case BertCharacters::Kind::Kept:
            return addLetter(becomes);
        case BertCharacters::Kind::Moved:
            return addMark(becomes);
        case BertCharacters::Kind::Dropped:
            return;
        case BertCharacters::Kind::Ending:
            m_firstMark = m_bytes;
            return;
        case BertCharacters::Kind::Space:
            return endWord();
        case BertCharacters::Kind::Alone:
            endWord();
            addLetter(becomes);
            return endWord();
        case BertCharacters::Kind::Several:
            for (const char32_t part : BertCharacters::parts(point))
                if (part != 0)
                    addCharacter(part);
            return;
        }
    }

    void addLetter(char32_t point) {
        if (++m_characters > longestWord)
            return;
        m_bytes += encodeTo(m_word.data() + m_bytes, point);
        m_firstMark = m_bytes;
    }

    /// Before the marks of a higher combining class that stand at the word's end.
    void addMark(char32_t point) {
        if (++m_characters > longestWord)
            return;
        const int own = BertCharacters::combiningClass(point);
        std::size_t place = m_firstMark;
        while (place < m_bytes) {
            const auto [mark, bytes] = decode({m_word.data() + place, m_bytes - place});
            if (BertCharacters::combiningClass(mark) > own)
                break;
            place += bytes;
        }
        std::array<char, mostBytes> encoded{};
        const std::size_t bytes = encodeTo(encoded.data(), point);
        std::copy_backward(m_word.begin() + place, m_word.begin() + m_bytes, m_word.begin() + m_bytes + bytes);
        std::copy_n(encoded.begin(), bytes, m_word.begin() + place);
        m_bytes += bytes;
    }

    void endWord() {
        if (m_characters > 0 && (m_characters > longestWord || !addPieces()))
            m_tokens.push_back(m_words.m_unknown);
        m_bytes = m_characters = m_firstMark = 0;
    }

    /// Again and again the longest piece that the rest of the word begins with; false if there is none.
    bool addPieces() {
        const std::size_t before = m_tokens.size();
        PieceTrie::Node from = PieceTrie::root;
        for (std::size_t at = 0; at < m_bytes; from = m_words.m_inside) {
            std::int32_t piece = PieceTrie::noPiece;
            std::size_t ends = at;
            for (std::size_t next = at; next < m_bytes && from != PieceTrie::none;) {
                from = m_words.m_pieces.step(from, m_word[next++]);
                if (from == PieceTrie::none)
                    break;
                if (const std::int32_t found = m_words.m_pieces.piece(from); found != PieceTrie::noPiece) {
                    piece = found;
                    ends = next;
                }
            }
            if (piece == PieceTrie::noPiece) {
                m_tokens.resize(before);
                return false;
            }
            m_tokens.push_back(piece);
            at = ends;
        }
        return true;
    }

    const WordPiece &m_words;
    std::vector<std::int32_t> &m_tokens;
    const std::size_t m_full;
    std::array<char, longestWord * mostBytes>
        m_word; ///< the word so far, no more than its first `longestWord` characters
    std::size_t m_bytes = 0, m_characters = 0;
    std::size_t m_firstMark = 0; ///< where the marks at its end begin
};

Result<WordPiece> WordPiece::ofVocabulary(std::string_view vocabulary, const TokenizerRules &rules,
                                          const std::string &where) {
    if (const auto bad = firstInvalidByte(vocabulary))
        return fail(Error::badArgument("byte " + std::to_string(*bad) + " is not UTF-8",
                                       "give the vocab.txt that belongs to the model, or download it again", where));
    const auto lines = linesOf(vocabulary);
    if (lines.size() > largestVocabulary)
        return fail(Error::badArgument("it has more than " + std::to_string(largestVocabulary) + " lines",
                                       vocabularyWanted, where));
    for (const std::string_view needed : {paddingToken.name, unknownToken.name, beginToken.name, endToken.name})
        if (std::find(lines.begin(), lines.end(), needed) == lines.end())
            return fail(
                Error::badArgument("none of its " + std::to_string(lines.size()) + " lines is " + std::string(needed),
                                   vocabularyWanted, where));
    return WordPiece(lines, rules);
}

WordPiece::WordPiece(const std::vector<std::string_view> &lines, const TokenizerRules &rules)
    : m_pieces(numbered(lines)), m_inside(m_pieces.walk(PieceTrie::root, "##")), m_characters(&charactersOf(rules)),
      m_unknown(find(unknownToken.name)), m_begin(find(beginToken.name)), m_end(find(endToken.name)),
      m_padding(find(paddingToken.name)), m_size(static_cast<std::int32_t>(lines.size())) {
    for (const SpecialToken &special : specialTokens)
        if (const std::int32_t token = find(special.name); token != PieceTrie::noPiece)
            m_special.emplace_back(special.name, token);
    for (char32_t point = 0; point < m_plain.size(); ++point)
        if (const auto [kind, becomes] = m_characters->of(point); point < 0x80 && kind == BertCharacters::Kind::Kept)
            m_plain[point] = static_cast<char>(becomes);
}

std::int32_t WordPiece::find(std::string_view piece) const {
    const PieceTrie::Node node = m_pieces.walk(PieceTrie::root, piece);
    return node == PieceTrie::none ? PieceTrie::noPiece : m_pieces.piece(node);
}

void WordPiece::encode(std::string_view utf8, std::size_t maxTokens, std::vector<std::int32_t> &tokens) const {
    tokens.push_back(m_begin);
    Encoding(*this, std::max<std::size_t>(maxTokens, 2) - 2, tokens).add(utf8);
    tokens.push_back(m_end);
}

std::vector<std::int32_t> WordPiece::encode(std::string_view utf8, std::size_t maxTokens) const {
    std::vector<std::int32_t> tokens;
    encode(utf8, maxTokens, tokens);
    return tokens;
}

} // namespace lockstep::trainer

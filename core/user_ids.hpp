// Ids of users as canonical texts, each by itself: one person must not look like two because files differ.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text_lines.hpp"

namespace privroute {

// Whether the character of UTF-8 is white space of Unicode, NUL, U+200B or U+FEFF.
inline bool is_blank(std::string_view character) {
    const auto at = [&](std::size_t place) { return static_cast<unsigned char>(character[place]); };
    if (character.size() == 1) return at(0) == 0 || at(0) == ' ' || (at(0) >= '\t' && at(0) <= '\r');
    if (character.size() == 2) return at(0) == 0xC2 && (at(1) == 0x85 || at(1) == 0xA0);
    if (character.size() != 3) return false;
    const unsigned code = (at(0) & 0x0Fu) << 12 | (at(1) & 0x3Fu) << 6 | (at(2) & 0x3Fu);
    return code == 0x1680 || (code >= 0x2000 && code <= 0x200B) || code == 0x2028 || code == 0x2029 || code == 0x202F ||
           code == 0x205F || code == 0x3000 || code == 0xFEFF;
}

// A text of UTF-8 without the blanks at its ends.
inline std::string_view without_blanks(std::string_view text) {
    const auto continues = [&](std::size_t place) { return (static_cast<unsigned char>(text[place]) & 0xC0) == 0x80; };
    while (!text.empty()) {
        std::size_t size = 1;
        while (size < text.size() && continues(size)) ++size;
        if (!is_blank(text.substr(0, size))) break;
        text.remove_prefix(size);
    }
    while (!text.empty()) {
        std::size_t start = text.size() - 1;
        while (start > 0 && continues(start)) --start;
        if (!is_blank(text.substr(start))) break;
        text.remove_suffix(text.size() - start);
    }
    return text;
}

// Writes a universally unique id as 550e8400-e29b-41d4-a716-446655440000; false where the text is none. Letters are of
// any case; dashes may be missing; braces or urn:uuid: may surround it.
inline bool write_uuid(std::string_view text, std::string& out) {
    constexpr std::string_view urn = "urn:uuid:";
    const auto lower = [](char letter) {
        return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + 32) : letter;
    };
    if (text.size() > urn.size() &&
        std::equal(urn.begin(), urn.end(), text.begin(), [&](char a, char b) { return a == lower(b); })) {
        text.remove_prefix(urn.size());
    }
    if (text.size() > 2 && text.front() == '{' && text.back() == '}') text = text.substr(1, text.size() - 2);
    if (text.size() != 32 && text.size() != 36) return false;
    const bool dashes = text.size() == 36;
    out.clear();
    for (std::size_t place = 0, at = 0; place < 36; ++place) {
        const bool dash = place == 8 || place == 13 || place == 18 || place == 23;
        if (dash && !dashes) {
            out.push_back('-');
            continue;
        }
        const char letter = lower(text[at++]);
        const bool digit = (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'f');
        if (dash ? letter != '-' : !digit) return false;
        out.push_back(letter);
    }
    return true;
}

// Writes a whole number as digits, with a minus before those below 0: 7 for +7, 007, 7., 7.0 and 0.7e1. False where the
// text is none, or has more than 40 digits. An exponent counts after a point or with a plus only: 12e4 may be
// hexadecimal.
inline bool write_whole_number(std::string_view text, std::string& out) {
    constexpr std::size_t most_digits = 40;
    const auto is_digit = [](char letter) { return letter >= '0' && letter <= '9'; };
    std::size_t place = 0;
    const bool negative = !text.empty() && text[0] == '-';
    if (negative || (!text.empty() && text[0] == '+')) ++place;
    out.clear();
    std::int64_t shift = 0;  // the number is the digits times 10 to this power
    bool point = false, any = false;
    for (; place < text.size() && (is_digit(text[place]) || (text[place] == '.' && !point)); ++place) {
        if (text[place] == '.') {
            point = true;
            continue;
        }
        any = true;
        shift -= point;
        if (!out.empty() || text[place] != '0') out.push_back(text[place]);
    }
    if (!any) return false;
    if (place < text.size()) {
        if (text[place] != 'e' && text[place] != 'E') return false;
        ++place;
        const bool plus = place < text.size() && text[place] == '+', minus = place < text.size() && text[place] == '-';
        place += plus || minus;
        const std::size_t digits = text.size() - place;
        if (!(plus || point) || digits < 1 || digits > 3 ||
            !std::all_of(text.begin() + static_cast<std::ptrdiff_t>(place), text.end(), is_digit)) {
            return false;
        }
        std::int64_t exponent = 0;
        for (; place < text.size(); ++place) exponent = exponent * 10 + (text[place] - '0');
        shift += minus ? -exponent : exponent;
    }
    if (out.empty()) {
        out.push_back('0');
        return true;
    }
    for (; shift < 0 && out.back() == '0'; ++shift) out.pop_back();
    if (shift < 0 || out.size() + static_cast<std::size_t>(shift) > most_digits) return false;
    out.append(static_cast<std::size_t>(shift), '0');
    if (negative) out.insert(out.begin(), '-');
    return true;
}

// Writes the canonical id that stands for all spellings of a text. It is its own canonical id, since kept sets hold
// such ids and are read again: a number of 32 digits, however it is spelt, is a universally unique id, as it is when
// spelt plainly.
inline std::string_view canonical_id(std::string_view text, std::string& out) {
    if (write_uuid(text, out)) return out;
    if (!write_whole_number(text, out)) return text;
    const std::string digits = out;
    return write_uuid(digits, out) ? out : (out = digits);
}

// Canonical ids of those texts that are present, UTF-8 and not too long; the others become missing.
struct UserIds {
    TextColumn ids;
    std::vector<std::int64_t> long_ids;  // position, begin and end (without blanks) of ids longer than longest_id

    // present : of each text, on return whether its id is in `ids`
    UserIds(std::span<const std::int64_t> from, const std::uint8_t* bytes, std::span<bool> present,
            std::size_t longest_text, std::size_t longest_id) {
        ids.offset.reserve(present.size() + 1);
        std::string canonical;
        for (std::size_t text = 0; text < present.size(); ++text) {
            const auto length = static_cast<std::size_t>(from[text + 1] - from[text]);
            const std::string_view whole{reinterpret_cast<const char*>(bytes) + from[text], present[text] ? length : 0};
            present[text] = present[text] && length <= longest_text && is_utf8(whole);
            const std::string_view id = present[text] ? without_blanks(whole) : std::string_view{};
            if (id.size() > longest_id) {
                const std::int64_t begin = from[text] + (id.data() - whole.data());
                long_ids.insert(long_ids.end(),
                                {static_cast<std::int64_t>(text), begin, begin + static_cast<std::int64_t>(id.size())});
                present[text] = false;
                ids.add({});
            } else {
                ids.add(canonical_id(id, canonical));
            }
        }
    }
};

}  // namespace privroute

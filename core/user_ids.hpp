// Ids of users without blanks around them, each by itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
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

// Ids of those texts that are present, UTF-8 and not too long; the others become missing.
struct UserIds {
    TextColumn ids;
    std::vector<std::int64_t> long_ids;  // position, begin and end (without blanks) of ids longer than longest_id

    // present : of each text, on return whether its id is in `ids`
    UserIds(std::span<const std::int64_t> from, const std::uint8_t* bytes, std::span<bool> present, std::size_t longest_text,
            std::size_t longest_id) {
        ids.offset.reserve(present.size() + 1);
        for (std::size_t text = 0; text < present.size(); ++text) {
            const auto length = static_cast<std::size_t>(from[text + 1] - from[text]);
            const std::string_view whole{reinterpret_cast<const char*>(bytes) + from[text], present[text] ? length : 0};
            present[text] = present[text] && length <= longest_text && is_utf8(whole);
            const std::string_view id = present[text] ? without_blanks(whole) : std::string_view{};
            if (id.size() > longest_id) {
                const std::int64_t begin = from[text] + (id.data() - whole.data());
                long_ids.insert(long_ids.end(), {static_cast<std::int64_t>(text), begin, begin + static_cast<std::int64_t>(id.size())});
                present[text] = false;
                ids.add({});
            } else {
                ids.add(id);
            }
        }
    }
};

}  // namespace privroute

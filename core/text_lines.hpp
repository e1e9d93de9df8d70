// Lines of a delimited text, each split by itself: what is read of a line depends on that line alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace privroute {

// Whether these bytes are UTF-8 as Unicode defines it: no overlong forms, no surrogates, nothing above U+10FFFF.
inline bool is_utf8(std::string_view text) {
    const auto at = [&](std::size_t place) { return static_cast<unsigned char>(text[place]); };
    std::size_t place = 0;
    while (place < text.size()) {
        std::uint64_t eight;  // most texts are ASCII: eight bytes at a time
        while (place + sizeof eight <= text.size()) {
            std::memcpy(&eight, text.data() + place, sizeof eight);
            if (eight & 0x8080808080808080) break;
            place += sizeof eight;
        }
        if (place == text.size()) break;
        const unsigned char first = at(place);
        if (first < 0x80) {
            ++place;
            continue;
        }
        const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
        if (first < 0xC2 || first > 0xF4 || place + length > text.size()) return false;
        for (std::size_t next = 1; next < length; ++next) {
            if ((at(place + next) & 0xC0) != 0x80) return false;
        }
        const unsigned char second = at(place + 1);
        if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) || (first == 0xF0 && second < 0x90) ||
            (first == 0xF4 && second > 0x8F)) {
            return false;
        }
        place += length;
    }
    return true;
}

// The cells of some columns, in the layout of Arrow: text i is data[offset[i] : offset[i + 1]].
struct TextColumn {
    std::vector<std::int64_t> offset{0};
    std::vector<std::uint8_t> data;

    void add(std::string_view text) {
        data.insert(data.end(), text.begin(), text.end());
        offset.push_back(static_cast<std::int64_t>(data.size()));
    }
};

// Copies those texts that are present, UTF-8 and not too long; the others become missing. Needs memory for the copies
// only, so that a text of a gigabyte costs nothing here.
struct KeptTexts {
    std::vector<std::int64_t> offset;
    std::vector<std::uint8_t> data;

    // present : of each text, on return whether it was kept
    KeptTexts(std::span<const std::int64_t> from, const std::uint8_t* bytes, std::span<bool> present,
              std::size_t longest)
        : offset(present.size() + 1, 0) {
        for (std::size_t text = 0; text < present.size(); ++text) {
            const auto length = static_cast<std::size_t>(from[text + 1] - from[text]);
            present[text] = present[text] && length <= longest &&
                            is_utf8({reinterpret_cast<const char*>(bytes) + from[text], length});
            offset[text + 1] = offset[text] + (present[text] ? from[text + 1] - from[text] : 0);
        }
        data.resize(static_cast<std::size_t>(offset.back()));
        for (std::size_t text = 0; text < present.size(); ++text) {
            const auto length = static_cast<std::size_t>(offset[text + 1] - offset[text]);
            if (length > 0) std::memcpy(data.data() + offset[text], bytes + from[text], length);
        }
    }
};

struct SplitLines {
    std::vector<TextColumn> columns;
    std::int64_t malformed = 0;  // lines that are not UTF-8, too long, or do not have `cells` cells
};

// A line is a row of exactly `cells` cells. A cell is quoted ("" within stands for ") or goes on to the next delimiter;
// quotes never reach beyond the line.
class LineSplitter {
public:
    LineSplitter(char delimiter, std::size_t cells, std::span<const std::int64_t> wanted, std::size_t longest)
        : delimiter_(delimiter), longest_(longest), found_(cells), wanted_(wanted.begin(), wanted.end()) {
        result.columns.resize(wanted_.size());
    }

    SplitLines result;

    // Splits a text into lines, which end with a line feed, a carriage return or both. Empty lines are no rows.
    void split(std::string_view text) {
        each(text, '\n', [&](std::string_view part) {
            each(part, '\r', [&](std::string_view line) {
                if (!line.empty()) take(line);
            });
        });
    }

private:
    template <typename Body>
    static void each(std::string_view text, char end, Body&& body) {
        std::size_t start = 0;
        while (start < text.size()) {
            const std::size_t found = text.find(end, start);
            body(text.substr(start, found == text.npos ? found : found - start));
            if (found == text.npos) return;
            start = found + 1;
        }
    }

    void take(std::string_view line) {
        if (line.size() > longest_ || !is_utf8(line) || !cut(line)) {
            ++result.malformed;
            return;
        }
        for (std::size_t column = 0; column < wanted_.size(); ++column) {
            add(result.columns[column], found_[static_cast<std::size_t>(wanted_[column])]);
        }
    }

    // Finds the cells, quotes included; false unless the line is exactly as many cells as there should be.
    bool cut(std::string_view line) {
        std::size_t start = 0;
        for (std::size_t cell = 0; cell < found_.size(); ++cell) {
            std::size_t end =
                start < line.size() && line[start] == '"' ? end_of_quotes(line, start) : line.find(delimiter_, start);
            if (end == line.npos) end = line.size();
            found_[cell] = line.substr(start, end - start);
            if (cell + 1 == found_.size()) return end == line.size();
            if (end == line.size() || line[end] != delimiter_) return false;
            start = end + 1;
        }
        return false;
    }

    // The place after the closing quote; where there is none, the start, which no delimiter follows.
    std::size_t end_of_quotes(std::string_view line, std::size_t start) {
        std::size_t place = start + 1;
        while (true) {
            const std::size_t quote = line.find('"', place);
            if (quote == line.npos) return start;
            if (quote + 1 == line.size() || line[quote + 1] != '"') return quote + 1;
            place = quote + 2;
        }
    }

    static void add(TextColumn& column, std::string_view cell) {
        if (cell.empty() || cell.front() != '"') {
            column.add(cell);
            return;
        }
        for (std::size_t place = 1; place + 1 < cell.size(); ++place) {
            column.data.push_back(static_cast<std::uint8_t>(cell[place]));
            if (cell[place] == '"') ++place;
        }
        column.offset.push_back(static_cast<std::int64_t>(column.data.size()));
    }

    char delimiter_;
    std::size_t longest_;
    std::vector<std::string_view> found_;
    std::vector<std::int64_t> wanted_;
};

}  // namespace privroute

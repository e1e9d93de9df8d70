// The body of a TNTP trip table: "Origin 1", then entries "2 : 100.0;".
//
// Only plain tables are read here: digits, decimal numbers, spaces. The caller reads anything else slowly, with an
// error for what cannot be read.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <system_error>
#include <vector>

namespace privroute {

struct TripTable {
    std::vector<std::int64_t> origin, destination;
    std::vector<double> trips;
};

class TripTableReader {
public:
    explicit TripTableReader(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

    // False for a table that is not plain.
    bool read(TripTable& table) {
        std::int64_t origin = -1;
        while (skip_space(true)) {
            if (*at_ == ';') {  // an empty entry
                ++at_;
                continue;
            }
            if (is_letter_o(*at_)) {
                if (!word() || !skip_space(false) || !label(origin)) return false;
                // what follows the number begins behind a space, or on the next line
                const char* number_end = at_;
                if (skip_space(false) && !is_line_end(*at_) && *number_end != ' ') return false;
                continue;
            }
            std::int64_t destination = -1;
            double trips = 0.0;
            if (origin < 0 || !label(destination) || !skip_space(false) || *at_++ != ':' || !skip_space(false) ||
                !amount(trips))
                return false;
            // an entry ends with a semicolon, or with its line
            skip_space(false);
            if (at_ != end_ && *at_ != ';' && !is_line_end(*at_)) return false;
            table.origin.push_back(origin);
            table.destination.push_back(destination);
            table.trips.push_back(trips);
        }
        return true;
    }

private:
    static bool is_space(char c) { return c == ' ' || c == '\t'; }
    static bool is_line_end(char c) { return c == '\n' || c == '\r'; }
    static bool is_letter_o(char c) { return c == 'O' || c == 'o'; }

    // To the next sign, over line ends if `lines`; false at the end.
    bool skip_space(bool lines) {
        while (at_ != end_ && (is_space(*at_) || (lines && is_line_end(*at_)))) ++at_;
        return at_ != end_;
    }

    // "origin" in any case, and a space.
    bool word() {
        constexpr std::string_view expected = "origin";
        if (end_ - at_ <= static_cast<std::ptrdiff_t>(expected.size())) return false;
        for (const char c : expected)
            if ((*at_++ | 0x20) != c) return false;
        return is_space(*at_);
    }

    bool label(std::int64_t& value) {
        const char* begin = at_;
        while (at_ != end_ && *at_ >= '0' && *at_ <= '9') ++at_;
        return at_ != begin && at_ - begin <= 18 && std::from_chars(begin, at_, value).ec == std::errc{};
    }

    bool amount(double& value) {
        if (at_ == end_ || !((*at_ >= '0' && *at_ <= '9') || *at_ == '.')) return false;  // no sign, no word
        const auto [ptr, problem] = std::from_chars(at_, end_, value);
        if (problem != std::errc{} || !std::isfinite(value) || ptr - at_ > 400) return false;
        for (const char* letter = at_; letter != ptr; ++letter) {  // exponents of more than four digits
            if ((*letter | 0x20) != 'e') continue;
            const char* digits = letter + 1 + (letter[1] == '+' || letter[1] == '-');
            if (ptr - digits > 4) return false;
        }
        at_ = ptr;
        return true;
    }

    const char* at_;
    const char* end_;
};

}  // namespace privroute

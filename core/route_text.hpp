// Routes as JSON text, as the service sends them.
//
// Numbers are written as orjson writes them: the shortest digits that read back as the same double.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "graph.hpp"

namespace privroute {

// Text that grows.
class JsonText {
public:
    explicit JsonText(std::string& out) : out_(out) {}

    void add(std::string_view text) { out_.append(text); }

    // A double; null where it is not finite.
    void number(double value) {
        if (!std::isfinite(value)) return add("null");
        char buffer[40];
        const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
        lay_out({buffer, static_cast<std::size_t>(end - buffer)});
    }

    // The value rounded to tenths.
    void tenths(double value) {
        const double scaled = std::nearbyint(value * 10.0);
        if (!(std::abs(scaled) < 1e15)) return number(scaled / 10.0);
        if (scaled == 0.0) return add(std::signbit(scaled) ? "-0.0" : "0.0");
        char buffer[24];
        char* end = std::to_chars(buffer, buffer + sizeof buffer, static_cast<std::int64_t>(scaled) / 10).ptr;
        if (scaled < 0.0 && scaled > -10.0) {  // the whole part is 0 and has lost its sign
            std::memcpy(buffer, "-0", 2);
            end = buffer + 2;
        }
        *end++ = '.';
        *end++ = static_cast<char>('0' + std::abs(static_cast<std::int64_t>(scaled) % 10));
        add({buffer, static_cast<std::size_t>(end - buffer)});
    }

private:
    // From "-1.234e-05" to the form with the digits in place, or with a short exponent where that would be long.
    void lay_out(std::string_view scientific) {
        if (scientific.front() == '-') {
            add("-");
            scientific.remove_prefix(1);
        }
        char digits[20];
        int count = 0;
        std::size_t at = 0;
        for (; scientific[at] != 'e'; ++at)
            if (scientific[at] != '.') digits[count++] = scientific[at];
        while (count > 1 && digits[count - 1] == '0') --count;
        int exponent = 0;
        const char* power = scientific.data() + at + 1;
        if (*power == '+') ++power;
        std::from_chars(power, scientific.data() + scientific.size(), exponent);
        const std::string_view all(digits, static_cast<std::size_t>(count));
        const int point = exponent + 1;  // the value is 0.digits times ten to this power
        if (all == "0") return add("0.0");
        if (point > 0 && point <= 16) {
            add(all.substr(0, static_cast<std::size_t>(std::min(point, count))));
            for (int i = count; i < point; ++i) add("0");
            add(".");
            add(point < count ? all.substr(static_cast<std::size_t>(point)) : "0");
        } else if (point > -5 && point <= 0) {
            add("0.");
            for (int i = point; i < 0; ++i) add("0");
            add(all);
        } else {
            add(all.substr(0, 1));
            if (count > 1) {
                add(".");
                add(all.substr(1));
            }
            add("e");
            char buffer[8];
            add({buffer,
                 static_cast<std::size_t>(std::to_chars(buffer, buffer + sizeof buffer, exponent).ptr - buffer)});
        }
    }

    std::string& out_;
};

// Texts one after the other: text i is data[start[i] .. start[i + 1]).
struct Texts {
    std::span<const std::int64_t> start;
    std::span<const char> data;
    [[nodiscard]] std::string_view operator[](Node i) const {
        const auto at = static_cast<std::size_t>(i);
        const auto first = static_cast<std::size_t>(start[at]);
        return {data.data() + first, static_cast<std::size_t>(start[at + 1]) - first};
    }
};

struct RouteWriter {
    std::span<const Node> tail, head;
    Texts nodes, links;
    std::span<const double> duration, free_flow, length, weight;  // by link; no length where the network has none
    bool fine;  // times with all digits, for networks where tenths of a second are long

    // One route as a JSON object.
    void route(std::string& out, double probability, std::span<const Link> path) const {
        JsonText text(out);
        text.add("{\"probability\":");
        text.number(probability);
        text.add(",\"duration\":");
        seconds(text, sum(duration, path));
        text.add(",\"duration_free_flow\":");
        seconds(text, sum(free_flow, path));
        text.add(",\"distance\":");
        if (length.empty())
            text.add("null");
        else
            text.tenths(sum(length, path));
        text.add(",\"weight\":");
        seconds(text, sum(weight, path));
        text.add(",\"nodes\":[");
        text.add(nodes[tail[static_cast<std::size_t>(path.front())]]);
        for (const Link link : path) {
            text.add(",");
            text.add(nodes[head[static_cast<std::size_t>(link)]]);
        }
        text.add("],\"links\":[");
        bool first = true;
        for (const Link link : path) {
            if (!first) text.add(",");
            first = false;
            text.add(links[link]);
        }
        text.add("]}");
    }

private:
    void seconds(JsonText& text, double value) const { fine ? text.number(value) : text.tenths(value); }

    static double sum(std::span<const double> value, std::span<const Link> path) {
        double total = 0.0;
        for (const Link link : path) total += value[static_cast<std::size_t>(link)];
        return total;
    }
};

}  // namespace privroute

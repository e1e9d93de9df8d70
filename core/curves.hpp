// The latency curves: the twin of the table in src/privroute/network/curves.py, with the same names in the same order.
//
// A curve gives the travel time f of a link at load r = flow / capacity. What a solver makes of it is in
// cost_curve.hpp.
//
// To add a curve: its name in Curve and curve_table; its formulas, and a case for each in shape() and area().
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

namespace privroute {

enum class Curve : std::uint8_t { bpr, piecewise, table, conical, akcelik, mm1, davidson };

struct CurveEntry {
    const char* name;
    std::size_t parameters;
};

inline constexpr std::size_t most_points = 8;

// By number, which is that of the enumeration and of the Python table.
inline constexpr std::array<CurveEntry, 7> curve_table{{{"bpr", 2},
                                                        {"piecewise", 2 * most_points},
                                                        {"table", 2 * most_points},
                                                        {"conical", 1},
                                                        {"akcelik", 2},
                                                        {"mm1", 2},
                                                        {"davidson", 2}}};

// The curve of one link: which, free-flow time c >= 0, capacity k > 0, and the curve's own parameters.
struct LinkCurve {
    Curve curve;
    double free_flow;
    double capacity;
    std::span<const double> parameters;
};

// f, df/dr and d2f/dr2 at a load, from the right where they jump.
struct Shape {
    double value;
    double slope;
    double bend;
};

// Straight pieces through points: f = c (1 + first r + sum_i rise_i h_i(r - at_i)). h(z) = max(z, 0); `table` rounds
// its corner to a parabola over |z| <= width.
struct Corners {
    struct Corner {
        double at, rise, width;
    };
    double first = 0.0;
    std::size_t count = 0;
    std::array<Corner, most_points - 1> corner;

    Corners(std::span<const double> points, bool rounded) {
        double load = 0.0, factor = 1.0, slope = 0.0, span = 0.0;
        for (std::size_t i = 0; i < most_points && points[2 * i] > 0.0; ++i) {
            const double next_span = points[2 * i] - load;
            const double next = (points[2 * i + 1] - factor) / next_span;
            if (i == 0) {
                first = next;
            } else if (const double rise = next - slope; rise > 1e-9 * (1.0 + next)) {
                corner[count++] = {load, rise, rounded ? 0.25 * std::min(span, next_span) : 0.0};
            }
            load = points[2 * i];
            factor = points[2 * i + 1];
            slope = next;
            span = next_span;
        }
    }

    [[nodiscard]] Shape at(double c, double r) const {
        double value = 1.0 + first * r, slope = first, bend = 0.0;
        for (std::size_t i = 0; i < count; ++i) {
            const auto& [at, rise, width] = corner[i];
            const double beyond = r - at;
            if (beyond >= width) {
                value += rise * beyond;
                slope += rise;
            } else if (width > 0.0 && beyond >= -width) {
                const double over = beyond + width;
                value += rise * (over * over) / (4.0 * width);
                slope += rise * over / (2.0 * width);
                bend += rise / (2.0 * width);
            }
        }
        return {c * value, c * slope, c * bend};
    }

    [[nodiscard]] double area(double c, double r) const {
        double total = r * (1.0 + 0.5 * first * r);
        for (std::size_t i = 0; i < count; ++i) {
            const auto& [at, rise, width] = corner[i];
            const double beyond = r - at, over = beyond + width;
            if (beyond >= width)
                total += rise * (0.5 * beyond * beyond + width * width / 6.0);
            else if (width > 0.0 && beyond >= -width)
                total += rise * over * over * over / (12.0 * width);
        }
        return c * total;
    }
};

// f = c (2 - beta + S - alpha (1 - r)), S^2 = alpha^2 (1 - r)^2 + beta^2 (Spiess 1990)
struct Conical {
    double alpha, beta;

    explicit Conical(double a) : alpha(a), beta((2.0 * a - 1.0) / (2.0 * a - 2.0)) {}
    [[nodiscard]] Shape at(double c, double r) const {
        const double left = alpha * (1.0 - r), root = std::sqrt(left * left + beta * beta);
        const double over = left > 0.0 ? beta * beta / (root + left) : root - left;
        const double turn = alpha * beta / root;
        return {c * (2.0 - beta + over), c * (alpha * over / root), c * (turn * turn / root)};
    }
    [[nodiscard]] double area(double c, double r) const {
        const double left = alpha * (1.0 - r), first = std::sqrt(alpha * alpha + beta * beta);
        const double root = std::sqrt(left * left + beta * beta);
        const double fall = alpha * alpha * (2.0 - r) / (first + root);
        const double turned = beta * beta / alpha * std::asinh(alpha * r * (first - fall) / (beta * beta));
        return c * (r * (2.0 - beta - alpha + 0.5 * alpha * r + 0.5 * (fall + root)) + 0.5 * turned);
    }
};

// f = c + T/4 (r - 1 + S), S^2 = (r - 1)^2 + m r, m = 8 J / (k T) (Akcelik 1991)
struct Akcelik {
    double scale, m, room;

    Akcelik(double delay, double period, double capacity)
        : scale(0.25 * period), m(8.0 * delay / (capacity * period)), room(0.25 * m * (4.0 - m)) {}
    [[nodiscard]] double queue(double r, double root) const {
        return r < 1.0 ? m * r / (root + (1.0 - r)) : root - (1.0 - r);
    }
    [[nodiscard]] double root(double r) const { return std::sqrt((1.0 - r) * (1.0 - r) + m * r); }
    [[nodiscard]] Shape at(double c, double r) const {
        const double bent = 1.0 - r - 0.5 * m, s = root(r);
        const double slope = bent > 0.0 ? room / (s * (s + bent)) : (s - bent) / s;
        return {c + scale * queue(r, s), scale * slope, scale * (room / s / s / s)};
    }
    [[nodiscard]] double area(double c, double r) const {
        const double p = 0.5 * m - 1.0, near = 1e-4 / (1.0 + std::abs(p));
        if (r <= near)
            return c * r +
                   scale * (r * r * (0.25 * m + r * room * (1.0 / 6.0 - r * (p / 8.0 - r * (5 * p * p - 1) / 40.0))));
        const double s = root(r);
        const double turned = room * std::log1p(r * (queue(r, s) + m) / ((s + 1.0) * 0.5 * m));
        return c * r + scale * (r * (0.5 * r - 1.0 + 0.5 * (s + p * (r + 2.0 * p) / (s + 1.0))) + 0.5 * turned);
    }
};

// f = c + s r / (1 - r) up to a limit, then the parabola with its value, slope and bend there
struct Queue {
    double service, limit;

    [[nodiscard]] Shape at(double c, double r) const {
        const double held = std::min(r, limit), beyond = r - held, free = 1.0 - held;
        const double slope = 1.0 / free / free, bend = 2.0 * slope / free;
        const double value = held / free + beyond * (slope + 0.5 * bend * beyond);
        return {c + service * value, service * (slope + bend * beyond), service * bend};
    }
    [[nodiscard]] double area(double c, double r) const {
        const double held = std::min(r, limit), beyond = r - held, free = 1.0 - held;
        double queue = 0.0;
        if (held > 0.05) {
            queue = -held - std::log1p(-held);
        } else {
            for (int term = 16; term > 1; --term) queue = held * (1.0 / term + queue);
            queue *= held;
        }
        const double slope = 1.0 / free / free;
        const double cubic = beyond * (held / free + beyond * (0.5 * slope + beyond * slope / free / 3.0));
        return c * r + service * (queue + cubic);
    }
};

// Loads beyond this are evaluated here, so that no product of infinity and zero occurs.
inline constexpr double highest_load = 1e60;

// Calls `use` with the formulas of the link's curve, which have at() and area(). BPR has its own in cost_curve.hpp.
template <typename Use>
[[nodiscard]] auto with_formulas(const LinkCurve& link, Use&& use) {
    const auto p = link.parameters;
    switch (link.curve) {
        case Curve::conical:
            return use(Conical(p[0]));
        case Curve::akcelik:
            return use(Akcelik(p[0], p[1], link.capacity));
        case Curve::mm1:
            return use(Queue{p[0] / link.capacity, p[1]});
        case Curve::davidson:
            return use(Queue{link.free_flow * p[0], p[1]});
        case Curve::bpr:
        case Curve::piecewise:
        case Curve::table:
            break;
    }
    return use(Corners(p, link.curve == Curve::table));
}

[[nodiscard]] inline Shape shape(const LinkCurve& link, double r) {
    return with_formulas(link, [&](const auto& curve) { return curve.at(link.free_flow, std::min(r, highest_load)); });
}

// The integral of f from load 0.
[[nodiscard]] inline double area(const LinkCurve& link, double r) {
    return with_formulas(link,
                         [&](const auto& curve) { return curve.area(link.free_flow, std::min(r, highest_load)); });
}

}  // namespace privroute

// What a trip on a link costs. Under each criterion the solver minimises a sum of link terms and needs their
// derivative:
//
//     optimum:      y f(y)            cost  t = f + y f'      marginal cost
//     equilibrium:  int_0^y f         cost  f                 own travel time
//
// Where f has a kink (straight pieces), t jumps from `below` to `above`: any cost between them is right there. The
// solver then sees a ramp in place of the jump. See kinks.hpp for how the ramp is moved, and what is certified.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "curves.hpp"

namespace privroute {

// Costs beyond this would overflow in sums and products; curves are cut off there.
inline constexpr double highest_cost = 1e150;

enum class Criterion : std::uint8_t { optimum, equilibrium };

// What the criterion minimises on this link: its total travel time, or Beckmann's integral of the travel time.
[[nodiscard]] inline double objective(const LinkCurve& link, double y, Criterion criterion) {
    if (link.curve == Curve::bpr) {  // f(y) = c (1 + b (y/k)^p)
        const double b = link.parameters[0], p = link.parameters[1], r = std::max(y, 0.0) / link.capacity;
        const double rise = b * (p == 1.0 ? r : p == 4.0 ? (r * r) * (r * r) : std::pow(r, p));
        return link.free_flow * y * (1.0 + (criterion == Criterion::optimum ? rise : rise / (p + 1.0)));
    }
    const double r = std::max(y, 0.0) / link.capacity;
    return criterion == Criterion::optimum ? y * shape(link, r).value : link.capacity * area(link, r);
}

// The cost of one link under a criterion, prepared for fast evaluation.
class CostCurve {
public:
    CostCurve(const LinkCurve& link, Criterion criterion) : per_capacity_(1.0 / link.capacity), base_(link.free_flow) {
        if (link.curve == Curve::bpr) {
            prepare_bpr(link.parameters[0], link.parameters[1], criterion);
            return;
        }
        curve_ = link.curve;
        parameters_ = link.parameters.data();
        capacity_ = link.capacity;
        form_ = criterion == Criterion::optimum ? Form::shaped_marginal : Form::shaped;
    }

    struct Value {
        double cost;
        double slope;
    };

    // Cost and its derivative at flow y. Both are cut off far beyond any sensible value, so that a hopelessly
    // overloaded link stays comparable instead of turning into infinity minus infinity.
    [[nodiscard]] Value at(double y) const {
        const double r = std::max(y, 0.0) * per_capacity_;
        switch (form_) {
            case Form::constant:
                return {base_, 0.0};
            case Form::linear:
                return {base_ + rise_ * r, rise_per_capacity_};
            case Form::quartic: {
                const double cube = r * r * r;
                return cut_off(base_ + rise_ * (cube * r), rise_per_capacity_ * cube);
            }
            case Form::integer_power: {
                double below = 1.0;
                for (int k = static_cast<int>(power_); k > 1; --k) below *= r;
                return cut_off(base_ + rise_ * (below * r), rise_per_capacity_ * below);
            }
            case Form::shaped:
            case Form::shaped_marginal:
                return shaped(std::max(y, 0.0));
            case Form::power:
                break;
        }
        if (r == 0.0) return {base_, power_ < 1.0 ? highest_cost : 0.0};
        const double value = std::pow(r, power_);
        return cut_off(base_ + rise_ * value, rise_per_capacity_ * (value / r));
    }

    // The derivative is infinite at zero flow, where a Newton step would not leave the spot.
    [[nodiscard]] bool steep() const { return form_ == Form::power && power_ < 1.0; }
    // A straight line: one Newton step is exact.
    [[nodiscard]] bool straight() const { return form_ == Form::constant || form_ == Form::linear; }
    // The cost jumps somewhere.
    [[nodiscard]] bool kinked() const {
        return form_ == Form::shaped_marginal && curve_ == Curve::piecewise && base_ > 0.0 && corners().count > 0;
    }

    // The same without ramps.
    [[nodiscard]] CostCurve hard() const {
        CostCurve copy = *this;
        copy.width_ = 0.0;
        return copy;
    }

    // Where y stands to a kink: its flow, and the costs just below and just above it.
    struct Kink {
        double flow, below, above;
        bool inside;  // y is on the ramp
    };

    // The kink nearest to flow y; the curve has one.
    [[nodiscard]] Kink kink(double y) const {
        const Corners points = corners();
        const double r = y / capacity_;
        const std::size_t nearest = nearest_corner(points, r);
        const double at = points.corner[nearest].at;
        const Shape s = points.at(base_, at);
        const double above = s.value + at * s.slope;
        const Ramp ramp = ramp_of(points, nearest);
        return {at * capacity_, above - base_ * at * points.corner[nearest].rise, above,
                r >= ramp.low && r <= ramp.high};
    }

    // Puts ramps of at most this width (of loads) in place of jumps; the one nearest to flow y so that the kink's price
    // has the given share of the jump below it.
    void soften(double width, double y, double share) {
        width_ = width;
        active_ = static_cast<std::uint8_t>(nearest_corner(corners(), y / capacity_));
        share_ = share;
    }

private:
    // How the cost is evaluated; a curve may have several. Those of BPR are base + rise (y/k)^power.
    enum class Form : std::uint8_t { constant, linear, quartic, integer_power, power, shaped, shaped_marginal };

    struct Ramp {
        double low, high;
        double share;  // of the jump that is below the kink's price
    };

    void prepare_bpr(double b, double power, Criterion criterion) {
        power_ = power;
        rise_ = base_ * b * (criterion == Criterion::optimum ? 1.0 + power : 1.0);
        form_ = Form::power;
        if (power == 0.0 || rise_ == 0.0) {
            base_ += power == 0.0 ? rise_ : 0.0;
            rise_ = 0.0;
            form_ = Form::constant;
        } else if (power == 1.0) {
            form_ = Form::linear;
        } else if (power == 4.0) {
            form_ = Form::quartic;
        } else if (power == std::floor(power) && power <= 16.0) {
            form_ = Form::integer_power;
        }
        rise_per_capacity_ = rise_ * power * per_capacity_;
    }

    [[nodiscard]] Value shaped(double y) const {
        const double r = std::min(y / capacity_, highest_load);
        if (curve_ == Curve::piecewise) return straight_pieces(r);
        const LinkCurve link{curve_, base_, capacity_, {parameters_, curve_table[static_cast<int>(curve_)].parameters}};
        return weighed(shape(link, r), r);
    }

    [[nodiscard]] Value straight_pieces(double r) const {
        const Corners points = corners();
        if (form_ == Form::shaped_marginal && width_ > 0.0) {
            for (std::size_t i = 0; i < points.count; ++i) {
                const Ramp ramp = ramp_of(points, i);
                if (r <= ramp.low || r >= ramp.high) continue;
                // from the cost where the ramp begins to the kink's price, and on to the cost where it ends
                const double at = points.corner[i].at, jump = base_ * at * points.corner[i].rise;
                const double middle = weighed(points.at(base_, at), at).cost - (1.0 - ramp.share) * jump;
                const double end = r < at ? ramp.low : ramp.high;
                const double slope = (weighed(points.at(base_, end), end).cost - middle) / (end - at);
                return {middle + slope * (r - at), slope * per_capacity_};
            }
        }
        return weighed(points.at(base_, r), r);
    }

    [[nodiscard]] Value weighed(const Shape& s, double r) const {
        if (form_ == Form::shaped) return cut_off(s.value, s.slope / capacity_);
        return cut_off(s.value + r * s.slope, (2.0 * s.slope + r * s.bend) / capacity_);
    }

    [[nodiscard]] Corners corners() const { return {{parameters_, 2 * most_points}, curve_ == Curve::table}; }

    // At most a quarter of the way to the neighbours, so that ramps do not meet.
    [[nodiscard]] Ramp ramp_of(const Corners& points, std::size_t i) const {
        const double at = points.corner[i].at, before = i > 0 ? points.corner[i - 1].at : 0.0;
        double width = std::min(width_, 0.25 * (at - before));
        if (i + 1 < points.count) width = std::min(width, 0.25 * (points.corner[i + 1].at - at));
        const double share = i == active_ ? share_ : 0.5;
        return {at - share * width, at + (1.0 - share) * width, share};
    }

    static std::size_t nearest_corner(const Corners& points, double r) {
        std::size_t nearest = 0;
        for (std::size_t i = 1; i < points.count; ++i)
            if (std::abs(r - points.corner[i].at) < std::abs(r - points.corner[nearest].at)) nearest = i;
        return nearest;
    }

    static Value cut_off(double cost, double slope) {
        return {std::min(cost, highest_cost), std::min(slope, highest_cost)};
    }

    Form form_ = Form::constant;
    Curve curve_ = Curve::bpr;
    std::uint8_t active_ = 0;  // kink whose ramp is moved
    double per_capacity_;
    double base_;
    union {
        double power_ = 0.0;  // BPR
        double capacity_;     // other curves
    };
    union {
        double rise_ = 0.0;
        const double* parameters_;
    };
    union {
        double rise_per_capacity_ = 0.0;
        double share_;
    };
    double width_ = 0.0;
};

}  // namespace privroute

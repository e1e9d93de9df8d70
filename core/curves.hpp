// The latency curves: the twin of the table in src/privroute/network/curves.py, with the same names in the same order.
//
// A curve gives the travel time f(y) of a link at flow y. Under each criterion the solver minimises a sum of link terms
// and needs their derivative, which is what a trip on the link costs:
//
//     optimum:      y f(y)            cost  t = f + y f'      marginal cost
//     equilibrium:  int_0^y f         cost  f                 own travel time
//
// To add a curve: its name in Curve and curve_table; its case in objective(); its case in CostCurve's constructor,
// which turns the parameters into what at() needs, once per link; its form in at(), steep() and straight().
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

namespace privroute {

// Costs beyond this would overflow in sums and products; curves are cut off there.
inline constexpr double highest_cost = 1e150;

enum class Criterion : std::uint8_t { optimum, equilibrium };

enum class Curve : std::uint8_t { bpr };

struct CurveEntry {
    const char* name;
    std::size_t parameters;
};

// By number, which is that of the enumeration and of the Python table.
inline constexpr std::array<CurveEntry, 1> curve_table{{{"bpr", 2}}};

// The curve of one link: which, free-flow time c >= 0, capacity k > 0, and the curve's own parameters.
struct LinkCurve {
    Curve curve;
    double free_flow;
    double capacity;
    std::span<const double> parameters;
};

// What the criterion minimises on this link: its total travel time, or Beckmann's integral of the travel time.
[[nodiscard]] inline double objective(const LinkCurve& link, double y, Criterion criterion) {
    switch (link.curve) {
        case Curve::bpr: {  // f(y) = c (1 + b (y/k)^p)
            const double b = link.parameters[0], p = link.parameters[1], r = std::max(y, 0.0) / link.capacity;
            const double rise = b * (p == 1.0 ? r : p == 4.0 ? (r * r) * (r * r) : std::pow(r, p));
            return link.free_flow * y * (1.0 + (criterion == Criterion::optimum ? rise : rise / (p + 1.0)));
        }
    }
    return 0.0;
}

// The cost of one link under a criterion, prepared for fast evaluation.
class CostCurve {
public:
    CostCurve(const LinkCurve& link, Criterion criterion) : per_capacity_(1.0 / link.capacity), base_(link.free_flow) {
        switch (link.curve) {
            case Curve::bpr:
                prepare_bpr(link.parameters[0], link.parameters[1], criterion);
                break;
        }
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

private:
    // How the cost is evaluated; a curve may have several. Those of BPR are base + rise (y/k)^power.
    enum class Form : std::uint8_t { constant, linear, quartic, integer_power, power };

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

    static Value cut_off(double cost, double slope) {
        return {std::min(cost, highest_cost), std::min(slope, highest_cost)};
    }

    Form form_ = Form::constant;
    double power_ = 0.0;
    double per_capacity_;
    double base_;
    double rise_ = 0.0;
    double rise_per_capacity_ = 0.0;
};

}  // namespace privroute

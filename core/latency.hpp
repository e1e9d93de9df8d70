// Travel time of a link as a function of its flow y, and what a trip on it costs under each criterion.
//
//     f(y) = c (1 + b (y/k)^p)              travel time
//     optimum:      f + y f' = c (1 + b (1 + p) (y/k)^p)     marginal cost
//     equilibrium:  f                                         own travel time
//
// Both are one curve, base + rise (y/k)^p, so the solver sees a single form.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace privroute {

// Costs beyond this would overflow in sums and products; curves are cut off there.
inline constexpr double highest_cost = 1e150;

enum class Criterion : std::uint8_t { optimum, equilibrium };

// Views of the four arrays, one entry per link: c >= 0, b >= 0, k > 0, p >= 0.
struct Latency {
    std::span<const double> free_flow;
    std::span<const double> b;
    std::span<const double> capacity;
    std::span<const double> power;

    // What the criterion minimises over all links: total travel time, or Beckmann's integral of the travel times.
    [[nodiscard]] double objective(std::size_t link, double y, Criterion criterion) const {
        const double p = power[link], r = std::max(y, 0.0) / capacity[link];
        const double rise = b[link] * (p == 1.0 ? r : p == 4.0 ? (r * r) * (r * r) : std::pow(r, p));
        return free_flow[link] * y * (1.0 + (criterion == Criterion::optimum ? rise : rise / (p + 1.0)));
    }
};

// The cost curve of one link, prepared for fast evaluation.
class CostCurve {
public:
    CostCurve() = default;
    CostCurve(const Latency& latency, std::size_t link, Criterion criterion)
        : power_(latency.power[link]), per_capacity_(1.0 / latency.capacity[link]), base_(latency.free_flow[link]) {
        rise_ = base_ * latency.b[link] * (criterion == Criterion::optimum ? 1.0 + power_ : 1.0);
        if (power_ == 0.0 || rise_ == 0.0) {
            base_ += power_ == 0.0 ? rise_ : 0.0;
            rise_ = 0.0;
            form_ = Form::constant;
        } else if (power_ == 1.0) {
            form_ = Form::linear;
        } else if (power_ == 4.0) {
            form_ = Form::quartic;
        } else if (power_ == std::floor(power_) && power_ <= 16.0) {
            form_ = Form::integer;
        }
        rise_per_capacity_ = rise_ * power_ * per_capacity_;
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
            case Form::integer: {
                double below = 1.0;
                for (int k = static_cast<int>(power_); k > 1; --k) below *= r;
                return cut_off(base_ + rise_ * (below * r), rise_per_capacity_ * below);
            }
            case Form::general:
                break;
        }
        if (r == 0.0) return {base_, power_ < 1.0 ? highest_cost : 0.0};
        const double value = std::pow(r, power_);
        return cut_off(base_ + rise_ * value, rise_per_capacity_ * (value / r));
    }

    // A power below 1 has an infinite derivative at zero, where a Newton step would not leave the spot.
    [[nodiscard]] bool steep() const { return form_ == Form::general && power_ < 1.0; }
    // A straight line: one Newton step is exact.
    [[nodiscard]] bool straight() const { return form_ == Form::constant || form_ == Form::linear; }

private:
    enum class Form : std::uint8_t { constant, linear, quartic, integer, general };

    static Value cut_off(double cost, double slope) {
        return {std::min(cost, highest_cost), std::min(slope, highest_cost)};
    }

    Form form_ = Form::general;
    double power_ = 0.0;
    double per_capacity_ = 1.0;
    double base_ = 0.0;
    double rise_ = 0.0;
    double rise_per_capacity_ = 0.0;
};

}  // namespace privroute

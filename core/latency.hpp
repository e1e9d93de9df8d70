// The latency curves of all links, as arrays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "cost_curve.hpp"

namespace privroute {

// Views with one entry per link. Link e has curve number curve[e] (curve_table), whose parameters begin at
// parameters[e * width]; a curve with fewer parameters than `width` leaves the rest unused.
struct Latency {
    std::span<const std::uint8_t> curve;
    std::span<const double> free_flow;
    std::span<const double> capacity;
    std::span<const double> parameters;
    std::size_t width;

    [[nodiscard]] LinkCurve operator[](std::size_t link) const {
        return {static_cast<Curve>(curve[link]), free_flow[link], capacity[link],
                parameters.subspan(link * width, width)};
    }
    [[nodiscard]] CostCurve cost(std::size_t link, Criterion criterion) const { return {(*this)[link], criterion}; }
    [[nodiscard]] double objective(std::size_t link, double y, Criterion criterion) const {
        return privroute::objective((*this)[link], y, criterion);
    }
};

}  // namespace privroute

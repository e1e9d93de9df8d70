// What a trip on a link costs, as the solver weighs it, and what is minimised:
//
//     cost       c(y) = (1 - social) f(y) + social t(y) + fixed        t = f + y f', the marginal cost
//     objective  C(y) = (1 - social) int_0^y f + social y f(y) + fixed y
//
// social = 1 is the optimum, 0 the equilibrium; between them is a fairer optimum (Jalota, Solovey, Tsao, Zoepf and
// Pavone 2021). `fixed` is what is not time: a toll, a price for distance. Both terms of c do not decrease, so neither
// does c. Every curve of the table can be weighed: this file knows none of them.
#pragma once

#include <cstddef>
#include <span>

#include "latency.hpp"

namespace privroute {

struct Weighing {
    double social = 1.0;            // from 0 to 1
    std::span<const double> fixed;  // by link; empty: none

    [[nodiscard]] double fixed_of(std::size_t link) const { return fixed.empty() ? 0.0 : fixed[link]; }
    // The criterion of the first curve; the second is the equilibrium's, with the weight 1 - social.
    [[nodiscard]] Criterion first() const { return social > 0.0 ? Criterion::optimum : Criterion::equilibrium; }
    [[nodiscard]] bool mixed() const { return social > 0.0 && social < 1.0; }

    [[nodiscard]] CostCurve::Value cost(const Latency& latency, std::size_t link, double y) const {
        CostCurve::Value value = latency.cost(link, first()).at(y);
        if (mixed()) value = mix(value, latency.cost(link, Criterion::equilibrium).at(y));
        value.cost += fixed_of(link);
        return value;
    }
    [[nodiscard]] double objective(const Latency& latency, std::size_t link, double y) const {
        double value = latency.objective(link, y, first());
        if (mixed()) value = social * value + (1.0 - social) * latency.objective(link, y, Criterion::equilibrium);
        return value + fixed_of(link) * y;
    }
    [[nodiscard]] CostCurve::Value mix(const CostCurve::Value& marginal, const CostCurve::Value& own) const {
        return {social * marginal.cost + (1.0 - social) * own.cost,
                social * marginal.slope + (1.0 - social) * own.slope};
    }
};

}  // namespace privroute

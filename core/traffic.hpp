// Flows and costs of the reduced network's links, kept in step while trips are shifted from path to path.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "graph.hpp"
#include "latency.hpp"
#include "weighing.hpp"

namespace privroute {

struct Traffic {
    std::vector<CostCurve> curve;
    std::vector<CostCurve> own;      // the equilibrium's curves where both are mixed, else empty
    std::vector<double> fixed_cost;  // by link of the reduced network; empty: none
    Weighing weighing;               // its costs by network link are not used here
    std::vector<double> fixed;       // flow that no shift touches: background traffic and trips whose link is given
    std::vector<double> flow;        // fixed and routed
    std::vector<double> cost;        // at flow
    std::vector<double> slope;       // derivative of cost at flow
    bool any_steep;
    bool all_straight;
    bool any_kinked;  // ramps are in place of jumps: kinks.hpp

    Traffic(std::vector<CostCurve> curves, std::vector<CostCurve> own_curves, std::vector<double> fixed_costs,
            const Weighing& weights, std::vector<double> fixed_flow)
        : curve(std::move(curves)),
          own(std::move(own_curves)),
          fixed_cost(std::move(fixed_costs)),
          weighing(weights),
          fixed(std::move(fixed_flow)),
          flow(fixed),
          cost(curve.size()),
          slope(curve.size()),
          any_steep(std::any_of(curve.begin(), curve.end(), [](const CostCurve& c) { return c.steep(); })),
          all_straight(std::all_of(curve.begin(), curve.end(), [](const CostCurve& c) { return c.straight(); })),
          any_kinked(std::any_of(curve.begin(), curve.end(), [](const CostCurve& c) { return c.kinked(); })) {
        refresh();
    }

    // Cost and its derivative at a flow.
    [[nodiscard]] CostCurve::Value at(std::size_t link, double y) const {
        CostCurve::Value value = curve[link].at(y);
        if (!own.empty()) value = weighing.mix(value, own[link].at(y));
        if (!fixed_cost.empty()) value.cost += fixed_cost[link];
        return value;
    }
    void refresh(Link link) {
        const auto [value, derivative] = at(static_cast<std::size_t>(link), flow[link]);
        cost[link] = value;
        slope[link] = derivative;
    }
    void refresh() {
        for (std::size_t link = 0; link < curve.size(); ++link) refresh(static_cast<Link>(link));
    }
    void add(Link link, double amount) {
        flow[link] += amount;
        refresh(link);
    }
};

}  // namespace privroute

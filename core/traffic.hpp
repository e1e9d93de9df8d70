// Flows and costs of the reduced network's links, kept in step while trips are shifted from path to path.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "graph.hpp"
#include "latency.hpp"

namespace privroute {

struct Traffic {
    std::vector<CostCurve> curve;
    std::vector<double> fixed;  // flow that no shift touches: background traffic and trips whose link is given
    std::vector<double> flow;   // fixed and routed
    std::vector<double> cost;   // at flow
    std::vector<double> slope;  // derivative of cost at flow
    bool any_steep;
    bool all_straight;

    Traffic(std::vector<CostCurve> curves, std::vector<double> fixed_flow)
        : curve(std::move(curves)),
          fixed(std::move(fixed_flow)),
          flow(fixed),
          cost(curve.size()),
          slope(curve.size()),
          any_steep(std::any_of(curve.begin(), curve.end(), [](const CostCurve& c) { return c.steep(); })),
          all_straight(std::all_of(curve.begin(), curve.end(), [](const CostCurve& c) { return c.straight(); })) {
        refresh();
    }

    void refresh(Link link) {
        const auto [value, derivative] = curve[link].at(flow[link]);
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

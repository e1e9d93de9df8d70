// Kinks: links whose marginal cost jumps (straight pieces), and a certificate that holds for them.
//
// Where t jumps at flow q from `below` to `above`, every price g between them belongs to q. The solver needs costs
// without jumps, so it sees a ramp of some width around q, and the ramp is moved until flow q itself has the price that
// the optimum asks for. This is the method of multipliers (Hestenes, Powell 1969): `share`, the part of the jump that
// lies below q, is the multiplier, and flows reach q exactly although the ramp stays wide.
//
// The certificate needs none of this. For any prices g and all flows y' of the demand, by convexity,
//
//     sum C(y') >= sum_e [C_e(q_e) - g_e q_e + g_e background_e] + sum_w demand_w (shortest path of w at prices g)
//
// if g_e is a subgradient of C_e at q_e. So sum C(y) is above the least by at most the usual gap at prices g, plus the
// slack C(y) - C(q) - g (y - q) >= 0 of every link; it is zero where y = q.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "traffic.hpp"

namespace privroute {

struct KinkPrice {
    double cost;   // g
    double slack;  // of this link at its flow
};

// The price of a link at flow y. `traffic` has ramps where the curves jump.
[[nodiscard]] inline KinkPrice price(const Traffic& traffic, std::size_t link, double y) {
    const CostCurve& curve = traffic.curve[link];
    if (!curve.kinked()) return {traffic.at(link, y).cost, 0.0};
    const CostCurve::Kink kink = curve.kink(y);
    if (!kink.inside) return {traffic.at(link, y).cost, 0.0};
    double cost = std::clamp(curve.at(y).cost, kink.below, kink.above);
    const double bare = curve.hard().at(y).cost, away = y - kink.flow;
    double slack = away < 0.0 ? -away * (cost - 0.5 * (bare + kink.below)) : away * (0.5 * (bare + kink.above) - cost);
    if (!traffic.own.empty()) {
        const double there = traffic.own[link].at(kink.flow).cost, here = traffic.own[link].at(y).cost;
        const double social = traffic.weighing.social;
        cost = social * cost + (1.0 - social) * there;
        slack = social * slack + (1.0 - social) * 0.5 * (here - there) * away;
    }
    if (!traffic.fixed_cost.empty()) cost += traffic.fixed_cost[link];
    return {cost, std::max(slack, 0.0)};
}

// Moves the ramp of every kinked link so that the kink has the price that its flow has now.
inline void move_ramps(Traffic& traffic, double width) {
    for (std::size_t link = 0; link < traffic.curve.size(); ++link) {
        CostCurve& curve = traffic.curve[link];
        if (!curve.kinked()) continue;
        const double y = traffic.flow[link];
        const CostCurve::Kink kink = curve.kink(y);
        const double cost = curve.at(y).cost;
        curve.soften(width, y, std::clamp((cost - kink.below) / (kink.above - kink.below), 0.0, 1.0));
    }
    traffic.refresh();
}

// The slack of all links together.
[[nodiscard]] inline double kink_slack(const Traffic& traffic) {
    double slack = 0.0;
    for (std::size_t link = 0; link < traffic.curve.size(); ++link)
        slack += price(traffic, link, traffic.flow[link]).slack;
    return slack;
}

}  // namespace privroute

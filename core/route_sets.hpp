// Route sets: for each pair the few links that it may use, an acyclic graph from its origin to its destination.
//
// Entries start[w] to start[w + 1] of `link` are pair w's, in topological order. Unit flows on them, and whatever else
// is one number for each pair and link of its set, have the same entries.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "graph.hpp"

namespace privroute {

struct RouteSetsView {
    std::span<const std::int64_t> start;
    std::span<const Link> link;

    [[nodiscard]] std::size_t pairs() const { return start.size() - 1; }
    [[nodiscard]] std::size_t first(std::size_t pair) const { return static_cast<std::size_t>(start[pair]); }
    [[nodiscard]] std::size_t last(std::size_t pair) const { return static_cast<std::size_t>(start[pair + 1]); }
    [[nodiscard]] std::size_t at(std::size_t entry) const { return static_cast<std::size_t>(link[entry]); }
};

struct RouteSets {
    std::vector<std::int64_t> start{0};
    std::vector<Link> link;
};

// A link of cost c from a to b is in the set of (o, d) if it leads nearer to d, from_o(a) + c + to_d(b) is at most
// `detour` times the least cost from o to d, and some path from o within the set reaches a. Costs are positive. A pair
// without a path has no entries.
RouteSets build_route_sets(const Graph& graph, std::span<const double> cost, std::span<const Node> origin,
                           std::span<const Node> destination, double detour);

// load[e] += sum over pairs of rate x, each product rounded to whole units of 1/per_unit: sums do not depend on an
// order.
inline void add_route_load(const RouteSetsView& sets, std::span<const double> flow, std::span<const double> rate,
                           double per_unit, std::span<std::int64_t> load) {
    for (std::size_t w = 0; w < sets.pairs(); ++w) {
        if (rate[w] == 0.0) continue;
        for (std::size_t k = sets.first(w); k < sets.last(w); ++k)
            load[sets.at(k)] += std::llrint(rate[w] * flow[k] * per_unit);
    }
}

// x <- keep x - rate price.
inline void step_on_routes(const RouteSetsView& sets, std::span<double> flow, std::span<const double> rate,
                           std::span<const double> price, double keep) {
    for (std::size_t w = 0; w < sets.pairs(); ++w)
        for (std::size_t k = sets.first(w); k < sets.last(w); ++k)
            flow[k] = keep * flow[k] - rate[w] * price[sets.at(k)];
}

// By pair: the largest sum over a path of value - less_w minus. Sets are acyclic.
std::vector<double> heaviest_paths(const Graph& graph, const RouteSetsView& sets, std::span<const double> value,
                                   std::span<const double> minus, std::span<const double> less);

// By entry: whether every path of the pair uses the link, so that its flow is 1 in every unit flow. Sets are acyclic.
std::vector<std::uint8_t> forced_entries(const Graph& graph, const RouteSetsView& sets);

// By pair: sum over its links, forced ones left out, of (|cost - (p[head] - p[tail])| + spread)^2 inverse, for
// potentials p that make it small. Any p gives an upper bound of the least such sum; damped sweeps of Jacobi on the sum
// without `spread` find these.
std::vector<double> cost_spreads(const Graph& graph, const RouteSetsView& sets, std::span<const double> cost,
                                 std::span<const double> spread, std::span<const double> inverse,
                                 std::span<const std::uint8_t> forced, int sweeps);

}  // namespace privroute

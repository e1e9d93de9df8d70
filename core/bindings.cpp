// The Python face of the core: arrays in, arrays out. Callers have checked every argument (privroute.network).
#include <nanobind/nanobind.h>

#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "graph.hpp"
#include "shortest_path.hpp"

namespace privroute {
namespace {

// (pairs,) cost of a shortest path for each pair, infinity where there is none. One search serves a run of pairs
// with the same origin, so callers keep pairs grouped by origin.
Owned<double> pair_costs(const Array<Node>& tail, const Array<Node>& head, const Array<std::uint8_t>& no_through,
                         const Array<double>& cost, const Array<Node>& origin, const Array<Node>& destination) {
    std::vector<double> costs(origin.size());
    {
        nb::gil_scoped_release unlocked;
        const Graph graph(view(tail), view(head), view(no_through));
        ShortestPaths search(graph);
        for (std::size_t pair = 0; pair < costs.size(); ++pair) {
            if (pair == 0 || origin.data()[pair] != origin.data()[pair - 1]) search.run(view(cost), origin.data()[pair]);
            costs[pair] = search.distance[static_cast<std::size_t>(destination.data()[pair])];
        }
    }
    return give(std::move(costs));
}

}  // namespace
}  // namespace privroute

NB_MODULE(_core, module) {
    using namespace nanobind::literals;
    module.doc() = "Compiled kernels of privroute; tests/reference has their readable twins.";
    module.def("pair_costs", &privroute::pair_costs, "tail"_a, "head"_a, "no_through"_a, "cost"_a, "origin"_a,
               "destination"_a);
    privroute::bind_assignment(module);
    privroute::bind_places(module);
    privroute::bind_policy(module);
    privroute::bind_projection(module);
    privroute::bind_trips(module);
}

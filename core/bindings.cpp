// The Python face of the core: arrays in, arrays out. Callers have checked every argument (privroute.network).
#include <nanobind/nanobind.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "graph.hpp"
#include "parallel.hpp"
#include "reachability.hpp"
#include "shortest_path.hpp"
#include "trip_table.hpp"

namespace privroute {
namespace {

// (pairs,) cost of a shortest path for each pair, infinity where there is none. One search serves a run of pairs
// with the same origin, so callers keep pairs grouped by origin.
Owned<double> pair_costs(const Array<Node>& tail, const Array<Node>& head, const Array<std::uint8_t>& no_through,
                         const Array<double>& cost, const Array<Node>& origin, const Array<Node>& destination,
                         int threads) {
    std::vector<double> costs(origin.size());
    {
        nb::gil_scoped_release unlocked;
        const Graph graph(view(tail), view(head), view(no_through));
        std::vector<std::size_t> runs;
        for (std::size_t pair = 0; pair < costs.size(); ++pair)
            if (pair == 0 || origin.data()[pair] != origin.data()[pair - 1]) runs.push_back(pair);
        // Starting a thread takes as long as some thousand labels.
        constexpr std::size_t worthwhile = 50'000;
        const int useful = runs.size() * graph.nodes() < worthwhile ? 1 : std::max(threads, 1);
        std::vector<ShortestPaths> searches(static_cast<std::size_t>(useful), ShortestPaths(graph));
        parallel_for(runs.size(), useful, [&](std::size_t worker, std::size_t run) {
            ShortestPaths& search = searches[worker];
            search.run(view(cost), origin.data()[runs[run]]);
            const std::size_t end = run + 1 < runs.size() ? runs[run + 1] : costs.size();
            for (std::size_t pair = runs[run]; pair < end; ++pair)
                costs[pair] = search.distance[static_cast<std::size_t>(destination.data()[pair])];
        });
    }
    return give(std::move(costs));
}

bool joined(const Array<Node>& tail, const Array<Node>& head, const Array<std::uint8_t>& no_through,
            const Array<Node>& origin, const Array<Node>& destination) {
    nb::gil_scoped_release unlocked;
    return joined_by_a_hub(Graph(view(tail), view(head), view(no_through)), view(origin), view(destination));
}

// origin, destination, trips; None for a table that is not plain.
nb::object trip_table(const nb::bytes& text, std::size_t from) {
    TripTable table;
    bool plain = false;
    const std::string_view all(text.c_str(), text.size());
    {
        nb::gil_scoped_release unlocked;
        plain = from <= all.size() && TripTableReader(all.substr(from)).read(table);
    }
    if (!plain) return nb::none();
    return nb::make_tuple(give(std::move(table.origin)), give(std::move(table.destination)), give(std::move(table.trips)));
}

}  // namespace
}  // namespace privroute

NB_MODULE(_core, module) {
    using namespace nanobind::literals;
    module.doc() = "Compiled kernels of privroute; tests/reference has their readable twins.";
    module.def("pair_costs", &privroute::pair_costs, "tail"_a, "head"_a, "no_through"_a, "cost"_a, "origin"_a,
               "destination"_a, "threads"_a = 1);
    module.def("joined_by_a_hub", &privroute::joined, "tail"_a, "head"_a, "no_through"_a, "origin"_a, "destination"_a);
    module.def("trip_table", &privroute::trip_table, "text"_a, "begin"_a);
    privroute::bind_assignment(module);
    privroute::bind_bushes(module);
    privroute::bind_policy(module);
    privroute::bind_projection(module);
    privroute::bind_text(module);
    privroute::bind_trips(module);
}

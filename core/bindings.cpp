// The Python face of the core: arrays in, arrays out. Callers have checked every argument (privroute.network).
#include "bindings.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <vector>

#include "arrays.hpp"
#include "graph.hpp"
#include "gravity.hpp"
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

GravityPairs gravity_pairs(const Array<std::int32_t>& origin, const Array<std::int32_t>& destination,
                           const Array<double>& decay) {
    if (origin.size() != decay.size() || destination.size() != decay.size())
        throw std::invalid_argument("the arrays of a gravity model differ in length");
    return {view(origin), view(destination), view(decay)};
}

// Factors of rows and of columns.
nb::tuple gravity_factors(const Array<std::int32_t>& origin, const Array<std::int32_t>& destination,
                          const Array<double>& decay, const Array<double>& rows, const Array<double>& columns,
                          const Array<double>& factor_in, int steps, double tolerance, double largest) {
    const GravityPairs pairs = gravity_pairs(origin, destination, decay);
    std::vector<double> out, in(factor_in.data(), factor_in.data() + factor_in.size());
    {
        nb::gil_scoped_release unlocked;
        balance(pairs, view(rows), view(columns), steps, tolerance, largest, out, in);
    }
    return nb::make_tuple(give(std::move(out)), give(std::move(in)));
}

// Sums of the model and of the model times a value, over all pairs.
std::tuple<double, double> gravity_totals(const Array<std::int32_t>& origin, const Array<std::int32_t>& destination,
                                          const Array<double>& decay, const Array<double>& factor_out,
                                          const Array<double>& factor_in, const Array<double>& value) {
    const GravityPairs pairs = gravity_pairs(origin, destination, decay);
    nb::gil_scoped_release unlocked;
    double total = 0.0, weighted = 0.0;
    for (std::size_t p = 0; p < pairs.decay.size(); ++p) {
        const double g = factor_out.data()[pairs.origin[p]] * pairs.decay[p] * factor_in.data()[pairs.destination[p]];
        total += g;
        weighted += g * value.data()[p];
    }
    return {total, weighted};
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
    return nb::make_tuple(give(std::move(table.origin)), give(std::move(table.destination)),
                          give(std::move(table.trips)));
}

}  // namespace
}  // namespace privroute

NB_MODULE(_core, module) {
    using namespace nanobind::literals;
    // A policy that lives until the interpreter ends is no leak.
    nanobind::set_leak_warnings(false);
    module.doc() = "Compiled kernels of privroute; tests/reference has their readable twins.";
    module.def("pair_costs", &privroute::pair_costs, "tail"_a, "head"_a, "no_through"_a, "cost"_a, "origin"_a,
               "destination"_a, "threads"_a = 1);
    module.def("joined_by_a_hub", &privroute::joined, "tail"_a, "head"_a, "no_through"_a, "origin"_a, "destination"_a);
    module.def("trip_table", &privroute::trip_table, "text"_a, "begin"_a);
    module.def("gravity_factors", &privroute::gravity_factors, "origin"_a, "destination"_a, "decay"_a, "rows"_a,
               "columns"_a, "factor_in"_a, "steps"_a, "tolerance"_a, "largest"_a);
    module.def("gravity_totals", &privroute::gravity_totals, "origin"_a, "destination"_a, "decay"_a, "factor_out"_a,
               "factor_in"_a, "value"_a);
    privroute::bind_assignment(module);
    privroute::bind_places(module);
    privroute::bind_bushes(module);
    privroute::bind_policy(module);
    privroute::bind_projection(module);
    privroute::bind_routes(module);
    privroute::bind_text(module);
    privroute::bind_trips(module);
}

// Python face of route sets.
#include <nanobind/nanobind.h>

#include <cstdint>

#include "arrays.hpp"
#include "bindings.hpp"
#include "decomposition.hpp"
#include "route_sets.hpp"

namespace privroute {
namespace {

using namespace nb::literals;

template <typename T>
using Changed = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

RouteSetsView sets_of(const Array<std::int64_t>& start, const Array<Link>& link) { return {view(start), view(link)}; }

nb::tuple build_py(const Array<Node>& tail, const Array<Node>& head, const Array<std::uint8_t>& no_through,
                   const Array<double>& cost, const Array<Node>& origin, const Array<Node>& destination,
                   double detour) {
    RouteSets sets;
    {
        nb::gil_scoped_release unlocked;
        sets = build_route_sets(Graph(view(tail), view(head), view(no_through)), view(cost), view(origin),
                                view(destination), detour);
    }
    return nb::make_tuple(give(std::move(sets.start)), give(std::move(sets.link)));
}

void load_py(const Array<std::int64_t>& start, const Array<Link>& link, const Array<double>& flow,
             const Array<double>& rate, double per_unit, const Changed<std::int64_t>& load) {
    nb::gil_scoped_release unlocked;
    add_route_load(sets_of(start, link), view(flow), view(rate), per_unit, {load.data(), load.size()});
}

void step_py(const Array<std::int64_t>& start, const Array<Link>& link, const Changed<double>& flow,
             const Array<double>& rate, const Array<double>& price, double keep) {
    nb::gil_scoped_release unlocked;
    step_on_routes(sets_of(start, link), {flow.data(), flow.size()}, view(rate), view(price), keep);
}

Owned<double> heaviest_py(const Array<Node>& tail, const Array<Node>& head, const Array<std::uint8_t>& no_through,
                          const Array<std::int64_t>& start, const Array<Link>& link, const Array<double>& value,
                          const Array<double>& minus, const Array<double>& less) {
    std::vector<double> found;
    {
        nb::gil_scoped_release unlocked;
        found = heaviest_paths(Graph(view(tail), view(head), view(no_through)), sets_of(start, link), view(value),
                               view(minus), view(less));
    }
    return give(std::move(found));
}

Owned<double> spreads_py(const Array<Node>& tail, const Array<Node>& head, const Array<std::uint8_t>& no_through,
                         const Array<std::int64_t>& start, const Array<Link>& link, const Array<double>& cost,
                         const Array<double>& spread, const Array<double>& inverse, const Array<std::uint8_t>& forced,
                         int sweeps) {
    std::vector<double> found;
    {
        nb::gil_scoped_release unlocked;
        found = cost_spreads(Graph(view(tail), view(head), view(no_through)), sets_of(start, link), view(cost),
                             view(spread), view(inverse), view(forced), sweeps);
    }
    return give(std::move(found));
}

Owned<std::uint8_t> forced_py(const Array<Node>& tail, const Array<Node>& head, const Array<std::uint8_t>& no_through,
                              const Array<std::int64_t>& start, const Array<Link>& link) {
    std::vector<std::uint8_t> found;
    {
        nb::gil_scoped_release unlocked;
        found = forced_entries(Graph(view(tail), view(head), view(no_through)), sets_of(start, link));
    }
    return give(std::move(found));
}

// As decompose, from flows on route sets.
nb::tuple decompose_routes_py(const Array<Node>& tail, const Array<Node>& head, const Array<std::uint8_t>& no_through,
                              const Array<Node>& origin, const Array<Node>& destination,
                              const Array<std::int64_t>& start, const Array<Link>& link, const Array<double>& flow,
                              double smallest) {
    Policy policy;
    std::int64_t lost = -1;
    {
        nb::gil_scoped_release unlocked;
        const Graph graph(view(tail), view(head), view(no_through));
        const RouteSetsView sets = sets_of(start, link);
        Decomposition decomposition(graph);
        policy.pair_start.push_back(0);
        policy.path_start.push_back(0);
        std::vector<double> row(graph.links(), 0.0);
        for (std::size_t w = 0; w < sets.pairs() && lost < 0; ++w) {
            for (std::size_t k = sets.first(w); k < sets.last(w); ++k) row[sets.at(k)] = flow.data()[k];
            if (!decomposition.run(row, origin.data()[w], destination.data()[w], smallest, policy))
                lost = static_cast<std::int64_t>(w);
            for (std::size_t k = sets.first(w); k < sets.last(w); ++k) row[sets.at(k)] = 0.0;
        }
    }
    return nb::make_tuple(give(std::move(policy.pair_start)), give(std::move(policy.path_start)),
                          give(std::move(policy.links)), give(std::move(policy.probability)), lost);
}

}  // namespace

void bind_routes(nb::module_& module) {
    module.def("build_route_sets", &build_py, "tail"_a, "head"_a, "no_through"_a, "cost"_a, "origin"_a, "destination"_a,
               "detour"_a);
    module.def("add_route_load", &load_py, "start"_a, "link"_a, "flow"_a, "rate"_a, "per_unit"_a, "load"_a);
    module.def("step_on_routes", &step_py, "start"_a, "link"_a, "flow"_a, "rate"_a, "price"_a, "keep"_a);
    module.def("heaviest_paths", &heaviest_py, "tail"_a, "head"_a, "no_through"_a, "start"_a, "link"_a, "value"_a,
               "minus"_a, "less"_a);
    module.def("cost_spreads", &spreads_py, "tail"_a, "head"_a, "no_through"_a, "start"_a, "link"_a, "cost"_a,
               "spread"_a, "inverse"_a, "forced"_a, "sweeps"_a);
    module.def("forced_entries", &forced_py, "tail"_a, "head"_a, "no_through"_a, "start"_a, "link"_a);
    module.def("decompose_routes", &decompose_routes_py, "tail"_a, "head"_a, "no_through"_a, "origin"_a,
               "destination"_a, "start"_a, "link"_a, "flow"_a, "smallest"_a);
}

}  // namespace privroute

// Python face of policies by origin: checking, sweeps and walks. Callers have checked starts, roots and pair positions.
#include <nanobind/nanobind.h>
#include <nanobind/stl/tuple.h>

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "bush_arrays.hpp"
#include "bush_check.hpp"
#include "bush_sweeps.hpp"
#include "bush_walks.hpp"
#include "sampling.hpp"

namespace privroute {
namespace {

using namespace nb::literals;

using Positions = Array<std::int64_t>;
using RouteArrays = std::tuple<Owned<std::int64_t>, Owned<Link>, Owned<double>>;  // start, links, probability

RouteArrays given(Routes&& routes) {
    return {give(std::move(routes.start)), give(std::move(routes.links)), give(std::move(routes.probability))};
}

std::tuple<std::int32_t, std::int64_t, std::int64_t> first_fault(const BushArrays& bushes, int threads) {
    nb::gil_scoped_release unlocked;
    const FirstBushFault found = first_bush_fault(bushes.view(), bushes.no_through(), bushes.origin(), threads);
    return {static_cast<std::int32_t>(found.fault), found.bush, found.at};
}

void needs(std::size_t found, std::size_t wanted) {
    if (found != wanted) throw std::invalid_argument("an array has another length than the policy needs");
}

Owned<double> load(const BushArrays& bushes, const Array<double>& rate, int threads) {
    needs(rate.size(), bushes.view().pairs());
    std::vector<double> flow;
    {
        nb::gil_scoped_release unlocked;
        flow = load_bushes(bushes.view(), view(rate), threads);
    }
    return give(std::move(flow));
}

Owned<double> expected(const BushArrays& bushes, const Array<double>& value, int threads) {
    needs(value.size(), bushes.view().head.size());
    std::vector<double> result;
    {
        nb::gil_scoped_release unlocked;
        result = sweep(bushes.view(), ExpectedValue{view(value)}, threads);
    }
    return give(std::move(result));
}

// (pairs,) each: least and greatest sum of a link value over the used routes.
nb::tuple route_range(const BushArrays& bushes, const Array<double>& value, double least_share, int threads) {
    needs(value.size(), bushes.view().head.size());
    std::vector<double> low, high;
    {
        nb::gil_scoped_release unlocked;
        for (const RouteRange::Value& one : sweep(bushes.view(), RouteRange{view(value), least_share}, threads)) {
            low.push_back(one.low);
            high.push_back(one.high);
        }
    }
    return nb::make_tuple(give(std::move(low)), give(std::move(high)));
}

Owned<double> likeliest(const BushArrays& bushes, int threads) {
    std::vector<double> result;
    {
        nb::gil_scoped_release unlocked;
        result = sweep(bushes.view(), Likeliest{}, threads);
    }
    return give(std::move(result));
}

// (pairs,) numbers of routes; 2^63 - 1 for all that are not smaller.
Owned<std::int64_t> route_counts(const BushArrays& bushes, int threads) {
    std::vector<std::int64_t> result;
    {
        nb::gil_scoped_release unlocked;
        const std::vector<std::uint64_t> counts = sweep(bushes.view(), RouteCount{}, threads);
        result.assign(counts.begin(), counts.end());
    }
    return give(std::move(result));
}

// Routes of all pairs, and their links, together.
std::tuple<double, double> totals(const BushArrays& bushes, int threads) {
    nb::gil_scoped_release unlocked;
    RouteLinks::Value total = RouteLinks::nothing;
    for (const RouteLinks::Value& one : sweep(bushes.view(), RouteLinks{}, threads))
        total = RouteLinks::joined(total, one);
    return {total.routes, total.links};
}

RouteArrays sample(const BushArrays& bushes, const Positions& pairs, std::uint64_t key, std::uint64_t stream) {
    Routes routes;
    {
        nb::gil_scoped_release unlocked;
        const Uniform uniform(key, stream);
        routes = walks(bushes.view(), view(pairs), [&](std::size_t draw) { return ChooseAtRandom(uniform.key(draw)); });
    }
    return given(std::move(routes));
}

Owned<std::int64_t> sample_numbers(const BushArrays& bushes, const Positions& pairs, std::uint64_t key,
                                   std::uint64_t stream) {
    std::vector<std::int64_t> result;
    {
        nb::gil_scoped_release unlocked;
        const std::vector<std::uint64_t> numbers = drawn_numbers(bushes.view(), view(pairs), Uniform(key, stream));
        result.assign(numbers.begin(), numbers.end());
    }
    return give(std::move(result));
}

// The route with number numbers[i] of pair pairs[i].
RouteArrays numbered(const BushArrays& bushes, const Positions& pairs, const Positions& numbers) {
    needs(numbers.size(), pairs.size());
    Routes routes;
    {
        nb::gil_scoped_release unlocked;
        routes = walks(bushes.view(), view(pairs),
                       [&](std::size_t i) { return ChooseByNumber(static_cast<std::uint64_t>(numbers.data()[i])); });
    }
    return given(std::move(routes));
}

// first, start, links, probability, number: entry i has the routes first[i] .. first[i + 1].
nb::tuple best(const BushArrays& bushes, const Positions& pairs, std::int64_t limit, int threads) {
    RoutesOfPairs found;
    {
        nb::gil_scoped_release unlocked;
        found = best_routes(bushes.view(), view(pairs), static_cast<std::size_t>(limit), threads);
    }
    return nb::make_tuple(give(std::move(found.first)), give(std::move(found.routes.start)),
                          give(std::move(found.routes.links)), give(std::move(found.routes.probability)),
                          give(std::move(found.number)));
}

// Adds x_w of the pairs to the rows of `flows`, which are zero.
void unit_flows(const BushArrays& bushes, const Positions& pairs,
                nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu> flows) {
    const BushesView policy = bushes.view();
    const std::size_t links = policy.head.size();
    needs(flows.shape(0), pairs.size());
    needs(flows.shape(1), links);
    double* out = flows.data();
    nb::gil_scoped_release unlocked;
    std::vector<double> load(policy.nodes, 0.0);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        const auto pair = static_cast<std::size_t>(pairs.data()[i]);
        load[static_cast<std::size_t>(policy.destination[pair])] = 1.0;
        send_back(policy, static_cast<std::size_t>(policy.bush_of_pair[pair]), load,
                  [&](Link link, double amount) { out[i * links + static_cast<std::size_t>(link)] = amount; });
    }
}

Owned<std::int64_t> users(const BushArrays& bushes) {
    std::vector<std::int64_t> result;
    {
        nb::gil_scoped_release unlocked;
        result = pairs_using(bushes.view());
    }
    return give(std::move(result));
}

}  // namespace

void bind_bushes(nb::module_& module) {
    nb::class_<BushArrays>(module, "Bushes")
        .def(nb::init<Array<Node>, Array<Node>, Array<std::uint8_t>, Array<Node>, Array<Node>, Array<Node>,
                      Array<std::int64_t>, Array<Link>, Array<std::int64_t>, Array<double>, Array<std::int32_t>>(),
             nb::kw_only(), "tail"_a, "head"_a, "no_through"_a, "origin"_a, "destination"_a, "root"_a, "link_start"_a,
             "links"_a, "share_start"_a, "share"_a, "bush_of_pair"_a)
        .def("first_fault", &first_fault, "threads"_a)
        .def("load", &load, "rate"_a, "threads"_a)
        .def("expected", &expected, "value"_a, "threads"_a)
        .def("route_range", &route_range, "value"_a, "least_share"_a, "threads"_a)
        .def("likeliest", &likeliest, "threads"_a)
        .def("route_counts", &route_counts, "threads"_a)
        .def("totals", &totals, "threads"_a)
        .def("sample", &sample, "pairs"_a, "key"_a, "stream"_a)
        .def("sample_numbers", &sample_numbers, "pairs"_a, "key"_a, "stream"_a)
        .def("numbered", &numbered, "pairs"_a, "numbers"_a)
        .def("best", &best, "pairs"_a, "limit"_a, "threads"_a)
        .def("unit_flows", &unit_flows, "pairs"_a, "flows"_a)
        .def("users", &users);
}

}  // namespace privroute

// The Python face of the core: arrays in, arrays out. Callers have checked every argument (privroute.network).
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <memory>
#include <span>

#include "graph.hpp"
#include "shortest_path.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace privroute {
namespace {

template <typename T>
using Array = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <typename T>
std::span<const T> view(const Array<T>& array) {
    return {array.data(), array.size()};
}

// (pairs,) cost of a shortest path for each pair, infinity where there is none. One search serves a run of pairs
// with the same origin, so callers keep pairs grouped by origin.
nb::ndarray<nb::numpy, double, nb::ndim<1>> pair_costs(const Array<Node>& tail, const Array<Node>& head,
                                                        const Array<std::uint8_t>& no_through,
                                                        const Array<double>& cost, const Array<Node>& origin,
                                                        const Array<Node>& destination) {
    const std::size_t pairs = origin.size();
    auto result = std::make_unique<double[]>(pairs);
    {
        nb::gil_scoped_release unlocked;
        const Graph graph(view(tail), view(head), view(no_through));
        ShortestPaths search(graph);
        for (std::size_t pair = 0; pair < pairs; ++pair) {
            if (pair == 0 || origin.data()[pair] != origin.data()[pair - 1]) search.run(view(cost), origin.data()[pair]);
            result[pair] = search.distance[static_cast<std::size_t>(destination.data()[pair])];
        }
    }
    double* data = result.release();
    nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<double*>(p); });
    return nb::ndarray<nb::numpy, double, nb::ndim<1>>(data, {pairs}, owner);
}

}  // namespace
}  // namespace privroute

NB_MODULE(_core, module) {
    module.doc() = "Compiled kernels of privroute; each has a readable twin in privroute.flows.reference.";
    module.def("pair_costs", &privroute::pair_costs, "tail"_a, "head"_a, "no_through"_a, "cost"_a, "origin"_a,
               "destination"_a);
}

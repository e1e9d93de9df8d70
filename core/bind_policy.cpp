// Python face of the policy kernels: checking, sampling, decomposing, loading.
#include <nanobind/nanobind.h>
#include <nanobind/stl/tuple.h>

#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "decomposition.hpp"
#include "graph.hpp"
#include "path_check.hpp"
#include "policy.hpp"
#include "sampling.hpp"

namespace privroute {
namespace {

using namespace nb::literals;

using Starts = Array<std::int64_t>;

std::tuple<std::int32_t, std::int64_t> first_fault_py(const Array<Node>& tail, const Array<Node>& head,
                                                      const Array<std::uint8_t>& no_through, const Array<Node>& origin,
                                                      const Array<Node>& destination, const Starts& pair_start,
                                                      const Starts& path_start, const Array<Link>& links,
                                                      const Array<double>& probability) {
    nb::gil_scoped_release unlocked;
    const Graph graph(view(tail), view(head), view(no_through));
    const PolicyView policy{view(pair_start), view(path_start), view(links), view(probability)};
    const FirstFault found = first_fault(graph, view(origin), view(destination), policy);
    return {static_cast<std::int32_t>(found.fault), found.path};
}

Owned<std::int64_t> sample_paths_py(const Starts& pair_start, const Array<double>& probability, const Starts& pairs,
                                    std::uint64_t key, std::uint64_t stream) {
    std::vector<std::int64_t> chosen(pairs.size());
    {
        nb::gil_scoped_release unlocked;
        const PolicyView policy{view(pair_start), {}, {}, view(probability)};
        sample_paths(policy, view(pairs), Uniform(key, stream), chosen);
    }
    return give(std::move(chosen));
}

// The links of the given paths, one after the other, and where each begins.
std::tuple<Owned<std::int64_t>, Owned<Link>> gather_paths_py(const Starts& path_start, const Array<Link>& links,
                                                             const Starts& paths) {
    std::vector<std::int64_t> start(paths.size() + 1, 0);
    std::vector<Link> gathered;
    {
        nb::gil_scoped_release unlocked;
        const PolicyView policy{{}, view(path_start), view(links), {}};
        for (std::size_t i = 0; i < paths.size(); ++i)
            start[i + 1] =
                start[i] + static_cast<std::int64_t>(policy.path(static_cast<std::size_t>(paths.data()[i])).size());
        gathered.resize(static_cast<std::size_t>(start.back()));
        for (std::size_t i = 0; i < paths.size(); ++i) {
            const auto path = policy.path(static_cast<std::size_t>(paths.data()[i]));
            std::copy(path.begin(), path.end(), gathered.begin() + start[i]);
        }
    }
    return {give(std::move(start)), give(std::move(gathered))};
}

// sum_w rate_w x_w by link.
Owned<double> load_paths_py(const Starts& pair_start, const Starts& path_start, const Array<Link>& links,
                            const Array<double>& probability, const Array<double>& rate, std::size_t link_count) {
    std::vector<double> flow(link_count, 0.0);
    {
        nb::gil_scoped_release unlocked;
        const PolicyView policy{view(pair_start), view(path_start), view(links), view(probability)};
        for (std::size_t w = 0; w < policy.pairs(); ++w) {
            if (rate.data()[w] == 0.0) continue;
            for (std::int64_t i = policy.pair_start[w]; i < policy.pair_start[w + 1]; ++i) {
                const auto path = static_cast<std::size_t>(i);
                const double amount = rate.data()[w] * policy.probability[path];
                for (const Link link : policy.path(path)) flow[static_cast<std::size_t>(link)] += amount;
            }
        }
    }
    return give(std::move(flow));
}

// Expected sum of a link value over a pair's route, by pair.
Owned<double> expected_values_py(const Starts& pair_start, const Starts& path_start, const Array<Link>& links,
                                 const Array<double>& probability, const Array<double>& value) {
    std::vector<double> expected(pair_start.size() - 1, 0.0);
    {
        nb::gil_scoped_release unlocked;
        const PolicyView policy{view(pair_start), view(path_start), view(links), view(probability)};
        for (std::size_t w = 0; w < policy.pairs(); ++w)
            for (std::int64_t i = policy.pair_start[w]; i < policy.pair_start[w + 1]; ++i) {
                double sum = 0.0;
                for (const Link link : policy.path(static_cast<std::size_t>(i)))
                    sum += value.data()[static_cast<std::size_t>(link)];
                expected[w] += policy.probability[static_cast<std::size_t>(i)] * sum;
            }
    }
    return give(std::move(expected));
}

// Sparse arrays of the decomposed rows and the first pair without any path (-1: none).
nb::tuple decompose_py(const Array<Node>& tail, const Array<Node>& head, const Array<std::uint8_t>& no_through,
                       const Array<Node>& origin, const Array<Node>& destination, const Matrix<double>& flows,
                       double smallest) {
    Policy policy;
    std::int64_t lost = -1;
    {
        nb::gil_scoped_release unlocked;
        const Graph graph(view(tail), view(head), view(no_through));
        Decomposition decomposition(graph);
        policy.pair_start.push_back(0);
        policy.path_start.push_back(0);
        const std::size_t links = graph.links();
        for (std::size_t w = 0; w < origin.size() && lost < 0; ++w) {
            const std::span<const double> flow(flows.data() + w * links, links);
            if (!decomposition.run(flow, origin.data()[w], destination.data()[w], smallest, policy))
                lost = static_cast<std::int64_t>(w);
        }
    }
    return nb::make_tuple(give(std::move(policy.pair_start)), give(std::move(policy.path_start)),
                          give(std::move(policy.links)), give(std::move(policy.probability)), lost);
}

}  // namespace

void bind_policy(nb::module_& module) {
    module.def("first_fault", &first_fault_py, "tail"_a, "head"_a, "no_through"_a, "origin"_a, "destination"_a,
               "pair_start"_a, "path_start"_a, "links"_a, "probability"_a);
    module.def("sample_paths", &sample_paths_py, "pair_start"_a, "probability"_a, "pairs"_a, "key"_a, "stream"_a);
    module.def("gather_paths", &gather_paths_py, "path_start"_a, "links"_a, "paths"_a);
    module.def("load_paths", &load_paths_py, "pair_start"_a, "path_start"_a, "links"_a, "probability"_a, "rate"_a,
               "link_count"_a);
    module.def("expected_values", &expected_values_py, "pair_start"_a, "path_start"_a, "links"_a, "probability"_a,
               "value"_a);
    module.def("decompose", &decompose_py, "tail"_a, "head"_a, "no_through"_a, "origin"_a, "destination"_a, "flows"_a,
               "smallest"_a);
}

}  // namespace privroute

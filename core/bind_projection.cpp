// Python face of the projection.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "projection.hpp"

namespace privroute {
namespace {

using namespace nb::literals;

using Rows = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Column = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Ctrl-C: true when a Python signal handler has raised. Called without the GIL, from the calling thread.
bool interrupted() {
    const nb::gil_scoped_acquire locked;
    return PyErr_CheckSignals() != 0;
}

using Weights = std::optional<Array<double>>;

// The metric of these inverse weights (none: 1), with what the certificate needs of it.
ProjectionMetric metric_of(const ProjectionPlan& plan, const Weights& inverse) {
    const LaneGraph graph = plan.lanes();
    if (!inverse) return {nullptr, static_cast<double>(graph.nodes - 1), static_cast<double>(graph.all_links)};
    std::vector<double> weights;
    double total = 0.0, path = 0.0;
    for (std::int32_t e = 0; e < graph.all_links; ++e) total += 1.0 / inverse->data()[e];
    for (std::int32_t r = 0; r < graph.links; ++r) weights.push_back(1.0 / inverse->data()[graph.link_of_row[r]]);
    std::sort(weights.begin(), weights.end(), std::greater<>());
    for (std::size_t i = 0; i < weights.size() && i + 1 < static_cast<std::size_t>(graph.nodes); ++i)
        path += weights[i];
    return {inverse->data(), path, total};
}

std::tuple<std::int64_t, std::int64_t, std::int64_t> run(const ProjectionPlan& plan, const ProjectionRows& rows,
                                                         std::size_t count, int threads,
                                                         const std::string& instruction_set) {
    ProjectionOutcome outcome;
    {
        nb::gil_scoped_release unlocked;
        outcome = project_rows(plan, rows, static_cast<std::int64_t>(count), threads, instruction_set, interrupted);
    }
    if (outcome.stopped) throw nb::python_error();
    return {outcome.unusable, outcome.exact, outcome.scaled};
}

// Fills flows, potentials and error_bound; returns the first unusable row (-1: none) and the numbers of rows that went
// on to the exact solver and from there to scaling. flows may be the memory of points; potentials hold the start where
// `warm`.
std::tuple<std::int64_t, std::int64_t, std::int64_t> project_py(
    const ProjectionPlan& plan, const Array<Node>& origin, const Array<Node>& destination, const Matrix<double>& points,
    const Rows& flows, const Rows& potentials, const Column& error_bound, bool warm, double tolerance,
    double largest_point, int threads, const std::string& instruction_set, const Weights& inverse) {
    ProjectionRows rows{};
    rows.metric = metric_of(plan, inverse);
    rows.points = points.data();
    rows.potentials_in = warm ? potentials.data() : nullptr;
    rows.flows = flows.data();
    rows.potentials_out = potentials.data();
    rows.error_bound = error_bound.data();
    rows.origin = origin.data();
    rows.destination = destination.data();
    rows.tolerance = tolerance;
    rows.largest_point = largest_point;
    return run(plan, rows, origin.size(), threads, instruction_set);
}

// The same on route sets: `flows` are the points and become the flows, `hints` are the start and become the next one.
std::tuple<std::int64_t, std::int64_t, std::int64_t> project_routes_py(
    const ProjectionPlan& plan, const Array<Node>& origin, const Array<Node>& destination,
    const Array<std::int64_t>& start, const Array<Link>& link, bool acyclic, const Column& flows,
    const nb::ndarray<float, nb::ndim<1>, nb::c_contig, nb::device::cpu>& hints, const Column& error_bound,
    double tolerance, double largest_point, int threads, const std::string& instruction_set, const Weights& inverse) {
    ProjectionRows rows{};
    rows.metric = metric_of(plan, inverse);
    rows.acyclic = acyclic;
    rows.route_start = start.data();
    rows.route_link = link.data();
    rows.hints = hints.data();
    rows.points = rows.flows = flows.data();
    rows.error_bound = error_bound.data();
    rows.origin = origin.data();
    rows.destination = destination.data();
    rows.tolerance = tolerance;
    rows.largest_point = largest_point;
    return run(plan, rows, origin.size(), threads, instruction_set);
}

// Whether a path leads from every origin to its destination.
bool joined_py(ProjectionPlan& plan, const Array<Node>& origin, const Array<Node>& destination) {
    for (std::size_t k = 0; k < origin.size(); ++k)
        if (!plan.joined(origin.data()[k], destination.data()[k])) return false;
    return true;
}

}  // namespace

void bind_projection(nb::module_& module) {
    nb::class_<ProjectionPlan>(module, "ProjectionPlan")
        .def(
            "__init__",
            [](ProjectionPlan* self, const Array<Node>& tail, const Array<Node>& head,
               const Array<std::uint8_t>& no_through) {
                new (self) ProjectionPlan(view(tail), view(head), view(no_through));
            },
            "tail"_a, "head"_a, "no_through"_a)
        .def("joined", &joined_py, "origin"_a, "destination"_a)
        .def("project", &project_py, "origin"_a, "destination"_a, "points"_a, "flows"_a, "potentials"_a,
             "error_bound"_a, "warm"_a, "tolerance"_a, "largest_point"_a, "threads"_a, "instruction_set"_a,
             "inverse"_a.none())
        .def("project_routes", &project_routes_py, "origin"_a, "destination"_a, "start"_a, "link"_a, "acyclic"_a,
             "flows"_a, "hints"_a, "error_bound"_a, "tolerance"_a, "largest_point"_a, "threads"_a, "instruction_set"_a,
             "inverse"_a.none());
    module.def("instruction_sets", &instruction_sets);
}

}  // namespace privroute

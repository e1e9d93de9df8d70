// Python face of the projection.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

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

// Fills flows, potentials and error_bound; returns the first unusable row (-1: none) and the numbers of rows that went on
// to the exact solver and from there to scaling. flows may be the memory of points; potentials hold the start where `warm`.
std::tuple<std::int64_t, std::int64_t, std::int64_t> project_py(const ProjectionPlan& plan, const Array<Node>& origin,
                                                  const Array<Node>& destination, const Matrix<double>& points,
                                                  const Rows& flows, const Rows& potentials, const Column& error_bound,
                                                  bool warm, double tolerance, double largest_point, int threads,
                                                  const std::string& instruction_set) {
    ProjectionRows rows{};
    rows.points = points.data();
    rows.potentials_in = warm ? potentials.data() : nullptr;
    rows.flows = flows.data();
    rows.potentials_out = potentials.data();
    rows.error_bound = error_bound.data();
    rows.origin = origin.data();
    rows.destination = destination.data();
    rows.tolerance = tolerance;
    rows.largest_point = largest_point;
    ProjectionOutcome outcome;
    {
        nb::gil_scoped_release unlocked;
        outcome = project_rows(plan, rows, static_cast<std::int64_t>(origin.size()), threads, instruction_set, interrupted);
    }
    if (outcome.stopped) throw nb::python_error();
    return {outcome.unusable, outcome.exact, outcome.scaled};
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
        .def("__init__",
             [](ProjectionPlan* self, const Array<Node>& tail, const Array<Node>& head,
                const Array<std::uint8_t>& no_through) {
                 new (self) ProjectionPlan(view(tail), view(head), view(no_through));
             },
             "tail"_a, "head"_a, "no_through"_a)
        .def("joined", &joined_py, "origin"_a, "destination"_a)
        .def("project", &project_py, "origin"_a, "destination"_a, "points"_a, "flows"_a, "potentials"_a, "error_bound"_a,
             "warm"_a, "tolerance"_a, "largest_point"_a, "threads"_a, "instruction_set"_a);
    module.def("instruction_sets", &instruction_sets);
}

}  // namespace privroute

// Python's way to the assignment: optimum and equilibrium.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <cstdint>
#include <exception>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "assignment.hpp"
#include "bindings.hpp"
#include "graph.hpp"
#include "latency.hpp"
#include "policy.hpp"

namespace privroute {
namespace {

const char* name(Status status) {
    switch (status) {
        case Status::converged:
            return "converged";
        case Status::iteration_limit:
            return "iteration_limit";
        case Status::time_limit:
            return "time_limit";
        case Status::interrupted:
            return "interrupted";
        case Status::stalled:
            return "stalled";
    }
    return "";
}

// Arrays of an earlier policy: pair_start, path_start, links, probability.
using PolicyArrays = std::tuple<Array<std::int64_t>, Array<std::int64_t>, Array<Link>, Array<double>>;

nb::dict assign_py(const Array<Node>& tail, const Array<Node>& head, const Array<std::uint8_t>& no_through,
                   const Array<double>& free_flow, const Array<double>& b, const Array<double>& capacity,
                   const Array<double>& power, const Array<double>& background, const Array<Node>& origin,
                   const Array<Node>& destination, const Array<double>& demand, bool equilibrium, double gap,
                   int max_iterations, double time_limit, int threads, const nb::object& progress,
                   const std::optional<PolicyArrays>& earlier) {
    Assignment result;
    std::exception_ptr failure;
    {
        nb::gil_scoped_release unlocked;
        const Graph network(view(tail), view(head), view(no_through));
        const Latency latency{view(free_flow), view(b), view(capacity), view(power)};
        const AssignmentProblem problem{network,      latency,           view(background),
                                        view(origin), view(destination), view(demand)};
        AssignmentOptions options;
        options.criterion = equilibrium ? Criterion::equilibrium : Criterion::optimum;
        options.gap = gap;
        options.max_iterations = max_iterations;
        options.time_limit = time_limit;
        options.threads = threads;
        // Also without a callback of the caller's: this is where Ctrl-C is noticed.
        options.progress = [&](int iteration, double reached, double seconds) {
            nb::gil_scoped_acquire locked;
            try {
                if (PyErr_CheckSignals() != 0) throw nb::python_error();
                if (progress.is_none()) return true;
                const nb::object answer = progress(iteration, reached, seconds);
                return answer.is_none() || nb::cast<bool>(answer);
            } catch (...) {
                failure = std::current_exception();
                return false;
            }
        };
        PolicyView start;
        if (earlier)
            start = {view(std::get<0>(*earlier)), view(std::get<1>(*earlier)), view(std::get<2>(*earlier)),
                     view(std::get<3>(*earlier))};
        result = assign(problem, options, start);
    }
    if (failure) std::rethrow_exception(failure);

    std::vector<std::int32_t> iteration;
    std::vector<double> report_gap, report_objective, report_seconds;
    for (const ReportRow& row : result.report) {
        iteration.push_back(row.iteration);
        report_gap.push_back(row.gap);
        report_objective.push_back(row.objective);
        report_seconds.push_back(row.seconds);
    }
    nb::dict report;
    report["iteration"] = give(std::move(iteration));
    report["relative_gap"] = give(std::move(report_gap));
    report["objective"] = give(std::move(report_objective));
    report["seconds"] = give(std::move(report_seconds));
    nb::dict out;
    out["status"] = name(result.status);
    out["iterations"] = result.iterations;
    out["relative_gap"] = result.relative_gap;
    out["objective"] = result.objective;
    out["link_flow"] = give(std::move(result.link_flow));
    out["pair_start"] = give(std::move(result.policy.pair_start));
    out["path_start"] = give(std::move(result.policy.path_start));
    out["links"] = give(std::move(result.policy.links));
    out["probability"] = give(std::move(result.policy.probability));
    out["report"] = report;
    return out;
}

}  // namespace

void bind_assignment(nb::module_& module) {
    using namespace nb::literals;
    module.def("assign", &assign_py, "tail"_a, "head"_a, "no_through"_a, "free_flow"_a, "b"_a, "capacity"_a, "power"_a,
               "background"_a, "origin"_a, "destination"_a, "demand"_a, nb::kw_only(), "equilibrium"_a = false,
               "gap"_a = 1e-8, "max_iterations"_a = 1000, "time_limit"_a = std::numeric_limits<double>::infinity(),
               "threads"_a = 1, "progress"_a = nb::none(), "earlier"_a = nb::none());
}

}  // namespace privroute

// Python's way to the assignment: optimum and equilibrium.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "assignment.hpp"
#include "bindings.hpp"
#include "bush_arrays.hpp"
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

// Arrays of an earlier policy as paths: pair_start, path_start, links, probability.
using PolicyArrays = std::tuple<Array<std::int64_t>, Array<std::int64_t>, Array<Link>, Array<double>>;

// The latency curves of all links, kept alive for as long as Python holds them.
class LatencyArrays {
public:
    LatencyArrays(Array<std::uint8_t> curve, Array<double> free_flow, Array<double> capacity, Matrix<double> parameters)
        : curve_(std::move(curve)),
          free_flow_(std::move(free_flow)),
          capacity_(std::move(capacity)),
          parameters_(std::move(parameters)) {
        const std::size_t links = curve_.size();
        if (free_flow_.size() != links || capacity_.size() != links || parameters_.shape(0) != links)
            throw std::invalid_argument("the arrays of a latency differ in length");
        for (const std::uint8_t number : privroute::view(curve_))
            if (number >= curve_table.size() || curve_table[number].parameters > parameters_.shape(1))
                throw std::invalid_argument("a curve is not in the core's table, or lacks parameters");
    }
    [[nodiscard]] Latency view() const {
        return {privroute::view(curve_),
                privroute::view(free_flow_),
                privroute::view(capacity_),
                {parameters_.data(), parameters_.size()},
                parameters_.shape(1)};
    }

private:
    Array<std::uint8_t> curve_;
    Array<double> free_flow_, capacity_;
    Matrix<double> parameters_;
};

// (links,) each: cost of a trip, its derivative, and the term of the objective, at the given flows.
nb::tuple evaluate(const LatencyArrays& arrays, const Array<double>& flow, bool equilibrium) {
    const Criterion criterion = equilibrium ? Criterion::equilibrium : Criterion::optimum;
    const Latency latency = arrays.view();
    if (flow.size() != latency.curve.size()) throw std::invalid_argument("one flow is needed for each link");
    std::vector<double> cost, slope, objective;
    for (std::size_t link = 0; link < flow.size(); ++link) {
        const double y = flow.data()[link];
        const CostCurve::Value value = latency.cost(link, criterion).at(y);
        cost.push_back(value.cost);
        slope.push_back(value.slope);
        objective.push_back(latency.objective(link, y, criterion));
    }
    return nb::make_tuple(give(std::move(cost)), give(std::move(slope)), give(std::move(objective)));
}

std::vector<std::tuple<std::string, std::size_t>> curves() {
    std::vector<std::tuple<std::string, std::size_t>> listed;
    for (const CurveEntry& entry : curve_table) listed.emplace_back(entry.name, entry.parameters);
    return listed;
}

nb::dict assign_py(const Array<Node>& tail, const Array<Node>& head, const Array<std::uint8_t>& no_through,
                   const LatencyArrays& latency_arrays, const Array<double>& background, const Array<Node>& origin,
                   const Array<Node>& destination, const Array<double>& demand, const Array<double>& fixed_cost,
                   double social, double gap, int max_iterations, double time_limit, int threads,
                   const nb::object& progress, const std::optional<PolicyArrays>& earlier,
                   const BushArrays* earlier_bushes) {
    Assignment result;
    std::exception_ptr failure;
    {
        nb::gil_scoped_release unlocked;
        const Graph network(view(tail), view(head), view(no_through));
        const Latency latency = latency_arrays.view();
        const AssignmentProblem problem{network,      latency,           view(background),
                                        view(origin), view(destination), view(demand)};
        AssignmentOptions options;
        options.weighing = {social, view(fixed_cost)};
        options.gap = gap;
        options.max_iterations = max_iterations;
        options.time_limit = time_limit;
        options.threads = threads;
        // Also without a callback of the caller's: this is where Ctrl-C is noticed.
        options.progress = [&](Phase phase, double share, double reached) {
            nb::gil_scoped_acquire locked;
            try {
                if (PyErr_CheckSignals() != 0) throw nb::python_error();
                if (progress.is_none()) return true;
                const nb::object answer = progress(static_cast<int>(phase), share, reached);
                return answer.is_none() || nb::cast<bool>(answer);
            } catch (...) {
                failure = std::current_exception();
                return false;
            }
        };
        Earlier start;
        if (earlier)
            start.paths = {view(std::get<0>(*earlier)), view(std::get<1>(*earlier)), view(std::get<2>(*earlier)),
                           view(std::get<3>(*earlier))};
        if (earlier_bushes != nullptr) start.bushes = earlier_bushes->view();
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
    out["link_cost"] = give(std::move(result.link_cost));
    nb::dict policy;
    policy["root"] = give(std::move(result.policy.root));
    policy["link_start"] = give(std::move(result.policy.link_start));
    policy["links"] = give(std::move(result.policy.links));
    policy["share_start"] = give(std::move(result.policy.share_start));
    policy["share"] = give(std::move(result.policy.share));
    policy["bush_of_pair"] = give(std::move(result.policy.bush_of_pair));
    out["policy"] = policy;
    out["report"] = report;
    return out;
}

}  // namespace

void bind_assignment(nb::module_& module) {
    using namespace nb::literals;
    nb::class_<LatencyArrays>(module, "Latency")
        .def(nb::init<Array<std::uint8_t>, Array<double>, Array<double>, Matrix<double>>(), nb::kw_only(), "curve"_a,
             "free_flow"_a, "capacity"_a, "parameters"_a)
        .def("evaluate", &evaluate, "flow"_a, nb::kw_only(), "equilibrium"_a = false);
    module.def("curves", &curves);
    module.def("assign", &assign_py, nb::kw_only(), "tail"_a, "head"_a, "no_through"_a, "latency"_a, "background"_a,
               "origin"_a, "destination"_a, "demand"_a, "fixed_cost"_a, "social"_a = 1.0, "gap"_a = 1e-8,
               "max_iterations"_a = 1000, "time_limit"_a = std::numeric_limits<double>::infinity(), "threads"_a = 1,
               "progress"_a = nb::none(), "earlier"_a = nb::none(), "earlier_bushes"_a = nb::none());
}

}  // namespace privroute

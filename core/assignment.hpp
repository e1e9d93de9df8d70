// System optimum and Wardrop equilibrium, as link flows and as a policy for every pair.
//
//     optimum:      minimise  sum_e y_e f_e(y_e)
//     equilibrium:  minimise  sum_e int_0^{y_e} f_e
//     between:      minimise  a weighted mean of both; costs that are not time are added (weighing.hpp)
//     over          y = background + sum_w demand_w x_w,   x_w a unit flow from origin to destination of pair w
//
// Solved by a variant of Algorithm B (Dial 2006) on the reduced graph (reduction.hpp): one bush per source; in turn the
// bushes are renewed (bush_update.hpp) and equilibrated (equilibration.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "graph.hpp"
#include "latency.hpp"
#include "policy.hpp"
#include "policy_bushes.hpp"
#include "weighing.hpp"

namespace privroute {

enum class Status : std::uint8_t { converged, iteration_limit, time_limit, interrupted, stalled };

// What the solver is at. The share of `solving` is not known beforehand: it is told by the gap.
enum class Phase : std::uint8_t { starting = 0, solving = 1, extracting = 2 };

struct AssignmentProblem {
    const Graph& network;
    const Latency& latency;
    std::span<const double> background;  // by link
    std::span<const Node> origin;        // by pair
    std::span<const Node> destination;
    std::span<const double> demand;
};

struct AssignmentOptions {
    Weighing weighing;
    double gap = 1e-8;  // relative: TSTT / SPTT - 1
    int max_iterations = 1000;
    double time_limit = std::numeric_limits<double>::infinity();  // seconds
    int threads = 1;
    // Called now and then with (phase, share of the phase that is done, gap) from the thread that solves; false stops.
    std::function<bool(Phase, double, double)> progress;
};

struct ReportRow {
    int iteration;
    double gap;
    double objective;
    double seconds;
};

struct Assignment {
    Status status = Status::converged;
    int iterations = 0;
    double relative_gap = 0.0;  // of policy times demand, with shortest paths sought afresh
    double objective = 0.0;
    std::vector<double> link_flow;  // policy times demand, without background
    std::vector<double> link_cost;  // prices of the certificate; at a kink one between the costs beside it
    std::vector<ReportRow> report;
    PolicyBushes policy;
};

// A policy for the same pairs to start from, in one of its two forms; empty for none.
struct Earlier {
    PolicyView paths;
    BushesView bushes;
};

// Every pair has a path.
Assignment assign(const AssignmentProblem& problem, const AssignmentOptions& options, const Earlier& earlier = {});

}  // namespace privroute

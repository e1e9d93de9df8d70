// The kernels of the core without Python, for machines on which no Python is at hand (make aarch64): the optimum of a
// grid network satisfies its own certificate, and projections by every instruction set are unit flows that agree.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "../../core/assignment.hpp"
#include "../../core/projection.hpp"

namespace {

using namespace privroute;

int failures = 0;

void check(bool good, const char* what) {
    if (!good) {
        std::printf("FAILED: %s\n", what);
        ++failures;
    }
}

// Numbers between 0 and 1 that are the same everywhere.
double number(std::uint64_t& state) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<double>(state >> 11) * 0x1p-53;
}

}  // namespace

int main() {
    constexpr Node side = 6;
    std::vector<Node> tail, head;
    const auto both = [&](Node a, Node b) {
        tail.insert(tail.end(), {a, b});
        head.insert(head.end(), {b, a});
    };
    for (Node row = 0; row < side; ++row)
        for (Node column = 0; column < side; ++column) {
            const Node node = row * side + column;
            if (column + 1 < side) both(node, node + 1);
            if (row + 1 < side) both(node, node + side);
        }
    const std::size_t links = tail.size(), nodes = static_cast<std::size_t>(side * side);
    std::uint64_t state = 7;
    std::vector<double> free_flow(links), capacity(links), parameters(2 * links), background(links, 0.0);
    const std::vector<std::uint8_t> curve(links, static_cast<std::uint8_t>(Curve::bpr)), open(nodes, 0);
    for (std::size_t e = 0; e < links; ++e) {
        free_flow[e] = 1.0 + number(state);
        capacity[e] = 2.0 + 3.0 * number(state);
        parameters[2 * e] = 0.15;
        parameters[2 * e + 1] = e % 2 ? 4.0 : 1.0;
    }
    std::vector<Node> origin, destination;
    std::vector<double> demand;
    for (Node o = 0; o < side * side; o += 5)
        for (Node d = 2; d < side * side; d += 7)
            if (o != d) {
                origin.push_back(o);
                destination.push_back(d);
                demand.push_back(number(state));
            }

    const Graph graph(tail, head, open);
    const Latency latency{curve, free_flow, capacity, parameters, 2};
    AssignmentOptions options;
    options.gap = 1e-9;
    const Assignment found = assign({graph, latency, background, origin, destination, demand}, options);
    std::printf("optimum: objective %.15g, gap %.3g, %d sweeps\n", found.objective, found.relative_gap,
                found.iterations);
    check(found.status == Status::converged, "the optimum converges");
    check(found.relative_gap <= 1e-9, "the gap is what was asked for");
    std::vector<double> excess(nodes, 0.0);
    for (std::size_t e = 0; e < links; ++e) {
        excess[static_cast<std::size_t>(head[e])] += found.link_flow[e];
        excess[static_cast<std::size_t>(tail[e])] -= found.link_flow[e];
    }
    for (std::size_t w = 0; w < origin.size(); ++w) {
        excess[static_cast<std::size_t>(destination[w])] -= demand[w];
        excess[static_cast<std::size_t>(origin[w])] += demand[w];
    }
    for (const double rest : excess) check(std::abs(rest) < 1e-9, "what enters a node leaves it");

    const ProjectionPlan plan(tail, head, open);
    std::vector<double> points(origin.size() * links);
    for (double& value : points) value = number(state) - 0.3;
    std::vector<double> first;
    for (const std::string& name : instruction_sets()) {
        std::vector<double> flows(points.size()), potentials(origin.size() * nodes), bound(origin.size());
        ProjectionRows rows{};
        const LaneGraph lanes = plan.lanes();
        rows.metric = {nullptr, static_cast<double>(lanes.nodes - 1), static_cast<double>(lanes.all_links)};
        rows.points = points.data();
        rows.flows = flows.data();
        rows.potentials_out = potentials.data();
        rows.error_bound = bound.data();
        rows.origin = origin.data();
        rows.destination = destination.data();
        rows.tolerance = 1e-9;
        rows.largest_point = 1e6;
        const auto outcome =
            project_rows(plan, rows, static_cast<std::int64_t>(origin.size()), 1, name, [] { return false; });
        check(outcome.unusable < 0 && !outcome.stopped, "every row is projected");
        double worst = 0.0, apart = 0.0;
        for (const double value : bound) worst = std::max(worst, value);
        if (first.empty()) first = flows;
        for (std::size_t i = 0; i < flows.size(); ++i) apart = std::max(apart, std::abs(flows[i] - first[i]));
        std::printf("projection, %s: bound %.3g, from the first %.3g\n", name.c_str(), worst, apart);
        check(worst <= 1e-9, "the certificate meets the tolerance");
        check(apart <= 2e-9, "instruction sets agree");
    }
    std::printf(failures ? "%d failures\n" : "all good\n", failures);
    return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}

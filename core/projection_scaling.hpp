// The projection of one pair in whole numbers, by capacity scaling: the last resort. It always ends, and always within
// the tolerance (docs/proofs/projection.md, Theorem 3); no rounding enters.
#pragma once

#include <cstdint>
#include <vector>

#include "projection_plan.hpp"
#include "projection_problem.hpp"
#include "projection_row.hpp"

namespace privroute {

// Flows and points are multiples of 2^-52, weights of the metric whole numbers w (1, or multiples of weight_unit), and
// potentials have the unit of their products. For a grain d (a power of two) flows are multiples of d, and
// every link keeps |x - clip(z)| <= d/2, w z = w v + p[head] - p[tail]. A phase rounds all flows to such multiples and
// sends what is then too much at one node to one with too little, d at a time along shortest paths, until A x = b
// exactly; the next phase halves d.
class ScalingProjection {
public:
    explicit ScalingProjection(const ProjectionPlan& plan);

    // Solves row `row`, starting from potentials_out where they are of use, and writes flows, potentials and error
    // bound. False if `stop` asked for an end.
    bool run(const ProjectionRows& rows, std::int64_t row, bool (*stop)(void*), void* context);

private:
    using Wide = __int128;

    [[nodiscard]] Wide stretched(std::size_t link) const;
    void start();
    void close_gaps();
    double round_flows(std::int64_t grain);
    bool balance(std::int64_t grain, bool (*stop)(void*), void* context);
    bool send(std::int64_t grain);

    const LaneGraph graph_;
    const Graph& network_;
    std::vector<std::vector<std::int32_t>> entering_;  // links into each node
    ProjectionRow row_;
    double unit_of_weights_ = 1.0;
    std::vector<std::int32_t> open_;  // links that the pair may use
    std::vector<std::int64_t> flow_, weight_;
    std::vector<Wide> point_, potential_, excess_, distance_;
    std::vector<std::int32_t> by_;  // link on the shortest path to each node
    std::vector<std::uint8_t> settled_;
};

}  // namespace privroute

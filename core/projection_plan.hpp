// What the projection needs of a graph, worked out once: an elimination order, links in the order of the kernels, which
// links a pair may use, which pairs are joined by a path.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "elimination.hpp"
#include "graph.hpp"
#include "pendants.hpp"
#include "projection_problem.hpp"

namespace privroute {

class ProjectionPlan {
public:
    ProjectionPlan(std::span<const Node> tail, std::span<const Node> head, std::span<const std::uint8_t> no_through);

    [[nodiscard]] std::size_t nodes() const { return graph.nodes(); }
    [[nodiscard]] std::size_t links() const { return graph.links(); }

    // False if no path leads from origin to destination. Remembers one search per origin; callers hold the GIL.
    bool joined(Node origin, Node destination);

    // Rough seconds of one projection on one thread, to decide whether a second thread pays.
    [[nodiscard]] double expected_seconds() const;

    // The same as plain pointers, for kernels compiled for several instruction sets. Valid as long as the plan.
    [[nodiscard]] LaneGraph lanes() const;

    const Graph graph;

private:
    const InnerGraph inner_;

public:
    const Elimination elimination;  // of the inner graph

private:
    void order_links();

    // Links as rows: first the pairs of opposite links (two rows each), then single links, both by elimination order.
    std::vector<std::int32_t> lower_, upper_, slot_, link_of_row_;
    std::vector<std::int32_t> position_, node_, tail_position_, head_position_;
    std::vector<Link> restricted_links_;
    bool shared_slots_ = false;
    std::int32_t two_way_ = 0;
    std::int32_t largest_degree_ = 0;
    std::vector<std::vector<bool>> reached_;
};

}  // namespace privroute

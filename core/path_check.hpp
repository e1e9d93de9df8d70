// Whether every path of a policy is one that its pair may drive.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph.hpp"
#include "policy.hpp"

namespace privroute {

enum class PathFault : std::int32_t { none = 0, broken = 1, repeats_a_node = 2, passes_a_closed_node = 3 };

struct FirstFault {
    PathFault fault = PathFault::none;
    std::int64_t path = -1;
};

// Path i of pair w leads from origin[w] to destination[w], link after link, meets no node twice, and passes no
// no_through node. Returns the first path that does not.
inline FirstFault first_fault(const Graph& graph, std::span<const Node> origin, std::span<const Node> destination,
                              const PolicyView& policy) {
    std::vector<std::int64_t> seen_on(graph.nodes(), -1);
    for (std::size_t w = 0; w < policy.pairs(); ++w) {
        for (std::int64_t i = policy.pair_start[w]; i < policy.pair_start[w + 1]; ++i) {
            Node at = origin[w];
            seen_on[static_cast<std::size_t>(at)] = i;
            for (const Link link : policy.path(static_cast<std::size_t>(i))) {
                const auto e = static_cast<std::size_t>(link);
                if (graph.tail[e] != at) return {PathFault::broken, i};
                if (at != origin[w] && graph.no_through[static_cast<std::size_t>(at)])
                    return {PathFault::passes_a_closed_node, i};
                at = graph.head[e];
                auto& seen = seen_on[static_cast<std::size_t>(at)];
                if (seen == i) return {PathFault::repeats_a_node, i};
                seen = i;
            }
            if (at != destination[w]) return {PathFault::broken, i};
        }
    }
    return {};
}

}  // namespace privroute

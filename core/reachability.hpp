// A quick proof that paths join all pairs: they all lead over one node.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph.hpp"

namespace privroute {

// Whether each origin leads to a hub and the hub to each destination, over nodes that may be passed. True proves that
// every pair has a path; false says nothing.
inline bool joined_by_a_hub(const Graph& graph, std::span<const Node> origin, std::span<const Node> destination) {
    const auto at = [](auto i) { return static_cast<std::size_t>(i); };
    if (origin.empty()) return true;
    Node hub = -1;
    for (Link k = graph.out_start[at(origin[0])]; k < graph.out_start[at(origin[0]) + 1] && hub < 0; ++k)
        if (!graph.no_through[at(graph.out_head[at(k)])]) hub = graph.out_head[at(k)];
    if (hub < 0) return false;

    std::vector<Link> in_start(graph.nodes() + 1, 0), in_links(graph.links());
    for (const Node v : graph.head) ++in_start[at(v) + 1];
    for (std::size_t v = 0; v < graph.nodes(); ++v) in_start[v + 1] += in_start[v];
    std::vector<Link> next(in_start.begin(), in_start.end() - 1);
    for (std::size_t e = 0; e < graph.links(); ++e) in_links[at(next[at(graph.head[e])]++)] = static_cast<Link>(e);

    // Nodes that the search reaches; it goes on from those that may be passed.
    const auto reach = [&](const std::vector<Link>& start, const auto& other_end) {
        std::vector<std::uint8_t> reached(graph.nodes(), 0);
        std::vector<Node> stack{hub};
        reached[at(hub)] = 1;
        while (!stack.empty()) {
            const Node v = stack.back();
            stack.pop_back();
            if (graph.no_through[at(v)]) continue;
            for (Link k = start[at(v)]; k < start[at(v) + 1]; ++k) {
                const Node to = other_end(k);
                if (reached[at(to)]) continue;
                reached[at(to)] = 1;
                stack.push_back(to);
            }
        }
        return reached;
    };
    const auto from_hub = reach(graph.out_start, [&](Link k) { return graph.out_head[at(k)]; });
    const auto to_hub = reach(in_start, [&](Link k) { return graph.tail[at(in_links[at(k)])]; });
    for (std::size_t w = 0; w < origin.size(); ++w)
        if (!to_hub[at(origin[w])] || !from_hub[at(destination[w])]) return false;
    return true;
}

}  // namespace privroute

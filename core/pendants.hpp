// A graph without its pendants: nodes that hang on one other node by one link each way, as zones usually do.
//
// What such a node sends and receives is known beforehand, so the projection there has a closed form and the rest of
// the graph does not notice it. (A parent through which nothing may pass would need another rule, and is left as it
// is.) On Chicago Sketch 391 of 933 nodes and 782 of 2,950 links go.
#pragma once

#include <cstdint>
#include <vector>

#include "graph.hpp"
#include "projection_problem.hpp"

namespace privroute {

struct InnerGraph {
    std::vector<Pendant> pendants;
    std::vector<std::int32_t> pendant_of;  // index of each node's pendant, or -1
    std::vector<std::int32_t> number;      // inner number of each node; a pendant's is its parent's
    std::vector<Link> links;               // the links between inner nodes
    std::vector<Node> tail, head;          // their ends, as inner numbers

    explicit InnerGraph(const Graph& graph) : pendant_of(graph.nodes(), -1), number(graph.nodes(), -1) {
        constexpr Link none = -1, several = -2;
        std::vector<Link> in(graph.nodes(), none), out(graph.nodes(), none);
        const auto note = [](Link& only, std::size_t link) { only = only == none ? static_cast<Link>(link) : several; };
        for (std::size_t e = 0; e < graph.links(); ++e) {
            note(in[at(graph.head[e])], e);
            note(out[at(graph.tail[e])], e);
        }
        std::vector<Node> parent(graph.nodes(), -1);
        for (std::size_t v = 0; v < graph.nodes(); ++v) {
            if (in[v] < 0 || out[v] < 0) continue;
            const Node other = graph.tail[at(in[v])];
            if (other != graph.head[at(out[v])] || pendant_of[at(other)] >= 0 || graph.no_through[at(other)]) continue;
            pendant_of[v] = static_cast<std::int32_t>(pendants.size());
            parent[v] = other;
            pendants.push_back({static_cast<Node>(v), in[v], out[v]});
        }
        for (std::size_t v = 0; v < graph.nodes(); ++v)
            if (pendant_of[v] < 0) number[v] = inner_nodes_++;
        for (const Pendant& pendant : pendants) number[at(pendant.node)] = number[at(parent[at(pendant.node)])];
        for (std::size_t e = 0; e < graph.links(); ++e) {
            if (pendant_of[at(graph.tail[e])] >= 0 || pendant_of[at(graph.head[e])] >= 0) continue;
            links.push_back(static_cast<Link>(e));
            tail.push_back(number[at(graph.tail[e])]);
            head.push_back(number[at(graph.head[e])]);
        }
    }

    [[nodiscard]] std::size_t nodes() const { return at(inner_nodes_); }

private:
    static std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }
    std::int32_t inner_nodes_ = 0;
};

}  // namespace privroute

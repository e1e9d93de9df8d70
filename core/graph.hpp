// A directed graph as arrays: links grouped by the node they leave.
//
// Node v's outgoing links are out_links[out_start[v] .. out_start[v + 1]), out_head holds their heads. A node marked
// no_through may start or end a trip but not carry one that passes through, so its outgoing links are open only to
// trips that start there.
#pragma once

#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace privroute {

using Node = std::int32_t;
using Link = std::int32_t;

struct Graph {
    std::vector<Node> tail;
    std::vector<Node> head;
    std::vector<std::uint8_t> no_through;
    std::vector<Link> out_start;
    std::vector<Link> out_links;
    std::vector<Node> out_head;  // head of out_links[k], so that a search reads one array in order

    Graph(std::span<const Node> tails, std::span<const Node> heads, std::span<const std::uint8_t> no_through_nodes)
        : tail(tails.begin(), tails.end()),
          head(heads.begin(), heads.end()),
          no_through(no_through_nodes.begin(), no_through_nodes.end()),
          out_start(no_through_nodes.size() + 1, 0),
          out_links(tails.size()),
          out_head(tails.size()) {
        for (const Node v : tail) ++out_start[static_cast<std::size_t>(v) + 1];
        std::partial_sum(out_start.begin(), out_start.end(), out_start.begin());
        std::vector<Link> next(out_start.begin(), out_start.end() - 1);
        for (std::size_t link = 0; link < tail.size(); ++link) {
            const auto slot = static_cast<std::size_t>(next[static_cast<std::size_t>(tail[link])]++);
            out_links[slot] = static_cast<Link>(link);
            out_head[slot] = head[link];
        }
    }

    [[nodiscard]] std::size_t nodes() const { return no_through.size(); }
    [[nodiscard]] std::size_t links() const { return tail.size(); }
};

}  // namespace privroute

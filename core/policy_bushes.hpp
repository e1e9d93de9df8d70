// A routing policy by origin: for every origin a bush, an acyclic set of links with the shares in which they are used.
//
// Bush b has its root at an origin and lists the links that enter its nodes, links[link_start[b] .. link_start[b + 1]).
// Links with one head stand together, and a head stands behind the tails of its links: the list is a topological order
// and needs no other. share[share_start[b] .. share_start[b + 1]) has, in the same order, the shares of the links that
// enter a node which several links enter; a single link has share 1 and no entry.
//
// Pair w belongs to bush bush_of_pair[w]. Its routes are the walks back from its destination to the root: at every node
// an entering link is drawn by share, independently of the others.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "graph.hpp"

namespace privroute {

struct BushesView {
    std::span<const Node> head;  // by link of the network
    std::span<const Node> tail;
    std::size_t nodes = 0;
    std::span<const Node> root;
    std::span<const std::int64_t> link_start;
    std::span<const Link> links;
    std::span<const std::int64_t> share_start;
    std::span<const double> share;
    std::span<const std::int32_t> bush_of_pair;
    std::span<const Node> destination;  // by pair

    [[nodiscard]] std::size_t bushes() const { return root.size(); }
    [[nodiscard]] std::size_t pairs() const { return bush_of_pair.size(); }
    [[nodiscard]] std::span<const Link> links_of(std::size_t b) const { return part(links, link_start, b); }
    [[nodiscard]] std::span<const double> shares_of(std::size_t b) const { return part(share, share_start, b); }

private:
    template <typename T>
    static std::span<const T> part(std::span<const T> values, std::span<const std::int64_t> start, std::size_t b) {
        const auto first = static_cast<std::size_t>(start[b]);
        return values.subspan(first, static_cast<std::size_t>(start[b + 1]) - first);
    }
};

struct PolicyBushes {
    std::vector<Node> root;
    std::vector<std::int64_t> link_start{0};
    std::vector<Link> links;
    std::vector<std::int64_t> share_start{0};
    std::vector<double> share;
    std::vector<std::int32_t> bush_of_pair;

    [[nodiscard]] BushesView view(const Graph& network, std::span<const Node> destination) const {
        return {network.head, network.tail, network.nodes(), root,         link_start,
                links,        share_start,  share,           bush_of_pair, destination};
    }
};

// Calls visit(node, entering links, their shares) for each node of a bush but the root, tails before heads. A node with
// one entering link has no shares.
template <typename Visit>
void for_each_node(std::span<const Node> head, std::span<const Link> links, std::span<const double> share,
                   Visit&& visit) {
    std::size_t used = 0;
    for (std::size_t first = 0; first < links.size();) {
        const Node node = head[static_cast<std::size_t>(links[first])];
        std::size_t last = first + 1;
        while (last < links.size() && head[static_cast<std::size_t>(links[last])] == node) ++last;
        const std::size_t count = last - first;
        const std::size_t splits = count > 1 ? count : 0;
        visit(node, links.subspan(first, count), share.subspan(used, splits));
        used += splits;
        first = last;
    }
}

// The same from the last node to the first.
template <typename Visit>
void for_each_node_back(std::span<const Node> head, std::span<const Link> links, std::span<const double> share,
                        Visit&& visit) {
    std::size_t used = share.size();
    for (std::size_t last = links.size(); last > 0;) {
        const Node node = head[static_cast<std::size_t>(links[last - 1])];
        std::size_t first = last - 1;
        while (first > 0 && head[static_cast<std::size_t>(links[first - 1])] == node) --first;
        const std::size_t count = last - first;
        const std::size_t splits = count > 1 ? count : 0;
        used -= splits;
        visit(node, links.subspan(first, count), share.subspan(used, splits));
        last = first;
    }
}

// Items grouped by their bush: those of bush b are order[start[b] .. start[b + 1]), in their own order.
struct ByBush {
    std::vector<std::size_t> start;
    std::vector<std::int32_t> order;

    template <typename BushOf>
    ByBush(std::size_t items, std::size_t bushes, BushOf&& bush_of) : start(bushes + 1, 0), order(items) {
        for (std::size_t i = 0; i < items; ++i) ++start[bush_of(i) + 1];
        for (std::size_t b = 0; b < bushes; ++b) start[b + 1] += start[b];
        std::vector<std::size_t> next(start.begin(), start.end() - 1);
        for (std::size_t i = 0; i < items; ++i) order[next[bush_of(i)]++] = static_cast<std::int32_t>(i);
    }
    [[nodiscard]] std::span<const std::int32_t> of(std::size_t bush) const {
        return std::span(order).subspan(start[bush], start[bush + 1] - start[bush]);
    }
};

inline ByBush pairs_by_bush(const BushesView& policy) {
    return {policy.pairs(), policy.bushes(),
            [&](std::size_t pair) { return static_cast<std::size_t>(policy.bush_of_pair[pair]); }};
}

}  // namespace privroute

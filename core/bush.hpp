// A bush: an acyclic subgraph that carries all trips of one source, with its flow.
//
// Nodes stand in topological order, `order[0]` is the source. The bush links that enter the node at position k are
// entries[start[k] .. start[k + 1]); an entry names the link and the position of its tail, and flow[] is the flow of
// this source on it. Every reachable node is in the bush, used or not, so that every node has a label.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "graph.hpp"
#include "shortest_path.hpp"

namespace privroute {

using Position = std::int32_t;

struct BushEntry {
    Link link;
    Position tail;
};

struct Bush {
    std::vector<Node> order;
    std::vector<std::int32_t> start;
    std::vector<BushEntry> entries;
    std::vector<double> flow;
    std::vector<double> demand;  // by position

    [[nodiscard]] Position size() const { return static_cast<Position>(order.size()); }

    // Makes the flows consistent with the demand: from the far end to the source, the flow through a node is divided
    // among its entries in the proportions they have. Shifts leave rounding errors behind; this removes them.
    void rebalance(std::vector<double>& through) {
        through.assign(demand.begin(), demand.end());
        for (Position k = size() - 1; k > 0; --k) {
            const std::int32_t begin = start[k], end = start[k + 1];
            if (end - begin == 1) {
                flow[begin] = through[k];
                through[entries[begin].tail] += through[k];
                continue;
            }
            double sum = 0.0;
            for (std::int32_t e = begin; e < end; ++e) sum += flow[e];
            for (std::int32_t e = begin; e < end; ++e) {
                flow[e] = sum > 0.0 ? through[k] * (flow[e] / sum) : (e == begin ? through[k] : 0.0);
                through[entries[e].tail] += flow[e];
            }
        }
    }
};

// Builds the bushes that an assignment starts from. Buffers are kept from bush to bush.
class BushBuilder {
public:
    explicit BushBuilder(const Graph& graph)
        : graph_(graph), place_(graph.nodes()), entering_(graph.nodes()), first_(graph.nodes()) {}

    struct Used {
        Link link;
        double flow;
    };

    // The bush of the links in `used` (each once, with flow, all on paths from the source) and, for the nodes that
    // they do not touch, the tree of shortest paths in `search`. Nothing if the used links have a cycle.
    // demand_at: by node of the graph.
    std::optional<Bush> build(Node source, const std::vector<Used>& used, const ShortestPaths& search,
                              const std::vector<double>& demand_at) {
        Bush bush;
        std::fill(place_.begin(), place_.end(), -1);
        if (!order_used(source, used, bush.order)) return std::nullopt;
        const auto touched = static_cast<Position>(bush.order.size());
        // The search settles a node after its tail, also if the link between them costs nothing. Ends of trips that it
        // did not go on from come last.
        const auto append = [&](Node v) {
            if (place_[v] >= 0) return;
            place_[v] = bush.size();
            bush.order.push_back(v);
        };
        for (const Node v : search.settled) append(v);
        for (Node v = 0; v < static_cast<Node>(graph_.nodes()); ++v)
            if (search.incoming[v] >= 0) append(v);
        const std::size_t links = used.size() + bush.order.size() - static_cast<std::size_t>(touched);
        bush.start.reserve(bush.order.size() + 1);
        bush.entries.reserve(links);
        bush.flow.reserve(links);
        bush.demand.reserve(bush.order.size());
        bush.start.push_back(0);
        for (Position k = 0; k < bush.size(); ++k) {
            const Node v = bush.order[k];
            const auto enter = [&](Link link, double flow) {
                bush.entries.push_back({link, place_[graph_.tail[link]]});
                bush.flow.push_back(flow);
            };
            if (k >= touched)
                enter(search.incoming[v], 0.0);
            else
                for (std::int32_t i = first_[v]; i >= 0; i = next_[i]) enter(used[i].link, used[i].flow);
            bush.start.push_back(static_cast<std::int32_t>(bush.entries.size()));
            bush.demand.push_back(demand_at[v]);
        }
        return bush;
    }

private:
    // Topological order of the used links (Kahn). False if it does not exist.
    bool order_used(Node source, const std::vector<Used>& used, std::vector<Node>& order) {
        order.assign(1, source);
        place_[source] = 0;
        first_[source] = -1;
        if (used.empty()) return true;
        std::fill(entering_.begin(), entering_.end(), 0);
        std::fill(first_.begin(), first_.end(), -1);
        next_.clear();
        leaving_.assign(graph_.nodes(), -1);
        following_.clear();
        for (std::size_t i = 0; i < used.size(); ++i) {
            const Node head = graph_.head[used[i].link], tail = graph_.tail[used[i].link];
            ++entering_[head];
            next_.push_back(first_[head]);
            first_[head] = static_cast<std::int32_t>(i);
            following_.push_back(leaving_[tail]);
            leaving_[tail] = static_cast<std::int32_t>(i);
        }
        if (entering_[source] > 0) return false;
        std::size_t reached = 0;
        for (std::size_t k = 0; k < order.size(); ++k) {
            for (std::int32_t i = leaving_[order[k]]; i >= 0; i = following_[i]) {
                ++reached;
                const Node head = graph_.head[used[i].link];
                if (--entering_[head] > 0) continue;
                place_[head] = static_cast<Position>(order.size());
                order.push_back(head);
            }
        }
        return reached == used.size();
    }

    const Graph& graph_;
    std::vector<Position> place_;
    std::vector<std::int32_t> entering_, first_, next_, leaving_, following_;
};

}  // namespace privroute

// Renews a bush at given costs: drops links without use, adds links that shorten paths, measures how far it is from
// shortest paths.
//
// Why the result is acyclic: let U be the label of longest paths over the links that are kept. Costs are not negative,
// so U never falls along a kept link (also in rounded arithmetic), and a link is added only if U strictly grows along
// it. A cycle would have to contain an added link and return to the same U. Sorting by U, ties in the old order, is
// therefore a topological order of kept and added links.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "bush.hpp"
#include "traffic.hpp"

namespace privroute {

// Costs of one source's trips at fixed link costs.
struct BushCost {
    double excess = 0.0;    // cost of the trips minus their cost on shortest paths
    double shortest = 0.0;  // their cost on shortest paths
};

class BushUpdate {
public:
    explicit BushUpdate(const Graph& graph)
        : graph_(graph),
          place_(graph.nodes()),
          distance_(graph.nodes()),
          better_(graph.nodes()),
          queued_(graph.nodes(), 0) {}

    BushCost renew(Bush& bush, const Traffic& traffic) {
        prune(bush, traffic);
        shorten(bush, traffic);
        const BushCost result = measure(bush, traffic);
        collect(bush);
        if (!added_.empty()) insert(bush);
        return result;
    }

private:
    // Keeps the links with flow, and the shortest entry of a node if it has no flow or beats all that have.
    void prune(Bush& bush, const Traffic& traffic) {
        const Position size = bush.size();
        shortest_.resize(bush.order.size());
        longest_.resize(bush.order.size());
        shortest_[0] = longest_[0] = 0.0;
        std::int32_t kept = 0, begin = 0;
        for (Position k = 1; k < size; ++k) {
            const std::int32_t end = bush.start[k + 1];
            std::int32_t best = begin;
            double best_label = unreachable;
            bool best_used = false;
            for (std::int32_t e = begin; e < end; ++e) {
                const double candidate = shortest_[bush.entries[e].tail] + traffic.cost[bush.entries[e].link];
                const bool used = bush.flow[e] > 0.0;
                if (candidate < best_label || (candidate == best_label && used && !best_used)) {
                    best = e;
                    best_label = candidate;
                    best_used = used;
                }
            }
            shortest_[k] = best_label;
            double longest = 0.0;
            for (std::int32_t e = begin; e < end; ++e) {
                if (!(bush.flow[e] > 0.0) && e != best) continue;
                longest = std::max(longest, longest_[bush.entries[e].tail] + traffic.cost[bush.entries[e].link]);
                bush.entries[kept] = bush.entries[e];
                bush.flow[kept++] = bush.flow[e];
            }
            longest_[k] = longest;
            begin = end;
            bush.start[k + 1] = kept;
        }
        bush.entries.resize(kept);
        bush.flow.resize(kept);
    }

    // Exact shortest distances, starting from the bush's own labels, which are nearly right.
    void shorten(const Bush& bush, const Traffic& traffic) {
        const Position size = bush.size();
        for (Position k = 0; k < size; ++k) {
            const Node v = bush.order[k];
            place_[v] = k;
            distance_[v] = shortest_[k];
            better_[v] = -1;
        }
        queue_.clear();
        improved_.clear();
        const Node source = bush.order[0];
        for (Position k = 0; k < size; ++k) scan(bush.order[k], source, k, traffic);
        for (std::size_t next = 0; next < queue_.size(); ++next) {
            const Node v = queue_[next];
            queued_[v] = 0;
            scan(v, source, size, traffic);
        }
        exact_ = shortest_;
        for (const Node v : improved_) exact_[place_[v]] = distance_[v];
    }

    // Relaxes the links that leave v; a head that was scanned before (its position is below `done`) must be scanned
    // again.
    void scan(Node v, Node source, Position done, const Traffic& traffic) {
        if (graph_.no_through[v] && v != source) return;
        const double reached = distance_[v];
        for (Link link = graph_.out_start[v], end = graph_.out_start[v + 1]; link < end; ++link) {
            const Node next = graph_.out_head[link];
            const double candidate = reached + traffic.cost[link];
            if (candidate < distance_[next]) {
                distance_[next] = candidate;
                if (better_[next] < 0) improved_.push_back(next);
                better_[next] = link;
                if (place_[next] < done && !queued_[next]) {
                    queued_[next] = 1;
                    queue_.push_back(next);
                }
            }
        }
    }

    BushCost measure(const Bush& bush, const Traffic& traffic) const {
        BushCost result;
        std::int32_t begin = 0;
        for (Position k = 1; k < bush.size(); ++k) {
            const std::int32_t end = bush.start[k + 1];
            result.shortest += bush.demand[k] * exact_[k];
            for (std::int32_t e = begin; e < end; ++e) {
                const BushEntry entry = bush.entries[e];
                result.excess += bush.flow[e] * (exact_[entry.tail] + traffic.cost[entry.link] - exact_[k]);
            }
            begin = end;
        }
        return result;
    }

    // Which of the links that shortened a path can join the bush, and whether the order must change for it.
    void collect(const Bush& bush) {
        added_.clear();
        in_order_ = true;
        for (const Node v : improved_) {
            const Link link = better_[v];
            const Position tail = place_[graph_.tail[link]], head = place_[v];
            // Below this it is rounding. And the link may be in the bush already, if it was its tail that came nearer.
            if (!(exact_[head] < shortest_[head] * (1.0 - 1e-15)) || contains(bush, head, link)) continue;
            // A link that stands against the order has to wait: as the bush settles, used paths to a node become
            // equally long, so longest and shortest labels meet and a link that shortens a path does follow the order.
            if (!(longest_[tail] < longest_[head])) continue;
            added_.push_back(link);
            in_order_ = in_order_ && tail < head;
        }
    }

    static bool contains(const Bush& bush, Position k, Link link) {
        for (std::int32_t e = bush.start[k]; e < bush.start[k + 1]; ++e)
            if (bush.entries[e].link == link) return true;
        return false;
    }

    void insert(Bush& bush) {
        const Position size = bush.size();
        sort_by_longest(size);
        extra_.assign(bush.order.size(), -1);
        chain_.clear();
        for (std::size_t i = 0; i < added_.size(); ++i) {
            std::int32_t& first = extra_[place_[graph_.head[added_[i]]]];
            chain_.push_back(first);
            first = static_cast<std::int32_t>(i);
        }
        moved_.resize(bush.order.size());
        for (Position k = 0; k < size; ++k) moved_[sorted_[k]] = k;
        const std::size_t entries = bush.entries.size() + added_.size();
        next_.order.resize(bush.order.size());
        next_.demand.resize(bush.order.size());
        next_.start.resize(bush.start.size());
        next_.entries.resize(entries);
        next_.flow.resize(entries);
        std::int32_t filled = 0;
        for (Position k = 0; k < size; ++k) {
            const Position was = sorted_[k];
            next_.order[k] = bush.order[was];
            next_.demand[k] = bush.demand[was];
            next_.start[k] = filled;
            for (std::int32_t e = bush.start[was]; e < bush.start[was + 1]; ++e, ++filled) {
                next_.entries[filled] = {bush.entries[e].link, moved_[bush.entries[e].tail]};
                next_.flow[filled] = bush.flow[e];
            }
            for (std::int32_t i = extra_[was]; i >= 0; i = chain_[i], ++filled) {
                next_.entries[filled] = {added_[i], moved_[place_[graph_.tail[added_[i]]]]};
                next_.flow[filled] = 0.0;
            }
        }
        next_.start[size] = filled;
        std::swap(bush, next_);
    }

    // Stable. Insertion is fastest as long as the order is nearly right, which it is once a bush has been sorted.
    void sort_by_longest(Position size) {
        sorted_.resize(static_cast<std::size_t>(size));
        std::iota(sorted_.begin(), sorted_.end(), 0);
        if (in_order_) return;
        std::int64_t moves = 0;
        for (Position k = 2; k < size; ++k) {
            const Position item = sorted_[k];
            const double key = longest_[item];
            Position hole = k;
            for (; hole > 1 && longest_[sorted_[hole - 1]] > key; --hole) sorted_[hole] = sorted_[hole - 1];
            sorted_[hole] = item;
            moves += k - hole;
            if (moves > 16 * std::int64_t{size}) {
                std::stable_sort(sorted_.begin() + 1, sorted_.end(),
                                 [this](Position i, Position j) { return longest_[i] < longest_[j]; });
                return;
            }
        }
    }

    const Graph& graph_;
    std::vector<Position> place_;
    std::vector<double> distance_;
    std::vector<Link> better_;
    std::vector<std::uint8_t> queued_;
    std::vector<Node> queue_;
    std::vector<Node> improved_;                      // nodes that are nearer than the bush says
    std::vector<double> shortest_, longest_, exact_;  // by position: over the bush's links, over all links
    std::vector<Link> added_;
    bool in_order_ = true;
    std::vector<Position> sorted_, moved_;
    std::vector<std::int32_t> extra_, chain_;
    Bush next_;
};

}  // namespace privroute
